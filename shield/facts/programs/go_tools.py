"""gofmt, and `go tool pprof` (its own help; `go doc cmd/gofmt`; github.com/google/pprof, doc/README.md)."""

from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.beneath import Look
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.mention import mention
from shield.facts.programs.reading import Value
from shield.regex import regex
from shield.types import Access

__all__ = ["GO_TOOLS"]

# A report as text, for which no viewer, browser or server is started. Without one pprof takes commands from its input.
_REPORTS = frozenset(("-top", "-text", "-tree", "-traces", "-raw", "-tags"))
_PLAIN = regex(
    r"-(?:top|text|tree|traces|raw|tags|cum|flat|lines|functions|files|addresses|inuse_space|inuse_objects|alloc_space"
    r"|alloc_objects|contentions|delays|mean|relative_percentages|compact_labels"
    r"|(?:nodecount|nodefraction|edgefraction|unit|sample_index|granularity|sort)=[A-Za-z0-9_.]+"
    r"|(?:focus|ignore|hide|show|show_from|tagfocus|tagignore)=[\w.*|()/\[\]^\\:+-]+)",
)
# What has a colon, or begins with two slashes, it takes for an address; the report says where the file is.
_FILE = regex(r"/?(?:[A-Za-z0-9_.][A-Za-z0-9_.-]*/)*[A-Za-z0-9_.][A-Za-z0-9_.-]*")


def _gofmt(call: Invocation) -> bool:
    """Of a directory it reads what ends in `.go`, through links, too."""
    if call.model.special != "gofmt":
        return False
    for word in call.operands:
        call.reading.path(word, Access.READ, recursive=True, look=Look(only=("*.go",), follows=True))
    return True


def _pprof(call: Invocation) -> bool:
    """A report of a file that is here. It is one of the module's tools, so what it runs is the project's."""
    files: list[Value] = []
    reports = False
    for word in call.words:
        text = word.text.replace("--", "-", 1) if word.text.startswith("--") else word.text
        known = _PLAIN.fullmatch(text) if text.startswith("-") else _FILE.fullmatch(text)
        if not word.fixed or known is None:
            call.reading.caution()
            call.reading.ask("`go tool pprof`: it fetches from where it is told")
            return True
        reports |= text in _REPORTS
        files += [] if text.startswith("-") else [word]
    if not reports or not files:
        call.reading.caution()
        call.reading.ask("`go tool pprof`: without a report it takes commands from its input, or serves pages")
    for word in files:
        mention(call, word, Access.READ)
    return True


GO_TOOLS: Mapping[str, Special] = MappingProxyType({"gofmt": _gofmt, "pprof": _pprof})

"""What a command prints that is listed, where that follows from its words: `$(echo x)`, `$(wc -l < f)`."""

import posixpath
import re

from shield.facts.shell.shaped import form_of_date
from shield.facts.shell.variables import Content, Hashes, Number, Token
from shield.regex import regex
from shield.types import CommandFact, Dynamic, Origin, RunsCode

__all__ = ["printed", "text_of", "thinned"]

_OURS = (Origin.SYSTEM, Origin.BUILTIN, Origin.USER)
# What fails prints nothing.
_NATURAL = Number(natural=True, maybe=True)
_SEVERAL = Number(natural=True, several=True, maybe=True)
_TOKEN = Token(maybe=True)
_REVISION_NAME = Token(maybe=True, revision=True)
_PATH = Token(blank=True, maybe=True)
_BLANK = regex(r"[\s*?\[\\]")
_WORD = regex(r"[A-Za-z0-9_.+][A-Za-z0-9_.+-]*\Z")
# Parts of a date that are digits alone, and what else no language writes with a blank or with a dash before all else.
_DIGITS = regex(r"\+(?:%[-0]?[YmdHMSsNjuwyCUVWGg])+\Z")
_STAMP = regex(
    r"\+(?:%[-0]?[YmdHMSsNjuwyCUVWGgFTRDI]|[A-Za-z0-9_.:/,@+])(?:%[-0]?[YmdHMSsNjuwyCUVWGgFTRDIz]|[\w.:/,@+-])*\Z",
    re.ASCII,
)
# Options of pgrep(1) and lsof(8) by which they print numbers of processes and nothing else.
_PGREP = regex(r"-[finoux]+|-[uU][a-z_][a-z0-9_-]*")
_LSOF = regex(r"-t|-[nP]+|-t?i(?:(?:tcp|TCP|udp|UDP|4|6)?(?::[0-9]+)?)|-sTCP:LISTEN|(?:tcp|TCP|udp|UDP)?:[0-9]+")
# What leaves some of the lines out that it is fed, or puts them in order.
_THINS = {
    "head": regex(r"-n? ?[0-9]+"),
    "tail": regex(r"-n? ?[0-9]+"),
    "sort": regex(r"(?:-[nru]+)?"),
    "uniq": regex(r""),
}
_COUNT = regex(r"-?(?:0|[1-9][0-9]{0,5})")
_MAX_ROW = 64
_COUNTING = frozenset((("-l",), ("-c",), ("-w",), ("-m",)))
_COUNTS = frozenset(("-c", "-ci", "-ic", "-cE", "-cF", "-Ec", "-Fc"))
_REVISION = regex(r"[A-Za-z0-9@][A-Za-z0-9_./@{}~^-]*\Z")
_REVISIONS = frozenset(("--short", "--verify", "--abbrev-ref", "--quiet", "-q"))
_CONTAINERS = regex(r"(?:compose )?ps (?:-[al]*q[al]*|-[al]+ -q|-q -[al]+|--quiet)(?: [a-z0-9][a-z0-9_-]*)?")
_RANGE = regex(r"[A-Za-z0-9@^][A-Za-z0-9_./@{}~^-]*\Z")
_HASH_FORMS = frozenset(
    f"--{name}={form}" for name in ("format", "pretty") for form in ("%H", "%h", "format:%H", "format:%h")
)
# Which commits, and in which order.
_NARROWS = regex(
    r"-n|-[0-9]+|--(?:all|branches|tags|remotes|reverse|no-merges|merges|first-parent|topo-order|date-order|no-walk|follow)"
    r"|--(?:max-count|skip|since|after|until|before|author|grep|max-parents|min-parents|diff-filter)=[\w .:@/+-]*"
)
# What counts commits and prints one number; `--left-right` prints two.
_ONLY = regex(r"--(?:count|all|no-merges|merges|first-parent|since=[\w .:-]+|until=[\w .:-]+|author=[\w .@-]+)")
_SIZE = regex(
    r"(?:image\n)?inspect\n([\w./:@-]+\n)?(?:-f|--format)(?:\n|=)\{\{ ?\.(?:Size|RestartCount|State\.Pid) ?\}\}"
    r"(?(1)|\n[\w./:@$-]+)"
)
_LENGTH = regex(r"(?!.*(?:\bdef\b|import|include|#))(?:[^|]*\|)*\s*length\s*", re.DOTALL)
_ONE_LENGTH = regex(r"(?:\.[\w.]*(?:\[\d+\])?\s*\|\s*)*length")
# A sum of a column, printed at the end: a number, whatever stands in the column.
_SUM = regex(
    r"\s*(?:/[^/\\{}]*/|NR *[<>=!]=? *\d+)?\s*\{\s*([a-z]\w*)\s*\+=\s*\$(?:\d+|NF)\s*;?\s*\}\s*"
    r"END\s*\{\s*print\s+(?:int\(\1\)|\1(?:\s*[+*/]\s*\d+)?)\s*;?\s*\}\s*"
)
_STAT = frozenset(("%s", "%Y", "%X", "%Z", "%a", "%u", "%g", "%h", "%i"))


def printed(command: CommandFact, *, fed: str | None, base: str | None, path: Content = None) -> Content:
    """The output without the newlines at its end; None where it is not known. `fed`: what a here-document gives it.
    `base`: where the shell stands, if that is one known directory by its real name. `path`: what PATH holds."""
    if command.origin not in _OURS or command.runs_code is not RunsCode.NONE or command.assignments:
        return None
    if command.dynamic in (Dynamic.CODE, Dynamic.PROGRAM):
        return None
    if any(redirect.op.startswith(">") and redirect.fd in (1, None) for redirect in command.redirects):
        return None
    name, words = command.name, command.argv[1:]
    if name == "wc" and words in _COUNTING:
        return _NATURAL  # whatever it is fed
    if command.dynamic is not Dynamic.NONE:
        return None
    found = _counted(name, words) or _calculated(name, words) or _named(name, words, path)
    if found is not None:
        return found
    if name == "pwd" and words in ((), ("-P",), ("-L",)):
        return _PATH if base is None else base.rstrip("\n")
    text = fed if name == "cat" and not words else text_of(name, words)
    return None if text is None or "\0" in text else text.rstrip("\n")


def thinned(content: Content, command: CommandFact) -> Content:
    """What is left of numbers that the command is fed and prints some of."""
    known = command.origin in _OURS and command.runs_code is RunsCode.NONE and command.dynamic is Dynamic.NONE
    form = _THINS.get(command.name)
    words = " ".join(command.argv[1:])
    if not isinstance(content, Number | Hashes) or not known or command.assignments or command.redirects:
        return None
    if form is None or not form.fullmatch(words):
        return None
    if isinstance(content, Hashes):
        return content
    one = command.name in ("head", "tail") and words.lstrip("-n ") == "1"
    return content._replace(several=content.several and not one, maybe=True, row=())


def text_of(name: str, words: tuple[str, ...]) -> str | None:
    """Programs whose output follows from their words."""
    match name:
        case "echo" if not (words and words[0].startswith("-")):
            return " ".join(words)
        case "printf" if len(words) == 1 and not set(words[0]) & set("%\\-"):
            return words[0]
        case "printf" if len(words) == 2 and words[0] in ("%s", "%s\\n"):
            return words[1]
        case "basename" if len(words) in (1, 2) and words[0].strip("/") and not words[0].startswith("-"):
            last = posixpath.basename(words[0].rstrip("/"))
            return last.removesuffix(words[1]) if len(words) == 2 and last != words[1] else last
        case "dirname" if len(words) == 1 and words[0].strip("/") and not words[0].startswith("-"):
            lead = words[0].rstrip("/").rpartition("/")[0].rstrip("/")
            return lead or ("/" if words[0].startswith("/") else ".")
    return None


def _counted(name: str, words: tuple[str, ...]) -> Number | None:
    """Programs that print integers and nothing else, when they are used like this."""
    match name, words:
        case "date", _:
            return _NATURAL if _dated(words, _DIGITS) else None
        case "nproc", ():
            return Number(natural=True)
        case "id", (option,) if option in ("-u", "-g"):
            return Number(natural=True)
        case "stat", ("-c", form, _) if form in _STAT:
            return _NATURAL
        case "stat", (form, _) if form.startswith(("-c", "--format=")):
            return _NATURAL if form.removeprefix("-c").removeprefix("--format=") in _STAT else None
        case "seq", _ if words and all(word.lstrip("-").isdigit() for word in words):
            return Number(natural=not any(word.startswith("-") for word in words), several=True, row=_row(words))
        case "grep", (option, *rest) if option in _COUNTS and len(rest) in (1, 2):
            # of several files it prints the names, too
            return None if any(word.startswith("-") for word in rest) else _NATURAL
        case "pgrep", (option, pattern) if option in ("-n", "-o", "-nx", "-ox", "-xn", "-xo"):
            return None if pattern.startswith("-") else _NATURAL
        case "pgrep", (*options, pattern) if all(_PGREP.fullmatch(word) for word in options):
            return None if pattern.startswith("-") else _SEVERAL
        case "pidof", _ if words and all(_WORD.match(word) for word in words if word != "-x"):
            return Number(natural=True, maybe=True) if words[0] == "-s" else _SEVERAL
        case "lsof", _ if any(word.startswith("-t") for word in words) and all(map(_LSOF.fullmatch, words)):
            return _SEVERAL
        case "tput", (what,) if what in ("cols", "lines", "colors"):
            return Number(maybe=True)  # of colours it may know none: -1
        case "expr", _ if len(words) % 2 and all(word.isdigit() for word in words[::2]):
            return _NATURAL if set(words[1::2]) <= {"+", "*", "/", "%"} else None
    return None


def _calculated(name: str, words: tuple[str, ...]) -> Number | None:
    """Commits that git counts, sizes of images, jq's `length`, of a number the number itself, sums that awk prints."""
    if name == "git" and words[:1] == ("rev-list",):
        told = words[1 : words.index("--")] if "--" in words else words[1:]
        counts = "--count" in told and all(_ONLY.fullmatch(word) or _RANGE.match(word) for word in told)
        return _NATURAL if counts else None
    if name in ("docker", "podman", "nerdctl"):
        return _NATURAL if _SIZE.fullmatch("\n".join(words)) else None
    if name not in ("awk", "jq"):
        return None
    options = [word for word in words if word.startswith("-")]
    others = [word for word in words if not word.startswith("-")]
    if not 1 <= len(others) <= 2 or words[: len(options)] != tuple(options):
        return None
    if name == "jq":
        known = all(option in ("-r", "-e", "-c", "-s", "-re", "-er") for option in options)
        # a file may hold several texts, if they are not taken for one, and a filter make several of one
        one = _ONE_LENGTH.fullmatch(others[0]) and any("s" in option for option in options)
        return (_NATURAL if one else _SEVERAL) if known and _LENGTH.fullmatch(others[0]) else None
    # What stands for an assignment gives the sum a text to begin with.
    known = all(re.fullmatch(r"-F[^\s-]?", option) for option in options) and "=" not in "".join(others[1:])
    return Number(maybe=True) if known and _SUM.fullmatch(others[0]) else None


def _row(words: tuple[str, ...]) -> tuple[str, ...]:
    """What seq(1) counts, where that is little; a step of zero and what is out of order it prints nothing for."""
    if len(words) > 3 or not all(_COUNT.fullmatch(word) for word in words):
        return ()
    first, step, last = (1, 1, int(words[0])) if len(words) == 1 else (int(words[0]), 1, int(words[-1]))
    step = int(words[1]) if len(words) == 3 else step
    row = range(first, last + (1 if step > 0 else -1), step) if step else range(0)
    return tuple(map(str, row)) if len(row) <= _MAX_ROW else ()


def _named(name: str, words: tuple[str, ...], path: Content) -> Token | Hashes | None:
    """Programs that print one line that surely begins with no dash."""
    match name, words:
        case ("whoami" | "logname" | "hostname" | "arch", ()) | ("uname", ()):
            return _TOKEN
        case "uname", (option,) if option in ("-r", "-m", "-s", "-n", "-o"):
            return _TOKEN
        case "id", (option,) if option in ("-un", "-gn", "-nu", "-ng"):
            return _TOKEN
        case "hostname", (option,) if option in ("-s", "-f", "-d"):
            return _TOKEN
        case "date", _:
            return _TOKEN._replace(form=form_of_date(words)) if _dated(words, _STAMP) else None
        case "pgrep", (option, pattern) if re.fullmatch(r"-d[,:;]", option) and not pattern.startswith("-"):
            return _TOKEN
        case "which", (what,) if _WORD.match(what) and isinstance(path, str):
            whole = all(folder.startswith("/") for folder in path.split(":"))
            return Token(blank=_BLANK.search(path) is not None, maybe=True) if whole else None
        case ("readlink", ("-f" | "-e" | "-m", what)) | ("realpath", (what,)) if not what.startswith("-"):
            return _PATH
        case "mktemp", () | ("-d",):
            return _PATH
        case (("docker" | "podman" | "nerdctl"), _) if _CONTAINERS.fullmatch(" ".join(words)):
            return Hashes()
        case "git", _:
            if words in (("rev-parse", "--show-toplevel"), ("rev-parse", "--git-dir")):
                return _PATH
            return _REVISION_NAME if _names_commit(words) else Hashes() if _lists_commits(words) else None
    return None


def _dated(words: tuple[str, ...], form: re.Pattern[str]) -> bool:
    """Whether date(1) prints the time in this form."""
    rest, forms = list(words), []
    while rest:
        word = rest.pop(0)
        if word in ("-d", "-ud", "-r", "-ur", "--date", "--reference"):
            rest = rest[1:]
        elif not word.startswith("-"):
            forms.append(word)
        elif word not in ("-u", "--utc", "--universal") and not word.startswith("--date="):
            return False
    return len(forms) == 1 and form.match(forms[0]) is not None


def _names_commit(words: tuple[str, ...]) -> bool:
    """Whether git prints one name of a commit or branch: neither blank nor leading dash (git-check-ref-format(1))."""
    match words:
        case ("rev-parse", *rest):
            return bool(rest) and all(word in _REVISIONS or _REVISION.match(word) for word in rest)
        case ("merge-base", first, second):
            return bool(_REVISION.match(first) and _REVISION.match(second))
        case ("branch", "--show-current"):
            return True
        case ("rev-list", "--count" | "-1" | "--max-count=1", revision, *rest):
            return bool(_REVISION.match(revision)) and rest[:1] in ([], ["--"])
        case ("log", "-1", "--format=%H" | "--format=%h" | "--pretty=%H" | "--pretty=%h", *rest):
            revisions = rest[: rest.index("--")] if "--" in rest else rest
            return len(revisions) <= 1 and all(_REVISION.match(word) for word in revisions)
    return False


def _lists_commits(words: tuple[str, ...]) -> bool:
    """Whether git prints hashes and nothing else. Names of tags are none: one may be called like an option."""
    match words:
        case ("rev-list", *rest):
            pass
        case ("log", *rest) if _HASH_FORMS.intersection(rest):
            rest = [word for word in rest if word not in _HASH_FORMS]
        case _:
            return False
    if "--" in rest:
        rest = rest[: rest.index("--")]
    narrows = [word for word in rest if word.startswith("-")]
    return all(_NARROWS.fullmatch(word) for word in narrows) and all(
        _RANGE.match(word) or word.isdigit() for word in rest if not word.startswith("-")
    )

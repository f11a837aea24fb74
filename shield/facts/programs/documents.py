"""Programs that typeset and convert documents: TeX, pandoc, pdftotext. Of their options only known ones are no code.

TeX runs what its input says, so that is code of the workspace; what stands on the line in its place, and the options by
which it starts programs of any name, is code that nobody has seen.
"""

from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.reading import Value
from shield.regex import regex
from shield.types import Access, RunsCode

__all__ = ["DOCUMENTS"]

# A file, and neither `\directlua{…}` nor `&format` nor `|program`.
_FILE = regex(r"[A-Za-z0-9_./][A-Za-z0-9_./+ -]*")
_NAME = regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_TEX = regex(
    r"--?(?:interaction=(?:batchmode|nonstopmode|scrollmode|errorstopmode)|halt-on-error|(?:no-)?file-line-error"
    r"|no-shell-escape|draftmode|recorder|synctex=-?[0-9]{1,2}|output-format=(?:pdf|dvi)|version|help)"
)
_LATEXMK = regex(
    r"--?(?:pdf|pdfdvi|pdfps|pdfxe|pdflua|xelatex|lualatex|dvi|ps|bibtex|bibtex-cond|nobibtex|cd|f|g|gg|quiet|silent"
    r"|verbose|logfilewarnings|time|norc|v|version|help|h)"
)
_OTHERS = {
    "bibtex": regex(r"--?(?:terse|version|help|min-crossrefs=[0-9]+)"),
    "biber": regex(r"-q|-V|--(?:quiet|nolog|version|help|validate-datamodel|validate-bibtexcache)"),
    "makeindex": regex(r"-[cgilLqrT]+"),
}
_DIRECTORIES = frozenset(("output-directory", "outdir", "auxdir", "output-dir"))
_WRITES = {"makeindex": ("-o", "-t")}

# What includes no file by its own means, with extensions switched on or off behind the name.
_READ = regex(r"(?:markdown|markdown_(?:strict|mmd|phpextra|github)|gfm|commonmark|commonmark_x)(?:[+-][a-z_]+)*")
# Of these none holds pictures, which would be fetched.
_WRITTEN = regex(
    r"(?:html|html4|html5|plain|markdown|markdown_(?:strict|mmd|phpextra|github)|gfm|commonmark|commonmark_x|rst|asciidoc"
    r"|latex|beamer|context|typst|man|ms|org|json|native|mediawiki|dokuwiki|jira|textile|texinfo|docbook|docbook5|jats|opml"
    r"|revealjs|slidy|s5|dzslides|slideous)(?:[+-][a-z_]+)*"
)
_READ_ENDS = (".md", ".markdown", ".mkd", ".txt")
_WRITTEN_ENDS = (".html", ".htm", ".md", ".markdown", ".txt", ".rst", ".tex", ".adoc", ".org", ".json", ".typ")
_FETCHING = ("--citeproc", "--bibliography", "--csl", "--template", "--reference-doc", "--extract-media")


def _tex(call: Invocation) -> bool:
    reading, words = call.reading, list(call.words)
    known = _OTHERS.get(call.name, _TEX)
    while words:
        word = words.pop(0)
        name, equals, value = word.text.lstrip("-").partition("=")
        directory = name in _DIRECTORIES and call.name not in _OTHERS
        if not word.fixed:
            reading.run(RunsCode.INLINE)
        elif directory or word.text in _WRITES.get(call.name, ()):
            target = Value(text=value, head=value) if equals else words.pop(0) if words else None
            if target is not None:
                reading.path(target, Access.WRITE)
        elif name == "jobname" and equals and _NAME.fullmatch(value):
            pass  # what is written is called so
        elif not word.text.startswith("-") and _FILE.fullmatch(word.text):
            reading.path(word, Access.READ)
        elif not (known.fullmatch(word.text) or (call.name == "latexmk" and _LATEXMK.fullmatch(word.text))):
            reading.run(RunsCode.INLINE)
    return True


def _pdftotext(call: Invocation) -> bool:
    """pdftotext: without a second name it writes beside the first one."""
    operands = list(call.operands)
    if not 1 <= len(operands) <= 2 or not all(operand.fixed for operand in operands):
        call.reading.caution()
        return True
    source, target = operands[0], operands[-1] if len(operands) == 2 else None
    if source.text != "-":
        call.reading.path(source, Access.READ)
    if target is None:
        shown = call.arguments.has("-htmlmeta", "-bbox", "-bbox-layout")
        bare = source.text[:-4] if source.text.lower().endswith(".pdf") else source.text
        name = f"{bare}.html" if shown else f"{bare}.txt"
        target = Value(text=name, head=name)
    if target.text != "-":
        call.reading.path(target, Access.WRITE)
    return True


def _pandoc(call: Invocation) -> bool:
    """pandoc: whether what it reads names more files, and what it writes takes more in (its manual, "A note on
    security")."""
    arguments = call.arguments
    read = arguments.values("-f", "--from", "-r", "--read")
    written = arguments.values("-t", "--to", "-w", "--write")
    output = arguments.values("-o", "--output")
    reads = (
        all(each.fixed and _READ.fullmatch(each.text) for each in read)
        if read
        else all(each.fixed and each.text.lower().endswith(_READ_ENDS) for each in call.operands)
    )
    writes = (
        all(each.fixed and _WRITTEN.fullmatch(each.text) for each in written)
        if written
        else all(each.fixed and (each.text == "-" or each.text.lower().endswith(_WRITTEN_ENDS)) for each in output)
    )
    if not reads or not writes or arguments.has(*_FETCHING):
        call.reading.caution()
        call.reading.unknown.append(
            f"the input of `{call.name[:40]}` may name other files, which it takes in or fetches"
        )
    return False


DOCUMENTS: Mapping[str, Special] = MappingProxyType({"tex": _tex, "pdftotext": _pdftotext, "pandoc": _pandoc})

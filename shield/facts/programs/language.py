"""sed, awk, jq and grep: programs whose first argument is a language of its own."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.beneath import Look
from shield.facts.programs.awk import awk_prints_only
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Value, plain_globs
from shield.types import Access, RunsCode

__all__ = ["LANGUAGE"]


# sed(1): what may stand alone in a script without writing, reading or running anything.
_SED_PLAIN = re.compile(
    r"\s*(?:(?:\d+|\$|/(?:[^/\\\n]|\\[^\n])*/I?)(?:~\d+)?(?:,\s*[+~]?(?:\d+|\$|/(?:[^/\\\n]|\\[^\n])*/I?))?\s*)?!?\s*"
    r"(?:[pdqPDgGhHnNx=]|[qQ]\s*\d+|s(?P<d>[/|,#@:!%+])(?:(?!(?P=d))[^\\\n]|\\[^\n])*(?P=d)(?:(?!(?P=d))[^\\\n]|\\[^\n])*(?P=d)"
    r"[gpiI0-9]*|y/(?:[^/\\\n]|\\[^\n])*/(?:[^/\\\n]|\\[^\n])*/|[aic]\\?\s?[^\n\\]*\Z)\s*"
)


_JQ_ACTIVE = re.compile(r"\b(?:input_filename|import|include|env|debug|load|strload|eval|system|modulemeta)\b|\$ENV")


# Backups that are no file with a meaning, whatever they are made of.
_PLAIN_SUFFIXES = frozenset((".bak", ".orig", ".old", ".backup", "~"))


_NAME = re.compile(r"[A-Za-z_]\w*\Z")


def _sed(call: Invocation) -> bool:
    reading, arguments = call.reading, call.arguments
    scripts = arguments.values("-e", "--expression")
    operands = list(call.operands)
    for value in arguments.values("-f", "--file"):
        reading.use(Use.SCRIPT, value)
    if not scripts and not arguments.has("-f", "--file") and operands:
        scripts = [operands.pop(0)]
    for script in scripts:
        if not (script.fixed and _sed_plain(script.text)):
            # `w`, `r`, `e`, `W`, `R`, `s///w`, `s///e`, blocks, and all that is not surely none of them.
            reading.run(RunsCode.INLINE)
    in_place = arguments.has("-i", "--in-place")
    for operand in operands:
        reading.use(Use.EDIT if in_place else Use.READ, operand)
    for suffix in arguments.values("-i", "--in-place"):
        _backups(call, suffix, operands)
    return True


def _backups(call: Invocation, suffix: Value, operands: list[Value]) -> None:
    """`-iSUFFIX` keeps what was there under another name; `*` and `/` in it lead anywhere (sed(1))."""
    if not suffix.fixed or "*" in suffix.text or "/" in suffix.text:
        call.reading.caution()
        return
    for operand in operands:
        if operand.fixed:
            call.reading.path(Value(text=operand.text + suffix.text, head=operand.text), Access.WRITE)
        elif suffix.text not in _PLAIN_SUFFIXES:
            call.reading.caution()


def _sed_plain(script: str) -> bool:
    if len(script) > 2000:
        return False
    at = 0
    for _ in range(100):
        match = _SED_PLAIN.match(script, at)
        if match is None:
            return not script[at:].strip(" \t\n;")
        at = match.end()
        if at < len(script):
            if script[at] not in ";\n":
                return False
            at += 1
    return False


def _awk(call: Invocation) -> bool:
    reading = call.reading
    operands = list(call.operands)
    programs = call.arguments.values("-e", "--source")
    for value in call.arguments.values("-f", "--file"):
        reading.use(Use.SCRIPT, value)
    if not programs and not call.arguments.has("-f", "--file") and operands:
        programs = [operands.pop(0)]
    for program in programs:
        if not (program.fixed and awk_prints_only(program.text)):
            reading.run(RunsCode.INLINE)
    for operand in operands:
        if not (operand.fixed and _NAME.match(operand.text.partition("=")[0]) and "=" in operand.text):
            reading.use(Use.READ, operand)
    return True


def _jq(call: Invocation) -> bool:
    operands = list(call.operands)
    if call.arguments.foreign:
        return False
    if operands:
        program = operands.pop(0)
        if not program.fixed or _JQ_ACTIVE.search(program.text):
            call.reading.caution()
    for operand in operands:
        call.reading.use(Use.READ, operand)
    return True


def _grep(call: Invocation) -> bool:
    """Without operands grep -r and rg read the working directory; plain grep reads its input."""
    arguments = call.arguments
    operands = list(call.operands)
    if call.name.rpartition("/")[2] in ("rg", "ripgrep") and arguments.has("--files", "--type-list"):
        for operand in operands or [Value(text=".", head=".")]:
            call.reading.path(operand, Access.LIST, recursive=True)
        return True
    look = _searched(call)
    if not arguments.has("-e", "--regexp", "-f", "--file") and operands and not operands[0].many:
        operands.pop(0)
    if not operands and call.recursive:
        operands = [Value(text=".", head=".")]
    recursive = call.recursive or any(value.text == "recurse" for value in arguments.values("-d", "--directories"))
    if look.ignores:
        recursive, operands = True, operands or [Value(text=".", head=".")]
    for operand in operands:
        call.reading.path(operand, Access.READ, recursive=recursive, look=look)
    return True


def _searched(call: Invocation) -> Look:
    """Which files of a tree grep and rg read."""
    arguments = call.arguments
    if call.name.rpartition("/")[2] in ("rg", "ripgrep"):
        # A chosen glob or type brings hidden files back (rg(1), AUTOMATIC FILTERING).
        shown = arguments.has("--hidden", "-.", "-u", "-uu", "-uuu", "--unrestricted")
        chosen = arguments.has("-g", "--glob", "--iglob", "-t", "--type")
        return Look(hidden=shown or chosen, follows=arguments.has("-L", "--follow"), ignores=True)
    included, excluded = arguments.values("--include"), arguments.values("--exclude")
    # Where one file is both, the order decides (grep(1)): then nothing is taken for left out.
    without = [] if included else excluded
    follows = arguments.has("-R", "--dereference-recursive")
    return Look(
        follows=follows,
        # A link to a directory is followed, whatever files are chosen there.
        only=() if follows else plain_globs(included) or (),
        without=(plain_globs(without) or ()) + (plain_globs(arguments.values("--exclude-dir")) or ()),
    )


LANGUAGE: Mapping[str, Special] = MappingProxyType({"sed": _sed, "awk": _awk, "jq": _jq, "grep": _grep})

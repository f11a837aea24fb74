"""sed, awk, jq and grep: programs whose first argument is a language of its own."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Value
from shield.types import Access, RunsCode

__all__ = ["LANGUAGE"]


# sed(1): what may stand alone in a script without writing, reading or running anything.
_SED_PLAIN = re.compile(
    r"\s*(?:(?:\d+|\$|/(?:[^/\\\n]|\\[^\n])*/I?)(?:~\d+)?(?:,\s*[+~]?(?:\d+|\$|/(?:[^/\\\n]|\\[^\n])*/I?))?\s*)?!?\s*"
    r"(?:[pdqPDgGhHnNx=]|[qQ]\s*\d+|s(?P<d>[/|,#@:!%+])(?:(?!(?P=d))[^\\\n]|\\[^\n])*(?P=d)(?:(?!(?P=d))[^\\\n]|\\[^\n])*(?P=d)"
    r"[gpiI0-9]*|y/(?:[^/\\\n]|\\[^\n])*/(?:[^/\\\n]|\\[^\n])*/|[aic]\\?\s?[^\n\\]*\Z)\s*"
)


_AWK_ACTIVE = re.compile(
    r"\bsystem\b|\bgetline\b|[|>@]|\bclose\b|\bfflush\b|\bENVIRON\b|\bARGV\b|\bextension\b|\bload\b"
)


_AWK_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|/(?:[^/\\\n]|\\.)+/')


_AWK_COMPARE = re.compile(r"(?:\$\w+|\b[A-Z]+\b|\w+|\))\s*>=?\s*(?:\d+(?:\.\d+)?)(?![\w.])")


_JQ_ACTIVE = re.compile(r"\b(?:input_filename|import|include|env|debug|load|strload|eval|system)\b|\$ENV")


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
    return True


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
        if not (program.fixed and _awk_plain(program.text)):
            reading.run(RunsCode.INLINE)
    for operand in operands:
        if not (operand.fixed and _NAME.match(operand.text.partition("=")[0]) and "=" in operand.text):
            reading.use(Use.READ, operand)
    return True


def _awk_plain(program: str) -> bool:
    """No pipes, redirections, system(), getline, indirect calls: strings and patterns are looked past, then nothing
    of these may be left. Where a `/` may be a division this errs towards seeing more."""
    if len(program) > 4000 or "\\\n" in program:
        return False
    code = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', program)
    bare = _AWK_STRING.sub("0", program)
    code = _AWK_COMPARE.sub("0", code.replace("||", " "))
    bare = _AWK_COMPARE.sub("0", bare.replace("||", " "))
    # A slash begins a pattern or divides: both readings must be free of anything active.
    return not _AWK_ACTIVE.search(bare) and (program.count("/") == 0 or not _AWK_ACTIVE.search(code))


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
    if not arguments.has("-e", "--regexp", "-f", "--file") and operands:
        operands.pop(0)
    if not operands and call.recursive:
        operands = [Value(text=".", head=".")]
    recursive = call.recursive or any(value.text == "recurse" for value in arguments.values("-d", "--directories"))
    for operand in operands:
        call.reading.path(operand, Access.READ, recursive=recursive)
    return True


LANGUAGE: Mapping[str, Special] = MappingProxyType({"sed": _sed, "awk": _awk, "jq": _jq, "grep": _grep})

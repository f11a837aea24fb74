"""sed, awk and grep: programs whose first argument is a language of its own."""

from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.programs.awk import awk_prints_only
from shield.facts.programs.forwarding import glimpse
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.listing import linked, printed_by_grep, printed_by_walk
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Listing, Value
from shield.facts.programs.searched import is_rg, searched
from shield.facts.programs.sed import sed_files
from shield.regex import regex
from shield.types import Access, RunsCode

__all__ = ["LANGUAGE"]


# Backups that are no file with a meaning, whatever they are made of.
_PLAIN_SUFFIXES = frozenset((".bak", ".orig", ".old", ".backup", "~"))


_MAX_SCRIPT = 4_096
_NAME = regex(r"[A-Za-z_]\w*\Z")


def _from_file(call: Invocation, value: Value) -> None:
    """A script in a file, or in what the program is fed."""
    if value.fixed and value.text in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
        call.reading.run(RunsCode.INLINE)
    else:
        call.reading.use(Use.SCRIPT, value)


def _sed(call: Invocation) -> bool:
    reading, arguments = call.reading, call.arguments
    if call.context.place.platform == "darwin":
        _as_on_a_mac(call)
    scripts = arguments.values("-e", "--expression")
    operands = list(call.operands)
    for value in arguments.values("-f", "--file"):
        _from_file(call, value)
    if not scripts and not arguments.has("-f", "--file") and operands:
        scripts = [operands.pop(0)]
    # Pieces are lines of one script (sed(1), `-e`); where a file stands between them, each is one for itself.
    for script in scripts if arguments.has("-f", "--file") else _joined(scripts):
        files = sed_files(script.text) if script.fixed else None
        for access, name in files or ():
            reading.path(Value(text=name, head=name), access)
        if files is None:
            reading.run(RunsCode.INLINE)
            _sed_shows(call, script.text)
    in_place = arguments.has("-i", "--in-place")
    for operand in operands:
        if operand.text or not operand.fixed:  # no file has an empty name
            reading.use(Use.EDIT if in_place else Use.READ, operand)
    for suffix in arguments.values("-i", "--in-place"):
        _backups(call, suffix, operands)
    return True


# The options before it have no value to any sed.
_BARE_IN_PLACE = regex(r"(-[nErsul]*)i")


def _as_on_a_mac(call: Invocation) -> None:
    """To BSD's sed the word behind `-i` is the suffix, empty or not. Another sed may go by that name, too."""
    words = list(call.words)
    for index, word in enumerate(words[:-1]):
        bare = _BARE_IN_PLACE.fullmatch(word.text) if word.fixed else None
        if bare is not None:
            suffix = words[index + 1]
            told = [f"{bare[0]}{suffix.text}"] if suffix.text else [f"{bare[1]}s", "--in-place"]
            if not suffix.fixed:
                call.reading.caution()
            words[index : index + 2] = [Value(text=text, head=text) for text in told]
            call.read_as(call.name, call.model, tuple(words))
            return


def _joined(scripts: list[Value]) -> list[Value]:
    if len(scripts) > 1 and all(script.fixed for script in scripts):
        return [Value(text="\n".join(script.text for script in scripts))]
    return scripts


_SED_PLACE = r"(?:^|[;{}\n])\s*(?:[\d$,~+!\s]|/(?:[^/\\\n]|\\.)*/I?)*"
_SED_FILES = regex(_SED_PLACE + r"([rRwW])\s+([^\n;}]+)")
_SED_RUNS = regex(_SED_PLACE + r"e\s+([^\n]+)")
_SED_CHANGES = regex(r"s([/|,#@:!%+])(?:(?!\1)[^\\\n]|\\.)*\1((?:(?!\1)[^\\\n]|\\.)*)\1[gpiImM0-9]*(e|w\s*[^\n;}]+)")


def _sed_shows(call: Invocation, script: str) -> None:
    """Files and commands that the script names: `w FILE`, `r FILE`, `e COMMAND`, `s/x/COMMAND/e`, `s/x/y/w FILE`."""
    if len(script) > _MAX_SCRIPT:
        return
    for command, name in _SED_FILES.findall(script):
        file = Value(text=name.strip(), head=name.strip())
        call.reading.path(file, Access.READ if command in "rR" else Access.WRITE)
    lines = _SED_RUNS.findall(script)
    for _, text, flag in _SED_CHANGES.findall(script):
        if flag == "e":
            lines.append(text)
        else:
            call.reading.path(Value(text=flag[1:].strip(), head=flag[1:].strip()), Access.WRITE)
    call.reading.nested += glimpse(call.name, lines)


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


def _awk(call: Invocation) -> bool:
    reading = call.reading
    operands = list(call.operands)
    programs = call.arguments.values("-e", "--source")
    in_place = any(value.text.startswith("inplace") for value in call.arguments.values("-i", "--include"))
    for value in call.arguments.values("-f", "--file"):
        _from_file(call, value)
    if not programs and not call.arguments.has("-f", "--file") and operands:
        programs = [operands.pop(0)]
    for program in programs:
        if not (program.fixed and awk_prints_only(program.text)):
            reading.run(RunsCode.INLINE)
            _awk_shows(call, program.text)
    for operand in operands:
        begins = [operand.text] if operand.fixed else [root.text for root in operand.roots or ()]
        assigns = ["=" in text and _NAME.match(text.partition("=")[0]) is not None for text in begins]
        if not operand.fixed and any(assigns):
            reading.caution()  # `a=b/c` is no file, and awk reads its input instead
        elif not any(assigns):
            reading.use(Use.EDIT if in_place else Use.READ, operand)
    return True


_AWK_TEXT = r"\"((?:[^\"\\\n]|\\.)*)\""
_AWK_RUNS = regex(rf"system\s*\(\s*{_AWK_TEXT}|\|&?\s*{_AWK_TEXT}|{_AWK_TEXT}\s*\|&?\s*getline")
_AWK_WRITES = regex(rf">>?\s*{_AWK_TEXT}")
_AWK_READS = regex(rf"<\s*{_AWK_TEXT}|ARGV\[\w+\]\s*=\s*{_AWK_TEXT}")


def _awk_shows(call: Invocation, program: str) -> None:
    """Files and commands that stand in the program as constants."""
    if len(program) > _MAX_SCRIPT:
        return
    lines = ("".join(found).replace('\\"', '"') for found in _AWK_RUNS.findall(program))
    call.reading.nested += glimpse(call.name, lines)
    for name in _AWK_WRITES.findall(program):
        call.reading.path(Value(text=name, head=name), Access.WRITE)
    for found in _AWK_READS.findall(program):
        call.reading.path(Value(text="".join(found), head="".join(found)), Access.READ)


def _grep(call: Invocation) -> bool:
    """Without operands grep -r and rg read the working directory; plain grep reads its input."""
    arguments = call.arguments
    operands = list(call.operands)
    if is_rg(call) and arguments.has("--files", "--type-list"):
        listed = searched(call)
        for operand in operands or [Value(text=".", head=".")]:
            call.reading.path(operand, Access.LIST, recursive=True, look=linked(follows=listed.follows))
        if not call.reading.cautious and arguments.has("--files"):
            flags = [option.name for option, _ in arguments.given]
            call.reading.prints = printed_by_walk(flags, operands, Listing(tuple(operands), listed))
        return True
    look = searched(call)
    # What may be several words, or stand behind such, is a file, too.
    shifted = bool(arguments.spilt) or (bool(operands) and operands[0].several)
    if not arguments.has("-e", "--regexp", "-f", "--file") and operands and not shifted:
        operands.pop(0)
    lone = shifted and len(operands) == 1
    named = tuple(operands)  # names that are printed begin with one of these
    actions = arguments.values("-d", "--directories")
    recursive = call.recursive or any(not value.fixed or value.text.startswith("rec") for value in actions)
    # zgrep hands on what it unpacks: its grep has no operand, whatever zgrep has.
    recursive |= look.ignores
    if recursive and (not operands or lone or (not look.ignores and call.name.rpartition("/")[2] == "zgrep")):
        operands.append(Value(text=".", head="."))
    for operand in operands:
        call.reading.path(operand, Access.READ, recursive=recursive, look=look)
    if recursive and not call.reading.cautious:
        flags = [option.name for option, _ in arguments.given]
        call.reading.prints = printed_by_grep(flags, named, Listing(named, look))
    return True


LANGUAGE: Mapping[str, Special] = MappingProxyType({"sed": _sed, "awk": _awk, "grep": _grep})

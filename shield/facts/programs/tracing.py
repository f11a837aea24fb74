"""Programs that watch another one at work: tracers, debuggers, profilers. They start it, and say what they saw.

What they attach to that runs already is for `shield.facts.programs.aims`.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.programs.forwarding import command_among
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.regex import regex
from shield.types import Access, Operation, RunsCode

__all__ = ["TRACING"]

# strace(1), -e: which calls are shown; `inject=` changes what the program sees, `abbrev=none` shows its environment.
_TRACED = regex(r"(?:(?:trace|t|signal|signals|s|status)=)?!?[%?\w,/^.*@+-]+", re.ASCII)
_PLAIN_FILE = regex(r"[A-Za-z0-9_./-]+", re.ASCII)  # `|program` and `!program` are started
# perf-record(1), -e: what ends as a source or an object file does is compiled, and loaded into the kernel.
_EVENTS = regex(r"(?!.*\.(?:bpf|c|o))[\w:,.{}/=*+-]+", re.ASCII)
# valgrind(1): the tool is a program that is looked for beneath its own folder; `%q{NAME}` in the name of a file stands
# for a variable, `%%` for a sign of the name.
_TOOL = regex(r"[a-z][a-z-]*", re.ASCII)
_LOG = regex(r"(?:[^%]|%p)+", re.DOTALL)

# What gdb(1) and lldb(1) are told that neither calls a function nor runs a program, a script or a shell: names of
# frames, breakpoints and variables. What `run` is given more a shell would read.
_PLACE = r"[A-Za-z_*][\w:./*+-]*"
_VARIABLE = r"[*&]?[A-Za-z_$](?:[\w.]|->|\[\w+\])*"
_STEPS = "run|r|start|starti|quit|q|kill|k|finish|fin|ni|nexti|si|stepi|where"
_FRAMES = "frame|f|select-frame|up|down|continue|c|next|n|step|s|until|thread"
_KNOWN = (
    "registers?|r|all-registers|args|locals|threads|frame|f|breakpoints?|b|br|sharedlibrary|source|program|signals?|files"
    "|target|line|symbol|variables|functions|types|stack|s"
)
_SETTINGS = (
    "pagination|confirm|verbose|listsize|width|height|disassembly-flavor|breakpoint pending|disable-randomization"
    "|style enabled|backtrace limit|follow-fork-mode|detach-on-fork|non-stop"
    "|print (?:pretty|elements|thread-events|frame-arguments|address|inferior-events)"
)
_GDB = regex(
    rf"(?:{_STEPS})|(?:bt|backtrace|where)(?: (?:-?full|-?\d+))*|(?:{_FRAMES})(?: \d+)?"
    r"|(?:thread|t) apply (?:all|\d+(?: \d+)*)(?: -[qs])? (?:bt|backtrace|where)(?: full)?"
    rf"|(?:info|i) (?:{_KNOWN})(?: [\w$.:*]+)*"
    rf"|(?:break|br|b|tbreak|tb|until|advance|list|l|disassemble|disas)(?: {_PLACE}| \d+(?:,\d*)?| /[mrs]+)?"
    rf"|(?:print|p|display|ptype|whatis|watch|output)(?:/[a-z])? {_VARIABLE}|x(?:/\d*[a-z]{{1,2}})? [\w$&*.+-]+"
    rf"|set (?:{_SETTINGS})(?: [a-z0-9-]+)?|set debuginfod enabled off|handle [A-Z0-9]+(?: (?:no)?(?:stop|print|pass))+"
)
_LLDB = regex(
    r"run|r|process launch|quit|q|bt(?: all| \d+)?|thread (?:backtrace(?: all)?|list)|register read|frame select \d+"
    r"|continue|c|next|n|step|s|finish|source list|disassemble|image list|frame variable"
    r"|(?:b|breakpoint set --name|breakpoint set -n) [A-Za-z_][\w:.]*|(?:fr v|p|po|v) [A-Za-z_][\w.]*"
)
_SHOWS = regex(r"environ", re.IGNORECASE)


def _trace(call: Invocation) -> bool:
    """strace, ltrace: the operands are the command."""
    reading, arguments = call.reading, call.arguments
    for value in arguments.values("-o", "--output"):
        if not value.fixed or not _PLAIN_FILE.fullmatch(value.text):
            reading.run(RunsCode.INLINE)
    if not all(value.fixed and _TRACED.fullmatch(value.text) for value in arguments.values("-e", "--expr", "--trace")):
        reading.caution()
    # What functions are given and return shows the environment, unless they are only counted.
    if call.name == "ltrace" and not arguments.has("-c"):
        reading.caution()
    return _started(call, call.operands)


def _perf(call: Invocation) -> bool:
    """perf stat, perf record"""
    if not all(value.fixed and _EVENTS.fullmatch(value.text) for value in call.arguments.values("-e", "--event")):
        call.reading.run(RunsCode.INLINE)
    return _started(call, call.operands)


def _valgrind(call: Invocation) -> bool:
    """Only the options that its entry lists are known to start nothing and to send nothing."""
    arguments = call.arguments
    named = all(value.fixed and _TOOL.fullmatch(value.text) for value in arguments.values("--tool"))
    files = [value for option, value in arguments.given if value is not None and option.name.endswith("-file")]
    if arguments.foreign or not named or not all(value.fixed and _LOG.fullmatch(value.text) for value in files):
        call.reading.run(RunsCode.INLINE)
    return _started(call, call.operands)


def _started(call: Invocation, words: list[Value]) -> bool:
    call.command(words)
    if call.arguments.foreign:
        call.reading.nested += [
            nested for nested in command_among(call.name, words, lines=False) if nested.words != tuple(words)
        ]
    return True


def _debugger(call: Invocation) -> bool:
    """gdb, lldb: only where all that they are told is in their words, and plain."""
    told = _Told(call)
    if told.plain:
        # Start-up files of their own, and those beside a program that the user's settings trust.
        call.reading.run(RunsCode.WORKSPACE)
        call.reading.operations.add(Operation.EXECUTE)
        for core in told.program[1:] if not told.whole else ():
            call.reading.path(core, Access.READ)
        call.command(told.program if told.whole else told.program[:1])
        return True
    call.reading.run(RunsCode.INLINE)
    call.reading.code = True
    call.reading.nested += command_among(call.name, call.words, lines=True)
    return True


class _Told:
    """What a debugger is told. `program`: what it starts; `whole`: with all the words behind it."""

    def __init__(self, call: Invocation) -> None:
        gdb = call.name == "gdb"
        words = list(call.words)
        self.program: list[Value] = []
        self.whole = not gdb
        batch = False
        self.plain = all(word.fixed for word in words)
        while words and self.plain:
            text = words.pop(0).text
            name = text.removeprefix("-") if text.startswith("--") else text
            if name == "-" or (text == "--" and not gdb) or (gdb and name == "-args"):
                self.whole = True
                self.program += words
                break
            if name in (_GDB_ALONE if gdb else _LLDB_ALONE):
                batch |= name in ("-batch", "-b")
            elif name in (_GDB_TOLD if gdb else _LLDB_TOLD) and words:
                order = words.pop(0).text
                self.plain = (_GDB if gdb else _LLDB).fullmatch(order) is not None and not _SHOWS.search(order)
            elif text.startswith("-"):
                self.plain = False
            else:
                self.program.append(call.words[len(call.words) - len(words) - 1])
        known = bool(self.program) and not self.program[0].text.startswith("-")
        # it takes what begins with a digit for a process: `77`, `0x4d`, `77x`
        attaches = not self.whole and any(word.text[:1].isdigit() for word in self.program)
        self.plain &= batch and known and not attaches and (self.whole or len(self.program) <= 2)


_GDB_ALONE = frozenset(
    ("-batch", "-batch-silent", "-q", "-quiet", "-silent", "-nx", "-nh", "-n", "-return-child-result")
)
_GDB_TOLD = frozenset(("-ex", "-eval-command"))
_LLDB_ALONE = frozenset(("-b", "-batch", "-Q", "-no-lldbinit", "-x", "-X", "-no-use-colors"))
_LLDB_TOLD = frozenset(("-o", "-one-line", "-k", "-one-line-on-crash"))


def _measured(call: Invocation) -> bool:
    """hyperfine: every operand is a line for a shell."""
    for word in call.operands:
        call.reading.operations.add(Operation.EXECUTE)
        call.reading.nested.append(Nested(kind=NestedKind.SHELL, words=(word,), via=(call.name,)))
    return True


TRACING: Mapping[str, Special] = MappingProxyType(
    {"trace": _trace, "perf": _perf, "valgrind": _valgrind, "debugger": _debugger, "measured": _measured}
)

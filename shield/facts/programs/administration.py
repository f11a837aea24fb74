"""Programs that look after the machine, its services, containers and clusters."""

from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.programs.forwarding import glimpse
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.regex import regex
from shield.types import Operation, RunsCode

__all__ = ["ADMINISTRATION"]


def _no_operands(call: Invocation) -> bool:
    """With an operand the program sets something, instead of telling it."""
    if call.operands:
        call.reading.caution()
    return True


def _date(call: Invocation) -> bool:
    for operand in call.operands:
        if not operand.text.startswith("+") or not operand.head:
            call.reading.caution()  # date MMDDhhmm sets the clock
    if call.arguments.has("-s", "--set"):
        call.reading.caution()
    return True


def _kill(call: Invocation) -> bool:
    call.reading.operations |= {Operation.EXECUTE}
    if any(not word.fixed for word in call.words):
        call.reading.loose = True
    return True


def _administer(call: Invocation) -> bool:
    call.reading.caution()
    for word in call.words:
        if not word.head.startswith("-"):
            call.reading.use(Use.ANY, word)
    return True


def _crontab(call: Invocation) -> bool:
    if len(call.words) == 1 and call.words[0].fixed and call.words[0].text == "-l":
        call.reading.operations.add(Operation.READ)
        return True
    call.reading.operations.add(Operation.SCHEDULE)
    call.reading.run(RunsCode.INLINE)
    if call.context.stdin is not None:
        lines = (line.lstrip() for line in call.context.stdin.splitlines())
        timed = (line for line in lines if line and not line.startswith("#"))
        call.reading.nested += glimpse(call.name, (line.split(None, 1 if line[0] == "@" else 5)[-1] for line in timed))
    for word in call.words:
        if not word.head.startswith("-"):
            call.reading.use(Use.SCRIPT, word)
    return True


def _at(call: Invocation) -> bool:
    if [word.text for word in call.words if word.fixed] == ["-l"] and len(call.words) == 1:
        call.reading.operations.add(Operation.READ)  # numbers and times; `-c` shows the job with its environment
        return True
    call.reading.operations.add(Operation.SCHEDULE)
    call.reading.run(RunsCode.INLINE)
    if call.context.stdin is not None:
        call.reading.nested += glimpse(call.name, [call.context.stdin])
    return True


def _service(call: Invocation) -> bool:
    """service(8): `--status-all`, `NAME status`."""
    words = [word.text if word.fixed else "" for word in call.words]
    if words == ["--status-all"] or (len(words) == 2 and _SERVICE.fullmatch(words[0]) and words[1] == "status"):
        call.reading.operations.add(Operation.READ)
        return True
    call.reading.run(RunsCode.INLINE)
    call.reading.operations.add(Operation.SCHEDULE)
    call.reading.ask(f"`{call.name}`: it starts or stops what runs by itself")
    return True


_SERVICE = regex(r"[A-Za-z0-9][A-Za-z0-9_.@-]*")


def _keygen(call: Invocation) -> bool:
    """ssh-keygen(1): a key is made or changed, unless only its fingerprint is shown."""
    told = {option.name for option, _ in call.arguments.given}
    shows = "-l" in told and told <= {"-l", "-f", "-E", "-q", "-v"} and not call.arguments.foreign
    if shows:
        call.reading.operations.discard(Operation.WRITE)
    for value in call.arguments.values("-f"):
        call.reading.use(Use.READ if shows else Use.EDIT, value)
    return False


ADMINISTRATION: Mapping[str, Special] = MappingProxyType(
    {
        "no_operands": _no_operands,
        "date": _date,
        "kill": _kill,
        "administer": _administer,
        "crontab": _crontab,
        "at": _at,
        "service": _service,
        "keygen": _keygen,
    }
)

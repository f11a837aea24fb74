"""Programs that look after the machine, its services, containers and clusters."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.types import Access, Operation, RunsCode

__all__ = ["ADMINISTRATION"]


def _no_operands(call: Invocation) -> bool:
    """With an operand the program sets something, instead of telling it."""
    if call.operands:
        call.reading.caution()
    return True


def _environment(_: Invocation) -> bool:
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


_SYSTEMCTL_READS_TEXT = """
status show list-units list-unit-files is-active is-enabled is-failed cat list-timers list-sockets get-default
list-dependencies list-jobs --version
"""


_SYSTEMCTL_READS = frozenset(_SYSTEMCTL_READS_TEXT.split())


def _systemctl(call: Invocation) -> bool:
    verbs = [word for word in call.words if not word.head.startswith("-")]
    reads = verbs and verbs[0].fixed and verbs[0].text in _SYSTEMCTL_READS
    remote = any(word.head.startswith(("-H", "-M", "--host", "--machine")) for word in call.words)
    if not reads or remote or any(not word.fixed for word in call.words):
        call.reading.caution()
        call.reading.operations.add(Operation.SCHEDULE)
    else:
        call.reading.operations.add(Operation.READ)
    return True


def _crontab(call: Invocation) -> bool:
    words = [word.text for word in call.words if word.fixed]
    if words == ["-l"]:
        call.reading.operations.add(Operation.READ)
        return True
    call.reading.operations.add(Operation.SCHEDULE)
    call.reading.run(RunsCode.INLINE)
    for word in call.words:
        if not word.head.startswith("-"):
            call.reading.use(Use.SCRIPT, word)
    return True


def _at(call: Invocation) -> bool:
    call.reading.operations.add(Operation.SCHEDULE)
    call.reading.run(RunsCode.INLINE)
    return True


def _su(call: Invocation) -> bool:
    call.reading.caution()
    words = call.words
    for index, word in enumerate(words):
        if word.fixed and word.text in ("-c", "--command", "--session-command") and index + 1 < len(words):
            call.reading.nested.append(Nested(kind=NestedKind.SHELL, words=(words[index + 1],), via=(call.name,)))
    call.reading.run(RunsCode.INLINE)
    return True


_DOCKER_READS_TEXT = """
ps images version info logs inspect port top stats events history diff
"""


_DOCKER_READS = frozenset(_DOCKER_READS_TEXT.split())


def _docker(call: Invocation) -> bool:
    """Containers mount, run and fetch: only listing is known to be harmless."""
    words = call.words
    if words and all(word.fixed for word in words) and words[0].text in _DOCKER_READS:
        call.reading.operations.add(Operation.READ)
        return True
    call.reading.run(RunsCode.FETCHED)
    for word in words:
        for piece in _mounted(word.text) if word.fixed else ():
            if piece.startswith(("/", "~", "./", "../")):
                call.reading.path(Value(text=piece, head=piece), Access.READ, Access.WRITE, recursive=True)
    if words and words[0].fixed and words[0].text == "exec":
        rest = [word for word in words[1:] if not word.head.startswith("-")]
        call.command(rest[1:], elsewhere=True)
    return True


def _mounted(text: str) -> list[str]:
    """What a word may name of this machine: `-v /a:/b`, `-v/a:/b`, `--volume=/a:/b`, `--mount type=bind,source=/a`."""
    joined = re.match(r"(?:--volume=|-v)(?=[/~.])", text)
    if "source=" in text or "src=" in text:
        pairs = (part.partition("=") for part in text.removeprefix("--mount=").split(","))
        return [value for name, _, value in pairs if name in ("source", "src")]
    return text[joined.end() :].split(":") if joined is not None else text.split(":")


_CLUSTER_READS_TEXT = """
get describe logs top version explain api-resources api-versions cluster-info list show validate plan output
providers graph fmt-check status view
"""


_CLUSTER_READS = frozenset(_CLUSTER_READS_TEXT.split())


def _cluster(call: Invocation) -> bool:
    """Shared infrastructure: all of it talks to the network; what is not known to read may change anything."""
    words = [word for word in call.words if not word.head.startswith("-")]
    call.reading.operations.add(Operation.NETWORK)
    if not (words and all(word.fixed for word in call.words) and words[0].text in _CLUSTER_READS):
        call.reading.caution()
    call.reading.unknown.append(f"which hosts `{call.name}` talks to is not known")
    for word in words[1:]:
        if word.text.startswith(("/", "~", "./", "../")):
            call.reading.use(Use.ANY, word)
    return True


ADMINISTRATION: Mapping[str, Special] = MappingProxyType(
    {
        "no_operands": _no_operands,
        "environment": _environment,
        "date": _date,
        "kill": _kill,
        "administer": _administer,
        "systemctl": _systemctl,
        "crontab": _crontab,
        "at": _at,
        "su": _su,
        "docker": _docker,
        "cluster": _cluster,
    }
)

"""Programs that connect to whatever they are told: hosts and ports, sockets in the file system, ports led elsewhere."""

import re
from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType

from shield.facts.programs.forwarding import glimpse
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.regex import regex
from shield.types import Access, Operation, RunsCode

__all__ = ["PIECE", "SOCKETS", "endpoint", "jumps"]

# A host, an address in brackets or a port between colons.
PIECE = regex(r"\[[^\]]*\]|[^:\[\]]+")


def endpoint(host: str, port: str) -> Value:
    """A host with its port, as a URL would have it."""
    bare = host.strip("[]")
    return Value(text=f"[{bare}]:{port}" if ":" in bare else f"{bare}:{port}")


_NETCAT_VALUE = frozenset(
    "-w -q -i -s -X -x -g -G -I -O -P -T -V -m -M -b -c -e --wait --source --proxy --proxy-type --exec".split()  # noqa: SIM905
)


def _netcat(call: Invocation) -> bool:
    """nc, telnet and kin: `HOST PORT`, or `-U PATH`."""
    reading = call.reading
    if _probes(call):
        return True
    reading.caution()
    words, operands = list(call.words), []
    while words:
        word = words.pop(0)
        if word.fixed and re.match(r"-\w*[ec]|--(?:exec|sh-exec|lua-exec)", word.text):
            reading.run(RunsCode.INLINE)
            reading.code = True
            joined = word.text.partition("=")[2]
            reading.nested += glimpse(call.name, [joined or (words[0].text if words else "")])
        if word.fixed and word.text in ("-x", "--proxy") and words and words[0].fixed:
            reading.hosts.append(Value(text=words[0].text))
        if word.fixed and word.text in _NETCAT_VALUE:
            words = words[1:]
        elif not word.head.startswith("-"):
            operands.append(word)
    ports = [
        (host, port)
        for host, port in pairwise(operands)
        if port.fixed and re.fullmatch(r"\d+", port.text) and host.known and not host.text.isdigit()
    ]
    if any(word.fixed and re.match(r"-\w*U|--unixsock", word.text) for word in call.words):
        for operand in operands:
            reading.path(operand, Access.READ, Access.WRITE)
    elif ports:
        reading.hosts.extend(endpoint(host.text, port.text) for host, port in ports)
    elif operands:
        reading.hosts.append(operands[0])
    else:
        reading.unknown.append(f"who talks to `{call.name}` is not known")
    return True


_PROBES = regex(r"(?:-[nv46]*z[nv46]*|-[nv46]+|-w ?\d+| )+")


def _probes(call: Invocation) -> bool:
    """`nc -z HOST PORT`: it connects, sends nothing and says whether that went well."""
    texts = [word.text for word in call.words]
    options = " ".join(texts[:-2])
    if len(texts) < 3 or not all(word.fixed for word in call.words) or call.name not in ("nc", "ncat", "netcat"):
        return False
    if (
        not _PROBES.fullmatch(options)
        or "z" not in options
        or not re.fullmatch(r"[A-Za-z0-9.:-]*[A-Za-z0-9]", texts[-2])
    ):
        return False
    if texts[-2].startswith("-") or not texts[-1].isdigit():
        return False
    call.reading.operations = {Operation.NETWORK}
    call.reading.hosts.append(endpoint(texts[-2], texts[-1]))
    return True


_SOCAT_FILES = frozenset(("OPEN", "CREATE", "CREAT", "FILE", "GOPEN", "PIPE", "FIFO", "LOCAL"))


def _socat(call: Invocation) -> bool:
    """socat(1): two addresses, `TYPE:PARAMETERS,OPTION…`; whatever they are, what is run is not followed further."""
    reading = call.reading
    reading.run(RunsCode.INLINE)
    reading.code = True
    for word in call.words:
        if word.head.startswith("-") or not word.known:
            continue  # a pattern stays as it is where no file matches: `TCP6:[::1]:80`
        for address in word.text.split("!!"):
            _socat_address(call, address)
    return True


def _socat_address(call: Invocation, address: str) -> None:
    reading = call.reading
    text, *options = address.split(",")
    kind, colon, rest = text.partition(":")
    kind = kind.upper()
    pieces = PIECE.findall(rest)
    if not colon and "/" in text:
        reading.path(Value(text=text, head=text), Access.READ, Access.WRITE)
    elif kind in _SOCAT_FILES or kind.startswith("UNIX"):
        reading.path(Value(text=rest, head=rest), Access.READ, Access.WRITE)
    elif kind in ("EXEC", "SYSTEM", "SHELL"):
        reading.nested.append(Nested(kind=NestedKind.SHELL, words=(Value(text=rest, head=rest),), via=(call.name,)))
    elif "LISTEN" not in kind and len(pieces) >= 2:
        reading.operations.add(Operation.NETWORK)
        # `PROXY:HOST:TARGET:PORT` and the SOCKS types name two
        reading.hosts.append(endpoint(pieces[-2], pieces[-1]))
        if len(pieces) > 2:
            reading.hosts.append(Value(text=pieces[0]))
    for option in options:
        value = option.partition("=")[2]
        if "/" in value:
            reading.path(Value(text=value, head=value), Access.READ)


_SSH_VALUE = "BbcDEeFIiJLlmOopPQRSWw"
_SSH_PROGRAM = regex(r"\s*(?:ProxyCommand|LocalCommand|KnownHostsCommand)\s*[= ]\s*(.+)", re.IGNORECASE | re.DOTALL)


def _ssh(call: Invocation) -> bool:
    """ssh(1): the command runs elsewhere; options may run programs here (`-o ProxyCommand`) and lead ports here."""
    reading, words = call.reading, list(call.words)
    reading.caution()
    _ssh_options(call, words)
    if words and words[0].fixed and words[0].text == "--":
        words.pop(0)
    if words:
        host = words.pop(0)
        reading.hosts.append(
            Value(text="ssh://" + host.text if host.fixed and "://" not in host.text else host.text, known=host.known)
        )
        _ssh_options(call, words)  # they may stand behind the host, too
    if words and words[0].fixed and words[0].text == "--":
        words.pop(0)
    if words:
        line = " ".join(word.text for word in words)
        known = all(word.fixed for word in words)
        reading.nested.append(
            Nested(
                kind=NestedKind.SHELL, words=(Value(text=line, known=known, head=line),), via=("ssh",), elsewhere=True
            )
        )
    else:
        reading.run(RunsCode.INLINE)
    return True


def _ssh_options(call: Invocation, words: list[Value]) -> None:
    """Take the options off the front of `words`."""
    reading = call.reading
    while words and (words[0].head or words[0].text).startswith("-") and words[0].text != "--":
        text = words.pop(0).text
        at = next((index for index, letter in enumerate(text) if index and letter in _SSH_VALUE), None)
        if at is None:
            continue
        value = text[at + 1 :] or (words.pop(0).text if words else "")
        if text[at] == "i":
            reading.path(Value(text=value, head=value), Access.READ)
        elif text[at] in "oFEISJ" or text[at] in "LRDWw":
            reading.run(RunsCode.INLINE)
            _ssh_option(call, text[at], value)


def jumps(value: Value) -> list[Value]:
    """The machines that a connection is led through: `-J A,B`."""
    if not value.fixed:
        return [value]
    return [Value(text=each if "://" in each else f"ssh://{each}") for each in value.text.split(",")]


def _ssh_option(call: Invocation, letter: str, value: str) -> None:
    """Where a port is led to: `-L PORT:HOST:PORT`, `-W HOST:PORT`; programs and forwards of `-o`."""
    if letter == "J":
        call.reading.hosts += jumps(Value(text=value, head=value))
        return
    program = _SSH_PROGRAM.match(value) if letter == "o" else None
    if program is not None:
        line = Value(text=program[1], head=program[1])
        call.reading.nested.append(Nested(kind=NestedKind.SHELL, words=(line,), via=(call.name,)))
        return
    target = value.split()[-1] if letter == "o" and "forward" in value.lower() and value.split() else value
    pieces = PIECE.findall(target)
    if len(pieces) >= 2 and pieces[-1].isdigit() and (letter in "LRW" or target != value):
        call.reading.hosts.append(endpoint(pieces[-2], pieces[-1]))


SOCKETS: Mapping[str, Special] = MappingProxyType({"netcat": _netcat, "socat": _socat, "ssh": _ssh})

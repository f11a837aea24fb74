"""Redirections: the files and hosts they open (bash(1) REDIRECTION)."""

import re
from collections.abc import Callable, Iterable, Iterator

from shield.facts.programs.reading import Reading, Value
from shield.facts.shell.frame import Fed
from shield.facts.shell.grammar.script import PartKind, RedirectNode, Word
from shield.facts.shell.variables import Content, Secret
from shield.regex import regex
from shield.types import Access, Operation, Redirect

__all__ = ["read_redirects"]

_PLAIN = regex(r"[\w./%+,@:-][\w./%+,@:=-]*\Z", re.ASCII)
_NETWORK = regex(r"/dev/(?:tcp|udp)/([^/]+)/([^/]+)\Z")
# Writing here goes nowhere, or to what the command was given.
_STREAMS = frozenset(
    [
        "/dev/null",
        "/dev/stdin",
        "/dev/stdout",
        "/dev/stderr",
        "/dev/tty",
        "/dev/zero",
        "/dev/fd/0",
        "/dev/fd/1",
        "/dev/fd/2",
    ]
)
_ACCESS = {
    ">": (Access.WRITE,),
    ">>": (Access.WRITE,),
    ">|": (Access.WRITE,),
    "&>": (Access.WRITE,),
    "&>>": (Access.WRITE,),
    ">&": (Access.WRITE,),
    "<": (Access.READ,),
    "<&": (Access.READ,),
    "<>": (Access.READ, Access.WRITE),
}


def read_redirects(
    nodes: Iterable[RedirectNode], values: Callable[[Word], list[Value]], whole: Callable[[Word], Content]
) -> Fed:
    """The redirections as facts, and what they open. `whole` gives the text of a here-document."""
    reading = Reading()
    out: list[Redirect] = []
    stdin = False
    fed: str | None = None
    opened: Value | None = None
    unsure = False
    for node in nodes:
        fd = node.fd if node.fd is not None else {"<": 0, ">": 1}.get(node.op[:1])
        if node.op.startswith("<") or fd == 0:
            # `0>&4`, too, is another standard input
            stdin = True
            fed = opened = None
        if node.op.endswith("-") and not node.op.startswith("<<"):
            out.append(Redirect(op=node.op, target=None, fd=fd))
            continue
        if node.op.startswith("<<"):
            text = whole(node.target)
            fed = text if isinstance(text, str) and fd == 0 else None
            shown = text if isinstance(text, str) else text.source if isinstance(text, Secret) else None
            unsure |= node.op != "<<<" and not isinstance(text, str)
            if node.op == "<<<" and shown is None:
                shown = "".join(
                    f"${part.text}" if part.kind is PartKind.VARIABLE else part.text for part in node.target
                )
            out.append(Redirect(op=node.op, target=shown, fd=fd))
            continue
        found = values(node.target)
        value = (
            found[0] if len(found) == 1 else Value(text=" ".join(item.text for item in found), known=False, many=True)
        )
        known = value.fixed and not value.fresh
        out.append(Redirect(op=node.op, target=value.text if known else None, fd=fd))
        unsure |= not known
        if value.fixed and node.op in (">&", "<&") and re.fullmatch(r"\d+-?", value.text):
            continue
        if node.op == ">&" and not value.number and not (value.fixed and _PLAIN.match(value.text)):
            reading.code = True  # the name of a file is expanded once more: `>&'$(id)'`
        if value.fixed and value.text in _STREAMS:
            continue
        network = _NETWORK.match(value.text)
        if network is not None or (not value.fixed and value.text.startswith("/dev/")):
            reading.operations.add(Operation.NETWORK)
            host = value.text
            if network is not None:
                host = f"[{network[1]}]:{network[2]}" if network[1].count(":") > 1 else f"{network[1]}:{network[2]}"
            reading.hosts.append(Value(text=host, known=value.fixed))
            continue
        accesses = _ACCESS.get(node.op)
        if accesses is None:
            reading.caution()
            accesses = (Access.READ, Access.WRITE)
        for other in _names(value):
            reading.path(other, *accesses)
        if node.op == "<" and node.fd in (None, 0) and value.fixed:
            opened = value
    return Fed(tuple(out), reading, stdin=stdin, text=fed, opened=opened, unsure=unsure)


def _names(value: Value) -> Iterator[Value]:
    """What may be opened: the value, itself where a shell matches no patterns there, and what it is where something was
    not made; what has no name cannot be opened."""
    yield value._replace(lost=None)
    if value.pattern is not None:
        yield Value(text=value.text, head=value.text)
    for other in value.lost.words if value.lost is not None and len(value.lost.words) == 1 else ():
        if other.text:
            yield other._replace(lost=value.lost)

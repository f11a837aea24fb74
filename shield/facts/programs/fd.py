"""fd(1): which names it finds, and the command that it starts with them."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from shield.facts.beneath import Look
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.listing import linked, printed_by_fd, taken_apart
from shield.facts.programs.reading import Listing, Value, plain_globs
from shield.types import Access, RunsCode

__all__ = ["FD"]

_STARTS = ("-x", "--exec", "-X", "--exec-batch")


def _fd(call: Invocation) -> bool:
    """fd [PATTERN [PATH…]] [-x COMMAND…]: without a path it begins here."""
    reading, arguments = call.reading, call.arguments
    command = _command(call)
    operands = call.operands[: len(call.operands) - max(len(command or ()) - 1, 0)]
    shifted = bool(arguments.spilt) or (bool(operands) and operands[0].several)
    lone = [Value(text=".", head=".")] if len(operands) == 1 else []
    roots = [*operands, *lone] if shifted else operands[1:]
    for root in roots or [Value(text=".", head=".")]:
        reading.path(root, Access.LIST, recursive=True, look=linked(follows=arguments.has("-L", "--follow")))
    flags = [option.name for option, _ in arguments.given]
    known = None if shifted or reading.cautious else _look(call, operands)
    listing = None if known is None else printed_by_fd(flags, roots, Listing(tuple(roots), known))
    if command is None:
        reading.prints = listing
        return True
    ends = next((at for at, word in enumerate(command) if word.fixed and word.text == ";"), len(command))
    if not command[:ends] or command[ends + 1 :]:
        reading.run(RunsCode.INLINE)  # what stands behind may begin another command
        return True
    named = None
    if listing is not None:
        # each name is a word, whatever is in it
        named = taken_apart(listing._replace(nul=True), call.context.place, call.context.bases, nul=True)
    call.command(_filled(command[:ends], named or Value(text="{}", known=False, many=True, bare="")))
    return True


def _command(call: Invocation) -> list[Value] | None:
    """The words behind `-x`; none of them where they are not told apart."""
    if not call.arguments.has(*_STARTS):
        return None
    option, first = call.arguments.given[-1]
    at = next((at for at, word in enumerate(call.words) if word is first), 0)
    apart = option.name in _STARTS and at > 0 and call.words[at - 1].fixed and call.words[at - 1].text in _STARTS
    return list(call.words[at:]) if apart else []


def _filled(words: list[Value], named: Value) -> list[Value]:
    """The command with a name in it; at its end where none of its words says where."""
    filled: list[Value] = []
    for word in words:
        if word.text == "{}":
            filled.append(named)
        elif "{" in word.text:
            lead = word.text.partition("{")[0]
            filled.append(Value(text=word.text, known=False, head=lead, bare=lead))
        else:
            filled.append(word)
    return filled if len(words) > 1 and any("{" in word.text for word in words[1:]) else [*filled, named]


def _look(call: Invocation, operands: list[Value]) -> Look | None:
    """Which entries it finds: ends and patterns of names whatever their case, as it is where they have no capitals."""
    arguments = call.arguments
    kinds = [value.text for value in arguments.values("-t", "--type")]
    follows = not kinds or any(kind not in ("f", "file") for kind in kinds)
    look = Look(follows=follows or arguments.has("-L", "--follow"))
    endings = arguments.values("-e", "--extension")
    if endings:
        only = plain_globs([Value(text=f"*.{value.text.lstrip('.')}", known=value.fixed) for value in endings])
        return None if only is None else replace(look, only=tuple(_whatever_case(each) for each in only))
    if operands and arguments.has("-g", "--glob") and not arguments.has("-p", "--full-path"):
        only = plain_globs(operands[:1])
        return look if only is None else replace(look, only=tuple(_whatever_case(each) for each in only))
    return look


def _whatever_case(pattern: str) -> str:
    return "".join(f"[{char.lower()}{char.upper()}]" if char.isascii() and char.isalpha() else char for char in pattern)


FD: Mapping[str, Special] = MappingProxyType({"fd": _fd})

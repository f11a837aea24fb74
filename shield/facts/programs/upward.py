"""Programs led by a file of the project, which they look for where they run and in every directory above."""

from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.programs.above import stands_above
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.types import RunsCode

__all__ = ["UPWARD"]

_SETTINGS = (".ackrc", "_ackrc")
_TOOLCHAINS = ("rust-toolchain", "rust-toolchain.toml")


def _searcher(call: Invocation) -> bool:
    """ag, ack: `--files-from` in the project's own settings has ack search files wherever they lie (ack(1)).

    What follows `-A`, `-B` or `-C` and is no number is what both search for, and the first operand is searched.
    """
    reading, arguments = call.reading, call.arguments
    if not all(value.fixed and value.text.isdecimal() for value in arguments.values("-A", "-B", "-C")):
        reading.caution()
        reading.unknown.append(f"what `{call.name[:80]}` searches is not known: a number of lines is none")
        for word in call.operands[:1]:
            reading.use(Use.TREE, word)
    if call.model.name == "ack" and not arguments.has("--noenv") and _led(call, _SETTINGS):
        reading.caution()
        reading.unknown.append("`.ackrc` may name other files that `ack` searches; `--noenv` keeps it from that")
    return False


def _rustup(call: Invocation) -> bool:
    """rustup: what tells of the active toolchain runs its compiler, or fetches it first: a file may name any."""
    arguments = call.arguments
    apart = call.model.subcommands is not None and (call.operands or call.name == "rustup")
    if apart and not arguments.has("-V", "--version"):
        return False  # help, or what a subcommand of its own says
    chosen = arguments.values("--toolchain")
    named = bool(chosen) and all(value.fixed and "/" not in value.text for value in chosen)
    if not named and ("RUSTUP_TOOLCHAIN" in call.context.place.env or chosen or _led(call, _TOOLCHAINS)):
        call.reading.run(RunsCode.WORKSPACE)
        call.reading.unknown.append("which toolchain is active, and is run or fetched, the project says")
    return False


def _led(call: Invocation, names: tuple[str, ...]) -> bool:
    """Whether such a file may be there."""
    place = call.context.place
    return any(base is None or stands_above(place, base, names) for base in call.context.bases)


UPWARD: Mapping[str, Special] = MappingProxyType({"rustup": _rustup, "searcher": _searcher})

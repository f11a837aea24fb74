"""Where an invocation stands: its place, its directories, and what it is fed."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from shield.facts.place import Place
from shield.facts.programs.value import Listing

__all__ = ["Context", "told_nothing"]


def told_nothing(_: str) -> tuple[str, ...]:
    """Of no file it is known what the line puts into it."""
    return ()


class Context(NamedTuple):
    """Where the invocation stands. `bases`: the directories it may run in (None: anywhere). `piped`: another command
    or a here-document feeds it; `fetched`: what feeds it came from the network; `stdin`: what feeds it, where that is a
    constant text; `whole`: this command, and no other before it, reads that from its first byte; `opened`: the file,
    resolved, that this command alone reads so; `names`: what feeds it is a list of names,
    `numbers`: of integers, zero or more, apart by blanks; `hashes`: of names of commits by their hashes, each a line;
    `told`: variables of its environment that the line sets, where their values are known. `dictated`: the texts that
    the line has put into the file at a resolved path, word by word."""

    place: Place
    bases: tuple[str | None, ...] = (None,)
    piped: bool = False
    fetched: bool = False
    stdin: str | None = None
    whole: bool = False
    opened: str | None = None
    names: Listing | None = None
    numbers: bool = False
    hashes: bool = False
    told: Mapping[str, str] = MappingProxyType({})
    dictated: Callable[[str], tuple[str, ...]] = told_nothing

    @property
    def base(self) -> str | None:
        return self.bases[0] if len(self.bases) == 1 else None

"""`git init` and `git clone`: which directory becomes a repository's.

One that is called `.git`, or `NAME.git`, is known as such by its name. Of another its `HEAD` is among the paths, so
that whoever lets it be made knows what is made (`shield.facts.repositories`).
"""

import posixpath
from collections.abc import Iterator

from shield.facts.programs.invocation import Invocation
from shield.facts.programs.reading import Value
from shield.facts.repositories import HEAD
from shield.types import Access

__all__ = ["founds", "init"]


def init(call: Invocation) -> bool:
    """What `git init` makes; its model says the rest."""
    call.reading.reshapes = True
    founds(call, call.operands[0] if call.operands else Value(text=".", head="."))
    return False


def founds(call: Invocation, target: Value) -> None:
    """Add what tells that `target`, or the directory that an option names, becomes one."""
    for folder in _folders(call, target):
        if folder.fixed and not posixpath.normpath(folder.text).endswith(".git"):
            name = posixpath.join(folder.text, HEAD)
            call.reading.path(Value(text=name, head=name), Access.WRITE)


def _folders(call: Invocation, target: Value) -> Iterator[Value]:
    yield from call.arguments.values("--separate-git-dir")
    if call.arguments.has("--bare", "--mirror"):
        yield target

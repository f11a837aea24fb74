"""Names that a line makes anew: what `mktemp` prints, and folders that `mkdir` made because nothing was there.

Such a name stands in words and paths with letters of its own in place of those that are chosen by chance: letters that
the line does not hold. Nobody could have put anything there, so what lies there is the line's own.
"""

import posixpath
from collections.abc import Iterable
from itertools import count

from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.mktemp import template_of
from shield.facts.shell.grammar.script import Command
from shield.facts.shell.variables import Fresh
from shield.types import CommandFact, Dynamic, Isolation, Origin, PathFact, RunsCode

__all__ = ["FreshNames", "beneath"]

_FOLDER = "/tmp"  # noqa: S108 - where mktemp(1) makes files without TMPDIR; a sandbox's own folder lies there, too


class FreshNames:
    """Those of one line. `text`: the line. `sure`: what it makes is taken for made, as in a script, where what is meant
    counts."""

    def __init__(self, place: Place, text: str, *, sure: bool = False) -> None:
        self._place = place
        self._sure = sure
        self._chance = next(run for n in count(6) if (run := "X" * n + "0") not in text)
        self._made: dict[int, tuple[Command, Fresh]] = {}  # by the node, which is kept so that its number stays its own
        self._stems: set[str] = set()
        self._folders: set[str] = set()

    def of(self, node: Command, command: CommandFact, base: str | None) -> Fresh | None:
        """The name that `mktemp` prints, which stands at `node`; None where that is not known. `base`: the directory it
        is started in."""
        plain = command.origin is Origin.SYSTEM and command.dynamic is Dynamic.NONE and not command.assignments
        # with its complaints on the same way as its name, that holds more
        plain &= all(each.fd == 2 and each.op in (">", ">>") for each in command.redirects)
        if command.name != "mktemp" or not plain or command.runs_code is not RunsCode.NONE:
            return None
        template = template_of(command.argv[1:], self._place.platform)
        if template is None:
            return None
        folder = self._folder() if template.folder is None else template.folder
        if not folder.startswith("/") and base is None:
            return None
        known = self._made.get(id(node))
        chance = f"{self._chance}{len(self._made) + 1:02}" if known is None else known[1].chance
        # as it is printed: elsewhere a relative name is that of another file, and with a dash in front an option
        name = posixpath.join(folder, f"{template.start}{chance}")
        found = resolve_path(
            name if folder.startswith("/") else f"./{name}", self._place, base=base, expand_tilde=False
        )
        if found.path is None or found.exists or not found.path.endswith(f"/{template.start}{chance}"):
            return None
        self._stems.add(found.path)
        if template.holds:
            self._folders.add(f"{found.path}{template.end}")
        fresh = Fresh(path=f"{name}{template.end}", chance=chance, lost=None if self._sure else "")
        self._made[id(node)] = (node, fresh)
        return fresh

    def _folder(self) -> str:
        """Where temporary files are made. The line gives TMPDIR no other value that is understood."""
        confined = self._place.isolation is Isolation.CONFINED
        return _FOLDER if confined else self._place.env.get("TMPDIR") or _FOLDER

    @property
    def some(self) -> bool:
        """Whether `mktemp` made any."""
        return bool(self._made)

    def is_folder(self, path: str) -> bool:
        """Whether an absolute path is just a folder that `mktemp -d` made."""
        return path in self._folders

    def holds(self, path: str) -> bool:
        """Whether an absolute path is such a name, or lies beneath or beside it under the same letters."""
        return any(path.startswith(stem) for stem in self._stems)

    def marked(self, fact: PathFact, made: Iterable[str]) -> bool:
        """Whether the fact is of what the line made, at the folders `made` among the rest."""
        path = fact.resolved
        return path is not None and not fact.symlink and (self.holds(path) or any(beneath(path, each) for each in made))


def beneath(path: str, folder: str) -> bool:
    """Whether an absolute path is the folder or lies in it."""
    return path == folder or path.startswith(f"{folder}/")

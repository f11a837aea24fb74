"""Files that a line writes word by word, `cat > /tmp/x.py <<'EOF'`, and runs in the same breath.

What stands in such a file is on the line. Whether its code does no more than is seen, whoever runs it says; this holds
only as long as nothing else of the line puts anything into the file, which is known at the end of the line.
"""

from collections.abc import Iterable

from shield.facts.shell.frame import Call
from shield.types import Access, CommandFact, Origin, PathFact, RunsCode

__all__ = ["Dictated"]

_MAX_TEXTS = 4  # of one file


class Dictated:
    """Of one line and all scripts that it runs."""

    def __init__(self) -> None:
        self._texts: dict[str, dict[str, None]] = {}
        self._by: set[tuple[str, str]] = set()  # source and path
        self._proven: dict[tuple[str, str], frozenset[str]] = {}

    def note(self, call: Call, command: CommandFact, facts: Iterable[PathFact], source: str) -> None:
        """Take up what a command writes, where that is a text of the line and nothing else."""
        text = call.fed.text if call.fed is not None else None
        plain = command.name == "cat" and len(command.argv) == 1 and command.origin is Origin.SYSTEM
        if text is None or not plain or command.assignments or command.runs_code is not RunsCode.NONE:
            return
        ops = sorted(redirect.op for redirect in command.redirects)
        if ops not in (["<<", ">"], ["<<-", ">"]) or any(each.fd not in (None, 0, 1) for each in command.redirects):
            return
        written = [fact for fact in facts if fact.access is Access.WRITE]
        path = written[0].resolved if len(written) == 1 else None
        if path is None or written[0].symlink or written[0].recursive:
            return
        known = self._texts.setdefault(path, {})
        if len(known) < _MAX_TEXTS or text in known:
            known[text] = None
            self._by.add((source, path))

    def texts(self, path: str) -> tuple[str, ...]:
        """What the file at the resolved `path` may hold of the line by now."""
        return tuple(self._texts.get(path, ()))

    def prove(self, source: str, path: str, texts: frozenset[str]) -> None:
        """The command `source` runs the file for what these texts were proven to do, whichever it is."""
        self._proven[source, path] = texts

    def settles(self, other: PathFact, fact: PathFact) -> bool:
        """Whether `other` changes what `fact` runs to nothing that was not proven."""
        path = fact.resolved
        if path is None or other.resolved != path or other.recursive or (fact.source, path) not in self._proven:
            return False
        # where it is gone nothing runs
        told = other.access is Access.DELETE or (other.source, path) in self._by
        return told and self._proven[fact.source, path] >= self._texts.get(path, {}).keys()

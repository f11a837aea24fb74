"""What commands print that the line goes on with: substitutions, and what a stage of a pipeline gives the next one."""

import posixpath
from collections.abc import Sequence
from functools import reduce

from shield.facts.programs.listing import filtered, handed_on, split_up
from shield.facts.programs.reading import Listing
from shield.facts.shell.frame import Frame, Walk
from shield.facts.shell.grammar.script import (
    MAX_DEPTH,
    AndOr,
    Command,
    Function,
    Group,
    Part,
    RedirectNode,
    Simple,
    literal,
)
from shield.facts.shell.printed import printed, thinned
from shield.facts.shell.record import Record
from shield.facts.shell.simple import reads_nothing_else
from shield.facts.shell.state import State
from shield.facts.shell.variables import Content, Fresh, Matching
from shield.types import Access, Operation, Origin

__all__ = ["Outputs"]


class Outputs:
    """Of one line. `listing`: what the newest pipeline of several commands prints."""

    def __init__(self, walk: Walk, record: Record) -> None:
        self._walk = walk
        self._record = record
        self.listing: Listing | None = None
        self._listed: tuple[Part, Listing] | None = None  # the newest substitution that prints names and nothing else

    def names(
        self, stage: Command, seen: int, names: Listing | None, frame: Frame, bases: Sequence[str | None]
    ) -> Listing | None:
        """The names of files that a stage prints: its own, or what it leaves of those that it is fed. `bases`: where
        the shell may stand."""
        record = self._record
        if (names is None and record.listing is None) or len(record.commands) <= seen:
            return None
        several = len(record.commands) > seen + 1
        if not isinstance(stage, Simple) or not reads_nothing_else(stage):
            return None
        if any((node.fd, node.op) != (2, ">") or literal(node.target) != "/dev/null" for node in stage.redirects):
            return None
        # What the line makes, before or the next time around, may be found under another name.
        if frame.loop is not None or any(fact.access is Access.WRITE for fact in record.paths):
            return None
        # So may what it puts into a repository's index, which is no path of the line.
        if any(Operation.WRITE in fact.operations for fact in record.commands[:seen] if fact.name == "git"):
            return None
        if several:
            commands = record.commands[seen:]
            return handed_on(names, commands, self._walk.place, bases) if names is not None else None
        if names is not None:
            return filtered(names, record.commands[seen])
        return record.listing if record.commands[seen].origin in (Origin.SYSTEM, Origin.USER) else None

    def printed(self, stage: Command, seen: int, state: State) -> Content:
        """What a command printed that was listed since `seen`, if it was the only one."""
        if not isinstance(stage, Simple) or not stage.words:
            return None
        if len(self._record.commands) != seen + 1:
            return self._by_function(stage, seen, state)
        bodies = [literal(node.target) for node in stage.redirects if node.op.startswith("<<")]
        fed = bodies[0] if len(bodies) == 1 == len(stage.redirects) else None
        command, base = self._record.commands[seen], state.standing()
        made = self._record.fresh.of(stage, command, _here(state))
        standing = base if isinstance(base, str) else None
        output = made or printed(command, fed=fed, base=standing, path=state.variables.get("PATH"))
        # where a file cannot be opened nothing is printed
        return None if isinstance(output, str) and any(map(_opens, stage.redirects)) else output

    def _by_function(self, stage: Simple, seen: int, state: State) -> Content:
        """What `mk` prints after `mk() { mktemp -d /tmp/x.XXXX; }`."""
        inner = _only(state.functions.get(literal(stage.words[0]) or "", ()))
        commands = self._record.commands[seen:]
        plain = not stage.redirects and not stage.assignments
        if inner is None or not plain or len(commands) != 2 or commands[0].origin is not Origin.FUNCTION:
            return None
        return self._record.fresh.of(inner, commands[1], _here(state))

    def listed(self, part: Part) -> Listing | None:
        """The names that a substitution prints, if it was followed last and prints these alone."""
        return self._listed[1] if self._listed is not None and self._listed[0] is part else None

    def entry(self, part: Part, state: State) -> Content:
        """One of the names that a substitution prints, if it was followed last and prints these alone."""
        if self._listed is None or self._listed[0] is not part or not state.split:
            return None
        value = split_up(self._listed[1], self._walk.place, state.bases)
        return Matching(value, state.bases, tame=True) if value is not None else None

    def _either(self, item: AndOr, seen: int, state: State) -> Content:
        """What `mktemp -d || mktemp -d -t x.XXX` prints: what the first of them makes, or the next; new in any case."""
        stages = [pipeline.stages[0] for pipeline in item.pipelines if len(pipeline.stages) == 1]
        commands = self._record.commands[seen:]
        negated = any(pipeline.negated for pipeline in item.pipelines)
        if negated or set(item.operators) != {"||"} or not len(stages) == len(item.pipelines) == len(commands):
            return None
        made = [self._record.fresh.of(*each, _here(state)) for each in zip(stages, commands, strict=True)]
        folders = {each and posixpath.dirname(each.path) for each in made}
        return made[0] if None not in folders and len(folders) == 1 else None

    def output(self, part: Part, state: State, frame: Frame) -> Content:
        """Follow the commands of a substitution; what they print, if that is known."""
        self._listed = None
        if part.script is None or frame.depth >= MAX_DEPTH:
            self._walk.doubt("nested too deep")
            return None
        seen = len(self._record.commands)
        inner = state.copy()
        inner.ending = False  # `set -e` does not hold there
        failed: list[State] = []
        inner.skips, inner.within = failed, True
        self._walk.script(part.script, inner, frame.apart()._replace(depth=frame.depth + 1, whole=False))
        lists = part.script.lists
        if len(lists) != 1 or lists[0].background or failed:
            return None
        if len(lists[0].pipelines) != 1:
            return self._either(lists[0], seen, state)
        stages = lists[0].pipelines[0].stages
        # INVARIANT: of several lists or pipelines each prints something; of one the last command says what comes out
        listing = self.names(stages[0], seen, None, frame, state.bases) if len(stages) == 1 else self.listing
        self._listed = (part, listing) if listing is not None else None
        if len(stages) == 1:
            output = self.printed(stages[0], seen, state)
            # where that succeeds nothing was made
            return None if isinstance(output, Fresh) and lists[0].pipelines[0].negated else output
        # of a pipeline only what its last command prints: a number, if it prints nothing else
        last = stages[-1]
        name = literal(last.words[0]) if isinstance(last, Simple) and last.words else None
        facts = self._record.commands
        if name is None or not facts or facts[-1].name != name or facts[-1].via != frame.via:
            return None
        output = printed(facts[-1], fed=None, base=None)
        if output is None and len(facts) == seen + len(stages):
            output = reduce(thinned, facts[seen + 1 :], printed(facts[seen], fed=None, base=None))
        return None if isinstance(output, str) else output


def _opens(node: RedirectNode) -> bool:
    """Whether the redirection opens a file that may not be there, or not be writable."""
    return node.op not in ("<<", "<<-", "<<<", ">&-", "<&-") and literal(node.target) not in ("/dev/null", "1", "2")


def _here(state: State) -> str | None:
    """Where the shell surely stands."""
    return state.bases[0] if len(state.bases) == 1 else None


def _only(bodies: tuple[Function | None, ...]) -> Simple | None:
    """The one command that a function is, which runs in any case and says how the function ends."""
    body = bodies[0].body if len(bodies) == 1 and bodies[0] is not None else None
    lists = body.script.lists if isinstance(body, Group) and not body.redirects else ()
    if len(lists) != 1 or lists[0].background or len(lists[0].pipelines) != 1:
        return None
    pipeline = lists[0].pipelines[0]
    only = pipeline.stages[0]
    alone = len(pipeline.stages) == 1 and not pipeline.negated and isinstance(only, Simple) and bool(only.words)
    return only if alone and isinstance(only, Simple) else None

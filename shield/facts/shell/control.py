"""Compound commands: every branch is followed, and what holds after all of them is what goes on (bash(1) Compound
Commands). Which branch is taken is never guessed at."""

from collections.abc import Callable

from shield.facts.programs.listing import split_up, taken_apart
from shield.facts.programs.reading import Listing, Reading
from shield.facts.shell.conditions import read_condition
from shield.facts.shell.content import calculated, content_of, pattern_of
from shield.facts.shell.frame import Done, Frame, Jumps, Walk, joined_ends
from shield.facts.shell.grammar.script import (
    Arithmetic,
    Case,
    Command,
    Coprocess,
    Counting,
    For,
    Function,
    Group,
    If,
    Loop,
    Part,
    PartKind,
    RedirectNode,
    Test,
    Word,
)
from shield.facts.shell.items import MAX_UNROLLED, Items
from shield.facts.shell.lines import line_variable, read_variable, takes_nul
from shield.facts.shell.lost import told_condition
from shield.facts.shell.named import is_plain, secret_in
from shield.facts.shell.state import State, join
from shield.facts.shell.variables import Content, Matching, Number, Secret, Token

__all__ = ["Control"]

_MAX_ROUNDS = 8


class Control:
    """The compound commands of one line."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._items = Items(walk)

    def command(self, node: Command, state: State, frame: Frame) -> Done:
        """Follow one compound command. Where its redirections fail nothing of it runs."""
        if frame.whole and isinstance(node, Loop) and frame.names is not None:
            return self._lines(node, frame.names, state, frame._replace(whole=False, opened=None))
        told: Content = (
            Token(maybe=True, revision=True)
            if frame.hashes
            else Number(natural=True, maybe=True)
            if frame.numbers
            else None
        )
        frame = frame._replace(whole=False, opened=None, numbers=False, hashes=False)
        if told is not None and isinstance(node, Loop) and (variable := read_variable(node)) is not None:
            return self._told_lines(node, variable, told, state, frame)
        if isinstance(node, Loop) and (process := _fed_by(node)) is not None:
            return self._fed_lines(node, process, state, frame)
        if isinstance(node, Function | Coprocess) or not node.redirects:
            return self._followed(node, state, frame)
        before = state.copy()
        done = self._followed(node, state, frame)
        return Done(done.success, join(done.failure, before))

    def _followed(self, node: Command, state: State, frame: Frame) -> Done:
        match node:
            case Group():
                frame = self._redirected(node.redirects, state, frame)
                if not node.subshell:
                    return self._walk.script(node.script, state, frame)
                self._walk.script(node.script, state.copy(), frame.apart())
                return Done(state, state)
            case If():
                return self._if(node, state, self._redirected(node.redirects, state, frame))
            case Loop():
                return self._loop(node, state, self._redirected(node.redirects, state, frame))
            case For():
                return self._for(node, state, frame)
            case Counting():
                return self._counting(node, state, self._redirected(node.redirects, state, frame))
            case Case():
                return self._case(node, state, frame)
            case Function():
                state.functions[node.name] = (node,)
                self._walk.been(state)
                return Done(state, state)
            case Test():
                frame = self._redirected(node.redirects, state, frame)
                self._walk.bare(read_condition(node.condition, state, self._walk.shell(frame)), state, frame)
                return told_condition(node, state, Done(state, state))
            case Arithmetic():
                frame = self._redirected(node.redirects, state, frame)
                calculated(node.expression, state, self._walk.shell(frame))
                self._walk.bare(Reading(), state, frame)
                return Done(state, state)
            case Coprocess():
                for given in (node.name, f"{node.name}_PID") if node.name is not None else ():
                    self._walk.assign(given, None, state)
                state.arrays.add(node.name or "COPROC")
                self._walk.command(node.command, state.copy(), frame.apart()._replace(piped=True, fed=None))
                return Done(state, state)
        self._walk.doubt("a command is not known")
        return Done(state, state)

    def _redirected(self, nodes: tuple[RedirectNode, ...], state: State, frame: Frame) -> Frame:
        """Redirections of a compound command hold for all that is in it."""
        if not nodes:
            return frame
        fed = self._walk.redirected(nodes, state, frame)
        self._walk.bare(fed.reading, state, frame, fed)
        return frame._replace(piped=True, fed=fed.text, whole=False) if fed.stdin else frame

    def _if(self, node: If, state: State, frame: Frame) -> Done:
        ends = Done(None, None)
        start: State | None = state
        for condition, body in node.branches:
            asked = self._walk.script(condition, start or state.copy(), frame._replace(tried=True))
            if start is None:
                asked = Done(None, None)
            taken = self._entered(asked.success, asked.failure, state)
            after = self._walk.script(body, taken, frame)
            if asked.success is not None:
                ends = joined_ends(ends, after)
            start = asked.failure
        if node.otherwise is None:
            return joined_ends(ends, Done(start, None))
        after = self._walk.script(node.otherwise, start or state.copy(), frame)
        return ends if start is None else joined_ends(ends, after)

    def _entered(self, way: State | None, other: State | None, before: State) -> State:
        """The state to follow a branch with; where nothing leads there it is judged all the same."""
        if way is None:
            return before.copy()
        return way.copy() if way is other else way

    # --- loops ------------------------------------------------------------------------------------------------------

    def _repeat(
        self, state: State, once: Callable[[State, Jumps], tuple[State | None, State | None]], frame: Frame
    ) -> Done:
        """Follow a body until nothing new can be known of where it begins. `once` gives the states in which the loop
        ends and in which it goes on."""
        head, ends = state, None
        for _ in range(_MAX_ROUNDS):
            jumps = Jumps(around=frame.loop)
            end, again = once(head.copy(), jumps)
            for left in jumps.states:
                end, again = join(end, left), join(again, left)
            ends = join(ends, end)
            wide = join(head, again, widen=True)
            if wide is None or wide == head:
                break
            head = wide
        else:
            self._walk.doubt("a loop is not understood")
        # Of a body that never gets there, what stands behind is judged all the same by whoever goes on.
        return Done(ends, ends)

    def _loop(self, node: Loop, state: State, frame: Frame) -> Done:
        def once(start: State, jumps: Jumps) -> tuple[State | None, State | None]:
            inner = frame._replace(loop=jumps)
            asked = self._walk.script(node.condition, start, inner._replace(tried=True))
            stay, leave = (asked.failure, asked.success) if node.until else (asked.success, asked.failure)
            after = self._walk.script(node.body, self._entered(stay, leave, start), inner)
            return leave, None if stay is None else after.either

        return self._repeat(state, once, frame)

    def _lines(self, node: Loop, names: Listing, state: State, frame: Frame) -> Done:
        """A loop over names that another program prints, each on a line of its own."""
        place, variable = self._walk.place, line_variable(node)
        nul = variable is not None and takes_nul(node)
        value = taken_apart(names, place, state.bases, nul=nul)
        # By another name, or from elsewhere, a program may read what it likes; with another IFS a name loses its end.
        if variable is None or value is None or state.functions or state.searched or not state.split:
            return self._loop(node, state, frame)
        tame = split_up(names, place, state.bases) is not None
        item = Matching(value._replace(many=False, unset=None), state.bases, tame=tame)
        return self._told_lines(node, variable, item, state, frame)

    def _told_lines(self, node: Loop, variable: str, item: Content, state: State, frame: Frame) -> Done:
        """A loop over lines, each of which is `item`; of a hash or a number a part is one, too."""
        if state.functions or state.searched or not state.split:
            return self._loop(node, state, frame)

        def once(start: State, jumps: Jumps) -> tuple[State | None, State | None]:
            inner = frame._replace(loop=jumps)
            stay, leave = self._walk.script(node.condition, start, inner)
            if stay is None:
                return leave, None
            self._walk.assign(variable, item, stay)
            return leave, self._walk.script(node.body, stay, inner).either

        return self._repeat(state, once, frame)

    def _fed_lines(self, node: Loop, process: Part, state: State, frame: Frame) -> Done:
        """The same where they come from `< <(…)`, beside which the loop runs."""
        before = state.copy()
        frame = self._redirected(node.redirects, state, frame)
        names, bare = self._walk.listed(process), node._replace(redirects=())
        done = self._loop(bare, state, frame) if names is None else self._lines(bare, names, state, frame)
        return Done(done.success, join(done.failure, before))

    def _counting(self, node: Counting, state: State, frame: Frame) -> Done:
        shell = self._walk.shell(frame)
        calculated(node.first, state, shell)
        self._walk.bare(Reading(), state, frame)

        def once(start: State, jumps: Jumps) -> tuple[State | None, State | None]:
            calculated(node.test, start, shell)
            leave = start.copy()
            after = self._walk.script(node.body, start, frame._replace(loop=jumps)).either
            for left in jumps.states:
                after = join(after, left)
            if after is not None:
                after = after.copy()
                calculated(node.step, after, shell)
            return leave, after

        return self._repeat(state, once, frame)

    def _for(self, node: For, state: State, frame: Frame) -> Done:
        if node.select and any(secret_in(word, state) for word in node.words or ()):
            state.doubt("a secret would be shown to choose it")
        items, common = self._items.of(node, state, frame)
        frame = self._redirected(node.redirects, state, frame)
        if items is None or len(items) > MAX_UNROLLED or node.select:
            return self._each(node, None if node.select and not isinstance(common, Secret) else common, state, frame)
        here: State | None = state
        ends: State | None = None
        for item, sure in items:
            if not isinstance(item, str):
                here = None if here is None else self._each(node, item, here, frame).either
                continue
            jumps = Jumps(around=frame.loop)
            before = here or state.copy()
            start = before.copy()
            self._walk.assign(node.name, item, start)
            after = self._walk.script(node.body, start, frame._replace(loop=jumps)).either
            for left in jumps.states:
                after, ends = join(after, left), join(ends, left)
            # a name that a pattern matches now may be gone by then
            here = None if here is None else after if sure else join(before, after)
        whole = join(here, ends)
        return Done(whole, whole)

    def _each(self, node: For, item: Content, state: State, frame: Frame) -> Done:
        """Any number of times, with any one of what `item` stands for."""

        def once(start: State, jumps: Jumps) -> tuple[State | None, State | None]:
            leave = start.copy()
            self._walk.assign(node.name, item, start)
            return leave, self._walk.script(node.body, start, frame._replace(loop=jumps)).either

        return self._repeat(state, once, frame)

    # --- case -------------------------------------------------------------------------------------------------------

    def _case(self, node: Case, state: State, frame: Frame) -> Done:
        shell = self._walk.shell(frame)
        content_of(node.subject, state, shell)
        frame = self._redirected(node.redirects, state, frame)
        for pattern in (pattern for clause in node.clauses for pattern in clause.patterns):
            before = state.copy()
            pattern_of(pattern, state, shell)
            state.perhaps(before)  # where another one matched
        told = [pattern for clause in node.clauses for pattern in clause.patterns if not _is_rest(pattern)]
        if secret_in(node.subject, state) and not all(map(is_plain, told)):
            state.doubt("a secret is compared with what it may be like")
        ends = Done(state.copy(), None)
        falling: State | None = None
        for clause in node.clauses:
            start = join(state.copy(), falling) or state.copy()
            after = self._walk.script(clause.script, start.copy(), frame)
            ends = joined_ends(ends, after)
            falling = after.either if clause.end != ";;" else None
        return ends


def _is_rest(pattern: Word) -> bool:
    """Whether it is `*`, which takes all that no other one took."""
    return len(pattern) == 1 and pattern[0].text == "*" and not pattern[0].quoted


def _fed_by(node: Loop) -> Part | None:
    """The one process that feeds the loop."""
    if len(node.redirects) != 1 or node.redirects[0].op != "<" or node.redirects[0].fd not in (None, 0):
        return None
    target = node.redirects[0].target
    only = target[0] if len(target) == 1 else None
    return only if only is not None and only.kind is PartKind.PROCESS and only.text.startswith("<") else None

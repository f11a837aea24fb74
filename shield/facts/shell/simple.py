"""Simple commands: their words, redirections and assignments, in the order in which bash expands them."""

from collections.abc import Iterator, Mapping
from itertools import product

from shield.facts.paths import resolve_path
from shield.facts.programs.emptied import add_emptied
from shield.facts.programs.reading import Reading, Value
from shield.facts.shell.braces import TooManyWordsError, braced
from shield.facts.shell.calls import Calls
from shield.facts.shell.content import Shell, content_of
from shield.facts.shell.effects import DECLARING
from shield.facts.shell.expand import expand
from shield.facts.shell.frame import Call, Done, Fed, Frame, Walk, joined_ends
from shield.facts.shell.glob import may_be_option
from shield.facts.shell.grammar.script import Assignment, Command, Part, PartKind, Simple, Word, literal
from shield.facts.shell.lost import made_or_not, proven, whole, without_lost
from shield.facts.shell.pathuse import raw_path
from shield.facts.shell.record import Record
from shield.facts.shell.settings import Settings
from shield.facts.shell.state import State
from shield.facts.shell.tilde import Mode, is_assignment_like
from shield.facts.shell.variables import Choice, Content, Secret
from shield.types import Dynamic

__all__ = ["Simples", "reads_nothing_else"]

_MAX_PATTERNS = 64
_MAX_ALTERNATIVES = 8
_NAMING = (PartKind.VARIABLE, PartKind.PARAMETER)
_WRITE_NOTHING = ((), (":",), ("true",), ("cat", "/dev/null"))
_SILENT = (PartKind.LITERAL, PartKind.VARIABLE)


def _is_braced(word: Word) -> bool:
    """Whether braces make other words of it, which bash takes for no assignments: it splits them."""
    try:
        return braced(word) != [word]
    except TooManyWordsError:
        return True


class Simples:
    """The simple commands of one line."""

    def __init__(self, walk: Walk, record: Record, settings: Settings, calls: Calls) -> None:
        self._walk = walk
        self._record = record
        self._settings = settings
        self._calls = calls
        self._patterns = 0

    def command(self, node: Simple, state: State, frame: Frame) -> Done:
        """Follow one command, once for each of the few texts that a variable in it may hold."""
        alternatives = list(_alternatives(node, state))
        if not alternatives:
            return self._simple(node, state, frame)
        ends = Done(None, None)
        for alternative in alternatives:
            ends = joined_ends(ends, self._simple(node, alternative, frame))
        return ends

    def _simple(self, node: Simple, state: State, frame: Frame) -> Done:
        # Where a redirection fails the command does not run, and nothing is assigned.
        before = state.copy() if node.redirects else None
        done = self._run(node, state, frame) if node.words else self._assignments(node, state, frame)
        if before is None or (done.success is done.failure is state and state == before):
            return done
        return joined_ends(done, Done(None, before))

    def _assignments(self, node: Simple, state: State, frame: Frame) -> Done:
        """Assignments and redirections without a command: the shell's own."""
        shown: dict[str, str] = {}
        for assignment in node.assignments:
            content = self._settings.value(assignment, state, self._walk.shell(frame))
            self._settings.assign(assignment.name, content, state)
            shown[assignment.name] = content if isinstance(content, str) else _shown(assignment)
        fed = self._walk.redirected(node.redirects, state, frame)
        self._emptied((), fed, state)
        self._record.add(Call((), shown=shown, fed=fed), fed.reading, state, frame)
        return made_or_not(node, state)

    def _run(self, node: Simple, state: State, frame: Frame) -> Done:
        words, given = self._words(node, state, frame)
        fed = None
        if node.redirects:
            fed = self._walk.redirected(node.redirects, state, frame)
            self._emptied(words, fed, state)
            if fed.stdin:
                opened = self._opened(fed, state)
                whole = (fed.text is not None or opened is not None) and reads_nothing_else(node)
                frame = frame._replace(
                    piped=True, fed=fed.text, opened=opened, whole=whole, names=None, numbers=False, hashes=False
                )
        if not node.assignments and words:
            return proven(node, state, self._called(Call(words, given=given, fed=fed), state, frame))
        contents, shown = self._contents(node, state, frame)
        if words:
            return self._called(Call(words, contents, shown, given, fed), state, frame)
        # Every word came to nothing: bash runs nothing, or what an assignment left.
        for key, content in contents.items():
            self._settings.assign(key, content, state)
        reading = fed.reading if fed is not None else Reading()
        self._record.add(Call((), shown=shown, fed=fed), reading, state, frame, dynamic=Dynamic.PROGRAM)
        return Done(state, state)

    def _called(self, call: Call, state: State, frame: Frame) -> Done:
        """Run the command, as it is and as it would be where something was not made that its words name."""
        if all(word.lost is None for word in call.words):
            return self._calls.call(call, state, frame)
        others = list(without_lost(call.words))
        before, lost = state.copy(), frame._replace(lost=True)
        done = self._calls.call(call._replace(words=whole(call.words)), state, frame)
        for words in others:
            if words:
                done = joined_ends(done, self._calls.call(call._replace(words=words), before.copy(), lost))
        return done

    def _emptied(self, words: tuple[Value, ...], fed: Fed, state: State) -> None:
        """`: > FILE`: nothing is written into what is opened for it."""
        if all(word.fixed for word in words) and tuple(word.text for word in words) in _WRITE_NOTHING:
            opened = [each.target for each in fed.redirects if each.op in (">", ">|") and each.fd == 1]
            values = [Value(text=text, head=text) for text in opened if text is not None]
            add_emptied(fed.reading, values, self._record.place, state.bases)

    def _opened(self, fed: Fed, state: State) -> str | None:
        """The file that standard input is; None where there is none, or more than one directory it may lie in."""
        if fed.opened is None or len(state.bases) != 1:
            return None
        raw = raw_path(fed.opened.text)
        return resolve_path(raw, self._record.place, base=state.bases[0], expand_tilde=False).path

    def _words(self, node: Simple, state: State, frame: Frame) -> tuple[tuple[Value, ...], Mapping[int, Content]]:
        """The values of the words, and what assignments among them give."""
        shell = self._walk.shell(frame)
        # bash knows the command by how it is written: `\export x=$y` splits
        declares = not any(part.quoted for part in node.words[0]) and literal(node.words[0]) in DECLARING
        given: dict[int, Content] = {}
        words: list[Value] = []
        for word in node.words:
            if declares and words and is_assignment_like(word) and not _is_braced(word):
                place = len(words) - 1  # behind the command's name
                given[place] = self._declared(word, state, shell, words)
            else:
                words.extend(self.values(word, state, shell))
        return tuple(words), given

    def _contents(self, node: Simple, state: State, frame: Frame) -> tuple[dict[str, Content], dict[str, str]]:
        """What the assignments in front of the name give, and how they are written."""
        contents: dict[str, Content] = {}
        shown: dict[str, str] = {}
        kept = dict(state.variables)
        for assignment in node.assignments:
            content = self._settings.value(assignment, state, self._walk.shell(frame))
            if state.attributes.get(assignment.name) is not None:
                self._walk.doubt(f"`{assignment.name}` is given an attribute and a value for one command")
            # the next one may name it; what else was assigned stays
            state.variables[assignment.name] = contents[assignment.name] = content
            self._settings.note(assignment.name, content)
            shown[assignment.name] = content if isinstance(content, str) else _shown(assignment)
        for key in contents:
            state.variables[key] = kept.get(key)
            if key not in kept:
                del state.variables[key]
        return contents, shown

    def _declared(self, word: Word, state: State, shell: Shell, words: list[Value]) -> Content:
        """`export x=$y`: a word that is an assignment is not split. What it gives."""
        left, _, right = word[0].text.partition("=")
        rest = (Part(PartKind.LITERAL, right, False), *word[1:]) if right else word[1:]
        content = content_of(rest, state, shell, Mode.ASSIGNED)
        if isinstance(content, str):
            text = f"{left}={content}"
            words.append(Value(text=text, head=text))
        else:
            source = content.source if isinstance(content, Secret) else "".join(part.text for part in rest)
            words.append(Value(text=f"{left}={source}", known=False, head=f"{left}="))
        return content

    def values(self, word: Word, state: State, shell: Shell) -> list[Value]:
        """The word's values; a glob that may become an option counts as a word of unknown content."""
        out: list[Value] = []
        for value in expand(word, state, shell):
            if value.fixed:
                out.append(value)
            elif value.unset is not None:
                out.append(value._replace(unset=tuple(self._matched(each, state) for each in value.unset)))
            else:
                out.append(self._matched(value, state))
        return out

    def _matched(self, value: Value, state: State) -> Value:
        if value.pattern is None:
            return value
        self._patterns += 1
        if self._patterns > _MAX_PATTERNS:
            self._walk.doubt("too many patterns")
            return value._replace(known=False, pattern=None, many=True)
        if (state.vanishing and value.pattern.startswith("-")) or any(
            may_be_option(value.pattern, self._record.place, base)
            or (base in self._record.dashed and value.pattern.startswith(("*", "?", "[")))
            for base in state.bases
        ):
            return value._replace(head="", many=True)
        return value


def reads_nothing_else(stage: Command) -> bool:
    """Whether no other command stands in this one that could read its standard input first."""
    if not isinstance(stage, Simple):
        return False
    return all(part.kind in _SILENT for word in _all_words(stage) for part in word)


def _all_words(node: Simple) -> tuple[Word, ...]:
    """Everything in it that is expanded."""
    if not node.assignments and not node.redirects:
        return node.words
    return (*node.words, *(item.value for item in node.assignments), *(item.target for item in node.redirects))


def _alternatives(node: Simple, state: State) -> Iterator[State]:
    """A state for each text of a variable in the command that is one of a few; none if there is no such variable."""
    names: dict[str, tuple[str, ...]] = {}
    for word in _all_words(node):
        for part in word:
            if part.kind in _NAMING:
                name = part.parameter.name if part.parameter is not None else part.text
                content = state.value(name)
                if isinstance(content, Choice):
                    names[name] = content.texts
    if not names or not node.words:
        return
    total = 1
    for texts in names.values():
        total *= len(texts)
    if total > _MAX_ALTERNATIVES:
        return
    for texts in product(*names.values()):
        copy = state.copy()
        copy.variables.update(zip(names, texts, strict=True))
        yield copy


def _shown(assignment: Assignment) -> str:
    return "".join("$" + part.text if part.kind is PartKind.VARIABLE else part.text for part in assignment.value)

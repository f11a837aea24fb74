"""What a line says, as two parsers of different make read it: `parse`.

The strict reader of our own (reader.py) reads every line. A line of plain words and operators is then compared with the
tree of tree-sitter; any other, or one where that tree differs, with what a second program makes of it (shfmt.py). Only
where both accept the line and say the same is it understood; otherwise every reading there is stands in `readings`.
"""

from typing import NamedTuple, Protocol

from shield.facts.shell.grammar.reader import read_line
from shield.facts.shell.grammar.script import (
    LITERAL,
    AndOr,
    Arithmetic,
    Assignment,
    Condition,
    Counting,
    Function,
    Item,
    Parameter,
    Part,
    RedirectNode,
    RefusedLineError,
    Script,
    Simple,
    Test,
    Word,
)
from shield.facts.shell.grammar.tree import Tree, read_tree

__all__ = ["Parsed", "RefusedLineError", "SecondParser", "parse"]


# What the second parser answers grows with the square of the longest chain in a line: for one of 256 commands it is
# 12 MB. A shorter text than this holds no chain that matters.
_SHORT = 1_000
_MAX_CHAIN = 256


class SecondParser(Protocol):
    """Another parser of bash, for the lines that tree-sitter is not trusted with. Serves every thread."""

    def read(self, text: str) -> Script:
        """The whole line.

        Raises:
            RefusedLineError: it is not well-formed, holds what `Script` cannot say, or could not be read in time.
        """


class Parsed(NamedTuple):
    """`doubts` says why the line is not understood; empty if it is, and then `readings` is `(script,)`.

    Otherwise `script` is the one that shows most and `readings` all that differ, `script` last: whatever any of them
    runs may run. `functions` are the names that any reading defines as functions.
    """

    script: Script
    doubts: tuple[str, ...]
    functions: frozenset[str]
    readings: tuple[Script, ...]


def parse(text: str, second: SecondParser | None) -> Parsed:
    """Read one line as `bash -c` would. Never raises for any text without surrogates; its length bounds the work.
    Where `second` is None a line that needs it is not understood."""
    tree: Tree | None = None
    ours = theirs = None
    try:
        ours = read_line(text)
        if _plain(ours):
            tree = read_tree(text.encode("utf-8", "replace"))
            if tree.complete and tree.script == ours:
                return Parsed(ours, (), frozenset(), (ours,))
        doubt = "two parsers differ"
    except RefusedLineError as error:
        doubt = str(error)
    try:
        if second is None:
            raise RefusedLineError("there is no second parser for more than plain words")
        if len(text) > _SHORT and (ours is None or _sprawls(ours)):
            raise RefusedLineError("too long a chain for the second parser")
        # Also where the reader refused: the commands that the other one sees are listed.
        theirs = second.read(text)
        if theirs == ours:
            return Parsed(theirs, (), defined(theirs), (theirs,))
    except RefusedLineError as error:
        doubt = str(error) if ours is not None else doubt
    tree = tree or read_tree(text.encode("utf-8", "replace"))
    readings = tuple(dict.fromkeys(reading for reading in (theirs, ours, tree.script) if reading is not None))
    return Parsed(tree.script, (doubt,), tree.functions.union(*map(defined, readings)), readings)


def defined(script: Script) -> frozenset[str]:
    """The names that are defined as functions anywhere in a script."""
    found: set[str] = set()
    waiting: list[object] = [script]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Function):
            found.add(item.name)
        if isinstance(item, tuple):
            waiting.extend(child for child in item if isinstance(child, tuple))
    return frozenset(found)


def _sprawls(script: Script) -> bool:
    """A list, a pipeline, a test or an expression in it is longer than `_MAX_CHAIN`."""
    waiting: list[object] = [script]
    while waiting:
        item = waiting.pop()
        if isinstance(item, AndOr):
            length = sum(len(pipeline.stages) for pipeline in item.pipelines)
        elif isinstance(item, Test):
            length = _conditions(item.condition)
        elif isinstance(item, Part):
            length = 0 if item.word is None else _length(item.word)
        elif isinstance(item, Arithmetic):
            length = _length(item.expression)
        elif isinstance(item, Counting):
            length = max(map(_length, (item.first, item.test, item.step)))
        elif isinstance(item, Assignment | Item | Parameter):
            length = 0 if item.index is None else _length(item.index)
            if isinstance(item, Parameter) and item.operator == ":":
                length = max(length, *map(_length, item.words))
        else:
            length = 0
        if length > _MAX_CHAIN:
            return True
        if isinstance(item, tuple):
            waiting.extend(child for child in item if isinstance(child, tuple))
    return False


def _conditions(condition: Condition) -> int:
    return 1 + sum(map(_conditions, condition.conditions))


def _length(expression: Word) -> int:
    return sum(len(part.text) for part in expression if part.kind is LITERAL)


def _plain(script: Script) -> bool:
    """Nothing but simple commands of constant words, constant assignments and constant redirections."""
    for item in script.lists:
        for pipeline in item.pipelines:
            if pipeline.negated or pipeline.timed:
                return False
            for stage in pipeline.stages:
                if not isinstance(stage, Simple):
                    return False
                if not all(map(_constant, stage.words)) or not all(map(_constant_target, stage.redirects)):
                    return False
                if not all(assignment.plain and _constant(assignment.value) for assignment in stage.assignments):
                    return False
    return True


def _constant(word: Word) -> bool:
    return word[0].kind is LITERAL if len(word) == 1 else all(part.kind is LITERAL for part in word)


def _constant_target(redirect: RedirectNode) -> bool:
    return not redirect.op.startswith("<<") and _constant(redirect.target)

"""What a command line says, before anything in it is given a value: several parsers build these, and two must agree.

A script is a sequence of and-or lists; a list joins pipelines by `&&` and `||`; a pipeline joins commands; a command is
simple (assignments, words and redirections) or compound (POSIX.1-2024 XCU 2.9, bash(1) SHELL GRAMMAR). All of them are
tuples: they are made for every line that is judged, and compared whole.
"""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

__all__ = [
    "LITERAL",
    "MAX_DEPTH",
    "AndOr",
    "Arithmetic",
    "Assignment",
    "Case",
    "Clause",
    "Command",
    "Condition",
    "Coprocess",
    "Counting",
    "For",
    "Function",
    "Group",
    "If",
    "Item",
    "Loop",
    "Parameter",
    "Part",
    "PartKind",
    "Pipeline",
    "RedirectNode",
    "RefusedLineError",
    "Script",
    "Simple",
    "Test",
    "Word",
    "combined",
    "joined",
    "literal",
]

# How deep substitutions and quoted scripts may nest before a line counts as not understood.
MAX_DEPTH = 12


class RefusedLineError(Exception):
    """A parser does not accept the line, or cannot say what it means: the message says why, in a few words."""


class PartKind(Enum):
    LITERAL = "literal"
    VARIABLE = "variable"  # `$x`, `${x}`; text is the parameter's name
    SUBSTITUTION = "substitution"  # `$(…)`, backticks; text is the source, `script` what it runs
    PROCESS = "process"  # `<(…)`, `>(…)`; text is the source, `script` what it runs
    PARAMETER = "parameter"  # any other `${…}`; text is the source, `parameter` what it says
    ARITHMETIC = "arithmetic"  # `$((…))`; text is the source, `word` the expression
    UNKNOWN = "unknown"  # text is the source


class Part(NamedTuple):
    """A piece of a word. `quoted`: its text is neither split, globbed nor taken for a tilde."""

    kind: PartKind
    text: str
    quoted: bool
    script: "Script | None" = None
    parameter: "Parameter | None" = None
    word: "Word | None" = None


Word = tuple[Part, ...]
LITERAL = PartKind.LITERAL  # for the loops over every piece: a member looked up in its class costs as much as a call


class Parameter(NamedTuple):
    """`${…}` with an operation (bash(1) Parameter Expansion).

    `operator`: `:-` `-` `:=` `=` `:?` `?` `:+` `+`, `#` `##` `%` `%%`, `/` `//` `/#` `/%`, `^` `^^` `,` `,,`, `:`
    (a part of it), `@Q` and the other letters; `#length` for `${#x}`, `!names` for `${!x*}` and `${!x@}`; empty where
    only `index` or `indirect` is special. `words` are the operands after it: one, for `/` pattern and replacement (the
    latter may be missing), for `:` offset and length as arithmetic. In double quotes their text is quoted as bash has
    it: what stands within inner double or single quotes of a pattern is quoted, too.
    """

    name: str
    operator: str = ""
    words: tuple[Word, ...] = ()
    index: Word | None = None  # type: ignore[assignment]  # a subscript, `@` and `*` as text; hides `tuple.index`
    indirect: bool = False  # `${!x}`


class Item(NamedTuple):
    """An element of an array that is assigned: `index` where it says `[…]=`."""

    value: Word
    index: Word | None = None  # type: ignore[assignment]  # hides `tuple.index`


class Assignment(NamedTuple):
    """`plain`: of a whole variable. Otherwise `index` is a subscript's source, or `items` an array's elements."""

    name: str
    value: Word
    append: bool = False
    plain: bool = True
    index: Word | None = None  # type: ignore[assignment]  # hides `tuple.index`
    items: tuple[Item, ...] | None = None


class RedirectNode(NamedTuple):
    """`op` is the operator as written; `target` is empty for `>&-` and `<&-`. The target of a here-document (`<<`,
    `<<-`) is its body: one quoted literal where the delimiter was quoted, else quoted parts as in double quotes, in
    which `"` is an ordinary character. Leading tabs are already cut for `<<-`."""

    op: str
    fd: int | None
    target: Word


class Simple(NamedTuple):
    assignments: tuple[Assignment, ...] = ()
    words: tuple[Word, ...] = ()
    redirects: tuple[RedirectNode, ...] = ()


class Group(NamedTuple):
    """`{ …; }`, or `( … )` where `subshell`."""

    script: "Script"
    subshell: bool = False
    redirects: tuple[RedirectNode, ...] = ()


class If(NamedTuple):
    """`branches` are conditions with what follows each, in order."""

    branches: "tuple[tuple[Script, Script], ...]"
    otherwise: "Script | None" = None
    redirects: tuple[RedirectNode, ...] = ()


class Loop(NamedTuple):
    """`while`, or `until`."""

    condition: "Script"
    body: "Script"
    until: bool = False
    redirects: tuple[RedirectNode, ...] = ()


class For(NamedTuple):
    """`for`, or `select`. `words` is None without `in`: the positional parameters."""

    name: str
    words: tuple[Word, ...] | None
    body: "Script"
    select: bool = False
    redirects: tuple[RedirectNode, ...] = ()


class Counting(NamedTuple):
    """`for ((first; test; step))`: expressions, empty where left out."""

    first: Word
    test: Word
    step: Word
    body: "Script"
    redirects: tuple[RedirectNode, ...] = ()


class Clause(NamedTuple):
    """`end` is `;;`, `;&` or `;;&`; the last clause may leave it out, which is `;;`."""

    patterns: tuple[Word, ...]
    script: "Script"
    end: str = ";;"


class Case(NamedTuple):
    subject: Word
    clauses: tuple[Clause, ...]
    redirects: tuple[RedirectNode, ...] = ()


class Function(NamedTuple):
    """A definition, in either spelling; redirections after the body belong to the body."""

    name: str
    body: "Command"


class Condition(NamedTuple):
    """An expression of `[[ … ]]`. `operator` is `&&`, `||` or `!` with conditions, else a unary or binary operator with
    words, `-n` for a word alone (which bash takes for it); `=` counts as `==`."""

    operator: str
    conditions: "tuple[Condition, ...]" = ()
    words: tuple[Word, ...] = ()


class Test(NamedTuple):
    """`[[ … ]]`."""

    condition: Condition
    redirects: tuple[RedirectNode, ...] = ()


class Arithmetic(NamedTuple):
    """`((…))`, its expression as in `$((…))`: quoted parts as in double quotes, in which `"` is dropped."""

    expression: Word
    redirects: tuple[RedirectNode, ...] = ()


class Coprocess(NamedTuple):
    """`coproc`; `name` is None where none is given."""

    command: "Command"
    name: str | None = None


Command = Simple | Group | If | Loop | For | Counting | Case | Function | Test | Arithmetic | Coprocess


class Pipeline(NamedTuple):
    """`negated`: after an odd number of `!`. `timed`: after `time`, with `-p` or without."""

    stages: tuple[Command, ...]
    negated: bool = False
    timed: bool = False


class AndOr(NamedTuple):
    """`operators[i]` (`&&` or `||`) stands between `pipelines[i]` and `pipelines[i + 1]`."""

    pipelines: tuple[Pipeline, ...]
    operators: tuple[str, ...] = ()
    background: bool = False


class Script(NamedTuple):
    lists: tuple[AndOr, ...]


def joined(parts: Iterable[Part]) -> Word:
    """The parts with neighbouring literals of equal quoting made one, so that equal words compare equal."""
    parts = tuple(parts)
    if len(parts) < 2:
        return parts
    out: list[Part] = []
    for part in parts:
        last = out[-1] if out else None
        if last is not None and last.kind is LITERAL and part.kind is LITERAL and last.quoted == part.quoted:
            out[-1] = Part(LITERAL, last.text + part.text, part.quoted)
        else:
            out.append(part)
    return tuple(out)


def combined(operator: str, left: Condition, right: Condition) -> Condition:
    """`left && right` or `left || right`, with what either side joins by the same operator drawn in: `a && (b && c)`
    is `a && b && c`."""
    return Condition(
        operator,
        tuple(inner for side in (left, right) for inner in (side.conditions if side.operator == operator else (side,))),
    )


def literal(word: Word) -> str | None:
    """The word's text where all of it is literal, else None."""
    if any(part.kind is not PartKind.LITERAL for part in word):
        return None
    return "".join(part.text for part in word)

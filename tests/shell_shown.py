"""A script in few characters, for tables of expectations.

Words: plain text as it stands, `'…'` for quoted text, `$x` and `"$x"` for variables (unquoted, quoted), `$(…)` `<(…)`
`${…}` `((…))` for the rest, with a `"` before what is quoted. Commands: `[words >redirects]`.
"""

from shield.facts.shell.grammar.script import (
    AndOr,
    Arithmetic,
    Case,
    Command,
    Condition,
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
    Script,
    Simple,
    Test,
    Word,
)

__all__ = ["shown"]


def shown(script: Script) -> str:
    """`a; b &` is `[a] ; [b] &`."""
    return " ".join(_and_or(item) + (" &" if item.background else " ;") for item in script.lists).removesuffix(" ;")


def _and_or(item: AndOr) -> str:
    out = []
    for index, pipeline in enumerate(item.pipelines):
        out += [item.operators[index - 1]] if index else []
        out += ["!"] if pipeline.negated else []
        out += ["time"] if pipeline.timed else []
        out.append(" | ".join(map(_command, pipeline.stages)))
    return " ".join(out)


def _command(node: Command) -> str:
    match node:
        case Simple():
            return "[" + " ".join([*map(_assignment, node.assignments), *map(_word, node.words), *map(_redirect, node.redirects)]) + "]"  # fmt: skip
        case Group():
            text = f"({shown(node.script)})" if node.subshell else f"{{{shown(node.script)}}}"
        case If():
            text = "".join(f"if {shown(test)} then {shown(body)} " for test, body in node.branches)
            text += f"else {shown(node.otherwise)} fi" if node.otherwise is not None else "fi"
        case Loop():
            text = f"{'until' if node.until else 'while'} {shown(node.condition)} do {shown(node.body)} done"
        case For():
            words = "" if node.words is None else " in" + "".join(f" {_word(word)}" for word in node.words)
            text = f"{'select' if node.select else 'for'} {node.name}{words} do {shown(node.body)} done"
        case Counting():
            text = f"for (({_word(node.first)};{_word(node.test)};{_word(node.step)})) do {shown(node.body)} done"
        case Case():
            clauses = "".join(
                f" {'|'.join(map(_word, clause.patterns))}) {shown(clause.script)} {clause.end}"
                for clause in node.clauses
            )
            text = f"case {_word(node.subject)}{clauses} esac"
        case Test():
            text = f"[[ {_condition(node.condition)} ]]"
        case Arithmetic():
            text = f"(({_word(node.expression)}))"
        case Function():
            return f"{node.name}() {_command(node.body)}"
        case Coprocess():
            return f"coproc {node.name} {_command(node.command)}"
    return " ".join([text, *map(_redirect, node.redirects)])


def _assignment(node) -> str:
    index = "" if node.index is None else f"[{_word(node.index)}]"
    value = _word(node.value)
    if node.items is not None:
        items = ("" if item.index is None else f"[{_word(item.index)}]=" for item in node.items)
        value = "(" + " ".join(head + _word(item.value) for head, item in zip(items, node.items, strict=True)) + ")"
    assert node.plain == (node.index is None and node.items is None)
    return f"{node.name}{index}{'+' if node.append else ''}:={value}"


def _redirect(node: RedirectNode) -> str:
    return f"{'' if node.fd is None else node.fd}{node.op} {_word(node.target)}".strip()


def _condition(node: Condition) -> str:
    if node.operator == "!":
        return f"! {_condition(node.conditions[0])}"
    if node.conditions:
        return "(" + f" {node.operator} ".join(map(_condition, node.conditions)) + ")"
    return f"{node.operator} " + " ".join(map(_word, node.words))


def _word(word: Word) -> str:
    return "".join(map(_part, word))


def _part(part: Part) -> str:
    if part.kind is PartKind.LITERAL:
        return repr(part.text) if part.quoted else part.text
    mark = '"' if part.quoted else ""
    if part.kind is PartKind.VARIABLE:
        return f"{mark}${part.text}{mark}"
    if part.kind in (PartKind.SUBSTITUTION, PartKind.PROCESS):
        assert part.script is not None
        return f"{mark}{'$' if part.kind is PartKind.SUBSTITUTION else part.text[0]}({shown(part.script)})"
    if part.kind is PartKind.ARITHMETIC:
        assert part.word is not None
        return f"{mark}$(({_word(part.word)}))"
    found = part.parameter
    assert found is not None
    index = "" if found.index is None else f"[{_word(found.index)}]"
    words = " | ".join(map(_word, found.words))
    return f"{mark}${{{'!' if found.indirect else ''}{found.name}{index} {found.operator} {words}".rstrip() + "}"

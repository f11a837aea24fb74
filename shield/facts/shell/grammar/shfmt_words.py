"""The words in the typed JSON of `shfmt` as those of script.py.

Node types and fields are those of package `syntax` of mvdan.cc/sh v3; a field that is not known here is refused. Where
`shfmt` makes a tree of an expression and bash a string, the string is taken from the source, with the expansions that
the tree has in it.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, Self

from shield.facts.shell.grammar.ansi_c import ansi_c
from shield.facts.shell.grammar.script import (
    LITERAL,
    MAX_DEPTH,
    Parameter,
    Part,
    PartKind,
    RefusedLineError,
    Script,
    Word,
    joined,
)
from shield.regex import regex

__all__ = ["Node", "Words", "expect"]

Node = dict[str, Any]
_POSITIONS = frozenset({"Type", "Pos", "End"})
_ESCAPE = regex(r"\\(.)", re.DOTALL)
_EXPANSIONS = frozenset({"ParamExp", "CmdSubst", "ArithmExp", "DblQuoted", "SglQuoted", "ProcSubst"})
_PATTERNS = ("#", "##", "%", "%%", "^", "^^", ",", ",,")


def expect(node: Node, *known: str) -> None:
    """Refuse a node with fields other than `known`."""
    unknown = node.keys() - _POSITIONS - set(known)
    if unknown:
        raise RefusedLineError(f"`{node.get('Type', 'a part')}` with {', '.join(sorted(unknown)).lower()}")


class Words(ABC):
    """`tree_of` parses a text of its own: what stands within backticks once its escapes are gone."""

    def __init__(self, text: str, tree_of: Callable[[str], Node | None], depth: int) -> None:
        self.source = text.encode("utf-8")
        self.tree_of = tree_of
        self.depth = depth

    @abstractmethod
    def script(self, statements: list[Node]) -> Script:
        """The script of these statements."""

    def text(self, node: Node) -> str:
        return self.source[node["Pos"]["Offset"] : node["End"]["Offset"]].decode("utf-8")

    def word(self, node: Node | None) -> Word:
        parts: list[Part] = []
        if node is not None:
            expect(node, "Parts")
            for part in node["Parts"]:
                self.part(part, parts)
        return joined(parts)

    def part(self, node: Node, parts: list[Part]) -> None:
        """A part of an unquoted word."""
        kind = node["Type"]
        if kind == "Lit":
            _unescaped(node["Value"], parts)
        elif kind == "SglQuoted":
            parts.append(self.single(node))
        elif kind == "DblQuoted":
            self.double(node, parts)
        else:
            parts.append(self.expansion(node, quoted=False))

    def single(self, node: Node) -> Part:
        expect(node, "Left", "Right", "Dollar", "Value")
        value = node.get("Value", "")
        text = ansi_c(value) if node.get("Dollar") else value
        if text is None:
            raise RefusedLineError("ANSI-C quoting")
        return Part(LITERAL, text, True)

    def double(self, node: Node, parts: list[Part]) -> None:
        expect(node, "Left", "Right", "Parts")
        before = len(parts)
        for part in node.get("Parts", ()):
            self.quoted(part, parts, '$`"\\')
        if len(parts) == before:
            parts.append(Part(LITERAL, "", True))

    def quoted(self, node: Node, parts: list[Part], escapes: str) -> None:
        """A part of a text in double quotes or of a here-document."""
        if node["Type"] == "Lit":
            value = node["Value"]
            text = _ESCAPE.sub(lambda match: _kept(match, escapes), value) if "\\" in value else value
            parts.append(Part(LITERAL, text, True))
        elif node["Type"] in ("SglQuoted", "DblQuoted"):
            raise RefusedLineError("quotes within quotes")
        else:
            parts.append(self.expansion(node, quoted=True))

    def expansion(self, node: Node, *, quoted: bool) -> Part:
        kind = node["Type"]
        source = self.text(node)
        if kind == "ParamExp":
            return self.parameter(node, source, quoted=quoted)
        if kind == "CmdSubst":
            expect(node, "Left", "Right", "Stmts", "Last", "Backquotes")
            return Part(PartKind.SUBSTITUTION, source, quoted, self.substituted(node, source))
        if kind == "ProcSubst" and not quoted:
            expect(node, "OpPos", "Rparen", "Op", "Stmts", "Last")
            return Part(PartKind.PROCESS, source, False, self.deeper().script(node.get("Stmts", [])))
        if kind == "ArithmExp":
            expect(node, "Left", "Right", "X")
            word = self.spanned(node.get("X"), node["Left"]["Offset"] + 3, node["Right"]["Offset"])
            return Part(PartKind.ARITHMETIC, source, quoted, word=word)
        raise RefusedLineError(f"a word with `{kind}`")

    def substituted(self, node: Node, source: str) -> Script:
        if not (node.get("Backquotes") and "\\" in source):
            return self.deeper().script(node.get("Stmts", []))
        text = re.sub(r"\\([$`\\])", r"\1", source[1:-1])
        tree = self.tree_of(text)
        if tree is None:
            raise RefusedLineError("backticks that the second parser does not accept")
        return type(self)(text, self.tree_of, self.deeper().depth).script(tree.get("Stmts", []))

    def deeper(self) -> Self:
        if self.depth >= 2 * MAX_DEPTH:
            raise RefusedLineError("nested too deep")
        inner = copy(self)
        inner.depth += 1
        return inner

    # --- parameters -------------------------------------------------------------------------------------------------

    def parameter(self, node: Node, source: str, *, quoted: bool) -> Part:
        expect(node, "Dollar", "Rbrace", "Short", "Excl", "Length", "Param", "Index", "Slice", "Repl", "Names", "Exp")
        name = node["Param"]["Value"]
        if not node.keys() & {"Excl", "Length", "Index", "Slice", "Repl", "Names", "Exp"}:
            return Part(PartKind.VARIABLE, name, quoted)
        index = self.spanned(node.get("Index"))
        base = Parameter(name, "", (), index or None, indirect=bool(node.get("Excl")))
        if node.get("Length"):
            found = base._replace(operator="#length")
        elif node.get("Names"):
            found = base._replace(operator="!names", indirect=False)
        elif (slice_ := node.get("Slice")) is not None:
            expect(slice_, "Offset", "Length")
            words = [self.spanned(slice_.get("Offset"))]
            words += [self.spanned(slice_["Length"])] if slice_.get("Length") else []
            found = base._replace(operator=":", words=tuple(words))
        elif (replace := node.get("Repl")) is not None:
            found = self.replacement(base, replace, quoted=quoted)
        elif (operation := node.get("Exp")) is not None:
            found = self.operation(base, operation, quoted=quoted)
        else:
            found = base
        return Part(PartKind.PARAMETER, source, quoted, parameter=found)

    def operation(self, base: Parameter, node: Node, *, quoted: bool) -> Parameter:
        expect(node, "Op", "Word")
        operator = node["Op"]
        if operator == "@":
            return base._replace(operator="@" + self.text(node["Word"]))
        word = self.operand(node.get("Word"), quoted=quoted, pattern=operator in _PATTERNS)
        return base._replace(operator=operator, words=(word,))

    def replacement(self, base: Parameter, node: Node, *, quoted: bool) -> Parameter:
        expect(node, "All", "Orig", "With")
        operator = "//" if node.get("All") else "/"
        pattern = self.operand(node.get("Orig"), quoted=quoted, pattern=True)
        head = pattern[0] if pattern else None
        if operator == "/" and head is not None and head.kind is LITERAL and not head.quoted and head.text[0] in "#%":
            operator += head.text[0]
            rest = head._replace(text=head.text[1:])
            pattern = (rest, *pattern[1:]) if rest.text else pattern[1:]
        word = self.operand(node.get("With"), quoted=quoted, pattern=False)
        return base._replace(operator=operator, words=(pattern, word) if word else (pattern,))

    def operand(self, node: Node | None, *, quoted: bool, pattern: bool) -> Word:
        """An operand: in double quotes all of it is quoted, but a pattern, which has quotes of its own."""
        if not quoted or pattern:
            return self.word(node)
        parts: list[Part] = []
        for part in node["Parts"] if node is not None else ():
            if part["Type"] == "DblQuoted":
                self.double(part, parts)
            else:
                self.quoted(part, parts, '$`"\\}')
        return joined(parts)

    # --- expressions ------------------------------------------------------------------------------------------------

    def spanned(
        self, node: Node | None, start: int | None = None, end: int | None = None, *, quoted: bool = True
    ) -> Word:
        """The source of an expression as a word, if `quoted` as in double quotes, without the blanks around it."""
        if node is None:
            return ()
        at = node["Pos"]["Offset"] if start is None else start
        end = node["End"]["Offset"] if end is None else end
        parts: list[Part] = []
        for found in sorted(self.expansions(node), key=lambda part: part["Pos"]["Offset"]):
            parts.append(Part(LITERAL, self.gap(at, found["Pos"]["Offset"]), quoted))
            if found["Type"] == "DblQuoted":
                self.double(found, parts)
            elif found["Type"] == "SglQuoted":
                parts.append(self.single(found))
            else:
                parts.append(self.expansion(found, quoted=quoted))
            at = found["End"]["Offset"]
        parts.append(Part(LITERAL, self.gap(at, end), quoted))
        merged = list(joined(parts))
        if merged and merged[-1].kind is LITERAL:
            merged[-1] = merged[-1]._replace(text=merged[-1].text.rstrip())
        if merged and merged[0].kind is LITERAL:
            merged[0] = merged[0]._replace(text=merged[0].text.lstrip())
        return tuple(part for part in merged if part.text or part.kind is not LITERAL)

    def gap(self, start: int, end: int) -> str:
        if end < start:
            raise RefusedLineError("an expression of the second parser is out of order")
        return self.source[start:end].decode("utf-8")

    def expansions(self, node: Node) -> Iterator[Node]:
        """The outermost expansions and quoted strings of an expression."""
        waiting: list[Any] = [node]
        while waiting:
            item = waiting.pop()
            if isinstance(item, list):
                waiting.extend(item)
            elif isinstance(item, dict):
                # `a[i]` within an expression is called an expansion, too.
                bare = item.get("Type") == "ParamExp" and not self.text(item).startswith("$")
                if item.get("Type") in _EXPANSIONS and not bare:
                    yield item
                elif item.get("Type") == "ExtGlob":
                    raise RefusedLineError("extended pattern")
                else:
                    waiting.extend(item.values())


def _kept(match: re.Match[str], escapes: str) -> str:
    return "" if match[1] == "\n" else match[1] if match[1] in escapes else match[0]


def _unescaped(value: str, parts: list[Part]) -> None:
    at = 0
    while (slash := value.find("\\", at)) >= 0:
        if slash > at:
            parts.append(Part(LITERAL, value[at:slash], False))
        escaped = value[slash + 1 : slash + 2]
        if escaped != "\n":
            parts.append(Part(LITERAL, escaped, True))
        at = slash + 2
    if at < len(value):
        parts.append(Part(LITERAL, value[at:], False))

"""The words of a line as the grammar of tree-sitter-bash sees them, kept to an allowlist of node types."""

import re
from abc import ABC, abstractmethod

import tree_sitter

from shield.facts.shell.grammar.ansi_c import ansi_c
from shield.facts.shell.grammar.script import LITERAL, MAX_DEPTH, AndOr, Part, PartKind, Script, Word, joined
from shield.regex import regex

__all__ = ["WORDS", "TreeWords"]

_MAX_NODES = 20_000
_ESCAPE = regex(r"\\(.)", re.DOTALL)
_DQ_ESCAPE = regex(r'\\([$`"\\])')
_BACKTICKS = regex(r"`([^`]*)`")
_PARAMETER = regex(r"\s*\$\{([A-Za-z_][A-Za-z0-9_]*)\}\Z")
_BARE = frozenset({"word", "number", "variable_name", "special_variable_name", "test_operator"})
# The node types that are words.
WORDS = _BARE | {
    "string",
    "raw_string",
    "ansi_c_string",
    "translated_string",
    "concatenation",
    "simple_expansion",
    "expansion",
    "command_substitution",
    "process_substitution",
    "arithmetic_expansion",
    "brace_expression",
    "regex",
    "extglob_pattern",
}


class TreeWords(ABC):
    """A text whose tree is walked. `complete`: nothing but known nodes stood there so far; `extra` are the lists that
    were found where words are."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.ascii = text.decode("ascii") if text.isascii() else None
        self.complete = True
        self.extra: list[AndOr] = []
        self.nodes = 0

    @abstractmethod
    def statement(self, node: tree_sitter.Node, depth: int) -> list[AndOr]:
        """One statement: its own list, after the lists found inside its words."""

    @abstractmethod
    def compound(self, node: tree_sitter.Node, depth: int) -> list[AndOr]:
        """Anything that is not plain: list every command in it, and say that the line is not complete."""

    @abstractmethod
    def lists_in(self, text: bytes, depth: int) -> list[AndOr]:
        """The lists of a text of its own within this one."""

    def source(self, node: tree_sitter.Node) -> str:
        if self.ascii is not None:
            return self.ascii[node.start_byte : node.end_byte]
        return self.text[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def enter(self, depth: int) -> bool:
        self.nodes += 1
        if depth > 20 * MAX_DEPTH or self.nodes > _MAX_NODES:
            self.complete = False
            return False
        return True

    def word(self, node: tree_sitter.Node, depth: int) -> Word:
        if node.type in _BARE and not node.child_count:
            source = self.source(node)
            if source and "\\" not in source and self.enter(depth):
                return (Part(LITERAL, source, False),)
        parts: list[Part] = []
        self.parts(node, parts, depth, quoted=False)
        return joined(parts)

    def parts(self, node: tree_sitter.Node, parts: list[Part], depth: int, *, quoted: bool) -> None:
        if not self.enter(depth):
            parts.append(Part(PartKind.UNKNOWN, "", quoted))
            return
        kind = node.type
        source = self.source(node)
        if kind in _BARE or (kind in ("regex", "extglob_pattern") and not quoted):
            if node.child_count:
                self.complete = False
            _unquoted(source, parts)
        elif kind == "raw_string":
            parts.append(Part(LITERAL, source[1:-1], True))
        elif kind == "ansi_c_string":
            value = ansi_c(source[2:-1])
            unknown = value is None
            parts.append(Part(PartKind.UNKNOWN if unknown else LITERAL, value or "", True))
        elif kind in ("string", "translated_string"):
            self.string(node, parts, depth)
        elif kind == "concatenation":
            end = node.start_byte
            for child in node.children:
                self.complete &= child.start_byte == end
                end = child.end_byte
                self.parts(child, parts, depth + 1, quoted=False)
        elif kind in ("simple_expansion", "expansion"):
            self.expansion(node, source, parts, depth, quoted=quoted)
        elif kind == "command_substitution":
            script = Script(tuple(self.statements_of_substitution(node, depth)))
            if source.startswith("`"):
                self.complete = False
            parts.append(Part(PartKind.SUBSTITUTION, source, quoted, script))
        elif kind == "brace_expression":
            parts.append(Part(LITERAL, source, False))
        else:
            self.extra.extend(self.compound(node, depth + 1))
            self.backticks(source, depth)
            parts.append(Part(PartKind.UNKNOWN, source, quoted))

    def statements_of_substitution(self, node: tree_sitter.Node, depth: int) -> list[AndOr]:
        out: list[AndOr] = []
        for child in node.children:
            kind = child.type
            if kind in ("$(", ")", "`", ";", "\n", "comment"):
                continue
            if kind == "&" and out:
                out[-1] = AndOr(out[-1].pipelines, out[-1].operators, background=True)
                continue
            out.extend(self.statement(child, depth + 1))
        return out

    def string(self, node: tree_sitter.Node, parts: list[Part], depth: int) -> None:
        """Between the quotes: what lies between the known children is text, blanks that the grammar drops included."""
        before = len(parts)
        if node.type == "translated_string":
            self.complete = False
            node = node.children[-1]
        at = node.start_byte + 1
        for child in node.children[1:-1]:
            if child.type not in ("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"):
                if child.type not in ("string_content", "$"):
                    self.complete = False
                continue
            start = child.start_byte
            # The grammar lets blanks before `${` into the node.
            start += len(self.text[start : child.end_byte]) - len(self.text[start : child.end_byte].lstrip())
            self.literal(at, start, parts, depth)
            self.parts(child, parts, depth + 1, quoted=True)
            at = child.end_byte
        self.literal(at, node.end_byte - 1, parts, depth)
        if len(parts) == before:
            parts.append(Part(LITERAL, "", True))

    def literal(self, start: int, end: int, parts: list[Part], depth: int) -> None:
        if end > start:
            text = self.text[start:end].decode("utf-8", "replace")
            if "`" in _ESCAPE.sub("", text):
                self.backticks(text, depth)
            parts.append(Part(LITERAL, _DQ_ESCAPE.sub(r"\1", text.replace("\\\n", "")), True))

    def expansion(self, node: tree_sitter.Node, source: str, parts: list[Part], depth: int, *, quoted: bool) -> None:
        named = _PARAMETER.match(source)
        if node.type == "simple_expansion" or named is not None:
            name = named[1] if named is not None else source.lstrip()[1:]
            parts.append(Part(PartKind.VARIABLE, name, quoted))
            return
        self.extra.extend(self.compound(node, depth + 1))
        self.backticks(source, depth)
        parts.append(Part(PartKind.UNKNOWN, source, quoted))

    def backticks(self, source: str, depth: int) -> None:
        """Commands in backticks that the grammar took for text."""
        self.complete &= "`" not in source
        for match in _BACKTICKS.finditer(source):
            if depth < MAX_DEPTH:
                self.extra.extend(self.lists_in(match[1].encode("utf-8", "replace"), depth + 1))


def _unquoted(source: str, parts: list[Part]) -> None:
    at = 0
    for match in _ESCAPE.finditer(source) if "\\" in source else ():
        if match.start() > at:
            parts.append(Part(LITERAL, source[at : match.start()], False))
        if match[1] != "\n":
            parts.append(Part(LITERAL, match[1], True))
        at = match.end()
    if at < len(source):
        parts.append(Part(LITERAL, source[at:], False))

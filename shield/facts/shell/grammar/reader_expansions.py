"""Expansions with a language of their own: `${…}` and `$((…))` (bash(1) Parameter Expansion, ARITHMETIC EVALUATION)."""

import re
from enum import Enum

from shield.facts.shell.grammar.reader_words import Words
from shield.facts.shell.grammar.script import (
    LITERAL,
    Parameter,
    Part,
    PartKind,
    RefusedLineError,
    Word,
    joined,
)
from shield.regex import regex

__all__ = ["Expansions"]

_PLAIN = regex(r"\$\{([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*?$!#-])\}")
_NAME = regex(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*]")
_OPERATOR = regex(r":[-=?+]|[-=?+]|##?|%%?|//|/#|/%|/|\^\^?|,,?|@[UuLQEPAKak](?=\})|:")
_RUN = regex(r"[A-Za-z0-9_.:=@%+,\-\[\]*?!^~# \t\n|&;()]+")
_EXPRESSION = regex(r"[A-Za-z0-9_ \t\n+\-*/%<>=!&|^~?,#@.]+")
_CLOSERS = {"(": ")", "[": "]"}
_NAME_BEGINS = regex(r"[A-Za-z_]")
_GLUED = regex(r"[A-Za-z0-9_\"]")
_UNSPECIAL = regex(r"[A-Za-z0-9_ ./:=@%+,\-*?!^~#;|&(){}<>]*")


class _Operand(Enum):
    WORD = "word"
    PATTERN = "pattern"
    REPLACEMENT = "replacement"


class Expansions(Words):
    def parameter(self, parts: list[Part], *, quoted: bool) -> None:
        start = self.at
        plain = _PLAIN.match(self.text, start)
        if plain is not None:
            self.at = plain.end()
            parts.append(Part(PartKind.VARIABLE, plain[1], quoted))
            return
        self.deeper()
        self.at = start + 2
        found = self.operation(quoted=quoted)
        self.take("}", "parameter expansion")
        self.depth -= 1
        parts.append(Part(PartKind.PARAMETER, self.text[start : self.at], quoted, parameter=found))

    def operation(self, *, quoted: bool) -> Parameter:
        """What stands between the braces of `${…}`."""
        prefix = self.peek()
        if prefix in ("#", "!"):
            self.at += 1
        name = self.parameter_name(count=prefix == "!")
        index = None
        if self.peek() == "[":
            if name == "#" or not (name[0].isalpha() or name[0] == "_"):
                raise RefusedLineError("parameter expansion")
            index = self.subscript()
        if prefix == "#":
            return Parameter(name, "#length", (), index)
        if prefix == "!" and index is None and self.text.startswith(("*}", "@}"), self.at) and name[0] not in "@*#":
            self.at += 1
            return Parameter(name, "!names")
        operator = _OPERATOR.match(self.text, self.at) if self.peek() != "}" and name != "#" else None
        if operator is None:
            return Parameter(name, "", (), index, indirect=prefix == "!")
        self.at = operator.end()
        words = self.operands(operator[0], quoted=quoted)
        return Parameter(name, operator[0], words, index, indirect=prefix == "!")

    def parameter_name(self, *, count: bool) -> str:
        """A name that can have an operation; `count`: or `#`, as in `${!#}`."""
        if count and self.text.startswith("#}", self.at):
            self.at += 1
            return "#"
        match = _NAME.match(self.text, self.at)
        if match is None:
            raise RefusedLineError("parameter expansion")
        self.at = match.end()
        return match[0]

    def operands(self, operator: str, *, quoted: bool) -> tuple[Word, ...]:
        if operator == ":":
            offset = self.expression(":}", ternary=False)
            if self.peek() != ":":
                return (offset,)
            self.at += 1
            return (offset, self.expression("}", ternary=False))
        if operator[0] == "@":
            return ()
        if operator == "//" and self.peek() == "/":
            raise RefusedLineError("a pattern that begins with a slash")
        if operator[0] == "/":
            pattern = self.operand("/}", _Operand.PATTERN, quoted=quoted)
            if self.peek() != "/":
                return (pattern,)
            self.at += 1
            replacement = self.operand("}", _Operand.REPLACEMENT, quoted=quoted)
            return (pattern, replacement) if replacement else (pattern,)
        if operator[0] in "#%^,":
            return (self.operand("}", _Operand.PATTERN, quoted=quoted),)
        return (self.operand("}", _Operand.WORD, quoted=quoted),)

    def operand(self, ends: str, kind: _Operand, *, quoted: bool) -> Word:
        """The text of a word, a pattern or a replacement, up to one of `ends`."""
        parts: list[Part] = []
        plainly = quoted and kind is not _Operand.PATTERN
        while self.peek() not in ends or self.at >= self.end:
            self.budget.spend()
            char = self.peek()
            run = _RUN.match(self.text, self.at)
            if run is not None:
                if "(" in run[0] and re.search(r"[?*+@!]\(", run[0]):
                    raise RefusedLineError("extended pattern")
                parts.append(Part(LITERAL, run[0], plainly))
                self.at = run.end()
            elif char in ("'", '"') and char:
                self.inner_quotes(parts, kind, quoted=quoted)
            elif char == "\\":
                self.inner_escape(parts, kind, quoted=quoted)
            elif char == "$":
                if self.text.startswith("$'", self.at) and quoted:
                    if kind is not _Operand.PATTERN or self.in_document:
                        raise RefusedLineError("quotes within a parameter expansion")
                    self.at += 1
                    parts.append(Part(LITERAL, self.ansi(), True))
                elif self.text.startswith('$"', self.at):
                    raise RefusedLineError("quotes within a parameter expansion")
                else:
                    self.dollar(parts, quoted=plainly)
            elif char == "`":
                self.backticks(parts, quoted=plainly)
            elif char in ("{", "<", ">", "", "}") or char.isspace() or not char.isprintable():
                raise RefusedLineError("parameter expansion")
            else:
                parts.append(Part(LITERAL, char, plainly))
                self.at += 1
        return joined(parts)

    def inner_quotes(self, parts: list[Part], kind: _Operand, *, quoted: bool) -> None:
        # Within double quotes bash takes `'` for a quote where it looks for the end of `${…}` and for a character where
        # it expands the word; only in a pattern it is a quote in both.
        if self.in_document or (quoted and kind is _Operand.REPLACEMENT):
            raise RefusedLineError("quotes within a parameter expansion")
        if self.peek() == '"':
            taken = quoted and kind is _Operand.WORD
            self.apart(parts, self.text[self.at + 1 : self.at + 2], taken=taken)
            self.double(parts)
            self.apart(parts, self.peek(), taken=taken)
            return
        text = self.single()
        if quoted and (kind is not _Operand.PATTERN or _UNSPECIAL.fullmatch(text) is None or "}" in text):
            raise RefusedLineError("quotes within a parameter expansion")
        parts.append(Part(LITERAL, text, True))

    def apart(self, parts: list[Part], follows: str, *, taken: bool) -> None:
        """Bash takes the quotes away before it looks for expansions: `"${x:+"$y"z}"` is `$yz`, `"$"(id)` runs id."""
        last = parts[-1] if taken and parts else None
        if last is None or follows in ("", "}", " "):
            return
        named = last.kind is PartKind.VARIABLE and bool(_NAME_BEGINS.match(last.text)) and bool(_GLUED.match(follows))
        if named or (last.kind is LITERAL and last.text.endswith("$")):
            raise RefusedLineError("quotes within a parameter expansion")

    def inner_escape(self, parts: list[Part], kind: _Operand, *, quoted: bool) -> None:
        escaped = self.text[self.at + 1 : self.at + 2]
        kept = quoted and (kind is _Operand.REPLACEMENT or (kind is _Operand.WORD and escaped not in '$`"\\}'))
        if escaped in ("", "\n") or kept:
            raise RefusedLineError("escape within a parameter expansion")
        parts.append(Part(LITERAL, escaped, True))
        self.at += 2

    # --- arithmetic -------------------------------------------------------------------------------------------------

    def arithmetic(self, parts: list[Part], *, quoted: bool) -> None:
        start = self.at
        self.at += 3
        word = self.parenthesised()
        parts.append(Part(PartKind.ARITHMETIC, self.text[start : self.at], quoted, word=word))

    def parenthesised(self) -> Word:
        """The expression after `((`, and its `))`."""
        self.deeper()
        word = self.expression(")")
        # bash tries `((…) …)` as arithmetic first and as a subshell then: nothing is tried here.
        self.take("))", "`((` that is not closed by `))`")
        self.depth -= 1
        return word

    def subscript(self) -> Word:
        """`[…]`."""
        self.at += 1
        word = self.expression("]", subscript=True)
        self.take("]", "subscript not closed")
        if not word:
            raise RefusedLineError("empty subscript")
        return word

    def expression(self, ends: str, *, subscript: bool = False, ternary: bool = True) -> Word:
        """An arithmetic expression up to one of `ends` that stands in no bracket, without blanks around it."""
        parts: list[Part] = []
        open_brackets: list[str] = []
        while True:
            self.budget.spend()
            char = self.peek()
            if char == "":
                raise RefusedLineError("expression not closed")
            if not open_brackets and char in ends:
                return _trimmed(joined(parts))
            if char in _CLOSERS:
                open_brackets.append(_CLOSERS[char])
            elif open_brackets and char == open_brackets[-1]:
                open_brackets.pop()
            elif char != ":":
                self.expression_piece(parts, char, subscript=subscript, ternary=ternary)
                continue
            parts.append(Part(LITERAL, char, True))
            self.at += 1

    def expression_piece(self, parts: list[Part], char: str, *, subscript: bool, ternary: bool) -> None:
        run = _EXPRESSION.match(self.text, self.at)
        if run is not None:
            if "?" in run[0] and not ternary:
                raise RefusedLineError("condition within an offset")
            parts.append(Part(LITERAL, run[0], True))
            self.at = run.end()
            if self.text[self.at - 1] in "<>" and self.peek() == "(":
                raise RefusedLineError("process substitution within an expression")
        elif char == '"':
            self.double(parts)
        elif char == "'" and subscript:
            text = self.single()
            if _UNSPECIAL.fullmatch(text) is None:
                raise RefusedLineError("quotes within a subscript")
            parts.append(Part(LITERAL, text, True))
        elif char == "`":
            self.backticks(parts, quoted=True)
        elif char == "$" and not self.text.startswith(("$'", '$"'), self.at):
            start = self.at
            self.dollar(parts, quoted=True)
            if self.text.startswith("${", start) and not _balanced(self.text[start : self.at]):
                # bash ends `((` at the parenthesis that closes it, whether it stands within braces or not.
                raise RefusedLineError("parenthesis in an expansion within an expression")
        else:
            raise RefusedLineError("expression")


def _balanced(text: str) -> bool:
    """Whether every parenthesis in it closes one that was opened, or is closed."""
    depth = 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            return False
    return depth == 0


def _trimmed(word: Word) -> Word:
    """Without the blanks before and after it, and without text that is empty."""
    parts = list(word)
    if parts and parts[0].kind is LITERAL:
        parts[0] = parts[0]._replace(text=parts[0].text.lstrip())
    if parts and parts[-1].kind is LITERAL:
        parts[-1] = parts[-1]._replace(text=parts[-1].text.rstrip())
    return tuple(part for part in parts if part.text or part.kind is not LITERAL)

"""`[[ … ]]` (bash(1) Compound Commands, CONDITIONAL EXPRESSIONS)."""

from shield.facts.shell.grammar.reader_simple import SimpleCommands
from shield.facts.shell.grammar.script import (
    LITERAL,
    Condition,
    Part,
    RefusedLineError,
    Test,
    Word,
    combined,
    joined,
)
from shield.regex import regex

__all__ = ["Conditions"]

_UNARY = regex(r"-[a-hknoprstuvwxzGLNORS](?=[ \t])")
_BINARY = regex(r"(==|=~|!=|=|<|>|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef))(?=[ \t])")


class Conditions(SimpleCommands):
    def test(self) -> Test:
        self.take("[[", "test")
        condition = self.either()
        self.blanks()
        if not self.closes():
            raise RefusedLineError("`]]` is missing")
        self.at += 2
        return Test(condition, self.redirections())

    def closes(self) -> bool:
        follows = self.text[self.at + 2 : self.at + 3]
        return self.text.startswith("]]", self.at) and (not follows or follows in " \t\n;&|)<>")

    def either(self) -> Condition:
        left = self.both()
        self.blanks()
        if not self.text.startswith("||", self.at):
            return left
        self.at += 2
        return combined("||", left, self.either_after())

    def either_after(self) -> Condition:
        self.deeper()
        condition = self.either()
        self.depth -= 1
        return condition

    def both(self) -> Condition:
        condition = self.term()
        self.blanks()
        while self.text.startswith("&&", self.at):
            self.at += 2
            condition = combined("&&", condition, self.term())
            self.blanks()
        return condition

    def term(self) -> Condition:
        self.budget.spend()
        self.blanks(newlines=True)
        if self.text.startswith(("! ", "!\t"), self.at):
            self.at += 1
            self.deeper()
            inner = self.term()
            self.depth -= 1
            return Condition("!", (inner,))
        if self.peek() == "(":
            return self.group()
        unary = _UNARY.match(self.text, self.at)
        if unary is not None:
            self.at = unary.end()
            self.blanks()
            condition = Condition(unary[0], (), (self.operand_word(),))
            self.line_end()
            return condition
        left = self.operand_word()
        self.blanks()
        binary = _BINARY.match(self.text, self.at)
        if binary is None:
            return Condition("-n", (), (left,))
        self.at = binary.end()
        self.blanks()
        operator = "==" if binary[0] == "=" else binary[0]
        right = self.expression_word() if operator == "=~" else self.operand_word()
        self.line_end()
        return Condition(operator, (), (left, right))

    def group(self) -> Condition:
        self.at += 1
        self.deeper()
        condition = self.either()
        self.blanks()
        self.take(")", "test not closed")
        self.depth -= 1
        self.line_end()
        return condition

    def line_end(self) -> None:
        """After a whole term a newline means nothing."""
        self.blanks(newlines=True)

    def operand_word(self) -> Word:
        if self.closes():
            raise RefusedLineError("test without operand")
        word = self.word()
        if not word or self.peek() in ("<", ">", "("):
            raise RefusedLineError("test")
        return word

    def expression_word(self) -> Word:
        """A regular expression: `|` and what stands in parentheses belong to it."""
        if self.closes():
            raise RefusedLineError("test without operand")
        parts: list[Part] = []
        groups = 0
        while self.at < self.end:
            char = self.peek()
            if char == "(":
                groups += 1
            elif char == ")" and groups:
                groups -= 1
            elif not (char == "|" or (char == " " and groups)):
                if char in "<>" or not self.piece(parts):
                    break
                continue
            self.budget.spend()
            parts.append(Part(LITERAL, char, False))
            self.at += 1
        alone = self.peek() == "&" and not self.text.startswith("&&", self.at)
        if not parts or groups or alone or self.peek() in ("<", ">", "(", ";"):
            raise RefusedLineError("regular expression")
        return joined(parts)

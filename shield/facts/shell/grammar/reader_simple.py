"""Simple commands: assignments, words and redirections (POSIX.1-2024 XCU 2.9.1, 2.7)."""

from shield.facts.shell.grammar.reader_cursor import META
from shield.facts.shell.grammar.reader_expansions import Expansions
from shield.facts.shell.grammar.script import (
    LITERAL,
    Assignment,
    Item,
    Part,
    RedirectNode,
    RefusedLineError,
    Simple,
    Word,
)
from shield.regex import regex

__all__ = ["RESERVED", "SimpleCommands"]

_ASSIGNMENT = regex(r"([A-Za-z_][A-Za-z0-9_]*)(\+?=|\[)")
_REDIRECT = regex(r"<<<|<<-|<<|&>>|&>|>>|>\||>&|<&|<>|>|<")
_DESCRIPTOR = regex(r"([0-9]{1,9})(?=[<>](?!\())")
_NAMED_FD = regex(r"\{[A-Za-z_][A-Za-z0-9_]*\}\Z")
# Most of what is typed: words of characters that mean themselves where they stand, up to what ends a word and is no
# redirection. None of them is a comment, and the first of a command is no assignment.
_ENDED = r"(?=[ \t\n|;&)]|\Z)"
_FURTHER_WORD = rf"[A-Za-z0-9_./:=@%+,\-{{}}\[\]*?!^~]++{_ENDED}"
_COMMAND = regex(rf"[A-Za-z0-9_./:@%+,\-]++{_ENDED}(?:[ \t]++{_FURTHER_WORD})*+")
_FURTHER = regex(rf"{_FURTHER_WORD}(?:[ \t]++{_FURTHER_WORD})*+")
_ENDS = frozenset(("", "\n", "|", ";", ")"))
_RESERVED_TEXT = """
! [[ ]] { } if then else elif fi for while until do done case esac select function in coproc time
"""
RESERVED = frozenset(_RESERVED_TEXT.split())


class SimpleCommands(Expansions):
    def simple(self) -> Simple:
        assignments: list[Assignment] = []
        words: list[Word] = []
        redirects: list[RedirectNode] = []
        while True:
            self.blanks()
            char = self.peek()
            if char in _ENDS:
                break
            run = (_FURTHER if words else _COMMAND).match(self.text, self.at)
            if run is not None:
                self.at = run.end()
                plain = run[0].split()
                self.budget.spend(len(plain))
                if not words:
                    _refuse_reserved(plain[0], bare=redirects == [] == assignments)
                words.extend([(Part(LITERAL, text, False),) for text in plain])
                continue
            if self.redirects_into(redirects):
                continue
            if char in META and not self.text.startswith(("<(", ">("), self.at):
                break
            if not words and self.assigned_into(assignments, after=bool(redirects)):
                continue
            start = self.at
            word = self.word()
            follows = self.peek()
            source = self.text[start : self.at] if follows in ("<", ">") or not words else ""
            if follows in ("<", ">") and _NAMED_FD.match(source):
                raise RefusedLineError("named descriptor")
            if not words:
                _refuse_reserved(source, bare=redirects == [] == assignments)
            words.append(word)
        if not (assignments or words or redirects):
            raise RefusedLineError("a command is missing")
        return Simple(tuple(assignments), tuple(words), tuple(redirects))

    # --- redirections -----------------------------------------------------------------------------------------------

    def redirections(self) -> tuple[RedirectNode, ...]:
        """Those after a compound command."""
        redirects: list[RedirectNode] = []
        self.blanks()
        while self.redirects_into(redirects):
            self.blanks()
        return tuple(redirects)

    def redirects_into(self, redirects: list[RedirectNode]) -> bool:
        """Read a redirection if one stands here."""
        digits = _DESCRIPTOR.match(self.text, self.at)
        if digits is not None:
            self.at = digits.end()
        elif not self.text.startswith(("<", ">", "&>"), self.at) or self.text.startswith(("<(", ">("), self.at):
            return False
        redirects.append(self.redirect(None if digits is None else int(digits[1])))
        return True

    def redirect(self, fd: int | None) -> RedirectNode:
        match = _REDIRECT.match(self.text, self.at)
        assert match is not None  # the caller saw one begin
        op = match[0]
        self.at = match.end()
        if self.text.startswith("\\\n", self.at):
            raise RefusedLineError("line continuation within an operator")
        self.blanks()
        if op in (">&", "<&") and self.peek() == "-":
            self.at += 1
            if self.peek() and (self.peek() not in META or self.peek() in "<>("):
                raise RefusedLineError("descriptor")
            return RedirectNode(op + "-", fd, ())
        if op in ("<<", "<<-"):
            return RedirectNode(op, fd, self.announce(tabs=op == "<<-"))
        start = self.at
        word = self.word()
        if not word:
            raise RefusedLineError("redirection without target")
        duplicates = op in (">&", "<&") and self.text[start : self.at].isdigit()
        if self.peek() in ("<", ">") and self.text[self.at - 1].isdigit() and not (word[-1].quoted or duplicates):
            # `>2>b` is read one way by some and another way by others.
            raise RefusedLineError("joined redirections")
        return RedirectNode(op, fd, word)

    # --- assignments ------------------------------------------------------------------------------------------------

    def assigned_into(self, assignments: list[Assignment], *, after: bool) -> bool:
        """Read an assignment if one stands here; `after` a redirection."""
        match = _ASSIGNMENT.match(self.text, self.at)
        if match is None:
            return False
        self.at = match.end()
        name, operator, index = match[1], match[2], None
        if after and (operator == "[" or self.peek() == "("):
            # bash reads brackets there as part of an assignment only where no other one stands before.
            raise RefusedLineError("array or subscript after a redirection")
        if operator == "[":
            self.at -= 1
            index = self.subscript()
            operator = self.equals()
        append = operator == "+="
        if self.peek() == "(":
            if index is not None:
                raise RefusedLineError("array within an array")
            assignments.append(Assignment(name, (), append, plain=False, items=self.items()))
        else:
            assignments.append(Assignment(name, self.word(), append, plain=index is None, index=index))
        return True

    def equals(self) -> str:
        operator = "+=" if self.peek() == "+" else "="
        self.take(operator, "subscript without assignment")
        return operator

    def items(self) -> tuple[Item, ...]:
        """`(…)` of an array."""
        start = self.at
        self.at += 1
        if self.pending or self.coprocesses:
            # bash 5.2 takes reserved words for such in an array in a coprocess.
            raise RefusedLineError("array in a here-document's command or a coprocess")
        items: list[Item] = []
        while True:
            self.blanks(newlines=True)
            if self.peek() == ")":
                break
            index = None
            if self.peek() == "[":
                index = self.subscript()
                if self.equals() == "+=":
                    raise RefusedLineError("element that is appended to")
            word = self.word()
            if not word and index is None:
                raise RefusedLineError("array")
            items.append(Item(word, index))
        self.at += 1
        if self.enclosures and "\\" in self.text[start : self.at]:
            # bash 5.2 loses the escape when it prints what it has parsed.
            raise RefusedLineError("escape within an array within a substitution")
        if self.peek() and (self.peek() not in META or self.peek() in "<>("):
            raise RefusedLineError("text after an array")
        return tuple(items)


def _refuse_reserved(source: str, *, bare: bool) -> None:
    """`source` stands where a command's name does. With nothing before it, `bare`, `time` behind `|` is a program."""
    if source in RESERVED and not (source == "time" and bare):
        raise RefusedLineError("reserved word")

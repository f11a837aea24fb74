"""Compound commands and function definitions (bash(1) Compound Commands, Shell Function Definitions, Coprocesses)."""

from collections.abc import Callable

from shield.facts.shell.grammar.reader_reserved import Reserved
from shield.facts.shell.grammar.script import (
    Arithmetic,
    Case,
    Clause,
    Command,
    Coprocess,
    Counting,
    For,
    Function,
    Group,
    If,
    Loop,
    RefusedLineError,
    Script,
    Simple,
    Word,
)
from shield.regex import regex

__all__ = ["Compounds"]

_NAME = regex(r"[A-Za-z_][A-Za-z0-9_]*(?=[ \t\n;]|\Z)")
_FUNCTION = regex(r"([A-Za-z_][A-Za-z0-9_.:+@-]*)[ \t]*\([ \t]*\)")
_FUNCTION_NAME = regex(r"[A-Za-z_][A-Za-z0-9_.:+@-]*(?=[ \t\n(])")
_PARENTHESES = regex(r"[ \t]*\([ \t]*\)")


class Compounds(Reserved):
    def command(self) -> Command:
        self.budget.spend()
        word = self.reserved()
        if not word and self.peek() != "(":
            function = _FUNCTION.match(self.text, self.at)
            if function is None:
                return self.simple()
            self.at = function.end()
            return self.function_body(function[1])
        found = self.compound()
        if found is not None:
            return found
        if word == "function":
            return self.function()
        if word == "coproc":
            return self.coprocess()
        if word and word != "time":
            # `time` after `|` is a program.
            raise RefusedLineError("a reserved word out of place")
        return self.simple()

    def compound(self) -> Command | None:
        """The compound command that begins here, with its redirections; None if none does."""
        char = self.peek()
        if char == "(":
            return self.expression_command() if self.text.startswith("((", self.at) else self.subshell()
        word = self.reserved()
        if not word:
            return None
        readers: dict[str, Callable[[], Command]] = {
            "{": self.group_command,
            "if": self.conditional,
            "while": self.loop,
            "until": self.loop,
            "for": self.iteration,
            "select": self.iteration,
            "case": self.case,
            "[[": self.test,
        }
        read = readers.get(word)
        if read is None:
            return None
        self.deeper()
        found = read()
        self.depth -= 1
        return found

    def body(self) -> Script:
        """The commands of a compound: at least one."""
        script = self.script()
        if not script.lists:
            raise RefusedLineError("a command is missing")
        return script

    def subshell(self) -> Group:
        self.at += 1
        self.not_continued("(")
        self.deeper()
        script = self.body()
        self.take(")", "subshell not closed")
        self.depth -= 1
        return Group(script, subshell=True, redirects=self.redirections())

    def expression_command(self) -> Arithmetic:
        self.at += 2
        return Arithmetic(self.parenthesised(), self.redirections())

    def group_command(self) -> Group:
        self.keyword("{")
        script = self.body()
        self.keyword("}")
        return Group(script, redirects=self.redirections())

    def conditional(self) -> If:
        branches: list[tuple[Script, Script]] = []
        otherwise = None
        self.keyword("if")
        while True:
            condition = self.body()
            self.keyword("then")
            branches.append((condition, self.body()))
            if self.reserved() != "elif":
                break
            self.keyword("elif")
        if self.reserved() == "else":
            self.keyword("else")
            otherwise = self.body()
        self.keyword("fi")
        return If(tuple(branches), otherwise, self.redirections())

    def loop(self) -> Loop:
        word = self.reserved()
        self.keyword(word)
        condition = self.body()
        return Loop(condition, self.do_body(), until=word == "until", redirects=self.redirections())

    def do_body(self, *, braces: bool = False) -> Script:
        """`do …; done`, or where bash takes them for it `{ …; }`."""
        first, last = ("{", "}") if braces and self.reserved() == "{" else ("do", "done")
        self.keyword(first)
        body = self.body()
        self.keyword(last)
        return body

    def iteration(self) -> For | Counting:
        select = self.reserved() == "select"
        self.keyword("select" if select else "for")
        self.blanks()
        if self.text.startswith("((", self.at) and not select:
            return self.counting()
        name = _NAME.match(self.text, self.at)
        if name is None:
            raise RefusedLineError("the name of a loop's variable")
        self.at = name.end()
        self.blanks(newlines=True)
        words: list[Word] | None = None
        if self.reserved() == "in":
            self.keyword("in")
            self.blanks()
            if self.reserved() == "esac":
                # within a clause of `case` bash takes it for the end of that
                raise RefusedLineError("`esac` as the first word of a loop")
            words = self.listed()
        elif self.peek() == ";":
            self.at += 1
        self.blanks(newlines=True)
        body = self.do_body(braces=True)
        return For(name[0], None if words is None else tuple(words), body, select, self.redirections())

    def listed(self) -> list[Word]:
        """The words after `in`, up to `;` or a newline."""
        words: list[Word] = []
        while True:
            self.blanks()
            char = self.peek()
            if char == "\n":
                self.newline()
                return words
            if char == ";":
                self.at += 1
                return words
            word = self.word()
            if not word:
                raise RefusedLineError("the words of a loop")
            words.append(word)

    def counting(self) -> Counting:
        self.at += 2
        first = self.expression(";")
        self.take(";", "expression")
        test = self.expression(";")
        self.take(";", "expression")
        step = self.expression(")")
        self.take("))", "expression")
        self.blanks()
        if self.peek() == ";":
            self.at += 1
        self.blanks(newlines=True)
        body = self.do_body(braces=True)
        return Counting(first, test, step, body, self.redirections())

    def case(self) -> Case:
        self.keyword("case")
        self.blanks()
        subject = self.word()
        if not subject:
            raise RefusedLineError("the word of `case`")
        self.blanks(newlines=True)
        self.keyword("in")
        clauses: list[Clause] = []
        while True:
            self.blanks(newlines=True)
            if self.reserved() == "esac":
                break
            clause, last = self.clause()
            clauses.append(clause)
            if last:
                self.blanks(newlines=True)
                break
        self.keyword("esac")
        return Case(subject, tuple(clauses), self.redirections())

    def clause(self) -> tuple[Clause, bool]:
        """A clause, and whether nothing ended it: then it is the last one."""
        if self.peek() == "(":
            self.at += 1
            self.blanks()
            if self.reserved() == "esac":
                raise RefusedLineError("`esac` as a pattern")
        patterns: list[Word] = []
        while True:
            self.blanks()
            # Within braces bash takes `}` for their end.
            pattern = () if self.reserved() == "}" else self.word()
            if not pattern:
                raise RefusedLineError("the pattern of a clause")
            patterns.append(pattern)
            self.blanks()
            if self.peek() != "|":
                break
            self.at += 1
        self.take(")", "the pattern of a clause")
        script = self.script()
        for end in (";;&", ";;", ";&"):
            if self.text.startswith(end, self.at):
                self.at += len(end)
                self.not_continued("&")
                return Clause(tuple(patterns), script, end), False
        return Clause(tuple(patterns), script), True

    def function(self) -> Function:
        self.keyword("function")
        self.blanks()
        name = _FUNCTION_NAME.match(self.text, self.at)
        if name is None or self.reserved():
            raise RefusedLineError("the name of a function")
        self.at = name.end()
        parentheses = _PARENTHESES.match(self.text, self.at)
        if parentheses is not None:
            self.at = parentheses.end()
        return self.function_body(name[0])

    def function_body(self, name: str) -> Function:
        self.blanks(newlines=True)
        body = self.compound()
        if body is None:
            raise RefusedLineError("the body of a function")
        return Function(name, body)

    def coprocess(self) -> Coprocess:
        self.keyword("coproc")
        self.blanks()
        self.coprocesses += 1
        found = self.coprocess_body()
        self.coprocesses -= 1
        return found

    def coprocess_body(self) -> Coprocess:
        body = self.compound()
        if body is not None:
            return Coprocess(body)
        start = self.at
        name = _NAME.match(self.text, self.at)
        if name is not None and not self.reserved():
            self.at = name.end()
            self.blanks()
            body = self.compound()
            if body is not None:
                return Coprocess(body, name[0])
            if self.reserved():
                raise RefusedLineError("a reserved word out of place")
            self.at = start
        if self.reserved():
            raise RefusedLineError("a reserved word out of place")
        simple: Simple = self.simple()
        return Coprocess(simple)

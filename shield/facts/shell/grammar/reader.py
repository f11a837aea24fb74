"""A strict reader of bash's language: recursive descent, no look-ahead but a token, no guesses.

It reads what `bash -c` of bash 5.2 reads, without extended patterns outside `[[ ]]`. It shares no code with the other
parsers: they walk the tree of a grammar, this reads characters. What it does not know, or what versions of bash read
differently, it refuses: a line is understood only where two parsers say the same.

    Cursor → Words → Expansions → SimpleCommands → Conditions → Reserved → Compounds → Reader
"""

from shield.facts.shell.grammar.reader_compounds import Compounds
from shield.facts.shell.grammar.reader_cursor import Budget
from shield.facts.shell.grammar.script import (
    AndOr,
    Command,
    Coprocess,
    Function,
    Pipeline,
    RefusedLineError,
    Script,
    Simple,
)

__all__ = ["STEPS_A_BYTE", "read_line", "read_within"]

# The costliest repetitions found (commands of one letter) take 4 steps a byte.
STEPS_A_BYTE = 32


def read_line(text: str) -> Script:
    """Read a whole line.

    Raises:
        RefusedLineError: it is not well-formed, or outside what is known.
    """
    return read_within(text, Budget(STEPS_A_BYTE * (len(text) + 1)))


def read_within(text: str, budget: Budget) -> Script:
    """`read_line` with a budget of the caller's, who can see what was spent."""
    if "\r" in text or "\0" in text:
        raise RefusedLineError("carriage return or NUL")
    return Reader(text, budget).whole()


_ENDS = frozenset(("", ")", ";"))


class Reader(Compounds):
    """Lists and pipelines."""

    def script(self) -> Script:
        lists: list[AndOr] = []
        self.blanks(newlines=True)
        while not self.stops():
            lists.append(self.and_or())
            self.blanks(newlines=True)
        return Script(tuple(lists))

    def stops(self) -> bool:
        """No command begins here: the end, `)`, the end of a clause, or a reserved word that closes something."""
        char = self.peek()
        if char in _ENDS:
            return char != ";" or self.text.startswith((";;", ";&"), self.at)
        return self.closing() != ""

    def and_or(self) -> AndOr:
        pipelines = [self.pipeline()]
        operators: list[str] = []
        while True:
            self.blanks()
            two = self.text[self.at : self.at + 2]
            if two not in ("&&", "||"):
                break
            self.at += 2
            operators.append(two)
            self.blanks(newlines=True)
            pipelines.append(self.pipeline())
        background = two[:1] == "&"
        if background:
            self.at += 1
            self.not_continued("&>")
        elif two[:1] == ";" and two not in (";;", ";&"):
            self.at += 1
            self.not_continued(";&")
        elif two[:1] == "\n":
            self.newline()
        elif not self.stops() or (self.closing() and _ends_with_word(pipelines[-1].stages[-1])):
            raise RefusedLineError("an operator out of place")
        return AndOr(tuple(pipelines), tuple(operators), background)

    def pipeline(self) -> Pipeline:
        negated = timed = False
        while (word := self.reserved()) in ("!", "time"):
            self.at += len(word)
            self.blanks()
            if word == "!":
                negated = not negated
                continue
            if timed:
                raise RefusedLineError("`time` twice")
            timed = True
            if self.option("-p"):
                self.at += 2
                self.blanks()
            if self.option("--"):
                raise RefusedLineError("`--` after `time`")
        stages: list[Command] = [self.command()]
        while True:
            self.blanks()
            if self.peek() != "|" or self.text.startswith("||", self.at):
                break
            self.at += 2 if self.text.startswith("|&", self.at) else 1
            self.not_continued("|&")
            self.blanks(newlines=True)
            stages.append(self.command())
        return Pipeline(tuple(stages), negated, timed)


def _ends_with_word(command: Command) -> bool:
    """Behind it no reserved word is recognised."""
    if isinstance(command, Function):
        return _ends_with_word(command.body)
    if isinstance(command, Coprocess):
        return _ends_with_word(command.command)
    return isinstance(command, Simple) or bool(command.redirects)

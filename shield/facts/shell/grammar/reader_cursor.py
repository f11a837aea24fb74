"""Where the strict reader stands in a line: blanks, comments, line continuations, newlines, and the here-documents that
wait for one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from shield.facts.shell.grammar.script import MAX_DEPTH, Part, PartKind, RedirectNode, RefusedLineError, Script, Word
from shield.regex import regex

__all__ = ["META", "Budget", "Cursor"]

# What ends a word where it is not quoted.
META = frozenset(" \t\n|&;<>()")
_BLANK = regex(r"[ \t]*")
_SKIPPED = frozenset(" \t#\\\n")
_DELIMITER = regex(r"""([A-Za-z0-9_.+,:@%/=^!-]+)|\\([A-Za-z0-9_.+,:@%/=^!-]+)|'([^'\n]+)'|"([^"\\$`\n]+)\"""")


@dataclass(slots=True)
class Budget:
    """Steps left to a whole line, shared by the readers of its parts. A step is a run of characters or one token."""

    left: int
    spent: int = field(default=0)

    def spend(self, steps: int = 1) -> None:
        """Take so many steps.

        Raises:
            RefusedLineError: there are none left.
        """
        self.spent += steps
        if self.spent > self.left:
            raise RefusedLineError("too many steps")


class Document(NamedTuple):
    """A here-document whose body has not been reached."""

    key: int
    delimiter: str
    quoted: bool
    tabs: bool  # `<<-`: leading tabs are cut


class Cursor(ABC):
    """A text and a position in it. Every method raises RefusedLineError where the text is not well-formed."""

    def __init__(self, text: str, budget: Budget, depth: int = 0) -> None:
        self.text = text
        self.at = 0
        self.end = len(text)
        self.budget = budget
        self.depth = depth
        self.in_document = False
        self.pending: list[Document] = []
        self.enclosures = 0
        self.coprocesses = 0
        # Here-documents of a command around the substitution that is being read.
        self.waiting = 0
        self.announced = 0
        self.bodies: dict[int, Word] = {}

    @abstractmethod
    def document(self) -> Word:
        """The whole text as the body of a here-document whose delimiter is not quoted."""

    def nested(self, text: str) -> Self:
        """A reader for a text of its own within this one."""
        self.deeper()
        self.depth -= 1
        return type(self)(text, self.budget, self.depth + 1)

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise RefusedLineError("nested too deep")

    def peek(self) -> str:
        return self.text[self.at] if self.at < self.end else ""

    def take(self, text: str, reason: str) -> None:
        """Step over `text`, which has to stand here."""
        if not self.text.startswith(text, self.at):
            raise RefusedLineError(reason)
        self.at += len(text)

    def past_continuations(self, at: int) -> int:
        while self.text.startswith("\\\n", at):
            at += 2
        return at

    def not_continued(self, more: str) -> None:
        """After an operator: a line continuation must not hide that it goes on with a character of `more`."""
        after = self.past_continuations(self.at)
        if after > self.at and self.text[after : after + 1] in tuple(more):
            raise RefusedLineError("line continuation within an operator")

    def blanks(self, *, newlines: bool = False) -> None:
        """Skip blanks, continuations, comments where a word could begin, and newlines if they mean nothing here."""
        while self.at < self.end and self.text[self.at] in _SKIPPED:
            self.budget.spend()
            match = _BLANK.match(self.text, self.at)
            assert match is not None
            self.at = match.end()
            char = self.peek()
            if char == "#":
                end = self.text.find("\n", self.at)
                self.at = end if end >= 0 else self.end
            elif char == "\\" and self.text.startswith("\\\n", self.at):
                self.at += 2
            elif char == "\n" and newlines:
                self.newline()
            else:
                return

    def newline(self) -> None:
        """Step over a newline, and over the bodies of the here-documents that waited for it."""
        self.at += 1
        if self.waiting:
            # bash 5.1 looks for the body within the substitution, 5.2 after it.
            raise RefusedLineError("here-document around a substitution of several lines")
        waited, self.pending = self.pending, []
        for document in waited:
            self.bodies[document.key] = self.document_body(document)

    # --- here-documents ---------------------------------------------------------------------------------------------

    def announce(self, *, tabs: bool) -> Word:
        """Read a delimiter; what stands for the body until `filled`."""
        match = _DELIMITER.match(self.text, self.at)
        if match is None or (match.end() < self.end and self.text[match.end()] not in META):
            raise RefusedLineError("here-document delimiter")
        self.at = match.end()
        if self.peek() in ("<", ">", "("):
            raise RefusedLineError("here-document delimiter")
        self.announced += 1
        key = self.announced
        quoted = match[1] is None
        self.pending.append(Document(key, match[1] or match[2] or match[3] or match[4], quoted, tabs))
        return (Part(PartKind.UNKNOWN, str(key), True),)

    def document_body(self, document: Document) -> Word:
        """The lines up to the delimiter's, which is stepped over, too."""
        lines: list[str] = []
        continued = False
        while True:
            if self.at >= self.end:
                raise RefusedLineError("here-document not closed")
            line = self.physical()
            while not document.quoted and self.at < self.end and _odd_backslashes(line):
                line = line[:-1] + self.physical()
                continued = True
            if document.tabs:
                line = line.lstrip("\t")
            if line == document.delimiter:
                break
            lines.append(line + "\n")
        text = "".join(lines)
        if document.quoted:
            return (Part(PartKind.LITERAL, text, True),)
        if continued and ("$(" in text or "${" in text or "`" in text):
            raise RefusedLineError("line continuation in a here-document with expansions")
        return self.nested(text).document()

    def physical(self) -> str:
        self.budget.spend()
        end = self.text.find("\n", self.at)
        end = end if end >= 0 else self.end
        line = self.text[self.at : end]
        self.at = min(end + 1, self.end)
        return line

    def filled(self, script: Script) -> Script:
        """`script` with the bodies of its here-documents in their places."""
        return self._filled(script) if self.bodies else script

    def _filled(self, node: Any) -> Any:
        if isinstance(node, RedirectNode) and node.op in ("<<", "<<-"):
            return node._replace(target=self.bodies[int(node.target[0].text)])
        if isinstance(node, Part) and node.script is None and node.parameter is None and node.word is None:
            return node
        if isinstance(node, tuple):
            inner = [self._filled(child) for child in node]
            return type(node)(*inner) if hasattr(node, "_fields") else tuple(inner)
        return node


def _odd_backslashes(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1

"""Words: plain text, quoting, and the expansions that hold scripts (bash(1) QUOTING, EXPANSION)."""

import re
from abc import abstractmethod

from shield.facts.shell.grammar.ansi_c import ansi_c
from shield.facts.shell.grammar.reader_cursor import META, Cursor
from shield.facts.shell.grammar.script import LITERAL, Part, PartKind, RefusedLineError, Script, Word, joined
from shield.regex import regex

__all__ = ["Words"]

_RUN = regex(r"[A-Za-z0-9_./:=@%+,\-{}\[\]*?!^~#]+")
_QUOTED_RUN = regex(r'[^"\\$`]+')
_DOCUMENT_RUN = regex(r"[^\\$`]+")
_NAME = regex(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL = frozenset("?#$!@*-0123456789")
_BACKTICKS = regex(r"[^`\\]*(?:\\.[^`\\]*)*", re.DOTALL)
_BACKTICK_ESCAPE = regex(r"\\([$`\\])")
_TIME = regex(r"time(?=[ \t\n|&;<>()\\]|\Z)")
_ANSI = regex(r"[^'\\]*(?:\\.[^'\\]*)*", re.DOTALL)


class Words(Cursor):
    @abstractmethod
    def script(self) -> Script:
        """Lists, up to the end, a `)`, the end of a case clause, or a reserved word that ends a compound command."""

    @abstractmethod
    def parameter(self, parts: list[Part], *, quoted: bool) -> None:
        """`${…}`."""

    @abstractmethod
    def arithmetic(self, parts: list[Part], *, quoted: bool) -> None:
        """`$((…))`."""

    def whole(self) -> Script:
        """All of the text as a script."""
        script = self.script()
        if self.at != self.end:
            raise RefusedLineError("an operator or reserved word out of place")
        if self.pending:
            raise RefusedLineError("here-document not closed")
        return self.filled(script)

    def word(self) -> Word:
        """The word that begins here; empty if none does."""
        parts: list[Part] = []
        while self.at < self.end:
            if not self.piece(parts):
                break
        return joined(parts)

    def piece(self, parts: list[Part]) -> bool:
        """Add the next piece of a word; False where the word ends."""
        self.budget.spend()
        run = _RUN.match(self.text, self.at)
        if run is not None:
            parts.append(Part(LITERAL, run[0], False))
            self.at = run.end()
            return True
        char = self.text[self.at]
        if char in META:
            if char in "<>" and self.text.startswith("(", self.at + 1):
                self.process(parts)
                return True
            return False
        if char == "'":
            parts.append(Part(LITERAL, self.single(), True))
        elif char == '"':
            self.double(parts)
        elif char == "\\":
            return self.backslash(parts)
        elif char == "$":
            self.dollar(parts, quoted=False)
        elif char == "`":
            self.backticks(parts, quoted=False)
        elif char.isspace() or not char.isprintable():
            raise RefusedLineError("control character, or a blank that is none to bash")
        else:
            parts.append(Part(LITERAL, char, False))
            self.at += 1
        return True

    def backslash(self, parts: list[Part]) -> bool:
        follows = self.text[self.at + 1 : self.at + 2]
        if not follows:
            raise RefusedLineError("trailing backslash")
        if follows == "\n":
            after = self.past_continuations(self.at)
            next_char = self.text[after : after + 1]
            if next_char not in META - frozenset("<>(") and next_char:
                raise RefusedLineError("line continuation within a word")
            self.at = after
            return False
        parts.append(Part(LITERAL, follows, True))
        self.at += 2
        return True

    def process(self, parts: list[Part]) -> None:
        if parts and all(part.kind is LITERAL and part.text.isdigit() for part in parts):
            raise RefusedLineError("digits before a process substitution")
        start = self.at
        self.at += 2
        script = self.enclosed()
        parts.append(Part(PartKind.PROCESS, self.text[start : self.at], False, script))

    def enclosed(self) -> Script:
        """The script of a substitution, up to and with its `)`."""
        self.deeper()
        outer, self.pending = self.pending, []
        self.waiting += len(outer)
        inside, self.in_document = self.in_document, False
        self.enclosures += 1
        self.blanks(newlines=True)
        if _TIME.match(self.text, self.at):
            # bash 5.2 takes it for the program here, 5.1 for the reserved word.
            raise RefusedLineError("`time` at the start of a substitution")
        script = self.script()
        self.enclosures -= 1
        self.take(")", "substitution not closed")
        if self.pending:
            raise RefusedLineError("here-document not closed")
        self.pending = outer
        self.waiting -= len(outer)
        self.in_document = inside
        self.depth -= 1
        return script

    def single(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise RefusedLineError("quote not closed")
        text = self.text[self.at + 1 : end]
        self.at = end + 1
        return text

    def double(self, parts: list[Part]) -> None:
        """From one `"` to the next. An empty part is for nothing between them alone: `"$@"` may be no word."""
        self.at += 1
        before = len(parts)
        while self.peek() != '"':
            self.quoted_piece(parts, _QUOTED_RUN, '$`"\\')
        if len(parts) == before:
            parts.append(Part(LITERAL, "", True))
        self.at += 1

    def document(self) -> Word:
        self.in_document = True
        parts = [Part(LITERAL, "", True)]
        while self.at < self.end:
            self.quoted_piece(parts, _DOCUMENT_RUN, "$`\\")
        return self.filled_word(joined(parts))

    def filled_word(self, word: Word) -> Word:
        filled: Word = self._filled(word) if self.bodies else word
        return filled

    def quoted_piece(self, parts: list[Part], run: re.Pattern[str], escapes: str) -> None:
        self.budget.spend()
        match = run.match(self.text, self.at)
        if match is not None:
            parts.append(Part(LITERAL, match[0], True))
            self.at = match.end()
            return
        char = self.peek()
        if char == "\\":
            escaped = self.text[self.at + 1 : self.at + 2]
            if not escaped and not self.in_document:
                raise RefusedLineError("quote not closed")
            if escaped != "\n":
                parts.append(Part(LITERAL, escaped if escaped and escaped in escapes else "\\" + escaped, True))
            self.at += 1 + len(escaped)
        elif char == "$":
            self.dollar(parts, quoted=True)
        elif char == "`":
            self.backticks(parts, quoted=True)
        else:
            raise RefusedLineError("quote not closed")

    def dollar(self, parts: list[Part], *, quoted: bool) -> None:
        start = self.at
        follows = self.text[start + 1 : start + 2]
        if follows == "'" and not quoted:
            self.at += 1
            parts.append(Part(LITERAL, self.ansi(), True))
        elif follows == "(":
            if self.text.startswith("((", start + 1):
                self.arithmetic(parts, quoted=quoted)
                return
            self.at = start + 2
            script = self.enclosed()
            parts.append(Part(PartKind.SUBSTITUTION, self.text[start : self.at], quoted, script))
        elif follows == "{":
            self.parameter(parts, quoted=quoted)
        elif follows in _SPECIAL and follows:
            parts.append(Part(PartKind.VARIABLE, follows, quoted))
            self.at = start + 2
        elif (name := _NAME.match(self.text, start + 1)) is not None:
            parts.append(Part(PartKind.VARIABLE, name[0], quoted))
            self.at = name.end()
            after = self.past_continuations(self.at)
            if after > self.at and _NAME.match("_" + self.text[after : after + 1])[0] != "_":  # type: ignore[index]  # `_` matches
                raise RefusedLineError("line continuation within a name")
        elif follows == "[":
            raise RefusedLineError("`$[`, the old arithmetic expansion")
        elif follows == '"' and not quoted:
            raise RefusedLineError('`$"`: a message catalogue says what it is')
        elif follows in ("`", "\\") and follows:
            raise RefusedLineError("a `$` before a quote")
        else:
            parts.append(Part(LITERAL, "$", quoted))
            self.at = start + 1

    def ansi(self) -> str:
        """From the `'` of `$'…'` to past its end."""
        match = _ANSI.match(self.text, self.at + 1)
        value = ansi_c(match[0]) if match is not None and self.text.startswith("'", match.end()) else None
        if match is None or value is None:
            raise RefusedLineError("ANSI-C quoting")
        self.at = match.end() + 1
        return value

    def backticks(self, parts: list[Part], *, quoted: bool) -> None:
        start = self.at
        match = _BACKTICKS.match(self.text, start + 1)
        if match is None or not self.text.startswith("`", match.end()):
            raise RefusedLineError("backtick not closed")
        body = match[0]
        if (quoted and '\\"' in body) or ("\\\n" in body and ("'" in body or "#" in body)):
            raise RefusedLineError("escape within backticks")
        self.at = match.end() + 1
        script = self.nested(_BACKTICK_ESCAPE.sub(r"\1", body)).whole()
        parts.append(Part(PartKind.SUBSTITUTION, self.text[start : self.at], quoted, script))

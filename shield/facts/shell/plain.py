"""A strict recursive-descent reader of the plain part of the shell's language, written from bash(1) and POSIX XCU 2.3.

It shares no code with the tree of the other parser: it reads characters, that one reads a grammar's tree. What it
does not know it refuses; it never guesses. A line is understood only where both say the same.

Known: words of plain, escaped and quoted text, `$name` and `${name}`, `$'…'`, `$(…)`; `| |& && || ; &` and newline;
the redirections `> >> >| < <> &> &>> >& <& <<<`; assignments before a command; comments.
"""

import re

from shield.facts.shell.script import (
    LITERAL,
    MAX_DEPTH,
    AndOr,
    Assignment,
    Part,
    PartKind,
    Pipeline,
    RedirectNode,
    Script,
    Simple,
    Word,
    ansi_c,
    joined,
)

__all__ = ["RefusedLineError", "read_plain"]

_RUN = re.compile(r"[A-Za-z0-9_./:=@%+,\-{}\[\]*?!^~]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL = frozenset("?#$!@*-0123456789")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")
_SUBSCRIPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[")
_BLANK = re.compile(r"[ \t]*")
_COMMENT = re.compile(r"[^\n]*")
_REDIRECT = re.compile(r"<<<|&>>|&>|>>|>\||>&|<&|<>|>|<")
_NAMED_FD = re.compile(r"\{[A-Za-z_][A-Za-z0-9_]*\}\Z")
_QUOTED_RUN = re.compile(r'[^"\\$`]+')
# Characters that end a word; every other control or space character is refused wherever it is not quoted.
_META = frozenset(" \t\n|&;<>()")
_RESERVED_TEXT = """
! [[ ]] { } if then else elif fi for while until do done case esac select function in coproc time
"""
_RESERVED = frozenset(_RESERVED_TEXT.split())


class RefusedLineError(Exception):
    """The line is outside the plain language."""


def read_plain(text: str) -> Script:
    """Read a whole line.

    Raises:
        RefusedLineError: outside the plain language, or not well-formed.
    """
    if "\\\n" in text or "\r" in text or "\0" in text:
        raise RefusedLineError("line continuation or control character")
    reader = _Reader(text)
    script = reader.script(0, closing=False)
    if reader.at != len(text):
        raise RefusedLineError("trailing text")
    return script


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.end = len(text)

    def peek(self) -> str:
        return self.text[self.at] if self.at < self.end else ""

    def blanks(self, *, newlines: bool = False) -> None:
        """Skip blanks, comments where a word could begin, and newlines if they mean nothing here."""
        while True:
            char = self.peek()
            if char == " " or char == "\t":
                match = _BLANK.match(self.text, self.at)
                assert match is not None
                self.at = match.end()
                char = self.peek()
            if char == "#":
                comment = _COMMENT.match(self.text, self.at)
                assert comment is not None
                self.at = comment.end()
            elif char == "\n" and newlines:
                self.at += 1
            else:
                return

    def script(self, depth: int, *, closing: bool) -> Script:
        """Lists up to the end, or up to and with the `)` of a substitution."""
        if depth > MAX_DEPTH:
            raise RefusedLineError("nested too deep")
        lists: list[AndOr] = []
        self.blanks(newlines=True)
        while self.at < self.end and self.peek() != ")":
            lists.append(self.and_or(depth))
            self.blanks(newlines=True)
        if closing:
            if self.peek() != ")":
                raise RefusedLineError("substitution not closed")
            self.at += 1
        return Script(tuple(lists))

    def and_or(self, depth: int) -> AndOr:
        pipelines = [self.pipeline(depth)]
        operators: list[str] = []
        while True:
            two = self.text[self.at : self.at + 2]
            if two in ("&&", "||"):
                self.at += 2
                operators.append(two)
                self.blanks(newlines=True)
                pipelines.append(self.pipeline(depth))
                continue
            char = self.peek()
            background = char == "&"
            if background or char == ";":
                if two in (";;", ";&"):
                    raise RefusedLineError("case terminator")
                self.at += 1
            elif char == "\n":
                self.at += 1
            elif char not in ("", ")"):
                raise RefusedLineError("unexpected character")
            return AndOr(tuple(pipelines), tuple(operators), background)

    def pipeline(self, depth: int) -> Pipeline:
        stages = [self.simple(depth)]
        while self.peek() == "|" and self.text[self.at : self.at + 2] != "||":
            both = self.text[self.at : self.at + 2] == "|&"
            self.at += 2 if both else 1
            self.blanks(newlines=True)
            stages.append(self.simple(depth))
        return Pipeline(tuple(stages))

    def simple(self, depth: int) -> Simple:
        assignments: list[Assignment] = []
        words: list[Word] = []
        redirects: list[RedirectNode] = []
        while True:
            self.blanks()
            char = self.peek()
            if char == "" or char in "\n;|)" or (char == "&" and self.text[self.at + 1 : self.at + 2] != ">"):
                break
            if char == "(":
                raise RefusedLineError("parenthesis")
            if char in "<>&":
                redirects.append(self.redirect(None, depth))
                continue
            start = self.at
            word = self.word(depth)
            source = self.text[start : self.at]
            follows = self.peek()
            if follows and follows in "<>":
                if source.isascii() and source.isdigit():
                    redirects.append(self.redirect(int(source), depth))
                    continue
                if _NAMED_FD.match(source):
                    raise RefusedLineError("named descriptor")
            if not words:
                assignment = _as_assignment(source, word)
                if assignment is not None:
                    assignments.append(assignment)
                    continue
                if source in _RESERVED and not (source == "time" and self._plain_follows()):
                    raise RefusedLineError("reserved word")
            words.append(word)
        if not (assignments or words or redirects):
            raise RefusedLineError("empty command")
        return Simple(tuple(assignments), tuple(words), tuple(redirects))

    def _plain_follows(self) -> bool:
        """After `time`: an ordinary command follows, neither a reserved word nor an option."""
        self.blanks()
        match = re.compile(r"[A-Za-z0-9_./\-]+").match(self.text, self.at)
        return match is not None and match[0] not in _RESERVED and not match[0].startswith("-")

    def redirect(self, fd: int | None, depth: int) -> RedirectNode:
        match = _REDIRECT.match(self.text, self.at)
        if match is None or self.text.startswith("<<", match.start()) != (match[0] == "<<<"):
            raise RefusedLineError("here-document")
        op = match[0]
        self.at = match.end()
        if op in ("<", ">") and self.peek() == "(":
            raise RefusedLineError("process substitution")
        if op in (">&", "<&") and self.peek() == "-":
            self.at += 1
            if self.peek() and self.peek() not in _META:
                raise RefusedLineError("descriptor")
            return RedirectNode(op + "-", fd, ())
        blank = _BLANK.match(self.text, self.at)
        assert blank is not None
        self.at = blank.end()
        if self.peek() == "" or self.peek() in _META:
            raise RefusedLineError("redirection without target")
        word = self.word(depth)
        if self.peek() in ("<", ">") and self.text[self.at - 1].isdigit() and not word[-1].quoted:
            # `>a 2>b` is plain; `>2>b` is read one way by some and another way by others.
            raise RefusedLineError("joined redirections")
        return RedirectNode(op, fd, word)

    def word(self, depth: int) -> Word:
        parts: list[Part] = []
        while self.at < self.end:
            char = self.text[self.at]
            run = _RUN.match(self.text, self.at)
            if run is not None:
                parts.append(Part(LITERAL, run[0], False))
                self.at = run.end()
            elif char in _META:
                break
            elif char == "'":
                parts.append(Part(LITERAL, self._until_quote(self.at + 1), True))
            elif char == '"':
                self.at += 1
                self._double(parts, depth)
            elif char == "\\":
                if self.at + 1 >= self.end:
                    raise RefusedLineError("trailing backslash")
                parts.append(Part(LITERAL, self.text[self.at + 1], True))
                self.at += 2
            elif char == "$":
                self._dollar(parts, depth, quoted=False)
            elif char == "`" or char.isspace() or not char.isprintable():
                raise RefusedLineError("backtick or control character")
            else:
                parts.append(Part(LITERAL, char, False))
                self.at += 1
        return joined(parts)

    def _until_quote(self, start: int) -> str:
        end = self.text.find("'", start)
        if end < 0:
            raise RefusedLineError("quote not closed")
        self.at = end + 1
        return self.text[start:end]

    def _double(self, parts: list[Part], depth: int) -> None:
        parts.append(Part(LITERAL, "", True))
        while True:
            run = _QUOTED_RUN.match(self.text, self.at)
            if run is not None:
                parts.append(Part(LITERAL, run[0], True))
                self.at = run.end()
            char = self.peek()
            if char == '"':
                self.at += 1
                return
            if char == "\\":
                escaped = self.text[self.at + 1 : self.at + 2]
                if not escaped:
                    raise RefusedLineError("quote not closed")
                parts.append(Part(LITERAL, escaped if escaped in '$`"\\' else "\\" + escaped, True))
                self.at += 2
            elif char == "$":
                self._dollar(parts, depth, quoted=True)
            else:  # a backtick, or the end of the text
                raise RefusedLineError("quote not closed, or a backtick")

    def _dollar(self, parts: list[Part], depth: int, *, quoted: bool) -> None:
        start = self.at
        follows = self.text[start + 1 : start + 2]
        if follows == "'" and not quoted:
            end = start + 2
            while end < self.end and self.text[end] != "'":
                end += 2 if self.text[end] == "\\" else 1
            value = ansi_c(self.text[start + 2 : end]) if end < self.end else None
            if value is None:
                raise RefusedLineError("ANSI-C quoting")
            parts.append(Part(LITERAL, value, True))
            self.at = end + 1
            return
        if follows == "(":
            if self.text.startswith("$((", start):
                raise RefusedLineError("arithmetic")
            self.at = start + 2
            script = self.script(depth + 1, closing=True)
            parts.append(Part(PartKind.SUBSTITUTION, self.text[start : self.at], quoted, script))
            return
        braced = follows == "{"
        name = _NAME.match(self.text, start + 2 if braced else start + 1)
        if name is not None:
            self.at = name.end()
            if braced:
                if self.peek() != "}":
                    raise RefusedLineError("parameter expansion")
                self.at += 1
            parts.append(Part(PartKind.VARIABLE, name[0], quoted))
        elif follows and follows in _SPECIAL:
            parts.append(Part(PartKind.VARIABLE, follows, quoted))
            self.at = start + 2
        elif braced or follows == "[" or (follows == '"' and not quoted) or follows in ("`", "\\"):
            raise RefusedLineError("expansion")
        else:
            parts.append(Part(LITERAL, "$", quoted))
            self.at = start + 1


def _as_assignment(source: str, word: Word) -> Assignment | None:
    match = _ASSIGNMENT.match(source)
    if match is None:
        if _SUBSCRIPT.match(source) and "=" in source:
            raise RefusedLineError("subscript")
        return None
    head = word[0]
    # INVARIANT: the name and `=` are unquoted, so they stand whole at the start of the first part.
    rest = (Part(LITERAL, head.text[match.end() :], False), *word[1:])
    value = rest[1:] if not rest[0].text else rest
    return Assignment(match[1], value, append=bool(match[2]))

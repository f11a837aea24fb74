"""What code in Perl, Ruby, JavaScript, PHP, Lua, R and AppleScript would touch, as far as its words show.

A lexical model: the constant strings of the text, and for each the name of what it is handed to. Strings joined by an
operator count as one. It sees what is written out and nothing else.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from shield.facts.programs.deeds import Deeds
from shield.facts.programs.swept import swept_lines
from shield.regex import regex
from shield.types import Access

__all__ = ["LANGUAGES", "MAX_TEXT", "literal_deeds"]

MAX_TEXT = 65_536
_MAX_STRINGS = 2_000
_MAX_UNCLOSED = 100  # brackets of Lua's that nothing closes: for each the rest of the text is looked through
_R, _W, _D, _L = Access.READ, Access.WRITE, Access.DELETE, Access.LIST

LANGUAGES = frozenset(("perl", "ruby", "node", "php", "lua", "r", "osascript"))

_COMMENTS = {
    "perl": r"#[^\n]*",
    "ruby": r"#(?!\{)[^\n]*",
    "node": r"//[^\n]*|/\*.*?\*/",
    "php": r"//[^\n]*|#[^\n]*|/\*.*?\*/",
    "lua": r"--[^\n]*",
    "r": r"#[^\n]*",
    "osascript": r"--[^\n]*",
}
_STRINGS = {'"': r"\"(?:[^\"\\]|\\.)*\"", "'": r"'(?:[^'\\]|\\.)*'"}
_OPENERS = frozenset(('"', "'", "`", "/*"))
_BLOCK = r"|/\*.*?\*/"
# `q(…)`, `%w[…]`, `[[…]]`: strings in brackets of the language's own.
_BRACKETED = {
    "perl": r"\b(?:qx|qq|qw|q)\s*(?:\([^()]*\)|\{[^{}]*\}|\[[^\[\]]*\]|<[^<>]*>|/[^/]*/|\|[^|]*\||![^!]*!)",
    "ruby": r"%[xqQwWi]?(?:\([^()]*\)|\{[^{}]*\}|\[[^\[\]]*\]|<[^<>]*>|\|[^|]*\||![^!]*!)",
    "lua": r"\[(?P<eq>=*)\[.*?\](?P=eq)\]",
    "r": r"r\"\([^()]*\)\"",
}
_NAMES = r"[@$%&]?[A-Za-z_][\w]*(?:(?:::|->|\?\.|[.:])[A-Za-z_]\w*)*[?!]?"

_RUNS_TEXT = """
system exec popen shell_exec passthru proc_open pcntl_exec execSync execFile execFileSync spawn spawnSync fork qx
system2 shell capture capture2 capture2e capture3 popen3 popen2 pipeline open3 sh Command `
"""
_RUNS = frozenset(_RUNS_TEXT.split())
_LINES = frozenset(("do shell script", "os.execute", "io.popen"))
_READS_TEXT = """
open fopen readFile readFileSync read readlines readLines file_get_contents file readfile require require_relative load
include include_once require_once source createReadStream dofile loadfile do foreach slurp binread sysopen fread scan
read.csv read.table readRDS readtext IO.read lines opendir readdir readdirSync
"""
_READS = frozenset(_READS_TEXT.split())
_WRITES_TEXT = """
writeFile writeFileSync appendFile appendFileSync file_put_contents createWriteStream mkdir mkdirSync mkdir_p makedirs
mkpath binwrite touch chmod chmodSync chown symlink symlinkSync writeLines write.csv saveRDS fputs move_uploaded_file
outputFile outputFileSync writeJson copyFile copyFileSync cp cpSync copy link rename renameSync mv
"""
_WRITES = frozenset(_WRITES_TEXT.split())
_DELETES_TEXT = """
unlink unlinkSync rm rmSync rmdir rmdirSync remove rm_rf rm_r rm_f delete rmtree remove_tree remove_entry_secure
remove_dir removeSync emptyDir emptyDirSync del rimraf file.remove Deno.remove os.remove
"""
_DELETES = frozenset(_DELETES_TEXT.split())
_HOSTS_TEXT = """
connect createConnection fsockopen stream_socket_client TCPSocket.new TCPSocket.open Net::HTTP.get Net::HTTP.start
INET->new Socket::INET->new
"""
_HOSTS = frozenset(_HOSTS_TEXT.split())
_URL = regex(r"(?i)(?:https?|ftp|wss?)://[^\s\"'<>{}`]+")
_PATH = regex(r"(?:/|~/|~\Z|\.{1,2}/)[^\n\0]*\Z")
_HOME = regex(
    r"\$ENV\{['\"]?HOME['\"]?\}|ENV\[['\"]HOME['\"]\]|process\.env\.HOME|process\.env\[['\"]HOME['\"]\]|os\.homedir\(\)"
    r"|homedir\(\)|getenv\(['\"]HOME['\"]\)|\$_SERVER\[['\"]HOME['\"]\]|\$_ENV\[['\"]HOME['\"]\]|Dir\.home"
    r"|os\.getenv\(['\"]HOME['\"]\)|Sys\.getenv\(['\"]HOME['\"]\)|\$HOME\b|\$\{HOME\}"
)
_JOIN = frozenset((".", "+", "..", "<<"))
_ESCAPE = regex(r"\\(?:x\{?([0-9A-Fa-f]{1,6})\}?|u\{?([0-9A-Fa-f]{1,6})\}?|([0-7]{1,3})|(.))", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b"}


@dataclass(slots=True)
class _Call:
    """A name and the strings that it is handed, until its parenthesis or statement ends."""

    name: str
    depth: int
    strings: list[str] = field(default_factory=list)
    unknown: bool = False


def literal_deeds(text: str, language: str, *, home: str) -> Deeds | None:
    """What the text shows; None where it is too large or of no language that is known."""
    if language not in LANGUAGES or len(text) > MAX_TEXT or "\0" in text:
        return None
    reader = _Reader(language, home)
    reader.read(text)
    for line in swept_lines(text, language):
        reader.deeds.line(line)
    return reader.deeds


def _tokens(text: str, language: str) -> Iterator[tuple[str, str]]:
    unclosed: frozenset[str] = frozenset()
    brackets = at = 0
    pattern = _pattern(language, unclosed)
    while (match := pattern.match(text, at)) is not None:
        kind, at = match.lastgroup or "", match.end()
        if kind == "eq":
            kind = "bracketed"
        if kind not in ("comment", "space"):
            yield kind, match[0]
        if kind != "mark":
            continue
        # INVARIANT: what nothing closes here, nothing closes further on: it is not looked for again, so that the work
        # is bounded by the length of the text
        opener = "/*" if text.startswith("/*", match.start()) else match[0]
        brackets += opener == "[" and text.startswith(("[", "="), at)
        if opener in _OPENERS or (opener == "[" and brackets > _MAX_UNCLOSED):
            unclosed |= {opener}
            pattern = _pattern(language, unclosed)


@cache
def _pattern(language: str, unclosed: frozenset[str]) -> re.Pattern[str]:
    """The tokens of a language; what begins with one of `unclosed` is no string or comment."""
    comments = _COMMENTS[language]
    parts = [f"(?P<comment>{comments.removesuffix(_BLOCK) if '/*' in unclosed else comments})"]
    if language in _BRACKETED and "[" not in unclosed:
        parts.append(f"(?P<bracketed>{_BRACKETED[language]})")
    parts.append(f"(?P<home>{_HOME.pattern})")
    strings = [string for quote, string in _STRINGS.items() if quote not in unclosed]
    if strings:
        parts.append(f"(?P<string>{'|'.join(strings)})")
    if "`" not in unclosed:
        parts.append(r"(?P<tick>`(?:[^`\\]|\\.)*`)")
    parts += [
        r"(?P<said>do\s+shell\s+script)",
        f"(?P<name>{_NAMES})",
        r"(?P<space>[ \t\r]+)",
        r"(?P<mark>\.\.|<<|.)",
    ]
    return re.compile("|".join(parts), re.DOTALL)


class _Reader:
    def __init__(self, language: str, home: str) -> None:
        self.deeds = Deeds()
        self._language = language
        self._home = home
        self._calls: list[_Call] = []
        self._depth = 0
        self._names: dict[str, str] = {}
        self._held: str | None = None  # a string that the next one may be joined to
        self._joining = False
        self._waiting = ""  # the name that comes right before a parenthesis or a string
        self._assigned = ("", 0)  # the name that a value is given to, and how deep in parentheses

    def read(self, text: str) -> None:
        seen = 0
        for kind, token in _tokens(text, self._language):
            value = self._value(kind, token)
            if value is None:
                self._between(kind, token)
                continue
            seen += 1
            if seen > _MAX_STRINGS:
                break
            if kind == "tick" and self._language != "node":
                self.deeds.line(value)
            if self._waiting:
                self._calls.append(_Call(name=self._waiting, depth=self._depth))
                self._waiting = ""
            self._held = self._held + value if self._joining and self._held is not None else value
            self._joining = False
        self._let_go(";")
        self._close(0)

    def _between(self, kind: str, mark: str) -> None:
        """Whatever is no string: names that strings are handed to, parentheses, ends."""
        if kind == "mark" and mark in _JOIN and self._held is not None:
            self._joining = True
            return
        self._let_go(mark)
        if kind in ("name", "said"):
            self._waiting = " ".join(mark.split())
        elif mark == "(":
            self._depth += 1
            self._calls.append(_Call(name=self._waiting, depth=self._depth))
            self._waiting = ""
        elif mark in ")}]":
            self._close(self._depth)
            self._depth = max(self._depth - (mark == ")"), 0)
        elif mark in ";\n":
            self._close(self._depth if mark == ";" else self._depth + 1)
            self._waiting, self._assigned = "", ("", 0)
        elif mark == "=":
            self._assigned, self._waiting = (self._waiting.lstrip("$@%"), self._depth), ""
        elif mark not in "{[$@&\\":
            self._waiting = ""

    def _let_go(self, mark: str) -> None:
        """A string is at its end: nothing more is joined to it."""
        if self._held is not None:
            self._string(self._held)
            name, depth = self._assigned
            if name and depth == self._depth and mark in ";\n,":
                self._names[name] = self._held
        self._held, self._joining = None, False

    def _value(self, kind: str, token: str) -> str | None:
        if kind == "home":
            return self._home
        if kind == "string" or kind == "tick":
            body = token[1:-1]
            if token[0] == "'" and self._language in ("perl", "ruby", "php"):
                return body.replace("\\'", "'")
            body = _HOME.sub(self._home, body)
            for mark in "#$":
                body = body.replace(f"{mark}{{{self._home}}}", self._home)
            return _unescaped(body)
        if kind == "bracketed":
            opened = re.search(r"[(\[{<|!/]", token)
            body = token[opened.end() : -1].strip("[]=") if opened is not None else token
            if re.match(r"qx|%x", token):
                self.deeds.line(body)
            return _HOME.sub(self._home, body)
        if kind == "name" and token.lstrip("$@%") in self._names:
            return self._names[token.lstrip("$@%")]
        return None

    def _string(self, text: str) -> None:
        call = self._calls[-1] if self._calls else None
        if call is not None:
            call.strings.append(text)
        if len(text) < 4_096 and _PATH.match(text) and " " not in text.strip():
            self.deeds.mention(text)
        match = _URL.match(text)
        if match is not None:
            self.deeds.host(match[0])

    def _close(self, depth: int) -> None:
        while self._calls and self._calls[-1].depth >= depth:
            self._settle(self._calls.pop())

    def _settle(self, call: _Call) -> None:
        if not call.strings:
            return
        name = call.name
        last = re.split(r"::|->|\?\.|[.:]", name)[-1].rstrip("?!")
        first = call.strings[0]
        if name in _LINES or last in _RUNS or name in _RUNS:
            self._run(last, call.strings)
        elif last in _DELETES or name in _DELETES:
            for text in call.strings:
                self.deeds.path(text, _D, recursive=last not in ("unlink", "unlinkSync", "rmdir", "rmdirSync"))
        elif last in _WRITES or name in _WRITES:
            for text in call.strings[: 2 if last.startswith(("cp", "copy", "mv", "rename", "symlink", "link")) else 1]:
                self.deeds.path(text, _W)
        elif name in _HOSTS or last in _HOSTS:
            self.deeds.host(first)
        elif last in _READS or name in _READS:
            self._open(call.strings)

    def _run(self, name: str, strings: list[str]) -> None:
        """One string is a line for a shell, several are the words of a command."""
        whole = name in ("popen", "io.popen") or (name in ("proc_open", "execSync", "exec") and " " in strings[0])
        self.deeds.line(strings[0] if whole or len(strings) == 1 else shlex.join(strings))

    def _open(self, strings: list[str]) -> None:
        """`open` takes a mode before, after or in the name: `open(F, ">x")`, `fopen("x", "w")`, `open("|id")`."""
        for text in strings[:3]:
            mode = re.match(r"\s*(\+?[<>|&]{1,3}|-\|)\s*", text)
            bare = text[mode.end() :] if mode is not None else text
            if (mode is not None and "|" in mode[0]) or text.rstrip().endswith("|"):
                self.deeds.line(bare.rstrip("| ") or (strings[1] if len(strings) > 1 else ""))
            elif bare and re.fullmatch(r"[rwax]b?\+?t?|:\w+(?:\([\w-]+\))?|utf-?8|b", bare) is None:
                writes = any(re.match(r"\s*\+?>|[wax]", other) for other in (text, *strings[1:3]) if other is not bare)
                self.deeds.path(bare, *((_R, _W) if writes else (_R,)))


def _unescaped(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        code = match[1] or match[2]
        if code is not None:
            number = int(code, 16)
            return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else ""
        if match[3] is not None:
            return chr(int(match[3], 8) & 0xFF)
        return _PLAIN.get(match[4], match[4])

    return _ESCAPE.sub(one, text)

"""What expressions of a justfile stand for, as far as that is known, and what they run (Just Programmer's Manual,
"Expressions and Substitutions", "Functions")."""

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from shield.facts.programs.task_files import UNKNOWN
from shield.regex import regex

__all__ = ["Scope", "filled", "several", "valued"]

_MAX_DEEP = 24
_MAX_TEXT = 32_768
_TOKEN = regex(
    r"""\s+|(?P<raw>'''.*?'''|'[^']*')|(?P<text>\"\"\".*?\"\"\"|"(?:[^"\\]|\\.)*")|(?P<run>```.*?```|`[^`]*`)"""
    r"""|(?P<name>[A-Za-z_][\w-]*)|(?P<mark>==|!=|=~|!~|&&|\|\||[+/(){},])|(?P<other>.)""",
    re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_INTERPOLATED = regex(r"\{\{\{\{|\{\{(.*?)\}\}", re.DOTALL)


@dataclass(slots=True)
class Scope:
    """`given`: values; `named`: expressions; `places`: what functions without arguments tell; `env`: the environment.
    `dotenv`: a file says more of that. `ran`: commands that were run for their output."""

    given: Mapping[str, str]
    named: Mapping[str, str]
    places: Mapping[str, str]
    env: Mapping[str, str]
    dotenv: bool = False
    ran: list[str] = field(default_factory=list)

    def value(self, name: str, deep: int = 0) -> str:
        if name in self.given:
            return self.given[name]
        text = self.named.get(name)
        return UNKNOWN if text is None or deep > _MAX_DEEP else valued(text, self, deep + 1)


def filled(text: str, scope: Scope) -> str:
    """The text with what stands for each `{{expression}}` in its place."""
    return _INTERPOLATED.sub(lambda match: "{{" if match[1] is None else valued(match[1], scope), text)[:_MAX_TEXT]


def valued(text: str, scope: Scope, deep: int = 0) -> str:
    """The value of an expression; in part `$unknown` where it is not known."""
    found = _TOKEN.finditer(text[:_MAX_TEXT])
    tokens = [(match.lastgroup, match[0]) for match in found if match.lastgroup is not None]
    reader = _Reader(tokens, scope, deep)
    value = reader.whole()
    if reader.left:
        # not understood: what it may run is seen all the same
        scope.ran += [_unquoted(each) for kind, each in tokens if kind == "run" and _unquoted(each) not in scope.ran]
        return UNKNOWN
    return value[:_MAX_TEXT]


def several(text: str, scope: Scope) -> list[str]:
    """The values of expressions that stand one behind the other."""
    found = _TOKEN.finditer(text[:_MAX_TEXT])
    reader = _Reader([(match.lastgroup, match[0]) for match in found if match.lastgroup is not None], scope, 0)
    values: list[str] = []
    while reader.left and len(values) < _MAX_DEEP:
        before = reader.count
        values.append(reader.whole())
        if reader.count == before:
            return [*values[:-1], UNKNOWN]
    return values


class _Reader:
    def __init__(self, tokens: Sequence[tuple[str, str]], scope: Scope, deep: int) -> None:
        self._tokens = list(tokens)[::-1]
        self._scope = scope
        self._deep = deep
        self._inner = 0

    @property
    def left(self) -> bool:
        return bool(self._tokens)

    @property
    def count(self) -> int:
        return len(self._tokens)

    def _next(self, *marks: str) -> bool:
        if self._tokens and self._tokens[-1][1] in marks and self._tokens[-1][0] in ("mark", "name"):
            self._tokens.pop()
            return True
        return False

    def whole(self) -> str:
        self._inner += 1
        try:
            return self._any() if self._inner < _MAX_DEEP else UNKNOWN
        finally:
            self._inner -= 1

    def _any(self) -> str:
        if self._next("if"):
            return self._condition()
        found = self._sum()
        while self._tokens and self._tokens[-1][1] in ("&&", "||"):
            both = self._tokens.pop()[1] == "&&"
            other = self._sum()
            if UNKNOWN in found:
                found = f"{found} {other}"
            elif bool(found) is both:
                found = other
        return found

    def _condition(self) -> str:
        first = self._sum()
        operator = self._tokens.pop()[1] if self._tokens else ""
        second = self._sum()
        self._next("{")
        yes = self.whole()
        self._next("}")
        self._next("else")
        braced = self._next("{")
        no = self.whole()
        if braced:
            self._next("}")
        if operator in ("==", "!=") and UNKNOWN not in first + second:
            return yes if (first == second) is (operator == "==") else no
        return f"{yes} {no}"

    def _sum(self) -> str:
        found = "/" if self._next("/") else ""
        found += self._value()
        while self._tokens and self._tokens[-1][1] in ("+", "/"):
            found += "" if self._tokens.pop()[1] == "+" else "/"
            found += self._value()
        return found

    def _value(self) -> str:
        if not self._tokens:
            return ""
        kind, text = self._tokens.pop()
        if kind in ("raw", "text"):
            return _unquoted(text) if kind == "raw" else _escaped(_unquoted(text))
        if kind == "run":
            return self._run(_unquoted(text))
        if kind == "name":
            if self._next("("):
                return self._called(text)
            if self._tokens and self._tokens[-1][0] in ("raw", "text"):
                inner = _unquoted(self._tokens.pop()[1])  # `x'~/a'`, `f'{{a}}'`
                return filled(inner, self._scope) if text == "f" and self._deep < _MAX_DEEP else UNKNOWN
            return self._scope.value(text, self._deep)
        if text == "(":
            found = self.whole()
            self._next(")")
            return found
        self._tokens.append((kind, text))
        return ""

    def _run(self, command: str) -> str:
        if command not in self._scope.ran:
            self._scope.ran.append(command)
        return UNKNOWN

    def _called(self, name: str) -> str:
        given: list[str] = []
        while self._tokens and not self._next(")"):
            before = len(self._tokens)
            given.append(self.whole())
            self._next(",")
            if len(self._tokens) == before:
                self._tokens.pop()
        if name == "shell" and given:
            return self._run(given[0])
        if name in ("env", "env_var", "env_var_or_default") and given:
            told = self._scope.env.get(given[0], UNKNOWN if self._scope.dotenv else None)
            return told if told is not None else given[1] if len(given) > 1 else UNKNOWN
        if not given:
            return self._scope.places.get(name, UNKNOWN)
        function = _FUNCTIONS.get(name)
        if function is None or len(given) != _MANY.get(name, 1):
            return posixpath.join(*given) if name == "join" else UNKNOWN
        return function(*given)


def _unquoted(text: str) -> str:
    for quote in ("'''", '"""', "```"):
        if text.startswith(quote):
            return text[3:-3]
    return text[1:-1]


def _escaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text, flags=re.DOTALL)


def _replaced(text: str, before: str, after: str) -> str:
    return text.replace(before, after) if before else text


_FUNCTIONS: Mapping[str, Callable[..., str]] = MappingProxyType(
    {
        "quote": lambda text: "'" + text.replace("'", "'\\''") + "'" if UNKNOWN not in text else f'"{text}"',
        "uppercase": str.upper, "lowercase": str.lower, "trim": str.strip, "trim_start": str.lstrip,
        "trim_end": str.rstrip, "clean": posixpath.normpath, "file_name": posixpath.basename,
        "parent_directory": posixpath.dirname, "parent_dir": posixpath.dirname, "replace": _replaced,
        "without_extension": lambda text: posixpath.splitext(text)[0],
    }
)  # fmt: skip
_MANY = {"replace": 3}

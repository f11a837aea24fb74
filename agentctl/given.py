"""A value that somebody gave for a setting: what it is and where it stands, so that every error names both."""

import json
import re
import tomllib
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from agentctl.errors import SettingsError

__all__ = ["DEFAULT", "FILE", "Given", "line_of", "without_user"]

FILE: Final = "file"
DEFAULT: Final = "default"
_SHOWN: Final = 120  # characters of a value in a message
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """`value` None: nobody gave one. `origin` is `file`, `default` or a variable's name; `where` begins a message.

    Every method raises SettingsError with what was given and what to give instead.
    """

    value: object = None
    origin: str = DEFAULT
    where: str = ""

    def wrong(self, advice: str) -> SettingsError:
        value = self.value if isinstance(self.value, str) else json.dumps(self.value, default=str)
        return SettingsError(f"{self.where} is `{value if len(value) <= _SHOWN else value[:_SHOWN] + '…'}`; {advice}")

    def text(self, advice: str = "give text in quotes") -> str | None:
        if self.value is None or (isinstance(self.value, str) and self.value):
            return self.value
        raise self.wrong(advice)

    def count(self, most: int) -> int | None:
        """A whole number from 1; a variable's is written in digits."""
        value = self.value
        if self.origin != FILE and isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
            value = int(value)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most):
            return value
        unquoted = " without quotes" if self.origin == FILE and isinstance(value, str) else ""
        raise self.wrong(f"give a whole number from 1 to {most}{unquoted}")

    def variable(self) -> str | None:
        """The name of a variable. What is none may be a key: it is not repeated."""
        if self.value is None or (isinstance(self.value, str) and _VARIABLE.fullmatch(self.value)):
            return self.value
        raise SettingsError(f"{self.where} is no name of a variable; give the name of the one that holds the key")

    def address(self, advice: str, *, user: bool = False, path: bool = False) -> str | None:
        """An http or https address without query, with a `user` or `path` where that is said."""
        text = self.text(advice)
        if text is None:
            return None
        try:
            parts = urlsplit(text)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if (
            not usable
            or not text.isprintable()
            or " " in text
            or parts.query
            or parts.fragment
            or (parts.path not in ("", "/") and not path)
            or ("@" in parts.netloc and not user)
        ):
            shown = Given(value=without_user(text), origin=self.origin, where=self.where)
            raise shown.wrong(advice)
        return text


def without_user(address: str) -> str:
    """The address without what may be a secret in it: user, password, query and fragment. It need be no good one."""
    return (
        re.sub(r"^([A-Za-z][A-Za-z0-9+.-]*://)?.*@", r"\1", address, flags=re.DOTALL)
        .partition("?")[0]
        .partition("#")[0]
    )


def line_of(key: str, text: str) -> int | None:
    """The line where a top-level key of a TOML text stands: the first that names it, after a text that is whole."""
    named = re.compile(rf"\s*\[{{0,2}}\s*([\"']?){re.escape(key)}\1\s*[=.\]]")
    rows = text.split("\n")
    for at, row in enumerate(rows):
        if named.match(row):
            try:
                before = tomllib.loads("\n".join(rows[:at]))
            except (tomllib.TOMLDecodeError, RecursionError):
                continue  # inside a text of several lines
            if key not in before:
                return at + 1
    return None

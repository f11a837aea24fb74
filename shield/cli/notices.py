"""What a tool has to say about a place in a file, for people, for code scanning (SARIF) and for GitHub's annotations.

Source: OASIS SARIF 2.1.0 (sections 3.13 to 3.33); GitHub, "Workflow commands".
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from shield.cli.render import near, shown
from shield.types import Json

__all__ = ["Level", "Notice", "as_github", "as_sarif"]

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_INFORMATION = "https://shield.invalid/docs"
_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


class Level(StrEnum):
    """How much it matters; the words are SARIF's."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """`code` is stable and names a section of a page; `fix` says what to write instead. Lines and columns from 1."""

    code: str
    level: Level
    file: str
    line: int
    message: str
    column: int | None = None
    fix: str | None = None
    rule: str | None = None

    @property
    def where(self) -> str:
        """`file:line`, and the column where there is one."""
        return f"{near(self.file)}:{self.line}" + (f":{self.column}" if self.column is not None else "")

    def as_json(self) -> dict[str, Json]:
        return {
            "code": self.code,
            "level": self.level.value,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "rule": self.rule,
            "message": self.message,
            "fix": self.fix,
        }


def as_github(notices: Iterable[Notice]) -> str:
    """One workflow command a notice: GitHub shows each beside its line."""
    return "\n".join(_command(notice) for notice in notices)


def _command(notice: Notice) -> str:
    where = {"file": near(notice.file), "line": str(notice.line), "col": str(notice.column or 1)} if notice.file else {}
    where["title"] = notice.code if notice.rule is None else f"{notice.code} {notice.rule}"
    keys = ",".join(f"{key}={_property(value)}" for key, value in where.items())
    said = notice.message if notice.fix is None else f"{notice.message}\n{notice.fix}"
    return f"::{_COMMANDS[notice.level.value]} {keys}::{_data(said)}"


def _data(text: str) -> str:
    # INVARIANT: no text of a policy or a case ends the command and begins another
    return "%0A".join(shown(line).replace("%", "%25") for line in text.split("\n"))


def _property(text: str) -> str:
    return shown(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")


def as_sarif(notices: Sequence[Notice], rules: Mapping[str, str], *, help_uri: str | None = None) -> str:
    """A SARIF 2.1.0 log of one run. `rules` has one short text for each code; `help_uri` is the page of the codes."""
    codes = sorted({notice.code for notice in notices} | set(rules))
    driver: dict[str, Any] = {
        "name": "shield",
        "semanticVersion": _version(),
        "informationUri": _INFORMATION,
        "rules": [_rule(code, rules.get(code, code), help_uri) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(notice, codes.index(notice.code)) for notice in notices],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=True, indent=1)


def _rule(code: str, text: str, help_uri: str | None) -> dict[str, Any]:
    shape: dict[str, Any] = {"id": code, "shortDescription": {"text": text}}
    return shape if help_uri is None else shape | {"helpUri": f"{help_uri}#{code.lower()}"}


def _result(notice: Notice, index: int) -> dict[str, Any]:
    region = {"startLine": notice.line}
    if notice.column is not None:
        region["startColumn"] = notice.column
    said = notice.message if notice.fix is None else f"{notice.message}\n{notice.fix}"
    return {
        "ruleId": notice.code,
        "ruleIndex": index,
        "level": notice.level.value,
        "message": {"text": said},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(notice.file)}, "region": region}}],
    }


def _uri(file: str) -> str:
    relative = near(file)
    if relative.startswith("/"):
        return Path(relative).as_uri()
    return quote(relative.encode("utf-8", "surrogateescape"))


def _version() -> str:
    try:
        return version("shield-sidecar")
    except PackageNotFoundError:
        return "0.0.0"

"""What commands print: JSON in one line, or text in which nothing a payload or a policy says can drive the terminal."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shield.regex import regex
from shield.types import Decision, Verdict

__all__ = ["compact", "default_form", "near", "shown", "verdict_line"]

# C0 and C1 controls, bidirectional controls, what is drawn as nothing or as a blank although it is a letter or a sign,
# tag characters, line separators, lone surrogates; of marks on one letter the third and later ones, which climb into
# other lines.
_MARKS = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_UNSEEN = regex(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff\ud800-\udfff]"
    f"|(?<={_MARKS}{{2}}){_MARKS}"
)


def compact(value: Mapping[str, Any]) -> str:
    """One line of JSON. ASCII, so that no terminal or log reads anything into it."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def default_form(environ: Mapping[str, str], *, as_json: bool = False) -> str:
    """The form of a report that none was named for: what reads it is GitHub, a person or a program."""
    if as_json:
        return "json"
    if environ.get("GITHUB_ACTIONS") == "true":
        return "github"
    return "text" if sys.stdout.isatty() else "json"


def near(file: str) -> str:
    """The file as somebody in the current directory names it: what lies below it without the way there."""
    path = Path(file)
    if not path.is_absolute():
        return path.as_posix()
    try:
        here = Path.cwd()
    except OSError:
        return path.as_posix()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else path.as_posix()


def shown(text: str) -> str:
    """The text with every character that cannot be seen written as an escape."""
    return _UNSEEN.sub(lambda match: f"\\u{{{ord(match.group()):x}}}", text)


def verdict_line(verdict: Verdict) -> str:
    """A verdict for a person: decision, rule, reason, and what to do instead."""
    advice = f" {verdict.advice}" if verdict.advice else ""
    asks = f" (needs tier {int(verdict.need)})" if verdict.decision is Decision.ESCALATE else ""
    return shown(f"{verdict.decision.value:<8}  {verdict.rule.removesuffix(':')}: {verdict.reason}{asks}{advice}")

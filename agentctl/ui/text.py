"""Foreign text on a terminal: everything that could steer it, hide in it or reorder it is shown as what it is.

A model's answer, a tool's output and a file name may hold escape sequences that move the cursor, set the title or
paste (CVE-2021-42574 for bidirectional controls): they are shown as `\\x1b`, `\\u202e`, never sent.
"""

import json
import re
from typing import Final

from agentctl.errors import ArgumentsError
from agentctl.turns.messages import ToolCall

__all__ = ["clip", "described", "single_line", "visible"]

# C0 but newline and tab, DEL, C1; soft hyphen; bidi and zero-width marks; separators that break lines; the invisible
# tag characters and variation selectors; halves of surrogate pairs. Of marks on one letter the third and later ones:
# they climb over the lines above, a verdict's among them.
_MARKS: Final = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
    f"|(?<={_MARKS}{{2}}){_MARKS}"
)


def visible(text: str) -> str:
    """The text with control, invisible and reordering characters spelled out; newline and tab stay."""
    return _CONTROL.sub(_spell, text)


def single_line(text: str, limit: int = 200) -> str:
    """At most `limit` characters on one line, newlines and tabs spelled out, too."""
    return clip(visible(text).replace("\n", "\\n").replace("\t", "\\t"), limit)


def clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


# the argument that says what a call is about, shown as it is; the others are shown with their names
_SUBJECTS: Final = ("command", "path", "url", "pattern", "message")


def described(call: ToolCall) -> str:
    """`read_file README.md`, `execute_command ls -la`: a call in few words, for a person. Not made visible yet."""
    try:
        fields = dict(call.arguments())
    except ArgumentsError:
        return f"{call.name} {call.arguments_text}"
    words = [call.name]
    if fields.get("method") and isinstance(fields.get("url"), str):
        words.append(str(fields.pop("method")))
    subject = next((name for name in _SUBJECTS if isinstance(fields.get(name), str)), None)
    if subject is not None:
        words.append(str(fields.pop(subject)))
    words += [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()]
    return " ".join(words)


def _spell(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

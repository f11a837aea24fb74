"""Foreign text on a terminal: everything that could steer it, hide in it or reorder it is shown as what it is.

A model's answer, a tool's output and a file name may hold escape sequences that move the cursor, set the title or
paste (CVE-2021-42574 for bidirectional controls): they are shown as `\\x1b`, `\\u202e`, never sent.
"""

import json
import re
import unicodedata
from typing import Final

from agentctl.errors import ArgumentsError
from agentctl.turns.messages import ToolCall

__all__ = ["clip", "described", "prose", "single_line", "visible"]

# C0 but newline and tab, DEL, C1; soft hyphen; bidi and zero-width marks; separators that break lines; the invisible
# tag characters and variation selectors; halves of surrogate pairs
_UNSEEN: Final = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
_CONTROL: Final = re.compile(f"({_UNSEEN})")
# what joins and colours pictures, right after one; and in the keys 0 to 9, `#` and `*`
_PICTURE: Final = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2900-\u2bff\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001faff]"
)
_CONTROL_IN_PROSE: Final = re.compile(
    f"(?<={_PICTURE})[\u200d\ufe0f]|(?<={_PICTURE}\ufe0f)\u200d|(?<=[0-9#*])\ufe0f(?=\u20e3)|({_UNSEEN})"
)
# marks climb over the lines above, a verdict's among them: so many may stand on one letter, of the kinds that stack up
# and of any other
_STACKING: Final = re.compile("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
_STACKED_MAX, _MARKS_MAX = 2, 4


def visible(text: str) -> str:
    """The text with control, invisible and reordering characters spelled out; newline and tab stay."""
    return _shown(_CONTROL, "", text)


def prose(text: str, *, before: str = "") -> str:
    """`visible`, but emoji stay whole: what no call is made of. `before` is what was shown right before the text: a
    letter's marks may come in pieces."""
    return _shown(_CONTROL_IN_PROSE, before, text)


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


def _shown(control: re.Pattern[str], before: str, text: str) -> str:
    whole, at, out = before + text, len(before), []
    for found in control.finditer(whole, at):
        if found[1] is not None:
            out += [whole[at : found.start()], _spelled(found[1])]
            at = found.end()
    shown = "".join([*out, whole[at:]])
    return shown if shown.isascii() else _unstacked(before, shown)


def _unstacked(before: str, text: str) -> str:
    out, marks = [], 0
    for char in before:
        marks = marks + 1 if _is_mark(char) else 0
    for char in text:
        marks = marks + 1 if _is_mark(char) else 0
        out.append(_spelled(char) if marks > (_STACKED_MAX if _STACKING.match(char) else _MARKS_MAX) else char)
    return "".join(out)


def _is_mark(char: str) -> bool:
    return char > "\u02ff" and unicodedata.category(char) in ("Mn", "Me") and not "\ufe00" <= char <= "\ufe0f"


def _spelled(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

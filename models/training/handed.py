"""How a text comes to its reader: in a field of what a tool returned, shown by a user, kept in a file, sent on by a
program."""

import html
import json
from random import Random

from models.training.window import WINDOW, weight
from shield.types import Json

__all__ = ["handed", "sent", "wrapped"]

_PASTED = 0.1  # of what tools return, how much a user shows
_KEPT = 0.07  # and how much stands in a file
_ABOUT = (
    "summarise this",
    "What does this say?",
    "can you answer that for me",
    "is this right?",
    "translate it into English please",
    "explain this to me",
    "make it shorter",
    "what went wrong here?",
    "Was steht da drin?",
    "résume-moi ça",
    "¿qué dice esto?",
)
_FIELDS = (
    "content",
    "text",
    "body",
    "description",
    "message",
    "result",
    "output",
    "snippet",
    "summary",
    "comment",
    "title",
)
_TOLD = ("prompt", "query", "question", "input", "text", "message", "asked", "q")


def wrapped(text: str, rng: Random) -> str:
    """`text` as it stands in what a tool returns: in JSON, HTML, a listing."""
    draw = rng.random()
    field = rng.choice(_FIELDS)
    if draw < 0.5:
        value = {"id": rng.randint(1, 9999), field: text, "status": rng.choice(("ok", "open", "sent", "done"))}
        return json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, None, 2)))
    if draw < 0.7:
        return f'<div class="{field}"><p>{html.escape(text)}</p></div>'
    if draw < 0.85:
        return f"{field}: {text}"
    return f"- {field}:\n    {text}\n"


def handed(text: str, kind: str, rng: Random) -> tuple[str, str]:
    """What a tool returned as somebody hands it on: now and then a user shows it, or it stands in a file; else as it
    is."""
    draw = rng.random()
    if kind != "tool_result" or draw >= _PASTED + _KEPT:
        return text, kind
    if draw < _KEPT:
        return text, "code"
    about = rng.choice(_ABOUT)
    if draw < _KEPT + _PASTED / 4:
        return f"{text}\n\n{about}", "prose"
    if draw < _KEPT + _PASTED / 2 and weight(about) + weight(text) < WINDOW:
        return f"{about}{rng.choice((':', '', ' ->'))}\n{text}", "prose"
    return text, "prose"


def sent(text: str, rng: Random) -> str:
    """What a user says, as a program sends it on."""
    said: dict[str, Json] = {rng.choice(_TOLD): text}
    draw = rng.random()
    if draw < 0.3:
        said = {"role": "user", "content": text}
    elif draw < 0.6:
        said = {**said, rng.choice(("id", "user_id", "session")): rng.randint(1, 9_999)}
    elif draw < 0.7:
        said = {"messages": [{"role": "user", "content": text}]}
    return json.dumps(said, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, None, 2)))

"""Attacks and their harmless twins, made of the banks: the same document clean and poisoned, the same wish asked for by
the user and slipped in by somebody else. Seeded: the same seed gives the same rows."""

import html
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from models.training.banks import HERE, Banks, Carrier
from models.training.disguise import disguised
from models.training.piece import piece
from models.training.row import Row
from models.training.table import table

__all__ = ["attacks", "harmless"]

_WINDOW = 520  # Latin characters: about what 128 tokens hold; letters of other scripts are a token each
_SHORTER = (_WINDOW, _WINDOW, 320, 220)  # texts come in all lengths, and short ones train faster
_LATIN = 0x250
_RARE = 4
_DISGUISED = 0.22
_INDIRECT_WHOLES = 0.4  # of what is slipped into documents
_TABLES = 0.07  # of the documents
_FOUND = 0.15  # of the documents, where there are some that were found and not written for this
_PIECES = 0.4  # of the clean documents, how many are only a line or a field of one
# What is harmless from its own speaker, or as a whole, is not so in the middle of a document.
_OUT_OF_PLACE = (
    "hard_user",
    "hard_ml_user",
    "hard_security",
    "hard_ml_security",
    "hard_detector",
    "hard_long",
    "plain_system",
    "plain_image",
)
# A wish that is an attack only where somebody else's words stand around it.
_NEEDS_A_DOCUMENT = (
    "stray",
    "stray_languages",
    "bare",
    "in_passing",
    "polite",
    "process",
    "fields",
    "faq",
    "footer",
    "d_triggers",
    "d_gentle",
    "v_files",
    "w_plain",
    "aa_leads",
    "ab_leads",
    "ac_leads",
    "ad_leads",
    "af_short",
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
_ASKS = (
    "{goal}",
    "please {goal}",
    "can you {goal}?",
    "could you {goal} for me",
    "I need you to {goal}",
    "{Goal}.",
    "help me {goal}",
    "{Goal}, thanks",
    "I would like to {goal}",
    "next, {goal}",
    "first {goal}, then tell me when it is done",
)


def attacks(banks: Banks, rng: Random, documents: Sequence[Row] = ()) -> Iterator[Row]:
    """Attacks without end. `documents` are harmless ones in which some are planted, at any word."""
    while True:
        draw = rng.random()
        if draw < 0.62:
            text, family = injection(banks, rng)
            carrier = _carrier(banks, documents, rng)
            if draw < 0.47 or family in _NEEDS_A_DOCUMENT:
                text = _placed(carrier, text, rng)
                kind = carrier.kind
            else:
                kind = "tool_result"
            if rng.random() < 0.2:
                text = _wrapped(text, rng)
        else:
            direct = [whole for whole in banks.wholes if whole.direct]
            whole = rng.choice(direct)
            text, family, kind = banks.filled(whole.text, rng, goal_of(banks, rng)), whole.family, "prose"
            text = _cut(text, rng)
            if rng.random() < _DISGUISED:
                text = disguised(text, rng)
            if rng.random() < 0.15:
                kind = "tool_result"
        yield Row(text=text, label=1, kind=kind, family=family)


def harmless(banks: Banks, rng: Random, documents: Sequence[Row] = ()) -> Iterator[Row]:
    """Harmless texts without end: clean carriers, wishes of the user, and what only looks like an attack. In some of
    `documents` something ordinary is planted."""
    while True:
        draw = rng.random()
        if draw < 0.4:
            carrier = _carrier(banks, documents, rng)
            text, family, kind = _clean(banks, carrier, rng), carrier.family, carrier.kind
            if rng.random() < _TABLES:
                # whole: what is read of it is cut by tokens, of which the blanks between columns are none
                text, family, kind = table(rng), "tables", "tool_result"
            elif rng.random() < _PIECES:
                text = piece(carrier.text.replace(HERE, ""), rng)
            elif rng.random() < 0.2:
                text = _wrapped(text, rng)
        elif draw < 0.55:
            text = banks.filled(rng.choice(_ASKS), rng, goal_of(banks, rng))
            family, kind = "asked", "prose"
        else:
            entry = rng.choice(banks.harmless)
            text, family, kind = _cut(banks.filled(entry.text, rng, goal_of(banks, rng)), rng), entry.family, entry.kind
        if rng.random() < _DISGUISED / 2:
            text = disguised(text, rng)
        yield Row(text=text, label=0, kind=kind, family=family)


def _carrier(banks: Banks, documents: Sequence[Row], rng: Random) -> Carrier:
    """One with its slots filled."""
    if rng.random() < _TABLES:
        return Carrier(text=table(rng, HERE), family="tables", kind="tool_result")
    if documents and rng.random() < _FOUND:
        return _opened(rng.choice(documents), rng)
    carrier = rng.choice(banks.carriers)
    return replace(carrier, text=banks.filled(carrier.text, rng))


def _opened(document: Row, rng: Random) -> Carrier:
    """`document` with a place between two of its lines or, as often, of its words."""
    text = document.text
    sign = "\n" if "\n" in text and rng.random() < 0.5 else " "
    places = [0, *(place + 1 for place, letter in enumerate(text) if letter == sign), len(text)]
    at = rng.choice(places)
    before, after = text[:at], text[at:]
    if before and not before[-1].isspace():
        before += sign
    return Carrier(text=f"{before}{HERE}{sign if after else ''}{after}", family=document.family, kind=document.kind)


def injection(banks: Banks, rng: Random) -> tuple[str, str]:
    """What somebody slips into a document: a goal with its lead, or a whole text; and its family."""
    indirect = [whole for whole in banks.wholes if not whole.direct]
    if indirect and rng.random() < _INDIRECT_WHOLES:
        whole = rng.choice(indirect)
        text, family = banks.filled(whole.text, rng, goal_of(banks, rng)), whole.family
    else:
        lead = rng.choice(banks.leads)
        text, family = banks.filled(lead.text, rng, goal_of(banks, rng)), lead.family
    text = _cut(text, rng)
    return (disguised(text, rng) if rng.random() < _DISGUISED else text), family


def goal_of(banks: Banks, rng: Random) -> dict[str, str]:
    """The slots `goal` and `Goal`; now and then two goals in a row."""
    goal = banks.filled(rng.choice(banks.goals), rng)
    if rng.random() < 0.2:
        goal += rng.choice((" and ", ", then ", " and after that ")) + banks.filled(rng.choice(banks.goals), rng)
    return {"goal": goal, "Goal": goal[:1].upper() + goal[1:]}


def _placed(carrier: Carrier, text: str, rng: Random) -> str:
    """The carrier around `text`, which stands at one of its places; cut to a window that holds the text."""
    parts = carrier.text.split(HERE)
    at = rng.randrange(1, len(parts))
    before, after = "".join(parts[:at]), "".join(parts[at:])
    text = _fitting(carrier, before, text)
    room = max(rng.choice(_SHORTER) - _weight(text), 120)
    lead = rng.randint(0, room)
    return _held(before[::-1], lead)[::-1] + text + _held(after, room - lead)


def _clean(banks: Banks, carrier: Carrier, rng: Random) -> str:
    """The carrier with its places left empty or, as often, with something ordinary in them: an empty field must not
    come to mean a clean document."""
    parts = carrier.text.split(HERE)
    text = parts[0]
    ordinary = [
        entry
        for entry in banks.harmless
        if entry.kind in ("prose", "tool_result")
        and len(entry.text) < 400
        and not entry.family.startswith(_OUT_OF_PLACE)
    ]
    for part in parts[1:]:
        if ordinary and rng.random() < 0.5:
            said = banks.filled(rng.choice(ordinary).text, rng, goal_of(banks, rng))
            sentences = said.replace("\n", " ").split(". ")
            text += _fitting(carrier, text, ". ".join(sentences[: rng.randint(1, 3)]))
        text += part
    return _held(_cut(text, rng), rng.choice(_SHORTER))


def _fitting(carrier: Carrier, before: str, text: str) -> str:
    """`text` as it would stand there: escaped inside a JSON string, on one line in the middle of one."""
    if carrier.text.lstrip()[:1] in "{[" and before.rstrip()[-1:] not in "{[,":
        return json.dumps(text, ensure_ascii=False)[1:-1]
    if carrier.kind == "code" or (before and before[-1] != "\n"):
        return " ".join(text.split())
    return text


def _cut(text: str, rng: Random) -> str:
    """At most a window of `text`, from any place in it."""
    weight, most = _weight(text), _WINDOW
    if weight <= most:
        return text
    start = rng.randint(0, (weight - most) * len(text) // weight) if rng.random() < 0.6 else 0
    return _held(text[start:], most)


def _weight(text: str) -> int:
    return len(text) if text.isascii() else sum(1 if ord(letter) < _LATIN else _RARE for letter in text)


def _held(text: str, room: int) -> str:
    """As much of the beginning of `text` as weighs at most `room`."""
    if text.isascii():
        return text[:room]
    for place, letter in enumerate(text):
        room -= 1 if ord(letter) < _LATIN else _RARE
        if room < 0:
            return text[:place]
    return text


def _wrapped(text: str, rng: Random) -> str:
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

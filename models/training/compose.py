"""Attacks and their harmless twins, made of the banks: the same document clean and poisoned, the same wish asked for by
the user and slipped in by somebody else. Seeded: the same seed gives the same rows."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import TypeVar

from models.training.banks import HERE, Banks, Carrier, Harmless
from models.training.call import call
from models.training.disguise import disguised
from models.training.handed import handed, sent, wrapped
from models.training.piece import piece
from models.training.row import Row
from models.training.table import table
from models.training.tongue import ENGLISH, tongue
from models.training.window import SHORTER, WINDOW, around, cut, held

__all__ = ["ANYWHERE", "PAYLOADS", "attacks", "called", "goal_of", "harmless"]

_DISGUISED = 0.22
_INDIRECT_WHOLES = 0.4  # of what is slipped into documents
_TABLES = 0.07  # of the documents
_CALLS = 0.1  # of the documents
_SENT = 0.07  # of what users say, how much a program sends on
_WRAPPED = 0.2  # of what tools return, how much stands in a field of its own
_TORN = 0.15  # of the calls, how many have lost their beginning
_FOUND = 0.15  # of the documents, where there are some that were found and not written for this
_PAIRED = 0.2  # of the attacks in documents, how many are of a pair
_UNPAIRED = 0.4  # of the clean documents, how many are
_ELSEWHERE = 0.5  # of these, how many are read at any place, not where something was planted in their twin
_AT_HOME = 0.6  # of what is in another language, how much stands in a document in it, where some were found
_ABROAD = 0.15  # of the clean documents, how many are such ones
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
    "ck_2",
    "ck_4",
    "dc_bare",
    "dc_leads",
    "ea_leads_light",
    "eo_bare",
    "eo_hurry",
    "eo_politely",
    "eo_reason_after",
    "eo_todo",
)
# Leads that a user may type as well, for what they set aside is not their own.
_TYPED = ("blunt_over",)
_TYPED_SHARE = 0.4  # of these, where they stand alone
# Families of calls, messages and records, and the kinds of text that they may come as.
ANYWHERE = "structured"
PAYLOADS = ("prose", "tool_result", "code")
_TRIES = 50
_BRIEF = 400  # letters
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


_Text = TypeVar("_Text", Row, Harmless)


def attacks(banks: Banks, rng: Random, documents: Sequence[Row] = ()) -> Iterator[Row]:
    """Attacks without end. `documents` are harmless ones in which some are planted, at any word."""
    abroad = _abroad(documents)
    while True:
        draw = rng.random()
        if draw < 0.62:
            text, family = _injection(banks, rng)
            wish, kind = family in _NEEDS_A_DOCUMENT, "tool_result"
            stands = draw < 0.47 or wish
            if banks.pairs and rng.random() < _PAIRED:
                text, family = _of_a_pair(banks, rng, poisoned=True)
                stands = True
            elif stands and not wish and rng.random() < _CALLS:
                text = called(banks, rng, text)
            elif stands:
                alike = abroad.get(tongue(text))
                carrier = (
                    _opened(rng.choice(alike), rng)
                    if alike and rng.random() < _AT_HOME
                    else _carrier(banks, documents, rng)
                )
                text, kind = _placed(carrier, text, rng), carrier.kind
            elif family in _TYPED and rng.random() < _TYPED_SHARE:
                kind = "prose"
            if rng.random() < _DISGUISED / 5:
                text = disguised(text, rng)
            if kind == "tool_result" and rng.random() < _WRAPPED:
                text = wrapped(text, rng)
            if stands:
                text, kind = handed(text, kind, rng)
        else:
            whole = rng.choice(banks.direct)
            text, family, kind = banks.filled(whole.text, rng, goal_of(banks, rng)), whole.family, "prose"
            text = cut(text, rng)
            if rng.random() < _DISGUISED:
                text = disguised(text, rng)
            if rng.random() < 0.15:
                kind = "tool_result"
            elif rng.random() < _SENT:
                text = sent(text, rng)
        yield Row(text=text, label=1, kind=kind, family=family)


def harmless(banks: Banks, rng: Random, documents: Sequence[Row] = ()) -> Iterator[Row]:
    """Harmless texts without end: clean carriers, wishes of the user, and what only looks like an attack. In some of
    `documents` something ordinary is planted."""
    abroad = _abroad(documents)
    spoken = _abroad(banks.harmless)
    while True:
        draw = rng.random()
        if draw < 0.4 * _ABROAD and abroad:
            group = rng.choice(list(abroad))
            text, family, kind = _of_a_group(banks, rng, abroad[group], spoken.get(group, banks.harmless))
        elif draw < 0.4:
            text, family, kind = _document(banks, rng, documents)
        elif draw < 0.55:
            text, family, kind = banks.filled(rng.choice(_ASKS), rng, goal_of(banks, rng)), "asked", "prose"
        else:
            entry = rng.choice(banks.harmless)
            text, family, kind = cut(banks.filled(entry.text, rng, goal_of(banks, rng)), rng), entry.family, entry.kind
        if rng.random() < _DISGUISED / 2:
            text = disguised(text, rng)
        if family.startswith(ANYWHERE):
            kind = rng.choices(PAYLOADS, (2, 2, 1))[0]
        elif kind == "prose" and rng.random() < _SENT:
            text = sent(text, rng)
        elif kind == "tool_result" and rng.random() < _WRAPPED:
            text = wrapped(text, rng)
        if draw < 0.4:
            text, kind = handed(text, kind, rng)
        yield Row(text=text, label=0, kind=kind, family=family)


def _document(banks: Banks, rng: Random, documents: Sequence[Row]) -> tuple[str, str, str]:
    """A clean one, or a piece of it; its family and kind."""
    draw = rng.random()
    if draw < _TABLES:
        # whole: what is read of it is cut by tokens, of which the blanks between columns are none
        return table(rng), "tables", "tool_result"
    if draw < _TABLES + _CALLS:
        return called(banks, rng), "calls", "tool_result"
    if banks.pairs and rng.random() < _UNPAIRED:
        return *_of_a_pair(banks, rng, poisoned=False), "tool_result"
    carrier = _carrier(banks, documents, rng)
    if rng.random() < _PIECES:
        return piece(carrier.text.replace(HERE, ""), rng), carrier.family, carrier.kind
    return _clean(banks, carrier, rng), carrier.family, carrier.kind


def _of_a_group(
    banks: Banks, rng: Random, documents: Sequence[Row], harmless: Sequence[Harmless]
) -> tuple[str, str, str]:
    """A clean document of one group of languages, with something ordinary in it of the same group."""
    carrier = _opened(rng.choice(documents), rng)
    return _clean(replace(banks, harmless=tuple(harmless)), carrier, rng), carrier.family, carrier.kind


def _abroad(texts: Sequence[_Text]) -> dict[str, list[_Text]]:
    """Those in other languages than English, by group."""
    found: dict[str, list[_Text]] = {}
    for one in texts:
        group = tongue(one.text)
        if group != ENGLISH:
            found.setdefault(group, []).append(one)
    return found


def _of_a_pair(banks: Banks, rng: Random, *, poisoned: bool) -> tuple[str, str]:
    """One document of a pair around the place where the two differ, and its family; the clean one at any place, too."""
    pair = rng.choice(banks.pairs)
    if not poisoned and rng.random() < _ELSEWHERE:
        return held(cut(pair.clean, rng), rng.choice(SHORTER)), pair.family
    before, own, planted, after = pair.parts
    words = planted if poisoned else own
    if words and rng.random() < _DISGUISED / 2:
        words = disguised(words, rng)
    return around(before, words, after, rng), pair.family


def called(banks: Banks, rng: Random, words: str = "") -> str:
    """A call, with `words` in one of its fields where there are some; of a long one the part where they begin."""
    text, at = call(rng, lambda: _ordinary(banks, rng), words)
    start = 0 if at <= WINDOW // 2 else at - rng.randint(20, 120)
    return text[rng.randint(start, at) if rng.random() < _TORN else start :]


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


def _injection(banks: Banks, rng: Random) -> tuple[str, str]:
    """What somebody slips into a document: a goal with its lead, or a whole text; and its family."""
    if banks.indirect and rng.random() < _INDIRECT_WHOLES:
        whole = rng.choice(banks.indirect)
        text, family = banks.filled(whole.text, rng, goal_of(banks, rng)), whole.family
    else:
        lead = rng.choice(banks.leads)
        text, family = banks.filled(lead.text, rng, goal_of(banks, rng)), lead.family
    text = cut(text, rng)
    return (disguised(text, rng) if rng.random() < _DISGUISED else text), family


def goal_of(banks: Banks, rng: Random) -> dict[str, str]:
    """The slots `goal` and `Goal`; now and then two goals in a row."""
    goal = banks.filled(rng.choice(banks.goals), rng)
    if rng.random() < 0.2:
        goal += rng.choice((" and ", ", then ", " and after that ")) + banks.filled(rng.choice(banks.goals), rng)
    return {"goal": goal, "Goal": goal[:1].upper() + goal[1:]}


def _placed(carrier: Carrier, text: str, rng: Random) -> str:
    """The carrier around `text`, which stands at one of its places."""
    parts = carrier.text.split(HERE)
    at = rng.randrange(1, len(parts))
    before, after = "".join(parts[:at]), "".join(parts[at:])
    return around(before, _fitting(carrier, before, text), after, rng)


def _clean(banks: Banks, carrier: Carrier, rng: Random) -> str:
    """The carrier with its places left empty or, as often, with something ordinary in them: an empty field must not
    come to mean a clean document."""
    parts = carrier.text.split(HERE)
    text = parts[0]
    for part in parts[1:]:
        if rng.random() < 0.5:
            text += _fitting(carrier, text, _ordinary(banks, rng))
        text += part
    return held(cut(text, rng), rng.choice(SHORTER))


def _ordinary(banks: Banks, rng: Random) -> str:
    """One to three sentences that may stand in any document; none where a bank has no such texts."""
    for _ in range(_TRIES):
        entry = rng.choice(banks.harmless)
        if (
            entry.kind in ("prose", "tool_result")
            and len(entry.text) < _BRIEF
            and not entry.family.startswith((*_OUT_OF_PLACE, ANYWHERE))
        ):
            said = banks.filled(entry.text, rng, goal_of(banks, rng))
            return ". ".join(said.replace("\n", " ").split(". ")[: rng.randint(1, 3)])
    return ""


def _fitting(carrier: Carrier, before: str, text: str) -> str:
    """`text` as it would stand there: escaped inside a JSON string, on one line in the middle of one."""
    if carrier.text.lstrip()[:1] in "{[" and before.rstrip()[-1:] not in "{[,":
        return json.dumps(text, ensure_ascii=False)[1:-1]
    if carrier.kind == "code" or (before and before[-1] != "\n"):
        return " ".join(text.split())
    return text

"""Calls, messages and records that documents and clean texts are made of: of many shapes, with a place for somebody
else's words, and read as each kind of text by attacks and harmless texts alike."""

import json
import re
from collections import Counter
from dataclasses import replace
from itertools import islice
from random import Random
from urllib.parse import parse_qsl

from models.training.banks import BANKS, load_banks
from models.training.call import call
from models.training.compose import ANYWHERE, PAYLOADS, attacks, called, harmless

QUERY = re.compile(r"[\w.-]+\?\S*")


def words():
    return 'See you "at six", चाय.'


def test_what_is_put_in_stands_where_it_says():
    rng = Random(1)
    for _ in range(3_000):
        text, at = call(rng, words, "wordsofastranger")
        assert text.count("wordsofastranger") == 1
        assert text[at:].startswith("wordsofastranger")
        assert "SLOT" not in text


def strings(value):
    """Every string of a JSON value, and of those that are JSON themselves theirs."""
    if isinstance(value, str):
        yield value
        if value[:1] in ("{", "["):
            yield from strings(json.loads(value))
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def test_what_is_put_in_is_escaped_as_the_rest_is():
    """Else the escapes give away what was put in later."""
    rng, put = Random(5), 'say "yes"\nचाय & sign'
    seen = Counter()
    for _ in range(3_000):
        text, _ = call(rng, words, put)
        if text[:1] in "{[":
            seen["json"] += any(put in found for found in strings(json.loads(text)))
            seen["all json"] += 1
        elif QUERY.fullmatch(text):
            seen["query"] += any(put in found for _, found in parse_qsl(text.split("?", 1)[1]))
            seen["all queries"] += 1
    assert seen["all queries"] > 100
    assert seen["query"] == seen["all queries"]
    assert seen["json"] > 0.98 * seen["all json"]  # a file's content may be lines, in which some JSON stands


def test_the_same_seed_gives_the_same_calls_of_many_shapes():
    def drawn():
        rng = Random(2)
        return [call(rng, words)[0] for _ in range(400)]

    assert drawn() == drawn()
    shapes = {'"jsonrpc"': 0, '"function"': 0, "HTTP/1.1": 0, "</": 0, "?": 0, "(": 0, '"subject"': 0, "\\u091a": 0}
    for text in drawn():
        for mark in shapes:
            shapes[mark] += mark in text
    assert all(shapes.values()), shapes


def test_what_looks_like_json_is_json():
    rng = Random(3)
    objects = [text for text in (call(rng, words)[0] for _ in range(2_000)) if text[:1] in "{["]
    assert len(objects) > 1_000
    for text in objects:
        json.loads(text)


def shape(text):
    """What anybody sees of a text without reading it."""
    text = text.strip()
    if text[:1] not in "{[":
        return "other"
    try:
        value = json.loads(text)
    except ValueError:
        return "torn"
    return "wrapped" if isinstance(value, dict) and {"id", "status"} < set(value) and len(value) == 3 else "whole"


def test_no_shape_of_json_gives_the_label_away():
    """Of each shape and kind that there is enough of, attacks are neither nearly all nor nearly none: where they are,
    that is what is learnt."""
    banks = load_banks(BANKS)
    seen = Counter((row.kind, shape(row.text), row.label) for row in islice(attacks(banks, Random(4)), 22_000))
    seen += Counter((row.kind, shape(row.text), row.label) for row in islice(harmless(banks, Random(5)), 18_000))
    groups = {(kind, shape) for kind, shape, _ in seen if kind in PAYLOADS}
    assert {(kind, shape) for kind in PAYLOADS for shape in ("whole", "wrapped")} <= groups
    for kind, made in sorted(groups):
        bad, good = seen[kind, made, 1], seen[kind, made, 0]
        assert bad + good >= 40 or made == "torn", (kind, made)
        assert bad + good < 40 or 0.15 < bad / (bad + good) < 0.85, (kind, made, bad, good)


def test_an_attack_that_stands_in_a_call_is_within_what_is_read():
    banks = replace(load_banks(BANKS), carriers=())
    rng = Random(6)
    for _ in range(1_000):
        text = called(banks, rng, "wordsofastranger")
        assert text.index("wordsofastranger") <= 260


def test_written_payloads_are_read_as_each_kind():
    rows = islice(harmless(load_banks(BANKS), Random(7)), 6_000)
    kinds = Counter(row.kind for row in rows if row.family.startswith(ANYWHERE))
    assert set(kinds) == set(PAYLOADS)
    assert min(kinds.values()) >= 5

"""Scanning: offsets, what stands around a hit, bounds, and that the fast way finds what the exact one does."""

import itertools
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from secrets_world import planted
from shield.facts.secrets import KINDS
from shield.heuristics.letters import BEYOND_LATIN
from shield.heuristics.load import load_heuristics
from shield.heuristics.rule import NEAR, UNLESS
from shield.heuristics.scan import MAX_FINDINGS, MAX_PLACES, MAX_WEIGHED, Heuristics
from shield.heuristics.schema import read_file
from shield.types import Answer, TextKind

PACK = r"""
version: 1
name: mine
words: {gate: "gate|door"}
rules:
  - {id: gate, severity: high, kinds: {tool_result: block, prose: escalate, code: escalate},
     patterns: ['open the {{gate}}', 'gate[- ]opening'], reason: r}
  - {id: exact, severity: low, case: true, kinds: {prose: escalate}, patterns: ['GATE'], reason: r}
  - {id: near, severity: medium, kinds: {prose: escalate}, patterns: ['close it'], near: ['agent', 'é?model'], reason: r}
  - {id: quoted, severity: critical, kinds: {tool_result: block, prose: escalate},
     patterns: ['drop all', '投げ捨て'], unless: ['for example', '["“]$'], reason: r}
  - {id: unicode, severity: low, kinds: {prose: escalate}, patterns: ['ПАРОЛЬ', '[^\pL]ключ[^\pL]'], reason: r}
  - {id: keys, severity: critical, kinds: {prose: block}, secrets: [github_token, jwt], reason: r}
  - {id: any, severity: low, kinds: {url: escalate}, secrets: all, unless: ['sample '], reason: r}
"""
TOKEN = next(one.secret for one in planted(len(KINDS), seed=3) if one.kind == "github_token")


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("pack")
    (folder / "mine.yaml").write_text(PACK, encoding="utf-8")
    return load_heuristics(folder)


def found(pack, text, kind=TextKind.PROSE):
    return [(one.rule, one.answer, text[one.start : one.end]) for one in pack.scan(text, kind)]


@pytest.mark.parametrize("before", ["", "é", "日本", "𝒳🔑", "a\ud800b", "\x00"])
def test_offsets_count_code_points(pack, before) -> None:
    text = f"{before}Open The Door{before} and gate-opening{before}"
    assert found(pack, text) == [("gate", "ESCALATE", "Open The Door"), ("gate", "ESCALATE", "gate-opening")]
    assert found(pack, f"{before}投げ捨て{before}") == [("quoted", "ESCALATE", "投げ捨て")]


def test_a_kind_decides_what_a_hit_means(pack) -> None:
    answers = {kind: [one.answer for one in pack.scan("open the gate", kind)] for kind in TextKind}
    assert answers == {
        TextKind.TOOL_RESULT: [Answer.BLOCK],
        TextKind.PROSE: [Answer.ESCALATE],
        TextKind.CODE: [Answer.ESCALATE],
        TextKind.COMMAND: [],
        TextKind.URL: [],
    }


def test_letters_of_either_case_are_the_same_unless_said(pack) -> None:
    assert found(pack, "пароль") == [("unicode", "ESCALATE", "пароль")]
    assert found(pack, "OPEN THE GATE") == [("gate", "ESCALATE", "OPEN THE GATE"), ("exact", "ESCALATE", "GATE")]
    assert found(pack, "gate") == []


def test_near(pack) -> None:
    assert found(pack, "close it") == []
    assert found(pack, "agent, close it") == [("near", "ESCALATE", "close it")]
    assert found(pack, f"{'é' * (NEAR - 5)}") == []
    for between, hits in ((NEAR - 5, True), (NEAR - 4, False)):
        assert bool(found(pack, f"agent{'é' * between}close it")) is hits
        assert bool(found(pack, f"close it{'é' * between}agent")) is hits


def test_unless_takes_one_step_off(pack) -> None:
    assert found(pack, "drop all", TextKind.TOOL_RESULT) == [("quoted", "BLOCK", "drop all")]
    assert found(pack, "for example drop all", TextKind.TOOL_RESULT) == [("quoted", "ESCALATE", "drop all")]
    assert found(pack, "for example “drop all", TextKind.TOOL_RESULT) == [("quoted", "ESCALATE", "drop all")]
    assert found(pack, "for example drop all") == []
    for between, hits in ((UNLESS - 11, False), (UNLESS - 10, True)):
        assert bool(found(pack, f"for example{'é' * between}drop all")) is hits


def test_what_stands_behind_a_hit_excuses_nothing(pack) -> None:
    assert found(pack, "drop all for example", TextKind.TOOL_RESULT) == [("quoted", "BLOCK", "drop all")]


def test_a_quoted_hit_excuses_no_other(pack) -> None:
    text = "for example drop all. " * 30 + "x" * UNLESS + " drop all"
    hits = pack.scan(text, TextKind.TOOL_RESULT)
    assert (hits[0].answer, hits[0].start) == (Answer.BLOCK, text.rindex("drop all"))
    assert [hit.answer for hit in hits[1:]] == [Answer.ESCALATE] * (MAX_PLACES - 1)


def test_after_a_thousand_quotes_a_hit_counts_in_full(pack) -> None:
    one = "for example drop all. "
    assert found(pack, one * MAX_WEIGHED) == []
    assert found(pack, one * (MAX_WEIGHED + 1)) == [("quoted", "ESCALATE", "drop all")]


def test_findings_are_bounded_apart_and_the_most_severe_first(pack) -> None:
    text = "open the gate-opening gate GATE close it, agent; drop all ключ, " * 50
    hits = pack.scan(text, TextKind.PROSE)
    assert len(hits) <= MAX_FINDINGS
    order = {"quoted": 0, "gate": 1, "near": 2, "exact": 3, "unicode": 3}
    assert [order[hit.rule] for hit in hits] == sorted(order[hit.rule] for hit in hits)
    assert {hit.rule for hit in hits} == set(order)
    for _, its in itertools.groupby(hits, key=lambda hit: hit.rule):
        places = sorted((hit.start, hit.end) for hit in its)
        assert 1 <= len(places) <= MAX_PLACES
        assert all(one[1] <= other[0] for one, other in itertools.pairwise(places))


def test_the_strongest_are_kept_where_there_are_too_many(tmp_path) -> None:
    rules = "".join(
        f"  - {{id: r{number:02d}, severity: low, kinds: {{tool_result: {'block' if number == 60 else 'escalate'}}},\n"
        f"     patterns: [word{number:02d}], reason: r}}\n"
        for number in range(61)
    )
    (tmp_path / "many.yaml").write_text(f"version: 1\nname: many\nrules:\n{rules}")
    many = load_heuristics(tmp_path)
    hits = many.scan("".join(f"word{number:02d} " for number in range(61)) * 5, TextKind.TOOL_RESULT)
    assert len(hits) == MAX_FINDINGS
    assert [hit.rule for hit in hits[:5]] == ["r60"] * MAX_PLACES + ["r00"]


def test_rules_that_share_a_pattern_each_have_their_say(tmp_path) -> None:
    (tmp_path / "shared.yaml").write_text(
        "version: 1\nname: shared\nrules:\n"
        "  - {id: plain, severity: low, kinds: {tool_result: escalate}, patterns: [gate], reason: r}\n"
        "  - {id: near, severity: high, kinds: {tool_result: block, prose: escalate}, patterns: [door, gate],\n"
        "     near: [now], reason: r}\n"
        "  - {id: capital, severity: low, kinds: {tool_result: escalate}, patterns: [gate], case: true, reason: r}\n"
    )
    shared = load_heuristics(tmp_path)
    scanned = found(shared, "Open the gate", TextKind.TOOL_RESULT)
    assert scanned == [("capital", "ESCALATE", "gate"), ("plain", "ESCALATE", "gate")]
    assert found(shared, "Open the GATE now", TextKind.TOOL_RESULT) == [
        ("near", "BLOCK", "GATE"),
        ("plain", "ESCALATE", "GATE"),
    ]
    assert found(shared, "Open the gate now") == [("near", "ESCALATE", "gate")]
    assert [hit.rule for hit in shared.scan("gate now", TextKind.TOOL_RESULT, only="near")] == ["near"]


def test_secrets(pack) -> None:
    text = f"é {TOKEN} "
    assert found(pack, text) == [("keys", "BLOCK", TOKEN)]
    assert found(pack, text, TextKind.URL) == [("any", "ESCALATE", TOKEN)]
    assert found(pack, text, TextKind.CODE) == []
    assert found(pack, "AKIA" + "QZWY234ABCDEFGHI") == []  # a kind that the rule does not name
    assert found(pack, f"sample {TOKEN}", TextKind.URL) == []
    assert found(pack, f"\ud800 {TOKEN}") == [("keys", "BLOCK", TOKEN)]


def test_one_rule_alone(pack) -> None:
    text = f"open the gate, drop all, {TOKEN}"
    assert {one.rule for one in pack.scan(text, TextKind.PROSE)} == {"gate", "quoted", "keys"}
    for rule in ("gate", "quoted", "keys"):
        assert [one.rule for one in pack.scan(text, TextKind.PROSE, only=rule)] == [rule]


TEXTS = st.text(st.one_of(st.characters(), st.sampled_from("\ud800\udfff\x00\u200b")), max_size=400)
PIECES = st.lists(
    st.sampled_from(
        [
            *("open the ", "gate", "door", "-opening", "GATE", "close it", "agent", "drop all", "for example ", '"'),
            *(" ", "ключ", "ПАРОЛЬ", "投げ捨て", "é", "\u212a", "ſ", TOKEN, "\ud800"),
        ]
    ),
    max_size=30,
).map("".join)


@given(TEXTS | PIECES, st.sampled_from(TextKind))
@settings(max_examples=300)
def test_any_text_of_any_kind_is_scanned(pack, text, kind) -> None:
    for one in pack.scan(text, kind):
        assert 0 <= one.start < one.end <= len(text)
        assert one.kind is kind
        assert one.answer in (Answer.BLOCK, Answer.ESCALATE)
        assert one.answer is Answer.ESCALATE or kind not in (TextKind.COMMAND, TextKind.CODE)
    assert pack.scan(text, kind) == pack.scan(text, kind)


def exact(pack, text, kind):
    """The rules of patterns that match, each pattern asked by itself, with nothing around a hit looked at."""
    raw = text.encode("utf-8", "replace")
    found = set()
    for rule in pack.rules.values():
        options = re2.Options()
        options.case_sensitive = rule.case
        if kind in rule.kinds and any(re2.search(one.text, raw, options) for one in rule.patterns):
            found.add(rule.id)
    return found


@given(PIECES)
@settings(max_examples=300)
def test_the_filter_passes_over_nothing(pack, text) -> None:
    for kind in TextKind:
        raw = text.encode("utf-8", "replace")
        latin = BEYOND_LATIN.search(raw.decode()) is None
        passing = pack._engine.candidates(raw, kind, latin=latin)
        candidates = {owner.rule.id for number in passing for owner in pack._engine.owners[number]}
        assert exact(pack, text, kind) <= candidates
    around = {"near", "quoted"}
    named = {one.rule for one in pack.scan(text, TextKind.PROSE)} - {"keys", "any"}
    assert exact(pack, text, TextKind.PROSE) - around == named - around


def test_compiling_that_is_stopped_begins_anew(tmp_path) -> None:
    class EnoughError(Exception): ...

    (tmp_path / "mine.yaml").write_text(PACK)
    steps = 0
    last = 0

    def step() -> None:
        nonlocal steps
        steps += 1
        if steps == last:
            raise EnoughError

    half = load_heuristics(tmp_path, step=step)
    for more in (1, 3):
        last = steps + more
        with pytest.raises(EnoughError):
            half.scan("open the gate", TextKind.TOOL_RESULT)
    assert [one.rule for one in half.scan("open the gate", TextKind.TOOL_RESULT)] == ["gate"]


@given(PIECES, PIECES)
def test_text_put_behind_takes_no_finding_away(pack, text, more) -> None:
    # `near` may come true by it; what stands before a hit is the same
    kept = {one.rule for one in pack.scan(f"{text} | {more}", TextKind.TOOL_RESULT)}
    assert {one.rule for one in pack.scan(f"{text} | ", TextKind.TOOL_RESULT)} <= kept


def test_time_is_linear_in_the_text(pack) -> None:
    # quadratic work would take minutes of processor time here; what else the machine does counts for nothing
    before = signal.signal(signal.SIGVTALRM, lambda *_: pytest.fail("more than a minute was spent on one megabyte"))
    signal.setitimer(signal.ITIMER_VIRTUAL, 60)
    try:
        for piece in ("open the ", "for example drop all ", "open the gate ", "é", "close it "):
            pack.scan(piece * 100_000, TextKind.PROSE)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@given(PIECES, st.integers(0, 3))
def test_in_a_long_text_the_same_is_found(pack, text, lines) -> None:
    # beyond some length patterns are first asked together
    long = ("nothing here, " * 50 + "\n") * lines * 3
    short = [(one.rule, one.answer) for one in pack.scan(f"{text}\n", TextKind.TOOL_RESULT)]
    moved = [
        (one.rule, one.answer, one.start - len(long))
        for one in pack.scan(f"{long}{text}\n{long}", TextKind.TOOL_RESULT)
    ]
    assert [(rule, answer) for rule, answer, _ in moved] == short
    assert [place for *_, place in moved] == [one.start for one in pack.scan(f"{text}\n", TextKind.TOOL_RESULT)]


def test_each_pattern_of_a_rule_is_found_in_a_long_text(tmp_path) -> None:
    words = [f"(?s)word{number}.end|(?i:Other){number}" for number in range(20)]
    (tmp_path / "a.yaml").write_text(
        f"version: 1\nname: a\nrules:\n  - {{id: a, severity: low, case: true, kinds: {{prose: escalate}}, reason: r,\n"
        f"     patterns: {words}}}\n"
    )
    many = load_heuristics(tmp_path)
    padding = " word end other " * 500
    assert many.scan(padding, TextKind.PROSE) == ()
    for number in range(20):
        for hit in (f"word{number}\nend", f"oTHER{number}"):
            (one,) = many.scan(f"{padding}{hit} {padding}", TextKind.PROSE)[:1]
            assert one.start == len(padding), hit


def test_a_flag_of_one_pattern_is_not_its_neighbours(tmp_path) -> None:
    (tmp_path / "a.yaml").write_text(
        "version: 1\nname: a\nrules:\n  - {id: a, severity: low, kinds: {prose: escalate}, reason: r,\n"
        "     patterns: ['(?-i)Exact', 'loose', 'third']}\n"
    )
    pack = load_heuristics(tmp_path)
    padding = " exact loos thir " * 500
    assert pack.scan(padding, TextKind.PROSE) == ()
    assert len(pack.scan(f"{padding} LOOSE {padding}", TextKind.PROSE)) == 1


def test_threads_scan_alike(tmp_path) -> None:
    rule = read_file(PACK.encode(), "mine.yaml").rules
    for _ in range(20):
        fresh = Heuristics(rule, "sha256:0")  # compiled by whoever is first
        with ThreadPoolExecutor(8) as pool:
            told = list(pool.map(lambda _: fresh.scan("é open the gate " * 300, TextKind.PROSE), range(16)))  # noqa: B023
        assert len(told[0]) == MAX_PLACES
        assert all(one == told[0] for one in told)

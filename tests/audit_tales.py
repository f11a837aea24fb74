"""Logs to be judged by two verifiers: good ones, and ones that break one rule of `audit/SPEC.md` each.

Whoever spoils a record here holds the key, links, hashes and signs everything anew, so that only the rule is left to
show it. `spoiled_files` is for whoever can only write the folder.
"""

import dataclasses
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from audit_bundles import KINDS, NAME, Bundle, Record, Story, key, kind, opening, record, rotation, signed

STRINGS: Final = [
    "plain",
    "",
    '"quoted" \\ and / and \b\f\n\r\t and \x00\x1f\x7f',
    "\u00e9 e\u0301 \u2028 \ufeff \uffff \U0001f600 \U0010ffff",
    "'; DROP TABLE entries; --",
    "\u202e\u200b",
]
OK: Final = "ok"
TAMPERED: Final = "tampered"
CANNOT_TELL: Final = "cannot tell"


@dataclass(frozen=True)
class Case:
    """A bundle's files and what a verifier must say; `bad` is None where the format does not fix which record."""

    name: str
    files: Mapping[str, bytes]
    vkey: str
    outcome: str
    bad: int | None = None
    since: tuple[str, ...] = ()


def tale(rng: random.Random, size: int, *, changes: int = 1, seals: int = 6) -> Story:
    """A log of `size` records of all kinds, its key changed `changes` times, some of its ends not sealed."""
    turns = sorted(rng.sample(range(2, size), changes))
    records = [opening(0)]
    waiting: dict[str, list[int]] = {"executing": [], "outcome": []}
    while len(records) < size:
        number = len(records)
        if number in turns:
            turn = turns.index(number)
            records.append(rotation(number, key(turn), key(turn + 1)))
        elif rng.random() < 0.08:
            records.append(opening(number, sealed=number - rng.randrange(2) * rng.randrange(number + 1)))
        else:
            records.append(_ordinary(rng, number, waiting))
    sizes = {0, size, *(turn + 1 for turn in turns), *(rng.randrange(size + 1) for _ in range(seals))}
    keys = tuple(key(turn) for turn in range(changes + 1))
    return Story(tuple(records), tuple(sorted(sizes)), keys, tuple(turns))


def _ordinary(rng: random.Random, number: int, waiting: dict[str, list[int]]) -> Record:
    call = f"call-{number}" if rng.random() < 0.8 else None
    body = {
        "text": rng.choice(STRINGS),
        "n": rng.choice([0, -1, 2**53 - 1, 1 - 2**53, number]),
        "deep": [[{}], True, None],
    }
    for name, targets in waiting.items():
        if targets and rng.random() < 0.5:
            ref = targets.pop(rng.randrange(len(targets)))
            if name == "executing":
                waiting["outcome"].append(number)
            return record(name, number, body, ref=ref, call_id=call)
    waiting["executing"].append(number)
    return record("decision", number, body, call_id=call)


def small() -> Story:
    """Twelve records, one of each kind at a known place."""
    records = (
        opening(0),
        record("decision", 1, {"n": 1}, call_id="a"),
        record("approval", 2, {"n": 2}, ref=1, call_id="a"),
        record("executing", 3, {"n": 3}, ref=1, call_id="a"),
        record("outcome", 4, {"n": 4}, ref=3, call_id="a"),
        rotation(5, key(0), key(1)),
        record("decision", 6, {"text": STRINGS[3]}, session=None, agent=None),
        opening(7, sealed=6),
        record("executing", 8, {"n": 8}, ref=6),
        record("approval", 9, {"n": 9}),
        record("decision", 10, {"n": 10}, call_id="b"),
        record("decision", 11, {"n": 11}, call_id="c"),
    )
    return Story(records, (0, 3, 6, 9, 12), (key(0), key(1)), (5,))


def case(name: str, made: Bundle | Story, outcome: str, bad: int | None = None, **more: Any) -> Case:
    bundle = made.bundle() if isinstance(made, Story) else made
    files = dict(bundle.files()) | more.pop("files", {})
    return Case(
        name,
        {path: content for path, content in files.items() if content is not None},
        bundle.trusted,
        outcome,
        bad,
        **more,
    )


def swapped(story: Story, at: int, by: Record) -> Story:
    return replace(story, records=(*story.records[:at], by, *story.records[at + 1 :]))


def members(story: Story, at: int, **more: object) -> Story:
    """The story with other members in record `at`, everything after it linked and signed anew."""
    return swapped(story, at, replace(story.records[at], members={**story.records[at].members, **more}))


def spoiled(story: Story, at: int, spoil: Callable[[bytes], bytes]) -> Story:
    return swapped(story, at, replace(story.records[at], spoil=spoil))


def between(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def spoil(leaf: bytes) -> bytes:
        assert old in leaf, (old, leaf)
        return leaf.replace(old, new, 1)

    return spoil


def cases() -> Iterator[Case]:
    """Every rule of the format, kept and broken."""
    yield from _good()
    yield from _leaves()
    yield from _envelopes()
    yield from _references()
    yield from _openings()
    yield from _changes()
    yield from _checkpoints()
    yield from _elsewhere()
    yield from _selections()
    yield from _folders()


def _good() -> Iterator[Case]:
    story = small()
    yield case("small", story, OK)
    yield case("small, with the newest key", replace(story.bundle(), trusted=key(1).verifier.line()), OK)
    yield case("nothing recorded yet", Story((), (0,)), OK)
    yield case("one record", Story((opening(0),), (0, 1)), OK)
    for size in (255, 256, 257, 513):
        yield case(f"{size} records", tale(random.Random(size), size, changes=2), OK)
    deep = [[[0]]]
    for _ in range(27):
        deep = [deep]
    yield case("as deep as may be", members(story, 1, body={"deep": deep}), OK)
    yield case("deeper", members(story, 1, body={"deep": [deep]}), TAMPERED, 1)
    room = 16_384 - len(members(story, 1, body={"text": ""}).leaves()[1])
    yield case("as long as may be", members(story, 1, body={"text": "x" * room}), OK)
    yield case("longer", members(story, 1, body={"text": "x" * (room + 1)}), TAMPERED, 1)
    yield case("the clock goes back", members(story, 4, time=0, mono_ns="0"), OK)
    yield case("an end that was not sealed", swapped(story, 7, opening(7, sealed=0)), OK)


def _leaves() -> Iterator[Case]:
    story = small()
    for name, old, new in [
        ("space", b'"body":{', b'"body": {'),
        ("newline escape in long form", b'"n":1', b'"n":"\\u000a"'),
        ("upper-case escape", b'"n":1', b'"n":"\\u001F"'),
        ("escaped solidus", b'"n":1', b'"n":"\\/"'),
        ("escaped letter", b'"n":1', b'"n":"\\u0041"'),
        ("escaped surrogate", b'"n":1', b'"n":"\\ud800"'),
        ("unknown escape", b'"n":1', b'"n":"\\x"'),
        ("raw control character", b'"n":1', b'"n":"\x01"'),
        ("encoded surrogate", b'"n":1', b'"n":"\xed\xa0\x80"'),
        ("overlong UTF-8", b'"n":1', b'"n":"\xc0\xaf"'),
        ("half of UTF-8", b'"n":1', b'"n":"\xc3"'),
        ("beyond Unicode", b'"n":1', b'"n":"\xf4\x90\x80\x80"'),
        ("fraction", b'"n":1', b'"n":1.0'),
        ("exponent", b'"n":1', b'"n":1e0'),
        ("minus zero", b'"n":1', b'"n":-0'),
        ("leading zero", b'"n":1', b'"n":01'),
        ("plus", b'"n":1', b'"n":+1'),
        ("NaN", b'"n":1', b'"n":NaN'),
        ("Infinity", b'"n":1', b'"n":Infinity'),
        ("too large an integer", b'"n":1', b'"n":9007199254740992'),
        ("too small an integer", b'"n":1', b'"n":-9007199254740992'),
        ("a number of many digits", b'"n":1', b'"n":1' + b"0" * 400),
        ("no value", b'"n":1', b'"n":'),
        ("comma at the end", b'"n":1', b'"n":1,'),
        ("comma at the end of a list", b'"n":1', b'"n":[1,]'),
        ("semicolon", b'"n":1', b'"n":1;"o":1'),
        ("no colon", b'"n":1', b'"n";1'),
        ("other quotes at the beginning", b'"n":1', b"'n\":1"),
        ("literal of the same length", b'"n":1', b'"n":nuLL'),
        ("two commas", b'"n":1', b'"n":[1,,1]'),
        ("list without end", b'"n":1', b'"n":[1'),
        ("member twice", b'"n":1', b'"n":1,"n":1'),
        ("members that fall", b'"n":1', b'"n":1,"m":1'),
        ("member that is not ASCII", b'"n":1', b'"n":1,"\xc3\xa9":1'),
        ("a member of an inner object twice", b'"n":1', b'"n":{"a":1,"a":2}'),
        ("capital literal", b'"n":1', b'"n":True'),
        ("half a literal", b'"n":1', b'"n":tru'),
        ("apostrophes", b'"n":1', b"\"n\":'1'"),
        ("comment", b'"n":1', b'"n":1/**/'),
        ("byte order mark", b'{"agent"', b'\xef\xbb\xbf{"agent"'),
        ("something after", b'"v":1}', b'"v":1}{}'),
        ("space after", b'"v":1}', b'"v":1} '),
        ("carriage return after", b'"v":1}', b'"v":1}\r'),
        ("no end", b'"v":1}', b'"v":1'),
        ("version as a truth", b'"v":1}', b'"v":true}'),
    ]:
        yield case(name, spoiled(story, 1, between(old, new)), TAMPERED, 1)
    for name, leaf in [
        ("empty line", b""),
        ("a list", b"[]"),
        ("a string", b'"x"'),
        ("null", b"null"),
        ("nothing but braces", b"{}"),
    ]:
        yield case(name, spoiled(story, 1, lambda _, leaf=leaf: leaf), TAMPERED, 1)
    yield case(
        "escapes that are canonical",
        spoiled(story, 1, between(b'"n":1', b'"n":"\\b\\f\\n\\r\\t\\"\\\\\\u0000\\u001f\x7f/"')),
        OK,
    )
    yield case(
        "names that need escapes",
        members(story, 1, body={"\x00": 1, "\n": 1, '"': 1, "\\": 1, "~": 1, "\x7f": 1, "": 1}),
        OK,
    )
    yield case(
        "names of a language's own",
        members(story, 1, body={"__proto__": {"a": 1}, "constructor": 1, "hasOwnProperty": 2}),
        OK,
    )


def _envelopes() -> Iterator[Case]:
    story = small()
    for name, more in [
        ("another version", {"v": 2}),
        ("version as text", {"v": "1"}),
        ("another log", {"log": "other.example/01K"}),
        ("another place", {"seq": 11}),
        ("a place before the first", {"seq": -1}),
        ("a place as text", {"seq": "10"}),
        ("no link", {"prev": None}),
        ("another link", {"prev": "0" * 64}),
        ("a link in capitals", {"prev": "A" * 64}),
        ("a short link", {"prev": "0" * 63}),
        ("kind with a capital", {"kind": "Decision"}),
        ("kind without letters", {"kind": ""}),
        ("kind of 33 letters", {"kind": "d" * 33}),
        ("kind that is none", {"kind": None}),
        ("kind that the table lacks", {"kind": "unheard"}),
        ("negative time", {"time": -1}),
        ("time as text", {"time": "1"}),
        ("time as truth", {"time": True}),
        ("clock as number", {"mono_ns": 1}),
        ("clock with a zero", {"mono_ns": "01"}),
        ("clock of 21 digits", {"mono_ns": "1" * 21}),
        ("negative clock", {"mono_ns": "-1"}),
        ("no boot", {"boot_id": None}),
        ("boot with a space", {"boot_id": "a b"}),
        ("session of no letters", {"session": ""}),
        ("session of 65 letters", {"session": "s" * 65}),
        ("session with a slash", {"session": "a/b"}),
        ("session with a newline at its end", {"session": "a\n"}),
        ("agent as number", {"agent": 1}),
        ("call as list", {"call_id": []}),
        ("no body", {"body": None}),
        ("body as list", {"body": []}),
        ("one member more", {"extra": 1}),
        ("a decision that refers", {"ref": 1}),
    ]:
        yield case(name, members(story, 10, **more), TAMPERED, 10)
    lacking = {name: value for name, value in story.records[10].members.items() if name != "agent"}
    yield case("one member less", swapped(story, 10, Record(lacking)), TAMPERED, 10)
    yield case("digits of other scripts", members(story, 10, mono_ns="\u0661"), TAMPERED, 10)
    yield case("clock of 20 digits", members(story, 10, mono_ns="9" * 20), OK)
    yield case("a link in the first record", members(story, 0, prev="0" * 64), TAMPERED, 0)
    yield case("a call that comes again", members(story, 11, call_id="b"), TAMPERED, 11)
    yield case("a call that comes again as another kind", members(story, 9, call_id="b"), OK)
    yield case("names of all signs", members(story, 10, session="aZ09._:-", agent="s" * 64, call_id="-"), OK)


def _references() -> Iterator[Case]:
    story = small()
    yield case("refers to itself", members(story, 9, ref=9), TAMPERED, 9)
    yield case("refers to what comes", members(story, 9, ref=10), TAMPERED, 9)
    yield case("refers to what never comes", members(story, 9, ref=2**53 - 1), TAMPERED, 9)
    yield case("refers to before the first", members(story, 9, ref=-1), TAMPERED, 9)
    yield case("refers by truth", members(story, 9, ref=True), TAMPERED, 9)
    yield case("refers by text", members(story, 9, ref="1"), TAMPERED, 9)
    yield case("approves", members(story, 9, ref=1), OK)
    yield case("approves no decision", members(story, 9, ref=3), TAMPERED, 9)
    yield case("executes twice", members(story, 8, ref=1), TAMPERED, 8)
    yield case("executes nothing", members(story, 8, ref=None), TAMPERED, 8)
    yield case("executes an opening", members(story, 8, ref=0), TAMPERED, 8)
    yield case("ends a decision", swapped(story, 8, record("outcome", 8, ref=6)), TAMPERED, 8)
    yield case("ends twice", swapped(story, 8, record("outcome", 8, ref=3)), TAMPERED, 8)
    table = {**KINDS, "executing": kind("must", to=["decision"])}
    free = swapped(story, 7, opening(7, kinds=table))
    yield case("executes twice where a table allows it", members(free, 8, ref=1), OK)
    any_ = swapped(story, 7, opening(7, kinds={**KINDS, "approval": kind("may")}))
    for ref in (9, 10):
        yield case(f"approves {ref} where a table allows anything", members(any_, 9, ref=ref), TAMPERED, 9)
    yield case("approves anything where a table allows it", members(any_, 9, ref=3), OK)


def _openings() -> Iterator[Case]:
    story = small()
    own: dict[str, Any] = {"kinds": KINDS, "sealed": 7, "size": 7}
    without = {name: rule for name, rule in KINDS.items() if name != "log.open"}
    for name, body in [
        ("says nothing of itself", {}),
        ("says a list of itself", {"log": []}),
        ("says too little", {"log": {"kinds": KINDS, "size": 7}}),
        ("says too much", {"log": {**own, "more": 1}}),
        ("found more than there was", {"log": {**own, "size": 8}}),
        ("sealed more than it found", {"log": {**own, "sealed": 8}}),
        ("sealed less than nothing", {"log": {**own, "sealed": -1}}),
        ("size as truth", {"log": {**own, "size": True, "sealed": True}}),
        ("no table", {"log": {**own, "kinds": None}}),
        ("empty table", {"log": {**own, "kinds": {}}}),
        ("table without openings", {"log": {**own, "kinds": without}}),
    ]:
        yield case(f"an opening: {name}", swapped(story, 7, record("log.open", 7, body, session=None)), TAMPERED, 7)
    for name, rule in [
        ("no object", True),
        ("no once", {"ref": "may", "then": [], "to": []}),
        ("one member more", {**kind(), "more": 1}),
        ("once as number", {**kind("may"), "once": 1}),
        ("unknown ref", kind("always")),
        ("ref as list", {**kind(), "ref": []}),
        ("to as text", {**kind("may"), "to": "decision"}),
        ("to of numbers", {**kind("may"), "to": [1]}),
        ("to of unknown", kind("may", to=["unheard"])),
        ("then of unknown", kind("may", then=["unheard"])),
        ("to not sorted", {**kind("may"), "to": ["outcome", "decision"]}),
        ("then twice the same", {**kind("may"), "then": ["decision", "decision"]}),
        ("to where it never refers", kind(to=["decision"])),
        ("once where it never refers", kind(once=True)),
    ]:
        spoilt = opening(7, kinds={**KINDS, "approval": rule})
        yield case(f"a table: {name}", swapped(story, 7, spoilt), TAMPERED, 7)
    yield case(
        "a table: malformed name", swapped(story, 7, opening(7, kinds={**KINDS, "Approval": kind()})), TAMPERED, 7
    )
    yield case(
        "a table: openings that refer",
        swapped(story, 7, opening(7, kinds={**KINDS, "log.open": kind("may")})),
        TAMPERED,
        7,
    )
    lost = {name: rule for name, rule in KINDS.items() if name != "approval"}
    yield case("a kind that is not in force any more", swapped(story, 7, opening(7, kinds=lost)), TAMPERED, 9)
    no_open = swapped(story, 0, record("decision", 0))
    yield case("begins with a decision", no_open, TAMPERED, 0)


def _changes() -> Iterator[Case]:
    story = small()
    old, new, third = key(0), key(1), key(2)
    bundle = story.bundle()
    for name, record_ in [
        ("from a key that was never in force", rotation(5, third, new)),
        ("to itself", rotation(5, old, old)),
        ("of another name", rotation(5, key(0, "other.example/01K"), key(1, "other.example/01K"))),
        ("says nothing", record("key.rotate", 5, {}, session=None)),
        (
            "says too much",
            record("key.rotate", 5, {"log": {"from": old.verifier.line(), "to": new.verifier.line(), "x": 1}}),
        ),
        ("says no key", record("key.rotate", 5, {"log": {"from": old.verifier.line(), "to": "x"}})),
        (
            "with a newline",
            record("key.rotate", 5, {"log": {"from": old.verifier.line(), "to": new.verifier.line() + "\n"}}),
        ),
    ]:
        bad = None if name.startswith(("from a key", "of another")) else 5  # then the trusted key is none of the log's
        yield case(f"a key change: {name}", swapped(story, 5, record_), TAMPERED, bad)
    stranger = key(1, "other.example/01K").verifier.line()
    half = record("key.rotate", 5, {"log": {"from": old.verifier.line(), "to": stranger}}, session=None)
    yield case("a key change: to one of another name", swapped(story, 5, half), TAMPERED, 5)
    line = new.verifier.line()
    other = f"{NAME}+{third.verifier.id.hex()}+{line.split('+', 2)[2]}"
    half = record("key.rotate", 5, {"log": {"from": old.verifier.line(), "to": other}}, session=None)
    yield case("a key change: to one of another id", swapped(story, 5, half), TAMPERED, 5)
    fork = replace(swapped(story, 8, rotation(8, old, third)), keys=(old, new, third), changes=(5, 8))
    yield case("a key change: from one that was replaced", fork, TAMPERED)
    back = swapped(story, 8, rotation(8, new, old))
    yield case("a key comes back", replace(back, keys=(old, new, old), changes=(5, 8)), TAMPERED)
    twice = replace(
        swapped(story, 6, rotation(6, new, third)), keys=(old, new, third), changes=(5, 6), seals=(0, 3, 6, 7, 12)
    )
    twice = replace(twice, records=(*twice.records[:8], record("decision", 8), *twice.records[9:]))
    yield case("two changes in a row", twice, OK)
    yield case("two changes in a row, with the key between", replace(twice.bundle(), trusted=new.verifier.line()), OK)
    yield case("a key that the log never had", replace(bundle, trusted=third.verifier.line()), TAMPERED)
    yield case("no checkpoint at the change", replace(story, seals=(0, 3, 9, 12)), TAMPERED)

    def signed_by(size: int, *keys: Any) -> Bundle:
        text = story.note(size).split("\n\n")[0] + "\n"
        return replace(
            bundle, notes=tuple(signed(text, keys) if note.startswith(text) else note for note in bundle.notes)
        )

    for name, size, keys in [
        ("the old key after its time", 9, (old,)),
        ("the old key too after its time", 9, (old, new)),
        ("the new key before its time", 3, (new,)),
        ("the new key too before its time", 3, (old, new)),
        ("only the old key at the change", 6, (old,)),
        ("only the new key at the change", 6, (new,)),
        ("the new key for the empty log", 0, (new,)),
        ("a stranger", 9, (third,)),
    ]:
        yield case(f"signed by {name}", signed_by(size, *keys), TAMPERED)
    yield case("signed by a stranger too", signed_by(9, new, third), OK)
    yield case("signed by both at the change, the new one first", signed_by(6, new, old), OK)


def _note(text: str, *keys: Any) -> str:
    return signed(text, keys)


def _checkpoints() -> Iterator[Case]:
    story = Story(small().records[:5], (0, 3, 5))
    own = story.keys[0]
    bundle = story.bundle()
    empty, middle, last = bundle.notes
    text = middle.split("\n\n")[0] + "\n"
    line = middle.split("\n\n")[1]
    forged = line[:-6] + ("AAAA" if line[-6:-2] != "AAAA" else "BBBB") + line[-2:]
    for name, note in [
        ("root of others", _note(text.replace("\n3\n", "\n4\n"), own)),
        ("another root", _note("\n".join([NAME, "3", empty.split("\n")[2], ""]), own)),
        ("signature of others", empty.replace("\n0\n", "\n3\n")),
        ("forged line beside a good one", f"{text}\n{line}{forged}"),
        ("no line", f"{text}\n"),
        ("no empty line", f"{text}{line}"),
        ("no newline at the end", middle[:-1]),
        ("an empty line more at the end", middle + "\n"),
        ("a line of another form", middle + "x\n"),
        ("a line of too little", middle + "\u2014 w AAAA\n"),
        ("a line of a name with a plus", middle + "\u2014 a+b AAAAAAAA\n"),
        ("a line of two spaces", middle + "\u2014  w AAAAAAAA\n"),
        ("a line of stray bits", middle + "\u2014 w AAAAAAB=\n"),
        ("a line without padding", middle + "\u2014 w AAAAAAA\n"),
        ("a line of url base64", middle + "\u2014 w AAAA-_AA\n"),
        ("a line with a hyphen", middle + "- w AAAAAAAA\n"),
        ("17 lines", middle + "\u2014 w AAAAAAAA\n" * 16),
        ("a tab", middle + "\u2014 w\t AAAAAAAA\n"),
        ("a control character in another's name", middle + "\u2014 w\x01 AAAAAAAA\n"),
        ("a delete character in another's name", middle + "\u2014 w\x7f AAAAAAAA\n"),
        ("of more records", _note(text.replace("\n3\n", "\n6\n"), own)),
        ("carriage returns", middle.replace("\n", "\r\n")),
        ("four lines", _note(text + "extra\n", own)),
        ("an empty line within", _note(text + "\n", own)),
        ("two lines", _note("\n".join(text.split("\n")[:2]) + "\n", own)),
        ("a size with a zero", _note(text.replace("\n3\n", "\n03\n"), own)),
        ("a size with a sign", _note(text.replace("\n3\n", "\n+3\n"), own)),
        ("a size beyond all", _note(text.replace("\n3\n", "\n9007199254740992\n"), own)),
        ("a root without padding", _note(text.replace("=\n", "\n"), own)),
        ("a root of 31 bytes", _note(f"{NAME}\n3\n{'A' * 40}AA==\n", own)),
        ("of another log", _note(text.replace(NAME, "other.example/01K"), own)),
        ("another name on the line", middle.replace(f"\u2014 {NAME}", "\u2014 other")),
        ("too long", middle + f"\u2014 w {'A' * 65_536}\n"),
    ]:
        yield case(f"a checkpoint: {name}", replace(bundle, notes=(empty, note, last)), TAMPERED)
    for name, note in [
        ("16 lines", middle + "\u2014 w AAAAAAAA\n" * 15),
        ("a line of a name that is not ASCII", middle + "\u2014 \u00e9\u200b AAAAAAAA\n"),
        ("the same line twice", middle + line),
    ]:
        yield case(f"a checkpoint: {name}", replace(bundle, notes=(empty, note, last)), OK)
    yield case("the empty log's checkpoint is not there", replace(bundle, notes=(middle, last)), TAMPERED)
    yield case("a checkpoint twice", replace(bundle, notes=(empty, middle, middle, last)), TAMPERED)
    yield case("checkpoints in another order", replace(bundle, notes=(middle, empty, last)), TAMPERED)
    files = bundle.files()
    broken = files["checkpoints"].replace(b"\xe2\x80\x94 ", b"\xe2\x80 \x94", 1)
    yield case("checkpoints that are not UTF-8", bundle, TAMPERED, files={"checkpoints": broken})
    seen = f"{last}\u2014 w AAAAAAAA\n".encode()
    yield case("the newest checkpoint has a line more", bundle, TAMPERED, files={"checkpoint": seen})
    beyond = story.note(5).replace("\n5\n", "\n6\n")
    yield case("a checkpoint larger than the newest", replace(bundle, notes=(empty, beyond, last)), TAMPERED)
    yield case("some checkpoints less", replace(bundle, notes=(empty, last)), OK)


def _elsewhere() -> Iterator[Case]:
    story = small()
    bundle = story.bundle()

    def kept(name: str, notes: tuple[str, ...], outcome: str, held: Story = story) -> Case:
        return case(f"kept elsewhere: {name}", held, outcome, since=notes)

    for size in (0, 1, 5, 6, 7, 12):
        yield kept(f"one of {size}", (story.note(size),), OK)
    other = members(story, 1, body={"n": 2})
    yield kept("one of another history", (other.note(2),), TAMPERED)
    yield kept("one of another history before", (other.note(1), story.note(4)), OK)
    cut = replace(story, records=story.records[:9], seals=(0, 3, 6, 9))
    yield kept("one of more records", (bundle.notes[-1],), TAMPERED, cut)
    text = story.note(9).split("\n\n")[0] + "\n"
    yield kept("one of a stranger", (_note(text, key(3)),), CANNOT_TELL)
    yield kept("one of the old key after its time", (_note(text, key(0)),), CANNOT_TELL)
    yield kept("one of another log", (_note(text.replace(NAME, "other.example/01K"), key(1)),), CANNOT_TELL)
    yield kept("no checkpoint at all", ("x",), CANNOT_TELL)
    yield kept("nothing", ("",), CANNOT_TELL)


def _selections() -> Iterator[Case]:
    story = small()
    bundle = story.bundle()
    yield case("some records", replace(bundle, chosen=(1, 4, 5, 11)), OK)
    yield case("some records, but not the change", replace(bundle, chosen=(1, 4)), TAMPERED)
    yield case("the change only", replace(bundle, chosen=(5,)), OK)
    some = replace(bundle, chosen=(1, 2, 5))
    lines = some.files()["records.jsonl"].split(b"\n")
    for name, records in [
        ("in another order", [lines[1], lines[0], lines[2], b""]),
        ("one twice", [lines[0], lines[0], lines[2], b""]),
    ]:
        yield case(f"some records, {name}", some, TAMPERED, files={"records.jsonl": b"\n".join(records)})
    other = members(story, 2, body={"n": 3}).leaves()[2]
    yield case(
        "some records, one of them another",
        some,
        TAMPERED,
        2,
        files={"records.jsonl": b"\n".join([lines[0], other, lines[2], b""])},
    )
    yield case(
        "some records, but all leaves",
        some,
        TAMPERED,
        files={"tile/entries/000.p/12": bundle.files()["tile/entries/000.p/12"]},
    )


def _folders() -> Iterator[Case]:
    bundle = small().bundle()
    files = bundle.files()
    tile = "tile/0/000.p/12"
    for name, more in [
        ("a tile is not there", {tile: None}),
        ("a tile too many", {"tile/0/001.p/1": b"\0" * 32}),
        ("a level too many", {"tile/1/000.p/1": b"\0" * 32}),
        ("a tile of another width", {tile: None, "tile/0/000.p/11": files[tile][:-32]}),
        ("a tile that is too short", {tile: files[tile][:-1]}),
        ("a tile that is too long", {tile: files[tile] + b"\0"}),
        ("an older tile beside it", {"tile/0/000.p/11": files[tile][:-32]}),
        ("an entry bundle of others", {"tile/entries/000.p/12": b"\0\1x"}),
        ("an entry bundle is not there", {"tile/entries/000.p/12": None}),
        ("a file where none belongs", {"tile/0/README": b""}),
        ("no newline at the end of the records", {"records.jsonl": files["records.jsonl"][:-1]}),
        ("no key", {"audit.vkey": None}),
        ("another key", {"audit.vkey": key(0).verifier.line().encode() + b"\n"}),
        ("no checkpoints", {"checkpoints": None}),
        ("empty checkpoints", {"checkpoints": b""}),
        ("checkpoints cut", {"checkpoints": files["checkpoints"][:-1]}),
        ("a length with a zero", {"checkpoints": b"0" + files["checkpoints"]}),
        ("a length beyond the end", {"checkpoints": files["checkpoints"] + b"9\n"}),
        ("something after the checkpoints", {"checkpoints": files["checkpoints"] + b"x"}),
        ("the newest checkpoint is cut", {"checkpoint": files["checkpoint"][:-1]}),
        ("the newest checkpoint is empty", {"checkpoint": b""}),
    ]:
        yield case(name, bundle, TAMPERED, files=more)
    yield case(
        "an empty line at the end of the records",
        bundle,
        TAMPERED,
        12,
        files={"records.jsonl": files["records.jsonl"] + b"\n"},
    )
    yield case(
        "the newest checkpoint is an older one", bundle, TAMPERED, files={"checkpoint": bundle.notes[-2].encode()}
    )
    for at in (0, 6, 11):
        edited = members(small(), at, time=1).bundle()
        leaves = (*bundle.leaves[:at], edited.leaves[at], *bundle.leaves[at + 1 :])
        shown = replace(bundle, leaves=leaves).files()
        some = {name: shown[name] for name in ("records.jsonl", "tile/entries/000.p/12")}
        yield case(f"record {at} is another, its hash is not", bundle, TAMPERED, at, files=some)
    wide = tale(random.Random(0), 257).bundle()
    above = wide.files()["tile/1/000.p/1"]
    changed = bytes([above[0] ^ 1]) + above[1:]
    yield case("a tile of level 1 with another hash", wide, TAMPERED, files={"tile/1/000.p/1": changed})
    yield case("no records", bundle, CANNOT_TELL, files={"records.jsonl": None})
    yield case("no newest checkpoint", bundle, CANNOT_TELL, files={"checkpoint": None})
    yield dataclasses.replace(case("nothing", bundle, CANNOT_TELL), files={})
    yield dataclasses.replace(
        case("a key of another name", bundle, CANNOT_TELL), vkey=key(0, "other.example/01K").verifier.line()
    )


def spoiled_files(rng: random.Random, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """One change that whoever can write the folder may make."""
    out = dict(files)
    name = rng.choice(["records.jsonl"] * 4 + ["checkpoint", "checkpoints"] * 2 + sorted(files))
    content = out[name]
    lines = content.splitlines(keepends=True)
    at, other = rng.randrange(len(content) + 1), rng.randrange(len(content) + 1)
    nth, mth = rng.randrange(len(lines) + 1), rng.randrange(len(lines) + 1)
    match rng.randrange(9):
        case 0 | 1 | 2 if content:
            at = min(at, len(content) - 1)
            out[name] = content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]
        case 3:
            out[name] = content[: min(at, other)] + content[max(at, other) :]
        case 4:
            out[name] = b"".join([*lines[:nth], *lines[nth + 1 :]])
        case 5:
            out[name] = b"".join([*lines[:nth], *lines[mth : mth + 1], *lines[nth:]])
        case 6:
            lines[nth : nth + 2] = reversed(lines[nth : nth + 2])
            out[name] = b"".join(lines)
        case 7:
            out[name] = content[:at] + rng.choice([b"\n", b"\0", b" ", b"0", b"{}", b"=", b"\r\n"]) + content[at:]
        case _:
            taken = rng.choice(sorted(files))
            out[name] = files[taken]
    return out


def spoiled_story(rng: random.Random, story: Story) -> Story:
    """One change to one record by whoever has the keys, everything after it linked, hashed and signed anew."""
    at = rng.randrange(len(story.records))
    one = story.records[at]
    if rng.random() < 0.5:
        name = rng.choice(sorted(one.members))
        donor = rng.choice(story.records).members[name]
        values = [donor, None, -1, 0, 1, "", "x", rng.randrange(len(story.records)), True, {}, [], 2**53]
        return members(story, at, **{name: rng.choice(values)})

    part, width = rng.random(), rng.randrange(2)
    tokens = [b"", b" ", b"0", b"1", b",", b'"', b"\\u0041", b"null", b"{}", b"\x00", b"\xff", b"-", b"\\"]
    token = rng.choice(tokens)

    def spoil(leaf: bytes) -> bytes:
        place = int(part * len(leaf))
        return leaf[:place] + token + leaf[place + width :]

    return spoiled(story, at, spoil)

"""The specification's test files (`cel-spec/tests/simple/testdata/*.textproto`) and what this compiler makes of them.

A strict reader of protobuf's text format, as far as the files use it, then one outcome per test. Run as a program it
prints the published table: `PYTHONPATH=tests python -P tests/cel_vectors.py FOLDER > docs/reference/cel-conformance.md`.
"""

import math
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from shield.policy.cel import CelError, CelLoadError, compile_expression
from shield.policy.cel.convert import TypeName
from shield.policy.cel.schema import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    ListOf,
    MapOf,
    Schema,
    Type,
)
from shield.policy.cel.times import Duration, Timestamp

TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\n]+|\#[^\n]*)
      | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<number>-?(?:0x[0-9a-fA-F]+|inf|nan|[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?\.?)f?(?![\w]))
      | (?P<name>-?[A-Za-z_][\w.]*)
      | (?P<any>\[[A-Za-z_][\w./]*\])
      | (?P<mark>[{}<>:,;\[\]])""",
    re.VERBOSE,
)
ESCAPE = re.compile(
    rb"""\\(?:([abfnrtv\\'"?])|([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))""", re.VERBOSE
)
SIMPLE = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))

Message = dict[str, list["Message | bytes | str"]]


class MalformedError(Exception):
    """The file is not text format as this reader knows it."""


def tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        found = TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise MalformedError(f"offset {at}: {text[at : at + 20]!r}")
        if found.lastgroup != "blank":
            yield found.lastgroup, found.group()
        at = found.end()
    yield "end", ""


def unescape(text: str) -> bytes:
    def one(found: re.Match[bytes]) -> bytes:
        simple, octal, code, short, wide = found.groups()
        if simple:
            return bytes([SIMPLE.get(simple[0], simple[0])])
        if octal or code:
            return bytes([int(octal, 8) if octal else int(code, 16)])
        return chr(int(short or wide, 16)).encode()

    return ESCAPE.sub(one, text[1:-1].encode())


class Reader:
    """Reads one file into nested messages: a field's values in order, strings as bytes, anything else as written."""

    def __init__(self, text: str) -> None:
        self.rest = list(tokens(text))[::-1]

    def take(self, want: str | None = None) -> tuple[str, str]:
        kind, text = self.rest.pop()
        if want is not None and text != want:
            raise MalformedError(f"expected {want}, found {text}")
        return kind, text

    def peek(self) -> tuple[str, str]:
        return self.rest[-1]

    def message(self, end: str) -> Message:
        out: Message = {}
        while self.peek()[1] != end or self.peek()[0] == "string":
            kind, name = self.take()
            if kind not in ("name", "any"):
                raise MalformedError(f"expected a field, found {name}")
            if self.peek()[1] == ":":
                self.take()
            out.setdefault(name, []).extend(self.values())
            if self.peek()[1] in (",", ";"):
                self.take()
        self.take(end)
        return out

    def values(self) -> list["Message | bytes | str"]:
        if self.peek() != ("mark", "["):
            return [self.value()]
        self.take()
        out = []
        while self.peek()[1] != "]":
            out.append(self.value())
            if self.peek()[1] == ",":
                self.take()
        self.take("]")
        return out

    def value(self) -> "Message | bytes | str":
        kind, text = self.take()
        if text in ("{", "<") and kind == "mark":
            return self.message("}" if text == "{" else ">")
        if kind == "string":
            joined = unescape(text)
            while self.peek()[0] == "string":
                joined += unescape(self.take()[1])
            return joined
        if kind not in ("name", "number"):
            raise MalformedError(f"expected a value, found {text}")
        return text


class Outcome(StrEnum):
    PASS = "pass"
    REFUSED = "refused"
    SKIP = "skip"
    WRONG = "wrong"


class SkipError(Exception):
    """The test needs what is outside this compiler: the text says what."""


NEEDS = re.compile(
    r"TestAllTypes|NestedTestAll|TestRequired|google\.protobuf\.(?!Timestamp|Duration)|google\.type|cel\.expr|GlobalEnum|"
    r"NestedEnum|proto2|proto3|proto\.|wellknown|Int32Value|Int64Value|StringValue|BoolValue|@result|cel\.@|cel\.block|"
    r"cel\.index|cel\.iterVar|cel\.accuVar|cel\.attribute"
)


def one(message: Message, name: str) -> "Message | bytes | str":
    found = message[name]
    if len(found) != 1:
        raise MalformedError(f"{name} is there {len(found)} times")
    return found[0]


def text_of(message: Message, name: str) -> str:
    found = message.get(name, [b""])[0]
    assert isinstance(found, bytes)
    return found.decode()


def nested(message: Message, name: str) -> Message:
    found = one(message, name)
    assert isinstance(found, dict)
    return found


def number(text: str) -> float:
    return float(text.rstrip("f")) if "inf" not in text else float(text)


def value_of(message: Message) -> object:
    """A `cel.expr.Value` as this compiler's run-time value."""
    if not message:
        raise SkipError("value without a kind")
    ((kind, found),) = message.items()
    item = found[-1]
    match kind, item:
        case "null_value", _:
            return None
        case "bool_value", str():
            return item == "true"
        case "int64_value", str():
            return int(item, 0)
        case "uint64_value", _:
            raise SkipError("uint")
        case "double_value", str():
            return number(item)
        case "string_value", bytes():
            return item.decode()
        case "bytes_value", bytes():
            return item
        case "type_value", bytes():
            return TypeName(item.decode())
        case "list_value", dict():
            return [value_of(part) for part in item.get("values", []) if isinstance(part, dict)]
        case "map_value", dict():
            entries = [entry for entry in item.get("entries", []) if isinstance(entry, dict)]
            return {plain(value_of(nested(e, "key"))): value_of(nested(e, "value")) for e in entries}
        case "object_value", dict():
            for name, kind_of in (("Timestamp", Timestamp), ("Duration", Duration)):
                inner = item.get(f"[type.googleapis.com/google.protobuf.{name}]", [None])[0]
                if isinstance(inner, dict):
                    parts = [int(str(inner.get(part, ["0"])[0])) for part in ("seconds", "nanos")]
                    return kind_of(parts[0] * 10**9 + parts[1])
    raise SkipError("protobuf messages")


def plain(key: object) -> object:
    return key


PRIMITIVE: dict[str, Type] = {"BOOL": BOOL, "INT64": INT, "DOUBLE": DOUBLE, "STRING": STRING, "BYTES": BYTES}


def type_of(message: Message) -> Type:
    ((kind, found),) = message.items()
    item = found[-1]
    match kind, item:
        case "dyn", _:
            return DYN
        case "null", _:
            return NULL
        case "primitive", str():
            if item == "UINT64":
                raise SkipError("uint")
            return PRIMITIVE[item]
        case "well_known", "TIMESTAMP":
            return TIMESTAMP
        case "well_known", "DURATION":
            return DURATION
        case "list_type", dict():
            return ListOf(type_of(nested(item, "elem_type")))
        case "map_type", dict():
            return MapOf(type_of(nested(item, "key_type")), type_of(nested(item, "value_type")))
        case "type", _:
            return TYPE
    raise SkipError("declared type: " + kind)


def same(got: object, want: object) -> bool:
    """Equal, of the same CEL type, all the way down. NaN is itself here."""
    if isinstance(got, str) and isinstance(want, str):
        return got == want
    if isinstance(want, list):
        return isinstance(got, list | tuple) and len(got) == len(want) and all(map(same, got, want))
    if type(got) is not type(want):
        return False
    if isinstance(want, dict):
        assert isinstance(got, dict)
        return len(got) == len(want) and all(
            any(same(a, b) and same(v, w) for b, w in want.items()) for a, v in got.items()
        )
    if isinstance(want, float):
        assert isinstance(got, float)
        return (math.isnan(got) and math.isnan(want)) or got == want
    return got == want


@dataclass(frozen=True, slots=True)
class Case:
    file: str
    section: str
    test: Message
    name: str = field(default="")

    @property
    def expr(self) -> str:
        return text_of(self.test, "expr")


def cases(folder: Path) -> Iterator[Case]:
    for path in sorted(folder.glob("*.textproto")):
        parsed = Reader(path.read_text(encoding="utf-8")).message("")
        for section in parsed.get("section", []):
            assert isinstance(section, dict)
            for test in section.get("test", []):
                assert isinstance(test, dict)
                yield Case(path.stem, text_of(section, "name"), test, text_of(test, "name"))


def judge(case: Case) -> tuple[Outcome, str]:
    """What this compiler makes of one test, and why."""
    test = case.test
    try:
        container = text_of(test, "container")
        if NEEDS.search(case.expr) or container.startswith("cel.expr"):
            raise SkipError("protobuf messages or enums")
        if container:
            raise SkipError("containers")
        for flag in ("check_only", "disable_macros"):
            if flag in test:
                raise SkipError(flag)
        roots: dict[str, Type] = {}
        for declared in test.get("type_env", []):
            assert isinstance(declared, dict)
            if "ident" not in declared:
                raise SkipError("declared functions")
            roots[text_of(declared, "name")] = type_of(nested(nested(declared, "ident"), "type"))
        values: dict[str, object] = {}
        for bound in test.get("bindings", []):
            assert isinstance(bound, dict)
            outer = nested(bound, "value")
            if "value" not in outer:
                raise SkipError("unknown or error bindings")
            values[text_of(bound, "key")] = value_of(nested(outer, "value"))
        if any("." in name for name in (*roots, *values)):
            raise SkipError("dotted variables")
        want: object = True
        if "value" in test:
            want = value_of(nested(test, "value"))
        elif "typed_result" in test:
            want = value_of(nested(nested(test, "typed_result"), "result"))
        wants_error = "eval_error" in test or "any_eval_errors" in test
        if "unknown" in test or "any_unknowns" in test:
            raise SkipError("unknowns")
    except SkipError as reason:
        return Outcome.SKIP, str(reason)
    schema = Schema(roots={**dict.fromkeys(values, DYN), **roots})
    try:
        expression = compile_expression(case.expr, schema)
    except CelLoadError as error:
        return (Outcome.PASS if wants_error else Outcome.REFUSED), error.detail
    try:
        got = expression.value(schema.bind({**dict.fromkeys(schema.roots), **values}))
    except CelError as error:
        return (Outcome.PASS if wants_error else Outcome.WRONG), f"error: {error.detail}"
    if wants_error:
        return Outcome.WRONG, f"{got!r} where an error is wanted"
    return (Outcome.PASS if same(got, want) else Outcome.WRONG), f"{got!r} where {want!r} is wanted"


def tally(folder: Path) -> tuple[dict[str, Counter[Outcome]], Counter[str], list[str]]:
    """Outcomes per file, reasons of what was skipped, and the wrong answers."""
    files: dict[str, Counter[Outcome]] = {}
    skipped: Counter[str] = Counter()
    wrong: list[str] = []
    for case in cases(folder):
        outcome, why = judge(case)
        files.setdefault(case.file, Counter())[outcome] += 1
        if outcome is Outcome.SKIP:
            skipped[why] += 1
        if outcome is Outcome.WRONG:
            wrong.append(f"{case.file}/{case.section}/{case.name}: {case.expr} gave {why}")
    return files, skipped, wrong


INTRODUCTION = """\
# CEL conformance

What the condition compiler makes of the simple tests of the CEL specification (github.com/google/cel-spec,
`tests/simple/testdata`). Generated by `PYTHONPATH=tests python -P tests/cel_vectors.py FOLDER`; a test keeps it current.

- **pass**: the value of the right type, or an error (at load or at evaluation) where the test wants one;
- **refused**: the test wants a value and the expression is refused at load, with its place and the reason;
- **skip**: the test needs what conditions do not have, counted below the table;
- **wrong**: any other outcome. There are none, and a test keeps it so.

| file | pass | refused | skip | wrong |
|---|---:|---:|---:|---:|
"""


def table(folder: Path) -> str:
    """The published page."""
    files, skipped, _ = tally(folder)
    rows = {**files, "**all**": sum(files.values(), Counter())}
    lines = [f"| {name} | " + " | ".join(str(row[outcome]) for outcome in Outcome) + " |" for name, row in rows.items()]
    reasons = [f"- {why}: {count}" for why, count in sorted(skipped.items())]
    closing = (
        "\nSupported: the core language but `uint`, messages, enums and containers; the strings extension "
        "(`charAt format indexOf join lastIndexOf lowerAscii\nreplace reverse split strings.quote substring trim "
        "upperAscii`); sets (`sets.contains sets.equivalent sets.intersects`); IP addresses and\nnetworks (`ip cidr "
        "isIP isCIDR ip.isCanonical` and their methods). Patterns of `matches()` and time zones must be written as "
        "literals:\nthey are resolved at load.\n"
    )
    return (
        INTRODUCTION
        + "\n".join(lines)
        + "\n\nSkipped tests by what they need:\n\n"
        + "\n".join(reasons)
        + "\n"
        + closing
    )


if __name__ == "__main__":
    print(table(Path(sys.argv[1])), end="")

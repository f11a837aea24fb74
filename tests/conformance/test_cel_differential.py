"""Random policy-like conditions over random, often incomplete or mistyped, facts: this compiler and Google's C++ engine
must say the same. Outcome is true, false or error. The C++ engine cuts strings at NUL, so no string here holds one."""

import random
from dataclasses import dataclass

import pytest

from scale import scale, seed
from shield.policy.cel import (
    BOOL,
    DOUBLE,
    DYN,
    INT,
    STRING,
    CelError,
    CelLoadError,
    Condition,
    EnumOf,
    Field,
    ListOf,
    MapOf,
    Object,
    Schema,
    SetOf,
    compile_condition,
)

cpp = pytest.importorskip("cel_expr_python.cel", reason="the C++ engine is a development dependency")
pytestmark = pytest.mark.oracle

STRINGS = ['"shell.exec"', '"/etc/passwd"', '"a"', '""', '"evil"', "'x\\ny'", "r'\\d'", '"é"']
NUMBERS = ["1", "0", "-3", "2.5", "1.0", "7", "9007199254740993", "9007199254740992.0"]
PATTERNS = [
    '"^/etc/.*"', '"a+b"', '"^https?://[^/]*evil"', '"."', '"(a|b)c"', '"(?i)ETC"', '"^$"', '".*secret.*"', '"etc/[a-z]+$"',
    '"shell"', '"^shell"', '"exec$"', '"^a$"', "r'shell\\.ex*ec'", "r'/etc/(x|p)?assw+d'", '"ab{0}"', '"[]a]+"', '"x.y"',
]  # fmt: skip
ORDER = ["<", "<=", ">", ">="]


PATHS = [
    "action.type", "action.path", "action.n", "action.r", "action.flag", "action.args.url", "action.args.n",
    "action.nope", "action.tags[0]", "action.args['url']", "action.deep.a.b", "action.none",
]  # fmt: skip
RANGES = ["action.tags", "action.args", "action.path", "action.mixed", "action.nope"]


class Dynamic:
    """Everything is `dyn` below one root."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.choice = rng.choice

    def value(self, local: tuple[str, ...]) -> str:
        if self.rng.random() < 0.7:
            return self.choice([*PATHS, *local])
        return self.choice([*STRINGS, *NUMBERS, "true", "null", "action.tags.map(q, q + 'x')", "size(action.tags)"])

    def condition(self, depth: int, local: tuple[str, ...] = ()) -> str:
        pick, sub = self.rng.random(), depth - 1
        if depth > 0 and pick < 0.22:
            return f"({self.condition(sub, local)} && {self.condition(sub, local)})"
        if depth > 0 and pick < 0.44:
            return f"({self.condition(sub, local)} || {self.condition(sub, local)})"
        if depth > 0 and pick < 0.5:
            return f"!({self.condition(sub, local)})"
        if depth > 0 and pick < 0.55:
            return f"({self.condition(sub, local)} ? {self.condition(sub, local)} : {self.condition(sub, local)})"
        if depth > 0 and pick < 0.66 and len(local) < 2:
            name = f"t{len(local)}"
            macro = self.choice(["exists", "all", "exists_one"])
            return f"{self.choice([*RANGES, *local])}.{macro}({name}, {self.condition(sub, (*local, name))})"
        return self.leaf(local)

    def leaf(self, local: tuple[str, ...]) -> str:
        pick, subject = self.rng.random(), self.choice([*PATHS, *local])
        if pick < 0.12:
            return f"has({self.choice(['action.args.url', 'action.nope', 'action.deep.a', 'action.path.x', 'action.nope.x'])})"
        if pick < 0.28:
            group = self.choice(['["a", "/etc/passwd"]', '[1, 2.5, "a"]', *RANGES])
            return f"{self.value(local)} in {group}"
        if pick < 0.42:
            call = self.choice(["contains", "startsWith", "endsWith"])
            return f"{subject}.{call}({self.choice([*STRINGS, *PATHS])})"
        if pick < 0.58:
            return f"{subject}.matches({self.choice(PATTERNS)})"
        if pick < 0.62:
            return f"size({self.choice([*RANGES, subject])}) > {self.choice(NUMBERS[:3])}"
        if pick < 0.66:
            return f"dyn({self.value(local)}) {self.choice('+-*/%')} {self.value(local)} == {self.value(local)}"
        if pick < 0.82:
            return f"dyn({self.value(local)}) {self.choice(ORDER)} {self.value(local)}"
        if pick < 0.86:
            return subject
        return f"dyn({self.value(local)}) {self.choice(['==', '!='])} {self.value(local)}"

    def any_value(self) -> object:
        return self.choice(
            ["shell.exec", "/etc/passwd", "a", "", 1, 0, 7, 2.5, 1.0, True, False, None, ["a"], {"b": 1}, "https://evil.com",
             "abc secret", "x\ny", 9007199254740993, 2**63 - 1, "é", {"url": "a"}]
        )  # fmt: skip

    def action(self) -> dict[str, object]:
        rng = self.rng
        made: dict[str, object] = {
            key: self.any_value() for key in ("type", "path", "n", "r", "flag", "none") if rng.random() < 0.85
        }
        if rng.random() < 0.8:
            args = {key: self.any_value() for key in ("url", "n", "cmd") if rng.random() < 0.6}
            made["args"] = args if rng.random() < 0.9 else self.any_value()
        if rng.random() < 0.8:
            made["tags"] = [self.choice(["a", "secret1", "b"]) for _ in range(rng.randrange(3))]
        if rng.random() < 0.8:
            made["mixed"] = [self.any_value() for _ in range(rng.randrange(4))]
        if rng.random() < 0.4:
            made["deep"] = {"a": {"b": self.any_value()}}
        return made


def ours(condition: Condition, env: tuple[object, ...]) -> object:
    try:
        return condition.test(env)
    except CelError:
        return "error"


def theirs(expression: object, data: dict[str, object]) -> object:
    value = expression.eval(data=data)  # type: ignore[attr-defined]  # the engine has no stubs
    return value.value() if value.type().name() == "BOOL" else "error"


def test_dynamic_conditions_agree() -> None:
    rng = random.Random(seed())
    make = Dynamic(rng)
    engine = cpp.NewEnv(variables={"action": cpp.Type.DYN})
    schema = Schema(roots={"action": DYN})
    asked = refused = 0
    outcomes = {True: 0, False: 0, "error": 0}
    while asked < scale("cel_differential"):
        text = make.condition(rng.randrange(1, 4))
        try:
            compiled = compile_condition(text, schema, policy=False)
        except CelLoadError:
            compiled = None
        try:
            reference = engine.compile(text)
        except RuntimeError:
            # a condition that the reference does not take may be refused here or not; there is no answer to compare
            continue
        if compiled is None:
            refused += 1
            continue
        for _ in range(4):
            action = make.action()
            want = theirs(reference, {"action": action})
            assert ours(compiled, (action,)) == want, (text, action)
            outcomes[want] += 1
            asked += 1
    assert refused < asked // 20, "too much of what the reference takes is refused"
    assert all(count > asked // 50 for count in outcomes.values()), outcomes


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    raw: str
    resolved: str | None
    access: str
    inside: bool
    depth: int
    categories: frozenset[str]


ACCESS = ("read", "write", "list")
WORDS = ("credential", "system", "temp", "a")
SCHEMA = Schema(
    roots={
        "paths": ListOf(
            Object(
                "path",
                {
                    "raw": Field(STRING),
                    "resolved": Field(STRING, optional=True),
                    "access": Field(EnumOf(frozenset(ACCESS))),
                    "inside": Field(BOOL),
                    "depth": Field(INT),
                    "categories": Field(SetOf(STRING)),
                },
            )
        ),
        "name": STRING,
        "n": INT,
        "r": DOUBLE,
        "flag": BOOL,
        "tags": ListOf(STRING),
        "labels": MapOf(STRING, STRING),
        "counts": MapOf(STRING, INT),
        "extra": DYN,
    },
    lists={"words": WORDS},
)


class Typed:
    """Declared types, optional fields behind has(), named lists."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.choice = rng.choice

    def text(self, path: str | None, guarded: bool) -> str:
        own = [f"{path}.raw", f"{path}.access"] if path else []
        own += [f"{path}.resolved"] if path and guarded else []
        calls = [
            "name.lowerAscii()",
            "(name + 'x')",
            "name.replace('a', 'bb')",
            "name.trim()",
            "name.upperAscii()",
            "name.reverse()",
            "name.charAt(0)",
            "name.substring(1)",
            "name.substring(0, 2)",
            "name.split('s').join('-')",
            "name.replace('s', '', 1)",
            "strings.quote(name)",
            "'%s is %d %.2f %%'.format([name, n, r])",
            "'%s'.format([tags])",
            "string(n)",
            "labels['k']",
        ]
        return self.choice([*own, *own, "name", '"a"', '"/etc/passwd"', '"credential"', *calls, "tags.join('-')"])

    def integer(self) -> str:
        return self.choice(["n", "1", "0", "-3", "size(name)", "size(tags)", "n + 1", "n * n", "n / 2", "7 % n", "-n", "counts.x",
                            "int(r)", "name.indexOf('a')", "name.lastIndexOf('s')", "size(name.split('e', 2))", "size(paths)"])  # fmt: skip

    def condition(self, depth: int, path: str | None = None, guarded: bool = False) -> str:
        pick, sub = self.rng.random(), depth - 1
        if depth > 0 and pick < 0.2:
            return f"({self.condition(sub, path, guarded)} && {self.condition(sub, path, guarded)})"
        if depth > 0 and pick < 0.4:
            return f"({self.condition(sub, path, guarded)} || {self.condition(sub, path, guarded)})"
        if depth > 0 and pick < 0.46:
            return f"!({self.condition(sub, path, guarded)})"
        if depth > 0 and pick < 0.58 and path is None:
            macro = self.choice(["exists", "all", "exists_one"])
            return f"paths.{macro}(p, {self.condition(sub, 'p')})"
        if depth > 0 and pick < 0.63 and path is None:
            return f"size(paths.filter(p, {self.condition(sub, 'p')})) {self.choice(ORDER)} {self.integer()}"
        if path is not None and not guarded and pick < 0.8:
            shape = self.choice(
                ["(has({0}.resolved) && {1})", "(!has({0}.resolved) || {1})", "(has({0}.resolved) ? {1} : {2})"]
            )
            return shape.format(path, self.condition(sub, path, True), self.condition(sub, path))
        return self.leaf(path, guarded)

    def leaf(self, path: str | None, guarded: bool) -> str:
        pick = self.rng.random()
        one, other = self.text(path, guarded), self.text(path, guarded)
        if pick < 0.15:
            return f"{one} {self.choice(['==', '!=', '<', '<=', '>', '>='])} {other}"
        if pick < 0.3:
            return f"{one}.{self.choice(['contains', 'startsWith', 'endsWith'])}({other})"
        if pick < 0.42:
            return f"{one}.matches({self.choice(PATTERNS)})"
        if pick < 0.56:
            group = self.choice(
                ["tags", "labels", '["read", "a"]', f"{path}.categories" if path else "tags", "lists.words"]
            )
            return f"{one} in {group}"
        if pick < 0.7:
            return f"{self.integer()} {self.choice(['==', '!=', *ORDER])} {self.integer()}"
        if pick < 0.76:
            return f"r {self.choice(['==', '!=', *ORDER])} {self.choice(['r', '2.5', 'r * 2.0', 'double(n)', '-r', 'r / 0.0'])}"
        if pick < 0.82:
            return self.choice(
                ["flag", f"{path}.inside" if path else "flag", "has(labels.k)", "has(extra.x)", "extra == name"]
            )
        if pick < 0.9:
            body = self.choice(["t == 'a'", "t.startsWith('s')", "t in labels", "size(t) > n", "extra.x == t"])
            return f"{self.choice(['tags', 'labels'])}.{self.choice(['exists', 'all', 'exists_one'])}(t, {body})"
        return self.choice(["extra.x == 1", "extra.x in tags", "extra > n", "tags.map(t, t + 'a') == tags", "extra.x.contains('a')",
                            "tags.filter(t, t != 'a').size() == 1", "labels == {'k': 'a'}", "tags == ['a']"])  # fmt: skip

    def values(self) -> dict[str, object]:
        rng, word = (
            self.rng,
            lambda: self.choice(["a", "/etc/passwd", "", "read", "x\ny", "credential", "sHell", "é a"]),
        )
        return {
            "paths": tuple(
                Place(
                    raw=word(),
                    resolved=word() if rng.random() < 0.6 else None,
                    access=self.choice(ACCESS),
                    inside=rng.random() < 0.5,
                    depth=rng.randrange(4),
                    categories=frozenset(w for w in WORDS if rng.random() < 0.3),
                )
                for _ in range(rng.randrange(4))
            ),
            "name": word(),
            "n": self.choice([0, 1, 2, -3, 2**63 - 1, -(2**63)]),
            "r": self.choice([0.0, 2.5, -1.0, 1e300]),
            "flag": rng.random() < 0.5,
            "tags": tuple(self.choice(["a", "secret", "b"]) for _ in range(rng.randrange(3))),
            "labels": {key: word() for key in ("k", "a") if rng.random() < 0.5},
            "counts": {"x": rng.randrange(3)} if rng.random() < 0.7 else {},
            "extra": self.choice([None, 1, "a", {"x": 1}, {"x": "a"}, {"x": ["a"]}, ["a"], {}]),
        }


def as_maps(values: dict[str, object]) -> dict[str, object]:
    """The same facts for the reference: objects as maps, absent fields left out, sets as lists."""
    paths = [
        {
            "raw": p.raw, "access": p.access, "inside": p.inside, "depth": p.depth, "categories": sorted(p.categories),
            **({"resolved": p.resolved} if p.resolved is not None else {}),
        }
        for p in values["paths"]  # type: ignore[attr-defined]  # made above
    ]  # fmt: skip
    return {**values, "paths": paths, "tags": list(values["tags"]), "lists": {"words": list(WORDS)}}  # type: ignore[call-overload]  # made above


def test_typed_conditions_agree() -> None:
    from cel_expr_python.ext import ext_strings

    kinds = cpp.Type
    variables = {
        "paths": kinds.List(kinds.Map(kinds.STRING, kinds.DYN)),
        "name": kinds.STRING,
        "n": kinds.INT,
        "r": kinds.DOUBLE,
        "flag": kinds.BOOL,
        "tags": kinds.List(kinds.STRING),
        "labels": kinds.Map(kinds.STRING, kinds.STRING),
        "counts": kinds.Map(kinds.STRING, kinds.INT),
        "extra": kinds.DYN,
        "lists": kinds.Map(kinds.STRING, kinds.List(kinds.STRING)),
    }
    engine = cpp.NewEnv(variables=variables, extensions=[ext_strings.ExtStrings()])
    rng = random.Random(seed() + 1)
    make = Typed(rng)
    asked = refused = made = 0
    while asked < scale("cel_differential"):
        text = make.condition(rng.randrange(1, 4))
        made += 1
        try:
            reference = engine.compile(text)
        except RuntimeError:
            continue
        try:
            compiled = compile_condition(text, SCHEMA, policy=False)
        except CelLoadError:
            refused += 1
            continue
        for _ in range(4):
            values = make.values()
            want = theirs(reference, as_maps(values))
            assert ours(compiled, SCHEMA.bind(values)) == want, (text, values)
            asked += 1
    assert refused < made // 4, "too much of what the reference takes is refused"

"""What is known while a condition is translated: declarations, macro variables, fields known to be present.

Reading a field that may be absent is refused unless every way to it has tested that same path.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from shield.policy.cel.convert import TypeName
from shield.policy.cel.errors import CelLoadError
from shield.policy.cel.scan import RESERVED
from shield.policy.cel.schema import (
    BOOL,
    DYN,
    STRING,
    TYPE,
    EnumOf,
    ListOf,
    MapObject,
    MapOf,
    Object,
    Scalar,
    Schema,
    Type,
    describe,
)
from shield.policy.cel.syntax import Name, Node, Select, Source

__all__ = ["NOTHING", "TYPE_NAMES", "Code", "Scope", "nearest"]

Path = tuple[str, ...]
NOTHING: Final = object()  # a text whose value is not known at load
MARK = "\ue000{}\ue001"  # cannot come out of ascii()

TYPE_NAMES = {
    "bool": "bool",
    "int": "int",
    "double": "double",
    "string": "string",
    "bytes": "bytes",
    "list": "list",
    "map": "map",
    "null_type": "null_type",
    "type": "type",
    "google.protobuf.Timestamp": "google.protobuf.Timestamp",
    "google.protobuf.Duration": "google.protobuf.Duration",
    "net.IP": "net.IP",
    "net.CIDR": "net.CIDR",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """One translated node.

    `total`: neither text can raise. `path`: the field path it reads, if it is one. `yes` and `no`: the paths that are
    known to be present once it came out true or false. `value`: the constant it is, or NOTHING.
    """

    fast: str
    exact: str
    type: Type
    total: bool
    path: Path | None = None
    yes: frozenset[Path] = frozenset()
    no: frozenset[Path] = frozenset()
    value: object = NOTHING

    @classmethod
    def of(cls, text: str, kind: Type, parts: Iterable["Code"] = (), *, total: bool = False) -> "Code":
        """From a template whose `{0}` … are the parts' texts; total only if the parts are."""
        parts = tuple(parts)
        return cls(
            fast=text.format(*[part.fast for part in parts]),
            exact=text.format(*[part.exact for part in parts]),
            type=kind,
            total=total and all(part.total for part in parts),
        )


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, if one is like it at all."""
    import difflib  # only what is wrong is looked up

    found = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return found[0] if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A macro's variable. `text`: its name in generated code; `direct`: it runs over a list of the facts themselves."""

    name: str
    text: str
    type: Type
    direct: bool


@dataclass(slots=True, kw_only=True)
class Scope:
    """What a translation knows while it walks: declarations, macro variables, present paths, constants made.

    `costly` are the identities of the nodes in which something is paid for.
    """

    source: Source
    schema: Schema
    policy: bool
    known: frozenset[Path] = frozenset()
    locals: list[Variable] = field(default_factory=list)
    constants: list[object] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    spending: int = 0
    costly: set[int] = field(default_factory=set)
    macros: int = 0

    @property
    def budget(self) -> bool:
        """Whether something in the condition has to be paid for."""
        return self.spending > 0

    def error(self, detail: str, node: Node, suggestion: str | None = None) -> CelLoadError:
        return self.source.error(detail, node.pos, suggestion)

    def constant(self, value: object) -> str:
        self.constants.append(value)
        return MARK.format(len(self.constants) - 1)

    def spends(self) -> str:
        self.spending += 1
        return "B"

    @contextmanager
    def knowing(self, paths: frozenset[Path]) -> Iterator[None]:
        before, self.known = self.known, self.known | paths
        try:
            yield
        finally:
            self.known = before

    @contextmanager
    def variable(self, name: str, kind: Type, base: Code) -> Iterator[str]:
        text = f"l_{self.macros}"
        self.locals.append(Variable(name=name, text=text, type=kind, direct=base.path is not None))
        try:
            yield text
        finally:
            self.locals.pop()

    def repeated(self, code: Code) -> bool:
        """Whether a macro may come upon the same long string again and again: then looking at it has to be paid for.

        A string of an element of the facts is met once, and all of them together are no longer than the action.
        """
        if not self.locals:
            return False
        only = self.locals[0]
        return not (len(self.locals) == 1 and only.direct and code.path is not None and code.path[0] == only.text)

    # --- names and fields ---

    def name(self, node: Name) -> Code:
        if node.name in RESERVED:
            raise self.error(f"`{node.name}` is a reserved word", node)
        if not node.rooted:
            for local in reversed(self.locals):
                if local.name == node.name:
                    return Code(fast=local.text, exact=local.text, type=local.type, total=True, path=(local.text,))
        found = self.schema.roots.get(node.name)
        if found is not None:
            self.used.add(node.name)
            text = f"r_{list(self.schema.roots).index(node.name)}"
            return Code(fast=text, exact=text, type=found, total=True, path=(text,))
        if node.name in TYPE_NAMES:
            return self.type_name(node.name)
        known = [*self.schema.roots, *(local.name for local in self.locals)]
        raise self.error(f"unknown name `{node.name}`", node, nearest(node.name, known))

    def root(self, name: str, node: Node) -> str:
        """The text of one of the facts that a function reads by itself."""
        if name not in self.schema.roots:
            raise self.error(f"this needs `{name}`, which there is not", node)
        self.used.add(name)
        return f"r_{list(self.schema.roots).index(name)}"

    def is_free(self, name: str, *, rooted: bool) -> bool:
        """Whether the name is neither a variable here nor one of the facts."""
        return name not in self.schema.roots and (rooted or all(local.name != name for local in self.locals))

    def type_name(self, name: str) -> Code:
        value = TypeName(TYPE_NAMES[name])
        text = self.constant(value)
        return Code(fast=text, exact=text, type=TYPE, total=True, value=value)

    def named_list(self, node: Select) -> Code | None:
        """`lists.NAME`, unless `lists` is declared as something else."""
        base = node.base
        if not isinstance(base, Name) or base.name != "lists" or "lists" in self.schema.roots:
            return None
        if any(local.name == "lists" for local in self.locals) and not base.rooted:
            return None
        if node.field not in self.schema.lists:
            raise self.error(f"unknown list `{node.field}`", node, nearest(node.field, self.schema.lists))
        value = tuple(self.schema.lists[node.field])
        text = self.constant(value)
        return Code(fast=text, exact=text, type=ListOf(STRING), total=True, value=value)

    def field(self, base: Code, key: str, node: Node, *, testing: bool = False) -> Code:
        """The text that reads `base.key`, or with `testing` the one that says whether it is there."""
        path = (*base.path, key) if base.path is not None else None
        literal = ascii(key).replace("{", "{{").replace("}", "}}")
        here = frozenset({path}) if path is not None else frozenset()
        kind = base.type
        match kind:
            case Object() | MapObject():
                declared = kind.fields.get(key)
                if declared is None:
                    raise self.unknown(key, kind, node)
                keyed = isinstance(kind, MapObject)
                if testing:
                    test = (
                        f"({literal} in {{0}})"
                        if keyed
                        else f"({{0}}.{key} is not None)"
                        if declared.optional
                        else "True"
                    )
                    return replace(Code.of(test, BOOL, [base], total=True), yes=here)
                self.guarded(path, node, declared.optional, f"field `{key}` of `{kind.name}`")
                if keyed:
                    read = _claimed(declared.type, f"{{0}}[{literal}]")
                    return replace(Code.of(read, declared.type, [base]), path=path)
                code = replace(Code.of(f"{{0}}.{key}", declared.type, [base], total=True), path=path)
                if not declared.optional:
                    return code
                # the exact text evaluates on after a guard has failed, so there the read tests for itself
                return replace(code, exact=f"need({code.exact})", total=False)
            case MapOf() if _texts(kind.key) and kind.default is not None:
                if kind.keys is not None and key not in kind.keys and ":" not in key:
                    raise self.error(f"unknown key `{key}`", node, nearest(key, kind.keys))
                if testing:
                    raise self.error("every key has a value here: compare it with a number", node)
                return Code.of(f"{{0}}.get({literal}, {kind.default})", kind.value, [base], total=True)
            case MapOf() if _texts(kind.key):
                if testing:
                    return replace(Code.of(f"({literal} in {{0}})", BOOL, [base], total=True), yes=here)
                self.guarded(path, node, self.policy, f"key `{key}` of a map")
                return replace(Code.of(f"{{0}}[{literal}]", kind.value, [base]), path=path)
            case Scalar() if kind == DYN:
                if testing:
                    return replace(Code.of(f"has({{0}}, {literal})", BOOL, [base]), yes=here)
                self.guarded(path, node, self.policy, f"field `{key}`")
                exact = Code.of(f"sel({{0}}, {literal})", DYN, [base])
                # a string key raises on everything but a mapping, so the fast text needs no test of its own
                return replace(exact, fast=f"{base.fast}[{key!a}]", path=path)
        raise self.error(f"a {describe(kind)} has no fields", node)

    def unknown(self, key: str, kind: Object | MapObject, node: Node) -> CelLoadError:
        """The field is not declared: the name that is most like it, else all that there are."""
        near = nearest(key, kind.fields)
        if near is not None:
            also = ""
        elif kind.fields:
            also = f"; it has {', '.join(f'`{name}`' for name in sorted(kind.fields))}"
        else:
            also = f"; {kind.without}" if isinstance(kind, MapObject) and kind.without else "; it has none"
        return self.error(f"unknown field `{key}` of `{kind.name}`{also}", node, near)

    def asked(self, code: Code, question: str, node: Node) -> None:
        """Refuse a text that no `question(text)` before it vouches for: it may have no answer."""
        if not self.policy or code.value is not NOTHING or code.type not in (STRING, DYN):
            return
        if code.path is None or (*code.path, question) not in self.known:
            raise self.error(f"this may be no such text: write `{question}(…) && …` with the same text before it", node)

    def guarded(self, path: Path | None, node: Node, optional: bool, what: str) -> None:
        if optional and (path is None or path not in self.known):
            raise self.error(f"{what} may be absent: write `has(…) && …` with the same path before it", node)


def _texts(kind: Type) -> bool:
    return isinstance(kind, EnumOf) or kind in (STRING, DYN)


def _claimed(kind: Type, text: str) -> str:
    """A read of a JSON object's field, checked against what the schema says of it."""
    match kind:
        case Scalar() if kind == DYN:
            return text
        case EnumOf():
            return f"chk_string({text})"
        case ListOf() if kind.item == DYN:
            return f"chk_list({text}, chk_any)"
        case ListOf():
            return f"chk_list({text}, chk_{describe(kind.item)})"
    return f"chk_{describe(kind)}({text})"

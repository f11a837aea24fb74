"""The functions a condition may call: names, argument types, results, and the Python each becomes.

A template's `{0}` … are the operands' texts. `native` is used where every argument's type is known, `guarded` where one
is `dyn`; a guarded text checks the kinds itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from shield.policy.cel import arithmetic, convert, formatting, network, runtime, sets, text, times
from shield.policy.cel.schema import (
    BOOL,
    BYTES,
    CIDR,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    IP,
    STRING,
    TIMESTAMP,
    EnumOf,
    ListOf,
    MapOf,
    SetOf,
    Type,
)

__all__ = [
    "FUNCTIONS",
    "METHODS",
    "NAMESPACE",
    "QUALIFIED",
    "QUESTIONS",
    "ZONED",
    "Function",
    "Overload",
    "Question",
    "accepts",
]


@dataclass(frozen=True, slots=True)
class Overload:
    """`native` None: there is no shorter text than the guarded one. `total`: the native text cannot raise."""

    params: tuple[Type, ...]
    result: Type
    native: str | None = None

    @property
    def total(self) -> bool:
        return self.native is not None


@dataclass(frozen=True, slots=True)
class Function:
    overloads: tuple[Overload, ...]
    guarded: str  # `{*}` stands for all operands
    budget: bool = False

    def arities(self) -> list[int]:
        return sorted({len(overload.params) for overload in self.overloads})


def accepts(want: Type, got: Type) -> bool:
    """Whether a value of type `got` may stand where `want` is asked for; `dyn` is checked at run time."""
    if want == DYN or got == DYN:
        return not isinstance(got, SetOf)
    if isinstance(got, EnumOf):
        return want in (STRING, got)
    if isinstance(want, ListOf) and isinstance(got, ListOf):
        return accepts(want.item, got.item)
    if isinstance(want, SetOf) and isinstance(got, SetOf):
        return accepts(want.item, got.item)
    if isinstance(want, MapOf) and isinstance(got, MapOf):
        return accepts(want.key, got.key) and accepts(want.value, got.value)
    return want == got


def _one(
    params: Sequence[Type], result: Type, guarded: str, native: str | None = None, budget: bool = False
) -> Function:
    return Function((Overload(tuple(params), result, native),), guarded, budget)


def _convert(result: Type, guarded: str, *sources: Type) -> Function:
    return Function(
        tuple(Overload((source,), result, "{0}" if source == result else None) for source in sources), guarded
    )


_SIZED = (STRING, BYTES, ListOf(DYN), MapOf(DYN, DYN), SetOf(STRING))
_SIZE = Function(tuple(Overload((kind,), INT, "len({0})") for kind in _SIZED), "size({0})")
_PART = (STRING, STRING)


def _text_methods() -> dict[str, Function]:
    def spread(name: str, result: Type, *arities: Sequence[Type], budget: bool = False) -> Function:
        call = f"{name}({'B, ' if budget else ''}{{*}})"
        return Function(tuple(Overload(tuple(params), result) for params in arities), call, budget)

    return {
        "contains": _one(_PART, BOOL, "contains({0}, {1})", "({1} in {0})"),
        "startsWith": _one(_PART, BOOL, "starts_with({0}, {1})", "{0}.startswith({1})"),
        "endsWith": _one(_PART, BOOL, "ends_with({0}, {1})", "{0}.endswith({1})"),
        "lowerAscii": _one([STRING], STRING, "lower_ascii({0})"),
        "upperAscii": _one([STRING], STRING, "upper_ascii({0})"),
        "trim": _one([STRING], STRING, "trim({0})"),
        "reverse": _one([STRING], STRING, "reverse({0})"),
        "charAt": _one([STRING, INT], STRING, "char_at({0}, {1})"),
        "indexOf": spread("index_of", INT, _PART, (*_PART, INT)),
        "lastIndexOf": spread("last_index_of", INT, _PART, (*_PART, INT)),
        "substring": spread("substring", STRING, [STRING, INT], [STRING, INT, INT]),
        "replace": spread("replace", STRING, [STRING] * 3, [STRING, STRING, STRING, INT], budget=True),
        "split": spread("split", ListOf(STRING), _PART, (*_PART, INT), budget=True),
        "join": spread("join", STRING, [ListOf(STRING)], [ListOf(STRING), STRING], budget=True),
        "format": spread("format_", STRING, [STRING, ListOf(DYN)], budget=True),
    }


_DATES = {
    "getFullYear": "get_full_year",
    "getMonth": "get_month",
    "getDate": "get_date",
    "getDayOfMonth": "get_day_of_month",
    "getDayOfWeek": "get_day_of_week",
    "getDayOfYear": "get_day_of_year",
}
_CLOCK = {
    "getHours": "get_hours",
    "getMinutes": "get_minutes",
    "getSeconds": "get_seconds",
    "getMilliseconds": "get_milliseconds",
}


def _accessors() -> dict[str, Function]:
    made = {}
    for name, get in {**_DATES, **_CLOCK}.items():
        kinds = [TIMESTAMP, DURATION] if name in _CLOCK else [TIMESTAMP]
        made[name] = Function(tuple(Overload((kind,), INT) for kind in kinds), f"timed({{0}}, {get})")
    return made


# Accessors with a time zone take it as a literal, looked up at load: judging opens no file.
ZONED: Mapping[str, str] = MappingProxyType(
    {name: f"timed({{0}}, {get}, {{1}})" for name, get in {**_DATES, **_CLOCK}.items()}
)

_ADDRESS_KINDS = ("isUnspecified", "isLoopback", "isLinkLocalUnicast", "isLinkLocalMulticast", "isGlobalUnicast")
_NETWORK_METHODS = {
    **{name: _one([IP], BOOL, f"address_is({{0}}, {name!r})") for name in _ADDRESS_KINDS},
    "family": _one([IP], INT, "family({0})"),
    "containsIP": Function((Overload((CIDR, IP), BOOL), Overload((CIDR, STRING), BOOL)), "contains_ip({*})"),
    "containsCIDR": Function((Overload((CIDR, CIDR), BOOL), Overload((CIDR, STRING), BOOL)), "contains_cidr({*})"),
    "ip": _one([CIDR], IP, "cidr_ip({0})"),
    "masked": _one([CIDR], CIDR, "masked({0})"),
    "prefixLength": _one([CIDR], INT, "prefix_length({0})"),
}

METHODS: Mapping[str, Function] = MappingProxyType(
    {"size": _SIZE, **_text_methods(), **_accessors(), **_NETWORK_METHODS}
)

FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "size": _SIZE,
        "bool": _convert(BOOL, "to_bool({0})", BOOL, STRING),
        "int": _convert(INT, "to_int({0})", INT, DOUBLE, STRING, TIMESTAMP),
        "double": _convert(DOUBLE, "to_double({0})", DOUBLE, INT, STRING),
        "string": _convert(STRING, "to_string({0})", STRING, BOOL, INT, DOUBLE, BYTES, TIMESTAMP, DURATION, IP, CIDR),
        "bytes": _convert(BYTES, "to_bytes({0})", BYTES, STRING),
        "timestamp": _convert(TIMESTAMP, "to_timestamp({0})", TIMESTAMP, STRING, INT),
        "duration": _convert(DURATION, "to_duration({0})", DURATION, STRING),
        "ip": _one([STRING], IP, "ip_({0})"),
        "cidr": _one([STRING], CIDR, "cidr_({0})"),
        "isIP": _one([STRING], BOOL, "is_ip({0})"),
        "isCIDR": _one([STRING], BOOL, "is_cidr({0})"),
    }
)

# What has no answer for a text that is none: the argument's place, what a rule asks of it first, and how a constant is
# read at load.
Question = tuple[int, str, Callable[[str], object]]
QUESTIONS: Mapping[str, Question] = MappingProxyType(
    {
        "ip": (0, "isIP", network.ip_),
        "ip.isCanonical": (0, "isIP", network.ip_),
        "cidr": (0, "isCIDR", network.cidr_),
        ".containsIP": (1, "isIP", network.ip_),
        ".containsCIDR": (1, "isCIDR", network.cidr_),
    }
)


def _sets(name: str) -> Function:
    kinds = (ListOf(DYN), SetOf(STRING))
    pairs = tuple(Overload((one, other), BOOL) for one in kinds for other in kinds)
    return Function(pairs, f"sets_{name}(B, {{*}})", budget=True)


# Functions that are called by a name with a dot.
QUALIFIED: Mapping[str, Function] = MappingProxyType(
    {
        "strings.quote": _one([STRING], STRING, "quote(B, {0})", budget=True),
        "sets.contains": _sets("contains"),
        "sets.equivalent": _sets("equivalent"),
        "sets.intersects": _sets("intersects"),
        "ip.isCanonical": _one([STRING], BOOL, "is_canonical({0})"),
    }
)

# fmt: off
_OPERATIONS: tuple[Callable[..., object], ...] = (
    any, all, len, sum, sorted,
    runtime.b_, runtime.i64, runtime.need, runtime.chk_bool, runtime.chk_int, runtime.chk_double, runtime.chk_string,
    runtime.chk_any, runtime.chk_list, runtime.has, runtime.sel, runtime.idx, runtime.it, runtime.it_n, runtime.glance,
    runtime.eq, runtime.eq_b, runtime.in_, runtime.in_b, runtime.in_set, runtime.and_, runtime.or_, runtime.exists,
    runtime.every, runtime.size, runtime.make_map, runtime.timed,
    arithmetic.add, arithmetic.sub, arithmetic.mul, arithmetic.div, arithmetic.mod, arithmetic.neg,
    formatting.format_, formatting.quote, sets.sets_contains, sets.sets_equivalent, sets.sets_intersects,
    network.ip_, network.is_ip, network.is_canonical, network.cidr_, network.is_cidr, network.contains_ip,
    network.contains_cidr, network.cidr_ip, network.masked, network.prefix_length, network.family, network.address_is,
    convert.to_int, convert.to_double, convert.to_string, convert.to_bytes, convert.to_bool, convert.to_timestamp,
    convert.to_duration, convert.type_of,
    text.contains, text.starts_with, text.ends_with, text.lower_ascii, text.upper_ascii, text.trim, text.reverse,
    text.char_at, text.index_of, text.last_index_of, text.substring, text.replace, text.split, text.join,
    times.get_full_year, times.get_month, times.get_date, times.get_day_of_month, times.get_day_of_week,
    times.get_day_of_year, times.get_hours, times.get_minutes, times.get_seconds, times.get_milliseconds,
)
# fmt: on

# INVARIANT: with these, the constants and Python's operators, generated code has all that it can reach.
NAMESPACE: Mapping[str, object] = MappingProxyType(
    {
        "__builtins__": MappingProxyType({}),
        "Exception": Exception,
        "lt": runtime.lt,
        "le": runtime.le,
        "gt": runtime.gt,
        "ge": runtime.ge,
        **{operation.__name__: operation for operation in _OPERATIONS},
    }
)

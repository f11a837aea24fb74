"""Calls of functions: which overload is meant, and its Python. Patterns and time zones are resolved at load."""

from collections.abc import Sequence
from dataclasses import replace

from shield.policy.cel import globs, regex, times
from shield.policy.cel.errors import CelError
from shield.policy.cel.functions import QUESTIONS, ZONED, Function, Question, accepts
from shield.policy.cel.schema import (
    BOOL,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    EnumOf,
    ListOf,
    Object,
    SetOf,
    Type,
    describe,
)
from shield.policy.cel.scope import NOTHING, Code, Scope, nearest
from shield.policy.cel.syntax import Call, Literal, Node

__all__ = ["GLOBS", "apply", "globbed", "matches", "zoned"]

GLOBS = ("glob", "reaches")
_ASKING = ("isIP", "isCIDR")


def apply(node: Call, function: Function, args: list[Code], scope: Scope, key: str) -> Code:
    """A call of a function of the table: arity, overload, text. `key` is its name as `QUESTIONS` writes it."""
    fitting = [overload for overload in function.overloads if len(overload.params) == len(args)]
    if not fitting:
        takes = " or ".join(str(count - key.startswith(".")) for count in function.arities())
        raise scope.error(f"`{node.name}()` takes {takes} argument(s), not {len(node.args)}", node)
    fitting = [
        overload
        for overload in fitting
        if all(_fits(want, arg.type) for want, arg in zip(overload.params, args, strict=True))
    ]
    if not fitting:
        given = ", ".join(describe(arg.type) for arg in args)
        raise scope.error(f"no `{node.name}()` for {given}", node)
    question = QUESTIONS.get(key)
    if question is not None:
        args = _asked(question, node, args, scope)
    _known_members(node, args, scope)
    if key.startswith(".") and accepts(STRING, args[0].type) and scope.repeated(args[0]):
        args = [_paid(args[0], scope), *args[1:]]
    results = {overload.result for overload in fitting}
    result = results.pop() if len(results) == 1 else DYN
    if function.budget:
        scope.spends()
    native = fitting[0].native
    if native is not None and all(arg.type != DYN for arg in args):
        return Code.of(native, result, args, total=True)
    everything = ", ".join(f"{{{place}}}" for place in range(len(args)))
    code = Code.of(function.guarded.replace("{*}", everything), result, args)
    if key in _ASKING and args[0].path is not None:
        return replace(code, yes=frozenset({(*args[0].path, key)}))
    return code


def _asked(question: Question, node: Call, args: list[Code], scope: Scope) -> list[Code]:
    """Arguments of which the text is known to be what the function takes; a constant is read here."""
    place, ask, read = question
    written = node.args[place - (len(args) > len(node.args))]
    value = args[place].value
    scope.asked(args[place], ask, written)
    if not scope.policy or not isinstance(value, str):
        return args
    try:
        constant = scope.constant(read(value))
    except CelError as error:
        raise scope.error(f"`{value[:64]}` is {error.detail.partition(':')[0]}", written) from None
    return [*args[:place], replace(args[place], fast=constant, exact=constant), *args[place + 1 :]]


def _known_members(node: Call, args: list[Code], scope: Scope) -> None:
    """A constant that a set of a closed kind can never hold is a slip of the pen."""
    for one, other in zip(args, args[::-1], strict=True):
        if isinstance(one.type, SetOf) and isinstance(one.type.item, EnumOf) and isinstance(other.value, tuple):
            for value in other.value:
                if value not in one.type.item.values:
                    known = one.type.item.values
                    raise scope.error(f"unknown value `{value}`", node, nearest(str(value), known))


def _fits(want: Type, got: Type) -> bool:
    if isinstance(got, SetOf):
        return isinstance(want, SetOf)
    if want == ListOf(DYN) and isinstance(got, ListOf):
        return True
    return accepts(want, got)


def _paid(code: Code, scope: Scope) -> Code:
    return Code.of(f"glance({{0}}, {scope.spends()})", code.type, [code])


def zoned(node: Call, target: Code, scope: Scope) -> Code:
    """A field of a timestamp at a time zone, which is looked up here: judging opens no file."""
    name = node.args[0]
    if not accepts(TIMESTAMP, target.type):
        raise scope.error(f"no `{node.name}()` with a time zone for {describe(target.type)}", node)
    if not isinstance(name, Literal) or not isinstance(name.value, str):
        raise scope.error("a time zone must be written as a string, such as 'Europe/Berlin'", name)
    try:
        place = scope.constant(times.zone(name.value))
    except KeyError:
        known = times.zone_names()
        if not known:
            raise scope.error("this machine has no time zone data: install the package `tzdata`", name) from None
        raise scope.error(f"unknown time zone `{name.value}`", name, nearest(name.value, known)) from None
    return Code.of(ZONED[node.name].replace("{1}", place), INT, [target])


def globbed(node: Call, target: Code, args: Sequence[Code], scope: Scope) -> Code:
    """`path.glob(pattern)` and `path.reaches(pattern)`, with a constant pattern or a constant list of them."""
    kind = target.type
    if not isinstance(kind, Object) or not {"resolved", "recursive"} <= kind.fields.keys():
        raise scope.error(f"no `{node.name}()` for {describe(kind)}: it is asked of a path", node)
    if len(args) != 1:
        raise scope.error(f"`{node.name}()` takes one pattern or one list of patterns", node)
    written = node.args[0]
    value = args[0].value
    texts: Sequence[object] = (value,) if isinstance(value, str) else value if isinstance(value, tuple) else ()
    if value is NOTHING or not all(isinstance(text, str) for text in texts):
        raise scope.error("the pattern must be written as a string or a list of strings: it is read at load", written)
    try:
        read = globs.read_globs([text for text in texts if isinstance(text, str)])
    except globs.GlobError as error:
        raise scope.error(str(error), written) from None
    workspace = "''"
    if read.relative:
        workspace = scope.root("workspace", node)
    budget = f", {scope.spends()}" if scope.repeated(target) else ""
    constant = scope.constant(read)
    return Code.of(f"{constant}.{node.name}({{0}}, {workspace}{budget})", BOOL, [target], total=not budget)


def matches(node: Call, target: Code, written: Node, scope: Scope) -> Code:
    """`matches()` with the pattern compiled."""
    if not accepts(STRING, target.type):
        raise scope.error(f"no `matches()` for {describe(target.type)}", node)
    if not isinstance(written, Literal) or not isinstance(written.value, str):
        raise scope.error("the pattern of matches() must be written as a string: it is compiled at load", written)
    try:
        pattern = regex.pattern(written.value)
    except regex.RegexError as error:
        raise scope.error(str(error), written) from None
    if scope.repeated(target):
        target = _paid(target, scope)
    text = "{0}" if target.type != DYN else "chk_string({0})"
    literal = ascii(pattern.literal).replace("{", "{{").replace("}", "}}")
    total = target.type != DYN
    match pattern.test:
        case "in":
            return Code.of(f"({literal} in {text})", BOOL, [target], total=total)
        case "==":
            return Code.of(f"({text} == {literal})", BOOL, [target], total=total)
        case "startswith" | "endswith":
            return Code.of(f"{text}.{pattern.test}({literal})", BOOL, [target], total=total)
    search = scope.constant(pattern.search)
    # only before a path: any other text would be computed twice
    first = f"{literal} in {text} and " if len(pattern.literal) > 2 and target.path is not None else ""
    # not total: half a surrogate pair in a file name has no UTF-8 form
    return Code.of(f"({first}{search}({text}.encode()) is not None)", BOOL, [target])

"""Calls of functions: which overload is meant, and its Python. Patterns and time zones are resolved at load."""

from shield.policy.cel import regex, times
from shield.policy.cel.functions import ZONED, Function, accepts
from shield.policy.cel.schema import BOOL, DYN, INT, STRING, TIMESTAMP, ListOf, SetOf, Type, describe
from shield.policy.cel.scope import Code, Scope
from shield.policy.cel.syntax import Call, Literal, Node

__all__ = ["apply", "matches", "zoned"]


def apply(node: Call, function: Function, args: list[Code], scope: Scope) -> Code:
    """A call of a function of the table: arity, overload, text."""
    fitting = [overload for overload in function.overloads if len(overload.params) == len(args)]
    if not fitting:
        takes = " or ".join(str(count - (node.target is not None)) for count in function.arities())
        raise scope.error(f"`{node.name}()` takes {takes} argument(s), not {len(node.args)}", node)
    fitting = [
        overload
        for overload in fitting
        if all(_fits(want, arg.type) for want, arg in zip(overload.params, args, strict=True))
    ]
    if not fitting:
        given = ", ".join(describe(arg.type) for arg in args)
        raise scope.error(f"no `{node.name}()` for {given}", node)
    if node.target is not None and accepts(STRING, args[0].type) and scope.repeated(args[0]):
        args = [_paid(args[0], scope), *args[1:]]
    results = {overload.result for overload in fitting}
    result = results.pop() if len(results) == 1 else DYN
    if function.budget:
        scope.spends()
    native = fitting[0].native
    if native is not None and all(arg.type != DYN for arg in args):
        return Code.of(native, result, args, total=True)
    everything = ", ".join(f"{{{place}}}" for place in range(len(args)))
    return Code.of(function.guarded.replace("{*}", everything), result, args)


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
        raise scope.error(f"unknown time zone `{name.value}`", name) from None
    return Code.of(ZONED[node.name].replace("{1}", place), INT, [target])


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

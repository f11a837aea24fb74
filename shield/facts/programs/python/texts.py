"""Which texts and paths expressions of proven Python code have: those that constants make.

A name counts where all of the code gives it a value once: then it has that value wherever it has one at all.
"""

import ast
import itertools
import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from shield.facts.programs.python.values import dotted

__all__ = ["PATHS", "Texts", "bindings"]

PATHS = frozenset(("pathlib.Path", "pathlib.PosixPath"))
_MAX_TEXTS = 64  # values that one expression may have
_MAX_TEXT = 4_096
_MAX_DEPTH = 16
_MAX_STEPS = 4_000


class Texts:
    """Of one piece of code. `imported`: what imported names stand for; `arguments`: `sys.argv`, None where it is not
    known; `bound`: how often each name is given a value."""

    def __init__(
        self,
        statements: list[ast.stmt],
        bound: Counter[str],
        imported: Mapping[str, str],
        arguments: tuple[str | None, ...],
    ) -> None:
        self._steps = 0
        self._imported = imported
        self._arguments = arguments
        self._values = _bound_once(statements, bound)

    def text(self, node: ast.expr) -> tuple[str, ...] | None:
        """All texts that the expression may have; None where they are not known."""
        return self._text(node, 0)

    def path(self, node: ast.expr) -> tuple[str, ...] | None:
        """All names that the expression, a path object, may have; None where it is none."""
        return self._path(node, 0)

    def either(self, node: ast.expr) -> tuple[str, ...] | None:
        """Those of a text, or of a path object."""
        return self._text_or_path(node, 0)

    def path_names(self) -> frozenset[str]:
        """The names of path objects."""
        return frozenset(name for name in self._values if self._is_path_name(name))

    def dotted(self, node: ast.expr) -> str:
        """What an imported name, or an attribute of one, stands for; empty for anything else."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        return dotted(node, self._imported) if isinstance(root, ast.Name) and root.id in self._imported else ""

    def _text_or_path(self, node: ast.expr, depth: int) -> tuple[str, ...] | None:
        text = self._text(node, depth)
        return text if text is not None else self._path(node, depth)

    def _text(self, node: ast.expr, depth: int) -> tuple[str, ...] | None:
        self._steps += 1
        if depth > _MAX_DEPTH or self._steps > _MAX_STEPS:
            return None
        match node:
            case ast.Constant(value=str() as text):
                return (text,)
            case ast.Name(id=name) if name in self._values:
                return self._each(self._values[name], depth + 1)
            case ast.JoinedStr(values=parts):
                return self._joined([self._part(part, depth + 1) for part in parts])
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._joined([self._text(left, depth + 1), self._text(right, depth + 1)])
            case ast.Subscript(value=value, slice=ast.Constant(value=int() as at)) if type(at) is int:
                known = self.dotted(value) == "sys.argv" and 0 <= at < len(self._arguments)
                argument = self._arguments[at] if known else None
                return None if argument is None else (argument,)
            case ast.Call(func=function, args=[_, *_] as args, keywords=[]) if self.dotted(function) == "os.path.join":
                return _joined_paths([self._text(argument, depth + 1) for argument in args])
            case _:
                return None

    def _each(self, nodes: tuple[ast.expr, ...], depth: int) -> tuple[str, ...] | None:
        texts = [self._text(node, depth) for node in nodes]
        if any(text is None for text in texts) or len(texts) > _MAX_TEXTS:
            return None
        return _limited(tuple(item for text in texts for item in text or ()))

    def _part(self, node: ast.expr, depth: int) -> tuple[str, ...] | None:
        if not isinstance(node, ast.FormattedValue):
            return self._text(node, depth)
        if node.conversion not in (-1, ord("s")) or node.format_spec is not None:
            return None
        return self._text(node.value, depth)  # of a path object the text is not what it was made of

    def _joined(self, parts: list[tuple[str, ...] | None]) -> tuple[str, ...] | None:
        known = [part for part in parts if part is not None]
        return _limited("".join(each) for each in itertools.product(*known)) if len(known) == len(parts) else None

    def _path(self, node: ast.expr, depth: int) -> tuple[str, ...] | None:
        self._steps += 1
        if depth > _MAX_DEPTH or self._steps > _MAX_STEPS:
            return None
        match node:
            case ast.Call(func=function, args=[_, *_] as args, keywords=[]) if self.dotted(function) in PATHS:
                return _joined_paths([self._text_or_path(argument, depth + 1) for argument in args])
            case ast.Name(id=name) if name in self._values and len(self._values[name]) == 1:
                return self._path(self._values[name][0], depth + 1)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                first = self._path(left, depth + 1)
                return None if first is None else _joined_paths([first, self._text_or_path(right, depth + 1)])
            case _:
                return None

    def _is_path_name(self, name: str) -> bool:
        return any(self._path(node, 0) is not None for node in self._values[name])


def _joined_paths(parts: list[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    known = [part for part in parts if part is not None]
    return _limited(posixpath.join(*each) for each in itertools.product(*known)) if len(known) == len(parts) else None


def _limited(texts: Iterable[str]) -> tuple[str, ...] | None:
    found = tuple(itertools.islice(texts, _MAX_TEXTS + 1))
    return found if len(found) <= _MAX_TEXTS and all(len(text) <= _MAX_TEXT for text in found) else None


def _bound_once(statements: list[ast.stmt], bound: Counter[str]) -> Mapping[str, tuple[ast.expr, ...]]:
    """The names that the code gives a value in one place, with every expression that this may be."""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    methods = _methods(nodes)
    given: dict[str, tuple[ast.expr, ...]] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                given[name] = (value,)
            case (
                ast.For(target=ast.Name(id=name), iter=ast.List(elts=items) | ast.Tuple(elts=items))
                | ast.comprehension(target=ast.Name(id=name), iter=ast.List(elts=items) | ast.Tuple(elts=items))
            ):
                # nothing holds the list, so nothing changes it
                given[name] = tuple(items)
            case ast.FunctionDef(name=name) if bound[name] == 1 and id(node) not in methods:
                given |= _parameters(node, nodes)
    return {name: values for name, values in given.items() if bound[name] == 1}


def _parameters(function: ast.FunctionDef, nodes: list[ast.AST]) -> dict[str, tuple[ast.expr, ...]]:
    """What each parameter of a function may be that nothing does more with than to call it by its name."""
    calls = [node for node in nodes if isinstance(node, ast.Call) and _is_named(node.func, function.name)]
    uses = [node for node in nodes if _is_named(node, function.name)]
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    late = function.args.defaults
    defaults = dict(zip(names[len(names) - len(late) :], late, strict=True))
    more = function.args.vararg or function.args.kwarg or function.args.kwonlyargs or function.decorator_list
    if more or len(uses) != len(calls) or any(not isinstance(node, ast.Call) for node in calls):
        return {}
    given: dict[str, list[ast.expr]] = {name: [] for name in names}
    for call in calls:
        if any(isinstance(each, ast.Starred) for each in call.args) or len(call.args) > len(names):
            return {}
        found = defaults | dict(zip(names, call.args, strict=False))
        for keyword in call.keywords:
            if keyword.arg is None:
                return {}
            found[keyword.arg] = keyword.value
        if not found.keys() >= given.keys():
            return {}
        for name in names:
            given[name].append(found[name])
    return {name: tuple(values) for name, values in given.items() if values}


def _methods(nodes: Iterable[ast.AST]) -> frozenset[int]:
    """What stands in a class by itself: a function there is a name in it alone, where no expression can use that."""
    return frozenset(id(inner) for node in nodes if isinstance(node, ast.ClassDef) for inner in node.body)


def _is_named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def bindings(statements: Iterable[ast.stmt]) -> Iterator[str]:
    """The names that the code gives a value, as often as it does; of statements that no proof has, not all."""
    statements = list(statements)
    nodes = [inner for statement in statements for inner in ast.walk(statement)]
    methods = _methods(nodes)
    for node in nodes:
        match node:
            case ast.FunctionDef() if id(node) in methods:
                pass
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.FunctionDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.ClassDef(name=name):
                yield name
            case ast.ExceptHandler(name=str() as name):
                yield name
            case _:
                pass

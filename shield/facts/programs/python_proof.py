"""Whether Python code surely does no more than compute, print, and read files that it names.

A list of what may stand in such code, over its syntax tree; whatever is not on it is no proof. Whoever attacks
this should look for a way to a function, module or attribute that is not on the list: through a value that is a module
(none may be had), through a name that begins with an underscore (none), through `str.format` (its fields may name
nothing), through an import that finds another file (`runs_alone`).
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeGuard

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.place import Place
from shield.facts.programs.python_allowed import (
    BUILTINS,
    EVERY_BUILTIN,
    LISTED,
    METHODS,
    MODULES,
    OPENERS,
    SHADOWS,
    STREAMS,
)
from shield.facts.programs.python_code import python_tree

__all__ = ["Proof", "may_shadow", "proven", "runs_alone"]

_MAX_CODE = 8_192
# Read alike by every version and in every locale: no declaration of an encoding, no bytes above 127.
_PLAIN_CODE = re.compile(r"(?:(?!coding[:=])[\t\n\x20-\x7e])*")
_FIELDS = re.compile(r"(?:[^{}]|\{\{|\}\}|\{\w*(?:![rsa])?(?::[^{}]*)?\})*", re.DOTALL)
_READ_MODES = frozenset(("r", "rb", "rt", "br", "tr"))
_OPEN_KEYWORDS = frozenset(("mode", "encoding", "errors", "newline"))
_SHOWS = frozenset(("print", "len", "sorted", "list", "tuple", "str", "repr", "enumerate", "pprint.pprint"))
_MAX_ENTRIES = 4_000
_IMPORTED = (".py", ".pyc", ".pyd", ".so", ".PY", ".PYC", ".SO")  # importlib.machinery.all_suffixes()
# What every module says of itself.
_TOLD = frozenset(("__version__", "__file__", "__name__", "__doc__", "__path__", "VERSION", "version"))
# Attributes of frames, code and functions, by which everything can be had (Reference Manual, 3.2).
_INNER = ("_", "gi_", "cr_", "ag_", "f_", "tb_", "co_", "func_", "im_", "mro")
_HARMLESS_VARIABLES = frozenset(
    ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONUTF8", "PYTHONIOENCODING")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Files that the code reads, and those that it looks at, as it names them. `modules`: those of the project, or
    installed, that it imports besides: then it runs their code."""

    reads: tuple[str, ...]
    looks: tuple[str, ...]
    modules: tuple[str, ...]


class _Refused(Exception):  # noqa: N818 - never leaves this module
    """Something that is not on the list."""


def proven(
    code: str, arguments: tuple[str | None, ...], known: Callable[[str], bool] = lambda _: False
) -> Proof | None:
    """The proof for `code`, run with `sys.argv` of `arguments` (None: not known); None where there is none. `known`:
    whether a module of this name is the project's own."""
    tree = python_tree(code) if len(code) <= _MAX_CODE and _PLAIN_CODE.fullmatch(code) else None
    if tree is None:
        return None
    checker = _Checker(arguments, known)
    try:
        checker.module(tree)
    except (_Refused, RecursionError):
        return None
    return Proof(
        reads=tuple(dict.fromkeys(checker.reads)),
        looks=tuple(dict.fromkeys(checker.looks)),
        modules=tuple(checker.modules),
    )


def runs_alone(base: str | None, place: Place, *, isolated: bool) -> bool:
    """Whether a Python started in `base` finds its own library and nothing else: no variable steers it, and no entry
    of the directory, which it searches first, has the name of a module of it. `isolated`: it does not search there."""
    if any(name.startswith("PYTHON") and name not in _HARMLESS_VARIABLES for name in place.env):
        return False
    if isolated:
        return True
    if base is None:
        return False
    try:
        return not any(_shadows(name, base, place) for name in place.files.listdir(base, _MAX_ENTRIES))
    except FileSystemUnknownError:
        return False


def may_shadow(name: str) -> bool:
    """Whether an entry of this name, where Python looks first, may stand in for a module of its library."""
    stem, dot, _ = name.partition(".")
    return (stem.casefold() in SHADOWS or stem.startswith("_sysconfigdata")) and (not dot or name.endswith(_IMPORTED))


def _shadows(name: str, base: str, place: Place) -> bool:
    if not may_shadow(name):
        return False
    path = f"{base.rstrip('/')}/{name}"
    stat = place.files.lstat(path)
    if stat is None or stat.kind is not FileKind.DIRECTORY:
        return True
    # A directory without `__init__` never comes before a module that is found later (PEP 420).
    return any(entry.startswith("__init__") for entry in place.files.listdir(path, _MAX_ENTRIES))


def _generic(node: ast.stmt) -> bool:
    return bool(getattr(node, "type_params", None))  # from Python 3.12 on


class _Checker:
    """Walks the tree; raises _Refused at the first thing that is not on the list."""

    def __init__(self, arguments: tuple[str | None, ...], known: Callable[[str], bool]) -> None:
        self.reads: list[str] = []
        self.looks: list[str] = []
        self.modules: list[str] = []
        self._known = known
        self._arguments = arguments
        self._imported: dict[str, str] = {}  # names to modules, and to what modules hold
        self._own: set[str] = set()

    def module(self, tree: ast.Module) -> None:
        body = list(tree.body)
        while body and isinstance(body[0], ast.Import | ast.ImportFrom):
            self._import(body.pop(0))
        for node in (inner for statement in body for inner in ast.walk(statement)):
            self._names(node)
        if self._own & (self._imported.keys() | EVERY_BUILTIN):
            # INVARIANT: a name means one thing in all of the code.
            raise _Refused
        for statement in body:
            self._statement(statement)

    def _import(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Import):
            for item in node.names:
                first = item.name.partition(".")[0]
                if any(module == item.name or module.startswith(item.name + ".") for module in MODULES):
                    self._bind(item.asname or first, item.name if item.asname else first)
                else:
                    self._project(first, installed="." not in item.name)
                    self._bind(item.asname or first, item.name if item.asname else first)
        elif isinstance(node, ast.ImportFrom):
            for item in node.names:
                full = f"{node.module}.{item.name}"
                if node.level or item.name == "*":
                    raise _Refused
                if not (self._permitted(full) or full in MODULES or full in OPENERS or full in STREAMS):
                    self._project((node.module or "").partition(".")[0], installed=False)
                    if may_shadow(item.name) or item.name.startswith("_"):
                        raise _Refused
                self._bind(item.asname or item.name, full)

    def _project(self, module: str, *, installed: bool) -> None:
        """A module that is none of the library's: the project's own, or one that is only asked for its version."""
        if not module or may_shadow(module) or module.startswith("_") or not (self._known(module) or installed):
            raise _Refused
        self.modules.append(module)

    def _bind(self, name: str, full: str) -> None:
        if name.startswith("_") or self._imported.get(name, full) != full or name in EVERY_BUILTIN:
            raise _Refused
        self._imported[name] = full

    def _names(self, node: ast.AST) -> None:
        """Names that the code itself gives a meaning."""
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.FunctionDef(name=name) | ast.arg(arg=name):
                self._own.add(name)
            case ast.ExceptHandler(name=str() as name):
                self._own.add(name)
            case _:
                return
        if name.startswith("_") and name.strip("_"):
            raise _Refused

    # --- statements -------------------------------------------------------------------------------------------------

    def _statement(self, node: ast.stmt) -> None:  # noqa: C901 - one branch a kind of statement
        match node:
            case ast.Expr(value=value):
                self._value(value)
            case ast.Assign(targets=targets, value=value):
                self._value(value)
                for target in targets:
                    self._target(target)
            case ast.AugAssign(target=target, value=value):
                self._value(value)
                self._target(target)
            case ast.AnnAssign(target=target, annotation=annotation, value=value):
                self._target(target)
                self._value(annotation)
                self._optional(value)
            case ast.For(target=target, iter=items, body=body, orelse=other):
                self._target(target)
                self._shown(items)
                self._block(body, other)
            case ast.While(test=test, body=body, orelse=other) | ast.If(test=test, body=body, orelse=other):
                self._value(test)
                self._block(body, other)
            case ast.With(items=items, body=body):
                for item in items:
                    self._value(item.context_expr)
                    if item.optional_vars is not None:
                        self._target(item.optional_vars)
                self._block(body)
            case ast.Try(body=body, handlers=handlers, orelse=other, finalbody=last):
                self._block(body, other, last)
                for handler in handlers:
                    self._optional(handler.type)
                    self._block(handler.body)
            case ast.FunctionDef(args=args, body=body, decorator_list=[], returns=returns) if not _generic(node):
                self._parameters(args)
                self._optional(returns)
                self._block(body)
            case ast.Return(value=value):
                self._optional(value)
            case ast.Assert(test=test, msg=msg):
                self._value(test)
                self._optional(msg)
            case ast.Raise(exc=error, cause=cause):
                self._optional(error)
                self._optional(cause)
            case ast.Delete(targets=targets):
                for target in targets:
                    self._target(target)
            case ast.Pass() | ast.Break() | ast.Continue() | ast.Global() | ast.Nonlocal():
                pass
            case _:
                raise _Refused

    def _block(self, *blocks: list[ast.stmt]) -> None:
        for block in blocks:
            for statement in block:
                self._statement(statement)

    def _target(self, node: ast.expr) -> None:
        match node:
            case ast.Name():
                pass
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for element in elements:
                    self._target(element)
            case ast.Starred(value=value):
                self._target(value)
            case ast.Subscript(value=value, slice=index):
                self._value(value)
                self._value(index)
            case _:
                raise _Refused

    def _parameters(self, arguments: ast.arguments) -> None:
        for default in (*arguments.defaults, *(item for item in arguments.kw_defaults if item is not None)):
            self._value(default)
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        for argument in every:
            if argument is not None:
                self._optional(argument.annotation)

    # --- expressions ------------------------------------------------------------------------------------------------

    def _optional(self, node: ast.expr | None) -> None:
        if node is not None:
            self._value(node)

    def _value(self, node: ast.expr) -> None:  # noqa: C901 - one branch a kind of expression
        match node:
            case ast.Constant():
                pass
            case ast.Name(id=name):
                self._plain_name(name)
            case ast.Attribute():
                self._attribute(node)
            case ast.Call():
                self._call(node)
            case ast.BinOp(left=left, right=right):
                self._value(left)
                self._value(right)
            case ast.BoolOp(values=values):
                self._all(values)
            case ast.UnaryOp(operand=operand):
                self._value(operand)
            case ast.Compare(left=left, comparators=others):
                self._all([left, *others])
            case ast.IfExp(test=test, body=body, orelse=other):
                self._all([test, body, other])
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
                self._all(elements)
            case ast.Dict(keys=keys, values=values):
                self._all([*(key for key in keys if key is not None), *values])
            case ast.Subscript(value=value, slice=index):
                if self._dotted(value) != "sys.argv":
                    self._value(value)
                self._value(index)
            case ast.Slice(lower=lower, upper=upper, step=step):
                for part in (lower, upper, step):
                    self._optional(part)
            case ast.JoinedStr(values=values):
                self._all(values)
            case ast.FormattedValue(value=value, format_spec=spec):
                self._shown(value)
                self._optional(spec)
            case ast.Lambda(args=args, body=body):
                self._parameters(args)
                self._value(body)
            case ast.ListComp(elt=element, generators=generators) | ast.SetComp(elt=element, generators=generators):
                self._comprehension([element], generators)
            case ast.GeneratorExp(elt=element, generators=generators):
                self._comprehension([element], generators)
            case ast.DictComp(key=key, value=value, generators=generators):
                self._comprehension([key, value], generators)
            case ast.Starred(value=value) | ast.NamedExpr(value=value):
                self._value(value)
            case ast.Yield(value=value):
                self._optional(value)
            case _:
                raise _Refused

    def _all(self, nodes: list[ast.expr]) -> None:
        for node in nodes:
            self._value(node)

    def _comprehension(self, results: list[ast.expr], generators: list[ast.comprehension]) -> None:
        for generator in generators:
            if generator.is_async:
                raise _Refused
            self._target(generator.target)
            self._shown(generator.iter)
            self._all(generator.ifs)
        self._all(results)

    def _foreign(self, full: str) -> bool:
        return full.partition(".")[0] in self.modules

    def _plain_name(self, name: str) -> None:
        """A name as a value: the code's own, a listed builtin, or a listed part of a module; never a module."""
        if name in self._own:
            return
        full = self._imported.get(name)
        if full is None:
            if name not in BUILTINS:
                raise _Refused
        elif self._foreign(full):
            if not self._known(full.partition(".")[0]):
                raise _Refused
        elif not self._permitted(full) and full not in STREAMS:
            raise _Refused

    def _permitted(self, full: str) -> bool:
        """Whether a module holds this name and it is listed."""
        module, _, name = full.rpartition(".")
        return name in MODULES.get(module, ())

    def _dotted(self, node: ast.expr) -> str:
        """`module.name` of what was imported; empty for everything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self._own or node.id not in self._imported:
            return ""
        if self._foreign(self._imported[node.id]):
            return ""
        return ".".join([self._imported[node.id], *reversed(parts)])

    def _attribute(self, node: ast.Attribute) -> None:
        full = self._dotted(node)
        if full:
            if full in STREAMS or self._permitted(full):
                return
            # a field of something listed: `sys.version_info.major`, `datetime.datetime.now`
            if not isinstance(node.value, ast.Attribute | ast.Name) or self._is_module(node.value):
                raise _Refused
        if node.attr == "__name__" and self._is_type(node.value):
            self._value(node.value.args[0])
            return
        base = node.value
        if isinstance(base, ast.Name) and base.id not in self._own and self._foreign(self._imported.get(base.id, "")):
            if node.attr in _TOLD or (self._known(self._imported[base.id].partition(".")[0]) and self._open(node.attr)):
                return
            raise _Refused
        if node.attr not in METHODS and not (self.modules and self._open(node.attr)):
            raise _Refused
        self._value(node.value)

    def _open(self, name: str) -> bool:
        """Whether this may be asked of what the project's own code gives: no way back to the library."""
        return not (name.startswith(_INNER) or may_shadow(name) or name in ("format", "format_map"))

    def _is_module(self, node: ast.expr) -> bool:
        full = self._dotted(node)
        return bool(full) and full not in STREAMS and not self._permitted(full)

    def _call(self, node: ast.Call) -> None:
        function = node.func
        name = self._dotted(function) or (function.id if isinstance(function, ast.Name) else "")
        if isinstance(function, ast.Name) and function.id in self._own:
            name = ""
        if name in OPENERS:
            self._opens(node, name)
            return
        if name in ("sys.stdout.write", "sys.stderr.write", "sys.stdout.flush", "sys.stderr.flush"):
            pass
        elif isinstance(function, ast.Attribute) and function.attr in ("format", "format_map"):
            self._format(function)
        else:
            self._value(function)
        for argument in node.args:
            if name in _SHOWS or (isinstance(function, ast.Attribute) and function.attr == "join"):
                self._shown(argument)
            else:
                self._value(argument)
        for keyword in node.keywords:
            if keyword.arg == "file":
                if self._dotted(keyword.value) not in ("sys.stdout", "sys.stderr"):
                    raise _Refused
            elif keyword.arg in ("opener", "object_pairs_hook") or (keyword.arg or "").startswith("_"):
                raise _Refused
            else:
                self._value(keyword.value)

    def _shown(self, node: ast.expr) -> None:
        """A value that is only looked at: then it may be one that the process shares."""
        if isinstance(node, ast.Starred):
            node = node.value
        if self._is_type(node):
            self._value(node.args[0])
        elif self._dotted(node) not in LISTED:
            self._value(node)

    def _is_type(self, node: ast.expr) -> TypeGuard[ast.Call]:
        """`type(x)`: a type may be shown, but to call it could open what a constant does not name."""
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "type"
            and len(node.args) == 1
            and not node.keywords
        )

    def _format(self, function: ast.Attribute) -> None:
        """`"{} {name}".format`: fields that reach into no value (PEP 3101 lets them name attributes)."""
        text = function.value
        if function.attr != "format" or not isinstance(text, ast.Constant) or not isinstance(text.value, str):
            raise _Refused
        if _FIELDS.fullmatch(text.value) is None:
            raise _Refused

    def _opens(self, node: ast.Call, name: str) -> None:
        path = self._path(node.args[0]) if node.args else "." if name == "os.listdir" else None
        if path is None or "\0" in path:
            raise _Refused
        if name in ("open", "io.open"):
            self._mode(node)
        elif len(node.args) > 1 or node.keywords:
            raise _Refused
        (self.reads if OPENERS[name] else self.looks).append(path)

    def _mode(self, node: ast.Call) -> None:
        given = [*node.args[1:2], *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
        if len(node.args) > 2 or any(keyword.arg not in _OPEN_KEYWORDS for keyword in node.keywords):
            raise _Refused
        if not all(isinstance(keyword.value, ast.Constant) for keyword in node.keywords):
            raise _Refused
        for mode in given:
            if not isinstance(mode, ast.Constant) or mode.value not in _READ_MODES:
                raise _Refused

    def _path(self, node: ast.expr) -> str | None:
        """The name of a file: a constant, or a word of the command line."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.Subscript) and self._dotted(node.value) == "sys.argv":
            index = node.slice
            if isinstance(index, ast.Constant) and isinstance(index.value, int) and not isinstance(index.value, bool):
                at = index.value
                return self._arguments[at] if 0 <= at < len(self._arguments) else None
        return None

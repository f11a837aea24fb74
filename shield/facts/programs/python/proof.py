"""Whether Python code surely does no more than compute, print, start commands that it names as constants, and read,
write and delete files that it names.

A list of what may stand in such code, over its syntax tree; whatever is not on it is no proof. Whoever attacks
this should look for a way to a function, module or attribute that is not on the list: through a value that is a module
(none may be had), through a name that begins with an underscore (none), through `str.format` (its fields may name
nothing), through an import that finds another file (`python_alone`, also one that the code itself puts there).
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeGuard

from shield.facts.programs.python.allowed import LISTED
from shield.facts.programs.python.called import CALLED, CAUGHT, UnlistedCallError, called
from shield.facts.programs.python.code import python_tree
from shield.facts.programs.python.files import Files, FileUse, UnnamedFileError, bindings
from shield.facts.programs.python.installed import TEXT_KEYWORDS, TO_TEXT
from shield.facts.programs.python.names import Names, UnlistedNameError
from shield.facts.programs.python.processes import STARTS, Started, UnclearStartError, started
from shield.facts.programs.python.stores import UnclearStoreError
from shield.facts.programs.python.trees import Gives, Tree
from shield.facts.programs.statements import only_reads
from shield.types import Access

__all__ = ["Proof", "proven"]

_MAX_CODE = 8_192
_PLAIN_CODE = re.compile(r"[\t\n\x20-\x7e]*")
_CODING = re.compile(r"coding[:=]")  # in a comment (PEP 263)
_FIELDS = re.compile(r"(?:[^{}]|\{\{|\}\}|\{\w*(?:![rsa])?(?::[^{}]*)?\})*", re.DOTALL)
_LOOKS = frozenset(("print", "len", "str", "repr", "pprint.pprint"))  # of a list nothing is left in what they give
_SHOWS = frozenset(("print", "len", "sorted", "list", "tuple", "str", "repr", "enumerate", "pprint.pprint"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What the code does to files, as it names them. `modules`: those of the project, or installed, that it imports
    besides: then it runs their code, and changes no file of its own. `commands`: what it starts, in any order and
    number; then it does nothing to files, and brings no modules."""

    files: tuple[FileUse, ...]
    modules: tuple[str, ...]
    commands: tuple[Started, ...] = ()

    def changed(self) -> tuple[str, ...]:
        """The files that it writes or deletes."""
        return tuple(use.path for use in self.files if use.access in (Access.WRITE, Access.DELETE))


class _RefusedError(Exception):
    """Something that is not on the list."""


def proven(
    code: str,
    arguments: tuple[str | None, ...],
    known: Callable[[str], bool] = lambda _: False,
    taken: frozenset[str] = frozenset(),
) -> Proof | None:
    """The proof for `code`, run with `sys.argv` of `arguments` (None: not known); None where there is none. `known`:
    whether a module of this name is the project's own; `taken`: names that have a meaning before the code gives one."""
    tree = python_tree(code) if len(code) <= _MAX_CODE and _reads_alike(code) else None
    if tree is None:
        return None
    try:
        return _Checker(tree, arguments, Names(known, taken)).proof()
    except (
        _RefusedError,
        UnclearStartError,
        UnclearStoreError,
        UnlistedCallError,
        UnlistedNameError,
        UnnamedFileError,
    ):
        return None
    except RecursionError:
        return None


def _reads_alike(code: str) -> bool:
    """Whether every version reads it alike, in every locale: no declaration of an encoding, no bytes above 127."""
    comments = (line.partition("#")[2] for line in code.split("\n"))
    return _PLAIN_CODE.fullmatch(code) is not None and not any(_CODING.search(comment) for comment in comments)


def _generic(node: ast.stmt) -> bool:
    return bool(getattr(node, "type_params", None))  # from Python 3.12 on


def _queries(statement: str) -> bool:
    """Whether SQLite does no more than read for it, and what it reads is in the database."""
    return only_reads(statement) and not statement.lstrip().startswith((".", "\\"))


def _unstarred(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Starred) else node


def _climbs(path: str) -> bool:
    """Whether `..` follows a name: what that leads to, the code may have changed before."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return ".." in parts[next((index for index, part in enumerate(parts) if part != ".."), len(parts)) :]


class _Checker:
    """Walks the tree; raises at the first thing that is not on the list."""

    def __init__(self, tree: ast.Module, arguments: tuple[str | None, ...], names: Names) -> None:
        body = list(tree.body)
        self._names = names
        while body and isinstance(first := body[0], ast.Import | ast.ImportFrom):
            self._names.bring(first)
            body.pop(0)
        self._names.own(bindings(body))
        self._files = Files(body, self._names.imported, arguments)
        self._body = body
        self._commands: list[Started] = []

    def proof(self) -> Proof:
        for statement in self._body:
            self._statement(statement)
        files, commands = tuple(dict.fromkeys(self._files.uses)), tuple(dict.fromkeys(self._commands))
        found = Proof(files=files, modules=tuple(self._names.modules), commands=commands)
        # A command may put another file, or another module, where the code looks after it.
        if commands and (files or found.modules):
            raise _RefusedError
        if found.changed() and (found.modules or any(_climbs(use.path) for use in found.files)):
            raise _RefusedError
        return found

    # --- statements -------------------------------------------------------------------------------------------------

    def _statement(self, node: ast.stmt) -> None:  # noqa: C901 - one branch a kind of statement
        match node:
            case ast.Expr(value=value):
                self._value(value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in self._files.path_names:
                # a path object of a known name, which is seen where it is used
                if self._files.trees.items(value) is not None:
                    self._walk(value)
            case ast.Assign() if (kept := self._files.trees.is_pruned(node)) is not None:
                self._all(kept.generators[0].ifs)
            case ast.Assign(targets=[ast.Attribute(value=base, attr="row_factory")], value=value):
                self._value(base)
                if self._names.dotted(value) != "sqlite3.Row":
                    raise _RefusedError
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
                self._looped(items)
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
                    if handler.type is None or self._function(handler.type) not in CAUGHT:
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
                raise _RefusedError

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
                raise _RefusedError

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
                self._name(name)
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
                if self._names.dotted(value) != "sys.argv":
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
                raise _RefusedError

    def _all(self, nodes: list[ast.expr]) -> None:
        for node in nodes:
            self._value(node)

    def _comprehension(self, results: list[ast.expr], generators: list[ast.comprehension]) -> None:
        for generator in generators:
            if generator.is_async:
                raise _RefusedError
            self._target(generator.target)
            self._looped(generator.iter)
            self._all(generator.ifs)
        self._all(results)

    def _looped(self, node: ast.expr) -> None:
        """What a loop goes through: a walk through a tree, or a value."""
        match node:
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner], keywords=[]):
                self._looped(inner)
            case _ if (roots := self._files.trees.walked(node)) is not None:
                self._files.walk(Tree(roots, Gives.TEXTS))
            case _ if self._files.trees.items(node) is not None:
                self._walk(node)
            case _:
                self._shown(node)

    def _walk(self, node: ast.expr) -> None:
        """A walk, or what puts it in order or leaves some of it out."""
        match node:
            case ast.Name():
                pass
            case ast.Call(func=ast.Name(), args=[inner]) if not self._names.dotted(node.func):
                self._walk(inner)
            case ast.Subscript(value=inner, slice=index):
                self._walk(inner)
                self._value(index)
            case ast.ListComp(generators=generators) | ast.GeneratorExp(generators=generators):
                self._comprehension([], generators)
            case _:
                tree = self._files.trees.items(node)
                if tree is None:
                    raise _RefusedError
                self._files.walk(tree)

    # --- names and calls ----------------------------------------------------------------------------------------------

    def _name(self, name: str) -> None:
        if name in self._files.path_names:
            raise _RefusedError  # a path object is no value
        self._names.value(name)

    def _attribute(self, node: ast.Attribute) -> None:
        if node.attr == "__name__" and self._is_type(node.value):
            self._value(node.value.args[0])
            return
        if self._files.is_part(node):
            return
        rest = self._names.attribute(node)
        if rest is not None:
            self._value(rest)

    def _call(self, node: ast.Call) -> None:
        function = node.func
        name = self._function(function)
        if name in STARTS:
            self._commands.append(started(node))
            return
        if name in CALLED:
            values, commands = called(node, name)
            self._commands += commands
            self._all(list(values))
            return
        rest = self._files.opened(node, name)
        if rest is not None:
            self._all(list(rest))
            return
        if isinstance(function, ast.Attribute) and self._is_method(node, function):
            return
        if isinstance(function, ast.Attribute) and function.attr in ("format", "format_map"):
            self._format(function)
        else:
            self._value(function)
        for argument in node.args:
            if name in _LOOKS and self._files.trees.items(_unstarred(argument)) is not None:
                self._walk(_unstarred(argument))
            elif name in _SHOWS or (isinstance(function, ast.Attribute) and function.attr == "join"):
                self._shown(argument)
            else:
                self._value(argument)
        for keyword in node.keywords:
            if keyword.arg in ("opener", "object_pairs_hook") or (keyword.arg or "").startswith("_"):
                raise _RefusedError
            self._value(keyword.value)

    def _is_method(self, node: ast.Call, function: ast.Attribute) -> bool:
        """Take the call of a method that is listed for some arguments only."""
        match function.attr, node.args:
            case "execute", [ast.Constant(value=str(statement)), *rest] if self._names.imports("sqlite3"):
                if node.keywords or not _queries(statement):
                    raise _RefusedError
                self._all(rest)
            case "read", [_] if self._names.imports("configparser"):
                self._files.read_named(node)
            case "read", [] if self._names.imports("configparser"):
                pass
            case method, [] if method in TO_TEXT and self._names.modules:
                if not all(keyword.arg in TEXT_KEYWORDS for keyword in node.keywords):
                    raise _RefusedError
                self._all([keyword.value for keyword in node.keywords])
            case _:
                return False
        self._value(function.value)
        return True

    def _function(self, node: ast.expr) -> str:
        """The name of what is called or caught: of a part of a module, or a builtin; empty for everything else."""
        name = self._names.dotted(node)
        return node.id if isinstance(node, ast.Name) and not name and not self._names.is_own(node.id) else name

    def _shown(self, node: ast.expr) -> None:
        """A value that is only looked at: then it may be one that the process shares, or a path object."""
        if isinstance(node, ast.Starred):
            node = node.value
        if self._is_type(node):
            self._value(node.args[0])
        elif self._names.dotted(node) not in LISTED and not self._files.is_path(node):
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
            raise _RefusedError
        if _FIELDS.fullmatch(text.value) is None:
            raise _RefusedError

"""Whether Python code surely does no more than compute, print, start commands that it names as constants, and read,
write and delete files that it names.

A list of what may stand in such code, over its syntax tree; whatever is not on it is no proof. Whoever attacks
this should look for a way to a function, module or attribute that is not on the list: through a value that is a module
(none may be had), through a name that begins with an underscore (none), through `str.format` (its fields may name
nothing), through an import that finds another file (`python_alone`, also one that the code itself puts there).
"""

import ast
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from shield.facts.programs.python.called import CAUGHT, UnlistedCallError
from shield.facts.programs.python.classes import Classes
from shield.facts.programs.python.code import python_tree
from shield.facts.programs.python.expressions import Expressions, RefusedError
from shield.facts.programs.python.files import Files, FileUse, UnnamedFileError
from shield.facts.programs.python.frames import UnclearAskError, is_data
from shield.facts.programs.python.names import DECORATORS, Names, UnlistedNameError
from shield.facts.programs.python.processes import Started, UnclearStartError
from shield.facts.programs.python.stores import UnclearStoreError
from shield.facts.programs.python.texts import bindings
from shield.regex import regex
from shield.types import Access

__all__ = ["Proof", "proven"]

_MAX_CODE = 8_192
_PLAIN_CODE = regex(r"[\t\n\x20-\x7e]*")
_CODING = regex(r"coding[:=]")  # in a comment (PEP 263)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What the code does to files, as it names them. `modules`: those of the project, or installed, that it imports
    besides: then it runs their code, and changes no file but of data. `commands`: what it starts, in any order and
    number; then it does nothing to files, and brings no modules."""

    files: tuple[FileUse, ...]
    modules: tuple[str, ...]
    commands: tuple[Started, ...] = ()

    def changed(self) -> tuple[str, ...]:
        """The files that it writes or deletes."""
        return tuple(use.path for use in self.files if use.access in (Access.WRITE, Access.DELETE))


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
    except (RefusedError, UnclearAskError, UnclearStartError, UnclearStoreError, RecursionError):
        return None
    except (UnlistedCallError, UnlistedNameError, UnnamedFileError):
        return None


def _reads_alike(code: str) -> bool:
    """Whether every version reads it alike, in every locale: no declaration of an encoding, no bytes above 127."""
    comments = (line.partition("#")[2] for line in code.split("\n"))
    return _PLAIN_CODE.fullmatch(code) is not None and not any(_CODING.search(comment) for comment in comments)


def _generic(node: ast.stmt) -> bool:
    return bool(getattr(node, "type_params", None))  # from Python 3.12 on


def _climbs(path: str) -> bool:
    """Whether `..` follows a name: what that leads to, the code may have changed before."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return ".." in parts[next((index for index, part in enumerate(parts) if part != ".."), len(parts)) :]


class _Checker(Expressions):
    """Walks the tree; raises at the first thing that is not on the list."""

    def __init__(self, tree: ast.Module, arguments: tuple[str | None, ...], names: Names) -> None:
        body = list(tree.body)
        while body and isinstance(first := body[0], ast.Import | ast.ImportFrom):
            names.bring(first)
            body.pop(0)
        names.own(bindings(body))
        super().__init__(
            names, Files(body, names.imported, arguments), Classes(body, Counter(bindings(body)), names.dotted)
        )
        self._body = body

    def proof(self) -> Proof:
        for statement in self._body:
            self._statement(statement)
        files, commands = tuple(dict.fromkeys(self.files.uses)), tuple(dict.fromkeys(self.commands))
        found = Proof(files=files, modules=tuple(self.names.modules), commands=commands)
        # A command may put another file, or another module, where the code looks after it.
        if commands and (files or found.modules):
            raise RefusedError
        if found.changed() and any(_climbs(use.path) for use in found.files):
            raise RefusedError
        # What is installed may bring in more modules by then: one of them must not be what the code has written.
        if found.modules and not all(is_data(path) for path in found.changed()):
            raise RefusedError
        return found

    def _statement(self, node: ast.stmt) -> None:  # noqa: C901 - one branch a kind of statement
        match node:
            case ast.Expr(value=value):
                self.value(value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in self.files.path_names:
                # a path object of a known name, which is seen where it is used
                if self.files.trees.items(value) is not None:
                    self.walked(value)
            case ast.Assign() if (kept := self.files.trees.is_pruned(node)) is not None:
                for test in kept.generators[0].ifs:
                    self.value(test)
            case ast.Assign(targets=[ast.Attribute(value=base, attr="row_factory")], value=value):
                self.value(base)
                if self.names.dotted(value) != "sqlite3.Row":
                    raise RefusedError
            case ast.Assign(targets=targets, value=value):
                self.value(value)
                for target in targets:
                    self.target(target)
            case ast.AugAssign(target=target, value=value):
                self.value(value)
                self.target(target)
            case ast.AnnAssign(target=target, annotation=annotation, value=value):
                self.target(target)
                self.annotation(annotation)
                self.optional(value)
            case ast.For(target=target, iter=items, body=body, orelse=other):
                self.target(target)
                self.looped(target, items)
                self._block(body, other)
            case ast.While(test=test, body=body, orelse=other) | ast.If(test=test, body=body, orelse=other):
                self.value(test)
                self._block(body, other)
            case ast.With(items=items, body=body):
                for item in items:
                    self.value(item.context_expr)
                    if item.optional_vars is not None:
                        self.target(item.optional_vars)
                self._block(body)
            case ast.Try(body=body, handlers=handlers, orelse=other, finalbody=last):
                self._block(body, other, last)
                for handler in handlers:
                    if handler.type is None or self.function(handler.type) not in CAUGHT:
                        self.annotation(handler.type)
                    self._block(handler.body)
            case ast.FunctionDef(args=args, body=body, returns=returns) if not _generic(node):
                for decorator in node.decorator_list:
                    self._decorator(decorator)
                self.parameters(args)
                self.annotation(returns)
                self._block(body)
            case ast.ClassDef(name=name, body=body) if name in self.classes.names:
                for each in body:
                    if not isinstance(each, ast.AnnAssign):
                        self._statement(each)
                    elif each.value is None or isinstance(each.value, ast.Constant | ast.Call):
                        self.annotation(each.annotation)
            case ast.Return(value=value):
                self.optional(value)
            case ast.Assert(test=test, msg=msg):
                self.value(test)
                self.optional(msg)
            case ast.Raise(exc=error, cause=cause):
                self.optional(error)
                self.optional(cause)
            case ast.Delete(targets=targets):
                for target in targets:
                    self.target(target)
            case ast.Pass() | ast.Break() | ast.Continue() | ast.Global() | ast.Nonlocal():
                pass
            case _:
                raise RefusedError

    def _decorator(self, node: ast.expr) -> None:
        """`@cache`, `@lru_cache(maxsize=None)`"""
        if isinstance(node, ast.Call) and not node.args:
            if not all(isinstance(keyword.value, ast.Constant) for keyword in node.keywords):
                raise RefusedError
            node = node.func
        if self.names.dotted(node) not in DECORATORS or not self.names.dotted(node).startswith("functools."):
            raise RefusedError

    def _block(self, *blocks: list[ast.stmt]) -> None:
        for block in blocks:
            for statement in block:
                self._statement(statement)

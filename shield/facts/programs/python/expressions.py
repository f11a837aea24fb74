"""Which expressions may stand in proven Python code: values, calls of what is listed, and names that the code gives."""

import ast
import re
from typing import TypeGuard

from shield.facts.programs.python.allowed import LISTED
from shield.facts.programs.python.called import CALLED, called
from shield.facts.programs.python.classes import Classes
from shield.facts.programs.python.files import Files
from shield.facts.programs.python.frames import asked
from shield.facts.programs.python.installed import TEXT_KEYWORDS, TO_TEXT
from shield.facts.programs.python.names import Names
from shield.facts.programs.python.processes import STARTS, Started, started
from shield.facts.programs.python.stores import queries
from shield.facts.programs.python.trees import Gives, Tree
from shield.regex import regex

__all__ = ["Expressions", "RefusedError"]

_FIELDS = regex(r"(?:[^{}]|\{\{|\}\}|\{\w*(?:![rsa])?(?::[^{}]*)?\})*", re.DOTALL)
_LOOKS = frozenset(("print", "len", "str", "repr", "pprint.pprint"))  # of a list nothing is left in what they give
_SHOWS = frozenset(("print", "len", "sorted", "list", "tuple", "str", "repr", "enumerate", "pprint.pprint"))


class RefusedError(Exception):
    """Something that is not on the list."""


class Expressions:
    """Of one piece of code; each method raises at the first thing that is not on the list."""

    def __init__(self, names: Names, files: Files, classes: Classes) -> None:
        self.names = names
        self.classes = classes
        self.files = files
        self.commands: list[Started] = []

    def optional(self, node: ast.expr | None) -> None:
        if node is not None:
            self.value(node)

    def value(self, node: ast.expr) -> None:  # noqa: C901 - one branch a kind of expression
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
                self._inner(left)
                self._inner(right)
            case ast.BoolOp(values=values):
                self._all(values)
            case ast.UnaryOp(operand=operand):
                self.value(operand)
            case ast.Compare(left=left, comparators=others):
                for each in (left, *others):
                    self._inner(each)
            case ast.IfExp(test=test, body=body, orelse=other):
                self._all([test, body, other])
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
                self._all(elements)
            case ast.Dict(keys=keys, values=values):
                self._all([*(key for key in keys if key is not None), *values])
            case ast.Subscript(value=value, slice=index):
                if self.names.dotted(value) != "sys.argv":
                    self._inner(value)
                self.value(index)
            case ast.Slice(lower=lower, upper=upper, step=step):
                for part in (lower, upper, step):
                    self.optional(part)
            case ast.JoinedStr(values=values):
                self._all(values)
            case ast.FormattedValue(value=value, format_spec=spec):
                self.shown(value)
                self.optional(spec)
            case ast.Lambda(args=args, body=body):
                self.parameters(args)
                self.value(body)
            case ast.ListComp(elt=element, generators=generators) | ast.SetComp(elt=element, generators=generators):
                self._comprehension([element], generators)
            case ast.GeneratorExp(elt=element, generators=generators):
                self._comprehension([element], generators)
            case ast.DictComp(key=key, value=value, generators=generators):
                self._comprehension([key, value], generators)
            case ast.Starred(value=value) | ast.NamedExpr(value=value):
                self.value(value)
            case ast.YieldFrom(value=value):
                self.value(value)
            case ast.Yield(value=value):
                self.optional(value)
            case _:
                raise RefusedError

    def _all(self, nodes: list[ast.expr]) -> None:
        for node in nodes:
            self.value(node)

    def _comprehension(self, results: list[ast.expr], generators: list[ast.comprehension]) -> None:
        for generator in generators:
            if generator.is_async:
                raise RefusedError
            self.target(generator.target)
            self.looped(generator.target, generator.iter)
            self._all(generator.ifs)
        self._all(results)

    def looped(self, target: ast.expr, node: ast.expr) -> None:
        """What a loop goes through: a walk through a tree, or a value."""
        trees = self.files.trees
        match target, node:
            case ast.Tuple(elts=[ast.Name(), inner_target]), ast.Call(
                func=ast.Name(id="enumerate"), args=[inner], keywords=[]
            ) if trees.items(inner) is not None:
                self.looped(inner_target, inner)
            case _ if (roots := trees.walked(node)) is not None:
                if not trees.holds_walk(target):
                    raise RefusedError
                self.files.walk(Tree(roots, Gives.TEXTS))
            case _ if (tree := trees.items(node)) is not None:
                # INVARIANT: a path object is had by a name that is no value, or not at all
                if tree.gives is Gives.PATHS and not trees.is_path(target):
                    raise RefusedError
                self.walked(node)
            case _:
                self.shown(node)

    def walked(self, node: ast.expr) -> None:
        """A walk, or what puts it in order or leaves some of it out."""
        match node:
            case ast.Name():
                pass
            case ast.Call(func=ast.Name(), args=[inner]) if not self.names.dotted(node.func):
                self.walked(inner)
            case ast.Subscript(value=inner, slice=index):
                self.walked(inner)
                self.value(index)
            case ast.ListComp(generators=generators) | ast.GeneratorExp(generators=generators):
                self._comprehension([], generators)
            case _:
                tree = self.files.trees.items(node)
                if tree is None:
                    raise RefusedError
                self.files.walk(tree)

    # --- names and calls ----------------------------------------------------------------------------------------------

    def _name(self, name: str) -> None:
        if name in self.files.path_names or name in self.classes.names:
            raise RefusedError  # neither a path object nor a class is a value
        self.names.value(name)

    def _inner(self, node: ast.expr) -> None:
        """A value that is asked for something, or computed with, and goes nowhere else."""
        if isinstance(node, ast.Attribute):
            self._attribute(node, inner=True)
        else:
            self.value(node)

    def _attribute(self, node: ast.Attribute, *, inner: bool = False) -> None:
        if node.attr == "__name__" and self._is_type(node.value):
            self.value(node.value.args[0])
            return
        if self.files.is_part(node) or self.classes.gives(node):
            return
        rest = self.names.attribute(node, inner=inner)
        if rest is not None:
            self._inner(rest)

    def _call(self, node: ast.Call) -> None:
        function = node.func
        name = self.function(function)
        if name in STARTS:
            self.commands.append(started(node))
            return
        if name in CALLED:
            values, commands = called(node, name)
            self.commands += commands
            self._all(list(values))
            return
        values_of = asked(node, name, self.names, self.files)
        if values_of is not None:
            for each in values_of:
                self._inner(each)
            return
        rest = self.files.opened(node, name)
        if rest is not None:
            self._all(list(rest))
            return
        if isinstance(function, ast.Attribute) and self._is_method(node, function):
            return
        if self.classes.is_class(function) or self.classes.is_base_method(function):
            self._all([*node.args, *(keyword.value for keyword in node.keywords)])
            return
        if name == "isinstance" and len(node.args) == 2 and self.classes.is_class(node.args[1]):
            self.value(node.args[0])
            return
        if isinstance(function, ast.Attribute) and function.attr in ("format", "format_map"):
            self._format(function)
        else:
            self.value(function)
        for argument in node.args:
            if name in _LOOKS and self.files.trees.items(_unstarred(argument)) is not None:
                self.walked(_unstarred(argument))
            elif name in _SHOWS or (isinstance(function, ast.Attribute) and function.attr == "join"):
                self.shown(argument)
            else:
                self.value(argument)
        for keyword in node.keywords:
            if keyword.arg in ("opener", "object_pairs_hook") or (keyword.arg or "").startswith("_"):
                raise RefusedError
            self.value(keyword.value)

    def _is_method(self, node: ast.Call, function: ast.Attribute) -> bool:
        """Take the call of a method that is listed for some arguments only."""
        match function.attr, node.args:
            case "execute", [ast.Constant(value=str(statement)), *rest] if self.names.imports("sqlite3"):
                if node.keywords or not queries(statement):
                    raise RefusedError
                self._all(rest)
            case "read", [_] if self.names.imports("configparser"):
                self.files.read_named(node)
            case "read", [] if self.names.imports("configparser"):
                pass
            case method, [] if method in TO_TEXT and self.names.modules:
                if not all(keyword.arg in TEXT_KEYWORDS for keyword in node.keywords):
                    raise RefusedError
                self._all([keyword.value for keyword in node.keywords])
            case _:
                return False
        self.value(function.value)
        return True

    def function(self, node: ast.expr) -> str:
        """The name of what is called or caught: of a part of a module, or a builtin; empty for everything else."""
        name = self.names.dotted(node)
        return node.id if isinstance(node, ast.Name) and not name and not self.names.is_own(node.id) else name

    def shown(self, node: ast.expr) -> None:
        """A value that is only looked at: then it may be one that the process shares, or a path object."""
        if isinstance(node, ast.Starred):
            node = node.value
        if self._is_type(node):
            self.value(node.args[0])
        elif self.names.dotted(node) not in LISTED and not self.files.is_path(node):
            self.value(node)

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
            raise RefusedError
        if _FIELDS.fullmatch(text.value) is None:
            raise RefusedError

    def target(self, node: ast.expr) -> None:
        match node:
            case ast.Name():
                pass
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for element in elements:
                    self.target(element)
            case ast.Starred(value=value):
                self.target(value)
            case ast.Subscript(value=value, slice=index):
                self.value(value)
                self.value(index)
            case ast.Attribute() if self.classes.gives(node):
                pass
            case _:
                raise RefusedError

    def annotation(self, node: ast.expr | None) -> None:
        if node is not None and not self.classes.is_class(node):
            self.value(node)

    def parameters(self, arguments: ast.arguments) -> None:
        for default in (*arguments.defaults, *(item for item in arguments.kw_defaults if item is not None)):
            self.value(default)
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        for argument in every:
            if argument is not None:
                self.annotation(argument.annotation)


def _unstarred(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Starred) else node

"""Classes that proven Python code makes: of which an instance may be asked whatever the class gives it.

A class is no value, so that no method is called but for an instance, and `self` is one in all of the code: what is
asked of it and put into it stays in what the code made. Whoever attacks this should look for a way to call a method
with another first argument, for a method that the interpreter calls with more than data, and for a base by which an
instance can do more than compute.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterable

from shield.facts.programs.python.allowed import BUILTINS
from shield.regex import regex

__all__ = ["BASES", "Classes"]

# Of these an instance does nothing to files, and nothing is started.
BASES = frozenset(("html.parser.HTMLParser",))
_DATACLASS = "dataclasses.dataclass"
_SELF = "self"
# What the interpreter calls with values of the code, or of what it works on.
_CALLED_TEXT = """
__init__ __post_init__ __repr__ __str__ __len__ __bool__ __iter__ __next__ __contains__ __getitem__ __call__ __hash__
__eq__ __lt__ __le__ __gt__ __ge__ __add__ __sub__ __mul__
"""
_CALLED = frozenset(_CALLED_TEXT.split())
_NAME = regex(r"_?[A-Za-z][A-Za-z0-9_]*")


class Classes:
    """Of one piece of code. `bound`: how often each name is given a value; `dotted`: what an imported name stands for.
    `names`: of the classes, none where one of them is not known to make such instances only."""

    def __init__(self, statements: Iterable[ast.stmt], bound: Counter[str], dotted: Callable[[ast.expr], str]) -> None:
        nodes = [node for statement in statements for node in ast.walk(statement)]
        self._dotted = dotted
        found = [node for node in nodes if isinstance(node, ast.ClassDef)]
        methods = [each for node in found for each in node.body if isinstance(each, ast.FunctionDef)]
        # INVARIANT: `self` is the first parameter of methods and nothing else
        plain = all(map(_is_method, methods)) and bound[_SELF] == len(methods)
        fine = plain and all(bound[node.name] == 1 and self._is_fine(node) for node in found)
        self.names = frozenset(node.name for node in found) if fine else frozenset[str]()
        self._instances = {_SELF} if self.names else set[str]()
        for node in nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=made))):
                    if bound[name] == 1 and made in self.names:
                        self._instances.add(name)
                case _:
                    pass

    def _is_fine(self, node: ast.ClassDef) -> bool:
        bases = all(self._is_base(base) for base in node.bases)
        decorated = all(self._is_dataclass(each) for each in node.decorator_list)
        if not bases or not decorated or node.keywords or getattr(node, "type_params", None):
            return False
        return all(self._is_part(each) for each in node.body)

    def _is_base(self, node: ast.expr) -> bool:
        if self._dotted(node):
            return self._dotted(node) in BASES
        return isinstance(node, ast.Name) and (
            node.id == "object" or (node.id in BUILTINS and node.id.endswith(("Error", "Exception")))
        )

    def _is_dataclass(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call):
            flags = all(keyword.arg and isinstance(keyword.value, ast.Constant) for keyword in node.keywords)
            return flags and not node.args and self._is_dataclass(node.func)
        return self._dotted(node) == _DATACLASS

    def _is_part(self, node: ast.stmt) -> bool:
        match node:
            case ast.FunctionDef() | ast.Pass() | ast.Expr(value=ast.Constant()):
                return True
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return not name.startswith("_") and isinstance(value, ast.Constant)
            case ast.AnnAssign(target=ast.Name(id=name), value=value):
                return not name.startswith("_") and (value is None or self._is_default(value))
            case _:
                return False

    def _is_default(self, node: ast.expr) -> bool:
        """A constant, or `field(default_factory=list)`."""
        match node:
            case ast.Constant():
                return True
            case ast.Call(func=function, args=[], keywords=[ast.keyword(arg=name, value=value)]):
                made = isinstance(value, ast.Name) and value.id in ("dict", "list", "set")
                constant = name == "default" and isinstance(value, ast.Constant)
                return self._dotted(function) == "dataclasses.field" and (
                    constant or (name == "default_factory" and made)
                )
            case _:
                return False

    def is_instance(self, node: ast.expr) -> bool:
        """Whether this is a name that has an instance of one of the classes, if anything."""
        return isinstance(node, ast.Name) and node.id in self._instances

    def is_class(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.names

    def gives(self, node: ast.Attribute) -> bool:
        """Whether it is an attribute of an instance, to be asked or given."""
        return self.is_instance(node.value) and _NAME.fullmatch(node.attr) is not None

    def is_base_method(self, node: ast.expr) -> bool:
        """`super().__init__`"""
        match node:
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=[], keywords=[]), attr=name):
                return bool(self.names) and (name == "__init__" or not name.startswith("_"))
            case _:
                return False


def _is_method(node: ast.FunctionDef) -> bool:
    arguments = node.args
    first = [*arguments.posonlyargs, *arguments.args][:1]
    if not first or first[0].arg != _SELF or node.decorator_list:
        return False
    if node.name not in _CALLED and _NAME.fullmatch(node.name) is None:
        return False
    # A default is made where the names of methods are those of plain functions.
    defaults = [*arguments.defaults, *(each for each in arguments.kw_defaults if each is not None)]
    return all(isinstance(each, ast.Constant) for each in defaults)

"""What the names in proven Python code mean: the code's own, listed builtins, listed parts of modules, the project's.

INVARIANT: a name means one thing in all of the code, and no value is ever a module.
"""

import ast
from collections.abc import Callable, Iterable

from shield.facts.programs.python.allowed import BUILTINS, EVERY_BUILTIN, METHODS, MODULES, STREAMS
from shield.facts.programs.python.alone import is_module, may_shadow
from shield.facts.programs.python.called import CALLED
from shield.facts.programs.python.classes import BASES
from shield.facts.programs.python.files import FILE_NAMES
from shield.facts.programs.python.installed import FRAME_METHODS, INSTALLED, NEVER_METHODS, READERS
from shield.facts.programs.python.processes import STARTS

__all__ = ["DECORATORS", "Names", "UnlistedNameError"]

# What every module says of itself.
_TOLD = frozenset(("__version__", "__file__", "__name__", "__doc__", "__path__", "VERSION", "version"))
_SAID = frozenset(("__version__", "__file__", "__name__", "__doc__"))  # texts, of the library's, too
# All that these give is as harmless as what is listed of it, and none of it has the name of a builtin that is not.
_WHOLE = frozenset(("collections", "decimal", "fractions", "itertools", "math", "random", "statistics"))
# What may stand over a function or a class, or makes a field of one, and is no value.
DECORATORS = frozenset(("dataclasses.dataclass", "dataclasses.field", "functools.cache", "functools.lru_cache"))
# Methods that open the file that they are given the name of: `ElementTree.write`, `ConfigParser.read`.
_OPENING = (("write", "xml"), ("read", "configparser"))
# Attributes of frames, code and functions, by which everything can be had (Reference Manual, 3.2).
_INNER = ("_", "gi_", "cr_", "ag_", "f_", "tb_", "co_", "func_", "im_", "mro")


class UnlistedNameError(Exception):
    """A name that is on no list, or that could mean two things."""


class Names:
    """The names of one piece of code. `known`: whether a module of this name is the project's own; `taken`: names that
    have a meaning wherever the code's own does not hold (what a comprehension binds, holds in it alone)."""

    def __init__(self, known: Callable[[str], bool], taken: frozenset[str]) -> None:
        self.modules: list[str] = []  # that are none of the library's
        self.imported: dict[str, str] = {}  # names to modules, and to what modules hold
        self._own: set[str] = set()
        self._listed: set[str] = set()  # modules that are installed, of which some is listed
        self._opened = False  # some are the project's own, of which all may be asked
        self._known = known
        self._taken = EVERY_BUILTIN | taken

    def bring(self, node: ast.Import | ast.ImportFrom) -> None:
        """Take what an import binds.

        Raises:
            UnlistedNameError: it may bring more than is listed.
        """
        if isinstance(node, ast.Import):
            for item in node.names:
                first = item.name.partition(".")[0]
                if item.name in INSTALLED and not self._known(first):
                    self._install(first)
                elif not any(module == item.name or module.startswith(item.name + ".") for module in MODULES):
                    self._project(first, installed="." not in item.name)
                self._bind(item.asname or first, item.name if item.asname else first)
            return
        for item in node.names:
            full = f"{node.module}.{item.name}"
            if item.name == "*" and not node.level and node.module in _WHOLE and not self._known(node.module):
                for name in MODULES[node.module] - EVERY_BUILTIN:
                    self._bind(name, f"{node.module}.{name}")
                continue
            if node.level or item.name == "*":
                raise UnlistedNameError
            if (node.module or "") in INSTALLED and not self._known((node.module or "").partition(".")[0]):
                self._install((node.module or "").partition(".")[0])
                if not (self.permitted(full) or full in READERS):
                    raise UnlistedNameError
            elif not (
                self.permitted(full)
                or full in MODULES
                or full in FILE_NAMES | STARTS | CALLED | BASES | DECORATORS
                or full in STREAMS
            ):
                self._project((node.module or "").partition(".")[0], installed=False)
                if is_module(item.name) or item.name.startswith("_"):
                    raise UnlistedNameError
            self._bind(item.asname or item.name, full)

    def _project(self, module: str, *, installed: bool) -> None:
        """A module that is none of the library's: the project's own, or one that is only asked for its version."""
        if not module or may_shadow(module) or module.startswith("_") or not (self._known(module) or installed):
            raise UnlistedNameError
        self.modules.append(module)
        self._opened |= self._known(module)

    def _install(self, module: str) -> None:
        self._listed.add(module)
        self.modules.append(module)

    def imports(self, module: str) -> bool:
        """Whether this module is imported, or a part of it."""
        return any(full.partition(".")[0] == module for full in self.imported.values())

    def _bind(self, name: str, full: str) -> None:
        if name.startswith("_") or self.imported.get(name, full) != full or name in self._taken:
            raise UnlistedNameError
        self.imported[name] = full

    def own(self, names: Iterable[str]) -> None:
        """Take the names that the code itself gives a meaning, after all that is imported.

        Raises:
            UnlistedNameError: one of them has another meaning already.
        """
        if self._listed and self._opened:
            raise UnlistedNameError  # what one gives could not be told from what the other does
        self._own.update(names)
        if any(name.startswith("_") and name.strip("_") for name in self._own):
            raise UnlistedNameError
        if self._own & (self.imported.keys() | self._taken):
            raise UnlistedNameError

    def lists(self, module: str) -> bool:
        """Whether this module is imported and some of it is listed."""
        return module in self._listed

    def is_own(self, name: str) -> bool:
        return name in self._own

    def value(self, name: str) -> None:
        """A name as a value: the code's own, a listed builtin, or a listed part of a module; never a module.

        Raises:
            UnlistedNameError: it is none of these.
        """
        if name in self._own:
            return
        full = self.imported.get(name)
        if full is None:
            fine = name in BUILTINS
        elif self._foreign(full):
            fine = self._known(full.partition(".")[0])
        else:
            fine = self.permitted(full) or full in STREAMS
        if not fine:
            raise UnlistedNameError

    def attribute(self, node: ast.Attribute, *, inner: bool = False) -> ast.expr | None:
        """An attribute as a value: a listed part of a module, or a listed method or field of what is left to look at.
        `inner`: it is only asked for something in turn, or computed with; then it may be a column of a table, too.

        Raises:
            UnlistedNameError: it is neither.
        """
        full = self.dotted(node)
        if full:
            if full in STREAMS or self.permitted(full) or (node.attr in _SAID and self._is_listed(full)):
                return None
            # a field of something listed: `sys.version_info.major`, `datetime.datetime.now`
            if not isinstance(node.value, ast.Attribute | ast.Name) or self._is_module(node.value):
                raise UnlistedNameError
        base = node.value
        if isinstance(base, ast.Name) and base.id not in self._own and self._foreign(self.imported.get(base.id, "")):
            if node.attr in _TOLD or (self._known(self.imported[base.id].partition(".")[0]) and self._open(node.attr)):
                return None
            raise UnlistedNameError
        column = inner and bool(self._listed) and self._open(node.attr) and not node.attr.startswith("__")
        if node.attr not in METHODS and not self._further(node.attr) and not column:
            raise UnlistedNameError
        if self._listed and node.attr in NEVER_METHODS:
            raise UnlistedNameError
        if any(node.attr == attr and self.imports(module) for attr, module in _OPENING):
            raise UnlistedNameError
        return base

    def _further(self, name: str) -> bool:
        """Whether this may be asked besides, of what an imported module gives."""
        return (self._opened and self._open(name)) or (bool(self._listed) and name in FRAME_METHODS)

    def _is_listed(self, full: str) -> bool:
        module = full.rpartition(".")[0]
        return module in MODULES or (module in INSTALLED and module.partition(".")[0] in self._listed)

    def permitted(self, full: str) -> bool:
        """Whether a module holds this name and it is listed."""
        module, _, name = full.rpartition(".")
        if module.partition(".")[0] in self._listed:
            return name in INSTALLED.get(module, ())
        return name in MODULES.get(module, ())

    def dotted(self, node: ast.expr) -> str:
        """`module.name` of what was imported; empty for everything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self._own or node.id not in self.imported:
            return ""
        if self._foreign(self.imported[node.id]):
            return ""
        return ".".join([self.imported[node.id], *reversed(parts)])

    def _is_module(self, node: ast.expr) -> bool:
        full = self.dotted(node)
        return bool(full) and full not in STREAMS and not self.permitted(full)

    def _foreign(self, full: str) -> bool:
        return full.partition(".")[0] in self.modules and full.partition(".")[0] not in self._listed

    def _open(self, name: str) -> bool:
        """Whether this may be asked of what the project's own code gives: no way back to the library."""
        return not (name.startswith(_INNER) or is_module(name) or name in ("format", "format_map"))

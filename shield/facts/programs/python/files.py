"""Which files proven Python code opens, looks at, writes and deletes: each has to be named by constants.

A name counts where all of the code gives it a value once: then it has that value wherever it has one at all. Whoever
attacks this should look for a second way to give a name a value, for a value that is a path object (`Path.replace`
moves files; none may be had outside the calls that are listed here), and for a path that comes to mean another file by
what the code did before.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from shield.facts.beneath import Look
from shield.facts.programs.python.stores import ARCHIVES, STORES, stored
from shield.facts.programs.python.texts import PATHS, Texts, bindings
from shield.facts.programs.python.trees import TREE_NAMES, Gives, Tree, Trees
from shield.types import Access

__all__ = ["FILE_NAMES", "FileUse", "Files", "UnnamedFileError"]

_R, _W, _D, _L = Access.READ, Access.WRITE, Access.DELETE, Access.LIST

# What is done to the file that the first argument names.
_FUNCTIONS: Mapping[str, tuple[Access, bool]] = MappingProxyType(
    {
        "os.listdir": (_L, False),
        "os.path.exists": (_L, False),
        "os.path.getmtime": (_L, False),
        "os.path.getsize": (_L, False),
        "os.path.isdir": (_L, False),
        "os.path.isfile": (_L, False),
        "os.path.islink": (_L, False),
        "os.stat": (_L, False),
        "xml.etree.ElementTree.parse": (_R, False),
        "os.remove": (_D, False),
        "os.unlink": (_D, False),
        "os.rmdir": (_D, False),
        "shutil.rmtree": (_D, True),
        "os.mkdir": (_W, False),
        "os.makedirs": (_W, False),
    }
)
# What is done to the file that a path object names.
_METHODS: Mapping[str, Access] = MappingProxyType(
    {
        "read_text": _R,
        "read_bytes": _R,
        "exists": _L,
        "is_file": _L,
        "is_dir": _L,
        "is_symlink": _L,
        "stat": _L,
        "write_text": _W,
        "write_bytes": _W,
        "touch": _W,
        "mkdir": _W,
        "unlink": _D,
        "rmdir": _D,
    }
)
_OPEN = frozenset(("bz2.open", "gzip.open", "io.open", "lzma.open", "open"))
FILE_NAMES = frozenset((*_FUNCTIONS, *_OPEN, *PATHS, *STORES, *TREE_NAMES))
_ENTERED = frozenset((*_OPEN, *_FUNCTIONS, *ARCHIVES))
# What a path object of a walk says of itself, and what makes a text of it.
_PARTS = frozenset(("name", "parts", "stem", "suffix", "suffixes"))

_MODE_LETTERS = frozenset("rwaxbt+")
_OPEN_KEYWORDS = frozenset(("mode", "encoding", "errors", "newline"))
_FLAGS = frozenset(("exist_ok", "ignore_errors", "missing_ok", "mode", "parents"))


@dataclass(frozen=True, slots=True)
class FileUse:
    """A file as the code names it, and what is done to it; `recursive`: to all beneath it, too."""

    path: str
    access: Access
    recursive: bool = False
    look: Look | None = None  # which of all beneath


class UnnamedFileError(Exception):
    """What is opened is not named by constants, or is opened in a way that is not listed."""


class Files:
    """The files of one piece of code. `imported`: what imported names stand for; `arguments`: `sys.argv`, None where
    it is not known. Statements are those of the whole code."""

    def __init__(
        self, statements: Iterable[ast.stmt], imported: Mapping[str, str], arguments: tuple[str | None, ...]
    ) -> None:
        self.uses: list[FileUse] = []
        statements = list(statements)
        bound = Counter(bindings(statements))
        self._texts = Texts(statements, bound, imported, arguments)
        self.trees = Trees(statements, bound, self._texts.path, self._texts.text, self._texts.dotted)
        self.path_names = self._texts.path_names() | self.trees.names()
        # Names that are nothing else than a workbook that is written.
        self.writers = frozenset(name for name in _writers(statements, self._texts.dotted) if bound[name] == 1)

    def is_path(self, node: ast.expr) -> bool:
        """Whether the expression is a path object of a known name, or of a known tree."""
        return self._texts.path(node) is not None or self.trees.is_path(node)

    def is_part(self, node: ast.Attribute) -> bool:
        """Whether it is a text that a path object holds."""
        return node.attr in _PARTS and self.is_path(node.value)

    def walk(self, tree: Tree) -> None:
        """Take a walk for what it does: it sees names."""
        for root in tree.roots:
            self._add((root or ".",), (_L,), recursive=tree.gives is not Gives.LEAVES)

    def opened(self, node: ast.Call, name: str) -> tuple[ast.expr, ...] | None:
        """Take the call for what it does to files, where `name` is a function that does: then the arguments that are
        values like any others; None for every other call.

        Raises:
            UnnamedFileError: it does, and to what or how is not known.
        """
        if name in PATHS:
            raise UnnamedFileError  # a path object is no value
        if name in TREE_NAMES:
            raise UnnamedFileError  # a list of names is no value: what is put into it would be opened
        entry = self.trees.entry(node.args[0]) if node.args and name in _ENTERED else None
        if entry is not None:
            return self._entered(node, name, entry)
        if name in _OPEN:
            self._add(self._named(node), self._mode(node.args[1:], node.keywords))
            return ()
        if name in STORES:
            uses, values = stored(node, name, self._named(node))
            for path, access in uses:
                self._add((path,), (access,))
            return values
        if name in _FUNCTIONS:
            access, recursive = _FUNCTIONS[name]
            texts = (".",) if name == "os.listdir" and not node.args else self._named(node)
            self._flags(node.args[1:], node.keywords)
            self._add(texts, (access,), recursive=recursive)
            return ()
        function = node.func
        if isinstance(function, ast.Attribute) and self.trees.is_path(function.value):
            return self._entry_method(node, function)
        paths = self._texts.path(function.value) if isinstance(function, ast.Attribute) else None
        if paths is None or not isinstance(function, ast.Attribute):
            return None
        if function.attr == "open":
            self._add(paths, self._mode(node.args, node.keywords))
            return ()
        access = _METHODS.get(function.attr, _R)
        if function.attr not in _METHODS:
            raise UnnamedFileError
        if function.attr.startswith(("read_", "write_")):
            self._settings(node.keywords)
            content = 1 if access is _W else 0
            self._flags(node.args[content:], ())
            self._add(paths, (access,))
            return tuple(node.args[:content])
        self._flags(node.args, node.keywords)
        self._add(paths, (access,))
        return ()

    def _entered(self, node: ast.Call, name: str, entry: Tree) -> tuple[ast.expr, ...]:
        """What a function does to a file that a walk came upon."""
        accesses: tuple[Access, ...] = (_R,)
        if name in _OPEN:
            accesses = self._mode(node.args[1:], node.keywords)
        elif name in _FUNCTIONS:
            self._flags(node.args[1:], node.keywords)
            accesses = (_FUNCTIONS[name][0],)
        elif len(node.args) != 1 or node.keywords:
            raise UnnamedFileError
        self._add_tree(entry, accesses)
        return ()

    def named(self, node: ast.Call) -> tuple[str, ...]:
        """What the first argument may be, all of it constants.

        Raises:
            UnnamedFileError: it may be anything.
        """
        return self._named(node)

    def take(self, texts: tuple[str, ...], *accesses: Access) -> None:
        """Put down what is done to the files of these names."""
        self._add(texts, accesses)

    def read_named(self, node: ast.Call) -> None:
        """`ConfigParser.read`: a name, or a list of such."""
        match node.args:
            case [ast.List(elts=elements) | ast.Tuple(elts=elements)] if not node.keywords:
                named = [self._texts.text(each) for each in elements]
            case [name] if not node.keywords:
                named = [self._texts.either(name)]
            case _:
                raise UnnamedFileError
        for texts in named:
            if texts is None:
                raise UnnamedFileError
            self._add(texts, (_R,))

    def _entry_method(self, node: ast.Call, function: ast.Attribute) -> tuple[ast.expr, ...]:
        """What a method does to a file that a walk came upon."""
        if function.attr in ("as_posix", "match"):
            if node.keywords or not all(isinstance(each, ast.Constant) for each in node.args):
                raise UnnamedFileError
            return ()
        tree = self.trees.entry(function.value)
        access = _METHODS.get(function.attr)
        if tree is None or not isinstance(function.value, ast.Name):
            raise UnnamedFileError
        if function.attr == "open":
            self._add_tree(tree, self._mode(node.args, node.keywords))
            return ()
        if access is None:
            raise UnnamedFileError
        content = 0
        if function.attr.startswith(("read_", "write_")):
            self._settings(node.keywords)
            content = 1 if access is _W else 0
            self._flags(node.args[content:], ())
        else:
            self._flags(node.args, node.keywords)
        self._add_tree(tree, (access,))
        return tuple(node.args[:content])

    def _add_tree(self, tree: Tree, accesses: tuple[Access, ...]) -> None:
        """Any file of a tree. What is deleted, or made where there was nothing, is not among what a walk comes upon."""
        for root in tree.roots:
            for access in accesses:
                if access is _D:
                    raise UnnamedFileError
                self._add((root or ".",), (access,), recursive=True, look=tree.look)

    def _add(
        self, texts: tuple[str, ...], accesses: tuple[Access, ...], *, recursive: bool = False, look: Look | None = None
    ) -> None:
        for text in texts:
            if not text.isprintable() or not text:
                raise UnnamedFileError  # a lone surrogate is no name, and what nobody can read nobody should judge
            self.uses += [FileUse(text, access, recursive, look) for access in accesses]

    # --- how ----------------------------------------------------------------------------------------------------------

    def _mode(self, after: list[ast.expr], keywords: list[ast.keyword]) -> tuple[Access, ...]:
        named = [keyword.value for keyword in keywords if keyword.arg == "mode"]
        if len(after) > 1 or len(named) + len(after) > 1:
            raise UnnamedFileError
        self._settings(keyword for keyword in keywords if keyword.arg != "mode")
        given = [*after, *named]
        mode = given[0].value if given and isinstance(given[0], ast.Constant) else None if given else "r"
        if not isinstance(mode, str) or not mode or not _MODE_LETTERS.issuperset(mode):
            raise UnnamedFileError
        if mode[0] == "r" and "+" not in mode and not set(mode) & set("wax"):
            return (_R,)
        return (_R, _W) if "+" in mode else (_W,)

    def _settings(self, keywords: Iterable[ast.keyword]) -> None:
        for keyword in keywords:
            if keyword.arg not in _OPEN_KEYWORDS or not isinstance(keyword.value, ast.Constant):
                raise UnnamedFileError

    def _flags(self, after: Iterable[ast.expr], keywords: Iterable[ast.keyword]) -> None:
        """Numbers and truth values that change no file's name: a `dir_fd` would."""
        given = [*after, *(keyword.value for keyword in keywords)]
        if not all(isinstance(each, ast.Constant) for each in given):
            raise UnnamedFileError
        if any(keyword.arg not in _FLAGS for keyword in keywords):
            raise UnnamedFileError

    # --- which --------------------------------------------------------------------------------------------------------

    def _named(self, node: ast.Call) -> tuple[str, ...]:
        found = self._texts.either(node.args[0]) if node.args else None
        if found is None:
            raise UnnamedFileError
        return found


def _writers(statements: Iterable[ast.stmt], dotted: Callable[[ast.expr], str]) -> Iterator[str]:
    for node in (each for statement in statements for each in ast.walk(statement)):
        match node:
            case ast.withitem(context_expr=ast.Call(func=function), optional_vars=ast.Name(id=name)):
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=function)):
                pass
            case _:
                continue
        if dotted(function) == "pandas.ExcelWriter":
            yield name

"""What Python code would touch, as far as its text shows: files, commands and hosts that are written out in it.

The code is parsed, never run (docs.python.org, `ast`). Names are followed through imports, assignments of
constants, and `exec`/`eval` of constant text.
"""

import ast
import shlex
from collections.abc import Iterator, Sequence
from functools import lru_cache

from shield.facts.programs.deeds import Deeds
from shield.facts.programs.python.calls import (
    CODE,
    EXECUTES,
    HOSTS,
    LINES,
    METHODS_OF_PATHS,
    OPENS,
    PAIRS,
    PATHS,
    PROCESSES,
)
from shield.facts.programs.python.looked import looked_deletes
from shield.facts.programs.python.values import Constants, dotted
from shield.regex import regex
from shield.types import Access

__all__ = ["MAX_CODE", "python_deeds", "python_tree"]

MAX_CODE = 65_536
_MAX_NODES = 40_000
_MAX_DEPTH = 3  # of code in code
_MAX_UNROLLED = 64
_URL = regex(r"(?i)(?:https?|ftp|wss?)://[^\s\"'<>{}]+")
_PATH = regex(r"(?:/|~/|~\Z|\.{1,2}/)[^\n\0]*\Z")
_R, _W, _L = Access.READ, Access.WRITE, Access.LIST
_CONNECTS = frozenset(("connect", "connect_ex", "sendto", "create_connection", "open_connection"))
_IMPORTERS = frozenset(("__import__", "importlib.import_module"))


@lru_cache(maxsize=64)
def python_tree(code: str) -> ast.Module | None:
    """The syntax tree of `code`; None where it is no Python 3, too large or too deep."""
    if len(code) > MAX_CODE or "\0" in code:
        return None
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree if sum(1 for _ in ast.walk(tree)) <= _MAX_NODES else None


def python_deeds(code: str, *, home: str, arguments: Sequence[str | None] = (), file: str = "") -> Deeds | None:
    """What the code would touch; None where it could not be parsed. `arguments`: `sys.argv`, None where not known."""
    tree = python_tree(code)
    if tree is None:
        return None
    reader = _Reader(home, tuple(arguments), file)
    reader.read(tree, 0)
    reader.look(tree)
    return reader.deeds


class _Reader:
    """One pass over the tree in the order of the text: assignments before their uses."""

    def __init__(self, home: str, arguments: tuple[str | None, ...], file: str) -> None:
        self.deeds = Deeds()
        self._names: dict[str, str] = {}
        self._unrolled = 0
        self._constants = Constants(self._names, home=home, arguments=arguments, file=file)

    def read(self, tree: ast.AST, depth: int) -> None:
        for node in _in_order(tree):
            match node:
                case ast.Import() | ast.ImportFrom():
                    self._import(node)
                case ast.Assign(targets=targets, value=value):
                    self._assign(targets, value)
                case ast.AnnAssign(target=ast.Name(id=name), value=value):
                    self._constants.assign(name, value)
                case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                    self._constants.assign(name, ast.BinOp(left=ast.Name(id=target.id), op=op, right=value))
                case ast.NamedExpr(target=ast.Name(id=name), value=value):
                    self._constants.assign(name, value)
                case ast.For(target=ast.Name() as target, iter=items, body=body):
                    self._loop(target.id, items, body, depth)
                case ast.comprehension(target=ast.Name() as target, iter=items):
                    self._loop(target.id, items, [], depth)
                case ast.Call():
                    self._call(node, depth)
                case ast.Constant(value=str() as text):
                    self._constant(text)
                case ast.JoinedStr() | ast.BinOp():
                    self._constant(self._constants.text(node) or "")

    def look(self, tree: ast.Module) -> None:
        """Add what is deleted by names that looks give, by the names and constants that were read."""
        for line in looked_deletes(tree, self._constants.text, self._name):
            self.deeds.line(line)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for item in node.names:
            first = item.name.partition(".")[0]
            if isinstance(node, ast.ImportFrom):
                self._names[item.asname or item.name] = f"{node.module}.{item.name}"
            else:
                self._names[item.asname or first] = item.name if item.asname else first

    def _assign(self, targets: list[ast.expr], value: ast.expr) -> None:
        for target in targets:
            if isinstance(target, ast.Name):
                module = self._module(value)
                if module:
                    self._names[target.id] = module
                else:
                    self._names.pop(target.id, None)
                    self._constants.assign(target.id, value)
            elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                for inner, item in zip(target.elts, value.elts, strict=True):
                    self._assign([inner], item)

    def _loop(self, name: str, items: ast.expr, body: list[ast.stmt], depth: int) -> None:
        """A loop over constants is followed for each of them, a bounded number in all."""
        values = items.elts if isinstance(items, ast.Tuple | ast.List | ast.Set) else []
        for value in values[1:]:
            if self._unrolled >= _MAX_UNROLLED:
                break
            self._unrolled += 1
            self._constants.assign(name, value)
            for statement in body:
                self.read(statement, depth)
        self._constants.assign(name, values[0] if values else None)

    def _module(self, node: ast.expr) -> str:
        """`os` for `__import__("os")`, `os.system` as a value, `getattr(os, "system")`."""
        name = self._name(node)
        return name if name.partition(".")[0] in self._names.values() or isinstance(node, ast.Call) else ""

    def _name(self, node: ast.expr) -> str:
        """The dotted name of a function or module, seen through `__import__` and `getattr` with constants."""
        if isinstance(node, ast.Attribute):
            base = self._name(node.value)
            return f"{base}.{node.attr}" if base else ""
        if isinstance(node, ast.Call):
            function = self._name(node.func)
            first = self._constants.text(node.args[0]) if node.args else None
            if function in _IMPORTERS and first is not None:
                return first
            if function == "getattr" and len(node.args) >= 2:
                base, attribute = self._name(node.args[0]), self._constants.text(node.args[1])
                return f"{base}.{attribute}" if base and attribute else ""
            return ""
        if isinstance(node, ast.Subscript) and self._name(node.value) in ("sys.modules", "globals", "__builtins__"):
            return self._constants.text(node.slice) or ""
        return dotted(node, self._names)

    def _call(self, node: ast.Call, depth: int) -> None:
        name = self._name(node.func).removeprefix("builtins.")
        last = name.rpartition(".")[2] or (node.func.attr if isinstance(node.func, ast.Attribute) else "")
        arguments = node.args
        first = self._constants.text(arguments[0]) if arguments else self._keyword(node, "file", "path", "args", "url")
        if name in OPENS:
            if first is not None:
                self.deeds.path(first, *self._mode(node, arguments[1:2]))
        elif name in PATHS:
            self._one(first, *PATHS[name])
        elif name in PAIRS:
            accesses, recursive = PAIRS[name]
            self._one(first, accesses, recursive)
            self._one(self._constants.text(arguments[1]) if len(arguments) > 1 else None, (_W,), recursive)
        elif name in ("os.chdir", "os.chroot", "os.fchdir"):
            self.deeds.moved = True
            self._one(first, (_L,), False)
        elif name in LINES:
            self.deeds.line(first or self._words(arguments[:1]))
        elif name in PROCESSES:
            self._process(node, arguments)
        elif (match := EXECUTES.match(name)) is not None:
            listed = arguments[2:] if match["spawn"] else arguments[1:]
            self.deeds.line(self._words(listed if "l" in (match["list"], match["spread"]) else listed[:1]))
        elif name in CODE and first is not None:
            self._inner(first, depth)
        else:
            self._other(node, name, last, first)
        for argument in (*arguments, *(keyword.value for keyword in node.keywords)):
            text = self._constants.text(argument)
            if text is not None:
                self._url(text)

    def _other(self, node: ast.Call, name: str, last: str, first: str | None) -> None:
        """Hosts, and methods of paths and sockets."""
        arguments = node.args
        if name in HOSTS and first is not None:
            self.deeds.host(first)
        elif last in _CONNECTS and arguments:
            self._connect(arguments[0])
        elif isinstance(node.func, ast.Attribute) and last in METHODS_OF_PATHS:
            self._one(self._constants.text(node.func.value), *METHODS_OF_PATHS[last])
        elif isinstance(node.func, ast.Attribute) and last == "open":
            target = self._constants.text(node.func.value)
            if target is not None:
                self.deeds.path(target, *self._mode(node, arguments[0:1]))

    def _one(self, text: str | None, accesses: tuple[Access, ...], recursive: bool) -> None:
        if text is not None:
            self.deeds.path(text, *accesses, recursive=recursive)

    def _keyword(self, node: ast.Call, *names: str) -> str | None:
        found = (keyword.value for keyword in node.keywords if keyword.arg in names)
        return self._constants.text(next(found, None))

    def _mode(self, node: ast.Call, given: list[ast.expr]) -> tuple[Access, ...]:
        mode = self._constants.text(given[0]) if given else self._keyword(node, "mode")
        if given and mode is None:
            return (_R, _W)
        if mode is None:
            return (_R,)
        return (_R, _W) if "+" in mode or "a" in mode else (_W,) if set(mode) & set("wx") else (_R,)

    def _words(self, nodes: Sequence[ast.expr]) -> str:
        """A command given as words, as a line; a word that is not known stands as a variable."""
        words: list[str] = []
        for node in nodes:
            if isinstance(node, ast.List | ast.Tuple):
                words.append(self._words(node.elts))
                continue
            value = self._constants.value(node)
            if isinstance(value, tuple | list):
                words += [shlex.quote(item) if isinstance(item, str) else '"$unknown"' for item in value]
                continue
            text = self._constants.text(node)
            words.append(shlex.quote(text) if text is not None else '"$unknown"')
        return " ".join(word for word in words if word)

    def _process(self, node: ast.Call, arguments: list[ast.expr]) -> None:
        given = arguments[:1] or [keyword.value for keyword in node.keywords if keyword.arg in ("args", "popenargs")]
        if dotted(node.func, self._names).startswith("asyncio"):
            given = arguments
        text = self._constants.text(given[0]) if given else None
        shell = next((keyword.value for keyword in node.keywords if keyword.arg == "shell"), None)
        if text is not None and len(given) == 1:
            # without a shell a string is one program's name: as a line it shows at least as much
            self.deeds.line(text if shell is not None or " " in text else shlex.quote(text))
        elif given:
            first = given[0]
            if isinstance(first, ast.Call | ast.Attribute) and isinstance(first, ast.Call):
                inner = self._constants.text(first.args[0]) if first.args else None
                if inner is not None:
                    self.deeds.line(inner)  # `shlex.split("…")`, `"…".split()`
                    return
            self.deeds.line(self._words(given))

    def _connect(self, node: ast.expr) -> None:
        if isinstance(node, ast.Tuple) and node.elts:
            host = self._constants.text(node.elts[0])
            port = self._constants.value(node.elts[1]) if len(node.elts) > 1 else None
            if host is not None:
                self.deeds.host(f"{host}:{port}" if isinstance(port, int) and ":" not in host else host)
            return
        text = self._constants.text(node)
        if text is not None and text.startswith("/"):
            self.deeds.path(text, _R, _W)
        elif text is not None:
            self._url(text)

    def _inner(self, code: str, depth: int) -> None:
        tree = python_tree(code.strip()) if depth < _MAX_DEPTH else None
        if tree is not None:
            self.read(tree, depth + 1)

    def _constant(self, text: str) -> None:
        if len(text) < 4_096 and _PATH.match(text) and " " not in text.strip():
            self.deeds.mention(text)

    def _url(self, text: str) -> None:
        match = _URL.match(text)
        if match is not None:
            self.deeds.host(match[0])
        elif text.lower().startswith("file:///"):
            self.deeds.path(text[7:], _R)


def _in_order(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes, those that stand earlier in the text first; of an assignment and a call the value before the whole."""
    pending: list[tuple[ast.AST, bool]] = [(tree, False)]
    while pending:
        node, done = pending.pop()
        if done or isinstance(node, ast.Assign | ast.For | ast.comprehension):
            yield node
            if done:
                continue
        later = isinstance(node, ast.Call)
        if later:
            pending.append((node, True))
        elif not isinstance(node, ast.Assign | ast.For | ast.comprehension):
            yield node
        pending.extend((child, False) for child in reversed(list(ast.iter_child_nodes(node))))

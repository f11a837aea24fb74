"""Files of a tree that proven Python code comes upon by walking through it: `Path(…).rglob`, `glob.glob`, `os.walk`.

A name counts where one loop gives it its value, and all that the loop goes through is a walk over a tree that constants
name. What a walk gives as a path object is no value, nor is a list of such; a list of names is none, either, as what is
put into it would be opened. Whoever attacks this should look for another way to such a list, or out of the tree.
"""

import ast
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from shield.facts.beneath import Look

__all__ = ["TREE_NAMES", "Gives", "Tree", "Trees"]

_GLOBS = frozenset(("glob.glob", "glob.iglob"))
TREE_NAMES = frozenset((*_GLOBS, "os.walk"))
_WALKS = frozenset(("glob", "iterdir", "rglob"))
_ORDERS = frozenset(("list", "reversed", "set", "sorted", "tuple"))
_PATTERN_CHARS = frozenset("*?[")
_MAX_DEPTH = 16
_MAX_ROUNDS = 6


class Gives(Enum):
    PATHS = "path objects of entries"
    TEXTS = "names of entries, which begin with the tree's"
    LEAVES = "names of entries in their directory"


@dataclass(frozen=True, slots=True)
class Tree:
    """The trees at `roots`, by their names; `only`: of their entries those by these patterns, None for all; `through`:
    it goes on through links to directories."""

    roots: tuple[str, ...]
    gives: Gives
    only: tuple[str, ...] | None = None
    through: bool = False

    @property
    def look(self) -> Look:
        """Each entry may be a link, and is followed when it is opened."""
        return Look(follows=True, only=self.only or (), through=self.through)


class Trees:
    """The walks of one piece of code. `paths`: what a path object's expression is named by; `texts`: the same of texts;
    `called`: the dotted name of a function; None and nothing where that is not known."""

    def __init__(
        self,
        statements: Iterable[ast.stmt],
        bound: Counter[str],
        paths: Callable[[ast.expr], tuple[str, ...] | None],
        texts: Callable[[ast.expr], tuple[str, ...] | None],
        called: Callable[[ast.expr], str],
    ) -> None:
        self._paths, self._texts, self._called = paths, texts, called
        self._items: dict[str, Tree] = {}  # names of lists
        self._entries: dict[str, Tree] = {}  # names of what is in them
        self._bound = bound
        nodes = [node for statement in statements for node in ast.walk(statement)]
        for _ in range(_MAX_ROUNDS):  # a list of a list of a walk
            items, entries = self._read(nodes)
            if (items, entries) == (self._items, self._entries):
                break
            self._items, self._entries = items, entries
        else:
            self._items, self._entries = {}, {}

    def _read(self, nodes: list[ast.AST]) -> tuple[dict[str, Tree], dict[str, Tree]]:
        """The lists and entries that names stand for, by what was found before."""
        items: dict[str, list[Tree | None]] = defaultdict(list)
        entries: dict[str, list[Tree | None]] = defaultdict(list)
        for node in nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    # a list of plain names is a value like any other, as long as nothing is opened by what is in it
                    found = self.items(value)
                    if found is not None and found.gives is not Gives.LEAVES:
                        items[name].append(found)
                    elif not isinstance(value, ast.Name):
                        entries[name].append(self.entry(value))
                case ast.For(target=target, iter=inner) | ast.comprehension(target=target, iter=inner):
                    self._loop(target, inner, items, entries)
        return self._settled(items), self._settled(entries)

    def _loop(
        self,
        target: ast.expr,
        inner: ast.expr,
        items: dict[str, list[Tree | None]],
        entries: dict[str, list[Tree | None]],
    ) -> None:
        match target, inner:
            case ast.Name(id=name), _:
                entries[name].append(self.items(inner))
            case ast.Tuple(elts=[ast.Name(), ast.Name(id=name)]), ast.Call(
                func=ast.Name(id="enumerate"), args=[walk], keywords=[]
            ):
                entries[name].append(self.items(walk))
            case ast.Tuple(elts=[ast.Name(id=top), ast.Name(id=folders), ast.Name(id=files)]), ast.Call():
                roots = self.walked(inner)
                if roots is not None:
                    entries[top].append(Tree(roots, Gives.TEXTS))
                    for name in (folders, files):
                        items[name].append(Tree(roots, Gives.LEAVES))

    def _settled(self, found: dict[str, list[Tree | None]]) -> dict[str, Tree]:
        """Of each name one tree, where everything that gives it a value is a walk of one kind."""
        settled: dict[str, Tree] = {}
        for name, given in found.items():
            trees = [tree for tree in given if tree is not None]
            if len(trees) == self._bound[name] and len({tree.gives for tree in trees}) == 1:
                roots = tuple(root for tree in trees for root in tree.roots)
                only = [tree.only for tree in trees if tree.only is not None]
                patterns = tuple(each for some in only for each in some) if len(only) == len(trees) else None
                through = any(tree.through for tree in trees)
                settled[name] = Tree(roots, trees[0].gives, patterns, through)
        return settled

    def names(self) -> frozenset[str]:
        """The names that are no values."""
        paths = (name for name, tree in self._entries.items() if tree.gives is Gives.PATHS)
        return frozenset((*self._items, *paths))

    def walked(self, node: ast.expr) -> tuple[str, ...] | None:
        """The roots of `os.walk(…)`."""
        match node:
            case ast.Call(func=function, args=[top], keywords=[]) if self._called(function) == "os.walk":
                roots = self._texts(top) or self._paths(top)
                return roots if roots is not None and not _patterned(roots, "") else None
        return None

    def items(self, node: ast.expr, depth: int = 0) -> Tree | None:
        """The tree through which this goes, entry by entry."""
        if depth > _MAX_DEPTH:
            return None
        match node:
            case ast.Name(id=name):
                return self._items.get(name)
            case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in _ORDERS:
                return self.items(inner, depth + 1)
            case ast.Subscript(value=inner, slice=ast.Slice()):
                return self.items(inner, depth + 1)
            case (
                ast.ListComp(elt=ast.Name(id=name), generators=[ast.comprehension(target=ast.Name(id=own), iter=inner)])
                | ast.GeneratorExp(
                    elt=ast.Name(id=name), generators=[ast.comprehension(target=ast.Name(id=own), iter=inner)]
                )
            ) if name == own:
                return self.items(inner, depth + 1)
            case ast.Call(func=function, args=[inner, *_], keywords=keywords) if self._called(function) in _GLOBS:
                return self._globbed(inner, len(node.args), keywords)
            case ast.Call(func=function, args=args, keywords=[]) if self._called(function) == "os.listdir":
                roots = self._texts(args[0]) if len(args) == 1 else ("",) if not args else None
                return None if roots is None else Tree(roots, Gives.LEAVES)
            case ast.Call(func=ast.Attribute(value=base, attr=attr), args=args, keywords=[]) if attr in _WALKS:
                return self._path_walk(base, attr, args)
        return None

    def _globbed(self, pattern: ast.expr, arguments: int, keywords: list[ast.keyword]) -> Tree | None:
        """`glob.glob("src/**/*.py", recursive=True)`"""
        texts = self._texts(pattern)
        plain = all(each.arg == "recursive" and isinstance(each.value, ast.Constant) for each in keywords)
        if texts is None or arguments != 1 or not plain:
            return None
        roots, only = zip(*(_lead(text) for text in texts), strict=True)
        patterns = None if None in only else tuple(each for each in only if each is not None)
        # Unlike a path object's, its `**` follows links.
        return Tree(tuple(root or "." for root in roots), Gives.TEXTS, patterns, through=any("**" in t for t in texts))

    def _path_walk(self, base: ast.expr, attr: str, args: list[ast.expr]) -> Tree | None:
        roots = self._paths(base)
        if roots is None or (attr == "iterdir") is bool(args):
            return None
        if not args:
            return Tree(roots, Gives.PATHS)
        texts = self._texts(args[0]) if len(args) == 1 else None
        if texts is None or any(".." in text.split("/") for text in texts):
            return None
        only = [_lead(text)[1] for text in texts]
        return Tree(roots, Gives.PATHS, None if None in only else tuple(each for each in only if each is not None))

    def entry(self, node: ast.expr, depth: int = 0) -> Tree | None:
        """The tree in which the file lies that this names: as a path object, or as a text."""
        if depth > _MAX_DEPTH:
            return None
        match node:
            case ast.Name(id=name):
                found = self._entries.get(name)
                # a name in its directory is one in the working directory, where it is opened as it is
                return Tree((".",), Gives.TEXTS) if found is not None and found.gives is Gives.LEAVES else found
            case ast.Call(func=function, args=[top, ast.Name(id=leaf)], keywords=[]):
                if self._called(function) == "os.path.join" and self._is_leaf(leaf):
                    return self._beneath(top, depth)
            case ast.JoinedStr(values=[*parts, ast.FormattedValue(ast.Name(id=leaf), -1, None)]):
                lead = self._texts(ast.JoinedStr(values=parts))
                if self._is_leaf(leaf) and lead is not None and all(text.endswith("/") for text in lead):
                    return Tree(lead, Gives.TEXTS)
        return None

    def _is_leaf(self, name: str) -> bool:
        found = self._entries.get(name)
        return found is not None and found.gives is Gives.LEAVES

    def _beneath(self, top: ast.expr, depth: int) -> Tree | None:
        roots = self._texts(top)
        if roots is not None:
            return Tree(tuple(root or "." for root in roots), Gives.TEXTS)
        found = self.entry(top, depth + 1)
        return found if found is not None and found.gives is Gives.TEXTS else None

    def holds_walk(self, target: ast.expr) -> bool:
        """Whether this takes what `os.walk` gives apart, each part by a name of its own: the lists are no values."""
        match target:
            case ast.Tuple(elts=[ast.Name(id=top), ast.Name(id=folders), ast.Name(id=files)]):
                return top in self._entries and {folders, files} <= self._items.keys()
        return False

    def is_path(self, node: ast.expr) -> bool:
        """Whether this is a path object of a walk, or made of one without a look at any file."""
        match node:
            case ast.Name(id=name):
                return name in self._entries and self._entries[name].gives is Gives.PATHS
            case ast.Attribute(value=inner, attr="parent"):
                return self.is_path(inner)
            case ast.Call(func=ast.Attribute(value=inner, attr="relative_to"), args=[ast.Constant()], keywords=[]):
                return self.is_path(inner)
        return False

    def is_pruned(self, node: ast.stmt) -> ast.ListComp | None:
        """`dirs[:] = [d for d in dirs if …]`: a walk leaves some of a tree out."""
        match node:
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id=name), slice=ast.Slice(None, None, None))],
                value=ast.ListComp(
                    elt=ast.Name(id=one),
                    generators=[ast.comprehension(target=ast.Name(id=own), iter=ast.Name(id=other), is_async=0)],
                ) as kept,
            ) if name == other and one == own and name in self._items:
                return kept
        return None


def _patterned(texts: Iterable[str], also: str) -> bool:
    return any(_PATTERN_CHARS & set(text) or (also and also in text) for text in texts)


def _lead(pattern: str) -> tuple[str, str | None]:
    """The directory in front of a pattern, and what its names match, where that is one plain pattern."""
    parts = pattern.split("/")
    at = next((index for index, part in enumerate(parts) if _PATTERN_CHARS & set(part)), len(parts) - 1)
    if ".." in parts[at:]:
        return "/", None
    lead = "/".join(parts[:at]) or ("/" if pattern.startswith("/") else "")
    last = parts[-1]
    middle = parts[at:-1]
    plain = last and "[" not in last and "**" not in last and all(part == "**" for part in middle)
    return lead, last if plain else None

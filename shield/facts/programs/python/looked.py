"""What seen Python code deletes of what it comes upon: `for file in Path("data").glob("*.csv"): file.unlink()`.

Seen, not proven. It is read as the `find` that it stands for.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterator

from shield.facts.programs.python.calls import METHODS_OF_PATHS, PATHS
from shield.facts.programs.python.trees import Tree, Trees
from shield.facts.programs.swept import find_line
from shield.types import Access

__all__ = ["looked_deletes"]

_DELETES = frozenset(name for name, (accesses, _) in PATHS.items() if Access.DELETE in accesses)
_METHODS = frozenset(name for name, (accesses, _) in METHODS_OF_PATHS.items() if accesses == (Access.DELETE,))
_WRAPS = frozenset(("str", "os.fspath", "os.path.abspath", "pathlib.Path"))


def looked_deletes(
    tree: ast.Module, text: Callable[[ast.expr], str | None], called: Callable[[ast.expr], str]
) -> Iterator[str]:
    """The lines of a shell that delete the same. `text`: what an expression comes to, `called`: the dotted name of a
    function."""

    def texts(node: ast.expr) -> tuple[str, ...] | None:
        found = text(node)
        return None if found is None else (found,)

    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    deleted = [target for node in calls for target in _deleted(node, called)]
    if not deleted:
        return
    trees = Trees(tree.body, _bound(tree), texts, texts, called)
    for target, each in deleted:
        found = trees.items(target) if each else _entry(trees, target, text, called)
        if found is not None:
            yield from (find_line(root, found.only or ()) for root in found.roots)


def _deleted(node: ast.Call, called: Callable[[ast.expr], str]) -> Iterator[tuple[ast.expr, bool]]:
    """What the call deletes, and whether that is each item of it: `map(os.remove, names)`."""
    match node:
        case ast.Call(func=ast.Name(id="map"), args=[function, items]) if _deletes(called(function)):
            yield items, True
        case ast.Call(func=function, args=[first, *_]) if called(function) in _DELETES:
            yield first, False
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in _METHODS:
            yield value, False


def _deletes(name: str) -> bool:
    return name in _DELETES or (name.startswith("pathlib.") and name.rpartition(".")[2] in _METHODS)


def _entry(
    trees: Trees, node: ast.expr, text: Callable[[ast.expr], str | None], called: Callable[[ast.expr], str]
) -> Tree | None:
    match node:
        case ast.Call(func=function, args=[inner], keywords=[]) if called(function) in _WRAPS:
            return _entry(trees, inner, text, called)
        case ast.BinOp(left=top, op=ast.Div(), right=ast.Name() as leaf):
            # `Path("data") / name`: the folder is said, which of it is not
            found, said = trees.entry(leaf), text(top)
            return found if found is None or said is None else Tree((said,), found.gives)
    return trees.entry(node)


def _bound(tree: ast.Module) -> Counter[str]:
    """How often a name is given a value by a loop or an assignment."""
    given: Counter[str] = Counter()
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.For | ast.comprehension) else targets
        given.update(each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
    return given

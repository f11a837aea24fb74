"""Python code that deletes what its words name: `sys.argv`, what argparse makes of it, what click hands to a function.

Names that hold a word are followed through assignments, loops and calls of the code's own functions.
"""

import ast

from shield.facts.programs.python.code import python_tree

__all__ = ["python_deletes_words"]

_MAX_ROUNDS = 6
_PARSES = frozenset(("parse_args", "parse_known_args", "docopt"))
_DELETES = frozenset(
    ("remove", "removedirs", "rmdir", "rmtree", "rm_rf", "send2trash", "unlink", "move_to_trash", "remove_tree")
)
_MODULES = frozenset(("fs", "os", "shutil"))
_RUNS = frozenset(("Popen", "call", "check_call", "check_output", "popen", "run", "system"))
_DELETERS = ("rm", "rmdir", "shred", "unlink")
_SAME = frozenset(
    ("Path", "abspath", "expanduser", "fspath", "list", "normpath", "realpath", "resolve", "str", "sorted")
)
_HANDING = frozenset(("argument", "command", "option"))


def python_deletes_words(code: str) -> bool:
    """Whether it deletes what the words that it is given name. Never raises."""
    tree = python_tree(code)
    if tree is None:
        return False
    held: set[str] = set()
    functions = {each.name: each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}
    for function in functions.values():
        if any(_decorates(each) for each in function.decorator_list):
            held |= _parameters(function)
    for _ in range(_MAX_ROUNDS):
        before = len(held)
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=targets, value=value) if _is_word(value, held):
                    held |= {name for target in targets for name in _names(target)}
                case ast.AnnAssign(target=target, value=ast.expr() as value) if _is_word(value, held):
                    held |= _names(target)
                case ast.NamedExpr(target=target, value=value) if _is_word(value, held):
                    held |= _names(target)
                case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value) if _is_word(
                    value, held
                ):
                    held |= _names(target)
                case ast.Call(func=ast.Name(id=name), args=args) if name in functions:
                    if any(_is_word(each, held) for each in args):
                        held |= _parameters(functions[name])
        if len(held) == before:
            break
    return any(isinstance(node, ast.Call) and _deletes(node, held) for node in ast.walk(tree))


def _decorates(node: ast.expr) -> bool:
    """`@click.argument("d")`, `@app.command()`"""
    called = node.func if isinstance(node, ast.Call) else node
    return isinstance(called, ast.Attribute) and called.attr in _HANDING


def _parameters(function: ast.FunctionDef) -> set[str]:
    return {each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}


def _names(target: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}


def _is_word(node: ast.expr, held: set[str]) -> bool:
    """Whether it is a word, or several, and no path made of one."""
    match node:
        case ast.Name(id=name):
            return name in held
        case ast.Attribute(value=ast.Name(id="sys"), attr="argv"):
            return True
        case ast.Attribute(value=value) | ast.Subscript(value=value) | ast.Starred(value=value):
            return _is_word(value, held)
        case ast.IfExp(body=body, orelse=other):
            return _is_word(body, held) or _is_word(other, held)
        case ast.BoolOp(values=values) | ast.Tuple(elts=values) | ast.List(elts=values):
            return any(_is_word(each, held) for each in values)
        case ast.Call(func=ast.Attribute(attr=name, value=value), args=args):
            return name in _PARSES or (name in _SAME and any(_is_word(each, held) for each in (value, *args)))
        case ast.Call(func=ast.Name(id=name), args=args):
            return name in _PARSES or (name in _SAME and any(_is_word(each, held) for each in args))
    return False


def _deletes(node: ast.Call, held: set[str]) -> bool:
    name = (
        node.func.attr
        if isinstance(node.func, ast.Attribute)
        else node.func.id
        if isinstance(node.func, ast.Name)
        else ""
    )
    receiver = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    if name == "remove" and not any(isinstance(each, ast.Name) and each.id in _MODULES for each in receiver):
        return False  # of a list
    if name in _DELETES:
        return any(_is_word(each, held) for each in (*receiver, *node.args[:1]))
    if name not in _RUNS or not node.args:
        return False
    first = node.args[0]
    pieces = list(first.elts) if isinstance(first, ast.List | ast.Tuple) else list(ast.walk(first))
    texts = [
        each.value.split() for each in ast.walk(first) if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]
    return any(each[:1] and each[0] in _DELETERS for each in texts) and any(
        isinstance(each, ast.expr) and _is_word(each, held) for each in pieces
    )

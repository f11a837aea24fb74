"""The tree of a condition taken apart, put together again and written as CEL."""

from collections.abc import Sequence
from dataclasses import replace

from shield.policy.cel.syntax import (
    Binary,
    Call,
    Choice,
    Entries,
    Index,
    Items,
    Literal,
    Logic,
    Name,
    Node,
    Select,
    Unary,
    walk,
)

__all__ = ["both", "is_macro", "negated", "rebuilt", "start", "written"]

_MACROS = frozenset({"exists", "all", "exists_one", "map", "filter"})
_LEVELS = {"<": 3, "<=": 3, ">": 3, ">=": 3, "==": 3, "!=": 3, "in": 3, "+": 4, "-": 4, "*": 5, "/": 5, "%": 5}
_CHOICE, _OR, _AND, _UNARY, _MEMBER = 0, 1, 2, 6, 7
_TEXT = 16  # above these bits a position says in which text it is, the condition's own or a macro's
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def is_macro(node: Node) -> bool:
    """Whether the node is a comprehension: its first argument names a variable, the others speak of it."""
    return (
        isinstance(node, Call)
        and node.target is not None
        and node.name in _MACROS
        and len(node.args) >= 2
        and isinstance(node.args[0], Name)
    )


def rebuilt(node: Node, below: Sequence[Node]) -> Node:
    """The same node over other parts, as many as `parts` gave."""
    match node:
        case Select():
            return replace(node, base=below[0])
        case Index():
            return replace(node, base=below[0], key=below[1])
        case Call() if node.target is None:
            return replace(node, args=tuple(below))
        case Call():
            return replace(node, target=below[0], args=tuple(below[1:]))
        case Items():
            return replace(node, items=tuple(below))
        case Entries():
            return replace(node, entries=tuple(zip(below[::2], below[1::2], strict=True)))
        case Unary():
            return replace(node, arg=below[0])
        case Binary():
            return replace(node, left=below[0], right=below[1])
        case Logic():
            return replace(node, args=tuple(below))
        case Choice():
            return replace(node, test=below[0], yes=below[1], no=below[2])
    return node


def start(node: Node) -> int:
    """The position of the first character of the node; its own is that of a name or sign in it."""
    text = node.pos >> _TEXT
    return min(part.pos for part in walk(node) if part.pos >> _TEXT == text)


def negated(node: Node) -> Node:
    """The node that is true where this one is false."""
    if isinstance(node, Unary) and node.op == "!":
        return node.arg
    return Unary(node.pos, "!", node)


def both(nodes: Sequence[Node], op: str = "and") -> Node:
    """All of the nodes, or with `op` "or" any of them, as one."""
    flat = [part for node in nodes for part in (node.args if isinstance(node, Logic) and node.op == op else (node,))]
    return flat[0] if len(flat) == 1 else Logic(flat[0].pos, op, tuple(flat))


def written(node: Node) -> str:
    """The node as text that parses to the same tree, but for positions and needless brackets."""
    return _text(node)[0]


def _text(node: Node) -> tuple[str, int]:
    """The text and how strongly it binds."""
    match node:
        case Literal():
            return _literal(node.value), _MEMBER if _bare(node.value) else _UNARY
        case Name():
            return ("." if node.rooted else "") + node.name, _MEMBER
        case Select():
            return f"{_at(node.base, _MEMBER)}.{node.field}", _MEMBER
        case Index():
            return f"{_at(node.base, _MEMBER)}[{written(node.key)}]", _MEMBER
        case Call():
            words = ", ".join(written(arg) for arg in node.args)
            before = "" if node.target is None else f"{_at(node.target, _MEMBER)}."
            return f"{before}{node.name}({words})", _MEMBER
        case Items():
            return f"[{', '.join(written(item) for item in node.items)}]", _MEMBER
        case Entries():
            return "{" + ", ".join(f"{written(key)}: {written(value)}" for key, value in node.entries) + "}", _MEMBER
        case Unary():
            return f"{node.op}{_at(node.arg, _MEMBER if node.op == '-' else _UNARY)}", _UNARY
        case Binary():
            level = _LEVELS[node.op]
            return f"{_at(node.left, level)} {node.op} {_at(node.right, level + 1)}", level
        case Logic():
            level, word = (_AND, "&&") if node.op == "and" else (_OR, "||")
            # what macros bring may be of the same kind; associative, errors included
            return f" {word} ".join(_at(arg, level + (not _is_logic(arg, node.op))) for arg in node.args), level
        case Choice():
            test, yes, no = _at(node.test, _OR), _at(node.yes, _OR), _at(node.no, _CHOICE)
            return f"{test} ? {yes} : {no}", _CHOICE


def _is_logic(node: Node, op: str) -> bool:
    return isinstance(node, Logic) and node.op == op


def _at(node: Node, level: int) -> str:
    text, binds = _text(node)
    return text if binds >= level else f"({text})"


def _bare(value: object) -> bool:
    return isinstance(value, bool) or not isinstance(value, int | float) or value >= 0


def _literal(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            text = repr(value)
            return text if "." in text or "e" in text else f"{text}.0"
        case int():
            return str(value)
        case bytes():
            return 'b"' + "".join(f"\\x{byte:02x}" for byte in value) + '"'
    assert isinstance(value, str)
    return '"' + "".join(_ESCAPES.get(char) or (char if char.isprintable() else _escape(char)) for char in value) + '"'


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

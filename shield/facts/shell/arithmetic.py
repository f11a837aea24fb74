"""Arithmetic as bash evaluates it, where the operands are known to be integers (bash(1) ARITHMETIC EVALUATION).

bash evaluates the text of a variable as an expression of its own, and a subscript in it is expanded, commands and all:
`x='a[$(id)]'; echo $((x))` runs id. So an operand that is not known to be an integer is not a value, it is code.
"""

from collections.abc import Callable

from shield.facts.shell.integers import LEVEL, Known, UntrustedError, applied, integer, is_natural, wrapped
from shield.facts.shell.state import State
from shield.facts.shell.variables import Attribute, Content, Keyed, Listed, Number, known_texts
from shield.regex import regex

__all__ = ["ANY", "NATURAL", "UntrustedError", "evaluate"]

# In an expression: an integer of unknown value, and one that is zero or more. Neither can be typed.
ANY, NATURAL = "\ue000", "\ue001"

_TOKEN = regex(
    r"\s*(?:(?P<number>[0-9]+#[0-9a-zA-Z@_]+|0[xX][0-9a-fA-F]+|[0-9]+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<any>[0-9]*(?:[\ue000\ue001][0-9]*)+)"
    r"|(?P<op><<=|>>=|\*\*|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%&|^]=|[-+*/%<>!~&^|?:=,()\[\]]))"
)
_ASSIGNING = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="))
_MAX_NESTED = 8
_MAX_TOKENS = 400

Assign = Callable[[str, Content], None]


def evaluate(text: str, state: State, assign: Assign) -> Content:
    """The value of an expression whose `$…` are expanded already, with what it assigns given to `assign`.

    Raises:
        UntrustedError: what bash would do with it is not known.
    """
    return _Evaluation(text, state, assign, 0).whole()


class _Evaluation:
    def __init__(self, text: str, state: State, assign: Assign, depth: int) -> None:
        if depth > _MAX_NESTED:
            raise UntrustedError
        self.state = state
        self.assign = assign
        self.depth = depth
        self.tokens = _tokens(text)
        self.at = 0
        # Behind `?`, `&&` or `||` an assignment may not be made.
        self.sure = not any(token in ("?", "&&", "||") for token, _ in self.tokens)
        self.natural = False

    def whole(self) -> Content:
        if not self.tokens:
            return "0"
        value = self.comma()
        if self.at != len(self.tokens):
            raise UntrustedError
        return str(value) if value is not None else Number(natural=self.natural)

    def peek(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> tuple[str, str]:
        if self.at >= len(self.tokens) or (expected is not None and self.tokens[self.at][0] != expected):
            raise UntrustedError
        self.at += 1
        return self.tokens[self.at - 1]

    def comma(self) -> Known:
        value = self.assignment()
        while self.peek() == ",":
            self.take()
            value = self.assignment()
        return value

    def assignment(self) -> Known:
        start = self.at
        if self.tokens and start < len(self.tokens) and self.tokens[start][1] == "name":
            name = self.take()[0]
            subscript = self.peek() == "["
            if subscript:
                self.subscript(name)
            operator = self.peek()
            if operator in _ASSIGNING:
                self.take()
                # The old value is an operand where the operator says so.
                old = 0 if operator == "=" else None if subscript else self.read(name)
                new = self.assignment()
                value = new if operator == "=" else self.applied(operator[:-1], old, new)
                self.write(name, value, subscript=subscript)
                return value
            self.at = start
        return self.ternary()

    def ternary(self) -> Known:
        value = self.binary(0)
        if self.peek() != "?":
            return value
        self.take()
        first = self.comma()
        self.take(":")
        second = self.ternary()
        self.natural = False
        return None if value is None else first if value else second

    def binary(self, level: int) -> Known:
        left = self.unary()
        while True:
            operator = self.peek()
            found = LEVEL.get(operator, -1)
            if found < level:
                return left
            self.take()
            before = self.natural
            self.natural = False
            # `**` alone takes its right side first
            right = self.binary(found if operator == "**" else found + 1)
            natural = is_natural(operator, left, right, before=before, after=self.natural)
            left = self.applied(operator, left, right)
            self.natural = natural

    def applied(self, operator: str, left: Known, right: Known) -> Known:
        """What a binary operator makes of both sides; it may be an error."""
        if (operator in ("/", "%") and not right) or (operator == "**" and (right is None or right < 0)):
            self.state.fail()
        return applied(operator, left, right)

    def unary(self) -> Known:
        mark, kind = self.take()
        if mark in ("++", "--"):
            if self.at < len(self.tokens) and self.tokens[self.at][1] == "name":
                return self.stepped(self.take()[0], 1 if mark == "++" else -1, before=True)
            # `--5` is two signs
            value = self.unary()
            self.natural = False
            return value
        if mark in ("-", "+", "!", "~"):
            value = self.unary()
            self.natural = (self.natural and mark == "+") or mark == "!"
            if value is None:
                return None
            return wrapped({"-": -value, "+": value, "!": int(not value), "~": ~value}[mark])
        if mark == "(":
            value = self.comma()
            self.take(")")
            return value
        if kind == "number":
            self.natural = True
            return integer(mark)
        if kind == "any":
            self.natural = ANY not in mark
            return None
        if kind != "name":
            raise UntrustedError
        if self.peek() == "[":
            return self.element(mark)
        if self.peek() in ("++", "--"):
            return self.stepped(mark, 1 if self.take()[0] == "++" else -1, before=False)
        return self.read(mark)

    def stepped(self, name: str, by: int, *, before: bool) -> Known:
        subscript = self.peek() == "["
        if subscript:
            self.subscript(name)
        old = None if subscript else self.read(name)
        natural = self.natural and by > 0
        new = None if old is None else wrapped(old + by)
        self.natural = natural
        self.write(name, new, subscript=subscript)
        return new if before else old

    def read(self, name: str) -> Known:
        """A variable as an operand: its text is an expression."""
        content = self.state.value(name)
        if isinstance(content, Listed):
            content = content.items[0] if content.items else ""
        if isinstance(content, Number):
            if content.several:
                raise UntrustedError
            self.natural = content.natural
            return None
        texts = known_texts(content)
        if texts is None:
            raise UntrustedError
        values = [self.nested(text) for text in texts]
        if len(set(values)) == 1 and values[0] is not None:
            self.natural = values[0] >= 0
            return values[0]
        self.natural = all(value is not None and value >= 0 for value in values)
        return None

    def nested(self, text: str) -> Known:
        if not text.strip():
            return 0
        found = _Evaluation(text, self.state, self.assign, self.depth + 1).whole()
        return int(found) if isinstance(found, str) else None

    def subscript(self, name: str) -> Known:
        if isinstance(self.state.variables.get(name), Keyed):
            raise UntrustedError  # a key is a text, and expanded once more
        self.take("[")
        value = self.comma()
        self.take("]")
        return value

    def element(self, name: str) -> Known:
        index = self.subscript(name)
        if self.peek() in ("++", "--") or self.peek() in _ASSIGNING:
            raise UntrustedError
        content = self.state.variables.get(name)
        if not isinstance(content, Listed):
            raise UntrustedError
        values = [self.nested(item) for item in content.items]
        self.natural = all(value is not None and value >= 0 for value in values)
        if index is None:
            return None
        return values[index] if -len(values) <= index < len(values) else 0

    def write(self, name: str, value: Known, *, subscript: bool) -> None:
        if self.state.attributes.get(name) is Attribute.CHANGED:
            raise UntrustedError
        natural = value is None and self.natural
        if subscript:
            self.state.arrays.add(name)
            self.assign(name, None)
        elif value is None or not self.sure or self.depth:
            self.assign(name, Number(natural=natural and self.sure))
        else:
            self.assign(name, str(value))


def _tokens(text: str) -> list[tuple[str, str]]:
    out: list[tuple[str, str]] = []
    at = 0
    text = text.strip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or len(out) >= _MAX_TOKENS:
            raise UntrustedError
        kind = found.lastgroup or ""
        token = found[kind]
        # What stands close to an unknown integer may make a name, or another number, of it.
        if (
            out
            and found.end(kind) - len(token) == at
            and {kind, out[-1][1]} & {"any"}
            and {kind, out[-1][1]} != {"any"}
        ):
            other = out[-1][1] if kind == "any" else kind
            if other in ("name", "number"):
                raise UntrustedError
        out.append((token, kind))
        at = found.end()
    return out

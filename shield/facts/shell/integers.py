"""Integers as bash calculates with them: 64 bits, and some of unknown value (bash(1) ARITHMETIC EVALUATION)."""

from collections.abc import Callable

__all__ = ["LEVEL", "Known", "UntrustedError", "applied", "integer", "is_natural", "wrapped"]

# From the weakest to the strongest.
_BINARY = ("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %", "**")
LEVEL = {operator: level for level, operators in enumerate(_BINARY) for operator in operators.split()}
_SMALL = 1 << 31

Known = int | None  # None: an integer of unknown value


class UntrustedError(Exception):
    """An operand is not known to be an integer, or the expression is not understood: what it runs cannot be known."""


def integer(token: str) -> int:
    """What a number says: `0x1f`, `017`, `2#101`.

    Raises:
        UntrustedError: it is none to every bash.
    """
    try:
        if "#" in token:
            base, digits = token.split("#")
            if not 2 <= int(base) <= 36:
                raise UntrustedError
            return wrapped(int(digits, int(base)))
        if token[:2] in ("0x", "0X"):
            return wrapped(int(token, 16))
        return wrapped(int(token, 8 if token.startswith("0") else 10))
    except ValueError as error:
        raise UntrustedError from error


def wrapped(value: int) -> int:
    """The value as 64 bits with a sign hold it."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def is_natural(operator: str, left: Known, right: Known, *, before: bool, after: bool) -> bool:
    """Whether the result is zero or more whatever the unknown side is: of comparisons, and of what cannot overflow."""
    if operator in LEVEL and LEVEL[operator] in (0, 1, 5, 6):
        return True
    if operator == "+":
        known = left if left is not None else right
        return before and after and known is not None and 0 <= known < _SMALL
    return operator in ("/", "%", ">>", "&") and before and after


def applied(operator: str, left: Known, right: Known) -> Known:
    """What a binary operator makes of both sides."""
    if left is None or right is None:
        return None
    if operator in ("/", "%"):
        if right == 0:
            return None  # an error: the line ends there
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return wrapped(quotient if operator == "/" else left - quotient * right)
    if operator == "**":
        return None if right < 0 else wrapped(pow(left, right, 1 << 64))
    if operator in ("<<", ">>"):
        shift = right & 63
        return wrapped(left << shift if operator == "<<" else left >> shift)
    simple: dict[str, Callable[[int, int], int]] = {
        "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "&": lambda a, b: a & b,
        "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
        "<": lambda a, b: a < b, ">": lambda a, b: a > b, "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b,
        "&&": lambda a, b: bool(a) and bool(b), "||": lambda a, b: bool(a) or bool(b),
    }  # fmt: skip
    return wrapped(int(simple[operator](left, right)))

"""The constants of Python code: what an expression comes to where everything in it is written out.

Strings, bytes, numbers and sequences of them, as far as joining, slicing, formatting, decoding and paths go. Never by
running anything of the code; sizes and steps are bounded.
"""

import ast
import base64
import binascii
import codecs
import operator
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from shield.regex import regex

__all__ = ["Constants", "Known", "dotted"]

Known = str | bytes | int | tuple["Known", ...] | list["Known"]
_MAX_SIZE = 8_192
_MAX_STEPS = 50_000
_A_STEP = 64  # characters or items that are handled for one
_TEXT_METHODS = frozenset(
    "capitalize casefold lower lstrip removeprefix removesuffix rstrip strip swapcase title upper".split()  # noqa: SIM905
)
_DECODERS: Mapping[str, Callable[[bytes], bytes]] = MappingProxyType(
    {
        "base64.b64decode": lambda data: base64.b64decode(data, validate=False),
        "base64.standard_b64decode": lambda data: base64.b64decode(data, validate=False),
        "base64.urlsafe_b64decode": base64.urlsafe_b64decode,
        "base64.b32decode": base64.b32decode,
        "base64.b16decode": lambda data: base64.b16decode(data, casefold=True),
        "base64.b85decode": base64.b85decode,
        "base64.a85decode": base64.a85decode,
        "binascii.unhexlify": binascii.unhexlify,
        "binascii.a2b_hex": binascii.unhexlify,
        "binascii.a2b_base64": binascii.a2b_base64,
    }
)
_PLAIN_PERCENT = regex(r"(?:[^%]|%[%sdr])*", re.DOTALL)
_PLAIN_BRACES = regex(r"(?:[^{}]|\{\d{0,2}\})*", re.DOTALL)
_CODECS = frozenset(("ascii", "utf-8", "utf8", "latin-1", "latin1", "iso-8859-1", "cp1252"))
_TURNED = frozenset(("rot13", "rot_13"))
# Calls that give a path back as it is, for what counts here.
_SAME_TEXT = """
bytes list os.fsdecode os.fsencode os.fspath os.path.abspath os.path.expandvars os.path.normcase os.path.normpath
os.path.realpath pathlib.Path pathlib.PosixPath pathlib.PurePath pathlib.PurePosixPath str tuple
"""
_SAME = frozenset(_SAME_TEXT.split())
_SAME_METHODS = frozenset(("absolute", "as_posix", "resolve", "encode", "decode"))
_PATH_TYPES = frozenset(("pathlib.Path", "pathlib.PosixPath", "pathlib.PurePath", "pathlib.PurePosixPath"))


def dotted(node: ast.expr, names: Mapping[str, str]) -> str:
    """`a.b.c` as a name, its first part replaced by what it was imported as; empty where it is none."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([names.get(node.id, node.id), *reversed(parts)])


class Constants:
    """The values of names and expressions. `names`: what each imported name stands for."""

    def __init__(self, names: Mapping[str, str], *, home: str, arguments: tuple[str | None, ...], file: str) -> None:
        self._names = names
        self._home = home
        self._arguments = arguments
        self._file = file
        self._values: dict[str, Known] = {}
        self._steps = 0

    def assign(self, name: str, node: ast.expr | None) -> None:
        """A name gets a value, or one that is not known."""
        value = self.value(node) if node is not None else None
        if value is None:
            self._values.pop(name, None)
        else:
            self._values[name] = value

    def text(self, node: ast.expr | None) -> str | None:
        """The expression as text; bytes are taken for UTF-8."""
        value = self.value(node) if node is not None else None
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        return value if isinstance(value, str) else None

    def value(self, node: ast.expr) -> Known | None:
        """What the expression comes to; None where that is not written out. Never raises."""
        self._steps += 1
        if self._steps > _MAX_STEPS:
            return None
        try:
            found = self._fold(node)
        except (ValueError, TypeError, IndexError, KeyError, OverflowError, LookupError, binascii.Error):
            return None
        if isinstance(found, str | bytes | tuple | list):
            self._steps += len(found) // _A_STEP
            return found if len(found) <= _MAX_SIZE else None
        return found

    def _fold(self, node: ast.expr) -> Known | None:
        match node:
            case ast.Constant(value=str() | bytes() | int() as value):
                return value
            case ast.Name(id="__file__"):
                return self._file or None
            case ast.Name(id=name):
                return self._values.get(name)
            case ast.JoinedStr(values=parts):
                return self._joined(parts)
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(left, op, right)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                number = self.value(operand)
                return -number if isinstance(number, int) else None
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                values = [self.value(element) for element in elements]
                return tuple(value for value in values if value is not None) if None not in values else None
            case ast.Subscript(value=base, slice=index):
                return self._subscript(base, index)
            case ast.Call():
                return self._call(node)
            case ast.Attribute(value=base, attr="parent"):
                path = self.text(base)
                return posixpath.dirname(path.rstrip("/")) or "." if path is not None else None
            case ast.Attribute():
                return {"os.sep": "/", "os.path.sep": "/", "os.linesep": "\n", "os.curdir": ".", "os.pardir": ".."}.get(
                    dotted(node, self._names)
                )
            case ast.NamedExpr(value=value_node):
                return self.value(value_node)
            case ast.IfExp(body=body, orelse=other):
                first = self.value(body)
                return first if first is not None else self.value(other)
            case _:
                return None

    def _joined(self, parts: list[ast.expr]) -> str | None:
        out: list[str] = []
        for part in parts:
            if isinstance(part, ast.FormattedValue):
                value = self.value(part.value)
                if not _scalar(value) or part.format_spec is not None or part.conversion not in (-1, 115):
                    return None
                out.append(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))
            else:
                text = self.text(part)
                if text is None:
                    return None
                out.append(text)
        return _joined(out, "")

    def _binary(self, left: ast.expr, op: ast.operator, right: ast.expr) -> Known | None:
        first, second = self.value(left), self.value(right)
        if first is None or second is None:
            return None
        if isinstance(op, ast.Div) and isinstance(first, str) and isinstance(second, str):
            return posixpath.join(first, second)  # of a pathlib path
        if isinstance(op, ast.Mod) and isinstance(first, str):
            flat = all(map(_scalar, second)) if isinstance(second, tuple) else _scalar(second)
            return first % second if flat and len(first) < 1_000 and _PLAIN_PERCENT.fullmatch(first) else None
        if isinstance(op, ast.Mult):
            number = next((item for item in (first, second) if isinstance(item, int)), 0)
            other = second if number is first else first
            size = len(other) if isinstance(other, str | bytes | tuple | list) else 1
            if abs(number) * size > _MAX_SIZE and not (isinstance(first, int) and isinstance(second, int)):
                return None
        arithmetic = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.BitXor: operator.xor}
        known = arithmetic.get(type(op))
        if known is None:
            return None
        if isinstance(first, int) and isinstance(second, int) and max(first.bit_length(), second.bit_length()) > 64:
            return None
        result: Known = known(first, second)
        return result

    def _subscript(self, base: ast.expr, index: ast.expr) -> Known | None:
        name = dotted(base, self._names)
        if name == "os.environ":
            return self._home if self.value(index) == "HOME" else None
        if name == "sys.argv":
            at = self.value(index)
            return self._argument(at) if isinstance(at, int) else None
        value = self.value(base)
        if not isinstance(value, str | bytes | tuple | list):
            return None
        if isinstance(index, ast.Slice):
            bounds = [None if part is None else self.value(part) for part in (index.lower, index.upper, index.step)]
            numbers = [bound if isinstance(bound, int) else None for bound in bounds]
            return value[slice(*numbers)]
        at = self.value(index)
        return value[at] if isinstance(at, int) else None

    def _argument(self, at: int) -> str | None:
        return self._arguments[at] if 0 <= at < len(self._arguments) else None

    def _call(self, node: ast.Call) -> Known | None:
        name = dotted(node.func, self._names)
        arguments = [self.value(argument) for argument in node.args]
        first = arguments[0] if arguments else None
        if name in ("os.environ.get", "os.getenv"):
            return self._home if first == "HOME" else None
        if name in ("pathlib.Path.home", "os.getcwd", "pathlib.Path.cwd"):
            return self._home if name == "pathlib.Path.home" else "."
        if name == "os.path.expanduser" and isinstance(first, str):
            return self._at_home(first)
        if name == "os.path.dirname" and isinstance(first, str):
            return posixpath.dirname(first) or "."
        if name in ("os.path.join", "posixpath.join") or (name in _PATH_TYPES and len(arguments) > 1):
            texts = [argument for argument in arguments if isinstance(argument, str)]
            return posixpath.join(*texts) if texts and len(texts) == len(arguments) and _fits(texts) else None
        if name == "chr" and isinstance(first, int):
            return chr(first)
        if name == "map" and len(node.args) == 2 and dotted(node.args[0], self._names) == "chr":
            items = arguments[1]
            return [chr(item) for item in items if isinstance(item, int)] if isinstance(items, list | tuple) else None
        if name == "bytes" and isinstance(first, tuple | list):
            return bytes(item for item in first if isinstance(item, int))
        if name in ("bytes.fromhex", "bytearray.fromhex") and isinstance(first, str):
            return bytes.fromhex(first)
        if name == "reversed" and isinstance(first, str | tuple | list):
            return list(reversed(first))
        if name == "codecs.decode" and isinstance(first, str) and len(arguments) > 1:
            turned = isinstance(arguments[1], str) and arguments[1] in _TURNED
            return codecs.decode(first, "rot13") if turned else None
        if name in _DECODERS and isinstance(first, str | bytes):
            return _DECODERS[name](first.encode() if isinstance(first, str) else first)
        if name in _SAME and len(arguments) == 1:
            return first
        if isinstance(node.func, ast.Attribute):
            return self._method(node.func, arguments)
        return None

    def _at_home(self, text: str) -> str:
        return self._home + text[1:] if text == "~" or text.startswith("~/") else text

    def _method(self, function: ast.Attribute, arguments: list[Known | None]) -> Known | None:
        value, name = self.value(function.value), function.attr
        if value is None or any(argument is None for argument in arguments):
            return None
        if name == "expanduser" and isinstance(value, str):
            return self._at_home(value)
        if name == "joinpath" and isinstance(value, str):
            texts = [value, *(item for item in arguments if isinstance(item, str))]
            return posixpath.join(*texts) if _fits(texts) else None
        if name in ("encode", "decode") and arguments:
            codec = arguments[0]
            if not isinstance(codec, str):
                return None
            if codec not in _CODECS:
                return codecs.decode(value, "rot13") if isinstance(value, str) and codec in _TURNED else None
        if name in _SAME_METHODS:
            return value
        if name == "join" and isinstance(value, str) and len(arguments) == 1:
            items = arguments[0]
            if not isinstance(items, str | tuple | list):
                return None
            return _joined([item for item in items if isinstance(item, str)], value)
        if name == "split" and isinstance(value, str) and len(arguments) <= 1:
            between = arguments[0] if arguments else None
            return list(value.split(between)) if between is None or isinstance(between, str) else None
        if name == "format" and isinstance(value, str):
            short = len(value) < 1_000 and all(map(_scalar, arguments))
            return value.format(*arguments) if short and _PLAIN_BRACES.fullmatch(value) else None
        if name == "replace" and isinstance(value, str) and len(arguments) == 2:
            old, new = arguments
            small = isinstance(new, str) and len(new) * (len(value) + 1) <= _MAX_SIZE * 16
            return value.replace(old, new) if isinstance(old, str) and isinstance(new, str) and small else None
        if name in _TEXT_METHODS and isinstance(value, str):
            found = getattr(value, name)(*arguments)
            return found if isinstance(found, str) else None
        return None


def _scalar(value: Known | None) -> bool:
    """Whether it is as long as it looks: of sequences in sequences a few letters make terabytes of text."""
    return isinstance(value, str | bytes | int)


def _fits(texts: Iterable[str]) -> bool:
    return sum(len(text) for text in texts) <= _MAX_SIZE


def _joined(texts: list[str], between: str) -> str | None:
    return between.join(texts) if _fits(texts) and len(between) * len(texts) <= _MAX_SIZE else None

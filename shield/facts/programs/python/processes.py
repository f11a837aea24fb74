"""Programs that Python code starts in the open: by constant words, where and as it runs itself."""

import ast
from dataclasses import dataclass

__all__ = ["STARTS", "Started", "UnclearStartError", "started"]

_STARTS_TEXT = "subprocess.run subprocess.call subprocess.check_call subprocess.check_output"
STARTS = frozenset(_STARTS_TEXT.split())
# What is done with what it prints, and whether a failure is an error.
_FLAGS = frozenset(("capture_output", "check", "text", "universal_newlines"))


@dataclass(frozen=True, slots=True)
class Started:
    """The words of a command; or, to a `shell`, the one line that it reads."""

    words: tuple[str, ...]
    shell: bool = False


class UnclearStartError(Exception):
    """What would be started, or how, is not known."""


def started(node: ast.Call) -> Started:
    """What a call of one of STARTS starts.

    Raises:
        UnclearStartError: its arguments are not all constants of known meaning.
    """
    shell = False
    for keyword in node.keywords:
        value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
        if keyword.arg == "timeout" and isinstance(value, int | float):
            continue
        if not isinstance(value, bool) or (keyword.arg not in _FLAGS and keyword.arg != "shell"):
            raise UnclearStartError
        shell |= keyword.arg == "shell" and value
    words: tuple[str, ...]
    match node.args:
        case [ast.Constant(value=str(text))]:
            words = (text,)
        case [ast.List(elts=elements) | ast.Tuple(elts=elements)] if not shell:
            words = tuple(_text(element) for element in elements)
        case _:
            raise UnclearStartError
    if not words or not words[0] or any("\0" in word for word in words):
        raise UnclearStartError
    return Started(words, shell)


def _text(node: ast.expr) -> str:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        raise UnclearStartError
    return node.value

"""Typed access to the nodes of one file: every refusal stands at the node's place and says what to write instead."""

from collections.abc import Iterable
from typing import Final

from shield.errors import PolicyError
from shield.policy.reader import List, Map, Mark, Node, Scalar
from shield.types import Tier

__all__ = ["MAX_TEXT", "VERSION", "Shape", "suggest"]

VERSION: Final = 1
MAX_TEXT: Final = 1_000


def suggest(word: str, known: Iterable[str]) -> str:
    """` (did you mean …?)` with the nearest known word, or nothing."""
    import difflib  # only what is wrong is looked up

    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean `{near[0]}`?" if near else ""


class Shape:
    """Typed access to the nodes of one file; each method raises PolicyError at the node's place."""

    def __init__(self, file: str) -> None:
        self.file = file

    def error(self, detail: str, mark: Mark, key: str | None = None) -> PolicyError:
        return PolicyError(detail, file=self.file, line=mark.line, column=mark.column, key=key)

    def mapping(self, node: Node, what: str, keys: tuple[str, ...] | None = None, needed: tuple[str, ...] = ()) -> Map:
        """A mapping whose keys are all known; `keys` None allows any."""
        if not isinstance(node, Map):
            raise self.error(f"{what} is a mapping of keys to values", node.mark)
        for entry in node.entries if keys is not None else ():
            if entry.key not in (keys or ()):
                near = suggest(entry.key, keys or ()) or f"; the keys are {', '.join(keys or ())}"
                raise self.error(f"unknown key `{entry.key[:64]}` in {what}{near}", entry.mark)
        for key in needed:
            if node.get(key) is None:
                raise self.error(f"{what} needs the key `{key}`", node.mark)
        return node

    def items(self, node: Node, what: str) -> tuple[Node, ...]:
        if not isinstance(node, List):
            raise self.error(f"`{what}` is a list: `[a, b]`, or one `- ` a line", node.mark)
        return node.items

    def string(self, node: Node, what: str) -> str:
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            hint = f'; write `"{node.text}"`' if isinstance(node, Scalar) and node.text else ""
            raise self.error(f"`{what}` is a string{hint}", node.mark)
        return node.value

    def prose(self, node: Node, what: str) -> str:
        text = " ".join(self.string(node, what).split())
        if not text:
            raise self.error(f"`{what}` is empty", node.mark)
        if len(text) > MAX_TEXT:
            raise self.error(f"`{what}` is longer than {MAX_TEXT} characters", node.mark)
        return text

    def choice(self, node: Node, what: str, known: Iterable[str]) -> str:
        words = tuple(known)
        word = self.string(node, what)
        if word not in words:
            near = suggest(word, words) or f"; it is one of {', '.join(words)}"
            raise self.error(f"unknown `{what}` `{word[:64]}`{near}", node.mark)
        return word

    def tier(self, node: Node, what: str, known: tuple[int, ...]) -> Tier:
        value = node.value if isinstance(node, Scalar) else None
        # `True` is an int for Python and 1 is no list's business: compare the type itself
        if type(value) is not int or value not in known:
            raise self.error(f"`{what}` is one of {', '.join(map(str, known))}", node.mark)
        return Tier(value)

    def version(self, node: Map) -> None:
        entry = node.get("version")
        value = entry.value.value if entry is not None and isinstance(entry.value, Scalar) else None
        if type(value) is not int or value != VERSION:
            mark = entry.value.mark if entry is not None else node.mark
            given = "" if value is None else f", not `{str(value)[:64]}`"
            raise self.error(f"`version` must be {VERSION}{given}", mark)

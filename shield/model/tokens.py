"""Text to windows of token ids. Nothing that stands in a text becomes a special token or a marker."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from tokenizers import Tokenizer

from shield.errors import ModelError
from shield.model.manifest import Manifest
from shield.model.windows import Cut, Window, spans
from shield.regex import regex
from shield.types import TextKind

__all__ = ["MAX_CODE_POINTS", "Tokens"]

# 128 windows hold some 12,000 tokens, 40 kB of prose; tokenising 65,536 code points took 13 to 97 ms (2026-11-22).
MAX_CODE_POINTS: Final = 65_536
_UNKNOWN: Final = frozenset({"[UNK]", "<unk>"})
_SURROGATE: Final = regex("[\ud800-\udfff]")


class Tokens:
    """The tokenizer of one model; `cut` may be called from several threads.

    Raises:
        ModelError: the tokenizer does not load, has more ids than the model knows, or frames the text too widely.
    """

    def __init__(self, raw: bytes, manifest: Manifest, *, vocabulary: int | None, most: int) -> None:
        with _reported("does not load"):
            self._tokenizer = Tokenizer.from_buffer(raw)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True
        size = self._tokenizer.get_vocab_size(with_added_tokens=True)
        if vocabulary is not None and size > vocabulary:
            raise ModelError(f"the tokenizer has {size} ids, the model knows {vocabulary}; take files of one model")
        self._most = most
        self._stride = manifest.stride
        self._frames = self._framing(manifest)
        self._banned = self._special(manifest)
        self._size = manifest.window - max(len(head) + len(tail) for head, tail in self._frames.values())
        if self._size < self._stride:
            raise ModelError(f"a window of {manifest.window} tokens is too short for its special tokens; widen it")

    def cut(self, text: str, kind: TextKind) -> Cut:
        """The windows that are read of `text`. A text without tokens has none.

        Raises:
            ModelError: the tokenizer failed.
        """
        if len(text) <= MAX_CODE_POINTS:
            return self._cut(text, kind, 0, self._most)
        half = MAX_CODE_POINTS // 2
        tail = max(self._most // 2, 1)
        first = self._cut(text[:half], kind, 0, max(self._most - tail, 1))
        last = self._cut(text[-half:], kind, len(text) - half, tail)
        return Cut(windows=(*first.windows, *last.windows), whole=False)

    def _cut(self, text: str, kind: TextKind, base: int, most: int) -> Cut:
        ids, places = self._encode(text)
        head, tail = self._frames[kind]
        found, whole = spans(len(ids), size=self._size, step=self._stride, most=most)
        windows = tuple(
            Window(ids=(*head, *ids[begin:end], *tail), start=base + places[begin][0], end=base + places[end - 1][1])
            for begin, end in found
        )
        return Cut(windows=windows, whole=whole)

    def _encode(self, text: str) -> tuple[Sequence[int], Sequence[tuple[int, int]]]:
        # half a surrogate pair has no UTF-8 form; the replacement is one code point, too, so that places hold
        with _reported("failed on a text"):
            found = self._tokenizer.encode(_SURROGATE.sub("\ufffd", text), add_special_tokens=False)
            ids, places = found.ids, found.offsets
        if self._banned.isdisjoint(ids):
            return ids, places
        kept = [at for at, number in enumerate(ids) if number not in self._banned]
        return [ids[at] for at in kept], [places[at] for at in kept]

    def _framing(self, manifest: Manifest) -> dict[TextKind, tuple[tuple[int, ...], tuple[int, ...]]]:
        """What stands before and behind the text of each kind."""
        if manifest.markers is not None and manifest.special is not None:
            begin, end = manifest.special["cls"], manifest.special["sep"]
            return {kind: ((begin, mark), (end,)) for kind, mark in manifest.markers.items()}
        with _reported("failed on the letter `a`"):
            framed = self._tokenizer.encode("a", add_special_tokens=True)
        inner = [at for at, special in enumerate(framed.special_tokens_mask) if not special]
        if not inner:
            raise ModelError("the tokenizer makes nothing of the letter `a`; take the model's own tokenizer.json")
        frame = (tuple(framed.ids[: inner[0]]), tuple(framed.ids[inner[-1] + 1 :]))
        return dict.fromkeys(TextKind, frame)

    def _special(self, manifest: Manifest) -> frozenset[int]:
        """The ids that only a frame may hold. Some vocabularies spell them out, so that a text could name them."""
        found = {
            number
            for number, token in self._tokenizer.get_added_tokens_decoder().items()
            if token.special and token.content not in _UNKNOWN
        }
        for head, tail in self._frames.values():
            found.update(head, tail)
        if manifest.special is not None:
            found.update(manifest.special.values())
        return frozenset(found)


@contextmanager
def _reported(what: str) -> Iterator[None]:
    """Every failure of the library as a ModelError."""
    try:
        yield
    except BaseException as error:
        # A panic of the Rust library derives from BaseException, which no handler of a service would catch.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        why = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise ModelError(f"`tokenizer.json` {what}: {why}; take the model's own file") from None

"""The tokenizer: the pieces of MiniLM's vocabulary that our corpus needs, those of other languages that it lacks, and
one marker for each kind of text.

MiniLM read English: of Chinese it knows every third character, and of other languages pieces of two letters.

Markers and special tokens are put in by number: nothing that stands in a text becomes one.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from models.training.row import KINDS, Row

__all__ = ["SPECIAL", "UNKNOWN", "Vocabulary", "build_vocabulary"]

SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", *(f"[{kind}]" for kind in KINDS))
UNKNOWN = SPECIAL.index("[UNK]")
_MORE = 9_000  # pieces that MiniLM lacks
_CHOSEN_FROM = 40_000
_STRANGE = 0.01  # of the letters of a text in another language
_SEEN = 4  # times at least, and half as often for a single letter
_AT_ONCE = 2_000  # texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Piece `i` begins with the mean of the pretrained embeddings `rows[i]`, or with none; markers begin as `[CLS]`."""

    tokenizer: Tokenizer
    rows: tuple[tuple[int, ...], ...]

    def encode(self, text: str, kind: str, length: int) -> list[int]:
        """`[CLS] [kind] pieces [SEP]`, at most `length` of them."""
        return self.encoded([Row(text=text, label=0, kind=kind, family="")], length)[0]

    def encoded(self, rows: Sequence[Row], length: int) -> list[list[int]]:
        """The same of many texts."""
        found = self.tokenizer.encode_batch_fast([row.text for row in rows], add_special_tokens=False)
        return [
            [1, SPECIAL.index(f"[{row.kind}]"), *one.ids[: length - 3], 2] for row, one in zip(rows, found, strict=True)
        ]


def build_vocabulary(pretrained: Path, texts: Iterable[str]) -> Vocabulary:
    """From the pretrained tokenizer in `pretrained` every single character and each piece that `texts` use; of `texts`
    in other languages also pieces that it lacks."""
    source = Tokenizer.from_file(str(pretrained / "tokenizer.json"))
    source.no_truncation()
    source.no_padding()
    known = source.get_vocab()
    read = list(texts)
    used = _used(source, read)
    kept = sorted(
        (
            piece
            for piece in known
            if not _is_special(piece) and (used[piece] >= 2 or len(piece.removeprefix("##")) == 1)
        ),
        key=lambda piece: known[piece],
    )
    more = _lacking(known, kept, [text for text in read if _is_strange(text)])
    lead = {"[PAD]": "[PAD]", "[SEP]": "[SEP]", "[UNK]": "[UNK]"}
    rows = [
        *((known[lead.get(piece, "[CLS]")],) for piece in SPECIAL),
        *((known[piece],) for piece in kept),
        *(_parts(source, piece, known["[UNK]"]) for piece in more),
    ]
    pieces = [*SPECIAL, *kept, *more]
    return Vocabulary(
        tokenizer=wordpiece({piece: number for number, piece in enumerate(pieces)}),
        rows=tuple(rows),
    )


def _lacking(known: Mapping[str, int], kept: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Of the pieces that `texts` are best written in, those that are not `known`: first single characters, without
    which a word is read as unknown, then the most frequent ones."""
    learner = wordpiece({})
    trainer = trainers.WordPieceTrainer(
        vocab_size=_CHOSEN_FROM, min_frequency=_SEEN, continuing_subword_prefix="##", show_progress=False
    )
    learner.train_from_iterator(texts, trainer)
    found = [piece for piece in learner.get_vocab() if piece not in known and not _is_special(piece)]
    used = _used(wordpiece({piece: number for number, piece in enumerate([*SPECIAL, *kept, *sorted(found)])}), texts)
    letters = Counter(letter for text in texts for letter in text)

    def rank(piece: str) -> tuple[bool, int, str]:
        letter = piece.removeprefix("##")
        return not (len(letter) == 1 and letters[letter] >= _SEEN // 2), -used[piece], piece

    return sorted((piece for piece in found if used[piece] >= _SEEN or not rank(piece)[0]), key=rank)[:_MORE]


def _parts(source: Tokenizer, piece: str, unknown: int) -> tuple[int, ...]:
    ids = source.encode(piece.removeprefix("##"), add_special_tokens=False).ids
    return tuple(number for number in ids if number != unknown)


def _is_special(piece: str) -> bool:
    return piece.startswith("[") and piece.endswith("]") and len(piece) > 2


def _is_strange(text: str) -> bool:
    return sum(letter.isalpha() for letter in text if not letter.isascii()) >= _STRANGE * len(text)


def wordpiece(vocabulary: dict[str, int]) -> Tokenizer:
    """A tokenizer over `vocabulary` that knows no special token in text."""
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))  # noqa: S106
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    return tokenizer


def _used(tokenizer: Tokenizer, texts: Sequence[str]) -> Counter[str]:
    used: Counter[str] = Counter()
    for start in range(0, len(texts), _AT_ONCE):
        for encoding in tokenizer.encode_batch(texts[start : start + _AT_ONCE], add_special_tokens=False):
            used.update(encoding.tokens)
    return used

"""The tokenizer: the pieces of MiniLM's vocabulary that our corpus needs, and one marker for each kind of text.

Markers and special tokens are put in by number: nothing that stands in a text becomes one.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from models.training.row import KINDS

__all__ = ["SPECIAL", "UNKNOWN", "Vocabulary", "build_vocabulary"]

SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", *(f"[{kind}]" for kind in KINDS))
UNKNOWN = SPECIAL.index("[UNK]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """`rows[i]` is the row of the pretrained embedding that piece `i` begins with; markers begin as `[CLS]`."""

    tokenizer: Tokenizer
    rows: tuple[int, ...]

    def encode(self, text: str, kind: str, length: int) -> list[int]:
        """`[CLS] [kind] pieces [SEP]`, at most `length` of them."""
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids[: length - 3]
        return [1, SPECIAL.index(f"[{kind}]"), *ids, 2]


def build_vocabulary(pretrained: Path, texts: Iterable[str]) -> Vocabulary:
    """From the pretrained tokenizer in `pretrained`: every single character, and each piece that `texts` use."""
    source = Tokenizer.from_file(str(pretrained / "tokenizer.json"))
    source.no_truncation()
    source.no_padding()
    known = source.get_vocab()
    used: Counter[str] = Counter()
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == 2_000:
            _count(source, batch, used)
            batch.clear()
    _count(source, batch, used)
    kept = sorted(
        (
            piece
            for piece in known
            if not (piece.startswith("[") and piece.endswith("]") and len(piece) > 2)
            and (used[piece] >= 2 or len(piece.removeprefix("##")) == 1)
        ),
        key=lambda piece: known[piece],
    )
    pieces = [*SPECIAL, *kept]
    lead = {"[PAD]": "[PAD]", "[SEP]": "[SEP]", "[UNK]": "[UNK]"}
    rows = tuple(known[piece] if piece in kept else known[lead.get(piece, "[CLS]")] for piece in pieces)
    return Vocabulary(tokenizer=wordpiece({piece: number for number, piece in enumerate(pieces)}), rows=rows)


def wordpiece(vocabulary: dict[str, int]) -> Tokenizer:
    """A tokenizer over `vocabulary` that knows no special token in text."""
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))  # noqa: S106
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    return tokenizer


def _count(source: Tokenizer, batch: list[str], used: Counter[str]) -> None:
    for encoding in source.encode_batch(batch, add_special_tokens=False):
        used.update(encoding.tokens)

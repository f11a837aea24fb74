"""Where tier 1 lies, and how it stands: for `/readyz`, `shield status` and `/metrics`."""

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path

from shield.errors import ModelError
from shield.model.directory import MANIFEST, opened
from shield.model.holder import LOADING
from shield.service.ports import TextTier
from shield.tiers.loading import HeldRules
from shield.tiers.texts import TextJudge
from shield.tiers.witnesses import MODEL_READY

__all__ = ["model_digest", "rules_digest", "say_what_lacks", "standing_of"]

_READING_S = 5.0  # it takes a fifth of one
_LOADING_S = 0.1  # between two looks at whether it is loaded


def model_digest(folder: Path | None) -> str | None:
    """What the log says of the model that is about to be loaded: the digest of its manifest, which pins its files."""
    if folder is None:
        return None
    try:
        with opened(folder) as source:
            raw = source.read(MANIFEST)
    except ModelError:
        return None
    return None if raw is None else f"sha256:{hashlib.sha256(raw).hexdigest()}"


def rules_digest(texts: TextJudge) -> str | None:
    """What the log says of the heuristics, the owner's own among them, once they are read; None where they do not
    load."""
    rules = texts.rules
    return (rules.named(_READING_S) if isinstance(rules, HeldRules) else rules.digest) or None


def standing_of(texts: TextJudge) -> TextTier:
    """The state of heuristics and model together: that of whichever is not ready, `failed` too where the model is
    loaded and the last thing that it was to read was too much for it."""
    rules, model = texts.rules, texts.model
    state = rules.state if isinstance(rules, HeldRules) else MODEL_READY
    if state == MODEL_READY:
        state = model.state
    if state == MODEL_READY and texts.failure is not None:
        state = f"failed: {texts.failure} when it last read; see `shield model verify`, then start Shield anew"
    word, _, detail = state.partition(": ")
    return TextTier(
        state=word,
        model=None if model.scorer is None else model.scorer.digest,
        heuristics=rules.digest or None,
        detail=detail or None,
    )


async def say_what_lacks(texts: TextJudge, said: Callable[[str], None]) -> None:
    """Say once why tier 1 is not whole, as soon as that is known: it is loaded while requests are answered."""
    while (now := standing_of(texts)).state == LOADING:  # noqa: ASYNC110 - threads load, which know no loop
        await asyncio.sleep(_LOADING_S)
    if now.state != MODEL_READY:
        said(f"what needs tier 1 goes to a person: {now.detail or f'its classifier is {now.state}'}")

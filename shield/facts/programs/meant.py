"""Parts of words that name something in the workspace with a meaning of its own: a secret, or what others go by."""

from collections.abc import Iterator, Sequence

from shield.facts.paths import path_fact
from shield.facts.place import Place
from shield.facts.programs.leading import PIECES
from shield.facts.programs.reading import Reading, Value
from shield.regex import regex
from shield.types import Access

__all__ = ["meant"]

_MAX_PIECES = 256
_SECRETS = frozenset(("credential", "secret_store"))
# What is written there runs or counts later, elsewhere than in what runs now.
_LED_TEXT = """
agent_identity agent_instruction agent_memory ci host_config scheduler shell_startup tool_config vcs_config vcs_hook
workspace_policy
"""
_LED = frozenset(_LED_TEXT.split())
# The directory as a whole is what tools are told to leave out, the message what they check.
_LOOKED_AT = ("/.git", "/.git/COMMIT_EDITMSG")
_GLOB = regex(r"[*?\[]")


def meant(
    reading: Reading,
    text: str,
    place: Place,
    bases: Sequence[str | None],
    *,
    doubtful: bool = False,
    secrets: bool = True,
) -> None:
    """Secrets that a part of the text names are read (`@.env`, `file:.env`). Nothing but git has to do with what is in
    its own directory: that is written, and so is whatever else others go by, where an unknown (`doubtful`) option or
    variable names it. `secrets`: whether they count."""
    found = [piece for piece in PIECES.split(text) if piece]
    if len(found) > _MAX_PIECES:
        reading.unknown.append("a word of the command has too many parts to be looked at")
    for piece in _pieces(found[:_MAX_PIECES]) if doubtful or "/" in text or found != [text] else ():
        for base in bases:
            raw = piece if piece.startswith("/") else f"./{piece}"
            fact = path_fact(raw, Access.WRITE, place, base=base, expand_tilde=False)
            if fact.resolved is None or not fact.inside_workspace or fact.resolved.endswith(_LOOKED_AT):
                continue
            gits = "vcs_config" in fact.categories and "/.git/" in fact.resolved.casefold()
            value = Value(text=piece, head=piece)
            if gits or (doubtful and fact.categories & _LED):
                reading.path(value, Access.READ, Access.WRITE)
            elif secrets and fact.exists and fact.categories & _SECRETS:
                reading.path(value, Access.READ)


def _pieces(found: Sequence[str]) -> Iterator[str]:
    for piece in found:
        # which letters are the option's is not known: `-MF.git/config`
        start = max(piece.find("."), 0) if piece.startswith("-") else 0
        if not _GLOB.search(piece):
            yield piece[start:]

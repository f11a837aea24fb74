"""Labels beyond ASCII: their A-label form, and whether they could be taken for others (UTS 39)."""

import unicodedata
from functools import lru_cache

__all__ = ["UnclearLabelError", "a_label", "deviates", "is_a_label", "is_honest"]

# IDNA 2003 and 2008 disagree about these (UTS 46 section 7): two browsers may go to two hosts.
_DEVIATIONS = frozenset("ßẞς\u200c\u200d")
# The scripts that stand together in the words of one language (UTS 39 section 5.2, "highly restrictive").
_TOGETHER = (
    frozenset(("LATIN", "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")),
    frozenset(("LATIN", "CJK", "BOPOMOFO")),
    frozenset(("LATIN", "CJK", "HANGUL")),
)
# Letters that look like Latin ones: a label of nothing else is read as another one.
_LATIN_SHAPES = {
    "CYRILLIC": frozenset("асԁеһіјӏорԛѕԝхуъьҽпгѵѡԍкмнтвӓәҩ"),
    "GREEK": frozenset("αβγεηικμνοπρτυχωάέήίόύώϊϋ"),
    "ARMENIAN": frozenset("աեզըիլհղնոպսցւօքգյո"),
    "CHEROKEE": frozenset("ꭰꭱꭲꭺꭻꭼꮃꮇꮋꮍꮎꮐꮒꮓꮖꮞꮢꮤꮥꮪꮯꮲꮶ"),
    "GEORGIAN": frozenset("იოყხჽჿ"),
}
_MARKS = ("Mn", "Mc", "Me")


class UnclearLabelError(Exception):
    """Readers of this label may see different hosts, or a person another one."""


def deviates(text: str) -> bool:
    """Whether the text holds what versions of IDNA map differently."""
    return not _DEVIATIONS.isdisjoint(text)


def a_label(label: str) -> str:
    """The A-label (RFC 5890) of a mapped label that is not ASCII. Raises UnclearLabelError."""
    if label.startswith("xn--") or label[2:4] == "--" or unicodedata.combining(label[0]) or not is_honest(label):
        raise UnclearLabelError
    return "xn--" + label.encode("punycode").decode("ascii")


@lru_cache(maxsize=1024)
def is_a_label(label: str) -> bool:
    """Whether a lower-case `xn--` label is what its own characters are written as, and these are honest."""
    try:
        shown = label[4:].encode("ascii").decode("punycode")
        again = shown.encode("punycode").decode("ascii")
    except ValueError:
        return False
    if shown.isascii() or again != label[4:] or shown != unicodedata.normalize("NFC", shown.lower()):
        return False
    plain = all(unicodedata.category(character)[0] in "LMN" or character == "-" for character in shown)
    return plain and is_honest(shown)


@lru_cache(maxsize=1024)
def is_honest(label: str) -> bool:
    """Whether a label, as characters, is of scripts that go together and is not all letters that look like Latin."""
    letters = [character for character in label if unicodedata.category(character)[0] == "L"]
    scripts = {_script(character) for character in letters}
    if len(scripts) > 1 and not any(scripts <= together for together in _TOGETHER):
        return False
    if len(scripts) == 1:
        shapes = _LATIN_SHAPES.get(next(iter(scripts)))
        if shapes is not None and shapes.issuperset(letters):
            return False
    # A mark without a letter, or a pile of them, hides what it stands on.
    marks = sum(unicodedata.category(character) in _MARKS for character in unicodedata.normalize("NFD", label))
    return marks <= 2 * max(1, len(letters))


def _script(character: str) -> str:
    """The script by the character's name, which begins with it."""
    name = unicodedata.name(character, "")
    if name.startswith(("FULLWIDTH LATIN", "MODIFIER LETTER")):
        return "LATIN"
    return name.partition(" ")[0]

"""A word as the program would get it, and the names that a program prints, which become words in turn."""

from typing import NamedTuple

from shield.facts.beneath import Look

__all__ = ["Listing", "Lost", "Value", "plain_globs"]


class Lost(NamedTuple):
    """What stands in the place of a word where something could not be made that it names. `name`: which; `words`: these
    values."""

    name: str
    words: "tuple[Value, ...]"


class Value(NamedTuple):
    """A word as the program would get it. A tuple, as each word of a line becomes one.

    `text` is its value, or its source where it is not `known`. `pattern` is set for a glob: the same text with quoted
    characters made literal. `many`: it may become any number of words. `head` is what it surely begins with.
    `source` is how it was written where a tilde was
    expanded. `bare` is the text with every unknown part empty. `roots`: it stands for entries beneath these (`find`'s
    `{}`). `unset`: the words that it is where the names in it that nothing is known to set are not set; None where it
    hangs on anything else. `fresh`: the letters in it that stand for some chosen by chance, where it names what the
    line makes anew: no text that is known; `lost`: what it is if that was not made, None where it surely was.
    """

    text: str
    known: bool = True
    pattern: str | None = None
    many: bool = False
    head: str = ""
    bare: str | None = None
    roots: "tuple[Value, ...] | None" = None
    look: Look | None = None  # which entries beneath `roots`
    source: str | None = None
    number: bool = False  # an integer of unknown value, zero or more: neither an option nor a path of its own making
    unset: "tuple[Value, ...] | None" = None
    digits: bool = False  # what is not known of it is integers and nothing else: `-j$(nproc)`
    numbers: bool = False  # any number of words, each an integer of unknown value, zero or more: `$(pgrep x)`
    fresh: str = ""
    lost: "Lost | None" = None
    revision: bool = False  # it begins with one that git printed, and all behind that is known: `"$c:src/a.py"`
    sample: str = ""  # the text with zeros for some digits, which are all that is not known of its last component

    @property
    def shown(self) -> str:
        """As it was written, where that is worth telling (`~/x`)."""
        return self.source if self.source is not None else self.text

    @property
    def adrift(self) -> bool:
        """It may begin with a dash, or become further words: an option for all that is known."""
        if self.fixed or self.number or self.roots is not None:
            return False
        return self.many or (not self.head and self.pattern is None) or self.head.startswith("-")

    @property
    def several(self) -> bool:
        """Whether it may become more words than one, each with a part of its own: `uniq *` writes the second."""
        return self.many or self.roots is not None or self.pattern is not None

    @property
    def fixed(self) -> bool:
        """One word of known text."""
        return self.known and self.pattern is None and self.roots is None


class Listing(NamedTuple):
    """What a program prints, where that is names and nothing else: of entries beneath `roots`, as `look` says, each of
    which begins with its root. `nul`: a NUL byte ends each; otherwise a newline does. `bare`: names begin with no root,
    which is the working directory. `index_file`: they are those of a repository's index, without the
    directories `within` in front. `only`: of them those that match one of each of these sets of patterns, in which `*`
    stands for slashes, too."""

    roots: tuple[Value, ...]
    look: Look
    nul: bool = False
    bare: bool = False
    index_file: str | None = None
    within: str = ""
    only: tuple[tuple[str, ...], ...] = ()

    @property
    def value(self) -> Value:
        """Any of them, as a word."""
        return Value(text="{}", head="/", bare="", roots=self.roots, look=self.look)


def plain_globs(values: list[Value]) -> tuple[str, ...] | None:
    """Patterns of names that every program reads alike; None where one is not such."""
    texts = tuple(value.text for value in values if value.fixed and not set(value.text) & set("/\\[{"))
    return texts if len(texts) == len(values) else None

"""flac, optipng, jpegoptim and pngquant: programs that change files, or write what they make of one elsewhere.

Only their listed options are known; files that options name besides (`--picture`, `-dir`) are not among these.
Sources: flac(1), optipng(1), jpegoptim(1), pngquant(1).
"""

import re
from dataclasses import dataclass, field

from shield.facts.programs.reading import Value
from shield.regex import regex

__all__ = ["Work", "flac", "jpegoptim", "optipng", "pngquant"]

_FLAC_FLAGS = regex(
    r"-(?:[dtafswV0-8]|-best|-fast|-silent|-totally-silent|-force|-decode|-test|-verify|-warnings-as-errors)"
)
_OPTIPNG_FLAGS = regex(r"-(?:o[0-7]|quiet|preserve|keep|simulate|fix|force|nb|nc|np|nx|silent|v|q)")
_JPEGOPTIM_FLAGS = regex(
    r"-(?:[sqnpPtvofb]|m\d{1,3}|S\d+[k%]?|T\d+|-strip-(?:all|none|com|exif|iptc|icc|xmp)|-max=\d+|-size=\d+[k%]?|-noaction|-quiet"
    r"|-preserve(?:-perms)?|-all-(?:progressive|normal)|-totals|-force|-threshold=\d+)"
)
_PNGQUANT_FLAGS = regex(
    r"-(?:f|v|-force|-verbose|-skip-if-larger|-strip|-nofs|-quality=\d+(?:-\d+)?|-speed=\d+|s\d+|-ext=[\w.-]+)|\d{1,3}"
)
_PNGQUANT_VALUES = frozenset(("--quality", "--speed", "-s", "--posterize"))


@dataclass(slots=True)
class Work:
    """Files that are read, and those that are written or changed."""

    reads: list[Value] = field(default_factory=list)
    writes: list[Value] = field(default_factory=list)


def flac(words: list[Value]) -> Work | None:
    """Where it is told what to write: it is named after what is read otherwise."""
    work = _in_place(words, _FLAC_FLAGS, frozenset(), "-o")
    if work is None or len(work.reads) != 1 or not work.writes:
        return None
    return work if work.writes != work.reads else None


def _in_place(words: list[Value], flags: re.Pattern[str], valued: frozenset[str], *outputs: str) -> Work | None:
    """A program that changes its files, or writes to what an option names instead."""
    work = Work()
    while words:
        word = words.pop(0)
        name, joined, value = word.text.partition("=")
        if word.text in outputs and words:
            work.writes.append(words.pop(0))
        elif joined and name in outputs:
            work.writes.append(Value(text=value, head=value))
        elif word.text in valued and words:
            if not re.fullmatch(r"[\w.-]+", words.pop(0).text):
                return None
        elif not flags.fullmatch(word.text):
            if word.text.startswith("-"):
                return None
            work.reads.append(word)
    work.writes = work.writes or list(work.reads)
    return work


def optipng(words: list[Value]) -> Work | None:
    """In place, or as `-out` says."""
    return _in_place(words, _OPTIPNG_FLAGS, frozenset(("-strip", "-i", "-zc", "-zm", "-zs", "-f")), "-out")


def jpegoptim(words: list[Value]) -> Work | None:
    """In place."""
    return _in_place(words, _JPEGOPTIM_FLAGS, frozenset())


def pngquant(words: list[Value]) -> Work | None:
    """Without `--ext .png` it writes beside what it reads, under a name that only it knows."""
    texts = [word.text for word in words]
    at = texts.index("--ext") if "--ext" in texts else None
    if at is not None and texts[at + 1 : at + 2] == [".png"]:
        words = words[:at] + words[at + 2 :]
    elif not {"-o", "--output", "--ext=.png"}.intersection(texts) and not any(t.startswith("--output=") for t in texts):
        return None
    return _in_place(words, _PNGQUANT_FLAGS, _PNGQUANT_VALUES, "-o", "--output")

"""Secrets in text, by the shapes their issuers give them, and by name and randomness where there is no shape.

Only kind and place leave this module. RE2 makes the search linear in the text whatever the text is.
"""

import json
import math
from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from types import MappingProxyType

import re2  # type: ignore[import-untyped]  # the wheel ships no types

from shield.facts.checksums import base58, bech32, crc_base62, macaroon
from shield.facts.secret_shapes import SHAPES
from shield.types import SecretFact

__all__ = ["KINDS", "UNVERIFIED", "find_secrets", "redact"]

UNVERIFIED = "unverified_token"  # an issuer's shape whose checksum is wrong, as if drawn by chance: mistyped or made up
KINDS = (*(kind for kind, _ in SHAPES), UNVERIFIED)

# A random string of 16 hexadecimal digits has at least this many bits a character in 999 of 1,000 draws, one of 16
# letters and digits always: `tests/facts/test_secrets.py` measures it.
_LEAST_BITS = 2.4
_REMEMBERED_TEXT = 256  # code points; paths, names and short commands come again and again
_PLACEHOLDERS = (
    "example",
    "changeme",
    "change_me",
    "change-me",
    "placeholder",
    "redacted",
    "replace",
    "dummy",
    "your",
    "xxxx",
    "****",
    "....",
    "todo",
    "insert",
    "1234567890123456",
)


# Azure, Cloudflare and Vercel have not published how theirs are made; GitLab's is also of a prefix that an instance
# chooses for itself and that cannot be told from text before the token.
_CHECKSUMS = MappingProxyType(
    {
        "age_key": bech32,
        "github_token": crc_base62,
        "nostr_key": bech32,
        "npm_token": crc_base62,
        "pypi_token": macaroon,
        "wallet_key": base58,
    }
)


# Ends with a letter or digit that is no part of the word behind it: an escaped line break or tab, a percent-encoded
# character, a terminal's colour.
_GLUE = re2.compile(r"(?:\\[nrt]|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]*[mK])")
_GLUED = re2.compile(rf"{_GLUE.pattern}[A-Za-z0-9_.:-]{{15}}")


def _has_none(_value: str) -> None:
    return None


def find_secrets(text: str, where: str = "", *, limit: int | None = None) -> tuple[SecretFact, ...]:
    """The secrets in `text`, by position, none overlapping another; `where` is its JSON pointer or role.

    With `limit`, the search of a kind stops when that many were found; a caller who gets some then knows only that.
    """
    spans = _spans(text, limit)
    if _GLUED.search(text):
        # as long as it was, so that places stay what they are
        apart = _GLUE.sub(lambda glue: " " * len(glue[0]), text)
        spans = [*{*spans, *_spans(apart, limit)}]
    # A shape says more than a name, and the longer match more than the shorter.
    spans.sort(key=lambda span: (span[2] == "named_secret", span[0] - span[1], span[0], span[2]))
    kept: list[tuple[int, int, str]] = []
    for span in spans:
        at = bisect(kept, span)
        if (at == 0 or kept[at - 1][1] <= span[0]) and (at == len(kept) or span[1] <= kept[at][0]):
            kept.insert(at, span)
    return tuple(SecretFact(kind=kind, where=where, start=start, end=end) for start, end, kind in kept)


def _spans(text: str, limit: int | None) -> list[tuple[int, int, str]]:
    """Start, end and kind of what matches; they may overlap those of another kind."""
    spans: list[tuple[int, int, str]] = []
    for shape in _matching(text):
        covered = 0
        for match in _regex(shape.pattern).finditer(text):
            start, end = match.span(1)
            # INVARIANT: a kind's spans do not overlap: the search for a block's end goes over the text once.
            kind = shape.kind_of(text[start:end]) if start >= covered else None
            if kind is not None:
                covered = _whole(kind, text, end)
                spans.append((start, covered, kind))
                if limit is not None and len(spans) >= limit:
                    break
    return spans


def redact(text: str, where: str = "") -> tuple[str, tuple[SecretFact, ...]]:
    """`text` with each secret replaced by `[redacted KIND]`, and what was replaced, in offsets of the text given."""
    if len(text) <= _REMEMBERED_TEXT and _clean(text):
        return text, ()
    found = find_secrets(text, where)
    pieces, at = [], 0
    for secret in found:
        pieces += [text[at : secret.start], f"[redacted {secret.kind}]"]
        at = secret.end
    return "".join((*pieces, text[at:])), found


def _clean(text: str) -> bool:
    """Whether a short text holds no secret; only that is remembered, never a text that holds one."""
    try:
        return _seen_clean(text)
    except _HoldsSecretError:
        return False


class _HoldsSecretError(Exception):
    """Not an answer that a cache keeps."""


@lru_cache(maxsize=4096)
def _seen_clean(text: str) -> bool:
    if find_secrets(text, limit=1):
        raise _HoldsSecretError
    return True


def _whole(kind: str, text: str, end: int) -> int:
    """A private key ends where its block does; one that is cut off reaches to the end of the text."""
    if kind == "putty_key":
        return len(text)
    if kind != "private_key":
        return end
    closing = text.find("-----END ", end)
    if closing < 0:
        return len(text)
    line = text.find("\n", closing)
    return len(text) if line < 0 else line


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    kind: str
    pattern: str
    check: Callable[[str], bool]
    checksum: Callable[[str], bool | None]

    def kind_of(self, value: str) -> str | None:
        """What `value` is; None for no secret. A checksum that holds needs no other sign."""
        holds = self.checksum(value)
        if holds or (holds is None and self.check(value)):
            return self.kind
        # what is like a wallet's key by its shape alone is any word of that length
        return UNVERIFIED if holds is False and self.kind != "wallet_key" and _is_drawn(value) else None


def _matching(text: str) -> Iterator[_Shape]:
    shapes, union = _compiled()
    # None is "no match". A set whose automaton does not fit into `max_mem` answers None, too, but it does so for every
    # text: the tests would see it. (RE2 never gives up half way in a set, `re2/dfa.cc`.)
    return (shapes[index] for index in sorted(union.Match(text) or ()))


@lru_cache(maxsize=1)
def _compiled() -> "tuple[tuple[_Shape, ...], re2.Set]":
    union = re2.Set.SearchSet(_options())
    for _, pattern in SHAPES:
        union.Add(pattern)
    union.Compile()
    checks = {"jwt": _is_jwt, "named_secret": _is_value, "npm_auth": _is_random}
    shapes = tuple(
        _Shape(
            kind=kind,
            pattern=pattern,
            check=checks.get(kind, _is_meant),
            checksum=_CHECKSUMS.get(kind, _has_none),
        )
        for kind, pattern in SHAPES
    )
    return shapes, union


@cache
def _regex(pattern: str) -> "re2._Regexp":
    """Compiled when a text first needs it: most texts need none."""
    return re2.compile(pattern, _options())


def _options() -> "re2.Options":
    options = re2.Options()
    options.max_mem = 64 << 20
    options.log_errors = False
    return options


def _is_meant(value: str) -> bool:
    """Not the placeholder that documentation writes in a secret's place."""
    lower = value.lower()
    return (
        not any(word in lower for word in ("example", "xxxxxx", "your_", "your-", "<", "...")) and len(set(value)) > 1
    )


def _is_drawn(value: str) -> bool:
    """Whether the end of a token looks drawn by chance: letters and digits, several, and not the alphabet."""
    body = value[-36:]
    folded = body.lower()
    steps = "".join("1" if ord(after) - ord(before) == 1 else "0" for before, after in pairwise(folded))
    mixed = any(map(str.isdigit, body)) and any(map(str.isalpha, body))
    return mixed and len(set(body)) > 2 and "11111" not in steps and _is_meant(value)


def _is_jwt(value: str) -> bool:
    header = value.partition(".")[0]
    try:
        parsed = json.loads(urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    except (Base64Error, ValueError, RecursionError):
        return False
    return isinstance(parsed, dict) and ("alg" in parsed or "enc" in parsed)


def _is_random(value: str) -> bool:
    return not any(word in value.lower() for word in _PLACEHOLDERS) and _bits(value) >= _LEAST_BITS


def _is_value(value: str) -> bool:
    """A value that stands behind a secret's name: random enough, and no expression that fetches it from elsewhere."""
    if any(mark in value for mark in "(){}[]$%") or value.startswith(("/", "./", "~/", "&", "http://", "https://")):
        return False
    core = value.rstrip(".:;!?")
    kinds = (any(map(str.isdigit, core)), any(map(str.islower, core)), any(map(str.isupper, core)))
    symbol = any(not character.isalnum() and character not in "_-./" for character in core)
    # `config.old_password`, `my-secret-name`: names of things are letters with few kinds of separators.
    if not kinds[0] and not symbol:
        return False
    return len(core) >= 8 and sum((*kinds, symbol)) >= 2 and _is_random(core)


def _bits(value: str) -> float:
    """Shannon's entropy of the characters of `value`, in bits a character."""
    counts, size = Counter(value), len(value)
    return -sum(count / size * math.log2(count / size) for count in counts.values()) if size else 0.0

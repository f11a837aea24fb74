"""Files by their addresses: which paths a program may open that is given a `file:` URL."""

import re
from urllib.parse import unquote

from shield.regex import regex

__all__ = ["FILE_URL", "file_names"]

FILE_URL = regex(r"(?i)file:")
_HEAD = regex(r"(?i)file:(?://(?:localhost|127\.0\.0\.1)?(?=/))?")


def file_names(url: str) -> tuple[str, ...]:
    """Readers differ: some decode `%2f`, and to some a path ends at `?` or `#`, to others it does not."""
    path = _HEAD.sub("", url, count=1)
    found = (path, re.split(r"[?#]", path, maxsplit=1)[0])
    return tuple(dict.fromkeys(name for each in found for name in (each, unquote(each, errors="surrogateescape"))))

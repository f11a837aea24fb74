"""A path as it is written: where it starts and what it names, before any link on its way is looked at."""

import posixpath
from urllib.parse import unquote_to_bytes

from shield.facts.place import Place

__all__ = ["UnknownPathError", "normal", "start_of", "suspected"]

_MAX_BYTES = 4096  # PATH_MAX, linux/limits.h


class UnknownPathError(Exception):
    """The reason why a path cannot be known."""


def start_of(raw: str, place: Place, base: str | None, expand_tilde: bool) -> tuple[str, str]:
    """The absolute directory to start in and the path that is named from there.

    Raises:
        UnknownPathError: no text says where it leads.
        FileSystemUnknownError: whether it is a path or a URI cannot be told.
    """
    if not raw:
        raise UnknownPathError("it is empty")
    if "\0" in raw:
        raise UnknownPathError("it holds a NUL")
    # four bytes a character at the most
    if len(raw) * 4 > _MAX_BYTES and len(raw.encode("utf-8", "surrogateescape")) > _MAX_BYTES:
        raise UnknownPathError("it is longer than a path can be")
    if raw[:5].lower() == "file:":
        return "/", _from_uri(raw, place, base)
    if expand_tilde and raw[0] == "~":
        head, _, rest = raw.partition("/")
        if head != "~" or not place.home.startswith("/"):
            raise UnknownPathError("it names another user's home")
        # A trailing slash follows a link that stands last, so it must not get lost.
        return place.home, rest if rest or "/" not in raw else "."
    if raw[0] == "/":
        return "/", raw
    if base is None or not base.startswith("/") or "\0" in base:
        raise UnknownPathError("it is relative and there is no directory to start in")
    return base, raw


def _from_uri(raw: str, place: Place, base: str | None) -> str:
    """The absolute path of a `file:` URI. Unknown where readers of such URIs differ, or where `raw` is also a path."""
    # A program that knows no URIs would open a directory named `file:` here.
    if base is not None and base.startswith("/") and place.files.lstat(f"{base.rstrip('/')}/{raw[:5]}") is not None:
        raise UnknownPathError("it is both a URI and a relative path")
    rest = raw[5:]
    if any(character in rest for character in "?#\\\t\r\n"):
        raise UnknownPathError("readers of this URI differ")
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host.lower() not in ("", "localhost") or not slash:
            raise UnknownPathError("it is a file of another host")
        rest = slash + path
    if not rest.startswith("/"):
        raise UnknownPathError("it is a relative URI")
    decoded = unquote_to_bytes(rest)
    # An encoded slash is a separator to one reader and part of a name to another.
    if b"\0" in decoded or decoded.count(b"/") != rest.count("/"):
        raise UnknownPathError("readers of this URI differ")
    return decoded.decode("utf-8", "strict")


def suspected(raw: str, place: Place, lexical: str) -> str:
    """Something to be suspicious of where a path cannot be known: its names below an unknown directory."""
    if lexical != "/" or not raw:
        return lexical
    text = raw.replace("\0", "/")[:_MAX_BYTES]
    if text[:5].lower() == "file:":
        text = unquote_to_bytes(text[5:].split("?")[0].split("#")[0]).replace(b"\0", b"/").decode("utf-8", "replace")
    if text.startswith("~/"):
        text = f"{place.home}{text[1:]}"
    return normal(f"/{text}")


def normal(path: str) -> str:
    """The absolute path without `.`, `..` and doubled slashes, as far as its text says."""
    whole = "/" + path.strip("/")
    if "//" not in whole and "/." not in whole:
        return whole  # what it would come to: most paths are written as they are
    if "/root/" in whole and "proc/" in whole:
        return _beneath_root(whole)
    return "/" + posixpath.normpath(whole).lstrip("/")


def _beneath_root(path: str) -> str:
    """Normal where `/proc/7/root` is a root: nothing is above it."""
    kept: list[str] = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part != "..":
            kept.append(part)
        elif not (kept[-1:] == ["root"] and kept[0] == "proc" and len(kept) in (3, 5)):
            kept = kept[:-1]
    return "/" + "/".join(kept)

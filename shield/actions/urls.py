"""Whether a text is a URL that anything could be asked for. Which host it leads to is for the facts to say."""

from shield.regex import regex

__all__ = ["no_url"]

_SCHEME = regex(r"[A-Za-z][A-Za-z0-9+.-]*:")
_AUTHORITY = regex(r"//([^/?#\\]*)")
_BLANK = regex(r"[\x00-\x20\x7f]")
_MAX_PORT = 65_535


def no_url(text: str) -> str | None:
    """Why a tool cannot ask for `text`, in words that follow "is no URL: "; None where it may be one.

    None is what has no scheme and authority as RFC 3986 section 3 writes them, `https:host` too, which a browser would
    mend and an HTTP client does not.
    """
    scheme = _SCHEME.match(text)
    if scheme is not None and scheme[0].lower() == "file:":
        return None  # a path, and judged as one
    found = None if scheme is None else _AUTHORITY.match(text, scheme.end())
    if found is None:
        return "it does not begin with `https://` or another scheme and a host"
    if not found[1]:
        return "it names no host"
    address = found[1].rpartition("@")[2]
    if _BLANK.search(address):
        return "there is a blank in its host"
    bracket = address.startswith("[")
    host, closed, port = address.partition("]" if bracket else ":")
    if bracket and not closed:
        return "the bracket of its address is not closed"
    port = port.removeprefix(":") if bracket else port
    if not host.lstrip("["):
        return "it names no host"
    if port and not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= _MAX_PORT):
        return f"its port is no number up to {_MAX_PORT}"
    return None

"""Whether settings of git hold what opens something: a password or a token in a URL, or a header that carries one."""

import re

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.place import Place
from shield.facts.secrets import find_secrets
from shield.regex import regex

__all__ = ["SETTINGS", "holds_login", "says_login"]

# Names of files in which git, or what it fetched, says where from.
SETTINGS = frozenset((".gitconfig", ".gitmodules", "FETCH_HEAD", "config", "config.worktree", "gitconfig"))
_MAX_BYTES = 262_144
# `//name:password@`, `//token@`. A name alone, as of `ssh://git@…`, opens nothing.
_USER = regex(r"://([^\s/@:\"']*)(?::([^\s/@\"']*))?@")
# GitHub's own steps keep a token so (git-config(1), `http.extraHeader`).
_HEADER = regex(r"extraheader\s*=.*(?:authorization|token|cookie)", re.IGNORECASE)
_PASSWORD = regex(
    r"^\s*(?:\[[^\]\n]*\]\s*)?\w*(?:pass|password|token|secret)\s*=\s*[^\s;#]", re.IGNORECASE | re.MULTILINE
)
# A name with letters and digits as long as a token is taken for one.
_TOKEN = regex(r"(?=.*\d)(?=.*[A-Za-z])[\w-]{20,}")


def says_login(text: str, *, addresses: bool = False) -> bool:
    """Whether the text of a configuration of git holds a password, or what may be one; `addresses`: in a URL."""
    for match in _USER.finditer(text):
        name, password = match[1], match[2]
        if password or _TOKEN.fullmatch(name) is not None or find_secrets(name):
            return True
    if addresses:
        return False
    return _HEADER.search(text) is not None or _PASSWORD.search(text) is not None or bool(find_secrets(text, limit=1))


def holds_login(path: str, place: Place, *, addresses: bool = False) -> bool:
    """The same of the file at a resolved path; one that cannot be read, or is too large, may hold one."""
    try:
        stat = place.files.lstat(path)
        if stat is None or stat.kind is not FileKind.FILE:
            return False
        content = place.files.read(path, _MAX_BYTES)
    except FileSystemUnknownError:
        return True
    return content is None or says_login(content.decode("utf-8", "replace"), addresses=addresses)

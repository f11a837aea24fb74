"""What seen code of other languages than Python deletes of what it comes upon: `Dir.glob('data/*').each { |f| … }`.

Seen, not proven: by the names of looks and of deletions, and of what stands between them. It is read as the `find` that
it stands for.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from shield.regex import regex

__all__ = ["find_line", "swept_lines"]

_MAX_EACH = 16
_MAX_BEHIND = 4_000  # letters behind a look in which a deletion counts
_TEXT = r"(?:'([^'\n]{1,200})'|\"([^\"\n]{1,200})\"|`([^`\n$]{1,200})`|[$@]?([A-Za-z_]\w*))"
_LOOKS: Mapping[str, str] = MappingProxyType(
    {
        "node": r"\b(?:readdirSync|readdir|opendirSync|globSync|glob|sync)\(\s*TEXT[^()\n]{0,60}\)",
        "ruby": r"\bDir(?:\.(?:glob|children|each_child|entries|new)\(?\s*|\[\s*)TEXT",
        "php": r"\b(?:glob|scandir|opendir|new\s+\w*Directory\w*)\s*\(\s*TEXT",
        "perl": r"(?:\bglob\s*\(?\s*TEXT|<([\w./*?-]{1,200})>)",
    }
)
# How a name gets one after the other: in front of a look, or behind it.
_IN_FRONT: Mapping[str, str] = MappingProxyType(
    {
        "node": r"\bfor\s*(?:await\s*)?\(\s*(?:const|let|var)\s+(\w+)\s+of\s+(?:await\s+)?[\w.]*\Z",
        "perl": r"\bfor(?:each)?\s+(?:my\s+)?\$(\w+)\s*\(\s*\Z",
    }
)
_BEHIND: Mapping[str, str] = MappingProxyType(
    {
        "node": r"[^;\n]{0,200}?\.(?:forEach|map)\(\s*(?:async\s*)?\(?\s*(\w+)",
        "ruby": r"[^;\n]{0,200}?\.(?:each|map)\s*(?:\{|do)\s*\|\s*(\w+)",
        "php": r"[^;\n]{0,60}?\)\s+as\s+(?:\$\w+\s*=>\s*)?\$(\w+)",
    }
)
_NAMES = (
    r"(?:unlinkSync|unlink|rmdirSync|rmSync|rmdir|removeSync|remove_tree|rmtree|rm_rf|rm_r|rm_f|rm|remove|rimraf"
    r"|(?<=File\.)delete|(?<=Dir\.)delete|(?<=::)delete)"
)
_DIRECT = regex(rf"\b{_NAMES}['\"]?\s*[(,]?\s*(?:map\s*)?[(@]?\s*\Z")
_CONSTANT = regex(r"[$@]?\b([A-Za-z_]\w*)\s*=\s*(?:'([^'\n]{1,200})'|\"([^\"\n$#]{1,200})\")")


def swept_lines(text: str, language: str) -> Iterator[str]:
    """Lines of a shell that delete what the code of `language` deletes by a look."""
    look = _LOOKS.get(language)
    if look is None or re.search(rf"\b{_NAMES}\b", text) is None:
        return
    known = {found[1]: found[2] or found[3] for found in _CONSTANT.finditer(text)}
    for at, found in enumerate(re.finditer(look.replace("TEXT", _TEXT), text)):
        if at >= _MAX_EACH:
            return
        *said, name = found.groups()[:4]
        where = next((each for each in (*said, *found.groups()[4:]) if each), None) or known.get(name or "")
        if where and _is_deleted(text, found, language):
            yield find_line(where)


def _is_deleted(text: str, found: re.Match[str], language: str) -> bool:
    before = text[max(0, found.start() - 120) : found.start()]
    if _DIRECT.search(before):
        return True
    behind = re.compile(_BEHIND[language]).match(text, found.end()) if language in _BEHIND else None
    front = re.search(_IN_FRONT[language], before) if language in _IN_FRONT else None
    named = front or behind
    if named is None:
        return False
    word = re.escape(named[1])
    return (
        re.search(rf"\b{_NAMES}\b[^;\n]{{0,200}}?(?<!\w){word}\b", text[found.end() : found.end() + _MAX_BEHIND])
        is not None
    )


def find_line(where: str, only: tuple[str, ...] = ()) -> str:
    """The `find` that deletes what `where`, a folder or a pattern of names, leads to; of a folder `only` these."""
    parts = where.split("/")
    at = next((index for index, part in enumerate(parts) if set(part) & set("*?[{")), len(parts))
    if at < len(parts):
        where = "/".join(parts[:at]) or ("/" if where.startswith("/") else ".")
        plain = not set("".join(parts[at:])) & set("[{") and parts[-1] not in ("", "*", "**")
        only = (parts[-1],) if plain else ()
    named = " -o ".join(f"-name {shlex.quote(name)}" for name in only)
    top = where if where.startswith("/") else f"./{where}" if where.startswith("-") else where or "."
    tests = rf"\( {named} \)" if len(only) > 1 else named
    return f"find {shlex.quote(top)} {tests} -delete"

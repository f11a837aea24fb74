"""Code that deletes what its words name: `node clean.js src` with `rmSync(process.argv[2])`.

By the text alone, for JavaScript, Ruby, Perl and PHP, in the order of its statements: names that hold a word, or go
through several, and deletes that are handed one of them. And paths that JavaScript puts together of constants.
"""

import posixpath
import re
from collections.abc import Iterator
from types import MappingProxyType

from shield.regex import regex

__all__ = ["deletes_words", "joined_paths"]

_MAX_TEXT = 65_536
_MAX_ROUNDS = 4
_WORDS = MappingProxyType(
    {
        "node": r"process\.argv|\bDeno\.args|\bBun\.argv",
        "ruby": r"\bARGV\b|\bARGF\b",
        "perl": r"[@$]ARGV\b|\bshift\b(?!\s*\()",
        "php": r"\$argv\b|\$_SERVER\[['\"]argv['\"]\]",
    }
)
_DELETES = MappingProxyType(
    {
        "node": r"\b(?:rm|rmSync|rmdir|rmdirSync|unlink|unlinkSync|remove|removeSync|emptyDir|emptyDirSync"
        r"|rimraf(?:\.sync)?|rimrafSync|del(?:\.sync)?|deleteSync|deleteAsync|trash|sync)\s*\(",
        "ruby": r"\b(?:rm_rf|rm_r|rm_f|rm|rmtree|remove_dir|remove_entry(?:_secure)?|unlink|delete)\b[\s(]",
        "perl": r"\b(?:unlink|rmtree|remove_tree|rmdir)\b[\s(]",
        "php": r"\b(?:unlink|rmdir)\s*\(",
    }
)
_SHELL = r"[\"'`]\s*(?:rm|rmdir|unlink|shred)\s[^\"'`\n]*"
_STATEMENT = regex(r"[;\n]")
_SET = regex(r"(?<![=!<>])=(?![=>~])")
_EACH = regex(
    r"\b(?:for|foreach)\b\s*(?:await\s*)?\(?\s*(?:(?:const|let|var|my)\s+)?([$@]?\w+)\s*(?:\b(?:of|in)\b|\()(.*)"
)
_AS = regex(r"\bforeach\s*\((.*?)\bas\b\s*(?:\$\w+\s*=>\s*)?(\$\w+)\)")
_BLOCK = regex(r"\.(?:forEach|map|each|filter)\b\s*(?:[({]|do\b)\s*(?:async\b\s*)?[(|]?\s*([$]?\w+)\s*(?:[)|]|=>)")
_MAX_LEFT = 120  # characters in front of an `=` that may name what is set
_MAX_STATEMENT = 4_000
_KEYWORDS = frozenset(("await", "const", "let", "my", "var", "if", "return", "unless", "while"))
_NAME = regex(r"[$@]?[A-Za-z_]\w*")


def deletes_words(code: str, language: str) -> bool:
    """Whether code in this language deletes what the words that it is given name."""
    source = _WORDS.get(language)
    if source is None or len(code) > _MAX_TEXT or re.search(source, code) is None:
        return False
    statements = [text[:_MAX_STATEMENT] for text in _STATEMENT.split(code)]
    held: set[str] = set()
    for _ in range(_MAX_ROUNDS):
        before = len(held)
        given = _mention(source, held)
        for text in statements:
            for names, value in _handing(text):
                if given.search(value):
                    held.update(each.lstrip("$@") for each in _NAME.findall(names) if each not in _KEYWORDS)
        if len(held) == before:
            break
    given = _mention(source, held)
    deletes, shell = re.compile(_DELETES[language]), re.compile(_SHELL)
    return any(
        (found := pattern.search(text)) is not None and given.search(text[found.start() :]) is not None
        for text in statements
        for pattern in (deletes, shell)
    )


def _handing(text: str) -> Iterator[tuple[str, str]]:
    """The names that a statement sets, and from what."""
    found = _SET.search(text)
    if found is not None:
        yield text[: found.start()][-_MAX_LEFT:], text[found.end() :]
    for pattern, name, value in ((_EACH, 1, 2), (_AS, 2, 1)):
        found = pattern.search(text)
        if found is not None:
            yield found[name], found[value]
    found = _BLOCK.search(text)
    if found is not None:
        yield found[1], text[: found.start()]


def _mention(source: str, names: set[str]) -> re.Pattern[str]:
    return re.compile(
        "|".join([source, *(rf"(?<![\w.'\"-])[$@]?{re.escape(name)}\b(?!['\"(])" for name in sorted(names))])
    )


_CONSTANT = r"(?:'[^'\\\n]*'|\"[^\"\\\n]*\"|`[^`\\$\n]*`)"
_HERE = r"(?:__dirname|process\.cwd\(\)|import\.meta\.dirname)"
_JOINED = regex(
    rf"(?:\bpath|\brequire\(['\"](?:node:)?path['\"]\))?\.?\b(?:join|resolve)\(\s*((?:{_HERE}|{_CONSTANT})(?:\s*,\s*{_CONSTANT})*)\s*\)"
)
_ADDED = regex(rf"({_HERE})\s*\+\s*({_CONSTANT})")
_WITHIN = regex(rf"`\$\{{({_HERE})\}}([^`$\\]*)`")
_MODULE = regex(r"\brequire\(['\"](rimraf|del|trash)['\"]\)")
_SYNC = regex(r"\b(?:rimraf\.sync|rimrafSync|del\.sync|deleteSync|deleteAsync)\s*\(\s*\[?")
_LISTED = rf"\[((?:\s*{_CONSTANT}\s*,?)+)\]"
_THROUGH = regex(rf"{_LISTED}\.(?:forEach|map)\(\s*(?:async\s*)?\(?\s*(\w+)\s*\)?\s*=>|\bof\s+{_LISTED}\s*\)")
_VARIABLE = regex(r"\b(?:const|let|var)\s+(\w+)\s*$")


def joined_paths(code: str, folder: str) -> str:
    """JavaScript with the paths put together that it builds of constants, and deletes of each of a list written out.
    `folder`: where its file lies."""
    if len(code) > _MAX_TEXT:
        return code
    code = _MODULE.sub(r"\1", code)
    code = _JOINED.sub(lambda found: repr(_put_together(found[1], folder)), code)
    code = _ADDED.sub(lambda found: repr(_here(found[1], folder) + found[2][1:-1]), code)
    code = _WITHIN.sub(lambda found: repr(_here(found[1], folder) + found[2]), code)
    code = _SYNC.sub("rmSync(", code)
    more: list[str] = []
    for found in _THROUGH.finditer(code):
        variable = _VARIABLE.search(code[: found.start()])
        name = found[2] or (variable[1] if variable is not None else "")
        if name and re.search(rf"{_DELETES['node']}\s*{re.escape(name)}\b", code[found.end() :]):
            more += [f"\nrmSync({each});" for each in re.findall(_CONSTANT, found[1] or found[3] or "")]
    return code + "".join(more)


def _here(text: str, folder: str) -> str:
    return "." if text.startswith("process.cwd") else folder


def _put_together(text: str, folder: str) -> str:
    parts = [
        _here(each, folder) if each[0] not in "'\"`" else each[1:-1]
        for each in re.findall(rf"{_HERE}|{_CONSTANT}", text)
    ]
    return posixpath.normpath(posixpath.join(*parts))

"""`find … | while read -r f; do …; done`: a loop over the lines that a program prints, one name at a time.

Whatever else reads the same input may leave a part of a name behind for the next turn. So this is only for loops whose
commands leave it alone, and make no files that would be found in turn.
"""

import re
from collections.abc import Iterator

from shield.facts.programs.sed import sed_files
from shield.facts.shell.grammar.script import (
    Command,
    Loop,
    Part,
    PartKind,
    Pipeline,
    RedirectNode,
    Simple,
    Word,
    literal,
)
from shield.regex import regex

__all__ = ["line_variable", "read_variable", "takes_nul"]

_NAME = regex(r"[A-Za-z_]\w*", re.ASCII)
_ALONE = frozenset((":", "[", "basename", "dirname", "echo", "false", "printf", "test", "true"))
# What reads the files that it is given and nothing else, by the words in front of the file.
_READING = {
    "cat": regex(r"(?:-[nbsA])?"),
    "head": regex(r"(?:-\d+|-n ?\d+)?"),
    "tail": regex(r"(?:-\d+|-n ?\+?\d+)?"),
    "wc": regex(r"(?:-[clwm])?"),
    "nl": regex(r"(?:-ba)?"),
    "ls": regex(r"(?:-[la1dhst]+)?"),
    "stat": regex(r"(?:-c \S+)?"),
    "file": regex(r"(?:-b)?"),
    "du": regex(r"(?:-[shak]+)?"),
    **dict.fromkeys(("b2sum", "cksum", "md5sum", "sha1sum", "sha256sum", "sha512sum", "tac", "rev"), regex("")),
    "strings": regex(r"(?:-n ?\d+)?"),
    "readlink": regex("-[fem]"),
    "realpath": regex(""),
    "xmllint": regex("--noout"),
    "grep": regex(r"(?:-[nilcEFPHhovwxqs]+ )?(?!-)[^\n]+"),
    "sed": regex(r"(?:-n )?\d+(?:,\d+)?p"),
}
# The same of programs that one word tells what to do, by each of the options in front of it.
_TOLD = {
    "awk": regex(r"-F\S.*"),
    "jq": regex(r"-[acejnrsCMS]+|--(?:compact-output|exit-status|raw-output|slurp|sort-keys|tab)"),
    "rg": regex(r"-[nilcFPSUHNovwxq]+"),
    "sed": regex(r"-[nErs]+"),
}
# By these awk may read its input, or take the name of the file for more than that.
_AWK_READS = regex(r"getline|ARG[CV]")
# What stands behind a pipe reads that.
_BEHIND = frozenset((*_READING, *_TOLD, "cut", "sort", "tr", "uniq"))
_GIT = frozenset(("blame", "diff", "log", "show"))
_FED = ("--stdin", "--contents", "--no-index", "/dev/", "/proc/")  # by which it reads its input


def line_variable(node: Command) -> str | None:
    """The variable that becomes each line in turn; None where the loop is another, or may read more than that."""
    name = read_variable(node)
    if name is None or not isinstance(node, Loop):
        return None
    return name if all(_leaves_alone(each, name) for each in _commands(node.body)) else None


def read_variable(node: Command) -> str | None:
    """The variable that becomes each line in turn, or what other commands of the loop leave of one."""
    if not isinstance(node, Loop) or node.until or node.redirects:
        return None
    return _read(node)


def takes_nul(node: Loop) -> bool:
    """Whether the names of such a loop end with a NUL, as `find -print0` prints them, and not with a newline."""
    asked = node.condition.lists[0].pipelines[0].stages[0]
    return isinstance(asked, Simple) and any(literal(word) == "-d" for word in asked.words)


def _read(node: Loop) -> str | None:
    """`read -r f`, `IFS= read -r f`, `IFS= read -r -d '' f`"""
    lists = node.condition.lists
    if len(lists) != 1 or lists[0].background or len(lists[0].pipelines) != 1:
        return None
    pipeline = lists[0].pipelines[0]
    asked = pipeline.stages[0]
    if pipeline.negated or len(pipeline.stages) != 1 or not isinstance(asked, Simple) or asked.redirects:
        return None
    words = [literal(word) for word in asked.words]
    if any((item.name, item.value, item.plain, item.append) != ("IFS", (), True, False) for item in asked.assignments):
        return None
    forms = [["read"], ["read", "-r"]]
    # Names of any letters are told apart so: of one with a blank at its end the blank is kept.
    forms += [["read", "-r", "-d", ""], ["read", "-d", "", "-r"]] if asked.assignments else []
    name = words[-1] if words[:-1] in forms else None
    return name if name is not None and _NAME.fullmatch(name) else None


def _commands(node: object) -> Iterator[tuple[Command, bool]]:
    """Every command beneath, and whether another one feeds it."""
    if isinstance(node, Pipeline):
        for index, stage in enumerate(node.stages):
            yield from _fed(stage, behind=index > 0)
    elif isinstance(node, Simple):
        yield node, False
        yield from _beneath(node)
    elif isinstance(node, tuple):
        yield from _beneath(node)


def _fed(stage: Command, *, behind: bool) -> Iterator[tuple[Command, bool]]:
    if isinstance(stage, Simple):
        yield stage, behind
        yield from _beneath(stage)
    else:
        yield from _commands(stage)


def _beneath(node: tuple[object, ...]) -> Iterator[tuple[Command, bool]]:
    for each in node:
        yield from _commands(each)


def _leaves_alone(found: tuple[Command, bool], name: str) -> bool:
    node, behind = found
    if not isinstance(node, Simple):
        return False
    if not all(_reads(item) or _is_quiet(item) for item in node.redirects):
        return False
    if not node.words:
        return not node.redirects
    if node.assignments:
        return False
    program, words = literal(node.words[0]), node.words[1:]
    if program in _ALONE:
        return True
    if program == "git":
        texts = [literal(word) or "" for word in words]
        return bool(texts) and texts[0] in _GIT and not any(text == "-" or text.startswith(_FED) for text in texts)
    if program not in _BEHIND or (program == "sort" and words):
        return False
    if behind or any(_reads(item) for item in node.redirects):
        return not any(text.startswith(("-i", "--")) for word in words if (text := literal(word) or ""))
    form = _READING.get(program)
    if not words or not _names(words[-1], name):
        return False
    texts = [literal(word) or "\n" for word in words[:-1]]
    if program in _TOLD and _is_told(program, texts):
        return True
    if form is None:
        return False
    # grep would read what stands behind its pattern, `-` among it, too
    if program == "grep" and len(texts[1:] if (texts or [""])[0].startswith("-") else texts) > 1:
        return False
    return "\n" not in texts and form.fullmatch(" ".join(texts)) is not None


def _is_told(program: str, texts: list[str]) -> bool:
    """Whether these words are options and one that says what is to be done with the file behind them."""
    if not texts or "\n" in texts or texts[-1].startswith("-"):
        return False
    if not all(_TOLD[program].fullmatch(text) for text in texts[:-1]):
        return False
    if program == "awk":
        return _AWK_READS.search(texts[-1]) is None
    return program != "sed" or sed_files(texts[-1]) == ()


def _reads(node: RedirectNode) -> bool:
    return node.op == "<" and node.fd in (0, None)


def _is_quiet(node: RedirectNode) -> bool:
    return literal(node.target) == "/dev/null" or (node.op == ">&" and literal(node.target) in ("1", "2"))


def _names(word: Word, name: str) -> bool:
    """Whether the word is the variable and nothing else, in quotes."""
    parts = [part for part in word if part.kind is not PartKind.LITERAL or part.text]
    return parts == [Part(PartKind.VARIABLE, name, quoted=True)]

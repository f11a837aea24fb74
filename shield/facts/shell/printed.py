"""What a command prints that is listed, where that follows from its words: `$(echo x)`, `$(wc -l < f)`."""

import posixpath
import re

from shield.facts.shell.variables import Content, Number, Token
from shield.types import CommandFact, Dynamic, Origin, RunsCode

__all__ = ["printed"]

_OURS = (Origin.SYSTEM, Origin.BUILTIN)
_NATURAL = Number(natural=True)
_COUNTING = frozenset((("-l",), ("-c",), ("-w",), ("-m",)))
_COUNTS = frozenset(("-c", "-ci", "-ic", "-cE", "-cF", "-Ec", "-Fc"))
_REVISION = re.compile(r"[A-Za-z0-9@][A-Za-z0-9_./@{}~^-]*\Z")
_REVISIONS = frozenset(("--short", "--verify", "--abbrev-ref", "--quiet", "-q"))
_STAT = frozenset(("%s", "%Y", "%X", "%Z", "%a", "%u", "%g", "%h", "%i"))
_DATE = frozenset(("+%s", "+%Y", "+%N", "+%d", "+%m", "+%H", "+%M", "+%S", "+%j", "+%Y%m%d", "+%Y%m%d%H%M%S"))


def printed(command: CommandFact, *, fed: str | None, base: str | None) -> Content:
    """The output without the newlines at its end; None where it is not known. `fed`: what a here-document gives it.
    `base`: where the shell stands, if that is one known directory by its real name."""
    if command.origin not in _OURS or command.runs_code is not RunsCode.NONE or command.assignments:
        return None
    if command.dynamic in (Dynamic.CODE, Dynamic.PROGRAM):
        return None
    if any(redirect.op.startswith(">") and redirect.fd in (1, None) for redirect in command.redirects):
        return None
    words = command.argv[1:]
    if command.name == "wc" and words in _COUNTING:
        return _NATURAL  # whatever it is fed
    if command.dynamic is not Dynamic.NONE:
        return None
    counted = _counted(command.name, words)
    if counted is not None:
        return counted
    if command.name == "git" and _names_commit(words):
        return Token()
    text: str | None = None
    match command.name:
        case "echo" if not (words and words[0].startswith("-")):
            text = " ".join(words)
        case "printf" if len(words) == 1 and not set(words[0]) & set("%\\-"):
            text = words[0]
        case "printf" if len(words) == 2 and words[0] in ("%s", "%s\\n"):
            text = words[1]
        case "pwd" if words in ((), ("-P",), ("-L",)):
            text = base
        case "cat" if not words:
            text = fed
        case "basename" if len(words) == 1 and words[0].strip("/") and not words[0].startswith("-"):
            text = posixpath.basename(words[0].rstrip("/"))
    return None if text is None or "\0" in text else text.rstrip("\n")


def _counted(name: str, words: tuple[str, ...]) -> Number | None:
    """Programs that print integers and nothing else, when they are used like this."""
    match name, words:
        case "date", (form,) if form in _DATE:
            return _NATURAL
        case "nproc", ():
            return _NATURAL
        case "id", (option,) if option in ("-u", "-g"):
            return _NATURAL
        case "stat", ("-c", form, _) if form in _STAT:
            return _NATURAL
        case "seq", _ if words and all(word.lstrip("-").isdigit() for word in words):
            return Number(natural=not any(word.startswith("-") for word in words), several=True)
        case "grep", (option, *rest) if option in _COUNTS and len(rest) in (1, 2):
            # of several files it prints the names, too
            return None if any(word.startswith("-") for word in rest) else _NATURAL
    return None


def _names_commit(words: tuple[str, ...]) -> bool:
    """Whether git prints one name of a commit or branch: neither blank nor leading dash (git-check-ref-format(1))."""
    match words:
        case ("rev-parse", *rest):
            return bool(rest) and all(word in _REVISIONS or _REVISION.match(word) for word in rest)
        case ("merge-base", first, second):
            return bool(_REVISION.match(first) and _REVISION.match(second))
        case ("branch", "--show-current"):
            return True
        case ("rev-list", "--count", revision):
            return bool(_REVISION.match(revision))
    return False

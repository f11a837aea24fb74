"""Programs that run several scripts of a package.json, or several commands, each given as one word."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.javascript.scripts import fitting_scripts, names_script, package_scripts
from shield.facts.programs.mention import bases_of
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.regex import regex
from shield.types import RunsCode

__all__ = ["RUNNERS"]

_GROUPED = frozenset(("-s", "-p", "--sequential", "--serial", "--parallel"))
_PLAIN = regex(
    r"-[clnrspk]+|--(?:aggregate-output|continue-on-error|max-parallel=\d+|npm-path=(?:npm|yarn|pnpm|bun)|parallel"
    r"|print-label|print-name|race|sequential|serial|silent)"
)
_MANAGED = regex(r"(npm|yarn|pnpm|bun|node)(?::| run | )([\w:.*@/-]+)(.*)", re.DOTALL)
_VALUED = frozenset(
    ("-n", "--names", "-p", "--prefix", "-c", "--prefix-colors", "-l", "--prefix-length", "-t", "--timestamp-format",
     "-m", "--max-processes", "--restart-tries", "--restart-after", "--default-input-target", "--name-separator",
     "--success", "-s", "--hide", "--teardown", "--kill-signal", "--ks", "-P-")
)  # fmt: skip


def _one_by_one(call: Invocation) -> bool:
    """run-s, run-p, npm-run-all: each word names scripts, with words of its own in the same one."""
    call.reading.run(RunsCode.WORKSPACE)
    texts = [word.text if word.fixed or (word.known and word.pattern is not None) else "$" for word in call.words]
    if "--" in texts:
        texts = texts[: texts.index("--")]
        call.reading.unread.append(f"what `{call.name[:80]}` gives to scripts is not known")
    for text in texts:
        if text.startswith("-"):
            if text not in _GROUPED and not _PLAIN.fullmatch(text):
                call.reading.unread.append(f"what `{text[:80]}` is to `{call.name[:80]}` is not known")
            continue
        name, _, rest = text.partition(" ")
        names = fitting_scripts(name, call.context.place, bases_of(call))
        words = [Value(text=word, known="{" not in word and "$" not in word) for word in rest.split() if word != "--"]
        if not names:
            call.reading.unread.append(f"what `{name[:80]}` names is not known")
        for each in names:
            package_scripts(call.reading, "npm", each, call.context.place, bases_of(call), words)
    return True


def _at_once(call: Invocation) -> bool:
    """concurrently: each word is a command for a shell; `npm:NAME` names scripts."""
    call.reading.run(RunsCode.WORKSPACE)
    words = list(call.words)
    while words:
        word = words.pop(0)
        if not word.fixed:
            call.reading.code = True
        elif word.text.startswith("-"):
            if word.text == "--teardown" or word.text.startswith("--teardown="):
                call.reading.code = True
            if word.text in _VALUED and words:
                words.pop(0)
        else:
            _command(call, word)
    return True


def _command(call: Invocation, word: Value) -> None:
    managed = _MANAGED.fullmatch(word.text) if ":" in word.text.partition(" ")[0] else None
    names = fitting_scripts(managed[2], call.context.place, bases_of(call)) if managed is not None else []
    if managed is not None:
        given = [Value(text=text, known=not set(text) & set("{$`")) for text in managed[3].split()]
        for name in names:
            package_scripts(call.reading, managed[1], name, call.context.place, bases_of(call), given)
        if not names and not names_script(managed[2], call.context.place, bases_of(call)):
            call.reading.unread.append(f"what `{managed[2][:80]}` names is not known")
        return
    call.reading.nested.append(Nested(kind=NestedKind.SHELL, words=(word,), via=(call.name,)))


RUNNERS: Mapping[str, Special] = MappingProxyType({"one_by_one": _one_by_one, "at_once": _at_once})

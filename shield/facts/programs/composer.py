"""Scripts of a composer.json (Composer, "Scripts")."""

import json
import posixpath
import shlex
from collections.abc import Iterator, Sequence

from shield.facts.programs.exposed import ends
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.mention import bases_of
from shield.facts.programs.reading import Value
from shield.facts.programs.task_files import UNKNOWN, Step, found_above

__all__ = ["composer_commands", "composer_steps"]

_MAX_SCRIPTS = 200
_NO_MORE, _MORE = "@no_additional_args", "@additional_args"
_ALWAYS = ("init", "command", "pre-command-run")
# What an installation, an update and what goes with them tell scripts of.
_INSTALLING = frozenset(
    ("dump-autoload", "dumpautoload", "i", "install", "r", "reinstall", "remove", "require", "rm", "u", "uninstall",
     "update", "upgrade", "create-project")
)  # fmt: skip
_INSTALLS = (
    "pre-install-cmd", "pre-update-cmd", "pre-dependencies-solving", "post-dependencies-solving", "pre-operations-exec",
    "pre-package-install", "post-package-install", "pre-package-update", "post-package-update", "pre-package-uninstall",
    "post-package-uninstall", "pre-file-download", "post-file-download", "pre-pool-create", "pre-autoload-dump",
    "post-autoload-dump", "post-install-cmd", "post-update-cmd", "post-root-package-install", "post-create-project-cmd",
)  # fmt: skip


def composer_commands(call: Invocation, name: str) -> list[str]:
    """The commands of the script of this name itself, which get what stands behind it; none where there is none."""
    lines = [line for _, scripts, _ in _files(call) for line in scripts.get(name, ())]
    return [line for line in lines if not line.startswith("@") or line.startswith(("@php ", "@composer "))]


def composer_steps(call: Invocation, operands: Sequence[Value]) -> Iterator[tuple[str, list[Step], bool]]:
    """The composer.json of each directory that it may stand in, what of it is run, and whether more may be."""
    verb = call.name.partition(" ")[2]
    texts = [word.text if word.fixed else UNKNOWN for word in call.words]
    for path, scripts, unread in _files(call):
        names = [verb, *(word.text for word in operands if word.fixed)]
        told = [*_ALWAYS, *(each for name in names for each in (f"pre-{name}-cmd", f"post-{name}-cmd"))]
        told += _INSTALLS if verb in _INSTALLING else ()
        run = _Run(scripts)
        for name in told:
            run.script(name, ())
        for name in names:
            words = texts[texts.index(name) + 1 :] if name in texts else texts
            run.script(name, [word for word in words if word != "--"])
        text = "\n".join(run.lines)
        yield path, [Step(text=text, folder=posixpath.dirname(path))], unread or run.unread


class _Run:
    def __init__(self, scripts: dict[str, list[str]]) -> None:
        self._scripts = scripts
        self._seen: set[tuple[str, tuple[str, ...]]] = set()
        self.lines: list[str] = []
        self.unread = False

    def script(self, name: str, words: Sequence[str]) -> None:
        """Every command of the script is given the words, unless it says otherwise."""
        key = (name, tuple(words))
        if key in self._seen or name not in self._scripts:
            return
        if len(self._seen) >= _MAX_SCRIPTS:
            self.unread = True
            return
        self._seen.add(key)
        more = " ".join(shlex.quote(word) if UNKNOWN not in word else f'"{word}"' for word in words)
        for line in self._scripts[name]:
            whole = line.replace(_NO_MORE, "") if _NO_MORE in line else f"{line} {more}".rstrip()
            if _MORE in line:
                whole = line.replace(_MORE, more)
            self._line(whole)

    def _line(self, line: str) -> None:
        first, _, rest = line.partition(" ")
        if first == "@putenv":
            name, _, value = rest.strip().partition("=")
            self.lines.append(f"export {name}={shlex.quote(value)}" if name.isidentifier() else "")
        elif first in ("@php", "@composer"):
            self.lines.append(f"( {first[1:]} {rest}\n)")
            self.unread |= not ends(rest)
            words = _words(rest)
            words = words[1:] if words[:1] in (["run"], ["run-script"], ["exec"]) else words
            if first == "@composer" and words:
                self.script(words[0], words[1:])
        elif first.startswith("@"):
            self.script(first[1:], _words(rest))
            self.unread |= first[1:] not in self._scripts
        elif rest or "::" not in first:
            self.lines.append(f"( {line}\n)")
            self.unread |= not ends(line)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return [UNKNOWN]


def _files(call: Invocation) -> Iterator[tuple[str, dict[str, list[str]], bool]]:
    told = {**call.context.place.env, **call.context.told}
    name = told.get("COMPOSER") or "composer.json"
    for base in bases_of(call):
        text, path = found_above(base, (name,), call.context.place, upward="/" not in name)
        if path is not None:
            scripts = _scripts(text) if text is not None else None
            yield path, scripts or {}, scripts is None


def _scripts(text: str) -> dict[str, list[str]] | None:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    found = said.get("scripts") if isinstance(said, dict) else None
    scripts = {
        str(name): [line for line in (value if isinstance(value, list) else [value]) if isinstance(line, str)]
        for name, value in (found.items() if isinstance(found, dict) else ())
    }
    others = said.get("scripts-aliases") if isinstance(said, dict) else None
    for name, value in others.items() if isinstance(others, dict) else ():
        for other in value if isinstance(value, list) else ():
            scripts.setdefault(str(other), [f"@{name}"])
    return scripts

"""Tasks that are declared for tox, pre-commit and cargo: what the words of a command have them run.

They are read as scripts are. Sources: tox "Configuration", pre-commit "Creating new hooks" (`repo: local`), The Cargo
Book "Configuration" (`alias`).
"""

import configparser
import posixpath
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from shield.facts.programs.invocation import Invocation
from shield.facts.programs.mention import bases_of
from shield.facts.programs.plain_yaml import plain_yaml
from shield.facts.programs.reading import Value
from shield.facts.programs.task_files import UNKNOWN, Step, found_above, show_steps
from shield.regex import regex
from shield.types import Access

__all__ = ["cargo_alias", "pre_commit_hooks", "tox_environments"]

_MAX_LINES = 200
_MAX_DEEP = 3
_FILES = ("tox.ini", "setup.cfg", "pyproject.toml", "tox.toml")
_KEYS = ("commands_pre", "commands", "commands_post")
_FACTOR = regex(r"!?[\w.]+(?:[-,!{}\w.]*):\s+")
_POSITIONAL = regex(r"\{posargs(?::((?:[^{}]|\{[^{}]*\})*))?\}")
_OTHER = regex(r"\{\[([\w:.-]+)\](\w+)\}")
_HERE = regex(r"\{(?:toxinidir|tox_root)\}")
_FIELD = regex(r"\{[^{}\s]*\}")


def tox_environments(call: Invocation, _: Sequence[Value]) -> None:
    """tox: the commands of the environments that it is told, else of all."""
    chosen, told = _chosen(call)
    for base in bases_of(call):
        for name in _FILES:
            text, path = found_above(base, [name], call.context.place)
            said = _sections(name, text) if text is not None else {}
            if path is None or not said:
                continue
            _bind(call, path)
            lines: list[str] = []
            for section in said:
                kind, _colon, environment = section.partition(":")
                if kind == "testenv" and (not environment or chosen is None or environment in chosen):
                    lines += islice(_commands(said, section, told), _MAX_LINES)
            folder = posixpath.dirname(path)
            kept = list(dict.fromkeys(lines))[:_MAX_LINES]
            show_steps(call, [Step(text="\n".join(f"( {line}\n)" for line in kept), folder=folder)], path)
            break


def _chosen(call: Invocation) -> tuple[frozenset[str] | None, str]:
    """The environments by name (None: any), and what stands for `{posargs}`."""
    names: list[str] = []
    texts = [word.text if word.fixed else UNKNOWN for word in call.words]
    behind = texts[texts.index("--") + 1 :] if "--" in texts else []
    own = texts[: texts.index("--")] if "--" in texts else texts
    for at, text in enumerate(own):
        name, equals, value = text.partition("=")
        if name in ("-e", "--env") and (equals or at + 1 < len(own)):
            names += (value if equals else own[at + 1]).split(",")
        elif text.startswith("-e") and len(text) > 2:
            names += text[2:].split(",")
    known = names and "ALL" not in names and UNKNOWN not in " ".join(names)
    return (frozenset(names) if known else None), shlex.join(behind) if UNKNOWN not in behind else UNKNOWN


def _sections(name: str, text: str) -> dict[str, Mapping[str, object]]:
    """The environments of a file, as the sections of a tox.ini would be called."""
    try:
        if name.endswith(".toml"):
            said: object = tomllib.loads(text)
            for key in ("tool", "tox") if name == "pyproject.toml" else ():
                said = said.get(key) if isinstance(said, dict) else None
            said = said if isinstance(said, dict) else {}
            inner = said.get("legacy_tox_ini")
            if isinstance(inner, str):
                return _sections("tox.ini", inner)
            found = {"testenv": said.get("env_run_base")}
            named = said.get("env")
            found |= {f"testenv:{key}": each for key, each in (named.items() if isinstance(named, dict) else ())}
            return {key: each for key, each in found.items() if isinstance(each, dict)}
        parser = configparser.RawConfigParser(strict=False)
        parser.read_string(text)
    except (tomllib.TOMLDecodeError, configparser.Error, RecursionError):
        return {}
    if name == "setup.cfg" and not parser.has_section("tox:tox"):
        return {}
    return {section: dict(parser.items(section)) for section in parser.sections()}


def _commands(said: Mapping[str, Mapping[str, object]], section: str, told: str) -> Iterator[str]:
    for key in _KEYS:
        found = said[section].get(key)
        if isinstance(found, str):
            for line in found.replace("\\\n", " ").split("\n"):
                bare = _FACTOR.sub("", line.strip(), count=1)
                yield from _filled(bare.lstrip("-! "), said, told, 0)
        for words in found if isinstance(found, list) else ():
            if isinstance(words, list):
                texts = [each if isinstance(each, str) else UNKNOWN for each in words]
                yield from _filled(shlex.join(texts).lstrip("-! "), said, told, 0)


def _filled(line: str, said: Mapping[str, Mapping[str, object]], told: str, deep: int) -> Iterator[str]:
    """The line, and what stands for its fields; of another section all lines."""
    other = _OTHER.fullmatch(line)
    if other is not None and deep < _MAX_DEEP:
        for each in str(said.get(other[1], {}).get(other[2], UNKNOWN)).replace("\\\n", " ").split("\n"):
            yield from _filled(_FACTOR.sub("", each.strip(), count=1).lstrip("-! "), said, told, deep + 1)
        return
    line = _POSITIONAL.sub(lambda found: told or found[1] or "", line)
    line = _OTHER.sub(lambda found: str(said.get(found[1], {}).get(found[2], UNKNOWN)), line)
    line = _FIELD.sub(UNKNOWN, _HERE.sub(".", line))
    if line.strip():
        yield line


def pre_commit_hooks(call: Invocation, operands: Sequence[Value]) -> None:
    """pre-commit run: the project's own hooks, or the one that it is told."""
    if call.name.rpartition(" ")[2] != "run":
        return
    named = next((word.text for word in operands if word.fixed and not word.text.startswith("-")), None)
    for base in bases_of(call):
        text, path = found_above(base, [".pre-commit-config.yaml"], call.context.place)
        said = plain_yaml(text) if text is not None else None
        if path is None or said is None:
            continue
        _bind(call, path)
        hooks = [
            hook
            for each in _dicts(said.get("repos"))
            if each.get("repo") == "local"
            for hook in _dicts(each.get("hooks"))
        ]
        hooks = [hook for hook in hooks if named in (hook.get("id"), hook.get("alias"))] or hooks
        lines = [str(hook.get("entry", "")) for hook in hooks if hook.get("language") in _PLAIN_HOOKS]
        steps = [Step(text=line, folder=posixpath.dirname(path)) for line in lines[:_MAX_LINES]]
        show_steps(call, steps, path)


_PLAIN_HOOKS = frozenset(("script", "system", "unsupported", "unsupported_script"))


def _dicts(said: object) -> list[dict[str, object]]:
    return [each for each in said if isinstance(each, dict)] if isinstance(said, list) else []


def cargo_alias(call: Invocation) -> bool:
    """cargo NAME: what an alias of the project says in its place."""
    first = call.words[0] if call.words else None
    if first is None or not first.fixed or first.text in (call.model.subcommands or {}):
        return False
    for base in bases_of(call):
        text, path = found_above(base, [".cargo/config.toml", ".cargo/config"], call.context.place)
        if text is None or path is None:
            continue
        try:
            said = tomllib.loads(text).get("alias")
        except (tomllib.TOMLDecodeError, RecursionError):
            continue
        found = said.get(first.text) if isinstance(said, dict) else None
        words = found.split() if isinstance(found, str) else found if isinstance(found, list) else []
        if words and all(isinstance(word, str) for word in words) and words[0] != first.text:
            _bind(call, path)
            call.command(
                [Value(text="cargo", head="cargo"), *(Value(text=word, head=word) for word in words), *call.words[1:]]
            )
    return False


def _bind(call: Invocation, path: str) -> None:
    call.reading.path(Value(text=path, head=path, source=posixpath.basename(path)), Access.EXECUTE)

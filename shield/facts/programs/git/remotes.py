"""git and other machines: fetch, pull, push, clone, and the remotes that a repository's settings name."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.programs.git.addresses import shows_addresses
from shield.facts.programs.git.founding import founds, init
from shield.facts.programs.git.history import pulls
from shield.facts.programs.git.passive import settings
from shield.facts.programs.git.repository import git_dirs
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.reading import Value
from shield.regex import regex
from shield.types import Access, Operation, RunsCode

__all__ = ["GIT_REMOTES"]

# `[remote "x"]`, and as it was written before: `[remote.x]`.
_REMOTE = regex(r'^[^\S\n]*\[\s*remote(?:\s+"([^"\\\n]+)"|\.([^"\]\s]+))\s*\]', re.IGNORECASE | re.MULTILINE)
_URL = regex(r"^[^\S\n]*(?:push)?url[^\S\n]*=(.*)$", re.IGNORECASE | re.MULTILINE)
_CHOSEN = regex(
    r"^[^\S\n]*(?:\[[^\]\n]*\]\s*)?(?:remote|pushremote|pushdefault)\s*=\s*([^\s#;]+).*$", re.IGNORECASE | re.MULTILINE
)
_TRANSFER_FLAGS_TEXT = """
-q -v -n -f -u -a -p -t -4 -6 --quiet --verbose --dry-run --force --force-with-lease --force-if-includes
--set-upstream --all --mirror --tags --no-tags --prune --delete --follow-tags --atomic --progress --porcelain
--no-verify --rebase --no-rebase --ff-only --ff --no-ff --no-edit --no-commit --squash --autostash --unshallow
--update-shallow --depth --shallow-since --heads --refs --symref --get-url --exit-code --branches --multiple --keep
--no-recurse-submodules --ipv4 --ipv6 --prune-tags --update-head-ok --jobs -j -k -d -P --sort --no-progress --stat
--no-stat
"""
_TRANSFER_FLAGS = frozenset(_TRANSFER_FLAGS_TEXT.split())


def _remote(call: Invocation) -> bool:
    words = [word.text for word in call.operands]
    call.reading.operations.add(Operation.READ)
    if words[:1] in (["get-url"], ["show"]) or (not words and call.arguments.has("-v", "--verbose")):
        shows_addresses(call)
    if not words or words[0] == "get-url":
        return True
    if words[0] in ("show", "update", "prune"):
        call.reading.operations.add(Operation.NETWORK)
        call.reading.unknown.append("which hosts `git remote` talks to is not known")
        return True
    call.reading.path(Value(text=".git/config", head=".git/config"), Access.WRITE)
    for word in call.operands[2:]:
        _url(call, word)
    return True


def _transfer(call: Invocation) -> bool:
    """fetch, pull, push, ls-remote: what is named is a URL, or a remote of the repository's settings."""
    reading = call.reading
    reading.operations |= {Operation.NETWORK, Operation.READ}
    verb = call.name.rpartition(" ")[2]
    if any(word.text.startswith("--get") for word in call.words):
        shows_addresses(call)
    if verb in ("fetch", "pull"):
        reading.operations.add(Operation.WRITE)
        reading.reshapes = True
    names: list[Value] = []
    for word in call.words:
        if not word.fixed:
            reading.loose |= word.many or not word.head
            names.append(word)
        elif not word.text.startswith("-"):
            names.append(word)
        else:
            reading.flags.append(word.text.partition("=")[0])
            if word.text.partition("=")[0] not in _TRANSFER_FLAGS:
                # `--upload-pack`, `--receive-pack`, `--exec`, `-o` and whatever else is not known.
                reading.run(RunsCode.INLINE)
                reading.code = True
    if verb == "pull":
        pulls(call, names)
    several = "--multiple" in reading.flags
    for remote in (names if several else names[:1]) or _unnamed(call, every="--all" in reading.flags):
        _url(call, remote)
    return True


def _unnamed(call: Invocation, *, every: bool) -> list[Value]:
    """The remotes that may be meant where none is named: those of the branches, and the one to push to."""
    text = _settings(call)
    names = [match[1] or match[2] for match in _REMOTE.finditer(text)] if every else []
    names += [name.strip('"') for name in _CHOSEN.findall(text)] or ["origin"]
    return [Value(text=name, head=name) for name in dict.fromkeys(names) if name != "."]


def _url(call: Invocation, word: Value) -> None:
    reading = call.reading
    text = word.text
    reading.operations.add(Operation.NETWORK)
    if not word.fixed:
        reading.unknown.append(f"what `{text[:80]}` names is not known")
    elif "::" in text:
        # `ext::sh -c …` and other remote helpers run a program (gitremote-helpers(7)).
        reading.run(RunsCode.INLINE)
        reading.code = True
    elif "://" in text or re.match(r"[\w.-]+@?[\w.-]*:", text):
        _address(call, text)
    elif text.startswith(("/", ".", "~")):
        reading.path(word, Access.READ, Access.WRITE, recursive=True)
        reading.run(RunsCode.WORKSPACE)
    else:
        found = _remote_urls(call, text)
        if not found:
            reading.unknown.append(f"where the remote `{text[:80]}` is, is not known")
        for url in found:
            if "::" in url:
                reading.run(RunsCode.INLINE)
                reading.code = True
            elif "://" in url or ":" in url:
                _address(call, url)
            else:
                reading.path(Value(text=url, head=url), Access.READ, Access.WRITE, recursive=True)


def _address(call: Invocation, text: str) -> None:
    if text.startswith("file:"):
        path = text.removeprefix("file://")
        call.reading.path(Value(text=path, head=path), Access.READ, Access.WRITE, recursive=True)
    elif "://" in text:
        call.reading.hosts.append(Value(text=text, head=text))
    else:
        call.reading.hosts.append(Value(text="ssh://" + text.partition(":")[0], head="ssh://"))


def _remote_urls(call: Invocation, name: str) -> list[str]:
    """Where the remote is by the settings; nothing where that is not certain."""
    text = _settings(call)
    matches = [match for match in _REMOTE.finditer(text) if name in (match[1], match[2])]
    sections = [text[match.end() :].split("\n[", 1)[0] for match in matches]
    # A comment ends a value; one in quotes is put together in ways of its own (git-config(1), Syntax).
    urls = [re.split(r"[#;]", value)[0].strip() for section in sections for value in _URL.findall(section)]
    return urls if all(url and not set(url) & set('"\\ \t') for url in urls) else []


def _settings(call: Invocation) -> str:
    """The settings of the repository that the shell stands in; empty where they are not known."""
    base = call.context.base
    if base is None or call.reading.moved is not None:
        return ""
    try:
        found = git_dirs(call.context.place, base)
        return (settings(call.context.place, found[0]) if found else None) or ""
    except FileSystemUnknownError:
        return ""


def _clone(call: Invocation) -> bool:
    reading, operands = call.reading, call.operands
    reading.operations |= {Operation.NETWORK, Operation.WRITE, Operation.READ}
    reading.reshapes = True
    if operands:
        _url(call, operands[0])
    name = operands[0].text.rstrip("/").removesuffix(".git").rpartition("/")[2].rpartition(":")[2] if operands else "."
    target = operands[1] if len(operands) > 1 else Value(text=name or ".", head=name or ".")
    reading.path(target, Access.WRITE, recursive=True)
    founds(call, target if len(operands) > 1 else Value(text=".git", head=".git"))
    if call.recursive:
        reading.unknown.append("which hosts its submodules name is not known")
    return True


GIT_REMOTES: Mapping[str, Special] = MappingProxyType(
    {"remote": _remote, "transfer": _transfer, "clone": _clone, "init": init}
)

"""git: options before the subcommand, the repository's own configuration, remotes (git(1), gitattributes(5))."""

import posixpath
import re
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.paths import path_fact
from shield.facts.programs.forwarding import command_among, glimpse
from shield.facts.programs.git_repository import git_dirs, judge_repository, settings
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Value
from shield.types import Access, Operation, RunsCode

__all__ = ["GIT"]

_REMOTE = re.compile(r'^\s*\[\s*remote\s+"([^"\\\n]+)"\s*\]', re.IGNORECASE | re.MULTILINE)
_URL = re.compile(r"^\s*(?:push)?url\s*=\s*(\S+)\s*$", re.IGNORECASE | re.MULTILINE)


def _git(call: Invocation) -> bool:
    """The options before the subcommand."""
    reading, arguments = call.reading, call.arguments
    if arguments.has("-c", "--config-env", "--exec-path") and any(
        not _harmless_setting(option.name, value) for option, value in arguments.given
    ):
        reading.code = True
        reading.run(RunsCode.INLINE)
        said = (value.text.partition("=")[2] for value in arguments.values("-c"))
        reading.nested += glimpse(call.name, (text.lstrip("!") for text in said))
    if arguments.has("--bare"):
        reading.run(RunsCode.WORKSPACE)  # this directory is the repository, whatever else is around it
    if arguments.has("-p", "--paginate"):
        reading.caution()
    for value in arguments.values("-C"):
        reading.path(value, Access.READ)
        reading.moved = value if reading.moved is None else None
        reading.code |= reading.moved is None
    for value in arguments.values("--git-dir", "--work-tree"):
        reading.path(value, Access.READ)
        reading.run(RunsCode.WORKSPACE)
    if not call.operands:
        return True
    sub = call.operands[0]
    if arguments.has("--help", "-h") or (sub.fixed and sub.text == "help"):
        # A manual page: the program that shows it, and its pager, are settings (git-help(1)).
        reading.run(RunsCode.INLINE)
        return True
    if sub.fixed and sub.text not in ("version", "init", "clone"):
        judge_repository(call, sub.text)
    return sub.fixed and sub.text == "version"


_HARMLESS_SETTINGS = re.compile(
    r"(?:color\.\w+|core\.(?:quotepath|abbrev|autocrlf|filemode|precomposeunicode)|advice\.\w+|user\.(?:name|email)|"
    r"diff\.(?:renames|algorithm|noprefix|mnemonicprefix|context)|log\.\w+|commit\.gpgsign=false|tag\.gpgsign=false|"
    r"core\.fsmonitor=false|core\.pager=cat|safe\.directory|init\.defaultbranch|pull\.(?:rebase|ff))(?:=[\w ./@-]*)?\Z",
    re.IGNORECASE,
)


def _harmless_setting(option: str, value: Value | None) -> bool:
    if option == "-c":
        return value is not None and value.fixed and bool(_HARMLESS_SETTINGS.match(value.text))
    # `--exec-path` alone prints; with a value git runs its parts from there.
    return option not in ("--config-env", "--exec-path") or (option == "--exec-path" and value is None)


def _rev(call: Invocation) -> bool:
    """Operands are revisions or paths; git reads files outside its repository, too (`diff --no-index`)."""
    if any(value.text not in ("short", "log") for value in call.arguments.values("--submodule")) or (
        call.arguments.has("--submodule") and not call.arguments.values("--submodule")
    ):
        call.reading.run(RunsCode.WORKSPACE)  # git starts itself in the submodules that old commits name
    words = list(call.operands)
    if call.name.endswith(" grep") and words and not call.arguments.has("-e", "-f"):
        words = words if words[0].many else words[1:]
    for word in words:
        _content(call, word)
    for value in call.arguments.values("-L"):
        # `-L START,END:FILE`, `-L :NAME:FILE`
        tail = value.text.rpartition(":")[2]
        _content(call, Value(text=tail, head=tail) if value.fixed else value)
    if call.name.endswith(" grep") and call.arguments.has("--no-index", "--untracked"):
        for word in words or [Value(text=".", head=".")]:
            call.reading.path(word, Access.READ, recursive=True)
    return True


def _content(call: Invocation, word: Value) -> None:
    """`REVISION:PATH`, a path, or a revision, which no file is unless one of that name is there."""
    text = word.text if word.fixed else word.head
    if word.fixed and ":" in text and not text.startswith(":"):
        tail = text.partition(":")[2]
        if tail and not tail.startswith("/"):
            call.reading.path(Value(text=tail, head=tail), Access.READ)
    elif (
        not word.fixed
        or text.startswith(("/", "~", "./", "../", ":", "."))
        or ".." in text.split("/")
        or call.arguments.has("--no-index")
        or _names_file(call, text)
    ):
        call.reading.path(word, Access.READ)


def _names_file(call: Invocation, text: str) -> bool:
    """Whether there is such a file, or was one that has a meaning: its old content is in the history."""
    context = call.context
    fact = path_fact(text, Access.READ, context.place, base=context.base, expand_tilde=False)
    return fact.exists or bool(fact.categories & {"credential", "secret_store"})


def _rev_write(call: Invocation) -> bool:
    first = call.operands[0].text if call.operands else "show"
    if first in ("show", "exists") or first.startswith("HEAD"):
        call.reading.operations.discard(Operation.WRITE)
    else:
        call.reading.caution()
    return True


def _branch(call: Invocation) -> bool:
    """branch and tag list where nothing is named, or where a listing option says that names are patterns."""
    arguments = call.arguments
    changes = arguments.has(
        "-d",
        "-D",
        "-m",
        "-M",
        "-c",
        "-C",
        "-f",
        "--delete",
        "--move",
        "--copy",
        "--force",
        "-u",
        "--set-upstream-to",
        "--unset-upstream",
        "--edit-description",
        "-s",
        "--sign",
        "--message",
        "-F",
        "--file",
        "--annotate",
        "-v",
        "--verify",
    ) and not (call.name.endswith("branch") and arguments.has("-v") and not call.operands)
    lists = arguments.has("-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at")
    call.reading.operations.add(Operation.READ)
    if changes or (call.operands and not lists):
        call.reading.operations.add(Operation.WRITE)
        if arguments.has("-d", "-D", "--delete", "-f", "--force", "-M", "-C"):
            # What a name stood for before may be reached by nothing else.
            call.reading.operations.add(Operation.DELETE)
        if arguments.has("--edit-description", "-s", "--sign", "-u", "--verify"):
            call.reading.caution()
    return True


def _remote(call: Invocation) -> bool:
    words = [word.text for word in call.operands]
    call.reading.operations.add(Operation.READ)
    if not words or words[0] == "get-url":
        return True
    if words[0] in ("show", "update", "prune"):
        call.reading.operations.add(Operation.NETWORK)
        call.reading.unknown.append("which hosts `git remote` talks to is not known")
        return True
    call.reading.operations.add(Operation.WRITE)
    for word in call.operands[2:]:
        _url(call, word)
    return True


def _config(call: Invocation) -> bool:
    """Reading is one of the forms that cannot set anything."""
    arguments = call.arguments
    words = [word for word in call.operands if word.fixed]
    reads = arguments.has("--get", "--get-all", "--get-regexp", "--list", "-l", "--get-urlmatch")
    verb = words[0].text if words else ""
    home = Value(text=posixpath.join(call.context.place.home, ".gitconfig"), head="/")
    if reads or verb in ("get", "list") or (len(call.operands) == 1 and "." in verb):
        call.reading.operations.add(Operation.READ)
        if not (
            arguments.has(
                "--add",
                "--unset",
                "--unset-all",
                "--replace-all",
                "--rename-section",
                "--remove-section",
                "-e",
                "--edit",
            )
        ):
            whole = verb == "list" or arguments.has("--list", "-l", "--get-regexp")
            if (whole and not arguments.has("--local", "--worktree")) or arguments.has("--global"):
                call.reading.path(home, Access.READ)
            return True
    call.reading.path(Value(text=".git/config", head=".git/config"), Access.WRITE)
    if arguments.has("--global", "--system"):
        call.reading.path(home, Access.WRITE)
    call.reading.caution()
    return True


def _stash(call: Invocation) -> bool:
    first = call.operands[0].text if call.operands else (call.words[0].text if call.words else "push")
    call.reading.operations |= {Operation.READ}
    if first == "list" and len(call.words) == 1:
        return True
    if first == "show" and all(word.fixed and not word.text.startswith("--ext") for word in call.words):
        return True
    call.reading.operations |= {Operation.WRITE, Operation.DELETE}
    call.reading.reshapes = True
    for word in call.words[1:]:
        if word.text.startswith(("/", "~", "..")):
            call.reading.use(Use.EDIT, word)
    return True


def _anything(call: Invocation) -> bool:
    call.reading.run(RunsCode.WORKSPACE)
    call.reading.nested += command_among(call.name, call.words, lines=True)
    for word in call.words:
        if word.text.startswith(("/", "~", "./", "../")):
            call.reading.use(Use.ANY, word)
    return True


def _writes(call: Invocation) -> bool:
    call.reading.reshapes |= not call.name.endswith((" add", " commit", " stage"))
    if call.name.endswith(" rm"):
        for word in call.operands:
            call.reading.path(word, Access.DELETE, recursive=call.arguments.has("-r"))
    signs = call.arguments.has("-S") and not call.name.endswith(" restore")  # there it is `--staged`
    if signs or call.arguments.has("-i", "-e", "--edit", "--interactive", "--gpg-sign"):
        call.reading.run(RunsCode.INLINE)
    if call.name.endswith(" commit") and not call.arguments.has(
        "-m", "--message", "-F", "--file", "--no-edit", "-C", "--dry-run"
    ):
        call.reading.run(RunsCode.INLINE)  # an editor
    return False


_TRANSFER_FLAGS_TEXT = """
-q -v -n -f -u -a -p -t -4 -6 --quiet --verbose --dry-run --force --force-with-lease --force-if-includes
--set-upstream --all --mirror --tags --no-tags --prune --delete --follow-tags --atomic --progress --porcelain
--no-verify --rebase --no-rebase --ff-only --ff --no-ff --no-edit --no-commit --squash --autostash --unshallow
--update-shallow --depth --shallow-since --heads --refs --symref --get-url --exit-code --branches --multiple --keep
--no-recurse-submodules --ipv4 --ipv6 --prune-tags --update-head-ok --jobs -j -k -d -P --sort --no-progress --stat
--no-stat
"""
_TRANSFER_FLAGS = frozenset(_TRANSFER_FLAGS_TEXT.split())


def _transfer(call: Invocation) -> bool:
    """fetch, pull, push, ls-remote: what is named is a URL, or a remote of the repository's settings."""
    reading = call.reading
    reading.operations |= {Operation.NETWORK, Operation.READ}
    verb = call.name.rpartition(" ")[2]
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
    remote = names[0] if names else Value(text="origin", head="origin")
    _url(call, remote)
    return True


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
    base = call.context.base
    if base is None or call.reading.moved is not None:
        return []
    try:
        folders = git_dirs(call.context.place, base)
        found = settings(call.context.place, folders[0]) if folders else None
    except FileSystemUnknownError:
        return []
    for match in _REMOTE.finditer(found or ""):
        if match[1] == name and found is not None:
            section = found[match.end() :].split("\n[", 1)[0]
            return _URL.findall(section)
    return []


def _clone(call: Invocation) -> bool:
    reading, operands = call.reading, call.operands
    reading.operations |= {Operation.NETWORK, Operation.WRITE, Operation.READ}
    reading.reshapes = True
    if operands:
        _url(call, operands[0])
    name = operands[0].text.rstrip("/").removesuffix(".git").rpartition("/")[2].rpartition(":")[2] if operands else "."
    target = operands[1] if len(operands) > 1 else Value(text=name or ".", head=name or ".")
    reading.path(target, Access.WRITE, recursive=True)
    if call.recursive:
        reading.unknown.append("which hosts its submodules name is not known")
    return True


GIT: Mapping[str, Special] = MappingProxyType(
    {
        "git": _git,
        "rev": _rev,
        "rev_write": _rev_write,
        "branch": _branch,
        "remote": _remote,
        "config": _config,
        "stash": _stash,
        "anything": _anything,
        "writes": _writes,
        "transfer": _transfer,
        "clone": _clone,
    }
)

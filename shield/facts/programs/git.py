"""git: options before the subcommand, the repository's own configuration, remotes (git(1), gitattributes(5))."""

import posixpath
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.paths import path_fact, resolve_path
from shield.facts.place import Place
from shield.facts.programs.git_index import holds_gitlinks
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import PathUse, Value
from shield.types import Access, Operation, RunsCode

__all__ = ["GIT", "after_changes", "stages"]

_MAX_CONFIG = 65_536
_MAX_INDEX = 16_777_216
_MAX_LEVELS = 64
# Settings of a repository that make git run something or read further settings (git-config(1)).
_ACTIVE_SETTING = re.compile(
    r"fsmonitor|external|textconv|sshcommand|pager|editor|hookspath|gitproxy|askpass|program|\[\s*(?:alias|filter|include|diff|"
    r"merge|credential|difftool|mergetool|browser|protocol|interactive|sequence|man|gpg|url|uploadpack|trailer|core\.\w*proxy)|"
    r"worktreeconfig|worktree\s*=|command|driver|cmd\s*=|helper|attributesfile|uploadpack|receivepack|vcs\s*=|update\s*=\s*!|"
    r"ext::|\\\n|promisor|partialclone|recurse|\[\s*submodule",
    re.IGNORECASE,
)
# What `HEAD` holds in a directory that git takes for a repository (`validate_headref` in git's setup).
_HEAD = re.compile(rb"ref:[ \t\n\v\f\r]*refs/|[0-9a-f]{40}")
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
        _repository(call, sub.text)
    return sub.fixed and sub.text == "version"


_HARMLESS_SETTINGS = re.compile(
    r"(?:color\.\w+|core\.(?:quotepath|abbrev|autocrlf|filemode|precomposeunicode)|advice\.\w+|user\.(?:name|email)|"
    r"diff\.(?:renames|algorithm|noprefix|mnemonicprefix|context)|log\.\w+|commit\.gpgsign=false|tag\.gpgsign=false|"
    r"core\.fsmonitor=false|core\.pager=cat|safe\.directory|init\.defaultbranch|pull\.(?:rebase|ff))(?:=[\w ./@-]*)?\Z",
    re.IGNORECASE,
)
_READERS_TEXT = """
status diff log show shortlog rev-parse rev-list ls-files ls-tree cat-file blame describe merge-base branch tag
remote config grep show-ref for-each-ref name-rev var count-objects check-ignore diff-tree diff-index diff-files
reflog cherry whatchanged annotate
"""
_READERS = frozenset(_READERS_TEXT.split())


def _harmless_setting(option: str, value: Value | None) -> bool:
    if option == "-c":
        return value is not None and value.fixed and bool(_HARMLESS_SETTINGS.match(value.text))
    # `--exec-path` alone prints; with a value git runs its parts from there.
    return option not in ("--config-env", "--exec-path") or (option == "--exec-path" and value is None)


# Hooks that none of `_READERS` runs (githooks(5)); `post-index-change` and `reference-transaction` they do run.
_WRITERS_HOOKS_TEXT = """
applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit
pre-rebase post-checkout post-merge pre-push pre-receive update post-receive post-update push-to-checkout pre-auto-gc
post-rewrite sendemail-validate fsmonitor-watchman
"""
_WRITERS_HOOKS = frozenset(_WRITERS_HOOKS_TEXT.split())
# These do not look into the repositories that an index names: tried with git 2.39, in which `status`, `diff`, `add`,
# `commit`, `stash` and others start there what the configuration found there says.
_STAYING_TEXT = """
log show shortlog rev-parse rev-list ls-files ls-tree cat-file blame annotate merge-base branch tag remote config
show-ref for-each-ref name-rev var count-objects check-ignore reflog cherry whatchanged init
"""
_STAYING = frozenset(_STAYING_TEXT.split())


def _repository(call: Invocation, verb: str) -> None:
    """Judge the repository's own settings, hooks and submodules: a project directory may have brought them along."""
    reading, context = call.reading, call.context
    base = context.base
    if reading.moved is not None and base is not None:
        base = (
            resolve_path(reading.moved.text, context.place, base=base, expand_tilde=False).path
            if reading.moved.fixed
            else None
        )
    if base is None:
        reading.run(RunsCode.WORKSPACE)
        return
    try:
        folders = _git_dirs(context.place, base)
        _top(call, base, folders or ())
        plain = folders is not None and all(_plain(call, folder, verb) for folder in folders)
    except FileSystemUnknownError:
        plain = False
    if not plain:
        reading.run(RunsCode.WORKSPACE)


def _plain(call: Invocation, folder: str, verb: str) -> bool:
    """Whether nothing in this repository makes git run a program."""
    if not folder.endswith("/.git"):
        return False  # a bare repository: nothing guards its configuration, and any directory can be made one
    place = call.context.place
    text = _settings(place, folder)
    if text is None or _ACTIVE_SETTING.search(text) or _hooks(place, folder, reads=verb in _READERS):
        return False
    return not _looks_inside(call, verb) or not _submodules(place, folder)


def _looks_inside(call: Invocation, verb: str) -> bool:
    """Whether the command may look into submodules, whose settings nothing here judges."""
    words = call.operands[1:]
    if not all(word.fixed for word in words):
        return True
    texts = [word.text for word in words]
    if any(text.startswith(("--rec", "--sub")) for text in texts):
        return True
    if verb in ("status", "diff") and texts and texts[0] == "--ignore-submodules=all":
        # Anywhere but first it could be a path or another option's value; the last one given holds.
        return any(text.startswith("--ignore-") for text in texts[1:])
    return verb not in _STAYING


def _submodules(place: Place, folder: str) -> bool:
    """Whether the repository may name others inside its work tree, by its index or by what `git submodule` left."""
    lstat = place.files.lstat
    if lstat(posixpath.join(folder, "modules")) is not None:
        return True
    if lstat(posixpath.join(posixpath.dirname(folder), ".gitmodules")) is not None:
        return True
    index = posixpath.join(folder, "index")
    entry = lstat(index)
    if entry is None:
        return False
    content = place.files.read(index, _MAX_INDEX)
    return content is None or holds_gitlinks(content)


def _top(call: Invocation, base: str, folders: tuple[str, ...]) -> None:
    """git shows and changes the whole repository, wherever beneath its top it is started."""
    for folder in folders:
        top = posixpath.dirname(folder) if folder.endswith("/.git") else folder
        if top != base:
            call.reading.paths.append(PathUse(value=Value(text=top, head=top), access=Access.READ))


def _git_dirs(place: Place, base: str) -> tuple[str, ...] | None:
    """The directories that may be the repository's, the nearest first; none where there is no repository.

    git passes over a `.git` that is no repository: all up to the first that surely is one. None where that cannot be
    known or a `.git` is a link or a pointer file.
    """
    at, found = base, []
    lstat = place.files.lstat
    for _ in range(_MAX_LEVELS):
        inner = posixpath.join(at, ".git")
        entry = lstat(inner)
        if entry is not None:
            if entry.kind is not FileKind.DIRECTORY:
                return None
            found.append(inner)
            if _is_repository(place, inner):
                return tuple(found)
        if lstat(posixpath.join(at, "HEAD")) is not None and lstat(posixpath.join(at, "objects")) is not None:
            found.append(at)  # a bare repository, found before anything above it
            if _is_repository(place, at):
                return tuple(found)
        if at == "/":
            return tuple(found)
        at = posixpath.dirname(at)
    return None


def _is_repository(place: Place, folder: str) -> bool:
    """Whether git surely takes this directory for a repository (`is_git_directory` in git's setup)."""
    for name in ("objects", "refs"):
        entry = place.files.lstat(posixpath.join(folder, name))
        if entry is None or entry.kind is not FileKind.DIRECTORY or entry.mode & 0o111 != 0o111:
            return False
    head = posixpath.join(folder, "HEAD")
    entry = place.files.lstat(head)
    if entry is None or entry.kind is not FileKind.FILE:
        return False
    content = place.files.read(head, 255)
    return content is not None and _HEAD.match(content) is not None


def _settings(place: Place, folder: str) -> str | None:
    """The text of a repository's configuration; None where more than that file, or it cannot be read."""
    if place.files.lstat(posixpath.join(folder, "commondir")) is not None:
        return None
    config = posixpath.join(folder, "config")
    entry = place.files.lstat(config)
    if entry is None:
        return ""
    if entry.kind is not FileKind.FILE:
        return None
    content = place.files.read(config, _MAX_CONFIG)
    return content.decode("utf-8", "replace") if content is not None else None


def _hooks(place: Place, folder: str, *, reads: bool) -> bool:
    """Whether a hook may be there that is not one of git's samples, nor one that reading commands never run."""
    hooks = posixpath.join(folder, "hooks")
    entry = place.files.lstat(hooks)
    if entry is None:
        return False
    if entry.kind is not FileKind.DIRECTORY:
        return True
    return any(
        not name.endswith(".sample") and not (reads and name in _WRITERS_HOOKS)
        for name in place.files.listdir(hooks, 256)
    )


# What makes a directory a repository, or another one of it (`is_git_directory` in git's setup).
_PARTS = frozenset({".git", "HEAD", "commondir", "config", "gitdir", "index", "objects", "packed-refs", "refs"})


def stages(words: tuple[Value, ...], place: Place, bases: tuple[str | None, ...]) -> bool:
    """Whether this git command may put another repository into the index: all but adding plain files that are named."""
    at = _verb_at(words)
    verb = words[at].text if at < len(words) else "version"
    if verb in _STAYING or verb in ("commit", "diff", "push", "status", "version"):
        return False
    if verb not in ("add", "stage") or at > 0:
        return True
    return not all(
        word.fixed and not word.text.startswith("-") and _is_file(word.text, place, base)
        for word in words[1:]
        for base in bases
    )


def after_changes(words: tuple[Value, ...], *, staged: bool, written: Iterable[str]) -> bool:
    """Whether a repository that earlier commands of the line changed may make this git command run a program.

    Facts are taken before anything runs: a gitlink that is staged then, or files that make a repository of their
    directory, are not there yet.
    """
    at = _verb_at(words)
    looks = at < len(words) and words[at].text not in _STAYING | {"commit", "push"}
    return (staged and looks) or any(not _PARTS.isdisjoint(path.split("/")) for path in written)


def _verb_at(words: tuple[Value, ...]) -> int:
    """Where the subcommand stands, behind git's own options and their values; the number of words if there is none."""
    at = 0
    while at < len(words) and words[at].fixed and words[at].text.startswith("-"):
        at += 2 if words[at].text in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env") else 1
    return at


def _is_file(text: str, place: Place, base: str | None) -> bool:
    if base is None:
        return False
    path = resolve_path(text, place, base=base, expand_tilde=False).path
    try:
        found = None if path is None else place.files.lstat(path)
    except FileSystemUnknownError:
        return False
    return found is not None and found.kind is FileKind.FILE


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
    for word in call.words:
        if word.text.startswith(("/", "~", "./", "../")):
            call.reading.use(Use.ANY, word)
    return True


def _writes(call: Invocation) -> bool:
    call.reading.reshapes |= not call.name.endswith((" add", " commit", " stage"))
    if call.name.endswith(" rm"):
        for word in call.operands:
            call.reading.path(word, Access.DELETE, recursive=call.arguments.has("-r"))
    if call.arguments.has("-i", "-e", "--edit", "--interactive", "-S", "--gpg-sign"):
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
        folders = _git_dirs(call.context.place, base)
        settings = _settings(call.context.place, folders[0]) if folders else None
    except FileSystemUnknownError:
        return []
    for match in _REMOTE.finditer(settings or ""):
        if match[1] == name and settings is not None:
            section = settings[match.end() :].split("\n[", 1)[0]
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

"""git: options before the subcommand, and what each does here (git(1), gitattributes(5))."""

import posixpath
import re
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.programs.forwarding import command_among, glimpse
from shield.facts.programs.git.addresses import shows_addresses
from shield.facts.programs.git.contents import asked_for, content
from shield.facts.programs.git.history import searches, stash
from shield.facts.programs.git.merged import keeps_merged
from shield.facts.programs.git.names import listed_by_git
from shield.facts.programs.git.pathspecs import is_pattern
from shield.facts.programs.git.remotes import GIT_REMOTES
from shield.facts.programs.git.repository import git_dirs, judge_repository, may_start_in
from shield.facts.programs.git.trees import GIT_TREES
from shield.facts.programs.git.writing import GIT_WRITING
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Value
from shield.regex import regex
from shield.types import Access, Operation, RunsCode

__all__ = ["GIT"]


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
    rest = call.operands[1:]
    if arguments.has("--help", "-h") or (sub.fixed and sub.text == "help"):
        _help(call, rest)
        return True
    if len(rest) == 1 and rest[0].fixed and rest[0].text == "--help":
        _help(call, [sub])
        return True
    if sub.fixed and sub.text not in ("version", "init", "clone"):
        judge_repository(call, sub.text)
    if len(rest) == 1 and rest[0].fixed and rest[0].text == "-h" and sub.fixed and sub.text in _USAGE:
        # git itself answers, before it looks for anything (gitcli(7)).
        reading.flags.append("-h")
        return True
    return sub.fixed and sub.text == "version"


def _help(call: Invocation, words: list[Value]) -> None:
    """`git help NAME`, `git NAME --help`: a manual page. What shows it is a setting, of the repository's, too
    (git-help(1))."""
    if len(words) == 1 and words[0].fixed and _PAGE.fullmatch(words[0].text) and not call.arguments.given:
        judge_repository(call, "help")
        call.command([Value(text=text, head=text) for text in ("man", f"git-{words[0].text}")])
    else:
        call.reading.run(RunsCode.INLINE)


_PAGE = regex(r"[a-z][a-z-]*")
# Parts of git in its own binary: no alias and no program on PATH takes their place. Not `ls-remote`: there `-h` may be
# of the remote's heads.
_USAGE = frozenset(
    (
        *("add", "am", "apply", "archive", "blame", "branch", "checkout", "cherry-pick", "clean", "clone", "commit"),
        *("config", "describe", "diff", "fetch", "format-patch", "gc", "init", "log", "ls-files", "ls-tree", "merge"),
        *("mv", "notes", "pull", "push", "range-diff", "rebase", "reflog", "remote", "reset", "restore", "revert"),
        *("rm", "shortlog", "show", "sparse-checkout", "stash", "status", "switch", "tag", "worktree"),
    )
)
# Settings whose values are, or may hold, what opens something; a section alone stands for all that is in it.
_SECRET_SETTING = regex(
    r"(?:pass|secret|token|cookie|extraheader|apikey|credential)|\A(?:http|sendemail|imap|github|gitlab)\Z|proxy\Z",
    re.IGNORECASE,
)
_ADDRESS = regex(r"url|insteadof|remote|submodule|proxy|header", re.IGNORECASE)
# Of some every value is harmless, of others this one is, and no longer one: `core.fsmonitor=false=1 ./x` is a command.
_HARMLESS_SETTINGS = regex(
    r"(?:color\.\w+|core\.(?:quotepath|abbrev|autocrlf|filemode|precomposeunicode)|advice\.\w+|user\.(?:name|email)|"
    r"diff\.(?:renames|algorithm|noprefix|mnemonicprefix|context)|log\.\w+|safe\.directory|init\.defaultbranch|"
    r"pull\.(?:rebase|ff))(?:=[\w ./@-]*)?\Z|(?:(?:commit|tag)\.gpgsign|core\.fsmonitor)=false\Z|core\.pager=cat\Z",
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
    values = [value for _, value in call.arguments.given if value is not None and value.text.startswith("-")]
    if any(value.text == word.text for value in values for word in call.words):
        # git takes some options out before it reads the others: what comes next is then another word.
        call.reading.code = True
        call.reading.caution()
    words = list(call.operands)
    if call.name.endswith(" grep") and words and not call.arguments.has("-e", "-f"):
        words = words if words[0].many else words[1:]
    for word in words:
        content(call, word)
    if call.arguments.has("--batch", "--batch-command"):
        asked_for(call)
    # To `blame` a range is of the file that stands behind it, and names none (git-blame(1)).
    for value in call.arguments.values("-L") if not call.name.endswith((" blame", " annotate")) else ():
        # `-L START,END:FILE`, `-L :NAME:FILE`
        tail = value.text.rpartition(":")[2]
        content(call, Value(text=tail, head=tail) if value.fixed else value)
    if call.name.endswith(" grep") and call.arguments.has("--no-index", "--untracked"):
        # a pattern may take in all; from the top, where it says so
        whole = not words or "--icase-pathspecs" in call.reading.flags
        whole |= any(word.fixed and is_pattern(word.text) for word in words)
        tops = [Value(text=top, head=top) for top in _tops(call)] if words and whole else []
        for word in [*([Value(text=".", head=".")] if whole else []), *tops, *words]:
            call.reading.path(word, Access.READ, recursive=True)
    call.reading.prints = listed_by_git(call)
    return True


def _tops(call: Invocation) -> list[str]:
    """The tops of the repositories that git may stand in."""
    try:
        found = [git_dirs(call.context.place, base) or () for base in may_start_in(call)]
    except FileSystemUnknownError:
        return []
    return [repository.top for some in found for repository in some]


def _rev_write(call: Invocation) -> bool:
    first = call.operands[0].text if call.operands else "show"
    if first in ("show", "exists", "list") or first.startswith("HEAD") or "/" in first or "@{" in first:
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
        deletes = arguments.has("-d", "--delete")
        kept = call.name.endswith(" branch") and deletes and keeps_merged(call)
        if arguments.has("-D", "-f", "--force", "-M", "-C") or (deletes and not kept):
            # What a name stood for before may be reached by nothing else.
            call.reading.operations.add(Operation.DELETE)
        if arguments.has("--edit-description", "-s", "--sign", "-u", "--verify"):
            call.reading.caution()
        if call.name.endswith(" tag") and arguments.has("-a", "--annotate") and not lists:
            told = arguments.has("-m", "--message", "-F", "--file")
            call.reading.run(RunsCode.NONE if told else RunsCode.INLINE)  # an editor
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
            if any(not word.fixed or _SECRET_SETTING.search(word.text) for word in call.operands):
                call.reading.unknown.append("what it shows of the settings may open something")
            whole = verb == "list" or arguments.has("--list", "-l", "--get-regexp")
            if whole or any(not word.fixed or _ADDRESS.search(word.text) for word in call.operands):
                shows_addresses(call, alone=False)
            if (whole and not arguments.has("--local", "--worktree")) or arguments.has("--global"):
                call.reading.path(home, Access.READ)
            return True
    call.reading.path(Value(text=".git/config", head=".git/config"), Access.WRITE)
    if arguments.has("--global", "--system"):
        call.reading.path(home, Access.WRITE)
    call.reading.caution()
    return True


_STASH_VIEWS_TEXT = """
-p -u --patch --stat --numstat --shortstat --name-only --name-status --include-untracked --only-untracked --no-color
"""
_STASH_VIEWS = frozenset(_STASH_VIEWS_TEXT.split())
_STASHED = regex(r"stash@\{\d+\}|\d+")


def _stash(call: Invocation) -> bool:
    first = call.operands[0].text if call.operands else (call.words[0].text if call.words else "push")
    texts = [word.text if word.fixed else "$" for word in call.words[1:]]
    call.reading.operations |= {Operation.READ}
    if first == "list" and len(call.words) == 1:
        return True
    if first == "show" and all(text in _STASH_VIEWS or _STASHED.fullmatch(text) for text in texts):
        return True
    if stash(call):
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


def _bisect(call: Invocation) -> bool:
    """The steps of a search switch to other revisions; `run` and the rest start programs."""
    return searches(call) or _anything(call)


GIT: Mapping[str, Special] = MappingProxyType(
    {
        "git": _git,
        "rev": _rev,
        "rev_write": _rev_write,
        "branch": _branch,
        "config": _config,
        "stash": _stash,
        "anything": _anything,
        "bisect": _bisect,
        **GIT_REMOTES,
        **GIT_TREES,
        **GIT_WRITING,
    }
)

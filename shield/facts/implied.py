"""What an action does without its payload saying so: where it searches, where it runs, what git would touch."""

import shlex

from shield.facts.finding import STARTED_IN, Finding
from shield.facts.text import pointer
from shield.regex import regex
from shield.types import Access, Json, Operation

__all__ = ["imply"]

_SEARCHES = {"search_files": Access.LIST, "grep_files": Access.READ}
_GIT_NETWORK = frozenset(("git_push", "git_pull", "git_clone"))
_GIT_BRANCHES = frozenset(("git_branch", "git_checkout"))
_JUDGED = frozenset(("args", "message"))  # as a command line, and as no word of one
_AGENTS = frozenset(("create_agent", "agent_message", "agent_result"))
_SCP = regex(r"(?:[A-Za-z0-9._-]+@)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\]):(?!//).+")


def imply(finding: Finding) -> None:
    """Add what the type implies."""
    name, payload = finding.type.name, finding.action.payload
    if name in _SEARCHES and "path" not in payload:
        finding.path(".", _SEARCHES[name], "/path", recursive=True)
    elif name == "execute_command":
        # A command works on the directory it is started in, whether it names it or not.
        finding.path(".", Access.LIST, STARTED_IN)
    elif name.startswith("git_"):
        _git(finding, payload.get("path"))
    elif name == "archive_create" and "sources" not in payload:
        finding.path(".", Access.READ, "/sources", recursive=True)
    elif name == "archive_extract":
        if "destination" not in payload:
            finding.path(".", Access.WRITE, "/destination", recursive=True)
        finding.unknown.append("which files and links the archive holds is not known")
    elif name in _AGENTS:
        for key in ("agent", "to_agent"):
            value = payload.get(key)
            if isinstance(value, str) and value:
                finding.reach(value, f"/{key}")


def _git(finding: Finding, path: Json) -> None:
    name, payload = finding.type.name, finding.action.payload
    field = finding.type.fields.get("path")
    where = path if isinstance(path, str) and path else "."
    if where == ".":
        access = field.access if field is not None and field.access is not None else Access.WRITE
        finding.path(".", access, "/path", recursive=access is Access.READ)
    if Operation.WRITE in finding.type.operations:
        # Objects and branches change, no setting and no hook does: the working tree stands for them.
        finding.path(where if field is not None and field.access is Access.WRITE else ".", Access.WRITE, "/path")
    _arguments(finding, payload.get("args"))
    branch = payload.get("branch")
    if name in _GIT_BRANCHES and isinstance(branch, str):
        # Hooks and filters run here as they do on the command line.
        finding.command(shlex.join(["git", name.removeprefix("git_"), branch]), "/branch")
    if name in _GIT_BRANCHES:
        # `delete`, `ref`, `target`: by its value alone such a field looks like a name, and does what a command asks for
        finding.unknown += [
            f"what `{name}` does with the value at {pointer(key)} is not known"
            for key, value in payload.items()
            if key not in finding.type.fields and value is not None and value is not False
        ]
    for key, value in payload.items():
        # `target`, `ref`, `base`: whatever a field is called, git takes for an option what looks like one
        words = value if isinstance(value, list) else [value]
        if key not in _JUDGED and any(isinstance(word, str) and word.startswith("-") for word in words):
            finding.unknown.append(f"git would take the value at {pointer(key)} for an option")
    if name in _GIT_NETWORK:
        _remote(finding)


def _arguments(finding: Finding, args: Json) -> None:
    """Further arguments can make git run, read and write anything: they are judged as the command line they become."""
    words = (
        [args]
        if isinstance(args, str)
        else [word for word in args or () if isinstance(word, str)]
        if isinstance(args, list)
        else []
    )
    if words:
        finding.command(shlex.join(["git", finding.type.name.removeprefix("git_"), *words]), "/args")


def _remote(finding: Finding) -> None:
    """The host that git would talk to. A remote's name stands for whatever the repository's configuration says."""
    payload = finding.action.payload
    named = [(key, value) for key in ("url", "remote") if isinstance(value := payload.get(key), str) and value]
    for key, value in named:
        scp = _SCP.fullmatch(value)
        if key == "url" and "://" in value:
            continue  # the field's own role has given the host
        if "::" in value:
            # gitremote-helpers(7): `ext::` runs a command, others run a program named after them.
            finding.operations.add(Operation.EXECUTE)
            finding.unknown.append(f"git would run a helper for the value at /{key}")
        elif "://" in value:
            finding.host(value, f"/{key}")
        elif scp is not None:
            finding.host(f"ssh://{scp[1]}", f"/{key}")
        elif "/" in value or value.startswith((".", "~")):
            access = Access.WRITE if finding.type.name == "git_push" else Access.READ
            finding.path(value, access, f"/{key}", recursive=True)
        else:
            finding.unknown.append(f"the host of the git remote at /{key} is not known")
    if not named:
        finding.unknown.append("the host of the git remote is not known")

"""What the fields of a payload give: by the role that the type has for them, else by their name and what they hold."""

import posixpath
import re
import shlex
from collections.abc import Mapping

from shield.actions.fields import Field, FieldRole, Kind, fits
from shield.actions.registry import FIELDS_BY_NAME
from shield.facts.finding import Finding
from shield.facts.search_patterns import glob_places
from shield.facts.text import pointer
from shield.regex import regex
from shield.types import Access, Json, Operation

__all__ = ["read_fields"]

_MAX_PROBED = 4096
_URL = regex(r"[A-Za-z][A-Za-z0-9+.-]{1,31}:(?://\S|[^\s/\\]+@\S).*", re.DOTALL)
_SCHEMELESS = regex(r"(?:www\.|//)[^\s/]+\.\S+")
_SCP = regex(r"[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:.+")
_MAIL = regex(r"[^\s@<>,;]+@[^\s@<>,;]+\.[^\s@<>,;]+")
_FILE_NAME = regex(r"\.{0,2}[\w-][\w.-]*\.[A-Za-z0-9_]{1,12}|\.[A-Za-z][\w.-]*")
_SHELL = regex(r"[|;&<>`]|\$\(|\s-{1,2}[A-Za-z]")
_PROGRAM = regex(r"[A-Za-z0-9_./+-]+")
# What tools of other agents send along, without a change to what is done; beside a command, beside what only reads.
_BESIDE = frozenset(("description", "explanation", "justification", "note", "timeout", "timeout_ms", "timeout_s"))
_BESIDE_A_COMMAND = _BESIDE | {"background", "run_in_background"}
_BESIDE_READING = _BESIDE | {
    *("case_sensitive", "context", "encoding", "end_line", "head_limit", "ignore_case", "limit", "line_numbers"),
    *("max_length", "max_results", "multiline", "offset", "output_mode", "prompt", "start_line"),
}
# What git is asked about; that none of it is an option is looked at where git is.
_REVISIONS = frozenset(
    ("base", "commit", "count", "head", "max_count", "ref", "rev", "revision", "since", "staged", "target", "until")
)
_READING = frozenset((Operation.READ, Operation.NETWORK))
# Of fields that a type does not know, by name: those whose values are judged as what they are.
_JUDGED = frozenset((FieldRole.PATH, FieldRole.URL, FieldRole.RECIPIENT, FieldRole.COMMAND))
_SEARCHING = frozenset(("grep_files", "search_files"))
_HOST_HEADERS = frozenset(("host", ":authority", "x-forwarded-host", "forwarded"))
_METHOD_HEADERS = frozenset(("x-http-method-override", "x-http-method", "x-method-override"))


def read_fields(finding: Finding) -> None:
    """Read every field of the payload, nested ones included."""
    stdin = finding.action.payload.get("stdin")
    for name, value in finding.action.payload.items():
        finding.tick()
        source = pointer(name)
        known = finding.type.fields.get(name)
        if known is not None and not fits(value, known.kind):
            finding.malformed = True
            finding.unknown.append(f"the field at {source} is not a {known.kind.value}")
            _by_value(finding, value, source)
        elif known is not None:
            _by_role(finding, known, value, source, stdin if isinstance(stdin, str) else None)
        else:
            _by_name(finding, name, value, source)
            if finding.type.known and not _changes_nothing(finding, name, value):
                # `env` and `user` of a command, `mode` and `on_save` of a file, `data` and `verify` of a request: what
                # the fields of the type say is no longer all that is done.
                finding.unknown.append(f"what the field at {source} changes about the action is not known")


def _changes_nothing(finding: Finding, name: str, value: Json) -> bool:
    """Whether a field that the type does not know adds nothing to the action but what its own facts say of it."""
    kind, field = finding.type, FIELDS_BY_NAME.get(name.lower())
    # What is not asked for is not done; of a request, `verify: false` takes something away.
    if value is None or (value is False and Operation.NETWORK not in kind.operations):
        return True
    if isinstance(value, dict):
        return False
    if kind.name == "execute_command":
        return name in _BESIDE_A_COMMAND and not isinstance(value, list)
    if field is not None and field.role in _JUDGED and fits(value, field.kind):
        return Operation.META not in kind.operations  # what loads tools does more with a file than read it
    if field is not None and field.role is FieldRole.PATTERN and fits(value, field.kind):
        return kind.name in _SEARCHING
    if kind.name.startswith("git_") and kind.operations <= _READING:
        return name in _REVISIONS or name in _BESIDE
    beside = _BESIDE_READING if kind.operations <= _READING else _BESIDE
    return name in beside and not isinstance(value, list)


def _strings(value: Json, source: str) -> list[tuple[str, str]]:
    """The strings of a string or a list of them, each with its pointer."""
    if isinstance(value, str):
        return [(value, source)]
    items = value if isinstance(value, list) else []
    return [(item, f"{source}/{index}") for index, item in enumerate(items) if isinstance(item, str)]


def _by_role(finding: Finding, field: Field, value: Json, source: str, stdin: str | None = None) -> None:
    strings = _strings(value, source)
    if field.role is FieldRole.PATH:
        for raw, at in strings:
            _path(finding, field, raw, at)
    elif field.role is FieldRole.COMMAND:
        for line, at in strings:
            finding.command(line, at, stdin=stdin)
    elif field.role is FieldRole.URL:
        for url, at in strings:
            _url(finding, url, at)
    elif field.role is FieldRole.RECIPIENT:
        for name, at in strings:
            finding.reach(name, at)
    elif field.role is FieldRole.PATTERN and _is_glob(finding, source):
        for pattern, at in strings:
            glob_places(finding, pattern, at)
    elif field.role is FieldRole.TEXT and field.kind is Kind.OBJECT and isinstance(value, dict):
        _headers(finding, value, source)


def _is_glob(finding: Finding, source: str) -> bool:
    """Whether a pattern chooses files by their names; that of `grep_files` itself is looked for in them."""
    return finding.type.name == "search_files" or (finding.type.name == "grep_files" and source != "/pattern")


def _path(finding: Finding, field: Field, raw: str, source: str) -> None:
    access = field.access or Access.WRITE
    asked = finding.action.payload.get("recursive") is True
    # What is copied, moved, deleted or packed is copied with everything beneath it.
    whole = access in (Access.READ, Access.DELETE) and finding.type.name in ("copy_file", "move_file", "delete_file")
    recursive = field.recursive or asked or (whole and finding.is_directory(raw))
    finding.path(raw, access, source, recursive=recursive)
    start = finding.action.payload.get("source")
    if finding.type.name in ("copy_file", "move_file") and access is Access.WRITE and isinstance(start, str) and start:
        _arrives(finding, start, raw, source)


def _arrives(finding: Finding, start: str, raw: str, source: str) -> None:
    """A directory brings all that is in it; into a directory that is there, a tool may put it by its own name."""
    tree = finding.is_directory(start)
    if tree:
        finding.path(raw, Access.WRITE, source, recursive=True)
    last = posixpath.basename(start.rstrip("/"))
    if last not in ("", ".", "..") and finding.is_directory(raw):
        finding.path(posixpath.join(raw, last), Access.WRITE, source, recursive=tree)


def _url(finding: Finding, url: str, source: str) -> None:
    if url[:5].lower() == "file:":
        finding.path(url, Access.READ, source)
    else:
        finding.host(url, source)


def _headers(finding: Finding, headers: Mapping[str, Json], source: str) -> None:
    for name, value in headers.items():
        at = f"{source}{pointer(name)}"
        lower = name.strip().lower()
        if not isinstance(value, str):
            finding.malformed = True
            finding.unknown.append(f"the field at {at} is not a string")
        elif any(character in name + value for character in "\r\n\0"):
            finding.unknown.append(f"the header at {at} would become more than one")
        elif lower in _HOST_HEADERS:
            # A server may answer for another host than the one that the connection names.
            finding.host(value, at)
        elif lower in _METHOD_HEADERS:
            finding.unknown.append(f"the header at {at} replaces the method")


def _by_name(finding: Finding, name: str, value: Json, source: str) -> None:
    """A field that the type does not know: what its name says if its value fits, and what its value says."""
    field = FIELDS_BY_NAME.get(name.lower())
    if field is not None and fits(value, field.kind) and field.role is not FieldRole.TEXT:
        _by_role(finding, field, value, source)
        if field.role is FieldRole.PATH and field.access is not Access.READ:
            for raw, at in _strings(value, source):
                finding.path(raw, Access.READ, at, recursive=True)
        for raw, at in _strings(value, source):
            if field.role is FieldRole.PATH and (_URL.fullmatch(raw) or _SCP.fullmatch(raw)):
                _url(finding, raw, at)
    if field is None or field.role is not FieldRole.PATH:
        _by_value(finding, value, source)


def _by_value(finding: Finding, value: Json, source: str) -> None:
    """What any string could be taken for; objects and lists with everything in them, their fields by name."""
    finding.tick()
    if isinstance(value, dict):
        for name, item in value.items():
            _by_name(finding, name, item, f"{source}{pointer(name)}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _by_value(finding, item, f"{source}/{index}")
    elif isinstance(value, str) and value and len(value) <= _MAX_PROBED:
        _by_shape(finding, value, source)
    elif isinstance(value, str) and value and (not finding.type.known or _URL.match(value)):
        finding.unknown.append(f"the string at {source} is too long to be read by its value")


def _by_shape(finding: Finding, value: str, source: str) -> None:
    if _URL.fullmatch(value) or _SCHEMELESS.fullmatch(value):
        if value.lower().startswith("mailto:"):
            finding.reach(value, source)
        else:
            _url(finding, value, source)
        return
    if value[:5].lower() == "file:" or _looks_like_path(finding, value):
        finding.path(value, Access.READ, source, recursive=True)
        finding.path(value, Access.WRITE, source, recursive=True)
    if _MAIL.fullmatch(value):
        finding.reach(value, source)
    if _looks_like_command(finding, value):
        finding.command(value, source)


def _looks_like_path(finding: Finding, value: str) -> bool:
    if value.startswith(("/", "~", "./", "../")) or value in (".", ".."):
        return True
    if re.search(r"\s", value):
        return False
    return "/" in value or _FILE_NAME.fullmatch(value) is not None or _exists(finding, value)


def _exists(finding: Finding, value: str) -> bool:
    cwd = finding.place.cwd
    if cwd is None or not cwd.startswith("/"):
        return False
    try:
        return finding.place.files.lstat(posixpath.join(cwd, value)) is not None
    except Exception:  # noqa: BLE001 - what cannot be examined may be there
        return True


def _looks_like_command(finding: Finding, value: str) -> bool:
    """Whether a shell could be meant to run this: only where the type itself may execute."""
    if finding.type.known and Operation.EXECUTE not in finding.type.operations:
        return False
    if not _SHELL.search(value):
        return False
    try:
        words = shlex.split(value, comments=False)
    except ValueError:
        words = value.split()
    first = words[0] if words else ""
    return _PROGRAM.fullmatch(first) is not None

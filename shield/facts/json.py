"""Facts as JSON, exactly in the shape of the contract: sets sorted, enums as their words, every key present."""

import hashlib
import json
import re
from collections.abc import Iterable

from shield.regex import regex
from shield.types import CommandFact, Facts, HostFact, Json, PathFact, SessionFacts

__all__ = ["facts_digest", "facts_json"]

_BYTE = regex("[\ud800-\udfff]")


def facts_json(facts: Facts) -> dict[str, Json]:
    """The object that `--facts`, approvals and the command line show; `unknown` says what is not established.

    It is well-formed Unicode: a byte of a file's name that is no UTF-8 is U+FFFD and its two digits.
    """
    shown: dict[str, Json] = {
        "paths": [_path(path) for path in facts.paths],
        "commands": [_command(command) for command in facts.commands],
        "shell": {"parsed": facts.shell.parsed},
        "hosts": [_host(host) for host in facts.hosts],
        "recipients": list(facts.recipients),
        "secrets": [
            {"kind": secret.kind, "where": secret.where, "start": secret.start, "end": secret.end}
            for secret in facts.secrets
        ],
        "text": [
            {"role": text.role, "where": text.where, "layer": text.layer, "text": text.text} for text in facts.text
        ],
        "result": [{"path": result.path, "sha256": result.sha256, "bytes": result.bytes} for result in facts.result],
        "operations": _sorted(operation.value for operation in facts.operations),
        "malformed": facts.malformed,
        "session": _session(facts.session),
        "unknown": list(facts.unknown),
    }
    return {key: _well_formed(value) for key, value in shown.items()}


def facts_digest(facts: Facts, versions: str) -> str:
    """`sha256:` digest of what a person is shown of an action besides its own words: what it would run, touch, reach
    and write to, and what is not known of it; with the digest of file `versions`. Texts follow from the action and the
    files it is bound to."""
    shown: dict[str, Json] = {
        "paths": [_path(path) for path in facts.paths],
        "commands": [_command(command) for command in facts.commands],
        "hosts": [_host(host) for host in facts.hosts],
        "recipients": list(facts.recipients),
        "unknown": list(facts.unknown),
        "versions": versions,
    }
    # names that are no UTF-8 are escaped, and the keys stand in the order above
    return f"sha256:{hashlib.sha256(json.dumps(shown, separators=(',', ':')).encode('ascii')).hexdigest()}"


def _well_formed(value: Json) -> Json:
    if isinstance(value, str):
        return value if value.isascii() else _BYTE.sub(_spelled, value)
    if isinstance(value, list):
        return [_well_formed(item) for item in value]
    if isinstance(value, dict):
        return {str(_well_formed(key)): _well_formed(item) for key, item in value.items()}
    return value


def _spelled(found: re.Match[str]) -> str:
    # PEP 383: U+DC80 to U+DCFF stand for the bytes
    return f"\ufffd{ord(found[0]) & 0xFF:02X}"


def _sorted(words: Iterable[str]) -> list[Json]:
    return [*sorted(words)]


def _path(path: PathFact) -> dict[str, Json]:
    return {
        "raw": path.raw,
        "resolved": path.resolved,
        "access": path.access.value,
        "inside_workspace": path.inside_workspace,
        "exists": path.exists,
        "symlink": path.symlink,
        "recursive": path.recursive,
        "categories": _sorted(path.categories),
        "covers": _sorted(path.covers),
        "source": path.source,
    }


def _command(command: CommandFact) -> dict[str, Json]:
    return {
        "name": command.name,
        "program": command.program,
        "origin": command.origin.value,
        "argv": list(command.argv),
        "flags": list(command.flags),
        "assignments": dict(sorted(command.assignments.items())),
        "redirects": [
            {"op": redirect.op, "target": redirect.target, "fd": redirect.fd} for redirect in command.redirects
        ],
        "via": list(command.via),
        "operations": _sorted(operation.value for operation in command.operations),
        "runs_code": command.runs_code.value,
        "dynamic": command.dynamic.value,
    }


def _host(host: HostFact) -> dict[str, Json]:
    return {
        "url": host.url,
        "scheme": host.scheme,
        "host": host.host,
        "port": host.port,
        "ip_class": host.ip_class.value,
    }


def _session(session: SessionFacts) -> dict[str, Json]:
    return {
        "labels": {
            "confidentiality": session.labels.confidentiality,
            "integrity": session.labels.integrity,
        },
        "counts": dict(sorted(session.counts.items())),
        "written": list(session.written),
        "approved": list(session.approved),
    }

"""A shelf of policies in a temporary folder, and actions with facts made by hand."""

from datetime import UTC, datetime
from pathlib import Path

from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.policy.load import load_text
from shield.policy.set import PolicySet
from shield.policy.shelf import Shelf
from shield.types import (
    Access,
    CommandFact,
    Dynamic,
    Facts,
    HostFact,
    IpClass,
    Operation,
    Opinion,
    Origin,
    PathFact,
    RunsCode,
    ShellFact,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
BASELINE = """
version: 1
name: baseline
rules:
  - id: base.secret
    effect: block
    when: paths.exists(p, "credential" in p.categories || "credential" in p.covers)
    severity: critical
    reason: never
"""


class Folder:
    """A folder of policies, standing for the shipped one; `policy` loads a text that is beside them."""

    def __init__(self, path: Path, **files: str) -> None:
        self.path = path
        self.shelf = Shelf(shipped=path)
        for name, text in {"baseline": BASELINE, **files}.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> Path:
        file = self.path / f"{name}.yaml"
        file.write_text(text)
        return file

    def policy(self, text: str, name: str = "mine.yaml") -> PolicySet:
        return load_text(text.encode(), str(self.path / name), self.shelf)


def rules(*texts: str, default: str = "{effect: escalate, to: 3}", head: str = "") -> str:
    """A policy of rules that are written as YAML flow mappings."""
    body = "".join(f"  - {text}\n" for text in texts)
    return f"version: 1\nname: mine\n{head}default: {default}\n" + (f"rules:\n{body}" if body else "")


def path(resolved: str | None = "/home/user/ws/a", access: Access = Access.READ, **more) -> PathFact:
    inside = resolved is not None and resolved.startswith("/home/user/ws/")
    return PathFact(raw=resolved or "?", resolved=resolved, access=access, **{"inside_workspace": inside, **more})


def command(name: str = "ls", **more) -> CommandFact:
    values = {
        "program": f"/usr/bin/{name}",
        "origin": Origin.SYSTEM,
        "argv": (name,),
        "operations": frozenset({Operation.READ}),
        "runs_code": RunsCode.NONE,
        "dynamic": Dynamic.NONE,
    }
    return CommandFact(name=name, **{**values, **more})


def host(name: str = "index.example") -> HostFact:
    return HostFact(url=f"https://{name}/", scheme="https", host=name, port=443, ip_class=IpClass.NAME)


def facts(kind: str, **more) -> Facts:
    operations = lookup(kind).operations
    found = {"operations": operations, "malformed": False, "shell": ShellFact(parsed=True), "unknown": ()}
    return Facts(**{**found, **more})


def ask(policy: PolicySet, kind: str, known: Facts | None = None, payload: dict | None = None, **more) -> Opinion:
    action = make_action(kind, payload if payload is not None else {}, "/home/user/ws")
    return policy.judge(
        action,
        lookup(kind),
        known if known is not None else facts(kind, **more),
        agent="agent",
        workspace="/home/user/ws",
        now=NOW,
    )

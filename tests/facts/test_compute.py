"""All facts of an action: what each field gives, and unknown or malformed wherever something is not as it should be."""

import json
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secrets_world import crc_token
from shield.actions.registry import lookup, names
from shield.actions.request import make_action
from shield.errors import InputError
from shield.facts.compute import compute
from shield.facts.files import identities
from shield.facts.filesystem import Stat
from shield.facts.json import facts_json
from shield.facts.made import MadeFile, MadeFiles
from shield.facts.place import Place
from shield.facts.unseen import UnknownFiles
from shield.types import Access, Facts, Operation, PathFact

_FILES = MadeFiles(
    {
        "README.md": MadeFile(content=b"hello"),
        "src/a.py": MadeFile(content=b"x"),
        "key": MadeFile(symlink="/home/user/.ssh/id_rsa"),
        "~/.ssh/id_rsa": MadeFile(content=b"k"),
    }
)
_PLACE = Place(
    files=_FILES,
    home="/home/user",
    cwd="/home/user/ws",
    workspace_roots=("/home/user/ws",),
    env={"PATH": "/usr/bin", "HOME": "/home/user"},
)


def _facts(name: str, place: Place = _PLACE, cwd: str | None = "/home/user/ws", **payload: object) -> Facts:
    return compute(make_action(name, payload, cwd), lookup(name), place)


def _seen(facts: Facts) -> set[tuple[str | None, str]]:
    return {(path.resolved, path.access.value) for path in facts.paths}


def test_a_plain_read() -> None:
    facts = _facts("read_file", path="README.md")
    assert _seen(facts) == {("/home/user/ws/README.md", "read")}
    assert facts.operations == {Operation.READ}
    assert (facts.malformed, facts.unknown, facts.shell.parsed) == (False, (), True)
    assert facts.text[0].role == "path"


def test_the_contracts_json_shape() -> None:
    facts = _facts("write_file", path="~/.ssh/id_rsa", content="AKIAQWERTYUIOPASDFGH")
    shown = facts_json(facts)
    assert list(shown) == [
        "paths",
        "commands",
        "shell",
        "hosts",
        "recipients",
        "secrets",
        "text",
        "result",
        "operations",
        "malformed",
        "session",
        "unknown",
    ]
    assert json.loads(json.dumps(shown)) == shown
    assert list(shown["paths"][0]) == [
        "raw",
        "resolved",
        "access",
        "inside_workspace",
        "exists",
        "symlink",
        "recursive",
        "categories",
        "covers",
        "source",
    ]
    assert shown["paths"][0]["categories"] == ["credential"]
    assert shown["secrets"] == [{"kind": "aws_access_key", "where": "/content", "start": 0, "end": 20}]
    assert list(shown["result"][0]) == ["path", "sha256", "bytes"]
    assert shown["operations"] == ["write"]
    assert shown["session"] == {
        "labels": {"confidentiality": "public", "integrity": "trusted"},
        "counts": {},
        "written": [],
        "approved": [],
    }


@pytest.mark.parametrize(
    ("name", "payload", "paths"),
    [
        ("copy_file", {"source": "README.md", "destination": "b"}, {("README.md", "read"), ("b", "write")}),
        ("move_file", {"source": "README.md", "destination": "b"}, {("README.md", "delete"), ("b", "write")}),
        ("list_directory", {"path": "."}, {("", "list")}),
        ("grep_files", {"pattern": "x"}, {("", "read")}),
        ("search_files", {"pattern": "*.py"}, {("", "list")}),
        ("search_files", {"pattern": "*.py", "path": "src"}, {("src", "list")}),
        ("archive_create", {"path": "a.zip", "sources": ["src"]}, {("a.zip", "write"), ("src", "read")}),
        ("git_status", {}, {("", "read")}),
        ("git_commit", {"message": "m"}, {("", "read"), ("", "write")}),
        ("send_email", {"to": "a@b.example", "attachments": ["README.md"]}, {("README.md", "read")}),
        ("open", {"path": "README.md"}, {("README.md", "read")}),
    ],
)
def test_paths_by_role(name: str, payload: dict[str, object], paths: set[tuple[str, str]]) -> None:
    expected = {(f"/home/user/ws/{path}".rstrip("/"), access) for path, access in paths}
    facts = _facts(name, **payload)
    assert _seen(facts) == expected
    assert not facts.unknown


def test_search_patterns_that_leave_their_directory() -> None:
    assert ("/home", "list") in _seen(_facts("search_files", pattern="../../*/.ssh/*"))
    assert ("/etc", "list") in _seen(_facts("search_files", pattern="/etc/*", path="src"))
    assert "credential" in _facts("search_files", pattern="~/.ssh/*").paths[0].categories
    assert _facts("search_files", pattern="*/../../../*").unknown
    assert not _facts("search_files", pattern="**/*.py").unknown


def test_search_patterns_are_read_as_any_engine_may() -> None:
    assert ("/etc", "list") in _seen(_facts("search_files", pattern="{/etc,x}/*"))
    assert ("/home/user", "list") in _seen(_facts("search_files", pattern="{.,.}{.,.}/*"))
    assert ("/home/user", "list") in _seen(_facts("search_files", pattern="\\.\\./*"))
    assert _facts("search_files", pattern="{a,b}" * 33).unknown
    assert _facts("search_files", pattern="{a,b}" * 9).unknown
    assert not _facts("search_files", pattern="src/**/*.{js,ts}").unknown


@pytest.mark.parametrize("opening", ["{", "{,", "{a}", "\\", "{{}", "}", "/{"])
def test_a_long_pattern_takes_no_time(opening: str) -> None:
    begun = time.process_time()
    _facts("search_files", pattern=opening * (60_000 // len(opening)))
    assert time.process_time() - begun < 2


def test_a_field_that_the_type_does_not_know_is_unknown_unless_it_changes_nothing() -> None:
    assert _facts("write_file", path="a", content="x", mode="4755").unknown
    assert _facts("http_request", url="https://example.org/", data="x").unknown
    assert _facts("notify", message="x", extra={"a": "b"}).unknown
    assert not _facts("read_file", path="README.md", description="why").unknown
    assert not _facts("git_log", ref=["main"]).unknown


def test_recursive_where_the_tool_is() -> None:
    def source(**payload: object) -> PathFact:
        return next(path for path in _facts("copy_file", **payload).paths if path.source == "/source")

    assert source(source="src", destination="b").recursive
    assert not source(source="README.md", destination="b").recursive
    assert "credential" in source(source="~", destination="b").covers
    assert _facts("list_directory", path=".", recursive=True).paths[0].recursive
    assert "credential" in _facts("delete_directory", path="~").paths[0].covers
    assert "credential" in _facts("grep_files", pattern="x", path="/").paths[0].covers


def test_no_cwd_is_unknown() -> None:
    for name, payload in (("read_file", {"path": "a"}), ("grep_files", {"pattern": "x"}), ("git_status", {})):
        facts = _facts(name, cwd=None, **payload)
        assert facts.unknown
        assert not any(path.inside_workspace for path in facts.paths)


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("read_file", {"path": 3}),
        ("read_file", {"path": ["a", "b"]}),
        ("read_file", {"path": None}),
        ("read_file", {"path": "a", "limit": "10"}),
        ("read_file", {"path": "a", "limit": True}),
        ("list_directory", {"path": ".", "recursive": "yes"}),
        ("send_email", {"to": {"a": "b"}}),
        ("send_email", {"to": ["a@b.example", 3]}),
        ("http_request", {"url": "https://x.example/", "headers": "Host: y"}),
        ("http_request", {"url": "https://x.example/", "headers": {"Host": ["y"]}}),
        ("execute_command", {"command": ["rm", "-rf", "/"]}),
    ],
)
def test_a_known_field_of_the_wrong_type_is_malformed(name: str, payload: dict[str, object]) -> None:
    facts = _facts(name, **payload)
    assert facts.malformed
    assert facts.unknown


def test_a_malformed_field_is_still_looked_at() -> None:
    assert "credential" in _facts("read_file", path=["~/.ssh/id_rsa"]).paths[0].categories


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"backup": "/etc/passwd"}, ("/etc/passwd", "write")),
        ({"options": {"deep": ["~/.ssh/id_rsa"]}}, ("/home/user/.ssh/id_rsa", "read")),
        ({"key": "key"}, ("/home/user/.ssh/id_rsa", "read")),
        ({"extra": "file:///etc/passwd"}, ("/etc/passwd", "read")),
        ({"output": "x"}, ("/home/user/ws/x", "write")),
    ],
)
def test_unknown_fields_are_judged_by_name_and_value(payload: dict[str, object], expected: tuple[str, str]) -> None:
    facts = _facts("read_file", path="README.md", **payload)
    assert expected in _seen(facts)
    assert expected in _seen(_facts("mcp:server/tool", **payload))


def test_a_string_too_long_to_be_read_is_said() -> None:
    assert _facts("mcp:server/tool", blob="x" * 5000).unknown
    assert _facts("read_file", path="README.md", proxy="https://evil.example/" + "x" * 5000).unknown
    assert not _facts("read_file", path="README.md", note="x " * 5000).unknown


def test_unknown_types() -> None:
    facts = _facts(
        "mcp:server/tool", query="what is this", where="https://evil.example/x", who="a@b.example", run="rm -rf /"
    )
    assert facts.operations == frozenset(Operation)
    assert [host.host for host in facts.hosts] == ["evil.example"]
    assert facts.recipients == ("a@b.example",)
    assert "rm" in {command.name for command in facts.commands} or facts.unknown


def test_http() -> None:
    facts = _facts("http_request", url="http://0x7f.1:8470/", headers={"Host": "x.example"}, body={"a": "b"})
    assert {(host.host, host.ip_class.value) for host in facts.hosts} == {
        ("127.0.0.1", "loopback"),
        ("x.example", "name"),
    }
    assert _facts("http_request", url="https://a@b@c.example/").unknown
    assert _facts("http_request", url="https://x.example/", headers={"X-HTTP-Method-Override": "DELETE"}).unknown
    assert _facts("http_request", url="https://x.example/", headers={"A": "b\r\nHost: y"}).unknown
    assert "credential" in _facts("http_request", url="file:///home/user/.ssh/id_rsa").paths[0].categories
    secret = _facts("http_request", url="https://x.example/", headers={"Authorization": "Bearer abcdefghijklmnop1234"})
    assert [(found.kind, found.where) for found in secret.secrets] == [
        ("authorization_header", "/headers/Authorization")
    ]


def test_messages() -> None:
    facts = _facts("send_email", to=["Ann <a@b.example>"], cc="c@d.example;e@f.example", bcc="g@h.example", body="x")
    assert set(facts.recipients) == {"a@b.example", "c@d.example", "e@f.example", "g@h.example"}
    assert _facts("send_email", to="a@b.example\nBcc: x@y.example").unknown
    assert _facts("send_message", channel="#general", body="x").recipients == ("#general",)
    assert _facts("agent_message", to_agent="planner", content="x").recipients == ("planner",)


@pytest.mark.parametrize(
    ("payload", "hosts"),
    [
        ({"url": "https://git.example/x.git"}, ["git.example"]),
        ({"url": "git@git.example:x.git"}, ["git.example"]),
        ({"remote": "ssh://git@git.example/x"}, ["git.example"]),
    ],
)
def test_git_remotes(payload: dict[str, object], hosts: list[str]) -> None:
    assert [host.host for host in _facts("git_push", **payload).hosts] == hosts


@pytest.mark.parametrize(
    "payload",
    [{}, {"remote": "origin"}, {"remote": "ext::sh -c x"}, {"remote": "--upload-pack=x"}, {"url": "-oProxyCommand=x"}],
)
def test_git_remotes_of_unknown_host(payload: dict[str, object]) -> None:
    assert _facts("git_push", **payload).unknown


def test_secrets_in_layers_and_keys() -> None:
    import base64

    token = crc_token("ghp_", "a1B2" * 7 + "a1")
    facts = _facts("send_email", to="a@b.example", body=f"see {base64.b64encode(token.encode()).decode()}")
    assert [(secret.kind, secret.where) for secret in facts.secrets] == [("github_token", "/body")]
    assert _facts("mcp:s/t", **{token: 1}).secrets
    assert _facts("mcp:s/t", password="x").secrets
    assert token not in repr(facts.secrets)


def test_time_is_up() -> None:
    action = make_action("read_file", {"path": "README.md"}, "/home/user/ws")
    facts = compute(action, lookup("read_file"), _PLACE, deadline=lambda: True)
    assert facts.unknown
    assert facts.malformed
    assert not facts.shell.parsed
    assert facts.operations == frozenset(Operation)
    late = iter([False, False, True, True, True, True])
    facts = compute(action, lookup("read_file"), _PLACE, deadline=lambda: next(late, True))
    assert facts.unknown


def test_an_invisible_or_broken_disk_is_unknown() -> None:
    assert _facts("read_file", replace(_PLACE, files=UnknownFiles()), path="README.md").unknown

    class Broken(UnknownFiles):
        def lstat(self, path: str) -> Stat | None:
            raise RuntimeError("not an error that anyone expects")

    facts = _facts("read_file", replace(_PLACE, files=Broken()), path="README.md")
    assert facts.unknown
    assert facts.malformed


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.text(max_size=30)
    | st.sampled_from(
        ["~/.ssh/id_rsa", "../../x", "https://a@b/", "rm -rf /", "a\0", "file:///x", "a@b.example", "$(x)"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_FIELDS = sorted({field for name in names() for field in lookup(name).fields})


@settings(max_examples=200, deadline=None)
@given(
    name=st.sampled_from((*names(), "mcp:s/t", "nobody.knows")),
    payload=st.dictionaries(st.sampled_from(_FIELDS) | st.text(max_size=8), _JSON, max_size=4),
    cwd=st.sampled_from([None, "/home/user/ws", "/", "relative", "/nowhere"]),
)
def test_compute_never_raises_and_never_narrows(name: str, payload: dict[str, object], cwd: str | None) -> None:
    try:
        action = make_action(name, payload, cwd)
    except InputError:
        return
    facts = compute(action, lookup(name), _PLACE)
    assert lookup(name).operations <= facts.operations
    assert not any(line.startswith("the facts could not be computed") for line in facts.unknown)
    # what is not resolved counts as a doubt by itself (`shield.policy.coverage`)
    assert all(path.resolved is not None or not path.inside_workspace for path in facts.paths)
    json.dumps(facts_json(facts))
    assert compute(action, lookup(name), _PLACE) == facts
    identities(action, facts, _PLACE)


def test_commands_are_analysed() -> None:
    facts = _facts("execute_command", command="cat ~/.ssh/id_rsa", stdin="x")
    assert any("credential" in path.categories and path.access is Access.READ for path in facts.paths)
    assert [command.name for command in facts.commands] == ["cat"]
    assert Operation.EXECUTE in facts.operations
    assert facts.paths[-1].source == "/cwd"
    assert _facts("execute_command", command="ls").paths[-1].inside_workspace
    outside = _facts("execute_command", cwd="/", command="echo x")
    assert not outside.paths[-1].inside_workspace
    assert Operation.READ not in outside.operations
    assert _facts("execute_command", cwd=None, command="echo x").unknown
    assert _facts("git_diff", args=["--output=/etc/passwd"]).commands

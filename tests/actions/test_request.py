"""The door: what an ActionRequest may be, and where a refused one is wrong."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shield.actions.registry import canonical_name, lookup, names
from shield.actions.request import MAX_BATCH, make_action, parse_batch, parse_proposal, parse_request
from shield.errors import InputError, Reason
from shield.types import Operation, Tier

# DESIGN 3: "At least"
WANTED = [
    "read_file",
    "write_file",
    "edit_file",
    "delete_file",
    "move_file",
    "copy_file",
    "list_directory",
    "create_directory",
    "delete_directory",
    "search_files",
    "grep_files",
    "execute_command",
    "http_request",
    "send_email",
    "send_message",
    "git_status",
    "git_diff",
    "git_log",
    "git_commit",
    "git_push",
    "git_pull",
    "git_branch",
    "git_checkout",
    "git_clone",
    "browser_navigate",
    "browser_click",
    "browser_type",
    "browser_extract",
    "browser_screenshot",
    "memory_write",
    "memory_search",
    "create_schedule",
    "delete_schedule",
    "list_schedules",
    "read_calendar",
    "create_event",
    "update_event",
    "delete_event",
    "create_agent",
    "agent_message",
    "agent_status",
    "agent_result",
    "clipboard_read",
    "clipboard_write",
    "open",
    "notify",
    "system_info",
    "archive_create",
    "archive_extract",
    "load_tools",
    "load_skills",
]
TARGETS = {  # CONTRACTS "Payload fields"
    "read_file": [{"path"}], "copy_file": [{"source"}, {"destination"}], "grep_files": [{"pattern"}],
    "execute_command": [{"command"}], "http_request": [{"url"}], "send_email": [{"to"}], "send_message": [{"to", "channel"}],
    "git_push": [], "browser_click": [{"url", "selector"}], "browser_extract": [], "memory_write": [{"content", "value"}],
    "memory_search": [{"query"}], "create_event": [{"title", "id"}], "create_schedule": [{"command", "task", "id"}],
    "agent_message": [{"task", "instruction", "content"}], "archive_create": [{"path"}], "open": [{"path", "url"}], "notify": [],
}  # fmt: skip


def test_every_type_of_the_design_is_there():
    assert set(WANTED) <= set(names())


@pytest.mark.parametrize("name", WANTED)
def test_known_types(name):
    kind = lookup(name)
    assert kind.known
    assert kind.operations
    assert set(kind.operations) < set(Operation)
    assert all(field in kind.fields for target in kind.targets for field in target)


@pytest.mark.parametrize(("name", "targets"), TARGETS.items())
def test_targets(name, targets):
    assert [set(target) for target in lookup(name).targets] == targets


@pytest.mark.parametrize("name", ["frobnicate", "mcp:files/read_file", "Read_File", "read_file ", "__class__", "mcp:"])
def test_unknown_types_have_every_operation_and_need_a_person(name):
    kind = lookup(name)
    assert (kind.known, kind.operations, kind.least_tier) == (False, frozenset(Operation), Tier.PERSON)


def test_mcp_names():
    kind = lookup("mcp:files/read/file")
    assert (kind.server, kind.tool) == ("files", "read/file")
    assert (lookup("read_file").server, lookup("bash").tool) == (None, "execute_command")


def test_aliases_are_replaced_before_hashing():
    assert canonical_name("bash") == "execute_command"
    assert (
        make_action("bash", {"command": "ls"}, "/w").hash
        == make_action("execute_command", {"command": "ls"}, "/w").hash
    )
    assert not set(names()) & {alias for alias in ("bash", "shell", "read") if canonical_name(alias) == alias}


def request(**changes):
    body = {"type": "read_file", "payload": {"path": "a"}} | changes
    return json.dumps({name: value for name, value in body.items() if value is not ...}).encode()


def test_a_whole_request():
    found = parse_request(
        request(id="c-17", cwd="/w", session="01K", tool_call_id="call_7", min_tier=2, intent="look at it")
    )
    assert (found.id, found.action.cwd, found.session, found.tool_call_id) == ("c-17", "/w", "01K", "call_7")
    assert (found.min_tier, found.intent) == (Tier.JUDGE, "look at it")


def test_what_is_absent():
    found = parse_request(request(), default_cwd="/root-of-session")
    assert len(found.id) == 26
    assert re.fullmatch("[0-7][0-9A-HJKMNP-TV-Z]{25}", found.id)
    assert found.action.cwd == "/root-of-session"
    assert parse_request(request()).action.cwd is None
    assert b'"cwd":null' in parse_request(request()).action.canonical
    assert parse_request(request(cwd="/own"), default_cwd="/d").action.cwd == "/own"


def test_the_action_is_what_the_canonical_bytes_say():
    action = parse_request(request(payload={"path": "a", "n": 1.0, "big": 2**60})).action
    assert action.payload == {"path": "a", "n": 1, "big": 2**60}
    assert type(action.payload["n"]) is int


@pytest.mark.parametrize(
    ("changes", "pointer", "reason"),
    [
        ({"type": ...}, "/type", Reason.INPUT_FIELD),
        ({"type": ""}, "/type", Reason.INPUT_FIELD),
        ({"type": 7}, "/type", Reason.INPUT_FIELD),
        ({"type": "a\nb"}, "/type", Reason.INPUT_FIELD),
        ({"type": "x" * 257}, "/type", Reason.INPUT_FIELD),
        ({"payload": ...}, "/payload", Reason.INPUT_PAYLOAD),
        ({"payload": []}, "/payload", Reason.INPUT_PAYLOAD),
        ({"payload": None}, "/payload", Reason.INPUT_PAYLOAD),
        ({"agent": "me"}, "/agent", Reason.INPUT_KEY),
        ({"consume": True}, "/consume", Reason.INPUT_KEY),
        ({"a/b~c": 1}, "/a~1b~0c", Reason.INPUT_KEY),
        ({"id": ""}, "/id", Reason.INPUT_FIELD),
        ({"id": "x" * 129}, "/id", Reason.INPUT_FIELD),
        ({"id": "é"}, "/id", Reason.INPUT_FIELD),
        ({"id": 7}, "/id", Reason.INPUT_FIELD),
        ({"cwd": "relative"}, "/cwd", Reason.INPUT_FIELD),
        ({"cwd": "/a\0b"}, "/cwd", Reason.INPUT_FIELD),
        ({"session": "a b"}, "/session", Reason.INPUT_FIELD),
        ({"session": "x" * 65}, "/session", Reason.INPUT_FIELD),
        ({"tool_call_id": "a/b"}, "/tool_call_id", Reason.INPUT_FIELD),
        ({"tool_call_id": "ok\n"}, "/tool_call_id", Reason.INPUT_FIELD),
        ({"min_tier": 4}, "/min_tier", Reason.INPUT_FIELD),
        ({"min_tier": -1}, "/min_tier", Reason.INPUT_FIELD),
        ({"min_tier": True}, "/min_tier", Reason.INPUT_FIELD),
        ({"min_tier": 1.0}, "/min_tier", Reason.INPUT_FIELD),
        ({"intent": 1}, "/intent", Reason.INPUT_FIELD),
        ({"intent": "x" * 5000}, "/intent", Reason.INPUT_FIELD),
    ],
)
def test_refused_with_a_pointer(changes, pointer, reason):
    with pytest.raises(InputError) as caught:
        parse_request(request(**changes))
    assert (caught.value.pointer, caught.value.reason) == (pointer, reason)


@pytest.mark.parametrize("raw", [b"[]", b"null", b'"x"', b"7"])
def test_a_request_is_an_object(raw):
    with pytest.raises(InputError):
        parse_proposal(raw)


def test_a_batch():
    one = json.loads(request())
    assert len(parse_batch(json.dumps({"actions": [one] * MAX_BATCH}).encode())) == MAX_BATCH
    for body, pointer in [
        ({"actions": []}, "/actions"),
        ({"actions": [one] * (MAX_BATCH + 1)}, "/actions"),
        ({"actions": [one, one | {"min_tier": 9}]}, "/actions/1/min_tier"),
        ({"actions": [one], "more": 1}, ""),
        ({"actions": one}, ""),
        ([one], ""),
    ]:
        with pytest.raises(InputError) as caught:
            parse_batch(json.dumps(body).encode())
        assert caught.value.pointer == pointer


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5) | st.lists(st.booleans()), max_size=4))
def test_the_hash_depends_on_every_part(payload):
    base = make_action("read_file", payload, "/w")
    others = [
        make_action("write_file", payload, "/w"),
        make_action("read_file", payload, "/v"),
        make_action("read_file", payload, None),
        make_action("read_file", payload | {"\x00extra": 1}, "/w"),
    ]
    assert base.hash not in {other.hash for other in others}
    assert make_action("read_file", dict(reversed(payload.items())), "/w") == base

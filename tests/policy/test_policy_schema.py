"""The published JSON Schemas: current, true to the loader in both directions, known to the wheel."""

import json
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from json_schema import problems
from shield.errors import PolicyError
from shield.policy.editor import policy_schema, workspace_schema
from shield.policy.keys import FILE_KEYS, RULE_KEYS, WORKSPACE_KEYS
from shield.policy.reader import plain, read
from shield.policy.rule import RuleOrigin
from shield.policy.schema import read_policy
from shield.resources import data_folder

POLICY, WORKSPACE = policy_schema(), workspace_schema()
HEAD = "version: 1\nname: x\n"


def rule(text):
    return f"{HEAD}rules:\n  - {text}\n"


def said(text, schema=POLICY):
    return list(problems(plain(read(text.encode(), "x.yaml")), schema, schema))


def loads(text, origin=RuleOrigin.OWNER):
    try:
        read_policy(text.encode(), "x.yaml", origin)
    except PolicyError:
        return False
    return True


@pytest.mark.parametrize(("name", "schema"), [("policy", POLICY), ("workspace", WORKSPACE)])
def test_the_published_file_is_current(name, schema):
    published = (files("shield.policy") / f"{name}.schema.json").read_text(encoding="ascii")
    assert json.loads(published) == schema
    assert published.endswith("}\n")


def test_every_key_of_the_loader_is_in_the_schema_and_no_other():
    assert set(POLICY["properties"]) == set(FILE_KEYS)
    assert set(WORKSPACE["properties"]) == set(WORKSPACE_KEYS)
    assert set(POLICY["$defs"]["rule"]["properties"]) == set(RULE_KEYS)


def test_every_shipped_policy_fits():
    shipped = sorted(path for path in data_folder("policies").rglob("*.yaml") if path.parent.name != "heuristics")
    policies = [path for path in shipped if "cases" not in path.parts]
    assert len(policies) >= 4
    for path in policies:
        assert said(path.read_text(encoding="utf-8")) == [], path.name


FIT = [
    HEAD,
    HEAD + "extends: [baseline, sub/team.yaml]\noverrides: [a, default]\ndefault: {effect: escalate, to: 2}",
    HEAD + "lists: {a: [x, y], _b: []}\nmacros:\n  m: 'true'\n  f(x, y): x == y\n  all: true\nenforce: true",
    HEAD + "agents: [robot]\nenforce: false\nrules: []",
    rule("{id: a, effect: block, when: 'true'}"),
    rule("{id: a, effect: escalate, to: 2, when: true, agents: [a], enforce: false, severity: high}"),
    rule("{id: a, effect: allow, grants: action, actions: [read_file, bash, 'mcp:x/y']}").replace(", 'mcp:x/y'", ""),
    rule("{id: a, effect: block, actions: ['mcp:x/y']}"),
    rule(
        "{id: a, effect: allow, grants: path, min_tier: 1, when: 'true', examples: {match: [{type: a, payload: {}, cwd: null}]}}"
    ),
]
# what a schema can tell: the loader refuses all of these, and so does the schema
UNFIT = [
    "name: x",
    "version: 2\nname: x",
    "version: true\nname: x",
    "version: 1",
    "version: 1\nname: A b",
    "- a",
    HEAD + "ruls: []",
    HEAD + "default: {effect: allow}",
    HEAD + "default: {effect: block, to: 3}",
    HEAD + "default: {effect: escalate, to: 1}",
    HEAD + "default: {effect: escalate, to: true}",
    HEAD + "default: {to: 2}",
    HEAD + "lists: {a-b: []}",
    HEAD + "lists: {a: x}",
    HEAD + "lists: {a: [1]}",
    HEAD + "macros: []",
    HEAD + "macros: {'a b': 'true'}",
    HEAD + "macros: {'a()': 'true'}",
    HEAD + "macros: {a: 7}",
    HEAD + "enforce: 1",
    HEAD + "enforce: false\ndefault: {effect: block}",
    HEAD + "enforce: false\noverrides: [x]",
    HEAD + "agents: [a]\ndefault: {effect: block}",
    HEAD + "agents: []",
    HEAD + "agents: [a b]",
    HEAD + "extends: [baseline, baseline]",
    HEAD + "extends: x",
    rule("{id: a}"),
    rule("{id: A!, effect: block, when: 'true'}"),
    rule("{id: default, effect: block, when: 'true'}"),
    rule("{id: protection.x, effect: block, when: 'true'}"),
    rule("{id: a, effect: deny, when: 'true'}"),
    rule("{id: a, effect: block, wen: 'true'}"),
    rule("{id: a, effect: block}"),
    rule("{id: a, effect: block, when: 7}"),
    rule("{id: a, effect: block, when: [x]}"),
    rule("{id: a, effect: block, to: 3, when: 'true'}"),
    rule("{id: a, effect: block, min_tier: 3, when: 'true'}"),
    rule("{id: a, effect: escalate, grants: path, when: 'true'}"),
    rule("{id: a, effect: escalate, to: 1, when: 'true'}"),
    rule("{id: a, effect: allow, when: 'true'}"),
    rule("{id: a, effect: allow, grants: file, when: 'true'}"),
    rule("{id: a, effect: allow, grants: path}"),
    rule("{id: a, effect: allow, grants: path, actions: [read_file]}"),
    rule("{id: a, effect: allow, grants: action}"),
    rule("{id: a, effect: allow, grants: path, when: 'true', min_tier: 4}"),
    rule("{id: a, effect: block, actions: [], when: 'true'}"),
    rule("{id: a, effect: block, actions: [read_file, read_file]}"),
    rule("{id: a, effect: block, when: 'true', severity: hihg}"),
    rule("{id: a, effect: block, when: 'true', reason: ' '}"),
    rule("{id: a, effect: block, when: 'true', reason: 7}"),
    rule("{id: a, effect: block, when: 'true', enforce: null}"),
    rule("{id: a, effect: block, when: 'true', examples: {match: [{type: read_file}]}}"),
    rule("{id: a, effect: block, when: 'true', examples: {matches: []}}"),
]


@pytest.mark.parametrize("text", FIT)
def test_what_loads_fits(text):
    assert loads(text)
    assert said(text) == []


@pytest.mark.parametrize("text", UNFIT)
def test_what_does_not_fit_does_not_load(text):
    assert not loads(text)
    assert said(text)


def test_a_workspace_has_a_schema_of_its_own():
    ours = "version: 1\nmacros: {m: malformed}\nrules: [{id: a, effect: block, when: macros.m, enforce: false}]"
    assert loads(ours, RuleOrigin.WORKSPACE)
    assert said(ours, WORKSPACE) == []
    for more in ("extends: [x]", "default: {effect: block}", "overrides: [x]", "agents: [x]",
                 "rules: [{id: a, effect: allow, grants: path, when: 'true'}]"):  # fmt: skip
        text = f"version: 1\n{more}"
        assert not loads(text, RuleOrigin.WORKSPACE)
        assert said(text, WORKSPACE)


VALUES = st.sampled_from(
    [
        "true",
        "false",
        "1",
        "3",
        "'x'",
        "[]",
        "[a]",
        "{}",
        "block",
        "escalate",
        "allow",
        "path",
        "action",
        "high",
        "a b",
        "''",
    ]
)


@settings(max_examples=300, deadline=None)
@given(keys=st.dictionaries(st.sampled_from([*RULE_KEYS, "nope"]), VALUES, max_size=6), top=st.dictionaries(
    st.sampled_from([key for key in FILE_KEYS if key not in ("version", "name", "rules")]), VALUES, max_size=2))  # fmt: skip
def test_the_schema_never_refuses_what_loads(keys, top):
    head = "".join(f"{key}: {value}\n" for key, value in top.items())
    body = ", ".join(f"{key}: {value}" for key, value in ({"id": "a", "effect": "block"} | keys).items())
    text = f"{HEAD}{head}rules:\n  - {{{body}}}\n"
    if loads(text):
        assert said(text) == []

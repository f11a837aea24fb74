"""`shield schema`: what an editor is told agrees with what the reader of cases takes."""

import json

import pytest
from click.testing import CliRunner

from shield.cli.schema import command
from shield.errors import PolicyError
from shield.policy import cases
from shield.policy.cases import read_cases
from shield.types import Decision, Isolation

CASE = (
    "version: 1\ncases:\n  - id: a\n    action: {type: read_file, payload: {path: a}}\n    expect: {decision: ALLOW}\n"
)


def schema(kind):
    done = CliRunner().invoke(command, [kind])
    assert done.exit_code == 0
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["policy", "workspace", "cases"])
def test_it_is_a_schema_of_a_mapping(kind):
    found = schema(kind)
    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert found["type"] == "object"
    assert found["additionalProperties"] is False
    assert "version" in found["properties"]


PLACES = {
    "case": ("    expect:", "    {key}: 1\n    expect:"),
    "action": ("path: a}", "path: a}}, {key}: {{}}"),
    "expect": ("decision: ALLOW", "decision: ALLOW, {key}: [x]"),
    "session": ("    expect:", "    session: {{{key}: 1}}\n    expect:"),
}


def refusal(text):
    try:
        read_cases(text.encode(), "cases.yaml")
    except PolicyError as error:
        return error.detail
    return ""


@pytest.mark.parametrize("place", PLACES)
def test_the_keys_are_those_that_are_read(place):
    before, after = PLACES[place]
    needed = ("id", "action", "expect", "type", "payload", "decision")
    for key in schema("cases")["$defs"][place]["properties"]:
        if key not in needed:
            assert "unknown key" not in refusal(CASE.replace(before, after.format(key=key))), key
    assert "unknown key" in refusal(CASE.replace(before, after.format(key="zz")))


def test_the_words_are_those_that_are_read():
    defined = schema("cases")["$defs"]
    assert set(defined["case"]["properties"]) == set(cases._CASE_KEYS)
    assert set(defined["decision"]["enum"]) == set(Decision)
    assert set(defined["case"]["properties"]["isolation"]["enum"]) == set(Isolation)


def test_another_word_is_wrong_usage():
    assert CliRunner().invoke(command, ["nothing"]).exit_code == 2

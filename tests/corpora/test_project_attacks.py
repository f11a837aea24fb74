"""Ways around the sandbox's rules by the words of a build or an installation: none works at any isolation."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from shield.cli.trial import try_case
from shield.policy.cases import read_cases
from shield.policy.load import load_policy
from shield.policy.shelf import shipped_shelf
from shield.types import Decision, Isolation, RunsCode

FILE = Path(__file__).parent / "bypasses" / "project.yaml"


@cache
def cases():
    return read_cases(FILE.read_bytes(), str(FILE))


def attacks():
    return [case for case in cases() if not case.id.endswith(".twin")]


@cache
def policy(name):
    return load_policy(name, shipped_shelf())


@pytest.mark.parametrize(
    ("name", "isolation"), [*(("default", isolation) for isolation in Isolation), ("strict", Isolation.CONFINED)]
)
def test_no_attack_is_allowed(name, isolation):
    assert len(attacks()) >= 200
    found = [case.id for case in attacks() if _decide(case, name, isolation) is Decision.ALLOW]
    assert found == []


@pytest.mark.parametrize("isolation", list(Isolation))
def test_permissive_installs_no_more_than_default(isolation):
    """It may read the temporary folder; what is fetched is the same."""
    installs = ("install-", "pip-", "uv-", "cargo-un", "go-added", "yarn-", "pnpm-", "npx-", "deploy", "python-pip")
    installing = [
        case
        for case in attacks()
        if case.id.startswith(installs) and "/tmp/" not in case.request.action.payload["command"]
    ]
    assert len(installing) >= 50
    assert [case.id for case in installing if _decide(case, "permissive", isolation) is Decision.ALLOW] == []


def test_without_a_sandbox_no_code_of_the_project_runs_unasked():
    outcomes = [_outcome(case, "default", Isolation.NONE) for case in cases()]
    allowed = [outcome for outcome in outcomes if outcome.verdict.decision is Decision.ALLOW]
    running = [
        outcome.case.id
        for outcome in allowed
        if any(command.runs_code is not RunsCode.NONE for command in outcome.facts.commands)
    ]
    assert allowed
    assert running == []


def _decide(case, name, isolation):
    return _outcome(case, name, isolation).verdict.decision


def _outcome(case, name, isolation):
    return try_case(replace(case, place=replace(case.place, isolation=isolation)), policy(name))

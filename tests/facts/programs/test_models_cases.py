"""A case for every entry of the program models: what it makes of its mildest invocation, and of its worst."""

from functools import cache

import pytest
import yaml

from model_world import CASES, entries, facts, only_looks, written
from shield.facts.programs.library import models

_ENTRIES = entries()


@cache
def _cases() -> tuple[tuple[str, bool, dict[str, str]], ...]:
    found = []
    for file in sorted(CASES.glob("*.yaml")):
        for name, kinds in yaml.load(file.read_text("utf-8"), Loader=yaml.CSafeLoader).items():
            found += [(f"{file.stem}: {name}", kind == "looks", case) for kind in kinds for case in kinds[kind]]
    return tuple(found)


def _of(entry: str) -> list[tuple[bool, dict[str, str]]]:
    return [(looks, case) for name, looks, case in _cases() if name == entry]


@pytest.mark.parametrize("entry", sorted(_ENTRIES))
def test_every_entry_does_what_its_cases_say(entry):
    cases = _of(entry)
    assert cases, f"tests/facts/programs/cases has no case for `{entry}`"
    for looks, case in cases:
        expected = {key: text for key, text in case.items() if key != "run"}
        found = facts(case["run"])
        assert written(found) == expected, case["run"]
        assert only_looks(found) is looks, case["run"]


def test_every_name_of_an_entry_is_the_same_program():
    """The cases of an entry hold for all its names, but for what a reader in code tells apart by name."""
    for entry, names in _ENTRIES.items():
        model = models()[names[0]]
        if len(names) > 1 and model.special is None and model.subcommands is None:
            for _, case in _of(entry):
                first, _, rest = case["run"].partition(" ")
                lines = [f"{name} {rest}".strip() for name in names]
                kinds = {tuple(sorted(facts(line).commands[0].operations)) for line in lines}
                assert first in names
                assert len(kinds) == 1, lines


def test_no_case_is_left_over():
    assert {name for name, _, _ in _cases()} <= _ENTRIES.keys()


def test_there_are_enough_of_them():
    assert len(_cases()) >= 600
    assert len(_ENTRIES) >= 150
    # Entries that have nothing harmless or nothing harmful to show have one of the two.
    assert sum(any(looks for looks, _ in _of(entry)) for entry in _ENTRIES) >= 150
    assert sum(any(not looks for looks, _ in _of(entry)) for entry in _ENTRIES) >= 200


def test_the_spellings_of_one_command_are_one():
    lines = (
        "rm -rf src",
        "rm -fr src",
        "rm -r -f src",
        "rm --recursive --force src",
        "rm --recurs --forc src",
        "rm src -rf",
        "rm -rf -- src",
        "\\rm -rf src",
        "/bin/rm -rf src",
        "/bin/./rm -rf src",
        "/usr/bin/../bin/rm -rf src",
        "command rm -rf src",
        "'rm' -rf src",
        'r"m" -rf src',
    )
    for line in lines:
        found = facts(line)
        fact = next(path for path in found.paths if path.access == "delete")
        assert (fact.resolved, fact.recursive) == ("/home/user/ws/src", True), line
        assert "delete" in found.operations, line

"""An allowed `pytest`, `make test`, `npm test` or shell script whose body tries to get out, each way by a test of its own.

Each stage (root or an ordinary user, bubblewrap or Landlock) is measured once; what came of it is held against
hostile_ways. At `none` the same ways work: that is how it is known that they would.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from hostile_measure import STAGES, Stage, measured, missing
from hostile_ways import LEVELS, TABLES, ways

ROOT = Path(__file__).resolve().parents[2]
WAYS = {way.name: way for way in ways()}
BESIDE_US = {"temporary-file-of-the-next-call"}
FRONTS = ("make test", "npm test", "sh front.sh")
_PART = {
    "bare": "bare",
    "stubborn": "stubborn",
    "floods": "floods",
    "solo": "solo",
    "later": "later",
}  # of the report; else `pytest`
PLACES = [
    pytest.param(stage, level, id=f"{stage.user}-{stage.means}-{level}") for stage in STAGES for level in stage.levels
]
TRIED = [
    pytest.param(*place.values, file, id=f"{place.id}-{file}")
    for place in PLACES
    for file in TABLES
    if _PART.get(file, "pytest") in place.values[0].parts(place.values[1])
]
BY_OTHERS = [
    pytest.param(*place.values, front, id=f"{place.id}-{front.split()[0]}")
    for place in PLACES
    for front in FRONTS
    if front in place.values[0].parts(place.values[1])
]
ORDINARY = [pytest.param(stage, id=stage.means) for stage in STAGES if stage.user == "user"]
CONFINED = [place for place in PLACES if place.values[1] == "confined"]
SANDBOXED = [place for place in PLACES if place.values[1] != "none"]


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """What a stage came to, measured when it is first asked for, by whichever worker that is."""
    why = missing()
    if why is not None:
        pytest.skip(why)
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    return Reports(folder)


class Reports:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, stage: Stage, level: str) -> dict[str, Any]:
        report = measured(stage, self._folder)["levels"][level]
        if report["offer"]["level"] != level or (level != "none" and report["offer"]["means"] != stage.means):
            pytest.skip(f"{stage.means} does not hold `{level}` here: {report['offer']}")
        return report


def test_no_way_is_forgotten():
    from hostile_ways import unlisted

    assert unlisted() == set()
    assert len(WAYS) >= 40


@pytest.mark.parametrize(("stage", "level", "file"), TRIED)
def test_every_way_comes_to_what_the_table_says(reports, stage, level, file):
    """Every way was tried, and came to nothing else than what is said of it."""
    part = reports(stage, level)[_PART.get(file, "pytest")]
    own = {way.name for way in WAYS.values() if way.file == file} - {"never-end"}
    assert own <= part["ways"].keys(), f"never tried:\n{part['said']}"
    assert differing(stage, level, {name: part["ways"][name] for name in own}) == []


@pytest.mark.parametrize(("stage", "level", "front"), BY_OTHERS)
def test_by_other_programs_it_comes_to_the_same(reports, stage, level, front):
    """`make`, `npm` and a shell get as far as pytest does."""
    found = reports(stage, level)[front]
    assert len(found["ways"]) >= 12, found["said"]
    assert differing(stage, level, found["ways"]) == []


@pytest.mark.parametrize(("stage", "level"), PLACES)
def test_nobody_is_asked_where_it_is_confined(reports, stage, level):
    """The default policy lets tests, builds and scripts of the workspace run; without a sandbox a person is asked."""
    report = reports(stage, level)
    decisions = {
        part: found["decision"] for part, found in report.items() if isinstance(found, dict) and "decision" in found
    }
    assert set(decisions.values()) == {"ESCALATE" if level == "none" else "ALLOW"}, decisions


@pytest.mark.parametrize(("stage", "level"), SANDBOXED)
def test_state_and_code_are_as_they_were(reports, stage, level):
    """Keys, tokens, policies, configuration and sessions, byte for byte, after everything was tried."""
    assert reports(stage, level)["state"] == []


@pytest.mark.parametrize(("stage", "level"), CONFINED)
def test_outside_the_workspace_nothing_changed(reports, stage, level):
    """Not one entry of the root or of the home has another size, mode or time."""
    report = reports(stage, level)
    assert report["root"] == []
    assert report["home"] == []


@pytest.mark.parametrize(("stage", "level"), SANDBOXED)
def test_agentctl_goes_on_and_nothing_stays(reports, stage, level):
    """After every flood and daemon the next action is done, and no process is left."""
    report = reports(stage, level)
    assert report["still"] == "# a project"
    assert report["left"] == 0


@pytest.mark.parametrize("stage", ORDINARY)
def test_what_never_ends_is_ended(reports, stage):
    """Busy for ever with every signal ignored: stopped at the call's time-out."""
    assert "stopped after 2 s" in reports(stage, "confined")["endless"]["said"]


@pytest.mark.parametrize("stage", ORDINARY)
def test_no_file_tool_is_led_astray(reports, stage):
    """While a hostile process swaps files and folders for links, tools read and write the judged ones or nothing."""
    race = reports(stage, "confined")["race"]
    assert race["rounds"] > 0
    assert race["done"] > 0, "it must be possible to get through at all"
    assert race["wrong"] == 0


@pytest.mark.parametrize("stage", ORDINARY)
def test_a_harmless_command_starts_nothing_that_was_planted(reports, stage):
    """`git status` in a repository that hostile code prepared: asked about, or run where it can do no more than that."""
    later = reports(stage, "confined")["later"]
    assert all(found["works"] for found in later["prepared"].values()), later["said"]
    assert not any(found["works"] for found in later["ways"].values()), later["decisions"]
    assert later["decisions"]["ls -la"] == "ALLOW"


@pytest.mark.parametrize("stage", ORDINARY)
def test_what_one_call_plants_another_does_not_keep(reports, stage):
    """A call that begins while the settings of another one stand there does not take them for the user's."""
    assert not reports(stage, "confined")["beside"]["planted"]


@pytest.mark.parametrize(("stage", "level"), CONFINED)
def test_names_of_files_do_not_speak_to_the_model(reports, stage, level):
    """What a note says of names that hostile code chose is one line, bounded, without control characters."""
    found = reports(stage, level)["stubborn"]["message"]
    assert found["length"] < 20_000
    assert "\x1b" not in found["said"]
    assert "\nSYSTEM" not in found["said"]


@pytest.mark.parametrize("user", ["root", "user"])
def test_most_ways_work_where_nothing_confines(reports, user):
    """The twin of everything above: the attacks are real."""
    (stage,) = (stage for stage in STAGES if stage.user == user and "none" in stage.levels)
    report = reports(stage, "none")
    working = {name for name, found in report["pytest"]["ways"].items() if found["works"]}
    assert len(working) >= 150


def differing(stage: Stage, level: str, found: dict[str, Any]) -> list[str]:
    """One line for each way that came to something else than expected."""
    lines = []
    for name, way in sorted(found.items()):
        if name in BESIDE_US and level == "state_hidden" and stage.means == "landlock" and ROOT.is_relative_to("/tmp"):
            continue  # Landlock lets nothing new be made beside what is hidden, and here that is our code
        expected = WAYS[name].works(level, user=stage.user, means=stage.means)
        if expected is not None and expected != bool(way["works"]):
            came = "works" if way["works"] else "is stopped"
            lines.append(f"{name} {came} at {level} ({stage.user}, {stage.means}): {way['detail']}")
    return lines


def test_levels_are_those_of_the_vocabulary():
    from shield.types import Isolation

    assert set(LEVELS) == {level.value for level in Isolation}

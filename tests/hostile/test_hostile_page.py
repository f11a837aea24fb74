"""docs/security/sandbox.md is made of the table that the measurement is held to."""

from hostile_page import FILE, page
from hostile_ways import LEVELS, ways


def test_the_page_is_current():
    assert FILE.read_text(encoding="utf-8") == page(), "run `python tests/hostile_page.py`"


def test_what_is_not_stopped_is_said_at_the_top():
    """Every way that works at `confined`, under any condition, stands in the list of what is not stopped."""
    top = page().partition("## Way by way")[0]
    for way in ways():
        if way.cells[LEVELS.index("confined")] != "stopped":
            assert f"`{way.name}`" in top, way.name


def test_each_way_has_its_row():
    rows = [line for line in page().splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == [way.name for way in ways()]

"""Every advisory and technique that we know of has cases, each with its harmless twin."""

import re
from pathlib import Path

from shared_data import shared
from shield.policy.cases import read_cases
from tier0_page import ELSEWHERE, PAGE, TECHNIQUES, page

FILE = Path(__file__).parent / "bypasses" / "advisories.yaml"
TWIN = ".twin"


def ids() -> list[str]:
    return [case.id for case in read_cases(FILE.read_bytes(), str(FILE))]


def test_every_technique_has_a_case_and_every_case_a_twin():
    found = ids()
    attacks = {name for name in found if not name.endswith(TWIN)}
    covered = {technique for technique in TECHNIQUES for name in attacks if name.split(".")[0] == technique}
    assert covered == set(TECHNIQUES)
    assert {name.split(".")[0] for name in attacks} == set(TECHNIQUES)
    assert {name + TWIN for name in attacks} | attacks == set(found)


def test_no_advisory_of_the_collected_ones_is_left_out():
    text = shared("facts/contracts.md").read_text().split("## Known bypasses")[1].split("\n## ")[0]
    table = [row.split("|")[1] for row in text.splitlines() if row.startswith("|")]
    wanted = set()
    for cell in table:
        year = None
        for mark in re.findall(
            r"CVE-\d{4}-\d+|GHSA(?:-\w{4}){3}|(?:\d{4})?-\w{4}-\w{4}-\w{4}|\d{4}-\d{4,5}|-\d{5}", cell
        ):
            if mark.startswith("CVE-"):
                year = mark[4:8]
            name = (
                mark if mark.startswith(("CVE", "GHSA")) else "GHSA" + mark if mark.count("-") == 3 else "CVE-" + mark
            )
            wanted.add(name if not mark.startswith("-") or mark.count("-") == 3 else f"CVE-{year}{mark}")
    assert len(wanted) >= 25
    assert {name.lower() for name in wanted} - set(TECHNIQUES) == set()


def test_what_is_kept_elsewhere_is_there():
    root = Path(__file__).parent.parent.parent
    assert [path for path in ELSEWHERE.values() if not (root / path).exists()] == []


def test_the_page_says_what_is_tried():
    assert PAGE.read_text() == page(), "run `PYTHONPATH=.:tests python tests/tier0_page.py`"

"""What a verifier sees of each attack, held cell by cell; docs/security/audit.md is made of the same table."""

import pytest

from audit.verify import Outcome
from audit_attacks import ATTACKS, EARLY, LATE, PAGE, judge, page

LETTERS = {"D": Outcome.TAMPERED, "R": Outcome.CANNOT_TELL, "-": Outcome.OK}
# the log alone, + the file beside it, + a remembered checkpoint, + a witness
EXPECTED = {
    "edit one record": "DDDD",
    "edit, rebuild chain and tree, without the key": "DDDD",
    f"edit record {LATE}, rebuild, sign again with the key": "---D",
    f"the same with record {EARLY}": "--DD",
    "drop the last 50 records, keep the newest checkpoint": "DDDD",
    "drop the last 50 records and the checkpoints that cover them": "---D",
    "drop the last 501 records and the checkpoints that cover them": "--DD",
    "delete every record and checkpoint": "DDDD",
    "delete everything but the checkpoint of the empty log": "--DD",
    "fork at record 450, signed with the key": "---D",
    "flip a bit in the WAL": "-D-D",
    "put another log's database in its place": "RRRR",
    "put back an older copy of the database alone": "-D-D",
    "store an old checkpoint as one of more records": "DDDD",
    "forge a view": "DDDD",
    "forge an index, so that queries miss records": "DDDD",
    "splice in a change of key, without the old key": "DDDD",
    "rewrite with the old key after it was changed": "DDDD",
    "the same, shown to someone who trusts only the old key": "---R",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_seen_where_the_table_says(name):
    reports = judge(name)
    assert [report.outcome for report in reports] == [LETTERS[letter] for letter in EXPECTED[name]], reports
    assert reports[-1].outcome is not Outcome.OK  # with a checkpoint out of reach nothing passes
    for report in reports:
        assert (report.reason is None) == (report.outcome is Outcome.OK)
    # the same verdict, first bad record and notes, however many work at it
    assert judge(name, jobs=2) == reports


def test_the_page_says_what_is_held_here():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python tests/audit_attacks.py"

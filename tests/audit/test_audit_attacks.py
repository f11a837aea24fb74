"""What a verifier sees of each attack, held cell by cell; docs/security/audit.md is made of the same table."""

import pytest

from audit.entry import Draft
from audit.log import Log
from audit.verify import Outcome, Outside, verify_log
from audit_attacks import ATTACKS, EARLY, LATE, PAGE, SIZE, add, judge, page, plain
from audit_support import KINDS, decision

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


def test_what_was_added_without_the_key_is_unsealed_then_taken_over_and_noted(tmp_path):
    original = plain()
    target = original.copy(tmp_path)
    # with an opening of its own, which claims that all was sealed
    claims = {"kinds": KINDS.as_json(), "sealed": SIZE, "size": SIZE}
    add(target, Draft(kind="log.open", body={"log": claims}), *(decision(number) for number in (7001, 7002)))
    outside = Outside(notes=[original.witnessed], witnesses=[original.witness])
    report = verify_log(target.db, target.trusted, outside=outside)
    assert (report.outcome, report.signed, report.records, report.notes) == (Outcome.OK, SIZE, SIZE + 3, ())
    home = original.home
    for times in range(2):  # said in the log for good, and not anew
        log = Log.open(target.db, key=home.key, checkpoint_file=target.checkpoint, kinds=KINDS, clock=home.clock)
        assert list(log.taken_over) == [[SIZE, SIZE + 1, SIZE + 2], []][times]
        log.append(Draft(kind="log.open", body={}))
        log.close()
        report = verify_log(target.db, target.trusted, outside=outside)
        assert (report.outcome, report.unsealed) == (Outcome.OK, 0)
        assert report.notes == (f"records {SIZE} to {SIZE + 2} were not sealed when the log was opened at {SIZE + 3}",)


def test_the_page_says_what_is_held_here():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python tests/audit_attacks.py"

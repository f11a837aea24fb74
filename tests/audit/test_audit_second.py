"""Two verifiers, one of them in JavaScript and written from `audit/SPEC.md` alone, say the same of the same bundles."""

import json
import os
import random
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.chain import ROTATE, Rotation
from audit.entry import Draft, decode
from audit.errors import EntryError
from audit.export import export_bundle
from audit.kinds import Kind, KindTable
from audit.log import Log
from audit.note import SigningKey, VerifyKey
from audit.query import Filter
from audit.verify import Outcome, verify_log
from audit_bundles import bundle_of, key, write
from audit_support import KINDS, NEVER, Home, decision
from audit_tales import STRINGS, Case, cases, small, spoiled_files, spoiled_story, tale
from audit_tools import tool
from scale import scale, seed

SECOND = Path(__file__).parent / "second" / "verify.mjs"
NAMES = {Outcome.OK: "ok", Outcome.TAMPERED: "tampered", Outcome.CANNOT_TELL: "cannot tell"}


@pytest.fixture(scope="module")
def node():
    return tool("node", "nodejs")


class Both:
    """Asks both verifiers about one case after the other; the second one is started once."""

    def __init__(self, second, place):
        self.second = second
        self.folder = write(place / "bundle", {})
        self.since = place / "since"
        self.files = {}

    def ask(self, case):
        """Our report and the second verifier's on files, which are laid over those of the last case."""
        for name in self.files.keys() - case.files.keys():
            (self.folder / name).unlink()
        for name, content in case.files.items():
            if self.files.get(name) != content:
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / name).write_bytes(content)
        self.files = dict(case.files)
        return self.judge(case, self.folder)

    def judge(self, case, folder):
        """Their reports on a folder."""
        files = []
        for number, note in enumerate(case.since):
            files.append(f"{self.since}-{number}")
            Path(files[-1]).write_bytes(note.encode())
        line = json.dumps({"bundle": str(folder), "vkey": case.vkey, "since": files})
        self.second.stdin.write(f"{line}\n".encode())
        self.second.stdin.flush()
        ours = verify_log(folder, VerifyKey.parse(case.vkey), outside=case.since, selection=True)
        return ours, json.loads(self.second.stdout.readline())


@pytest.fixture
def both(node, tmp_path):
    with subprocess.Popen([node, SECOND, "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as second:
        yield Both(second, tmp_path)
        second.stdin.close()
        assert second.wait(60) == 0


def agree(case, ours, theirs):
    said = f"{case.name}: ours {ours}, the second verifier's {theirs}"
    assert NAMES[ours.outcome] == theirs["outcome"], said
    if ours.outcome is Outcome.OK:
        assert (ours.signed, ours.confirmed) == (theirs["signed"], theirs["confirmed"]), said
        assert bool(ours.notes) == bool(theirs["notes"]), said


def test_every_rule_kept_and_broken(both):
    seen = set()
    for case in cases():
        ours, theirs = both.ask(case)
        agree(case, ours, theirs)
        assert theirs["outcome"] == case.outcome, (case.name, theirs)
        if case.bad is not None:
            assert (ours.bad, theirs["bad"]) == (case.bad, case.bad), (case.name, ours, theirs)
        assert case.name not in seen
        seen.add(case.name)
    assert len(seen) > 250


def is_known(vkey, first, leaves):
    """Whether those changes of the key that can be read lead from the `first` one to this; where they do not, which
    record is bad is open (SPEC, section 6)."""
    keys = [first]
    for seq, leaf in enumerate(leaves):
        try:
            found = decode(leaf)
            rotation = Rotation.parse(seq, found.body) if found.kind == ROTATE else None
        except EntryError:
            continue
        if rotation is not None and rotation.old.line() != keys[-1]:
            return len(keys) > 1 and vkey in keys
        if rotation is not None:
            keys.append(rotation.new.line())
    return vkey in keys


def test_records_changed_by_who_has_the_keys(both):
    rng = random.Random(seed())
    good = [small(), *(tale(rng, rng.randrange(20, 60), changes=rng.randrange(3)) for _ in range(4))]
    for number in range(scale("audit_second")):
        story = spoiled_story(rng, rng.choice(good))
        for _ in range(rng.choice([0, 0, 1])):
            story = spoiled_story(rng, story)
        bundle = story.bundle()
        case = Case(f"story {number}", bundle.files(), rng.choice(story.keys).verifier.line(), "")
        ours, theirs = both.ask(case)
        agree(case, ours, theirs)
        if is_known(case.vkey, story.keys[0].verifier.line(), bundle.leaves) and theirs["bad"] is not None:
            assert ours.bad == theirs["bad"], (case.name, ours, theirs)


def test_files_changed_by_who_has_the_folder(both):
    rng = random.Random(seed())
    good = [small(), tale(rng, 40), tale(rng, 270, changes=2)]
    made = []
    for story in good:
        bundle = story.bundle()
        some = sorted({*rng.sample(range(len(bundle.leaves)), 9), *story.changes})
        made += [bundle.files(), bundle.files(), replace(bundle, chosen=tuple(some)).files()]
    outcomes = set()
    for number in range(scale("audit_second")):
        case = Case(f"files {number}", spoiled_files(rng, rng.choice(made)), key(0).verifier.line(), "")
        ours, theirs = both.ask(case)
        agree(case, ours, theirs)
        outcomes.add(theirs["outcome"])
        if theirs["outcome"] == "ok":  # a line less is a selection; nothing else may have changed
            assert any(
                set(case.files["records.jsonl"].splitlines()) <= set(one["records.jsonl"].splitlines()) for one in made
            )
    assert "tampered" in outcomes


def opened(home, *, create=False):
    kinds = KindTable.of([*KINDS.kinds, Kind(name="key.rotate")])
    log = Log.open(
        home.db,
        key=home.key,
        checkpoint_file=home.checkpoint,
        kinds=kinds,
        clock=home.clock,
        create=create,
        seal_every_ms=NEVER,
    )
    log.append(Draft(kind="log.open", body={}))
    return log


def odd_strings():
    home = Home()
    with opened(home, create=True) as log:
        for number, text in enumerate(STRINGS):
            log.append(Draft(kind="decision", body={"text": text, "deep": [[{}]]}, call_id=f"c{number}"))
    return home


def references():
    home = Home()
    home.fill(3)
    with home.open() as log:
        first = log.append(decision(4)).seq
        run = log.append(Draft(kind="executing", body={}, ref=first)).seq
        log.append(Draft(kind="outcome", body={}, ref=run))
        log.append(Draft(kind="approval", body={}, ref=first))
        log.append(Draft(kind="executing", body={}, ref=1))
    return home


def not_sealed_once():
    """What a power cut leaves: the files of a log that nobody closed."""
    first, home = Home(), Home()
    with opened(first, create=True) as log:
        for number in range(5):
            log.append(decision(number))
        for name in ("audit.db", "audit.db-wal", "checkpoint"):
            shutil.copy(first.path / name, home.path / name)
    home.key = first.key
    with opened(home):
        pass
    return home


def new_keys():
    home = Home()
    with opened(home, create=True) as log:
        for number in range(2):
            log.append(decision(number))
            home.key = SigningKey(home.key.name, Ed25519PrivateKey.generate())
            log.rotate(home.key, {"reason": "due"})
        log.append(decision(3))
    with opened(home) as log:
        log.append(decision(4))
    return home


def filled(size, *seals):
    home = Home()
    home.fill(size, seal_at=seals)
    return home


def test_logs_that_the_writer_wrote(both, tmp_path):
    homes = [odd_strings(), references(), not_sealed_once(), new_keys(), filled(0), filled(255), filled(300, 1, 7, 256)]
    notes = []
    for number, home in enumerate(homes):
        key = home.key.verifier
        for name, where in (("whole", Filter()), ("part", Filter(kind="log.open"))):
            folder = tmp_path / f"log-{number}-{name}"
            export_bundle(home.db, folder, key, where)
            case = Case(folder.name, {}, key.line(), "ok", since=(home.checkpoint.read_text(),))
            ours, theirs = both.judge(case, folder)
            agree(case, ours, theirs)
            assert theirs["outcome"] == "ok", (case.name, theirs)
            assert theirs["signed"] == theirs["confirmed"] > 0
            notes += [note["note"] for note in theirs["notes"]]
    assert {"unsealed end", "not followed"} <= set(notes)


@pytest.mark.parametrize("how", ["link", "folder", "pipe"])
def test_what_is_no_regular_file_counts_as_not_there(both, tmp_path, how):
    files = small().bundle().files()
    for number, name in enumerate(files):
        folder = write(tmp_path / f"{number}", files)
        (folder / name).rename(tmp_path / f"away-{number}")
        if how == "link":
            (folder / name).symlink_to(tmp_path / f"away-{number}")
        elif how == "folder":
            (folder / name).mkdir()
        else:
            os.mkfifo(folder / name)
        outcome = "cannot tell" if name in {"records.jsonl", "checkpoint"} else "tampered"
        case = Case(f"{name} as a {how}", {}, key(0).verifier.line(), outcome)
        ours, theirs = both.judge(case, folder)
        agree(case, ours, theirs)
        assert theirs["outcome"] == outcome, (case.name, theirs)


@pytest.mark.parametrize("size", [0, 255, 256, 300])
def test_an_export_is_what_the_text_says(tmp_path, size):
    home = filled(size)
    folder = tmp_path / "bundle"
    export_bundle(home.db, folder, home.key.verifier)
    files = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert files == bundle_of(home.db, home.key.verifier.line()).files()


def test_exit_codes_of_the_second_verifier(node, tmp_path):
    bundle = small().bundle()
    files = bundle.files()
    good = write(tmp_path / "good", files)
    bad = write(tmp_path / "bad", files | {"records.jsonl": files["records.jsonl"].replace(b"call_id", b"call_iD", 1)})
    for folder, code in ((good, 0), (bad, 1), (tmp_path / "none", 2)):
        command = [node, SECOND, folder, bundle.trusted]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert run.returncode == code, run.stderr
        assert json.loads(run.stdout)["outcome"] == ["ok", "tampered", "cannot tell"][code]
    run = subprocess.run([node, SECOND], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 2
    assert "usage" in run.stderr

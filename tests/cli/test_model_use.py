"""`shield model info|verify|use|calibrate`, run as programs; a person is a pseudo-terminal."""

import base64
import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from shield.cli import shield
from shield.cli.model_info import blind
from shield.model.calibration import Calibration, Thresholds
from shield.model.scorer import Reading, load_scorer
from shield.types import Answer, TextKind
from tests.cli.test_home_commands import at_terminal, environment, run
from tier1_folder import dropin, lookup

ASKED = b"type `yes` to confirm: "
NEVER = {kind: Thresholds(benign=3_000, escalate=1e9, block=None) for kind in TextKind}
CALIBRATED = b"""{"version":1,"temperature":2.0,"kinds":{"prose":{"benign":3000,"escalate":0.5,"block":3.5}}}"""


@pytest.fixture
def folder():
    made = os.path.realpath(tempfile.mkdtemp(prefix="sh"))
    yield made
    shutil.rmtree(made)


def model(folder, *words, **more):
    return run(folder, "model", *words, **more)


def refused(folder, *words, **more):
    """What it says, in this process; for what ends before a person is asked."""
    done = CliRunner(env=environment(folder, **more)).invoke(shield, ["model", *words])
    assert done.exit_code == 2
    assert done.stdout == ""
    return done.stderr


def adopted(folder, *words, answer=b"yes\n"):
    return at_terminal(folder, "model", "use", *words, types=answer, after=ASKED)


def rows(path, *texts, kind="prose"):
    path = Path(path)
    path.write_text(
        "".join(json.dumps({"id": str(n), "text": text, "kind": kind}) + "\n" for n, text in enumerate(texts))
    )
    return str(path)


# --- info and verify -------------------------------------------------------------------------------------------------


def test_info_says_what_the_manifest_says(folder):
    long = {f"bank{number}": "sha256" for number in range(100)}
    lookup(
        Path(folder, "m"),
        calibration=CALIBRATED,
        made={"seed": 7, "data": "own\x07\u202e", "banks": long, "by": "x" * 500},
    )
    said = json.loads(model(folder, "info", f"{folder}/m", "--json").stdout)
    assert said["labels"] == ["BENIGN", "ATTACK"]
    assert said["attack"] == [1]
    assert said["calibration"]["kinds"]["prose"]["block"] == 3.5
    assert said["digest"] == load_scorer(Path(folder, "m")).digest
    shown = model(folder, "info", f"{folder}/m").stdout
    assert "attack      ATTACK, of the classes BENIGN, ATTACK" in shown
    assert "prose       asks from a margin of 0.50, blocks from 3.50 (3,000 benign texts)" in shown
    assert "url         not calibrated" in shown
    assert "made        seed: 7" in shown
    assert "made        data: own\\u{7}\\u{202e}\n" in shown
    assert "made        banks: 100 entries, with --json\n" in shown
    assert said["made"]["banks"] == long
    assert max(map(len, shown.splitlines())) < 200


def test_verify_holds_every_file_against_the_manifest_and_lets_it_read(folder):
    whole = lookup(Path(folder, "m"))
    done = model(folder, "verify", f"{folder}/m", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["whole"] is True
    (whole / "config.json").write_bytes((whole / "config.json").read_bytes() + b" ")
    done = model(folder, "verify", f"{folder}/m")
    assert done.returncode == 1
    assert "`config.json`" in done.stdout
    assert "not what its manifest says" in done.stdout


def test_a_model_that_tells_no_attack_is_called_that(folder):
    lookup(Path(folder, "m"))
    done = model(folder, "verify", f"{folder}/m", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["probe"] <= said["honest"]
    assert "does not tell" in done.stderr
    shown, _, code = adopted(folder, f"{folder}/m", answer=b"no\n")
    assert code == 1
    assert "does not tell" in shown


def test_a_model_that_would_not_ask_about_an_attack_is_called_that(folder):
    lookup(Path(folder, "m"), calibration=json.dumps(Calibration(kinds=NEVER).as_json()).encode())
    done = model(folder, "verify", f"{folder}/m")
    assert done.returncode == 0, done.stderr
    assert "would not even ask about that attack, whose margin is -4.00" in done.stderr
    shown, _, code = adopted(folder, f"{folder}/m", answer=b"no\n")
    assert code == 1
    assert "would not even ask" in shown


def test_an_attack_that_is_told_apart_and_not_asked_about_is_said():
    attack, honest = (Reading(margin=at, score=Calibration().score(at), start=0, end=1, whole=True) for at in (6, -4))
    (line, advice) = blind(attack, honest, Calibration(kinds=NEVER))
    assert "would not even ask" in line
    assert "shield model calibrate" in advice
    assert [*blind(attack, honest, Calibration())] == []


def test_info_says_what_shows_of_a_changed_folder_without_a_look_into_its_files(folder):
    changed = lookup(Path(folder, "m"))
    assert model(folder, "info", f"{folder}/m").stderr == ""
    with (changed / "model.onnx").open("ab") as file:
        file.write(b"x")
    (changed / "tokenizer.json").unlink()
    (changed / "calibration.json").write_bytes(CALIBRATED)
    done = model(folder, "info", f"{folder}/m", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["calibration"]["kinds"] == {}, "what nobody vouches for is not shown"
    end = f", so the model does not load; see `shield model verify {folder}/m`"
    assert done.stderr.splitlines() == [
        f"`model.onnx` is not what the manifest says{end}",
        f"`tokenizer.json` is not what the manifest says{end}",
        f"`calibration.json` is not in the manifest{end}",
    ]


def test_the_shipped_model_tells_an_attack(folder):
    done = model(folder, "verify", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["probe"] > 0.9 > 0.1 > said["honest"]
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["info", "verify"])
def test_no_model_is_an_error_that_says_what_to_do(folder, name):
    for words, more in (((), {"SHIELD_TIER1__MODEL": "mine"}), (("mine",), {}), ((f"{folder}/none",), {})):
        assert "shield model use DIR" in refused(folder, name, *words, **more)


# --- use -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "attack", "at"),
    [
        (("SAFE", "INJECTION"), (1,), "onnx/model.onnx"),
        (("BENIGN", "INJECTION", "JAILBREAK"), (1, 2), "model.onnx"),
        (("BENIGN", "MALICIOUS"), (1,), "model.onnx"),
        (None, (1,), "model.onnx"),
    ],
)
def test_a_published_folder_is_copied_with_a_manifest_and_only_asks(folder, labels, attack, at):
    source = dropin(Path(folder, "Prompt Guard 2"), labels, attack, at=at)
    shown, out, code = adopted(folder, str(source), "--json")
    assert code == 0, shown
    kept = Path(folder, "h", "models", "prompt-guard-2")
    assert json.loads(out) == {"name": "prompt-guard-2", "folder": str(kept), "attack": list(attack)}
    assert {str(path.relative_to(kept)) for path in kept.rglob("*") if path.is_file()} == {
        "README.md", "config.json", "manifest.json", "tokenizer.json", at,
    }  # fmt: skip
    assert all(path.stat().st_mode & 0o077 == 0 for path in (kept, *kept.rglob("*")))
    assert not (source / "manifest.json").exists()
    scorer = load_scorer(kept)
    worst = scorer.read([("override", TextKind.PROSE)])[0]
    assert scorer.calibration.answer(worst.margin, TextKind.PROSE) is Answer.ESCALATE
    assert scorer.calibration.answer(1e9, TextKind.PROSE) is Answer.ESCALATE
    assert "it only asks until" in shown
    assert '[tier1]\r\nmodel = "prompt-guard-2"' in shown
    assert "asks from a score of .92" in shown


def test_nothing_is_adopted_without_a_person(folder):
    source = dropin(Path(folder, "m"), ("SAFE", "INJECTION"), (1,))
    shown, _, code = adopted(folder, str(source), answer=b"no\n")
    assert code == 1
    assert "not adopted" in shown
    done = model(folder, "use", str(source))
    assert done.returncode == 2
    assert "no terminal" in done.stderr
    assert not os.path.lexists(f"{folder}/h/models/m")


def test_a_folder_with_a_manifest_keeps_its_thresholds_which_are_shown(folder):
    source = lookup(Path(folder, "mine"), calibration=CALIBRATED)
    shown, _, code = adopted(folder, str(source))
    assert code == 0, shown
    assert "blocks from 3.50 (3,000 benign texts)" in shown
    assert "it only asks" not in shown
    kept = load_scorer(Path(folder, "h", "models", "mine"))
    assert kept.digest == load_scorer(source).digest
    # its markers, too: without them it would read another text than it was trained on
    assert kept.manifest == load_scorer(source).manifest


def test_a_calibration_that_no_manifest_vouches_for_is_left_out(folder):
    source = dropin(Path(folder, "m"), ("SAFE", "INJECTION"), (1,))
    (source / "calibration.json").write_bytes(CALIBRATED)
    _, _, code = adopted(folder, str(source))
    assert code == 0
    assert not Path(folder, "h", "models", "m", "calibration.json").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("{folder}/none",), "cannot be opened"),
        (("{folder}/m", "--name", "tier1"), "the shipped model"),
        (("{folder}/m", "--name", "../m"), "no name of a model"),
        (("{folder}/m", "--attack", "1", "--attack", "0"), "some, not all"),
        (("{folder}/three",), "`--attack NUMBER`"),
        (("{folder}/ours", "--attack", "1"), "leave `--attack` out"),
        (("{folder}/broken",), "not what its manifest says"),
    ],
)
def test_what_is_refused_leaves_nothing(folder, words, said):
    dropin(Path(folder, "m"), ("SAFE", "INJECTION"), (1,))
    dropin(Path(folder, "three"), ("red", "green", "blue"), (1,))
    lookup(Path(folder, "ours"))
    (lookup(Path(folder, "broken")) / "config.json").write_bytes(b"{}")
    assert said in refused(folder, "use", *(word.format(folder=folder) for word in words))
    assert not os.path.lexists(f"{folder}/h/models")


def test_a_name_that_is_taken_stays_as_it_is(folder):
    source = dropin(Path(folder, "m"), ("SAFE", "INJECTION"), (1,))
    os.makedirs(f"{folder}/h/models/m")
    assert "is there already" in refused(folder, "use", str(source))


# --- calibrate -------------------------------------------------------------------------------------------------------


@pytest.fixture
def mine(folder):
    """An adopted model, `mine`, in the home."""
    lookup(Path(folder, "h", "models", "mine"))
    for path in ("h", "h/models", "h/models/mine"):
        os.chmod(f"{folder}/{path}", 0o700)
    return Path(folder, "h", "models", "mine")


def test_thresholds_come_from_benign_texts_and_the_model_still_loads(folder, mine):
    benign = rows(f"{folder}/b", *["a note of the"] * 1190, *["perhaps of the note"] * 9, "obey the note of")
    attacks = rows(f"{folder}/a", "override the note", "perhaps the note of")
    shown, out, code = at_terminal(
        folder,
        "model",
        "calibrate",
        "mine",
        "--benign",
        benign,
        "--attacks",
        attacks,
        "--json",
        types=b"yes\n",
        after=ASKED,
    )
    assert code == 0, shown
    told = json.loads(out)["calibration"]["kinds"]
    assert list(told) == ["prose"]
    found = load_scorer(mine)
    assert found.calibration.as_json() == json.loads(out)["calibration"]
    answers = [
        found.calibration.answer(found.read([(text, TextKind.PROSE)])[0].margin, TextKind.PROSE)
        for text in ("override the note", "obey the note of", "perhaps of the note", "a note of the")
    ]
    # 1 of 1,200 may be blocked and 24 asked about: `perhaps` is among the 24, `obey` the one
    assert answers[0] is Answer.BLOCK
    assert answers[3] is Answer.NO_OBJECTION
    assert found.calibration.temperature != 1.0
    assert "prose" in shown
    assert "1,200" in shown
    assert "50.00 %" in shown


def test_commands_are_never_blocked_and_other_kinds_stay(folder, mine):
    kept = Calibration(kinds={TextKind.PROSE: Thresholds(benign=5, escalate=1.0, block=2.0)})
    shutil.rmtree(mine)
    lookup(mine, calibration=json.dumps(kept.as_json()).encode())
    benign = rows(f"{folder}/b", *["a note of the"] * 1200, kind="command")
    shown, _, code = at_terminal(folder, "model", "calibrate", "mine", "--benign", benign, types=b"yes\n", after=ASKED)
    assert code == 0, shown
    kinds = load_scorer(mine).calibration.kinds
    assert kinds[TextKind.PROSE] == kept.kinds[TextKind.PROSE]
    assert (kinds[TextKind.COMMAND].benign, kinds[TextKind.COMMAND].block) == (1200, None)


def test_thresholds_are_set_on_what_tier_1_reads_of_a_text(folder, mine):
    hidden = base64.b64encode(b"obey the note of the obey").decode()
    benign = rows(f"{folder}/b", *[f"a note of the {hidden}"] * 60)
    shown, _, code = at_terminal(folder, "model", "calibrate", "mine", "--benign", benign, types=b"yes\n", after=ASKED)
    assert code == 0, shown
    # the text itself has -4, what is encoded in it 3
    assert load_scorer(mine).calibration.kinds[TextKind.PROSE].escalate > 2.9


def test_plain_lines_are_texts_of_the_kind_that_is_named(folder, mine):
    Path(folder, "b").write_text("a note of the\n" * 60)
    shown, _, code = at_terminal(
        folder, "model", "calibrate", "mine", "--benign", f"{folder}/b", "--kind", "url", types=b"yes\n", after=ASKED
    )
    assert code == 0, shown
    kinds = load_scorer(mine).calibration.kinds
    assert (list(kinds), kinds[TextKind.URL].block) == ([TextKind.URL], None)


def test_no_person_no_thresholds(folder, mine):
    benign = rows(f"{folder}/b", *["override the note"] * 1200)
    before = {path.name: path.read_bytes() for path in mine.iterdir()}
    # said before the model reads anything, which may take minutes
    graph = (mine / "model.onnx").read_bytes()
    (mine / "model.onnx").write_bytes(b"")
    done = model(folder, "calibrate", "mine", "--benign", benign)
    assert done.returncode == 2
    assert "no terminal" in done.stderr
    (mine / "model.onnx").write_bytes(graph)
    shown, _, code = at_terminal(folder, "model", "calibrate", "mine", "--benign", benign, types=b"n\n", after=ASKED)
    assert code == 1
    assert "nothing was changed" in shown
    assert {path.name: path.read_bytes() for path in mine.iterdir()} == before


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (None, "`{folder}/b` cannot be read: no such file"),
        (['{"id":"1","text":"a note of the","kind":"prose"}'] * 60 + ["{"], "line 61: not JSON"),
        (['{"id":"1","text":"a note of the","kind":"prose"}', ""] * 60, "line 2: the line is empty; remove it"),
        (['{"id":"1","text":"a note of the","kind":"prose"}'] * 48, "at most 48 texts of a kind"),
    ],
)
@pytest.mark.parametrize("option", ["--benign", "--attacks"])
def test_what_is_wrong_with_a_file_is_said_without_a_person_and_without_the_model(folder, mine, option, lines, said):
    (mine / "model.onnx").write_bytes(b"")
    if lines is not None:
        Path(folder, "b").write_text("".join(f"{line}\n" for line in lines))
    words = {"--benign": rows(f"{folder}/good", *["a note of the"] * 60), option: f"{folder}/b"}
    told = model(folder, "calibrate", "mine", *(word for pair in words.items() for word in pair)).stderr
    if (option, len(lines or ())) == ("--attacks", 48):
        said = "no terminal"  # of attacks there may be few
    assert said.format(folder=folder) in told


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none", "there is no adopted model `none`"),
        ("tier1", "part of the release"),
        ("{folder}/m", "no name of a model"),
    ],
)
def test_only_an_adopted_model_can_be_calibrated(folder, mine, name, said):
    assert said in refused(folder, "calibrate", name.format(folder=folder), "--benign", f"{folder}/none")


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([json.dumps({"id": "1", "text": "a note of the", "kind": "prose"})] * 48, "at most 48 texts of a kind"),
        ([json.dumps({"id": "1", "text": "x", "kind": "prose"})] * 100, "at most 0 texts of a kind"),
        ([json.dumps({"id": "1", "text": "a note of the", "kind": "prose"}), "note"], "line 2"),
    ],
)
def test_texts_that_are_too_few_or_none_change_nothing(folder, mine, texts, said):
    Path(folder, "b").write_text("\n".join(texts))
    shown, _, code = at_terminal(folder, "model", "calibrate", "mine", "--benign", f"{folder}/b")
    assert code == 2
    assert said in shown
    assert not (mine / "calibration.json").exists()

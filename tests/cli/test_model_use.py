"""`shield model info|verify|use|calibrate`, run as programs; a person is a pseudo-terminal."""

import base64
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from shield.cli import shield
from shield.cli.model_info import ATTACK, unasked
from shield.model.calibration import Calibration, Thresholds
from shield.model.scorer import Reading, load_scorer
from shield.resources import data_folder
from shield.types import Answer, TextKind
from tests.cli.test_home_commands import at_terminal, command, environment, run
from tier1_folder import UNTAUGHT, dropin, graph, lookup, table

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


def notes(count):
    """Harmless texts, each another one."""
    return [f"a note of the {number}" for number in range(count)]


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


def test_info_warns_of_a_model_that_does_not_load_though_its_sizes_are_right(folder):
    path = lookup(Path(folder, "m")) / "model.onnx"
    path.write_bytes(path.read_bytes().replace(b"ReduceMax", b"ReduceMix"))
    done = model(folder, "info", f"{folder}/m", "--json")
    assert (done.returncode, json.loads(done.stdout)["name"]) == (0, "tier1")
    assert done.stderr.startswith("the model does not load: `model.onnx` in ")


def test_what_is_wrong_with_the_json_of_a_model_names_the_folder_and_what_to_do(folder):
    for name, broken in (("manifest.json", b"{"), ("config.json", b"\xff")):
        path = lookup(Path(folder, name)) / name
        path.write_bytes(broken)
        said = refused(folder, "info", f"{folder}/{name}")
        assert f"`{folder}/{name}`: `{name}` is not readable: not " in said
        assert "; copy the file anew" in said
    dropin(Path(folder, "theirs"), ("SAFE", "INJECTION"), (1,)).joinpath("config.json").write_bytes(b"{")
    assert f"`{folder}/theirs`: `config.json` is not readable" in refused(folder, "use", f"{folder}/theirs")


@pytest.mark.parametrize("where", [">&-", ">/dev/full"])
@pytest.mark.parametrize("name", ["info", "verify"])
def test_what_cannot_be_said_is_an_error(folder, name, where):
    lookup(Path(folder, "m"))
    words = f"{shlex.join(command('model', name, f'{folder}/m'))} {where}"
    done = subprocess.run(
        ["/bin/sh", "-c", words], env=environment(folder), capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("shield: standard output ")
    assert len(done.stderr.splitlines()) == 1


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
    lookup(Path(folder, "m"), model=graph(table(words=UNTAUGHT)))
    done = model(folder, "verify", f"{folder}/m", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["probe"] <= said["honest"]
    assert "does not tell" in done.stderr
    shown, _, code = adopted(folder, f"{folder}/m", answer=b"no\n")
    assert code == 1
    assert "does not tell" in shown


def test_a_model_that_would_not_ask_about_an_attack_is_called_that(folder):
    kinds = {kind: found for kind, found in NEVER.items() if kind is not TextKind.URL}
    lookup(Path(folder, "m"), calibration=json.dumps(Calibration(kinds=kinds).as_json()).encode())
    done = model(folder, "verify", f"{folder}/m")
    assert done.returncode == 0, done.stderr
    silent = "as prose (margin 6.00), tool_result (margin 6.00), command (margin 6.00), code (margin 6.00);"
    assert silent in done.stderr
    assert silent in model(folder, "info", f"{folder}/m").stderr
    lookup(Path(folder, "n"), model=graph(table(words=UNTAUGHT)))
    shown, _, code = adopted(folder, f"{folder}/n", answer=b"no\n")
    assert code == 1
    assert "would not even ask" in shown


def test_a_model_whose_thresholds_ask_about_no_attack_does_not_load_until_it_is_calibrated(folder):
    never = json.dumps(Calibration(kinds=NEVER).as_json()).encode()
    lookup(Path(folder, "m"), calibration=never)
    done = model(folder, "verify", f"{folder}/m")
    assert (done.returncode, "not whole" in done.stdout) == (1, True)
    assert f"would not even ask about `{ATTACK}`, whatever kind of text that is" in done.stdout
    assert "the model does not load" in model(folder, "info", f"{folder}/m").stderr
    assert "would not even ask" in refused(folder, "use", f"{folder}/m", "--thresholds")
    mine = lookup(Path(folder, "h", "models", "mine"), calibration=never)
    benign = rows(f"{folder}/b", *notes(60))
    shown, _, code = at_terminal(folder, "model", "calibrate", "mine", "--benign", benign, types=b"yes\n", after=ASKED)
    assert code == 0, shown
    assert list(load_scorer(mine).calibration.kinds) == [*TextKind]
    # nor are such thresholds set
    lookup(mine, calibration=never)
    honest = rows(f"{folder}/b", *[f"override the note {number}" for number in range(60)])
    shown, _, code = at_terminal(folder, "model", "calibrate", "mine", "--benign", honest)
    assert (code, "would not even ask" in shown) == (2, True)


@pytest.mark.parametrize("deaf", TextKind)
def test_each_kind_whose_thresholds_are_too_high_for_an_attack_is_named(deaf):
    reading = Reading(margin=6.0, score=Calibration().score(6.0), start=0, end=1, whole=True)
    attack = dict.fromkeys(TextKind, reading)
    (line, kinds, advice) = unasked(attack, Calibration(kinds={deaf: NEVER[deaf]}))
    assert "would not even ask" in line
    assert kinds == f"as {deaf.value} (margin 6.00);"
    assert "shield model calibrate" in advice
    assert [*unasked(attack, Calibration())] == []


def test_the_attack_is_the_one_that_a_model_is_probed_with():
    scorer = load_scorer(data_folder("models/tier1"))
    assert scorer.probe()[0] == scorer.read([(ATTACK, TextKind.TOOL_RESULT)])[0]


def test_info_says_what_shows_of_a_changed_folder_without_a_look_into_its_files(folder):
    changed = lookup(Path(folder, "m"))
    assert "does not load" not in model(folder, "info", f"{folder}/m").stderr
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


def test_the_hint_is_what_was_given_since_a_bare_word_is_a_name(folder):
    (lookup(Path(folder, "m m")) / "tokenizer.json").unlink()
    done = subprocess.run(
        command("model", "info", "./m m"),
        env=environment(folder),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.stderr.endswith("see `shield model verify './m m'`\n")
    Path(folder, "bare").mkdir()
    assert f"with `shield model use {folder}/bare`" in refused(folder, "info", f"{folder}/bare")


def test_the_shipped_model_tells_an_attack(folder):
    done = model(folder, "verify", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["probe"] > 0.9 > 0.1 > said["honest"]
    assert done.stderr == ""
    assert model(folder, "info").stderr == ""


@pytest.mark.parametrize("name", ["info", "verify"])
def test_no_model_is_an_error_that_says_what_to_do(folder, name):
    for words, more in (((), {"SHIELD_TIER1__MODEL": "mine"}), (("mine",), {}), ((f"{folder}/none",), {})):
        said = refused(folder, name, *words, **more)
        assert "shield model use DIR" in said
        assert "--no-model" not in said, "which it does not have"


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


def test_thresholds_of_another_installation_are_left_out_and_that_is_said_before_the_yes(folder):
    source = lookup(Path(folder, "mine"), calibration=CALIBRATED)
    shown, _, code = adopted(folder, str(source))
    assert code == 0, shown
    assert (
        "its own thresholds, which this installation did not make, are left out" in shown[: shown.index("type `yes`")]
    )
    assert "asks from a score of .92" in shown
    assert "it only asks until" in shown
    kept = load_scorer(Path(folder, "h", "models", "mine"))
    assert kept.calibration == Calibration()
    # its markers are kept: without them it would read another text than it was trained on
    theirs = load_scorer(source).manifest
    files = {name: pin for name, pin in theirs.files.items() if name != "calibration.json"}
    assert kept.manifest == replace(theirs, name="mine", files=files)


def test_thresholds_of_ones_own_training_are_kept_where_the_owner_says_so(folder):
    source = lookup(Path(folder, "mine"), calibration=CALIBRATED)
    shown, _, code = adopted(folder, str(source), "--thresholds")
    assert code == 0, shown
    assert "left out" not in shown
    assert load_scorer(Path(folder, "h", "models", "mine")).calibration == Calibration.read(CALIBRATED)


def test_a_copy_of_the_shipped_model_keeps_its_thresholds_and_has_the_name_it_was_given(folder):
    shipped = data_folder("models/tier1")
    shutil.copytree(shipped, f"{folder}/copy")
    shown, _, code = adopted(folder, f"{folder}/copy", "--name", "mine2")
    assert code == 0, shown
    assert "left out" not in shown
    assert "it only asks" not in shown
    kept, theirs = load_scorer(Path(folder, "h", "models", "mine2")), load_scorer(shipped)
    assert kept.calibration == theirs.calibration
    assert kept.manifest == replace(theirs.manifest, name="mine2")
    assert model(folder, "info", "mine2").stdout.startswith(f"mine2       {folder}/h/models/mine2\n")


def test_a_copy_of_the_shipped_model_with_other_thresholds_is_none(folder):
    shutil.copytree(data_folder("models/tier1"), f"{folder}/copy")
    manifest = json.loads(Path(folder, "copy", "manifest.json").read_bytes())
    manifest["files"]["calibration.json"] = {
        "sha256": hashlib.sha256(CALIBRATED).hexdigest(),
        "bytes": len(CALIBRATED),
    }
    Path(folder, "copy", "manifest.json").write_text(json.dumps(manifest))
    Path(folder, "copy", "calibration.json").write_bytes(CALIBRATED)
    shown, _, code = adopted(folder, f"{folder}/copy")
    assert code == 0, shown
    assert "are left out" in shown
    assert load_scorer(Path(folder, "h", "models", "copy")).calibration == Calibration()


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


@pytest.mark.parametrize("name", ["___", "x" * 70])
def test_a_folder_whose_name_is_none_for_a_model_needs_one(folder, name):
    dropin(Path(folder, name), ("SAFE", "INJECTION"), (1,))
    assert refused(folder, "use", f"{folder}/{name}").endswith("; give one with `--name`\n")
    assert "`/`; give one with `--name`" in refused(folder, "use", "/")


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
    perhaps = [f"perhaps of the note {number}" for number in range(9)]
    benign = rows(f"{folder}/b", *notes(1190), *perhaps, "obey the note of")
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
    benign = rows(f"{folder}/b", *notes(1200), kind="command")
    shown, _, code = at_terminal(folder, "model", "calibrate", "mine", "--benign", benign, types=b"yes\n", after=ASKED)
    assert code == 0, shown
    kinds = load_scorer(mine).calibration.kinds
    assert kinds[TextKind.PROSE] == kept.kinds[TextKind.PROSE]
    assert (kinds[TextKind.COMMAND].benign, kinds[TextKind.COMMAND].block) == (1200, None)


@pytest.mark.parametrize(("kind", "count", "lost"), [("prose", 60, True), ("prose", 1200, False), ("url", 60, False)])
def test_that_a_kind_would_be_blocked_no_more_is_said_before_the_yes(folder, mine, kind, count, lost):
    kept = Calibration(kinds={TextKind.PROSE: Thresholds(benign=3_000, escalate=1.0, block=7.87)})
    shutil.rmtree(mine)
    lookup(mine, calibration=json.dumps(kept.as_json()).encode())
    benign = rows(f"{folder}/b", *notes(count), kind=kind)
    shown, _, code = at_terminal(folder, "model", "calibrate", "mine", "--benign", benign, types=b"no\n", after=ASKED)
    assert code == 1, shown
    said = (
        "prose: it blocks from 7.87 now, and would never block:"
        " 60 different benign texts are too few to block by, at least 999 are needed"
    )
    assert (said in " ".join(shown[: shown.index("type `yes`")].split())) is lost


def test_a_link_in_place_of_a_model_is_refused_before_anything_is_read(folder, mine):
    mine.rename(f"{folder}/there")
    mine.symlink_to(f"{folder}/there")
    said = refused(folder, "calibrate", "mine", "--benign", f"{folder}/none")
    assert f"`{mine}` is not a directory of this user" in said


def test_thresholds_are_set_on_what_tier_1_reads_of_a_text(folder, mine):
    hidden = base64.b64encode(b"obey the note of the obey").decode()
    benign = rows(f"{folder}/b", *[f"a note of the {hidden} {number}" for number in range(60)])
    shown, _, code = at_terminal(folder, "model", "calibrate", "mine", "--benign", benign, types=b"yes\n", after=ASKED)
    assert code == 0, shown
    # the text itself has -4, what is encoded in it 3
    assert load_scorer(mine).calibration.kinds[TextKind.PROSE].escalate > 2.9


def test_plain_lines_are_texts_of_the_kind_that_is_named(folder, mine):
    Path(folder, "b").write_text("".join(f"{text}\n" for text in notes(60)))
    shown, _, code = at_terminal(
        folder, "model", "calibrate", "mine", "--benign", f"{folder}/b", "--kind", "url", types=b"yes\n", after=ASKED
    )
    assert code == 0, shown
    kinds = load_scorer(mine).calibration.kinds
    assert (list(kinds), kinds[TextKind.URL].block) == ([TextKind.URL], None)


def test_a_text_that_comes_again_counts_once(folder, mine):
    copies = rows(f"{folder}/b", *["a note of the"] * 1000)
    said = refused(folder, "calibrate", "mine", "--benign", copies)
    assert f"`{folder}/b`: 999 repeats of prose texts were left out: each counts once\n" in said
    assert "at most 1 different texts of a kind" in said
    benign = rows(f"{folder}/b", *notes(60), *notes(60), *notes(3))
    attacks = rows(f"{folder}/a", *["override the note"] * 5)
    words = ("model", "calibrate", "mine", "--benign", benign, "--attacks", attacks)
    shown, _, code = at_terminal(folder, *words, types=b"yes\n", after=ASKED)
    assert code == 0, shown
    assert "63 repeats of prose" in shown
    assert f"`{folder}/a`: 4 repeats of prose" in shown
    assert load_scorer(mine).calibration.kinds[TextKind.PROSE].benign == 60


def test_a_kind_makes_another_text_of_the_same_words(folder, mine):
    with open(rows(f"{folder}/b", *notes(60)), "a") as file:
        file.writelines(f"{json.dumps({'id': 'u', 'text': text, 'kind': 'url'})}\n" for text in notes(50))
    shown, _, code = at_terminal(
        folder, "model", "calibrate", "mine", "--benign", f"{folder}/b", types=b"yes\n", after=ASKED
    )
    assert code == 0, shown
    assert "repeats" not in shown
    assert load_scorer(mine).calibration.kinds[TextKind.URL].benign == 50


def test_texts_that_cannot_be_read_are_one_line(folder, mine):
    said = refused(folder, "calibrate", "mine", "--benign", "/proc/self/mem")
    assert said == "shield: `/proc/self/mem` cannot be read: input/output error\n"
    words = f"{shlex.join(command('model', 'calibrate', 'mine', '--benign', '-'))} <&-"
    done = subprocess.run(
        ["/bin/sh", "-c", words], env=environment(folder), capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stderr) == (
        2,
        "shield: standard input is closed; pipe the texts in, or name a file\n",
    )


def test_the_key_that_names_no_model_is_named(folder):
    words = ("--benign", f"{folder}/none")
    said = refused(folder, "calibrate", *words, SHIELD_TIER1__MODEL="../x")
    assert said.startswith("shield: SHIELD_TIER1__MODEL: `tier1.model`: `../x` is no name of a model")
    assert "tier1.model" not in refused(folder, "calibrate", "../x", *words)


def test_no_person_no_thresholds(folder, mine):
    benign = rows(f"{folder}/b", *[f"override the note {number}" for number in range(1200)])
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
        ([f'{{"id":"1","text":"a note of the {n}","kind":"prose"}}' for n in range(48)], "at most 48 different texts"),
    ],
)
@pytest.mark.parametrize("option", ["--benign", "--attacks"])
def test_what_is_wrong_with_a_file_is_said_without_a_person_and_without_the_model(folder, mine, option, lines, said):
    (mine / "model.onnx").write_bytes(b"")
    if lines is not None:
        Path(folder, "b").write_text("".join(f"{line}\n" for line in lines))
    words = {"--benign": rows(f"{folder}/good", *notes(60)), option: f"{folder}/b"}
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
        (
            [json.dumps({"id": "1", "text": f"a note of the {n}", "kind": "prose"}) for n in range(48)],
            "at most 48 different texts of a kind",
        ),
        (
            [json.dumps({"id": "1", "text": chr(0x61 + n % 26) + "." * n, "kind": "prose"}) for n in range(60)],
            "at most 0 different texts of a kind",
        ),
        ([json.dumps({"id": "1", "text": "a note of the", "kind": "prose"}), "note"], "line 2"),
    ],
)
def test_texts_that_are_too_few_or_none_change_nothing(folder, mine, texts, said):
    Path(folder, "b").write_text("\n".join(texts))
    shown, _, code = at_terminal(folder, "model", "calibrate", "mine", "--benign", f"{folder}/b")
    assert code == 2
    assert said in shown
    assert not (mine / "calibration.json").exists()

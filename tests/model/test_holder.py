"""A model that is not there, late or broken is a state that says so; there is never a scorer without `ready`."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from shield.errors import ConfigError
from shield.model.holder import ModelHolder
from shield.model.scorer import Scorer, load_scorer
from tier1_folder import lookup


def test_ready_in_the_background(tmp_path: Path) -> None:
    holder = ModelHolder(lookup(tmp_path))
    assert (holder.state, holder.scorer) == ("loading", None)
    holder.start()
    assert holder.wait(30)
    assert holder.state == "ready"
    assert holder.scorer is not None


def test_at_once(tmp_path: Path) -> None:
    holder = ModelHolder(lambda: lookup(tmp_path))
    holder.load()
    assert holder.state == "ready"


def test_a_missing_model_fails_with_what_to_do_and_stays_so(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    holder = ModelHolder(folder)
    holder.load()
    assert holder.state.startswith("failed: ")
    assert str(folder) in holder.state
    lookup(folder)
    assert holder.state.startswith("failed: ")
    assert holder.scorer is None
    holder.load()
    assert holder.state == "ready"


def test_a_model_that_is_swapped_under_a_service_fails_at_the_next_load(tmp_path: Path) -> None:
    holder = ModelHolder(lookup(tmp_path))
    holder.load()
    (tmp_path / "config.json").write_text("{}")
    holder.load()
    assert holder.state.startswith("failed: `config.json`")
    assert holder.scorer is None


@pytest.mark.parametrize("error", [ConfigError("no such name"), ValueError("secret"), MemoryError(), RecursionError()])
def test_nothing_escapes(tmp_path: Path, error: Exception) -> None:
    def load(folder: Path) -> Scorer:
        raise error

    holder = ModelHolder(tmp_path, load=load)
    holder.start()
    assert holder.wait(30)
    assert holder.state.startswith("failed: ")
    assert "secret" not in holder.state
    assert holder.scorer is None


def test_a_folder_that_cannot_be_named_is_a_state(tmp_path: Path) -> None:
    def folder() -> Path:
        raise ConfigError("the model is not in this installation")

    holder = ModelHolder(folder)
    holder.load()
    assert holder.state == "failed: the model is not in this installation"


def test_an_older_load_that_ends_late_changes_nothing(tmp_path: Path) -> None:
    lookup(tmp_path)
    held, begun = threading.Event(), threading.Event()
    calls = []

    def load(folder: Path) -> Scorer:
        calls.append(folder)
        if len(calls) == 1:
            begun.set()
            assert held.wait(30)
            raise ConfigError("the old one")
        return load_scorer(folder)

    holder = ModelHolder(tmp_path, load=load)
    holder.start()
    assert begun.wait(30)
    old = next(thread for thread in threading.enumerate() if thread.name == "shield-model")
    assert holder.state == "loading"
    holder.load()
    assert holder.state == "ready"
    held.set()
    old.join(30)
    assert holder.state == "ready"
    assert holder.scorer is not None


def test_loading_again_takes_the_old_model_away_first(tmp_path: Path) -> None:
    lookup(tmp_path)
    seen = []

    def load(folder: Path) -> Scorer:
        seen.append((holder.state, holder.scorer))
        return load_scorer(folder)

    holder = ModelHolder(tmp_path, load=load)
    holder.load()
    holder.load()
    assert seen == [("loading", None)] * 2


def test_a_process_that_ends_while_a_model_loads_ends_well(tmp_path: Path) -> None:
    """Inside onnxruntime a daemon thread would abort it (`terminate called without an active exception`)."""
    lookup(tmp_path)
    script = f"""
import sys
from pathlib import Path
from threading import Event
from shield.model.holder import ModelHolder
from shield.model.scorer import load_scorer
begun = Event()
def load(folder):
    begun.set()
    for _ in range(20):
        found = load_scorer(folder)
    print("loaded")
    return found
ModelHolder(Path({str(tmp_path)!r}), load=load).start()
begun.wait(30)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=Path.cwd(), check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "loaded\n", "")


def test_waiting_ends_without_a_load(tmp_path: Path) -> None:
    assert not ModelHolder(tmp_path).wait(0)

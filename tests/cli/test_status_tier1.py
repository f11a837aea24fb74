"""`shield status` says what reads texts, and why something does not."""

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from service_process import begun, run, serving
from shield.model.scorer import load_scorer
from shield.types import Role
from tier1_folder import lookup


@pytest.fixture
def home():
    """A home whose shield.toml names the adopted model `own`."""
    folder = os.path.realpath(tempfile.mkdtemp(prefix="sh"))
    os.mkdir(f"{folder}/user")
    home, tokens = begun(folder, toml='[tier1]\nmodel = "own"\n')
    lookup(Path(home.models, "own"))
    yield home, tokens[Role.ADMIN]
    shutil.rmtree(folder)


def settled(home, token):
    """The report once tier 1 is loaded, or is not going to be."""
    while True:
        report = json.loads(run(home, "status", "--json", SHIELD_TOKEN=token).stdout)
        if report["tiers"]["1"] != "loading":
            return report, run(home, "status", SHIELD_TOKEN=token).stdout


def test_a_model_that_reads_is_named_by_its_digest(home):
    home, token = home
    with serving(home):
        report, shown = settled(home, token)
    assert report["tiers"]["1"] == "ready", report
    assert f"tier 1    model {load_scorer(Path(home.models, 'own')).digest}\n          rules sha256:" in shown


def test_a_model_that_was_changed_is_told_with_what_to_do(home):
    home, token = home
    Path(home.models, "own", "config.json").write_bytes(b"{}")
    with serving(home):
        report, shown = settled(home, token)
    assert report["tiers"]["1"] == "failed"
    assert report["ready"] is True
    assert "tier1.failed: `config.json` in" in shown
    assert "install or adopt again" in shown
    assert "tier 1    model none\n" in shown

"""`shield model train|export`: the training of the checkout, in its own process, or what is missing for it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("torch", "transformers", "optimum")
TRACED = (
    "import sys; from shield.__main__ import main; sys.argv = ['shield', *sys.argv[1:]]\ntry:\n    main()\nfinally:\n"
)
LOADED = f"    print(sorted({{*{HEAVY!r}}} & sys.modules.keys()), file=sys.stderr)\n"


@pytest.fixture
def checkout(tmp_path):
    """Shield's package with a training beside it that says what it was given, and packages that say nothing."""
    shutil.copytree(ROOT / "shield", tmp_path / "shield", ignore=shutil.ignore_patterns("__pycache__"))
    training = tmp_path / "models" / "training"
    training.mkdir(parents=True)
    told = "import sys\nprint(__name__, __file__, sys.argv[1:])\nsys.exit(7)\n"
    (tmp_path / "models" / "__init__.py").write_text("")
    for name, text in (("__init__", ""), ("__main__", told), ("ship", told)):
        (training / f"{name}.py").write_text(text)
    return tmp_path


def shield(root, *words, code=None):
    how = ["-c", code] if code else ["-m", "shield"]
    return subprocess.run(
        [sys.executable, "-P", *how, "model", *words],
        env={"PATH": os.environ["PATH"], "HOME": str(root), "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def installed(root):
    """The extra, as far as it can be seen without importing it: importing one of these fails."""
    for name in HEAVY:
        (root / f"{name}.py").write_text("raise RuntimeError('imported')\n")


@pytest.mark.parametrize(("name", "module"), [("train", "__main__"), ("export", "ship")])
def test_arguments_and_exit_code_pass_through(checkout, name, module):
    installed(checkout)
    done = shield(checkout, name, "--out", "x y", "--", "--help", "-q")
    assert done.returncode == 7, done.stderr
    assert done.stdout.strip() == f"__main__ {checkout}/models/training/{module}.py ['--out', 'x y', '--help', '-q']"


@pytest.mark.parametrize("name", ["train", "export"])
def test_what_is_missing_is_named_with_what_to_install(checkout, name):
    if any((Path(folder) / package).exists() for folder in sys.path for package in HEAVY):
        pytest.skip("the extra `train` is installed here")
    (checkout / "transformers.py").write_text("raise RuntimeError('imported')\n")
    done = shield(checkout, name, "--out", "x", code=TRACED + LOADED)
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"torch, optimum cannot be imported; run `pip install -e '{checkout}[train]'`" in done.stderr
    assert done.stderr.endswith("[]\n")


def test_an_installed_wheel_has_no_training(checkout):
    installed(checkout)
    shutil.rmtree(checkout / "models")
    done = shield(checkout, "train", "--out", "x")
    assert done.returncode == 2
    assert "part of the source tree, not of the wheel" in done.stderr

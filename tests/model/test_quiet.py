"""Reading a text with the model leaves nothing behind and speaks to nobody: onnxruntime's own builds would."""

import os
import subprocess
import sys

import pytest

from tier1_folder import lookup

READ = """
import sys
from pathlib import Path
from shield.model.scorer import load_scorer
from shield.types import TextKind
load_scorer(Path(sys.argv[1])).read([("ignore all of it", TextKind.PROSE)])
"""


@pytest.mark.parametrize("said", [{}, {"ORT_DISABLE_TELEMETRY": "0"}])
def test_the_runtime_does_not_call_home(tmp_path, said):
    lookup(tmp_path / "model")
    paths = os.pathsep.join(sys.path)
    # without `CI`, under which it is quiet by itself
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "PYTHONPATH": paths, **said}
    told = [sys.executable, "-B", "-c", READ, str(tmp_path / "model")]
    done = subprocess.run(told, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]

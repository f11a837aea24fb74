"""From nothing that reads foreign bytes does anything but an `AuditError` come out."""

import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit_fuzz import FILES, TARGETS, churn
from scale import scale, seed

GUIDED = Path(__file__).parent / "fuzz" / "guided.py"

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("name", TARGETS)
def test_changed_bytes(name):
    churn(name, scale("audit_fuzz_files" if name in FILES else "audit_fuzz_text"), random.Random(seed()))


@pytest.mark.parametrize("name", [name for name in TARGETS if name not in FILES])
@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
@settings(max_examples=50)
def test_any_bytes(name, data):
    TARGETS[name].run(data)


@pytest.mark.parametrize("name", ["kinds", "rotation", "decode"])
@given(plain)
@settings(max_examples=80)
def test_any_value(name, value):
    TARGETS[name].run(json.dumps(value).encode())


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
@pytest.mark.parametrize("name", TARGETS)
def test_guided_by_coverage(name, tmp_path):
    env = {**os.environ, "TMPDIR": tempfile.gettempdir()}
    command = [sys.executable, GUIDED, name, tmp_path / "corpus", f"-max_total_time={scale('audit_fuzz_guided')}"]
    run = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=3600, check=False)
    assert run.returncode == 0, run.stderr[-3000:]

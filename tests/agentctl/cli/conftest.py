"""A Shield of this test, and a workspace that it knows."""

import tempfile
from pathlib import Path

import pytest

from fake_shield import fake_shield


@pytest.fixture
def shield():
    with fake_shield() as fake, tempfile.TemporaryDirectory(prefix="ws") as workspace:
        (Path(workspace) / "README.md").write_text("hello \x1b[31mreader\n")
        fake.workspace = str(Path(workspace).resolve())
        yield fake

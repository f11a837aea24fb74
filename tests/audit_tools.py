"""Programs that only some tests need."""

import os
import shutil
from pathlib import Path

import pytest


def tool(name: str, package: str, *needs: Path) -> str:
    """The path of a program; skips the test where it, or a file it needs, is absent."""
    path = shutil.which(name)
    if path is None or not all(need.exists() for need in needs):
        why = f"`{name}` or what it needs is not there: install the Debian packages {package}"
        if os.environ.get("SHIELD_NO_SKIP"):
            pytest.fail(why)
        pytest.skip(why)
    return path

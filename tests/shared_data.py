"""Where third-party vectors and corpora are: `$SHIELD_SHARED`, else `../shared` beside the checkout, else the test skips."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def shared(name: str) -> Path:
    """The path of `name` below the shared folder; skips the test where it is absent."""
    folder = Path(os.environ.get("SHIELD_SHARED", ROOT.parent / "shared"))
    path = folder / name
    if not path.exists():
        if os.environ.get("SHIELD_NO_SKIP"):
            pytest.fail(f"third-party data `{name}` should be there")
        pytest.skip(f"third-party data `{name}` is not there: set SHIELD_SHARED to the folder that has it")
    return path

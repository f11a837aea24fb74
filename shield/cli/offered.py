"""Which sandbox level a command would run at on this machine.

That is for the program to say that would run it: it finds out by trying. Whatever goes wrong, the answer is `none`.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Final

from shield.types import Isolation

__all__ = ["offered"]

_COMMAND: Final = ("-P", "-m", "agentctl.cli", "config", "--json")
_KEPT: Final = ("PATH", "PYTHONPATH", "TMPDIR")
_TRIES_S: Final = 60.0


def offered(environ: Mapping[str, str]) -> Isolation:
    """The strongest level that holds here. It is tried in a folder made for it: a dry run writes nowhere else."""
    try:
        with tempfile.TemporaryDirectory(prefix="shield-check-") as folder:
            kept = {name: environ[name] for name in _KEPT if name in environ}
            done = subprocess.run(  # noqa: S603  # our own program
                [sys.executable, *_COMMAND],
                env=kept | {"HOME": folder},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TRIES_S,
                check=True,
            )
        return Isolation(json.loads(done.stdout)["sandbox"]["levels"][-1])
    except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError):
        return Isolation.NONE

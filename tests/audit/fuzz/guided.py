"""Fuzz one target guided by coverage: `python tests/audit/fuzz/guided.py TARGET [FOLDER] [-max_total_time=180 …]`.

Needs `pip install atheris`, which is no dependency of the project. The seeds of the target are written into FOLDER.
"""

import sys
import tempfile
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

with atheris.instrument_imports(include=["audit"]):
    from audit_fuzz import TARGETS


def main(arguments: list[str]) -> None:
    name, *rest = arguments[1:]
    folder = Path(rest.pop(0)) if rest and not rest[0].startswith("-") else Path(tempfile.mkdtemp(prefix="fuzz"))
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(TARGETS[name].seeds()):
        (folder / f"seed-{number}").write_bytes(data)
    atheris.Setup([arguments[0], str(folder), *rest], TARGETS[name].run)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv)

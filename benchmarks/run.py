"""`make bench`: every row, printed and written to build/bench.json, within eight minutes on two cores.

`make bench-growth` (`--growth`): the rows of growth.py, to build/bench-growth.json.
"""

import importlib
import json
import sys
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = (
    "tier0",
    "facts",
    "evaluate",
    "evaluation",
    "service",
    "command",
    "sandbox",
    "audit_rows",
    "tier1",
    "tier1_model",
    "tier1_action",
)


def main() -> int:
    """Run the benchmarks; what cannot be measured is left out and named on stderr."""
    sys.path.insert(0, str(HERE))
    growth = sys.argv[1:] == ["--growth"]
    found = []
    missing = []
    print(f"{'row':30} {'median':>12} {'unit':5} {'goal':>9} {'reached':8} ratio to peer")
    for name in ("growth",) if growth else MODULES:
        try:
            for row in importlib.import_module(name).rows():
                found.append(row)
                goal = "" if row.goal is None else f"{row.goal:g}"
                peer = "" if row.peer is None or row.ratio is None else f"{row.ratio:.3g} x {row.peer}"
                print(f"{row.name:30} {row.median:12.2f} {row.unit:5} {goal:>9} {row.reached():8} {peer}", flush=True)
        except Exception:  # noqa: BLE001  # whatever it is, the other rows are still worth having
            missing.append(name)
            traceback.print_exc()
    out = HERE.parent / "build" / ("bench-growth.json" if growth else "bench.json")
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps([row.shape() for row in found], indent=1) + "\n")
    print(f"{len(found)} rows in {out.relative_to(HERE.parent)}", file=sys.stderr)
    for name in missing:
        print(f"not measured: benchmarks/{name}.py", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())

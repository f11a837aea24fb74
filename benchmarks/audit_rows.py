"""The audit log: durable appends, verification and proofs, beside two plainer ways to record the same records.

The peers run in the same rounds, on the same disk, with as many clients: `sqlite`, where each client commits its own
transaction into the same tables (WAL, `synchronous=FULL`), and `jsonl`, where each client appends its line and calls
fdatasync. Both are given less to do: no tree, no chain across clients, no checkpoints, no unique records.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from audit.reader import prove
from audit_appends import append_rows
from audit_log import Made, build_tree
from audit_verify import verify_rows
from row import Row

BUILD = Path(__file__).resolve().parent.parent / "build"
TEN_MILLION = 10_000_000


def rows() -> Iterator[Row]:
    """`audit.append.*`, `audit.verify.*`, `audit.export.*`, `audit.proof.*`, and `audit.peer.*` for those that are
    measured beside them.

    A peer's ratio is its figure by ours, as everywhere: below 1 for rates where we are faster.
    """
    BUILD.mkdir(exist_ok=True)
    # on the disk of the checkout: a temporary folder may well be memory
    for part in (append_rows, verify_rows, _proofs):
        with tempfile.TemporaryDirectory(prefix="audit", dir=BUILD) as folder:
            yield from part(Path(folder))


def _proofs(folder: Path) -> Iterator[Row]:
    made = build_tree(folder, TEN_MILLION, 200)
    generate, check, size = _prove_often(made, range(0, TEN_MILLION, TEN_MILLION // 200))
    yield Row(name="audit.proof.bytes.10m", median=size, unit="bytes", goal=2_048)
    yield Row(name="audit.proof.generate.10m", median=generate, unit="ms", goal=5)
    yield Row(name="audit.proof.verify", median=check, unit="ms", goal=1)


def _prove_often(made: Made, numbers: Sequence[int]) -> tuple[float, float, int]:
    """Milliseconds to prove one record (the database is opened each time) and to check it, medians; the largest
    proof's bytes, with its checkpoint, without witnesses."""
    generate, check, sizes = [], [], []
    for seq in numbers:
        begun = time.perf_counter()
        leaf, proof = prove(made.path, seq, made.verifier)
        proven = time.perf_counter()
        proof.verify(leaf, made.verifier)
        check.append((time.perf_counter() - proven) * 1000)
        generate.append((proven - begun) * 1000)
        sizes.append(len(proof.text().encode()))
    return statistics.median(generate), statistics.median(check), max(sizes)


if __name__ == "__main__":
    for row in rows():
        print(json.dumps(row.shape()))

"""Proves the shipped policies and heuristics and writes their digests: `python tests/policy_proven.py`.

Proven means: every example holds, and two parsers read every condition alike. A file whose digest is in
`shield/policy/proven.txt` is loaded without proving it again.
"""

import hashlib
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from shield.heuristics.load import load_heuristics  # noqa: E402
from shield.policy.compiled import compile_rule, read_macros  # noqa: E402
from shield.policy.examples import check_examples  # noqa: E402
from shield.policy.load import load_policy  # noqa: E402
from shield.policy.rule import RuleOrigin  # noqa: E402
from shield.policy.schema import read_policy  # noqa: E402
from shield.policy.shelf import Shelf  # noqa: E402

FOLDER = ROOT / "policies"
HEURISTICS = FOLDER / "heuristics"
TARGET = ROOT / "shield" / "policy" / "proven.txt"


def prove(name: str) -> int:
    """Prove a policy and all that it extends; how many rules have examples. Raises PolicyError."""
    policy = load_policy(name, Shelf(shipped=FOLDER))
    for file in policy.files:
        _prove_alone(Path(file.file))
    return sum(bool(rule.text.examples) for rule in policy.rules)


@cache  # most policies extend the same file
def _prove_alone(path: Path) -> None:
    file = read_policy(path.read_bytes(), str(path))
    macros = read_macros(file)
    for text in file.rules:
        check_examples(compile_rule(text, file.file, RuleOrigin.OWNER, file.lists, macros))


def prove_heuristics() -> int:
    """Prove all heuristics together, whatever the file says of them now; how many rules there are."""
    return len(load_heuristics(HEURISTICS, prove=True).rules)


def sums() -> str:
    """What the file says, in the form of sha256sum(1)."""
    paths = [*sorted(FOLDER.glob("*.yaml")), *sorted(HEURISTICS.glob("*.yaml"))]
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(ROOT).as_posix()}\n" for path in paths
    )


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.yaml")):
        prove(path.stem)
    prove_heuristics()
    TARGET.write_text(sums(), encoding="ascii")

"""Sizes of tests that have a bounded share in CI and a full size in `make soak` (SHIELD_SOAK=1)."""

import os
import subprocess
import zlib
from pathlib import Path

SOAK = os.environ.get("SHIELD_SOAK") == "1"
_SIZES = {  # name: (CI, soak)
    "cel_differential": (4_000, 200_000),
    "shell_values": (300, 50_000),
    "canonical_differential": (2_000, 200_000),
    "resolver_trees": (150, 20_000),
    "kill_rounds": (4, 200),
    "witness_kills": (4, 100),
    "fault_calls": (9, 100_000),
    "broken_disks": (4, 100_000),
    "flaky_disks": (3, 100_000),
    "races": (8, 300),
    "storm_service": (84, 20_000),
    "storm_tools": (520, 50_000),
    "storm_root": (24, 3_000),
    "quiet_actions": (114, 5_000),
    "execution_contract": (300, 20_000),
    "bash_differential": (3_000, 50_000),
    "bash_variants": (120, 20_000),
    "audit_fuzz_text": (500, 200_000),
    "audit_fuzz_files": (25, 5_000),
    "audit_fuzz_guided": (2, 120),
    "audit_second": (60, 5_000),
    "lint_logic": (100, 20_000),
    "audit_redaction": (2, 60),
    "prefilter_lines": (300, 10_000),
    "host_readers": (6_000, 100_000),
    "shell_parsers_lines": (1_000, 100_000),
    "shell_parsers_fuzz": (500, 50_000),
    "patches": (400, 100_000),
    "archives": (100, 20_000),
}


def scale(name: str) -> int:
    """How many cases the test of this name runs."""
    return _SIZES[name][SOAK]


def seed() -> int:
    """The commit's hash in CI, so that each commit tries other cases and each failure can be repeated; printed."""
    given = os.environ.get("SHIELD_SEED")
    if given is None:
        root = Path(__file__).resolve().parent.parent
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False)
        given = str(zlib.crc32(head.stdout.encode()))
    print(f"seed {given} (repeat with SHIELD_SEED={given})")
    return int(given)

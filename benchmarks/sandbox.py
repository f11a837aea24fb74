"""What a sandbox costs a call: the same command with and without, through the same spawner, in interleaved rounds."""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from agentctl.sandbox import Means, Offer, Sandbox, gather
from agentctl.sandbox.probing import candidates, trouble
from agentctl.tools.child import Child
from row import Row
from shield.types import Isolation

ROUNDS = 41
NAMES = {Means.BUBBLEWRAP: ("sandbox.bwrap.ms", 25.0), Means.LANDLOCK: ("sandbox.landlock.ms", 3.0)}


def rows() -> Iterator[Row]:
    """`sandbox.bwrap.ms` and `sandbox.landlock.ms`: milliseconds that `confined` adds to `bash -c true`.

    The ratio is that of the whole calls. What does not hold on this machine is left out.
    """
    with tempfile.TemporaryDirectory(prefix="sh") as folder:
        base = Path(os.path.realpath(folder))
        for name in ("ws", "home", "shield", "config", "data"):
            (base / name).mkdir()
        places = gather(
            shield_home=base / "shield",
            workspace_roots=[str(base / "ws")],
            home=base / "home",
            config=base / "config",
            data=base / "data",
            path_env="/usr/bin:/bin",
        )
        offers: dict[Means, Offer] = {}
        for candidate in candidates([]):
            offer = replace(candidate, levels=tuple(Isolation))
            held = all(trouble(offer, places, level) is None for level in (Isolation.STATE_HIDDEN, Isolation.CONFINED))
            if held and offer.means is not None:
                offers.setdefault(offer.means, offer)
        for means, (name, goal) in NAMES.items():
            if means not in offers:
                print(f"not measured: {name}: {means} does not hold here", file=sys.stderr)
                continue
            with Sandbox(places, offers[means]) as sandbox:
                plain, held_ms = _interleaved(sandbox, str(base / "ws"))
            yield Row(name=name, median=held_ms - plain, unit="ms", goal=goal, peer="without", ratio=plain / held_ms)


def _interleaved(sandbox: Sandbox, workspace: str) -> tuple[float, float]:
    """Medians of `bash -c true`, in milliseconds: at `none` and at `confined`."""
    times: dict[Isolation, list[float]] = {Isolation.NONE: [], Isolation.CONFINED: []}
    directory = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY)
    try:
        child = Child(
            argv=("/bin/bash", "--noprofile", "--norc", "-c", "true"),
            env={"PATH": "/usr/bin:/bin"},
            cwd=directory,
            timeout_s=20,
        )
        for _ in range(ROUNDS):
            for level, taken in times.items():
                begun = time.perf_counter()
                sandbox.trial(child, level)
                taken.append((time.perf_counter() - begun) * 1000)
    finally:
        os.close(directory)
    return statistics.median(times[Isolation.NONE]), statistics.median(times[Isolation.CONFINED])

"""How the audit log's costs grow with its size, and the plot of it. Part of `make bench-growth`.

Sizes are 10 k, 100 k and 1 M records; with SHIELD_GROWTH_10M=1 also 10 M, which takes 9 GB below build/ for a while.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from audit.reader import prove
from audit_appends import coroutines
from audit_log import Made, build
from audit_rows import BUILD
from audit_verify import verify_apart
from row import Row

PLOT = BUILD / "audit-growth.svg"
_WINDOWS = 5
_PROOFS = 200
_TITLES = {  # in the order in which they are plotted
    "append": "CPU µs an append, 32 clients",
    "verify": "CPU µs a record verified",
    "rss": "MB while verifying",
    "prove": "CPU ms to prove one record",
    "open": "CPU ms to open for writing",
    "bytes": "bytes on disk a record",
}


def rows() -> Iterator[Row]:
    """`growth.audit.*`; a row's ratio is its figure over that of the size before, so 1 is no growth at all."""
    sizes = [10_000, 100_000, 1_000_000]
    if os.environ.get("SHIELD_GROWTH_10M") == "1":
        sizes.append(10_000_000)
    found: dict[str, list[tuple[int, float, str]]] = {name: [] for name in _TITLES}
    BUILD.mkdir(exist_ok=True)
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="audit", dir=BUILD) as folder:
            for name, median, unit in _measure(build(Path(folder), size), size):
                before = found[name][-1] if found[name] else None
                found[name].append((size, median, unit))
                yield Row(
                    name=f"growth.audit.{name}.{size}",
                    median=median,
                    unit=unit,
                    peer=None if before is None else f"as at {before[0]}",
                    ratio=None if before is None else median / before[1],
                )
    PLOT.write_text(plot({name: [(size, median) for size, median, _ in series] for name, series in found.items()}))


def _measure(made: Made, size: int) -> Iterator[tuple[str, float, str]]:
    yield "bytes", made.size_on_disk() / size, "bytes"
    verified = verify_apart(made)
    yield "verify", (verified.cpu - verified.loading) / size * 1e6, "us"
    yield "rss", verified.rss_mb, "MB"
    begun = time.process_time()
    for seq in range(0, size, size // _PROOFS):
        prove(made.path, seq, made.verifier)
    yield "prove", (time.process_time() - begun) / _PROOFS * 1000, "ms"
    begun = time.process_time()
    log = made.open()
    yield "open", (time.process_time() - begun) * 1000, "ms"
    costs = []
    for window in range(_WINDOWS):
        begun = time.process_time()
        done = len(coroutines(log, 32, 10**10 + window * 1_000_000))
        costs.append((time.process_time() - begun) / done * 1e6)
    log.close()
    yield "append", statistics.median(costs), "us"


# -- the plot --------------------------------------------------------------------------------------------------------

_WIDTH, _HEIGHT, _COLUMNS = 300, 190, 3
_LEFT, _RIGHT, _TOP, _BOTTOM = 30, 30, 46, 36


def plot(series: dict[str, Sequence[tuple[int, float]]]) -> str:
    """An SVG of one panel a series: size on a logarithmic axis, the figure on one that begins at 0."""
    panels = [
        f'<g transform="translate({at % _COLUMNS * _WIDTH},{at // _COLUMNS * _HEIGHT})">{_panel(name, points)}</g>'
        for at, (name, points) in enumerate(series.items())
    ]
    width, height = _WIDTH * _COLUMNS, _HEIGHT * -(-len(series) // _COLUMNS)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        'font-size="11"><title>Costs of the audit log by its number of records</title>'
        f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(panels) + "\n</svg>\n"
    )


def _panel(name: str, points: Sequence[tuple[int, float]]) -> str:
    top = max(figure for _, figure in points) * 1.25
    steps = max(len(points) - 1, 1)
    across, down = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    base = _TOP + down
    # the sizes are powers of ten, so they are evenly spaced on a logarithmic axis
    places = [(_LEFT + across * at / steps, base - down * figure / top) for at, (_, figure) in enumerate(points)]
    parts = [
        f'<text x="{_LEFT}" y="24" font-size="13" font-weight="bold">{_TITLES[name]}</text>',
        f'<path d="M{_LEFT} {base}H{_LEFT + across}" stroke="#999" fill="none"/>',
        (
            f'<polyline points="{" ".join(f"{x:.0f},{y:.0f}" for x, y in places)}" fill="none" stroke="#2a6f97" '
            'stroke-width="2"/>'
        ),
    ]
    for (x, y), (size, figure) in zip(places, points, strict=True):
        parts.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3.5" fill="#2a6f97"/>')
        parts.append(f'<text x="{x:.0f}" y="{y - 9:.0f}" text-anchor="middle">{_short(figure)}</text>')
        parts.append(f'<text x="{x:.0f}" y="{base + 16}" text-anchor="middle" fill="#555">{_count(size)}</text>')
    return "".join(parts)


def _short(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"


def _count(size: int) -> str:
    return f"{size // 1_000_000} M" if size >= 1_000_000 else f"{size // 1_000} k"

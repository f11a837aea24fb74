"""Counters, gauges and histograms in the Prometheus text format (version 0.0.4): the closed list of CONTRACTS."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence

from shield.service.ports import Remembered
from shield.types import Decision, Tier, Verdict

__all__ = ["MEDIA", "Metrics"]

MEDIA = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class _Histogram:
    __slots__ = ("_counts", "_sum")

    def __init__(self) -> None:
        self._counts = [0] * (len(_SECONDS) + 1)
        self._sum = 0.0

    def observe(self, seconds: float) -> None:
        self._counts[bisect_left(_SECONDS, seconds)] += 1
        self._sum += seconds

    def lines(self, name: str) -> list[str]:
        total, lines = 0, []
        for bound, count in zip((*_SECONDS, "+Inf"), self._counts, strict=True):
            total += count
            lines.append(f'{name}_bucket{{le="{bound}"}} {total}')
        return [*lines, f"{name}_sum {self._sum:.9f}", f"{name}_count {total}"]


class Metrics:
    """What the service counts; used from the event loop alone. `type_label` names an action type in a label: a closed
    set, so that an agent that makes up types cannot make the list grow."""

    def __init__(self, type_label: Callable[[str], str]) -> None:
        self._type_label = type_label
        self._decisions: dict[tuple[Decision, Tier, str], int] = {}
        self._permits: dict[str, int] = {}
        self._evaluate = _Histogram()
        self._append = _Histogram()

    def decided(self, verdict: Verdict, action_type: str, seconds: float | None) -> None:
        """One verdict; `seconds` from the first byte parsed to the verdict, None where it was one of a batch."""
        key = (verdict.decision, verdict.tier, self._type_label(action_type))
        self._decisions[key] = self._decisions.get(key, 0) + 1
        if seconds is not None:
            self._evaluate.observe(seconds)
        if (record := verdict.latency_us.get("record")) is not None:
            self._append.observe(record / 1e6)

    def redeemed(self, result: str) -> None:
        """One redeem: `redeemed` or the reason of its refusal."""
        self._permits[result] = self._permits.get(result, 0) + 1

    def text(self, gauges: Mapping[str, float], remembered: Sequence[Remembered] = ()) -> str:
        """The page. `gauges` are values read now: pending approvals, unsealed records, tier 2's budget; `remembered`
        is what each place outside of the log has of it."""
        lines = _head("shield_decisions_total", "counter", "verdicts by decision, tier and action type")
        for (decision, tier, kind), count in sorted(self._decisions.items()):
            lines.append(f'shield_decisions_total{{decision="{decision}",tier="{int(tier)}",type="{kind}"}} {count}')
        lines += _head("shield_evaluate_seconds", "histogram", "from the request's bytes to its verdict")
        lines += self._evaluate.lines("shield_evaluate_seconds")
        lines += _head("shield_permits_total", "counter", "redeems by result")
        lines += [f'shield_permits_total{{result="{name}"}} {count}' for name, count in sorted(self._permits.items())]
        lines += _head("shield_audit_append_seconds", "histogram", "until a decision's record was durable")
        lines += self._append.lines("shield_audit_append_seconds")
        for name, value in gauges.items():
            lines += [*_head(name, "gauge", _GAUGES[name]), f"{name} {value:g}"]
        lines += _head(_SIZE, "gauge", "records that the newest checkpoint in a place outside of the log covers")
        lines += [f'{_SIZE}{{sink="{_label(one.name)}"}} {one.size}' for one in remembered if one.size is not None]
        lines += _head(_AGE, "gauge", "seconds since a place outside of the log took its newest checkpoint")
        lines += [f'{_AGE}{{sink="{_label(one.name)}"}} {one.age_s:g}' for one in remembered if one.age_s is not None]
        return "\n".join(lines) + "\n"


_GAUGES = {
    "shield_approvals_pending": "questions that wait for a person",
    "shield_audit_unsealed_records": "records after the newest checkpoint",
    "shield_tier1_ready": "1 where the classifier reads texts, 0 where what needs it goes to a person",
    "shield_tier2_budget_remaining": "what is left of today's budget of the model judge",
}


_SIZE = "shield_audit_external_checkpoint_size"
_AGE = "shield_audit_external_checkpoint_age_seconds"


def _label(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _head(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]

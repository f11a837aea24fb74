"""What tier 1 adds to a typical action: three texts of some 200 tokens, none of them read before."""

import statistics
import time
from collections.abc import Iterator

from row import MeasureError, Row
from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.facts.compute import compute
from shield.policy.world import made_place
from shield.resources import data_folder
from shield.tiers.loading import load_tier1
from shield.tiers.tier import Case
from shield.types import ActionRequest, Opinion, Tier

ROUNDS = 60
BODY = (
    "Hello Ana, the build of branch release-{number} went through after the second try. The first one failed because "
    "the runner had no space left, so I removed the old images and started it again. All {number} tests passed, the "
    "coverage is at 91 percent, and the packages are on the internal index. Before we announce it, please have a look "
    "at the notes in docs/changes.md: two entries still name the old option. If you agree I will tag it on Thursday "
    "morning and write to the list. The next release should then come in about six weeks, as we said in the meeting "
    "on Monday; the open points are the importer, which Tom has started on, and the settings page. Thanks, Jo"
)


def rows() -> Iterator[Row]:
    """`tier1.action.p50`, CPU milliseconds of one opinion, and `tier1.action.wall`, how long a caller waits:
    less where a second core is free. Raises ConfigError where no model is shipped."""
    tier = load_tier1(data_folder("policies/heuristics"), data_folder("models/tier1"))
    if tier.texts.trouble is not None:
        raise MeasureError(f"tier 1 cannot be measured: {tier.texts.trouble}")
    policy = Opinion(tier=Tier.POLICY, need=Tier.CLASSIFIER)
    took, waited = [], []
    for number in range(ROUNDS):
        payload = {
            "to": "ana@example.org",
            "subject": f"Release {number}: ready for a last look",
            "body": BODY.format(number=number),
        }
        action = make_action("send_email", payload, "/home/user/ws")
        facts = compute(action, lookup(action.type), made_place(cwd=action.cwd))
        case = Case(request=ActionRequest(id="b", action=action), facts=facts, opinions=(policy,))
        began, begun = time.process_time(), time.perf_counter()
        said = tier.opinion(case)
        took.append((time.process_time() - began) * 1000)
        waited.append((time.perf_counter() - begun) * 1000)
        if said.absent:
            raise MeasureError(f"tier 1 did not read it: {said.rule}")
    yield Row(name="tier1.action.p50", median=statistics.median(took[5:]), unit="ms", goal=20)
    yield Row(name="tier1.action.wall", median=statistics.median(waited[5:]), unit="ms")

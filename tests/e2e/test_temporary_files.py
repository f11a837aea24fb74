"""Work that goes by way of the temporary folder: what one call leaves there by name the next one finds.

Some calls run in the sandbox, with a temporary folder of their own, others outside: the model need not know which.
"""

import asyncio
import secrets
from pathlib import Path

import pytest

from agentctl.config import load
from agentctl.sandbox import Means, Offer
from agentctl.sandbox.confinement import choose
from guarded import Ground, ground, proposal
from shield.types import Isolation


@pytest.fixture
def name():
    path = Path(f"/tmp/shared-{secrets.token_hex(6)}")
    yield path
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()


async def said(here: Ground, lines: list[str]) -> tuple[Offer, list[str]]:
    """What a model is told of each line, none of which asks anybody."""
    environ = here.environ()
    confinement = choose(load(environ, cwd=here.workspace), here.workspace, environ=environ)
    results = []
    with here.start() as sidecar:
        async with here.gate(sidecar, confinement=confinement) as gate:
            for line in lines:
                wanted = proposal("execute_command", {"command": line})
                answer = await gate.run(wanted, await gate.propose(wanted))
                results.append(f"{getattr(answer, 'decision', None)} {getattr(answer, 'content', answer)}")
    return confinement.offer, results


def test_what_a_call_leaves_by_name_is_there_for_the_next(name):
    with ground() as here:
        script = (
            "import os, sys\nprint('one'); print('two', file=sys.stderr)\nopen(os.environ['HOME'][0] + {!r}, 'w')\n"
        )
        (here.workspace / "check.py").write_text(script.format(f"{name}-unnamed"[1:]))
        lines = [
            f"python3 check.py > {name}.log 2>&1",
            f"cat {name}.log",
            f"python3 check.py >> {name}.log 2>/dev/null; wc -l {name}.log",
            f"grep -c one {name}.log; rm {name}.log",
            f"cat {name}-unnamed",
            f"python3 check.py > {name}.log; cat {name}.log",
        ]
        offer, results = asyncio.run(said(here, lines))
        if offer.strongest is not Isolation.CONFINED:
            pytest.skip(f"no sandbox confines here: {'; '.join(offer.reasons)}")
    assert all(each.startswith("ALLOW ") for each in results), results
    assert sorted(results[1].split()[1:3]) == ["one", "two"]
    assert f"3 {name}.log" in results[2]
    assert results[3].startswith("ALLOW 2")
    assert "No such file" in results[4]
    assert ("which only commands in the sandbox see" in results[4]) is (offer.means is Means.BUBBLEWRAP)
    assert results[5].count("one") == 1

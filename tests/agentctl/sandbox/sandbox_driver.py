"""Runs steps in a sandbox and prints what came of them, a JSON object a line: started by conftest as the user to try."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import agentctl
import shield
from agentctl.errors import AgentError
from agentctl.sandbox import Offer, Places, Sandbox, gather, mounts
from agentctl.sandbox.places import with_session
from agentctl.sandbox.probing import candidates, trouble
from agentctl.tools.child import Child
from receipts import named_files
from shield.types import Hidden, HostFact, IpClass, Isolation

LEVELS = tuple(Isolation)


def main(world: Path, means: str) -> None:
    places = gather(
        shield_home=world / "shield",
        workspace_roots=[str(world / "ws")],
        home=world / "home",
        config=world / "home/.config/agentctl",
        data=world / "home/.local/share/agentctl",
        path_env="/usr/bin:/bin",
        caches=[str(world / "home/declared")] if (world / "home/declared").is_dir() else [],
    )
    offer = offered(means, places)
    say(
        {
            "levels": list(offer.levels),
            "reasons": list(offer.reasons),
            "networks": offer.networks,
            "packages": [agentctl.__path__[0], shield.__path__[0]],
        }
    )
    sandbox = Sandbox(places, offer)
    pool, running = ThreadPoolExecutor(), []
    for line in sys.stdin:
        step = json.loads(line)
        try:
            if step["do"] == "renew":
                # a session with other ports to hide, or other caches
                sandbox.close()
                changed = {
                    name: tuple(value) if isinstance(value, list) else value
                    for name, value in step.get("places", {}).items()
                }
                of = with_session(places, Hidden(), [step["root"]]) if "root" in step else places
                sandbox = Sandbox(replace(of, **changed), offer)
                say({"done": True})
            elif step["do"] == "aside":
                running.append(pool.submit(run, sandbox, places, step))
                say({"done": True})
            elif step["do"] == "join":
                say(running.pop().result())
            elif step["do"] == "take_away":
                take_away(step["path"], step["times"])
                say({"done": True})
            elif step["do"] == "spawner":
                if sandbox._plain.pid is None:
                    [end.close() for end in sandbox._plain.supervisor()]
                say({"pid": sandbox._plain.pid})
            else:
                say(run(sandbox, places, step))
        except Exception as error:  # noqa: BLE001  # told to the test
            say({"trouble": repr(error)})
    sandbox.close()


def offered(means: str, places: Places) -> Offer:
    """What is offered by this means alone, found out by trying."""
    reasons: list[str] = []
    for candidate in candidates(reasons):
        if candidate.means != means:
            continue
        offer = replace(candidate, levels=LEVELS)
        troubles = [trouble(offer, places, level) for level in LEVELS[1:]]
        if not any(troubles):
            return offer
        reasons += [wrong for wrong in troubles if wrong]
    return Offer(reasons=tuple(reasons))


def take_away(path: str, times: int) -> None:
    """As if a socket listened at `path` whenever the disk is looked at, and were gone before it is covered: `times`."""
    left = iter(range(times))
    seen = mounts.hidden_sockets

    def also(of: Places, *, confined: bool) -> list[str]:
        return [*seen(of, confined=confined), *([path] if next(left, None) is not None else [])]

    mounts.hidden_sockets = also


def run(sandbox: Sandbox, places: Places, step: dict[str, Any]) -> dict[str, Any]:
    cwd = os.open(step.get("cwd", places.workspace_roots[0]), os.O_RDONLY | os.O_DIRECTORY)
    env = {"PATH": "/usr/bin:/bin", "HOME": places.home, "LANG": "C.UTF-8"} | step.get("env", {})
    child = Child(
        argv=step.get("argv") or ("/bin/bash", "--noprofile", "--norc", "-c", step["command"]),
        env=env,
        cwd=cwd,
        timeout_s=step.get("timeout_s", 20),
        stdin=None if step.get("stdin") is None else step["stdin"].encode(),
    )
    hosts = [
        HostFact(url=f"https://{host}:{port}/", scheme="https", host=host, port=port, ip_class=IpClass.NAME)
        for host, port in step.get("hosts", [])
    ]
    empty = {"stdout": "", "stderr": "", "exit_code": None, "note": "", "status": "", "error": None}
    try:
        output = sandbox.trial(child, Isolation(step["level"]), hosts, named_files(**step.get("files", {})))
    except AgentError as error:
        return empty | {"error": error.detail}
    finally:
        os.close(cwd)
    said = {part.role: part.text for part in output.parts}
    return empty | said | {"exit_code": output.exit_code, "note": output.note, "status": output.status.value}


def say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

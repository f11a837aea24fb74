"""conftest.py of the hostile project: each test is one way, and what came of it is a line in results.jsonl."""

import json
import signal
import time
from pathlib import Path

import attack  # noqa: F401  # it looks at what is open before anything else is opened
import pytest

SECONDS = 40


def give_up(*_):
    raise TimeoutError("it does not end")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    began = time.monotonic()
    try:
        kind, detail = pyfuncitem.obj() or ("denied", "nothing came of it")
    except BaseException as error:  # noqa: BLE001  # whatever it is, it is what came of it
        kind, detail = "denied", f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    way = pyfuncitem.name.removeprefix("test_").replace("_", "-")
    with open(Path(__file__).with_name("results.jsonl"), "a") as results:
        results.write(
            json.dumps(
                {"way": way, "kind": kind, "detail": detail[:300], "seconds": round(time.monotonic() - began, 3)}
            )
            + "\n"
        )
    print(f"{way}: {kind}: {detail[:100]}")
    return True

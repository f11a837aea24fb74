"""Shield as a process of its own on a home in a folder of its own; what it remembers outside lies beside the home."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import shield
from service_harness import call
from shield.config.home import Home
from shield.service.birth import initialise
from shield.service.listener import claimed

PACKAGES = str(Path(shield.__file__).resolve().parents[1])  # of what is tested: installed, else the checkout


def state(folder):
    """Where a Shield of this folder remembers its logs."""
    return f"{folder}/state/shield"


def begun(folder, *, toml=""):
    """A home at `folder/h` with agents allowed in `folder/ws`, and the tokens of people."""
    home = Home(path=f"{folder}/h")
    os.makedirs(f"{folder}/ws", exist_ok=True)
    os.makedirs(home.run, mode=0o700)
    with claimed(home):
        born = initialise(home, now_ms=1_795_000_000_000, checkpoints=state(folder))
    Path(home.toml).write_text(f'[workspaces]\nroots = ["{folder}/ws"]\n{toml}')
    os.chmod(home.toml, 0o600)
    return home, born.secrets


def environment(home, **more):
    folder = os.path.dirname(home.path)
    return {
        "PATH": os.environ["PATH"],
        "HOME": f"{folder}/user",
        "TERM": "dumb",
        "PYTHONPATH": PACKAGES,
        "SHIELD_HOME": home.path,
        "XDG_STATE_HOME": f"{folder}/state",
        **more,
    }


def command(*words):
    return [sys.executable, "-P", "-W", "error", "-m", "shield", *words]


def run(home, *words, pass_fds=(), **more):
    """A command that ends by itself, without a terminal."""
    return subprocess.run(
        command(*words),
        env=environment(home, **more),
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        pass_fds=pass_fds,
        check=False,
    )


@contextmanager
def serving(home, *words, pass_fds=(), **more):
    """The process, and where it listens; killed at the end if it still runs. Its stderr is a file: `process.said()`."""
    errors = Path(os.path.dirname(home.path), "stderr")
    with errors.open("ab") as file:
        process = subprocess.Popen(
            command("serve", "--json", *words),
            env=environment(home, **more),
            stdout=subprocess.PIPE,
            stderr=file,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=pass_fds,
            text=True,
        )
    process.said = errors.read_text
    try:
        line = process.stdout.readline()
        assert line, errors.read_text()
        yield process, json.loads(line)["socket"]
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=20)


def stop(process):
    process.terminate()
    assert process.wait(20) == 0, process.said()


def post(path, target, token, value, **headers):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return call(path, "POST", target, token=token, body=body, headers=headers)

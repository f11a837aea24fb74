"""Files whose names are no UTF-8, as old archives bring them: judged, asked about and run like any other."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from agentctl.ui.question import question
from service_process import begun, post, serving, stop
from shield.client import Client, Endpoint
from shield.types import Role


@pytest.fixture
def place():
    folder = os.path.realpath(tempfile.mkdtemp(prefix="sh"))
    home, secrets = begun(folder)
    for name in (b"\xff.dat", b"\xfe.dat"):
        Path(os.fsdecode(os.fsencode(f"{folder}/ws/") + name)).write_text("x")
    yield home, secrets, f"{folder}/ws"
    shutil.rmtree(folder)


def test_a_file_of_any_name_is_judged_and_asked_about(place):
    home, secrets, workspace = place
    token = Path(home.agent_token).read_text().strip()
    with serving(home) as (process, path):
        opened = post(path, "/v1/sessions", token, {"workspace_roots": [workspace], "isolation": "confined"}).json()

        def asks(command):
            action = {"type": "execute_command", "payload": {"command": command}}
            verdict = post(path, "/v1/evaluate", token, {**action, "session": opened["session"]}).json()
            return {**action, "cwd": workspace}, verdict

        action, read = asks("cat *.dat")
        assert read["decision"] == "ALLOW"
        redeem = {"permit": read["permit"], "action": action, "nonce": "0" * 32, "isolation": "confined"}
        assert post(path, "/v1/permits/redeem", token, redeem).status == 200
        _, removed = asks("rm *.dat")
        assert removed["decision"] == "ESCALATE"
        with Client(Endpoint(socket=Path(path)), secrets[Role.APPROVER]) as person:
            (open_,) = person.approvals()
        shown = [line for line in question(open_) if line.startswith("would delete")]
        assert shown == [
            f"would delete: {workspace}/\ufffdFE.dat",
            f"would delete: {workspace}/\ufffdFF.dat",
        ]
        stop(process)

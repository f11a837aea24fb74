"""The directory a command is started in is the one that was judged, whatever takes its name before it runs."""

import os

import pytest

from agentctl.errors import ChangedError
from agentctl.tools.shell import working_directory
from agentctl.tools.warrant import Warrant, canonical_action
from shield import canonical
from shield.permits import PermitKey, Receipt
from shield.types import FileIdentity, FileRole


def named(folder):
    found = folder.stat()
    return FileIdentity(role=FileRole.DIRECTORY, path=str(folder), dev=found.st_dev, ino=found.st_ino)


def warrant_in(work, *folders):
    """A warrant for a command in `work` whose receipt names all these directories."""
    action, key = canonical_action("execute_command", {"command": "ls ../other; pwd"}, str(work)), PermitKey()
    receipt = Receipt(
        jti="j",
        act=canonical.digest(action),
        state="s",
        nonce="n",
        seq=1,
        exp=1000,
        files=tuple(named(folder) for folder in folders),
        shell="/bin/bash",
        env={},
        allow_hosts=(),
    )
    token = key.sign_receipt(receipt)
    return Warrant(token, public_key=key.public, action=action, jti="j", nonce="n", now_s=999.0)


def test_a_link_to_another_directory_of_the_receipt_is_not_followed(tmp_path):
    work, other = tmp_path.resolve() / "work", tmp_path.resolve() / "other"
    work.mkdir()
    other.mkdir()
    warrant = warrant_in(work, work, other)
    with working_directory(warrant) as descriptor:
        assert os.fstat(descriptor).st_ino == work.stat().st_ino
    work.rename(work.parent / "moved")
    os.symlink(other, work)
    with pytest.raises(ChangedError), working_directory(warrant):
        pytest.fail("another directory stands for the one that was judged")

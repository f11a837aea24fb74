"""Shipped policies are not proven again if they are as they were shipped; everything else is."""

from pathlib import Path

import pytest

from policy_proven import FOLDER, TARGET, prove, sums
from shield.errors import PolicyError
from shield.policy.load import add_workspace, load_policy, load_text
from shield.policy.proven import is_proven
from shield.policy.shelf import Shelf, shipped_shelf

NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
WRONG = """
version: 1
name: mine
rules:
  - id: mine.rule
    effect: block
    when: malformed
    reason: x
    examples: {match: [{type: read_file, payload: {path: a}}]}
"""


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_policy_does_what_its_examples_show(name: str) -> None:
    assert prove(name) > 0


def test_the_digests_are_those_of_the_shipped_files() -> None:
    assert TARGET.read_text(encoding="ascii") == sums(), "run `python tests/policy_proven.py`"


def test_what_is_installed_is_what_was_proven() -> None:
    shipped = shipped_shelf().shipped
    assert all(is_proven((shipped / f"{name}.yaml").read_bytes()) for name in NAMES)


def broken(name: str) -> bytes:
    """The policy with the first example of its first rule that has some on the wrong side."""
    text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    at = text.index("\n      match:")
    return (
        text[:at]
        + "\n      no_match:"
        + text[at + len("\n      match:") :].replace("\n      no_match:", "\n      match:", 1)
    ).encode()


@pytest.mark.parametrize("name", ["default", "git"])
def test_a_changed_copy_is_checked_whatever_it_is_called(name: str, tmp_path: Path) -> None:
    raw = broken(name)
    (tmp_path / f"{name}.yaml").write_bytes(raw)
    owned = Shelf(shipped=FOLDER, owner=(tmp_path,))
    with pytest.raises(PolicyError, match="this example"):
        load_policy(name, owned)
    with pytest.raises(PolicyError, match="this example"):
        load_policy(str(tmp_path / f"{name}.yaml"), owned)
    with pytest.raises(PolicyError, match="this example"):
        load_text(raw, str(FOLDER / f"{name}.yaml"), owned)


def test_a_changed_baseline_is_checked(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / f"{name}.yaml").write_bytes((FOLDER / f"{name}.yaml").read_bytes())
    (tmp_path / "baseline.yaml").write_bytes(broken("baseline"))
    with pytest.raises(PolicyError, match="this example"):
        load_policy("default", Shelf(shipped=tmp_path))


def test_what_extends_a_proven_file_is_checked_itself(tmp_path: Path) -> None:
    text = WRONG.replace("name: mine\n", "name: mine\nextends: [default]\n")
    with pytest.raises(PolicyError, match=r"mine\.rule"):
        load_text(text.encode(), str(tmp_path / "mine.yaml"), shipped_shelf())


def test_a_comment_is_a_change() -> None:
    raw = (FOLDER / "default.yaml").read_bytes()
    assert is_proven(raw)
    assert not is_proven(raw + b"# and more\n")
    assert not is_proven(b"")


def test_a_workspace_file_is_always_checked() -> None:
    policy = load_policy("baseline", shipped_shelf())
    overlaid = add_workspace(policy, WRONG.encode(), "/w/.shield.yaml")
    assert overlaid.overlays[0].error is not None
    assert "mine.rule" in overlaid.overlays[0].error

"""How `default` follows scripts and recipes into others that they start, and behind what they change before."""

import pytest

from git_world import repository
from shell_world import MadeFile, reading_policy, text
from shield.types import Decision

KEPT = {path: file for path, file in repository({"c.txt": "x\n"}).items() if path.startswith(".git/")}
HELD = ("c.txt", "src/a.py", "build/x", "dist/x", "public/a", "data/a")


def decided(line, files):
    held = {path: text("x\n", 0o644) for path in HELD} | {".gitignore": text("data\n"), "list": text("src\n")}
    made = {path: each if isinstance(each, MadeFile) else text(each) for path, each in files.items()}
    return reading_policy(line, KEPT | held | made, confined=True)


_MAKE = "D=build\nx:\n\t{}\nz:\n\trm -rf $(D)\n"


@pytest.mark.parametrize("step", ["make z", "$(MAKE) z", "cd . && make z", "bash y.sh", "make -s y"])
@pytest.mark.parametrize("line", ["make x D={}", "D={} make -e x"])
def test_what_one_make_is_given_the_next_one_has(line, step):
    files = {"Makefile": _MAKE.format(step) + "y:\n\tmake z\n", "y.sh": "make z\n"}
    assert decided(line.format("src"), files) is not Decision.ALLOW
    assert decided(line.format("dist"), files) is Decision.ALLOW


@pytest.mark.parametrize(
    ("line", "files"),
    [("D={} bash x.sh", {"x.sh": "bash y.sh\n"}), ("make x D={}", {"Makefile": "x:\n\tbash y.sh\n"}), ("D={} npm run x", {"package.json": '{"scripts": {"x": "sh y.sh"}}'}),
     ("make x D={}", {"Makefile": "x:\n\tbash x.sh\n", "x.sh": "bash y.sh\n"})],
)  # fmt: skip
def test_a_script_has_what_the_one_before_it_was_given(line, files):
    files |= {"y.sh": "rm -rf ${D:-build}\n"}
    assert decided(line.format("src"), files) is not Decision.ALLOW
    assert decided(line.format("dist"), files) is Decision.ALLOW
    # what a script sets for itself it does not hand on
    assert decided("bash z.sh", files | {"z.sh": "D=src\nbash y.sh\n"}) is Decision.ALLOW

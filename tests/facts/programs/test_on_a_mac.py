"""Programs that go by the same name on a Mac and read some of their words in another way."""

import pytest

from shell_world import WS, accesses, facts, settled
from shield.facts.made import MadeFile
from shield.types import RunsCode

FILES = {"a.txt": MadeFile(content=b"x\n"), "b/c.txt": MadeFile(content=b"x\n"), "out": MadeFile(directory=True)}


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("sed -i p 'w x.md' a.txt", (f"{WS}/x.md", "write")),
        ("sed -ni .md 's/a/b/' a.txt", (f"{WS}/a.txt.md", "write")),
        ("sed -i '' 's/a/b/w x.md' a.txt", (f"{WS}/x.md", "write")),
        ("sed -n -i '' -e 'r x.md' a.txt", (f"{WS}/x.md", "read")),
        ("grep --context . a.txt", (f"{WS}/a.txt", "read")),
        ("exa --color a.txt", (f"{WS}/a.txt", "list")),
        ("head a.txt -n b/c.txt", (f"{WS}/b/c.txt", "read")),
        ("cut -f1 a.txt -d b/c.txt", (f"{WS}/b/c.txt", "read")),
        ("mkdir x -m y", (f"{WS}/y", "write")),
    ],
)
def test_a_word_is_not_swallowed(line, path):
    assert path in accesses(facts(line, FILES, platform="darwin"))


def test_elsewhere_options_may_stand_behind_operands():
    for line in ("head a.txt -n b/c.txt", "cut -f1 a.txt -d b/c.txt"):
        assert accesses(facts(line, FILES)) == {(f"{WS}/a.txt", "read")}


def test_the_usual_way_to_edit_a_file_is_understood():
    for line in ("sed -i '' 's/a/b/' a.txt", "sed -i '' -e 's/a/b/' a.txt", "sed -n -i '' p a.txt"):
        found = facts(line, FILES, platform="darwin")
        assert settled(found), found
        assert found.commands[0].runs_code is RunsCode.NONE
        assert (f"{WS}/a.txt", "write") in accesses(found)


def test_all_that_is_in_a_directory_goes_by_its_own_name():
    for platform, whole in (("darwin", True), ("linux", False)):
        found = facts("cp -R b/ out", FILES, platform=platform)
        assert ((f"{WS}/out", True) in {(fact.resolved, fact.recursive) for fact in found.paths}) is whole
        assert ((f"{WS}/out/b", "write") in accesses(found)) is not whole


def test_a_typescript_may_stand_behind_a_number():
    line = "script -t 0 file ls"
    assert facts(line, FILES, platform="darwin").commands[0].runs_code is RunsCode.INLINE
    assert facts("script -q out.log ls", FILES, platform="darwin").commands[0].runs_code is RunsCode.NONE

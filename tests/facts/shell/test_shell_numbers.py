"""What surely prints a number may be calculated with; whatever else stands in an arithmetic expression could be run."""

import pytest

from shell_world import MadeFile, reading_policy
from shield.types import Decision

FILES = {
    "a.txt": MadeFile(content=b"1 2\n"), "a.json": MadeFile(content=b'{"a": [1]}'), ".git/HEAD": MadeFile(content=b"ref: refs/heads/main\n"),
    ".git/objects": MadeFile(directory=True), ".git/refs": MadeFile(directory=True),
}  # fmt: skip

NUMBERS = [
    "stat -c%s a.txt", "stat --format=%Y a.txt", "git rev-list --count HEAD", "git rev-list --count --no-merges v1..HEAD -- src", "docker image inspect -f '{{.Size}}' web", "docker inspect web --format '{{.RestartCount}}'",
    "jq -s length a.json", "jq -s '.[0] | length' a.json", "awk '{s+=$1} END {print s}' a.txt", "awk -F: '/x/ {n += $2} END { print n+0 }' a.txt", "grep -rc x . | awk -F: '{s+=$2} END {print s}'",
]  # fmt: skip
OTHERS = [
    "stat -c%n a.txt", "stat -c%N a.txt", "git rev-list HEAD", "git rev-list --count --left-right a...b", "git rev-list --count HEAD --pretty=%s", "git rev-list --pretty=%s HEAD -- --count", "git -c alias.x=y rev-list --count HEAD", "docker inspect -f '{{.Name}}' web", "docker inspect -f '{{.Size}}{{.Name}}' web",
    "docker inspect -f '{{.Size}}' web other third", "docker inspect web -f '{{.Size}}' other", "jq length a.json", "jq -s '.[] | length' a.json", "jq -s '1, 2 | length' a.json", "jq -s 'range(3) | length'", "jq .a a.json", "jq '.a # | length' a.json", "jq 'def length: .a; . | length' a.json", "jq 'length, .a' a.json", "jq -n --arg length x '$length'", "jq 'include \"x\"; . | length' a.json", "jq -j --arg a x '$a | length' a.json", "jq '.a|length' a.json b.json c.json",
    "awk '{s=$1} END {print s}' a.txt", "awk '{s+=$1; print $2} END {print s}' a.txt", "awk '{s+=$1} END {print t}' a.txt", "awk '{s+=$1} END {print s}' s='x[$(id)]' /dev/null", "awk -v s='x[$(id)]' '{s+=$1} END {print s}' a.txt", "awk -v OFMT='x[$(id)]' '{s+=$1} END {print s}' a.txt", "awk 'NR==0{s+=$1} END {print s}' s='x[$(id)]'",
    "awk '{s+=$1} END {print s, $0}' a.txt", "./awk '{s+=$1} END {print s}' a.txt", "jq length a.json; cat a.txt", "cat a.txt || jq length a.json", "jq() { cat a.txt; }; jq length a.json", "PATH=. jq length a.json",
]  # fmt: skip


@pytest.mark.parametrize("printing", NUMBERS)
def test_a_number_is_calculated_with(printing):
    assert reading_policy(f"n=$({printing}); echo $((n / 1024))", FILES, confined=False) is Decision.ALLOW


@pytest.mark.parametrize("printing", OTHERS)
def test_what_may_be_a_text_is_not(printing):
    assert reading_policy(f"n=$({printing}); echo $((n / 1024))", FILES, confined=True) is not Decision.ALLOW


def test_two_numbers_are_two_words():
    """A file may hold several texts, of each of which jq prints the length."""
    for several in ("jq length a.json", "jq '.a | length' a.json"):
        assert reading_policy(f"rm -f build/$({several})", FILES, confined=True) is not Decision.ALLOW

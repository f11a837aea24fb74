"""Loops over the lines that a program prints: each turn has one of the names, whole."""

import pytest

from shell_world import MadeFile, facts, reading_policy, text
from shield.types import Decision

FILES = {"src/a.py": text("x\n"), "src/b/c.py": text("x\n"), "list": text("/etc/shadow\n"), "out": text("x\n")}
TOP = "find src -name '*.py'"


def decided(line, files=FILES):
    return reading_policy(line, files, confined=False)


@pytest.mark.parametrize("read", ["read -r f", "read f", "IFS= read -r f"])
@pytest.mark.parametrize(
    "body",
    ['echo "$f"', 'echo "$f: $(wc -l < "$f")"', 'head -5 "$f"', 'echo "== $f"; sed -n 1,3p "$f"', 'grep -n TODO "$f" | head -1', 'cat "$f" | sort | uniq',
     'if grep -q foo "$f"; then echo "$f"; fi', '[ -s "$f" ] || echo "$f"', 'git log -1 --format=%cd "$f"', 'x=$(basename "$f"); echo "$x"', 'wc -l "$f" 2>/dev/null',
     '( tail -n 2 "$f" )', 'jq . "$f"', 'echo "$(jq -r .a.b "$f") $f"', 'awk -F, \'NR == 1 {print $1}\' "$f"', 'sed -n "/a/,/b/p" "$f"', 'sed -E s/a/b/ "$f" | head -1', 'rg -n x "$f"',
     'sha256sum "$f"', 'jq -e --arg k "$f" ".[\\$k]" list >/dev/null || echo "$f"'],
)  # fmt: skip
def test_a_name_of_a_tree_is_read_whole(read, body):
    for before in (TOP, f"{TOP} | sort", f"{TOP} | grep -v test"):
        assert decided(f"{before} | while {read}; do {body}; done") is Decision.ALLOW


@pytest.mark.parametrize(
    "body",
    ['head -c 3; cat "$f"', 'cat; cat "$f"', 'grep -q "$f"; cat "$f"', 'grep "$f" -m 1; cat "$f"', 'read x; cat "$f"', 'sed 1q; cat "$f"', 'x=$(head -c 3); cat "$f"',
     'bash -c "head -c 1"; cat "$f"', 'python3 -c "input()"; cat "$f"', 'head -n "$f"; cat "$f"', 'cat "$f" -; cat "$f"', 'cat - "$f"; cat "$f"', 'head -c 3 - ; cat "$f"',
     'while read -r g; do echo "$g"; done; cat "$f"', 'for i in 1; do head -c 1; done; cat "$f"', '{ head -c 1; }; cat "$f"', '(head -c 1); cat "$f"', '$x; cat "$f"',
     'f() { head -c 1; }; f; cat "$f"', 'cat <&0 "$f"; cat "$f"', 'tee x; cat "$f"', 'sed -n 1p; cat "$f"', 'sort; cat "$f"', 'cat "$f" > out', 'echo x > "$f"', 'ln -s /etc x; cat "$f"',
     'git hash-object --stdin; cat "$f"', 'cat $f x', 'cat "/etc/$f"', 'cat "$f/../../../x"', 'rm "$f"', 'time head -c 1; cat "$f"', 'cat /dev/stdin; cat "$f"', 'wc -l /dev/stdin; cat "$f"',
     'grep -q x - "$f"; cat "$f"', 'grep -q x /dev/stdin "$f"', 'grep x -f "$f"', 'git diff --no-index - "$f"', 'git diff --no-index /dev/stdin "$f"', 'git blame --contents - "$f"',
     'jq .; cat "$f"', 'jq . - "$f"', 'jq -f "$f"', 'jq --slurpfile x /dev/stdin . "$f"', 'awk "{getline x < \\"-\\"}" "$f"', 'awk "BEGIN {ARGV[1] = \\"-\\"}" "$f"', 'awk 1 - "$f"',
     'awk -f - "$f"', 'awk "$f"; cat "$f"', 'sed -n "r /dev/stdin" "$f"', 'sed -f - "$f"', 'sed -i s/a/b/ "$f"', 'sed -n "w out" "$f"', 'sed p - "$f"', 'rg x; cat "$f"', 'rg -f - "$f"', 'rg x - "$f"',
     'exec head -c 1; cat "$f"', 'coproc cat; cat "$f"', 'mapfile x; cat "$f"', 'cat <(head -c 1); cat "$f"', 'grep x -r; cat "$f"', '[[ -n $(head -c 1) ]]; cat "$f"'],
)  # fmt: skip
def test_where_something_else_may_read_of_it_or_changes_the_tree_it_is_not(body):
    assert decided(f"{TOP} | while read -r f; do {body}; done") is not Decision.ALLOW


@pytest.mark.parametrize(
    "line",
    # what stands in IFS is taken off the end of a name: `.envx`
    [f'IFS=x; {TOP} | while read -r f; do cat "$f"; done', f'export IFS=y; {TOP} | while read f; do cat "$f"; done',
     'cat list | while read -r f; do cat "$f"; done', 'while read -r f; do cat "$f"; done < list', f'{TOP} | while read -r f g; do cat "$f"; done',
     f'{TOP} | while read -n 3 f; do cat "$f"; done', f'{TOP} | while read -d / f; do cat "$f"; done', f'{TOP} | while IFS=/ read -r f; do cat "$f"; done',
     f'{TOP} | until read -r f; do cat "$f"; done', f'{TOP} | while ! read -r f; do cat "$f"; done', f'{TOP} | while read -r f < list; do cat "$f"; done',
     f'{TOP} | while head -c 1; read -r f; do cat "$f"; done', f'{TOP} | {{ head -c 3; while read -r f; do cat "$f"; done; }}', f'{TOP} | while read -r f; do cat "$f"; done < list',
     'find ~ -name x | while read -r f; do cat "$f"; done', 'find src -printf /etc/shadow | while read -r f; do cat "$f"; done', f'{TOP} | sed s,^,/, | while read -r f; do cat "$f"; done',
     f'(cat list; {TOP}) | while read -r f; do cat "$f"; done', f'cat() {{ head -c 1; command cat "$1"; }}; {TOP} | while read -r f; do cat "$f"; done', f'PATH=$PWD/bin:$PATH; {TOP} | while read -r f; do cat "$f"; done',
     f'{TOP} | while read -r f; do echo; done; cat "$f"', f'mkdir -p "src/x y"; {TOP} | while read -r f; do cat "$f"; done'],
)  # fmt: skip
def test_another_loop_is_none(line):
    assert decided(line) is not Decision.ALLOW


def test_a_tree_with_names_that_are_read_otherwise_is_none():
    line = f'{TOP} | while read -r f; do cat "$f"; done'
    assert decided(line) is Decision.ALLOW
    for name in ("src/a b.py", "src/ a.py", "src/a\\b.py", "src/a\nb.py"):
        assert decided(line, FILES | {name: text("x\n")}) is not Decision.ALLOW
    assert decided(line, FILES | {"src/x.py": MadeFile(symlink="/etc/shadow")}) is not Decision.ALLOW


def test_a_name_that_awk_takes_for_an_assignment_is_none():
    files = FILES | {"a=b/c.py": text("x\n")}
    line = 'find {} -type f | while read -r f; do awk "NR == 1 {{exit}}" "$f"; cat "$f"; done'
    assert decided(line.format("src"), files) is Decision.ALLOW
    assert decided(line.format("./a=b"), files) is Decision.ALLOW
    assert decided(line.format("a=b"), files) is not Decision.ALLOW


def test_the_variable_holds_what_the_body_gives_it():
    found = facts(f'{TOP} | while read -r f; do f=/etc/shadow; cat "$f"; done', FILES)
    assert any(path.resolved == "/etc/shadow" for path in found.paths)

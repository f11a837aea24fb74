"""What programs that only read make of their options: links that are followed, and values that are no files."""

import pytest

from shell_world import facts
from shield.facts.made import MadeFile
from shield.types import Access, RunsCode


@pytest.mark.parametrize(
    ("line", "follows"),
    [
        ("ls -LR", True),
        ("ls -R", False),
        ("ls -L", False),
        ("tree -l", True),
        ("tree -L 2", False),
        ("fd -L x", True),
        ("fd x", False),
        ("find -L .", True),
        ("find . -follow", True),
        ("find .", False),
        ("rg --files -L", True),
        ("rg --files", False),
    ],
)
def test_names_behind_links_are_names_elsewhere(line, follows):
    files = {"link": MadeFile(symlink="/home/user/other"), "/home/user/other/x": MadeFile(), ".env": MadeFile()}
    programs = {f"/usr/bin/{name}": MadeFile(mode=0o755) for name in ("tree", "fd", "rg")}
    found = facts(line, {**files, **programs})
    assert ("/home/user/other" in {fact.resolved for fact in found.paths}) is follows
    # a name is no content
    assert not any("credential" in fact.categories for fact in found.paths)


@pytest.mark.parametrize(
    "line", ["helm template ./chart", "helm template x chart", "helm lint chart", "helm show all chart"]
)
def test_what_a_chart_links_to_is_a_part_of_it(line):
    files = {"chart/Chart.yaml": MadeFile(), "/usr/bin/helm": MadeFile(mode=0o755)}
    away = {"chart/templates/x": MadeFile(symlink="/home/user/.ssh/id_rsa"), "/home/user/.ssh/id_rsa": MadeFile()}
    assert not any("credential" in fact.categories for fact in facts(line, files).paths)
    assert any("credential" in fact.categories for fact in facts(line, {**files, **away}).paths)


def test_a_name_that_begins_with_a_dash_may_be_an_option():
    line = "md5sum *"
    assert not facts(line, {"a": MadeFile()}).unknown
    assert facts(line, {"a": MadeFile(), "-c": MadeFile()}).unknown
    assert facts("md5sum -c a", {"a": MadeFile()}).unknown


@pytest.mark.parametrize(
    ("line", "quiet"),
    [
        ("jq . a.json", True),
        ("jq --arg x y .name a.json", True),
        ("jq -r --argjson x 1 --arg y b.json .name a.json", True),
        ("jq -f ok.jq a.json", False),
        ("jq --arg x y env a.json", False),
        ("jq --arg env . env a.json", False),
        ("jq --arg x $Y env a.json", False),
        ("jq -L x . a.json", False),
        ("jq --arg x -- -f ok.jq a.json", False),
        ("jq --arg -- x -f ok.jq a.json", False),
    ],
)
def test_what_jq_is_given_besides(line, quiet):
    files = {
        "a.json": MadeFile(content=b"{}"),
        "b.json": MadeFile(content=b"{}"),
        "ok.jq": MadeFile(content=b".name"),
    }
    found = facts(line, files)
    assert ({"write", "execute"}.isdisjoint(found.commands[0].operations)) is quiet
    if quiet:
        assert {fact.raw for fact in found.paths} <= {"a.json"}


@pytest.mark.parametrize("line", ["awk -f - a.txt", "sed -f - a.txt", "gawk --file=- a", "sed -n --file=/dev/stdin a"])
def test_a_script_from_the_input_is_code_of_the_line(line):
    assert facts(f"echo x | {line}").commands[-1].runs_code is RunsCode.INLINE


def test_starting_points_stand_behind_what_find_is_told_first():
    for line in ("find -O3 src -name x", "find -D tree src", "find -L -O2 src"):
        assert [fact.raw for fact in facts(line).paths] == ["src"]


@pytest.mark.parametrize("name", [".claude", ".vscode", ".github"])
def test_a_link_brings_all_that_is_behind_it(name):
    files = {"q/settings.json": MadeFile(), "q/file": MadeFile()}
    for line in (f"ln -s q {name}", f"cp -rs q {name}", f"ln -sfn q {name}", f"ln -s q/none {name}"):
        assert any(fact.covers for fact in facts(line, files).paths if fact.access is Access.WRITE), line
    assert not any(fact.covers for fact in facts("ln -s q docs", files).paths if fact.access is Access.WRITE)
    assert not any(fact.covers for fact in facts("ln -s ../q/file docs/x", files).paths)


@pytest.mark.parametrize("name", [".github/workflows/ci.yml", ".claude/settings.json", ".vscode/tasks.json"])
def test_a_folder_with_a_meaning_is_met_in_a_tree(name):
    for line in ("find . -type f | xargs sed -i s/a/b/", "find . -exec sed -i s/a/b/ {} +", "grep -rl a . | xargs rm"):
        found = facts(line, {name: MadeFile(), "a.py": MadeFile()}).paths
        assert any(fact.covers for fact in found if str(fact.resolved).startswith("/home/user/ws/.")), line
        plain = facts(line, {"docs/workflows/ci.yml": MadeFile(), "a.py": MadeFile()}).paths
        assert not any(fact.covers for fact in plain), line


def test_a_tree_that_is_packed_file_by_file_is_gone():
    found = facts("gzip -r d", {"d/.env": MadeFile(), "d/a": MadeFile()}).paths
    assert {fact.access for fact in found if str(fact.resolved).endswith("/d/.env")} >= {Access.READ, Access.WRITE}


def test_a_file_that_jq_is_given_is_read():
    found = facts("jq --rawfile x .env . a.json", {".env": MadeFile(), "a.json": MadeFile()})
    assert {fact.raw for fact in found.paths} == {".env", "a.json"}


_SEARCHES = {".env": MadeFile(), "a.py": MadeFile(), "sub/.env": MadeFile()}


@pytest.mark.parametrize(
    "line",
    [
        "rg foo",
        "rg foo -g '*.py'",
        "rg -uu foo -g '*.{py,ts}'",
        "rg --hidden foo -g 'src/**/*.py'",
        "rg --hidden foo --iglob '*.PY'",
        "rg foo -g '!*.md'",
        "rg foo -g '!node_modules' -g '!dist/**'",
        "rg --hidden foo -g '*.py' -g '!*_test.py'",
        "rg -uu foo -t py",
        "rg -tpy -trust foo",
        "rg --type=py foo",
        "rg foo -g '!*.md' -t ts",
        "grep -r foo --include='*.py' .",
        "grep -rn foo --include=*.py .",
        "grep -rn foo --include=*.{ts,tsx} .",
        "grep -rn foo --include='*.py' --exclude='*_test.py' .",
        "grep -rn foo --exclude-dir=dist --include='*.py' .",
        "(shopt -s nullglob); grep -rn foo --include=*.py .",
    ],
)
def test_a_search_that_is_told_which_names_to_keep_to_reads_no_others(line):
    assert not any("credential" in fact.categories for fact in facts(line, _SEARCHES).paths)


@pytest.mark.parametrize(
    "line",
    [
        "rg --hidden foo",
        "rg -uu foo",
        "rg foo -g '*'",
        "rg foo -g '*.e*'",
        "rg foo -g 'sub/**'",
        "rg foo -g '.env' -t py",
        "rg foo -g '*.{py,env}'",
        "rg foo -g '{*.py,.env}'",
        "rg foo -g '{*.{py,ts},.env}'",
        "rg foo -g '.e[n]v'",
        "rg foo -g '\\.env'",
        "rg foo -g '#x' --hidden",
        "rg foo -g '' --hidden",
        "rg foo -g $GLOB",
        "rg foo --iglob '*.ENV'",
        "rg foo -g '*.ENV' --glob-case-insensitive",
        "rg --hidden foo -g '!*.md'",
        "rg foo -t all",
        "rg foo -t $TYPE",
        "rg foo -t py --type-add 'py:.env'",
        "rg foo -g '*.py' .env",
        "grep -r foo --exclude=x --include='*.py' .",
        "grep -r foo --exclude-from=x --include='*.py' .",
        "grep -r foo --include=.e* .",
        "grep -r foo --include=[.]env .",
        "shopt -s nullglob; grep -rn foo --include=*.py .",
        "if a; then shopt -s nullglob; fi; grep -rn foo --include=*.py .",
        "ag --hidden foo",
        "ag -u foo",
    ],
)
def test_a_search_reads_what_its_globs_and_types_do_not_leave_out(line):
    assert any("credential" in fact.categories for fact in facts(line, _SEARCHES).paths)


GLOBBED = {".env": MadeFile(), "a.txt": MadeFile(), "b.txt": MadeFile(), "1": MadeFile(), "2": MadeFile()}


@pytest.mark.parametrize(
    "line",
    ["grep .*", "grep -h .e*", "rg .*", "grep -e .*", "cut -d .* -f1", "grep -A [12] .env", "awk -F .* 1", "ag .*"],
)
def test_what_a_pattern_stands_for_is_more_than_one_word(line):
    programs = {f"/usr/bin/{name}": MadeFile(mode=0o755) for name in ("ag", "rg")}
    assert any("credential" in fact.categories for fact in facts(line, {**GLOBBED, **programs}).paths)


@pytest.mark.parametrize(
    "line",
    [
        "grep -c [0-9] a.txt",
        "grep -rn foo* src",
        "grep x [ab].txt",
        "awk -F [,:] '{print $2}' a.txt",
        "cat [!.]*",
        "cat [.]env",
        "ls [a-m]*",
        "head -n 5 *",
    ],
)
def test_a_bracket_stands_for_one_character_and_for_no_dot_in_front(line):
    found = facts(line, GLOBBED)
    assert not found.unknown
    assert all(fact.resolved for fact in found.paths)
    assert not any("credential" in fact.categories for fact in found.paths)


def test_pieces_of_several_files_are_called_as_any_of_them():
    assert facts("split *", GLOBBED).unknown
    assert not facts("split a.txt out_", GLOBBED).unknown

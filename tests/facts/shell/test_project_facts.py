"""Tools that run the project's code, and what installs from lock files: kinds of code, paths, hosts, what is unknown."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shell_world import WS, accesses, facts, place
from shield.facts.made import MadeFile
from shield.facts.programs.library import load_models, models
from shield.facts.programs.requirements import read_requirements
from shield.types import Access, Dynamic, RunsCode

HASH = "--hash=sha256:" + "a" * 64
PROGRAM = MadeFile(content=b"x", mode=0o755)


def text(content: str) -> MadeFile:
    return MadeFile(content=content.encode())


LOCKED = "package-lock.json uv.lock Cargo.lock go.sum yarn.lock pnpm-lock.yaml poetry.lock bun.lock"
LOCKS = {name: text("x") for name in LOCKED.split()} | {"r.txt": text(f"six==1.0 {HASH}\n")}


def runs(line, files=None):
    return facts(line, files).commands[-1].runs_code


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("pytest", RunsCode.WORKSPACE),
        ("make", RunsCode.WORKSPACE),
        ("npm test", RunsCode.WORKSPACE),
        ("npm", RunsCode.WORKSPACE),
        ("cargo test", RunsCode.WORKSPACE),
        ("go vet ./...", RunsCode.WORKSPACE),
        ("python3 x.py", RunsCode.WORKSPACE),
        ("python3 -m pytest -x", RunsCode.WORKSPACE),
        ("python3 -m app -c code", RunsCode.WORKSPACE),
        ("python3 -c 1", RunsCode.NONE),
        ("python3 -c 'import os; os.x()'", RunsCode.INLINE),
        ("python3 -Bc 'x.y()'", RunsCode.INLINE),
        ("python3 -i x.py", RunsCode.INLINE),
        ("python3 --frob x.py", RunsCode.INLINE),
        ("python3 -mpip install x", RunsCode.FETCHED),
        ("python3 -m uv sync", RunsCode.FETCHED),
        ("node x.js -e 1", RunsCode.WORKSPACE),
        ("node -e 1", RunsCode.NONE),
        ("node -e 'eval(1)'", RunsCode.INLINE),
        ("node --frob x.js", RunsCode.INLINE),
        ("ruby x.rb", RunsCode.WORKSPACE),
        ("ruby -e 1", RunsCode.NONE),
        ("ruby -e load", RunsCode.INLINE),
        ("perl -i -pe 1 x", RunsCode.INLINE),
        ("make --eval=x", RunsCode.INLINE),
        ("make 'A=$(x)'", RunsCode.INLINE),
        ("cargo --config a=1 build", RunsCode.INLINE),
        ("go test -exec x", RunsCode.INLINE),
        ("gcc -wrapper a,b x.c", RunsCode.INLINE),
        ("cmake -E env x", RunsCode.INLINE),
        ("pylint --init-hook=x a.py", RunsCode.INLINE),
        ("npm ci", RunsCode.FETCHED),
        ("yarn", RunsCode.FETCHED),
        ("yarn x", RunsCode.WORKSPACE),
        ("yarn workspace a add b", RunsCode.FETCHED),
        ("go get x", RunsCode.FETCHED),
        ("go run x@v1", RunsCode.FETCHED),
        ("deno run x.ts", RunsCode.FETCHED),
        ("pip list", RunsCode.NONE),
        ("python3 --version", RunsCode.NONE),
    ],
)
def test_what_kind_of_code_runs(line, kind):
    assert runs(line) is kind


@pytest.mark.parametrize(
    "line",
    [
        "pytest --rootdir=/out", "pytest -c /out", "pytest -c/out", "pytest -o x=/out", "pytest a:/out", "pytest /out",
        "pytest '[\"/out\"]'", "pytest --x '/out'", "pytest file:/out", "pytest --x=file:///out", "make X=/out",
        "make -f /out", "make -f/out", "npm test -- /out", "npm run x --prefix=/out", "cargo build --target-dir /out",
        "gcc -I/out x.c", "gcc -isystem/out x.c", "gcc @/out", "gcc -Wl,-rpath,/out x.c", "gcc -o/out x.c",
        "go build -o=/out", "python3 x.py --y=/out", "python3 x.py /out", "node x.js --y /out", "ruby x.rb --y=/out",
        "npx --no-install t /out", "eslint --x={a,/out}", "prettier --plugin=/out x", "tox --workdir=/out",
        "PYTHONPATH=/out pytest", "PYTHONPATH=a:/out pytest", "X=/out make", "X=a:/out make", "export X=/out; make",
        "./run --y=/out", "./run a=/out", "cmake -DX=/out", "rustc -C linker=/out x.rs", "uv run --no-sync pytest /out",
    ],
)  # fmt: skip
def test_what_leads_out_is_seen_wherever_it_stands(line):
    found = facts(line, {"run": PROGRAM, ".venv/bin/pytest": PROGRAM, "node_modules/.bin/t": PROGRAM})
    assert "/out" in {path for path, _ in accesses(found)}, found.paths


@pytest.mark.parametrize("up", ["../x", "a/../../x", "-I../x", "--x=../x", "x=../x", "-Ca/../../x"])
def test_what_climbs_out_is_seen(up):
    found = facts(f"pytest {up}", {"a/b": text("")})
    assert "/home/user/x" in {path for path, _ in accesses(found)}


def test_a_tilde_that_the_tool_would_expand_is_the_home():
    assert ("/home/user/x", "read") in accesses(facts("pytest --x=~/x"))
    assert any(path.resolved is None for path in facts("pytest --x=~root/x").paths)


def test_urls_and_plain_words_are_no_paths():
    assert not facts("pytest --base-url=http://127.0.0.1:3000/x -k 'a or b' -n auto").paths
    assert not facts("X=postgres://u@h/db make").paths


def test_a_link_that_leads_out_is_seen_through_bare_words_and_options():
    files = {"link": MadeFile(symlink="/out")}
    for line in ("pytest link", "pytest -c link", "pytest --config-file=link", "make -flink", "mypy link"):
        assert "/out" in {path for path, _ in accesses(facts(line, files))}, line


def test_reports_and_outputs_are_written_and_formatters_edit():
    assert (f"{WS}/r.xml", "write") in accesses(facts("pytest --junitxml=r.xml"))
    assert (f"{WS}/x", "write") in accesses(facts("gcc -o x a.c"))
    assert (f"{WS}/a/b.py", "write") in accesses(facts("black a/b.py"))
    files = {"/usr/bin/prettier": PROGRAM}
    assert (f"{WS}/a/b.js", "write") not in accesses(facts("prettier --check a/b.js", files))
    assert (f"{WS}/a/b.js", "write") in accesses(facts("prettier --write a/b.js", files))


def test_a_word_of_unknown_value_may_be_an_option():
    assert facts("pytest $X").commands[0].dynamic is Dynamic.CODE
    assert facts("make $X").commands[0].dynamic is Dynamic.CODE
    assert facts("python3 x.py $X").commands[0].dynamic is not Dynamic.NONE
    assert any(path.resolved is None for path in facts('pytest "a/$X"').paths)
    assert facts("pytest a/*.py", {"a/b.py": text("")}).commands[0].dynamic is Dynamic.ARGUMENT
    assert facts("pytest *", {"-p": text("")}).commands[0].dynamic is Dynamic.CODE


def test_search_paths_of_the_workspace_are_the_projects_code():
    found = facts("PYTHONPATH=src:lib pytest")
    assert found.commands[0].dynamic is Dynamic.NONE
    assert {(f"{WS}/src", "read"), (f"{WS}/lib", "read")} <= accesses(found)
    assert (WS, "read") in accesses(facts("PYTHONPATH=:x pytest"))
    assert facts("PYTHONPATH=. ls").commands[0].runs_code is RunsCode.WORKSPACE
    for line in ("PYTHONPATH=$X pytest", "PYTHONPATH=a:'~'/b pytest", "PYTHONHOME=a pytest", "RUBYOPT=-ra ruby x.rb"):
        assert facts(line).commands[0].dynamic is Dynamic.CODE, line


def test_the_projects_own_program_is_what_its_environment_runs():
    files = {".venv/bin/pytest": PROGRAM, "sub/.venv/bin/mypy": PROGRAM, "node_modules/.bin/tsc": PROGRAM}
    assert facts("uv run --no-sync pytest -q", files).commands[1].program == f"{WS}/.venv/bin/pytest"
    assert facts("poetry run pytest", files).commands[1].program == f"{WS}/.venv/bin/pytest"
    moved = facts("uv run --no-sync --directory sub mypy x.py", files).commands[1]
    assert moved.program == f"{WS}/sub/.venv/bin/mypy"
    assert facts("npx tsc", files).commands[1].program == f"{WS}/node_modules/.bin/tsc"
    assert facts("npx pytest", files).unknown
    assert len(facts("npx evil x", files).commands) == 1


@pytest.mark.parametrize(
    ("line", "hosts"),
    [
        ("npm ci", {"registry.npmjs.org"}),
        ("yarn install --frozen-lockfile", {"registry.npmjs.org", "registry.yarnpkg.com"}),
        ("pnpm i --frozen-lockfile", {"registry.npmjs.org"}),
        ("bun install --frozen-lockfile", {"registry.npmjs.org"}),
        ("pip install -r r.txt", {"pypi.org", "files.pythonhosted.org"}),
        ("python3 -m pip install --require-hashes -rr.txt", {"pypi.org", "files.pythonhosted.org"}),
        ("pip install -i https://i.example/s -r r.txt", {"i.example"}),
        (
            "pip install --extra-index-url https://i.example -r r.txt",
            {"i.example", "pypi.org", "files.pythonhosted.org"},
        ),
        ("pip install --no-index --find-links w -r r.txt", set()),
        ("uv sync --locked", {"pypi.org", "files.pythonhosted.org"}),
        ("uv sync --frozen --offline", set()),
        ("uv pip sync --require-hashes r.txt", {"pypi.org", "files.pythonhosted.org"}),
        ("poetry install", {"pypi.org", "files.pythonhosted.org"}),
        ("cargo fetch --locked", {"index.crates.io", "static.crates.io"}),
        ("go mod download", {"proxy.golang.org", "sum.golang.org"}),
        ("npm ci --registry=https://r.example/", {"r.example"}),
        ("uv run pytest", set()),
    ],
)
def test_an_installation_from_a_lock_names_its_hosts_and_nothing_is_unknown(line, hosts):
    found = facts(line, LOCKS | {".venv/bin/pytest": PROGRAM})
    assert found.commands[0].runs_code is RunsCode.FETCHED
    assert {host.host for host in found.hosts} == hosts
    assert all(host.port == 443 and host.scheme == "https" for host in found.hosts)
    assert found.unknown == ()


def test_the_file_that_decides_is_bound_by_its_content():
    for line, name in (
        ("npm ci", "package-lock.json"),
        ("pip install -r r.txt", "r.txt"),
        ("go mod download", "go.sum"),
    ):
        assert (f"{WS}/{name}", Access.EXECUTE) in accesses(facts(line, LOCKS))


def test_a_lock_is_found_above_and_never_outside_the_workspace():
    assert facts("cd a/b && npm ci", {"a/b/c": text(""), "package-lock.json": text("")}).unknown == ()
    assert facts("cd a && npm ci", {"a/b": text(""), "/home/user/package-lock.json": text("")}).unknown


@pytest.mark.parametrize("name", ["UV_INDEX", "UV_PYTHON", "UV_CONFIG_FILE"])
def test_a_variable_of_the_session_that_steers_is_unknown(name):
    world = place(LOCKS)
    env = {**world.env, name: "x"}
    assert facts("uv sync --locked", LOCKS, env=env).unknown
    assert facts("uv sync --locked", LOCKS, env={**world.env, "UV_NO_PROGRESS": "1"}).unknown == ()


SPOKEN = """
npm ci install test run i exec yarn pnpm pip -r r.txt s.txt --require-hashes uv sync --locked --frozen --offline add evil
cargo fetch go mod download get poetry python3 -m -c --registry https://e.example -i --prefix sub . --ignore-scripts --foo
--foo=bar --with --target x@1 npx tool bun --frozen-lockfile --immutable -q -C --script-shell -f ../x workspace pytest
--index-url=https://e.example publish --no-sync -e ./x -- - uvx deno
"""
WORDS = st.lists(st.sampled_from(SPOKEN.split()), min_size=1, max_size=6)
INSTALLS = {
    ("npm", "ci"), ("yarn", "install"), ("pnpm", "install"), ("pnpm", "i"), ("bun", "install"), ("bun", "i"), ("bun", "ci"),
    ("pip", "install"), ("uv", "sync"), ("uv", "pip"), ("poetry", "install"), ("cargo", "fetch"), ("go", "mod"),
}  # fmt: skip


@given(WORDS)
@settings(max_examples=600, deadline=None)
def test_what_fetches_is_pinned_or_unknown(words):
    """INVARIANT of packages.py: fetched, without a line in `unknown`, only by a file that is bound, or from nowhere."""
    found = facts(" ".join(words), LOCKS | {"s.txt": text("six\n"), "x/y": text(""), "sub/y": text("")})
    kinds = [command.runs_code for command in found.commands]
    if RunsCode.FETCHED not in kinds or found.unknown or not found.parsed:
        return
    if any(command.dynamic is Dynamic.CODE for command in found.commands):
        return
    bound = [path for path in found.paths if path.access is Access.EXECUTE]
    assert bound or not found.hosts, words
    # what is not known may run the words behind it: `add yarn` is judged as both
    for argv in (command.argv for command in found.commands if found.hosts and command.runs_code is RunsCode.FETCHED):
        assert argv[0] in ("yarn", "pnpm") or any(verb in argv for _, verb in INSTALLS), words
        assert not {"add", "evil", "x@1", "get", "--with", "--foo", "--script-shell", "s.txt"} & set(argv[1:]), words


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("six\n", "not pinned"),
        ("six==1.0\n", "not pinned"),
        ("six>=1.0 " + HASH, "not pinned"),
        ("six==1.* " + HASH, "not pinned"),
        (f"six==1.0 {HASH}\nevil\n", "not pinned"),
        (f"./six {HASH}\n", "not pinned"),
        (f"six @ http://h.example/six.whl {HASH}\n", "not pinned"),
        (f"six==1.0 --hash=md5:{'a' * 32}\n", "not pinned"),
        (f"six==1.0 {HASH} --global-option=x\n", "not pinned"),
        (f"six==1.0 {HASH}\\\nevil\n", "not pinned"),
        (f"-e .\nsix==1.0 {HASH}\n", "changes"),
        (f"--trusted-host h\nsix==1.0 {HASH}\n", "changes"),
        (f"--find-links=x\nsix==1.0 {HASH}\n", "changes"),
        (f"-r missing.txt\nsix==1.0 {HASH}\n", "cannot be"),
        (f"-r r.txt\nsix==1.0 {HASH}\n", "cannot be"),
        (f"-r https://h.example/r.txt\nsix==1.0 {HASH}\n", "changes"),
        (f"six==${{X}} {HASH}\n", "not read as"),
        (f"# -*- coding: utf-7 -*-\nsix==1.0 {HASH}\n", "not read as"),
        (f"\ufeffsix==1.0 {HASH}\n", "not read as"),
        (f"six==1.0 {HASH}\x0bevil\n", "not pinned"),
        (f"six==1.0 {HASH}\u2028evil\n", "not pinned"),
        ("", "asks for nothing"),
        ("# nothing\n", "asks for nothing"),
    ],
)
def test_requirements_that_are_not_pinned_are_told_apart(content, why):
    found = read_requirements(f"{WS}/r.txt", place({"r.txt": text(content)}))
    assert any(why in doubt for doubt in found.doubts), found.doubts


@pytest.mark.parametrize(
    "content",
    [
        f"six==1.0 {HASH}\n",
        f"six==1.0 \\\n    {HASH} \\\n    {HASH}\n    # via x\n",
        f"six[a,b]==1.0 ; python_version >= '3.8' {HASH}\n",
        f"# all of it\n\n--require-hashes\n--only-binary :all:\nsix===1.0 --hash sha256:{'b' * 64}\r\n",
        f"six @ https://h.example/six.whl {HASH} # it\n",
        f"-c c.txt\nsix==1.0 {HASH}\n",
    ],
)
def test_requirements_that_are_pinned_are_understood(content):
    files = {"r.txt": text(content), "c.txt": text(f"x==1 {HASH}\n")}
    assert read_requirements(f"{WS}/r.txt", place(files)).doubts == []


def test_a_requirements_file_too_large_or_not_text_is_not_understood():
    for raw in (b"\xff\xfe", b"#" * (1 << 21)):
        assert read_requirements(f"{WS}/r.txt", place({"r.txt": MadeFile(content=raw)})).doubts


def test_a_subcommand_that_is_not_known_asks():
    for line in (
        "npm frob",
        "pip frob",
        "uv frob",
        "go frob",
        "ruff frob",
        "npm --frob test",
        "uv --frob x run pytest",
    ):
        assert facts(line).unknown, line
    assert facts("make frob").unknown == ()


def test_models_say_why_a_person_is_asked_and_where_options_end():
    loaded = load_models("x: {values: {-c: text}, ends: -c, rest: read, asks: it sends}", "x.yaml")["x"]
    assert loaded.options["-c"].ends
    assert loaded.asks == "it sends"
    assert models()["python"].options["-m"].ends
    assert facts("npm publish").unknown

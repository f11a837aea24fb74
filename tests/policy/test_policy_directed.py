"""What `default` says of commands that stand in sources, build files and hooks: they delete no more than a script may."""

import json

import pytest

from git_world import repository
from shell_world import MadeFile, reading_policy, text
from shield.types import Decision

KEPT = {path: file for path, file in repository({"c.txt": "x\n"}).items() if path.startswith(".git/")}
HELD = ("c.txt", "src/a.py", "build/x", "dist/x")
PROGRAM = MadeFile(content=b"\x7fELF", mode=0o755)
PROGRAMS = {f"node_modules/.bin/{name}": PROGRAM for name in ("tsc", "rimraf")} | {"bin/ninja": PROGRAM}


def decided(line, files):
    held = {path: text("x\n", 0o644) for path in HELD}
    made = {path: each if isinstance(each, MadeFile) else text(each) for path, each in files.items()}
    return reading_policy(line, KEPT | held | PROGRAMS | made, confined=True)


def differs(line, path, content, **more):
    """Whether work is kept from it, and what can be built again is not."""
    files = {name.replace("__", "."): each for name, each in more.items()}
    assert decided(line, files | {path: content.replace("WHAT", "src")}) is not Decision.ALLOW
    assert decided(line, files | {path: content.replace("WHAT", "dist")}) is Decision.ALLOW


@pytest.mark.parametrize("line", ["go generate", "go generate ./...", "go generate -x ./...", "go generate main.go"])
@pytest.mark.parametrize(
    "directive",
    ["//go:generate rm -rf WHAT", "//go:generate sh -c \"rm -rf WHAT\"", "//go:generate -command x rm -rf\n//go:generate x WHAT", "//go:generate rm -rf WHAT/${GOFILE}",
     "//go:generate bash y.sh"],
)  # fmt: skip
def test_directives_of_go(line, directive):
    files = {"src/main.go": "package x\n", "go.mod": "module x\n"}
    for folder, allowed in (("src", False), ("dist", True)):
        more = {"y.sh": f"rm -rf {folder}\n", "main.go": "package main\n\n" + directive.replace("WHAT", folder) + "\n"}
        assert (decided(line, files | more) is Decision.ALLOW) is allowed


def test_directives_beneath_and_those_that_go_ahead():
    files = {"go.mod": "module x\n"}
    assert decided("go generate ./...", files | {"in/a/x.go": "//go:generate rm -rf ../../src\n"}) is not Decision.ALLOW
    assert decided("go generate ./in", files | {"in/x.go": "//go:generate git push\n"}) is not Decision.ALLOW
    assert decided("go generate .", files | {"x.go": "//go:generate go run e.example/x@v1\n"}) is not Decision.ALLOW
    for said in (
        "stringer -type=Pill",
        "go run ./tools/gen -o x.go",
        "mockgen -source=$GOFILE -package=$GOPACKAGE",
        "rm -f mock_x.go",
    ):
        assert (
            decided("go generate ./...", files | {"main.go": f"package main\n//go:generate {said}\n"}) is Decision.ALLOW
        )
    assert decided("go generate ./in", files | {"main.go": "//go:generate rm -rf src\n"}) is Decision.ALLOW
    assert decided("go generate ./...", files | {"_x/main.go": "//go:generate rm -rf ../src\n"}) is Decision.ALLOW


@pytest.mark.parametrize(
    "rules",
    ["rule r\n  command = rm -rf WHAT\nbuild x: r\n", "d = WHAT\nrule r\n  command = rm -rf ${d}\nbuild x: r\n", "rule r\n  command = rm -rf $d\nbuild x: r\n  d = WHAT\n",
     "rule r\n  command = rm -rf $in\nbuild x: r WHAT\n", "rule r\n  command = rm $\n    -rf WHAT\nbuild y: r\nbuild x: phony | y\n", "include y.ninja\n",
     "rule r\n  command = gcc -c a.c && rm -rf WHAT\nbuild x: r\n"],
)  # fmt: skip
def test_rules_of_ninja(rules):
    for folder, allowed in (("src", False), ("dist", True)):
        more = {"y.ninja": f"rule r\n  command = rm -rf {folder}\nbuild x: r\n"}
        for line in ("ninja", "ninja x", "ninja -j4 -f build.ninja x"):
            made = decided(line, more | {"build.ninja": rules.replace("WHAT", folder)})
            assert (made is Decision.ALLOW) is allowed, line
    below = {
        "out/build.ninja": rules.replace("WHAT", "../src"),
        "out/y.ninja": "rule r\n  command = rm -rf ../src\nbuild x: r\n",
    }
    for line in ("ninja -C out", "cmake --build out", "cmake --build out -j4 --target x"):
        assert decided(line, below) is not Decision.ALLOW, line


def test_what_is_not_built_is_not_asked_about():
    gone = "rule r\n  command = rm -rf src\nrule cc\n  command = gcc -c $in -o $out\nbuild gone: r\nbuild a.o: cc a.c\ndefault a.o\n"
    assert decided("ninja", {"build.ninja": gone}) is Decision.ALLOW
    assert decided("ninja a.o", {"build.ninja": gone}) is Decision.ALLOW
    assert decided("ninja gone", {"build.ninja": gone}) is not Decision.ALLOW
    assert decided("cmake --build out", {"out/Makefile": "all:\n\trm -rf ../src\n"}) is not Decision.ALLOW
    assert decided("cmake --build out", {"out/Makefile": "all:\n\nx:\n\trm -rf ../src\n"}) is Decision.ALLOW
    loops = "rule r\n  command = echo $in\n" + "".join(f"build a{at}: r a{(at + 1) % 3000}\n" for at in range(3_000))
    assert decided("ninja a0", {"build.ninja": loops}) is not None


@pytest.mark.parametrize(
    "task",
    ["command = 'rm'\nargs = ['-rf', 'WHAT']", "script = 'rm -rf WHAT'", "script = ['ls', 'rm -rf WHAT']", "dependencies = ['y']", "run_task = 'y'", "run_task = {name = ['y']}", "extend = 'y'",
     "script = '''\n#!/usr/bin/env python3\nimport shutil\nshutil.rmtree('WHAT')\n'''", "script_runner = 'python3'\nscript = 'import shutil; shutil.rmtree(\"WHAT\")'", "alias = 'y'",
     "script = 'rm -rf $D'", "[tasks.x.linux]\nscript = 'rm -rf WHAT'"],
)  # fmt: skip
def test_tasks_of_cargo_make(task):
    content = f"[env]\nD = 'WHAT'\n[tasks.x]\n{task}\n[tasks.y]\nscript = 'rm -rf WHAT'\n[tasks.gone]\nscript = 'rm -rf src'\n"
    differs("cargo make x", "Makefile.toml", content)
    differs("cargo make --makefile y.toml x", "y.toml", content)


def test_words_of_cargo_make():
    said = {"Makefile.toml": "[tasks.x]\ncommand = 'rm'\nargs = ['-rf', '${@}']\n"}
    assert decided("cargo make x src", said) is not Decision.ALLOW
    assert decided("cargo make x dist", said) is Decision.ALLOW


@pytest.mark.parametrize(
    ("line", "alias"),
    [("mix x", 'x: ["cmd rm -rf WHAT"]'), ("mix x", 'x: "cmd rm -rf WHAT"'), ("mix x", 'x: ["y"], y: ["cmd rm -rf WHAT"]'), ("mix test", 'test: ["cmd rm -rf WHAT", "test"]'),
     ("mix do x, test", 'x: ["cmd rm -rf WHAT"]'), ("mix x.y", '"x.y": ["cmd rm -rf WHAT"]')],
)  # fmt: skip
def test_aliases_of_mix(line, alias):
    differs(
        line,
        "mix.exs",
        "defmodule X do\n  defp aliases do\n    [" + alias + ', gone: ["cmd rm -rf src"]]\n  end\nend\n',
    )
    assert (
        decided("mix x", {"mix.exs": 'defmodule X do\n  defp aliases do\n    [x: ["hex.publish"]]\n  end\nend\n'})
        is not Decision.ALLOW
    )


HUSKY = '#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n'
LFS = '#!/bin/sh\ncommand -v git-lfs >/dev/null 2>&1 || { printf >&2 "\\n%s\\n\\n" "No \'git-lfs\'."; exit 2; }\ngit lfs post-commit "$@"\n'


@pytest.mark.parametrize(
    ("line", "hook"),
    [("git commit -m x", "pre-commit"), ("git commit -am x", "commit-msg"), ("git commit -m x", "post-commit"), ("git merge x", "post-merge"), ("bash x.sh", "pre-commit"),
     ("git commit -m x -- c.txt", "prepare-commit-msg")],
)  # fmt: skip
def test_hooks_that_git_starts(line, hook):
    differs(line, f".git/hooks/{hook}", "#!/bin/sh\nrm -rf WHAT\n", x__sh="git commit -m x\n")
    assert (
        decided(line, {f".git/hooks/{hook}": "#!/bin/sh\ngit push\n", "x.sh": "git commit -m x\n"})
        is not Decision.ALLOW
    )
    unset = {f".git/hooks/{hook}": text("#!/bin/sh\nrm -rf src\n", 0o644), "x.sh": "git commit -m x\n"}
    assert decided(line, unset) is Decision.ALLOW  # git starts none that may not be run


def test_hooks_elsewhere_and_those_that_are_not_started():
    gone = "#!/bin/sh\nrm -rf src\n"
    named = {".git/config": text("[core]\n\thooksPath = .husky\n", 0o644)}
    assert decided("git commit -m x", named | {".husky/pre-commit": gone}) is not Decision.ALLOW
    assert (
        decided("git commit -m x", {".git/hooks/pre-push": gone, ".git/hooks/pre-commit.sample": gone})
        is Decision.ALLOW
    )
    assert decided("git commit --no-verify -m x", {".git/hooks/pre-commit": gone}) is Decision.ALLOW
    assert decided("git commit --no-verify -m x", {".git/hooks/post-commit": gone}) is not Decision.ALLOW
    for hook, said in (
        ("post-commit", LFS),
        ("pre-commit", "#!/bin/sh\nruff check\nnpm test\n"),
        ("commit-msg", '#!/bin/sh\ngrep -q JIRA "$1"\n'),
    ):
        assert decided("git commit -m x", {f".git/hooks/{hook}": said}) is Decision.ALLOW, hook
    assert decided("git commit -m x", {".git/hooks/post-commit": LFS + "rm -rf src\n"}) is not Decision.ALLOW


@pytest.mark.parametrize("line", ["npm ci", "pnpm install --frozen-lockfile", "yarn install --frozen-lockfile"])
@pytest.mark.parametrize("name", ["preinstall", "install", "postinstall", "prepare"])
def test_scripts_that_run_while_installing(line, name):
    locks = dict.fromkeys(("package-lock.json", "pnpm-lock.yaml", "yarn.lock"), "{}")
    for said, allowed in (
        ("rm -rf src", False),
        ("rimraf dist && tsc", True),
        ("npx only-allow pnpm", True),
        ("npm run y", False),
        ("npx x", False),
    ):
        package = json.dumps({"scripts": {name: said, "y": "rm -rf src"}})
        assert (decided(line, locks | {"package.json": package}) is Decision.ALLOW) is allowed, said
        assert decided(f"{line} --ignore-scripts", locks | {"package.json": package}) is Decision.ALLOW
    # a function by such a name, and what is run besides, do not share the way out
    plain = locks | {"package.json": json.dumps({"scripts": {name: "tsc", "test": "tsc"}})}
    assert decided(f"{line} && npm test", plain) is not Decision.ALLOW
    assert decided(f"f() {{ ./x.sh; }}; f; {line}", plain | {"x.sh": "ls\n"}) is not Decision.ALLOW


@pytest.mark.parametrize(
    ("line", "allowed"),
    [("cmake -E rm -rf WHAT", None), ("cmake -E remove_directory WHAT", None), ("cmake -E remove WHAT/x", None), ("cmake -E cmake_link_script y", None), ("cmake -E copy c.txt build/c.txt", True),
     ("cmake -E copy_directory src build/src", True), ("cmake -E make_directory build/z", True), ("cmake -E cmake_progress_start build 0", True), ("cmake -E cmake_echo_color --cyan x", True),
     ("cmake -E copy c.txt .git/hooks/pre-commit", False), ("cmake -E copy_directory evil .", False), ("cmake -E env rm -rf dist", False), ("cmake -E copy c.txt ~/.bashrc", False)],
)  # fmt: skip
def test_commands_that_cmake_has_itself(line, allowed):
    for folder in ("src", "dist"):
        files = {"evil/.git/hooks/pre-commit": "ls\n", "y": f"rm -rf {folder}\n", f"{folder}/x": "x\n"}
        said = line.replace("WHAT", folder)
        expected = folder == "dist" if allowed is None else allowed
        assert (decided(said, files) is Decision.ALLOW) is expected, said
        made = files | {"out/Makefile": f"all:\n\tcd .. && {said}\n"}
        assert (decided("cmake --build out", made) is Decision.ALLOW) is expected, said


def test_what_names_itself_over_and_over_ends():
    settings = "a0 = rm -rf src\n" + "".join(f"a{at + 1} = $a{at} $a{at}\n" for at in range(60))
    assert decided("ninja", {"build.ninja": settings + "rule r\n  command = $a60\nbuild x: r\n"}) is not Decision.ALLOW
    for said in ("-/" * 30_000, "a-" * 30_000):
        assert decided("ninja", {"build.ninja": f"rule r\n  command = {said}\nbuild x: r\n"}) is not None
    listed = ", ".join(f'"x{at}"' for at in range(20))
    names = "".join(f"x{at}: [{listed}]," for at in range(20))
    assert decided("mix x0", {"mix.exs": f"defp aliases do\n[{names}]\nend\n"}) is not None
    assert decided("mix x0", {"mix.exs": "defp aliases [" * 4_000}) is not None

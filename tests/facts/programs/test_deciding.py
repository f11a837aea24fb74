"""Files that decide what a line runs, and which the same line changes: nobody has judged what they then say."""

import pytest

from shell_world import facts
from shield.facts.made import MadeFile
from shield.facts.programs.deciding import decides
from shield.types import Origin


def text(content, mode=0o755):
    return MadeFile(content=content.encode(), mode=mode)


FILES = {
    "run.sh": text("#!/bin/sh\nls\n"), "tool.py": text("#!/usr/bin/env python3\nprint(1)\n"), "x": text("ls\n"), "a/b": text(""), "prog": text("\x7fELF"),
    "prog.c": text("int main(){}"), "Makefile": text("all:\n\tls\n"), "package.json": text('{"scripts": {"test": "ls"}}'), "x.js": text("1\n"), "conftest.py": text(""), "gradlew": text("#!/bin/sh\nls\n"),
    "link.sh": MadeFile(symlink="run.sh"), "/usr/bin/gcc": text("\x7fELF"), "build.sh": text("#!/bin/sh\necho ls > y.sh\nbash y.sh\n"), "y.sh": text("ls\n"),
}  # fmt: skip

# ways to change run.sh
CHANGES = [
    "echo 'rm x' > run.sh", "echo x >> run.sh", "cp x run.sh", "mv x run.sh", "install -m 755 x run.sh", "sed -i s/a/b/ run.sh", "perl -pi -e s/a/b/ run.sh", "echo x | tee run.sh", "tee -a run.sh < x",
    "dd if=x of=run.sh", "ln -sf x run.sh", "sort -o run.sh x", "awk '{print > \"run.sh\"}' x", "find . -name x -exec cp {} run.sh \\;", "cat > run.sh <<'E'\nx\nE", "echo x > link.sh", "echo x > a/../run.sh",
    "cd a; echo x > ../run.sh; cd ..", "bash -c 'echo x > run.sh'", "f() { echo x > run.sh; }; f", "{ echo x; } > run.sh", "make -s V=x > run.sh", "python3 -c \"open('run.sh','w').write('x')\"",
    "echo x > run.sh &", "n=run.sh; echo x > $n", "for n in run.sh; do echo x > $n; done", "echo x | sudo tee run.sh", "/home/user/ws/y() { make -s V=x > run.sh; }; /home/user/ws/y",
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "start", ["./run.sh", "bash run.sh", "./a/../run.sh", "timeout 5 ./run.sh x", "PATH=.:$PATH; run.sh"]
)
def test_a_program_that_the_line_changes_is_not_judged(change, start):
    found = facts(f"{change}\n{start}", FILES)
    # where the shell may stand in several places, which program it is, is not known
    assert found.unknown or not found.parsed or found.commands[-1].origin is Origin.UNKNOWN, found


@pytest.mark.parametrize(
    "line",
    ["./run.sh", "chmod +x run.sh && ./run.sh", "chmod 755 run.sh; touch run.sh; ./run.sh > log 2>&1", "gcc -o prog prog.c && ./prog", "gcc -o prog prog.c 2>/dev/null && ./prog", "make > log && ./prog",
     "echo x > out.txt; ./run.sh", "cp run.sh copy.sh; ./run.sh", "./run.sh | tee log", "cat run.sh; ./run.sh", "mkdir -p out && ./run.sh out", "./build.sh", "echo x > notes.md; make; pytest -q; npm test",
     "sed -i s/a/b/ src/a.py && pytest", "sed -i s/a/b/ src/a.rs; cargo test", "touch conftest.py; pytest", "rm -f y; make", "echo x > .gitignore; npm test", "git add conftest.py; pytest", "cat package.json; npm test"],
)  # fmt: skip
def test_what_it_does_not_change_goes_on(line):
    found = facts(line, FILES)
    assert not [each for each in found.unknown if "may change it" in each], found.unknown
    assert found.parsed


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("Makefile", "make"), ("GNUmakefile", "make -j4 all"), ("config.mk", "make"), ("package.json", "npm test"), ("package.json", "yarn build"), (".npmrc", "npm run x"), ("conftest.py", "pytest"),
        ("tests/conftest.py", "pytest -q tests"), ("conftest.py", "python3 -m pytest"), ("pyproject.toml", "pytest"), ("setup.cfg", "python3 -m pytest"), ("tox.ini", "tox"), ("noxfile.py", "nox"), ("build.rs", "cargo build"),
        ("Cargo.toml", "cargo test"), (".cargo/config.toml", "cargo build"), ("x.go", "go generate ./..."), ("go.mod", "go build"), ("build.gradle", "./gradlew build"), ("build.gradle.kts", "gradle test"),
        ("gradle/wrapper/gradle-wrapper.properties", "./gradlew"), ("pom.xml", "mvn test"), (".pre-commit-config.yaml", "pre-commit run -a"), ("Dockerfile", "docker build ."), ("Dockerfile.dev", "podman build ."),
        ("docker-compose.yml", "docker compose up"), ("CMakeLists.txt", "cmake -B build"), ("meson.build", "meson compile"), ("build.ninja", "ninja"), ("Rakefile", "rake"), ("justfile", "just x"), ("Taskfile.yml", "task x"),
        ("vite.config.ts", "vite build"), ("jest.config.js", "jest"), (".eslintrc.js", "eslint src"), ("gulpfile.js", "gulp"), ("node_modules/.bin/jest", "npm test"), (".venv/bin/pytest", "make"),
        ("node_modules/x/index.js", "node x.js"), ("sitecustomize.py", "python3 tool.py"), (".mypy.ini", "mypy src"), (".flake8", "flake8"), ("mix.exs", "mix test"), ("Directory.Build.props", "dotnet build"), ("x.sbt", "sbt test"),
    ],
)  # fmt: skip
def test_settings_that_say_what_a_tool_runs(name, line):
    for change in (f"echo x > {name}", f"cp x {name}", f"sed -i s/a/b/ {name}"):
        found = facts(f"{change} && {line}", FILES)
        assert [each for each in found.unknown if "may change it" in each], (change, found)
    found = facts(f"cat {name} && {line}", FILES)
    assert not [each for each in found.unknown if "may change it" in each]
    assert not facts(f"echo x > {name}; cat {name}").unknown


def test_what_is_made_of_changed_sources_is_changed():
    found = facts("echo 'int main(){}' > prog.c; gcc -c prog.c -o p.o; gcc p.o -o prog; ./prog", FILES)
    assert found.unknown
    found = facts("echo x > other.c; gcc -c prog.c -o p.o; gcc p.o -o prog; ./prog", FILES)
    assert not found.unknown


def test_words_that_a_tool_writes_into_its_settings_are_the_lines():
    for line in (
        "npm pkg set scripts.test='rm -rf ~' && npm test",
        "npm pkg delete x; npm test",
    ):
        assert facts(line, FILES).unknown, line
    assert not facts("npm pkg get scripts && npm test", FILES).unknown
    assert not facts("npm pkg set version=1.0.0", FILES).unknown


def test_a_start_through_a_link_is_the_file_behind_it():
    assert facts("echo x > run.sh; ./link.sh", FILES).unknown
    assert facts("ln -sf x link.sh; ./link.sh", FILES).unknown
    venv = {**FILES, ".venv/bin/python": MadeFile(symlink="/usr/bin/python3"), "/usr/bin/python3": text("\x7fELF")}
    assert not facts(".venv/bin/python tool.py", venv).unknown
    assert facts("ln -sf /tmp/x .venv/bin/python; .venv/bin/python tool.py", venv).unknown


def test_an_empty_file_may_make_a_package_of_what_is_there():
    files = {"xml/etree/ElementTree.py": text("import os; os.system('id')")}
    line = "touch xml/__init__.py xml/etree/__init__.py; python3 -c 'import xml.etree.ElementTree as E; print(1)'"
    assert facts(line, files).unknown


def test_names_are_matched_whole():
    assert decides("/w/Makefile", "make", ())
    assert decides("/w/Makefile", "make build", ())
    assert not decides("/w/Makefile.txt.md", "make", ())
    assert not decides("/w/xMakefile", "make", ())
    assert not decides("/w/Makefile", "pytest", ())
    assert not decides("/w/x.go", "go", ("build",))
    assert decides("/w/x.go", "go", ("generate",))
    assert decides("/w/a\nb/conftest.py", "pytest", ())

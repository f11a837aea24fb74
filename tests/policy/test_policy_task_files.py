"""What `default` says of files of tasks that read like less than they run: no work that is in no commit gets lost by it."""

import json

import pytest

from git_world import repository
from shell_world import reading_policy, text
from shield.types import Decision

_X = "x:\n\trm -rf $(D)\n"
_LIST = "$(shell cat list)"
_WORDS = f"$(patsubst %,%,{_LIST})"


def decided(line, name, content, **files):
    made = repository({"c.txt": "x\n"})
    kept = {path: file for path, file in made.items() if path.startswith(".git/")}
    held = dict.fromkeys(("c.txt", "src/a.py", "build/x", "dist/x", "b.c", "b.f"), "x\n") | {"list": "src\n"}
    whole = kept | {path: text(each, 0o644) for path, each in (held | {name: content} | files).items()}
    return reading_policy(line, whole, confined=True)


@pytest.mark.parametrize(
    "content",
    [f"A := {_LIST}\nB := $(shell echo build)\nx:\n\trm -rf $(subst 0,1,$(A))\n", f"A := {_LIST}\nx:\n\trm -rf $(subst 0,9,$(A))\n",
     f"x:\n\trm -rf $(subst $$,,{_WORDS})\n", f"ifneq ($(filter {_LIST},a b),)\nD=build\nelse\nD=src\nendif\n{_X}",
     f"ifeq ($(findstring {_LIST},src),)\nD=build\nelse\nD=src\nendif\n{_X}", f"ifeq ($(word {_LIST},a b),a b)\nD=build\nelse\nD=src\nendif\n{_X}",
     f"ifeq ($(suffix {_LIST}),)\nD=build\nelse\nD=src\nendif\n{_X}", f"D := {_LIST}\nifdef D\nD=build\nelse\nD=src\nendif\n{_X}",
     f"unknown=build\nexport unknown\nx:\n\trm -rf {_WORDS}\n", f"x:\n\tunknown=build; rm -rf {_WORDS}\n",
     "include gen.mk\n" + _X + "gen.mk:\n\tsed s/^/D=/ list > gen.mk\n", "X=build\nundefine X\nx:\n\trm -rf src/$(X)\n",
     "D:=src\nx: E:=$(D)\nx:\n\trm -rf $(E)\nD:=build\n", "x: D!=cat list\n" + _X, "x: D = $<\nx: src build\n" + _X, "x: src\nx:\n\trm -rf $^\n", "E = build\nx: D = $(E)\nx: E = src\n" + _X, "x: D = $<\nx: y\n\tls\ny: src\n\trm -rf $(D)\n", "D := src$(basename .o)\n" + _X,
     "x: D = src\nD = build\n$(D):\nx:\n\trm -rf $(value D)\n", "x: D=src\n" + _X + "%: D=build\n",
     "D=src\nx: private D=build\nx: y\n\tls\ny:\n\trm -rf $(D)\n", f"$(if {_LIST},$(eval D:=src),$(eval D:=build))\n{_X}",
     f"$(if {_LIST},$(eval D:=build),)\nD?=src\n{_X}", "D:=src\n$(or a,$(eval D:=build))\n" + _X, f"$(eval D := {_WORDS})\n{_X}", f"$(eval D = {_WORDS})\n{_X}",
     f"D := {_WORDS}\nx:\n\trm -rf $(call D)\n", "X=" + "a" * 33_000 + "\nx:\n\techo $(X); rm -rf src\n", "x:\n\trm -rf $(strip\tsrc x)\n",
     "FC = rm -rf src;\nx: b.o\n\tls\nb.o: b.f\n", "TARGET_ARCH = ; rm -rf src;\nx: b.o\n\tls\n", "OUTPUT_OPTION = ; rm -rf src;\nx: b.o\n\tls\n", "D+ = src\nx:\n\trm -rf $(D+)\n",
     "x:\n\t# hi \\\n\trm -rf src\n", "x: ; echo a#b; rm -rf src\n", "x: ; echo '#'; rm -rf src\n", "x:\n\t-echo '\n\trm -rf src\n\t-echo '\n",
     "x:\n\tcat <<'( rm -rf src'\n\trm -rf src\n", "x:\n\t-: ${a:-\n\trm -rf src\n\t-: }\n", "x:\n\t$(MAKE) -C `cat list` y\n"],
)  # fmt: skip
def test_makefile(content):
    assert decided("make x", "Makefile", content) is not Decision.ALLOW


def test_words_and_environment_of_make():
    assert decided("make x D=build", "Makefile", "x: override D=src\n" + _X) is not Decision.ALLOW
    assert decided("unknown=build make x", "Makefile", f"x:\n\trm -rf {_WORDS}\n") is not Decision.ALLOW


@pytest.mark.parametrize(
    "content",
    [_X + "D=build\n", "x: D:=build\n" + _X, "x:\n\techo 'it is # so'; \\\n\t  ls \\\n\t  src\n", "x: ; echo a#b; rm -rf build\n",
     "V := $(shell git describe)\nD := build\nifdef V\nD += dist\nendif\n" + _X, "x:\n\tfor d in build; do \\\n\t  rm -rf $$d; \\\n\tdone # it's\n",
     "define clean\n# it is \\\n  so\n@rm -rf $(1)\nendef\nx:\n\t$(call clean,build)\n", "-include local.mk\nD=build\n" + _X,
     "D := $(or $(OUT),build)\n" + _X, "x:\n\tcase a in a) ls;; esac; echo \"$${A:-don't}\" $$((1<<2))\n"],
)  # fmt: skip
def test_ordinary_makefile(content):
    assert decided("make x", "Makefile", content) is Decision.ALLOW


@pytest.mark.parametrize(
    "content",
    ["set dotenv-load\nx:\n    rm -rf {{env('D','build')}}\n", "d := `cat list`\nx:\n    #!/usr/bin/env python3\n    import shutil\n    shutil.rmtree('{{d}}')\n",
     "x:\n    -echo '\n    rm -rf src\n    -echo '\n", "x:\n    cat <<'( rm -rf src'\n    rm -rf src\n", "d := `cat list`\nx:\n    unknown=build; rm -rf {{d}}\n"],
)  # fmt: skip
def test_justfile(content):
    assert decided("just x", "justfile", content) is not Decision.ALLOW
    assert (
        decided("just x", "justfile", "set dotenv-load\nd := 'build'\nx:\n    rm -rf {{d}}  # it's\n") is Decision.ALLOW
    )


@pytest.mark.parametrize(
    "content",
    ["dotenv: ['.env']\ntasks:\n  x: rm -rf {{.D}}\n", "tasks:\n  x:\n    dotenv: ['.env']\n    cmds: ['rm -rf {{.D | default \"build\"}}']\n",
     "tasks:\n  x: rm -rf s{{if .A}}rc{{end}}\n", "tasks:\n  x: 'rm -rf s{{/* x */}}rc'\n", "tasks:\n  x: 'rm -rf s{{if .A}} x {{end}}rc'\n",
     "tasks:\n  x: 'rm -rf s {{- \"\" -}} rc'\n", "tasks:\n  x: '{{if .A}}{{if .B}}rm -rf src{{end}}{{end}}'\n",
     "tasks:\n  x:\n    cmds: [\"echo '\", rm -rf src, \"echo '\"]\n", "tasks:\n  x:\n    cmds: [\"cat <<'( rm -rf src'\", rm -rf src]\n",
     "vars: {D: build}\nincludes: {i: inc.yml}\ntasks:\n  x: {cmds: [{task: 'i:z'}]}\n"],
)  # fmt: skip
def test_taskfile(content):
    inner = "vars: {D: src}\ntasks:\n  z: rm -rf {{.D}}\n"
    assert decided("task x", "Taskfile.yml", content, **{"inc.yml": inner}) is not Decision.ALLOW


@pytest.mark.parametrize(
    "content",
    ["tasks:\n  x: go build {{if .A}}-race{{end}} ./...\n", "tasks:\n  x: rm -rf {{if .A}}build{{else}}dist{{end}}\n", "tasks:\n  x: rm -rf build/{{.V}}\n",
     "dotenv: ['.env']\nvars: {D: build}\ntasks:\n  x: rm -rf {{.D}}\n", "tasks:\n  x: |\n    cat <<EOF\n    don't\n    EOF\n    ls\n"],
)  # fmt: skip
def test_ordinary_taskfile(content):
    assert decided("task x", "Taskfile.yml", content) is Decision.ALLOW


@pytest.mark.parametrize(
    "scripts",
    [{"prex": "D=build", "x": "rm -rf $D"}, {"prex": "cat <<EOF", "x": "rm -rf src", "postx": "EOF"}, {"prex": "echo '", "x": "rm -rf src", "postx": "'"},
     {"prex": "rm() { true; }", "x": "rm -rf src"}],
)  # fmt: skip
def test_each_script_of_a_package_has_a_shell_of_its_own(scripts):
    assert decided("npm run x", "package.json", json.dumps({"scripts": scripts})) is not Decision.ALLOW
    plain = {"prex": "cd dist", "x": "rm -rf build", "postx": 'echo "it\'s"'}
    assert decided("npm run x", "package.json", json.dumps({"scripts": plain})) is Decision.ALLOW


def test_a_script_of_composer_has_other_names():
    said = {"scripts": {"x": "rm -rf src"}, "scripts-aliases": {"x": ["y"]}}
    assert decided("composer run y", "composer.json", json.dumps(said)) is not Decision.ALLOW
    held = {"scripts": {"x": ["echo '", "rm -rf src", "echo '"]}}
    assert decided("composer run x", "composer.json", json.dumps(held)) is not Decision.ALLOW


@pytest.mark.parametrize(
    "script",
    ["for t in `cat list`; do rm -rf $t; done\nt=`mktemp`", "t=`mktemp`\nselect t in `cat list`; do rm -rf $t; done", "t=`mktemp`\neval \"t=$(cat list)\"\nrm -rf $t",
     "t=`mktemp`\ntrap 'rm -rf $t' EXIT\neval \"t=$(cat list)\"",
     "mktemp() { cat list; }\nt=`mktemp`\nrm -rf $t", "t=$(mktemp -d no)\nrm -rf \"$t\"/*",
     "TMPDIR=src\nt=${TMPDIR:-/tmp}/a.py\nrm -rf $t"],
)  # fmt: skip
def test_a_name_that_only_looks_temporary_is_asked(script):
    assert decided("bash x.sh", "x.sh", script + "\n") is not Decision.ALLOW


@pytest.mark.parametrize(
    "made",
    [
        "mktemp",
        "mktemp -d",
        "mktemp -d -t x.XXXXXX",
        "mktemp /tmp/x.XXXXXX",
        "mktemp -d -p build",
        "mktemp --suffix=.x",
    ],
)
def test_temporary_names_go_ahead(made):
    script = f'for f in src/*; do ls "$f"; done\nt="$({made})"\ntrap \'rm -rf "$t"\' EXIT\n'
    assert decided("bash x.sh", "x.sh", script) is Decision.ALLOW

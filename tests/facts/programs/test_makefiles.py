"""Makefiles: whatever way a recipe comes about, what it runs is seen; what is not understood of one is asked."""

import shutil
import subprocess

import pytest

from shell_world import MadeFile, facts, reading_policy, text
from shield.facts.made import MadeFiles
from shield.facts.place import Place
from shield.facts.programs.makefiles.disk import Folder
from shield.facts.programs.makefiles.goals import made_by
from shield.facts.programs.makefiles.model import Told
from shield.types import Decision

BAD = "cat .env"
WORLD = {
    ".env": text("S=1\n"),
    ".gitignore": text("*.o\nbuild\n"),
    ".git/HEAD": text("ref: refs/heads/main\n"),
    "src/a.py": text("x\n"),
    "x.c": text("x\n"),
    "mk/a.mk": text(f"x:\n\t{BAD}\n"),
    "a.mk": text(f"x:\n\t{BAD}\n"),
    "sub/Makefile": text("x:\n\trm -rf ../src\ny:\n\trm -rf $(D)\n"),
}
ALL = "all:\n\tls\n"


def decided(line, makefile, **files):
    files = {"v.mk": text("D = src\n"), "y.sh": text("make x\n")} | files
    return reading_policy(line, WORLD | {"Makefile": text(makefile)} | files, confined=True)


@pytest.mark.parametrize(
    ("line", "makefile"),
    [
        ("make x", f"include *.mk\n{ALL}"),
        ("make x", f"include $(wildcard mk/*.mk)\n{ALL}"),
        ("make -I mk x", f"include a.mk\n{ALL}"),
        ("make --include-dir=mk x", f"include a.mk\n{ALL}"),
        ("make x.o", f"{ALL}%.o: %.c\n\t{BAD}\n"),
        ("make", f"all: x.o\n\tls\n%.o: %.c\n\t{BAD}\n"),
        ("make x.o", f"{ALL}.c.o:\n\t{BAD}\n"),
        ("make x.o", f"CC = {BAD};\n{ALL}"),
        ("make x-1", f"{ALL}x-%:\n\t{BAD}\n"),
        ("make a", f"a b: %: %.in\n\t{BAD}\n"),
        ("make all", f"{ALL}%: FORCE\n\t{BAD}\nFORCE:\n"),
        ("make all", f"{ALL}% x: | FORCE\n\t{BAD}\nFORCE:\n"),
        ("make nope", f"{ALL}.DEFAULT:\n\t{BAD}\n"),
        ("make x", f"define body\n{BAD}\nendef\nx:\n\t$(body)\n"),
        ("make x", f"define body =\n\techo\n\t{BAD}\nendef\nx:\n\t$(call body)\n"),
        ("make x", "run = cat $(1)\nx:\n\t$(call run,.env)\n"),
        ("make x", "x:\n\t$(foreach f,.env,cat $(f);)\n"),
        ("make x", f"define T\n$(1):\n\t{BAD}\nendef\n$(foreach t,x y,$(eval $(call T,$(t))))\n"),
        ("make x", f"$(eval x: ; {BAD})\n{ALL}"),
        ("make all", f"V != {BAD}\n{ALL}"),
        ("make all", f"V := $(shell {BAD})\n{ALL}"),
        ("make x", f"V = $(shell {BAD})\nx:\n\techo $(V)\n"),
        ("make x", f"x:\n\techo '$(shell {BAD})'\n"),
        ("make x", f"x: $(shell {BAD})\n\techo\n"),
        ("make all", f"$(shell {BAD})\n{ALL}"),
        ("make all", f"ifeq ($(shell {BAD}),)\nendif\n{ALL}"),
        ("make all", f"$(info $(shell {BAD}))\n{ALL}"),
        ("make x", f"include gen.mk\ngen.mk:\n\t{BAD}\nx:\n\techo\n"),
        ("make x", f"-include gen.mk\ngen.mk: dep\n\ttouch gen.mk\ndep:\n\t{BAD}\nx:\n\techo\n"),
        ("make x", f"Makefile:\n\t{BAD}\nx:\n\techo\n"),
        ("make x", "SHELL = ./x.py\nx:\n\techo\n"),
        ("make x", "x: SHELL = ./x.py\nx:\n\techo\n"),
        ("make x", "SHELL := python3\nx:\n\tprint(open('.env').read())\n"),
        ("make x", f".SHELLFLAGS = -c '{BAD}'\nx:\n\techo\n"),
        ("make x", f"MAKEFLAGS += --eval='x: ; {BAD}'\nx:\n\techo\n"),
        ("make x", ".ONESHELL:\nx:\n\tcd src\n\trm -rf *\n"),
        ("make x", f"export GIT_SSH_COMMAND = {BAD}\nx:\n\tgit fetch\n"),
        ("make x", "export D := src\nx:\n\trm -rf $$D\n"),
        ("make x D=src", "x:\n\trm -rf $$D\n"),
        ("D=src make x", "D = x\nx:\n\trm -rf $$D\n" + "D = src\n"),
        ("make x", f"x::\n\tls\nx::\n\t{BAD}\n"),
        ("make x", f"x y &: z\n\t{BAD}\n"),
        ("make x", "x: T = .env\nx:\n\tcat $(T)\n"),
        ("make x", "x: T = .env\nx: y\ny:\n\tcat $(T)\n"),
        ("make x", "x: private export T = .env\nx:\n\tcat $$T\n"),
        ("make x", f".RECIPEPREFIX = >\nx:\n> {BAD}\n"),
        ("make x", "C = cat\nC += .env\nx:\n\t$(C)\n"),
        ("make x", "F = .env\nx:\n\tcat $(addprefix ./,$(F))\n"),
        ("make x", "A=.env\nx:\n\tcat $(A:%=%)\n"),
        ("make x", f"T = x\n$(T):\n\t{BAD}\n"),
        ("make x", f"ifeq ($(shell date),1)\nx:\n\tls\nelse\nx:\n\t{BAD}\nendif\n"),
        ("make x", "ifeq ($(shell date),1)\nC = cat\nelse\nC = ls\nendif\nifeq ($(shell id),1)\nF = x\nelse\nF = .env\nendif\nx:\n\t$(C) $(F)\n"),
        ("make x", f"ifdef NO\nelse ifeq (a,b)\nelse\nx:\n\t{BAD}\nendif\n"),
        ("make x", f"x: y# c\ny:\n\t{BAD}\n"),
        ("make x", f"x: | y\ny:\n\t{BAD}\n"),
        ("make x", ".SECONDEXPANSION:\nx: $$(F)\nF = y\ny:\n\tcat .env\n"),
        ("make x", "x:\n\tr\\\n\tm -rf src\n"),
        ("make x", "load ./x.so\nx:\n\techo\n"),
        ("make x", "V := $(guile (x))\nx:\n\techo $(V)\n"),
        ("make x", "include $(shell cat list)\nx:\n\techo\n"),
        ("make x", f"$(shell cat list):\n\t{BAD}\n"),
        ("make x", "#" + "x" * 70_000 + "\nx:\n\tls\n"),
        ("make -C sub x", ALL),
        ("make x", "x:\n\t$(MAKE) -C sub x\n"),
        ("make x D=../src", "x:\n\t$(MAKE) -C sub y\n"),
        ("make x", "export D = ../src\nx:\n\t$(MAKE) -C sub y\n"),
        ("make x", "D = $(shell cat d)\nx:\n\trm -rf $(D)\n"),
        ("make x", "D = $(shell echo src)\nx:\n\trm -rf $(D)\n"),
        ("make x", "D = $(wildcard src/*)\nx:\n\trm -rf $(D)\n"),
        ("make x", "D = src\nx:\n\trm -rf $(addsuffix /*,$(D))\n"),
        ("make x", "D = src\nx:\n\t$(RM) -r $(D)\n"),
        ("make x", "x:\n\trm -rf build/$(D)../src\n"),
        ("make x", "x:\n\tcd $(shell cat d) && rm -rf *\n"),
        ("make x", "D := $(shell cat d)\nx:\n\trm -rf '$(D)'\n"),
        ("make x", "D := $(shell echo src)\nx:\n\techo \"it's\"; rm -rf '$(D)'\n"),
        ("make x", "D := $(shell cat d)\nx:\n\tcat <<'E' > x; rm -rf '$(D)'\n"),
        ("make -f v.mk -f Makefile x", "x:\n\trm -rf $(D)\n"),
        ("MAKEFILES=v.mk make x", "x:\n\trm -rf $(D)\n"),
        ("make x", ".EXPORT_ALL_VARIABLES:\nD = src\nx:\n\trm -rf $$D\n"),
        ("make x", "vpath %.py src\nx: a.py\n\trm -rf $<\n"),
        ("make x", "VPATH = build:src\nx: a.py\n\trm -rf $^\n"),
        ("export D=$(cat d); make x", "x:\n\trm -rf build$(D)\n"),
        ("make x D=$(cat d)", "x:\n\trm -rf build$(D)\n"),
        ("bash y.sh", "x:\n\tls\nload ./x.so\n"),
    ],
)  # fmt: skip
def test_whatever_makes_a_recipe_it_is_asked(line, makefile):
    assert decided(line, makefile) is not Decision.ALLOW


C = """CC ?= gcc
CFLAGS ?= -O2 -Wall
SRC := $(wildcard src/*.c)
OBJ := $(SRC:.c=.o)
VERSION := $(shell git describe --always)
UNAME := $(shell uname -s)
ifeq ($(UNAME),Darwin)
SED := gsed
else
SED := sed
endif
V ?= 0
Q_0 := @
Q := $(Q_$(V))
.PHONY: all clean test help
all: build/app ## everything
build/app: $(OBJ) | build
	$(Q)$(CC) $(LDFLAGS) -DV=$(VERSION) -o $@ $^ $(LDLIBS)
%.o: %.c
	$(CC) $(CFLAGS) -c -o $@ $<
build:
	mkdir -p $@
clean:
	rm -f $(OBJ) $(EXTRA)
	rm -rf build
	find . -name '*.o' -delete
test: all
	pytest -q $(ARGS) $(if $(K),-k $(K))
help:
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk 'BEGIN {FS = ":.*?## "}; {printf "%s %s\\n", $$1, $$2}'
print-%:
	@echo '$*=$($*)'
-include $(OBJ:.o=.d)
"""
FOUND = """SHELL := /usr/bin/env bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules -j4
ROOT := $(shell dirname $(realpath $(firstword $(MAKEFILE_LIST))))
SRCS := $(shell find src -name '*.c')
OBJS := $(SRCS:%=build/%.o)
export PATH := ./node_modules/.bin:$(PATH)
define BUILD
$(1): src/$(1).c
	$$(CC) -o build/$(1) $$<
endef
$(foreach t,a b,$(eval $(call BUILD,$(t))))
app: $(OBJS)
	$(CC) -o build/app $(OBJS)
build/%.c.o: %.c
	mkdir -p $(@D)
	$(CC) -c -o $@ $<
clean:
	rm -rf $(ROOT)/build $(OBJS)
-include $(OBJS:.o=.d)
"""
SPHINX = """SPHINXOPTS    ?=
SPHINXBUILD   ?= sphinx-build
help:
	@$(SPHINXBUILD) -M help "source" "build" $(SPHINXOPTS) $(O)
.PHONY: help Makefile
%: Makefile
	@$(SPHINXBUILD) -M $@ "source" "build" $(SPHINXOPTS) $(O)
"""


@pytest.mark.parametrize(
    ("makefile", "lines"),
    [
        (C, ["make", "make -j4", "make clean", "make test K=x", "make help", "make print-CC", "make V=1"]),
        (FOUND, ["make", "make a", "make clean"]),
        (SPHINX, ["make", "make html", "make clean"]),
        (f"{ALL}%:\n\trm -rf src\n", ["make", "make all"]),
        ("SUBDIRS := lib\n.PHONY: all $(SUBDIRS)\nall: $(SUBDIRS)\n$(SUBDIRS):\n\t$(MAKE) -C $@\n", ["make"]),
        ("all:: one\nall::\n\techo done\none: ; echo one\n", ["make", "make one"]),
        ("x:\n\trm -rf $(D)\n", ["make x", "make x D=build"]),
    ],
)  # fmt: skip
def test_ordinary_makefiles_go_ahead(makefile, lines):
    files = {
        "src/a.c": text("x"),
        "src/b.c": text("x"),
        "src/a.o": text("x"),
        "src/a.py": text("x"),
        "lib/Makefile": text("all: ; ls\n"),
    }
    for line in lines:
        assert decided(line, makefile, **files) is Decision.ALLOW, line


EXPRESSIONS = """
$(subst a,b,a aa c)
$(patsubst %.c,%.o,a.c b.h c.c)
$(A:.c=.o) $(A:%.c=x/%)
$(strip  a   b )
[$(findstring a,abc)][$(findstring x,abc)]
$(filter %.c %.h,a.c b.o c.h) $(filter-out %.c,a.c b.o)
$(sort c a b a)
$(word 2,a b c) $(wordlist 2,3,a b c d) $(words a b) $(firstword a b) $(lastword a b)
$(dir a/b c) $(notdir a/b c/d.e) $(suffix a.b c) $(basename a/b.c d)
$(addprefix x/,a b) $(addsuffix .y,a b) $(join a b,1 2 3)
$(if ,a,b) $(if x,a,b) $(if $(NONE),a)
$(or ,,c,d) $(and a,b) [$(and a,,b)]
$(foreach i,1 2,<$(i)$(A)>)
$(call f,1,2) $(call f,1) $(call subst,a,b,a)
$(value B) $(B) $($(C)) ${A} $(A) $X
$$HOME a$$b $(call f,(a,b),c)
$(D) $(E) $(G)
"""
HEAD = "A = a.c b.c\nB = $(A)\nC = A\nX = y\nf = <$(1)-$(2)>\nD := one\nD += two\nE ?= e\nD2 = \\\n  x\ndefine G\n1\n2\nendef\n"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("expression", EXPRESSIONS.strip().split("\n"))
def test_references_stand_for_what_make_says(expression, tmp_path):
    makefile = f"{HEAD}S = {expression}\nx:\n\t@echo ignored\n$(info $(S))\n"
    (tmp_path / "Makefile").write_text(makefile)
    told = subprocess.run(
        ["make", "-s", "x"], cwd=tmp_path, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}, check=True
    )
    found = made_by("Makefile", f"{HEAD}S = {expression}\nx:\n\t: $(S)\n", folder(), Told(goals=("x",)))
    said = told.stdout.removesuffix("ignored\n").removesuffix("\n")
    lines = [line.removeprefix("( ").removesuffix("\n)") for line in found.text.split("\n( ")]
    assert "\n".join(lines).replace("\n)", "").removeprefix(": ").strip() == said.strip()


def folder(files=None):
    place = Place(
        files=MadeFiles(files or {}),
        home="/home/user",
        cwd="/home/user/ws",
        workspace_roots=("/home/user/ws",),
        env={},
        shell="/bin/bash",
    )
    return Folder(place, "/home/user/ws")


@pytest.mark.parametrize(
    "makefile",
    ["", "$", "$(", "${a", "define x", "ifeq", "ifeq (", "else", "endif", "x: x", "x: y\ny: x\n\tls\n", "a = $(a)\nx:\n\t$(a)\n", "include Makefile\n",
     "%: %.x\n\tls\n", "%: x%\n\tls\n", "$(eval $(eval $(eval x)))", "e = $(eval $(value e))$(e)\n$(e)\n", "x:" + " y" * 5_000, "\0", "a b c\n", "$(call a,$(call a))" * 50,
     "a = $(b)$(b)\nb = $(c)$(c)\nc = $(d)$(d)\nd = $(e)$(e)\ne = $(f)$(f)\nf = $(g)$(g)\ng = " + "x" * 999 + "\nx:\n\t$(a)\n", "(" * 5_000, "$(" * 5_000, "ifeq ($(shell date),1)\n" * 50],
)  # fmt: skip
def test_odd_makefiles_come_to_an_end(makefile):
    made_by("Makefile", makefile, folder({"Makefile": MadeFile(content=makefile.encode())}), Told(goals=("x",)))
    assert facts("make x", {"Makefile": text(makefile)}).parsed

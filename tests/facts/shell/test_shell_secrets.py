"""A variable that holds a secret by its name keeps that name wherever it goes, and its value is in no fact."""

import pytest

from shell_world import HOME, PATH, facts
from shield.types import Dynamic

ENV = {"PATH": PATH, "HOME": HOME, "GITHUB_TOKEN": "ghp_Zx9Kq4"}


@pytest.mark.parametrize("env", [ENV, {"PATH": PATH, "HOME": HOME}], ids=["set", "not set here"])
@pytest.mark.parametrize(
    "line",
    [
        "x=$GITHUB_TOKEN; echo $x",
        'x="Bearer $GITHUB_TOKEN"; y=$x; echo "a $y"',
        'for x in "$GITHUB_TOKEN"; do echo $x; done',
        "for x in a $GITHUB_TOKEN b; do echo $x; done",
        "x=${GITHUB_TOKEN:-none}; echo $x",
        "x=${GITHUB_TOKEN:0:4}; echo $x",
        "x=$GITHUB_TOKEN; echo ${x%%_*} ${x^^} ${x/a/b}",
        'a=("$GITHUB_TOKEN"); echo ${a[0]}',
        'a=(1 "$GITHUB_TOKEN"); echo "${a[@]}"',
        "x=GITHUB_TOKEN; echo ${!x}",
        "export x=$GITHUB_TOKEN; echo $x",
        "declare x=$GITHUB_TOKEN; echo $x",
        "if test -f a; then x=$GITHUB_TOKEN; else x=1; fi; echo $x",
        "x=1; x+=$GITHUB_TOKEN; echo $x",
        "x=$GITHUB_TOKEN; bash -c 'echo $1' a $x; echo $x",
        "x=$GITHUB_TOKEN; while read l; do echo $x; done",
        ": ${x:=$GITHUB_TOKEN}; echo $x",
        "x=${y:-$GITHUB_TOKEN}; echo $x",
        "x=${y:+$GITHUB_TOKEN}; echo $x",
        "y=a; x=${y/a/$GITHUB_TOKEN}; echo $x",
        "a=(${x:-$GITHUB_TOKEN}); echo ${a[0]}",
        "a[0]=$GITHUB_TOKEN; echo ${a[0]}",
    ],
)
def test_it_keeps_its_name(line, env):
    found = facts(line, env=env)
    shown = [" ".join(command.argv) for command in found.commands if command.name == "echo"]
    assert any("$GITHUB_TOKEN" in words or "${GITHUB_TOKEN" in words for words in shown), shown
    assert "ghp_Zx9Kq4" not in repr(found)
    assert any(command.dynamic is not Dynamic.NONE for command in found.commands if command.name == "echo")


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("cat <<E\nt=$GITHUB_TOKEN\nE", "$GITHUB_TOKEN"),
        ("x=$GITHUB_TOKEN; cat <<E\na $x\nE", "$GITHUB_TOKEN"),
        ("x=$GITHUB_TOKEN; cat <<< $x", "$GITHUB_TOKEN"),
        ("cat <<'E'\nt=$GITHUB_TOKEN\nE", "t=$GITHUB_TOKEN\n"),
        ("cat <<E\n$REPLY\nE", None),
    ],
)
def test_a_text_in_the_line_keeps_it_too(line, target):
    found = facts(line, env=ENV)
    assert found.commands[-1].redirects[0].target == target
    constant = "'E'" in line
    assert constant == (found.commands[-1].dynamic is Dynamic.NONE) or "<<<" in line


@pytest.mark.parametrize(
    "line",
    [
        "x=${GITHUB_TOKEN:+set}; echo $x",
        "n=${#GITHUB_TOKEN}; echo $n",
        "TOKEN=abc; echo $TOKEN",
        "x=$GITHUB_TOKEN; x=1; echo $x",
        "x=$GITHUB_TOKEN; unset x; echo $x",
        'test -n "$GITHUB_TOKEN" && echo set',
    ],
)
def test_what_shows_nothing_of_it_has_no_name(line):
    found = facts(line, env=ENV)
    assert not any("GITHUB" in word for command in found.commands if command.name == "echo" for word in command.argv)


@pytest.mark.parametrize(
    "line",
    [": ${x:?$GITHUB_TOKEN}", ': "${x?is $GITHUB_TOKEN}"', "y=$GITHUB_TOKEN; [ -n \"${x:?$y}\" ]", "[[ ${x:?${GITHUB_TOKEN}} ]]", "for i in ${x:?$GITHUB_TOKEN}; do ls; done", "x=${y:?$GITHUB_TOKEN}"],
)  # fmt: skip
def test_a_complaint_would_show_it(line):
    assert any("complained of" in why for why in facts(line, env=ENV).unknown)
    assert not facts(
        line.replace("?$GITHUB_TOKEN", "?not set")
        .replace("?is $GITHUB_TOKEN", "?no")
        .replace("?${GITHUB_TOKEN}", "?no")
        .replace("?$y", "?no"),
        env=ENV,
    ).unknown


@pytest.mark.parametrize(
    "line",
    [
        "select x in a $GITHUB_TOKEN; do break; done",
        'IFS=$GITHUB_TOKEN; set -- a b; echo "$*"',
        "y=$GITHUB_TOKEN; select x in ${z:-$y}; do break; done",
    ],
)
def test_what_the_shell_itself_would_show_is_doubted(line):
    assert any("secret" in why for why in facts(line, env=ENV).unknown)
    assert not facts(line.replace("$GITHUB_TOKEN", "x"), env=ENV).unknown


@pytest.mark.parametrize(
    ("line", "whole"),
    [("[[ $GITHUB_TOKEN == g* ]]", "[[ $GITHUB_TOKEN == g ]]"), ("[[ $GITHUB_TOKEN < m ]]", "[[ $GITHUB_TOKEN != m ]]"), ("[[ $GITHUB_TOKEN =~ (.*) ]]", "[[ -n $GITHUB_TOKEN ]]"),
     ("for c in a b; do [[ $GITHUB_TOKEN == $c* ]]; done", "for c in a b; do [[ $GITHUB_TOKEN == \"$c\" ]]; done"), ("[ \"${GITHUB_TOKEN:3:1}\" = a ]", "[ \"$GITHUB_TOKEN\" = a ]"),
     ("case $GITHUB_TOKEN in a*) ls;; esac", "case $GITHUB_TOKEN in '') ls;; a) ls;; *) ls;; esac"), ("case ${GITHUB_TOKEN:1:1} in a) ls;; esac", "case $GITHUB_TOKEN in a) ls;; esac"),
     ("x=${GITHUB_TOKEN#g}; ls", "x=$GITHUB_TOKEN; ls"), ("[ -z \"${GITHUB_TOKEN/g}\" ]", "[ -z \"${GITHUB_TOKEN}\" ]"), ("x=$GITHUB_TOKEN; [[ $x == g? ]]", "x=$GITHUB_TOKEN; [[ $x == \"g?\" ]]")],
)  # fmt: skip
def test_a_part_of_it_is_not_asked_for(line, whole):
    assert any("a secret" in why for why in facts(line, env=ENV).unknown)
    assert not facts(whole, env=ENV).unknown

"""Every command in the README and the pages is run; what it prints is what the page shows."""

import re
import sys

import pytest

from tests.docs.pages import ROOT, Page, Printed, Step, difference, pages, shell

RUN = [path for path in pages() if Page(path).steps]


@pytest.mark.parametrize("path", RUN, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_does_what_it_shows(path):
    steps = Page(path).steps
    with shell() as opened:
        for step, following in zip(steps, [*steps[1:], None], strict=True):
            printed = opened.run(step)
            wrong = difference(step, printed)
            assert wrong is None, f"{path.name}:{step.where[0]}:\n{wrong}"
            told = following is not None and following.command == "echo $?"
            assert printed.status == 0 or told, (
                f"{path.name}:{step.where[0]}: `{step.command}` ended with {printed.status}"
            )


def test_the_readme_names_the_two_commands_that_the_makefile_has():
    commands = [step.command for step in Page(ROOT / "README.md").steps]
    assert commands[:2] == ["make demo", "make test"]
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^test:.*\n\t.*pytest", makefile, re.MULTILINE), "`make test` is this run: it is not run again"


def test_no_command_hides_in_a_block_that_is_not_run():
    shells = {"sh", "bash", "shell", "console", "zsh"}
    for path in pages():
        kinds = [line[3:].split() for line in path.read_text().split("\n") if line.startswith("```") and line != "```"]
        assert not [kind for kind in kinds if kind[0] in shells - {"console"}], path
        plain = re.findall(
            r"^```\w*\n(?:(?!```).*\n)*?\$ ",
            re.sub(r"```console.*?```", "", path.read_text(), flags=re.DOTALL),
            re.MULTILINE,
        )
        assert not plain, path


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        (["a"], "a", True),
        (["a"], "b", False),
        ([], "a", False),
        (["a"], "", False),
        (["a … c"], "a b c", True),
        (["a", "…", "c"], "a\n1\n2\nc", True),
        (["a", "…", "c"], "a\nc", True),
        (["a", "c"], "a\n1\nc", False),
        (["read  ALLOW  3.1  why"], "read  ALLOW   2013  why", True),
        (["read  ALLOW  3.1  why"], "read  BLOCK  3.1  why", False),
        (["3 records"], "4 records", False),
        (["x.y"], "x-y", False),
    ],
)
def test_the_comparison_sees_what_differs(shown, printed, same):
    assert (difference(Step("x", shown, (0, 0)), Printed(printed, 0)) is None) is same


def test_order_counts_unless_two_programs_print():
    printed = Printed("b\na", 0)
    assert difference(Step("x", ["a", "b"], (0, 0)), printed) is not None
    assert difference(Step("x", ["a", "b"], (0, 0), ordered=False), printed) is None
    assert difference(Step("x", ["a", "c"], (0, 0), ordered=False), printed) is not None
    assert difference(Step("x", ["a"], (0, 0), ordered=False), printed) is not None


def test_a_page_is_read_with_heredocs_and_answers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "x\n```console\n$ cat > a <<'EOF'\n$ no command\nEOF\n$ ask \\\n  more\nagentctl> /read a\nout\n```\n"
    )
    first, second = Page(page).steps
    assert first.command == "cat > a <<'EOF'\n$ no command\nEOF"
    assert first.shown == []
    assert second.command == "ask \\\n  more"
    assert second.typed() == ["/read a"]


def test_the_shell_keeps_its_state_and_tells_codes():
    with shell() as opened:
        assert opened.run(Step("cd /; X=1; false", [], (0, 0))).status == 1
        assert opened.run(Step('echo $? $X "$PWD"; env | grep -c PYTHON', [], (0, 0))).text == "1 1 /\n0"
        assert opened.run(Step(f"test {sys.executable} && tty >/dev/null", [], (0, 0))).status == 0

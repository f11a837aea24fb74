"""The reference is what the programs say, every link leads somewhere, every name in a page is a file or a test."""

import importlib.util
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import agentctl
import audit
import shield
from agentctl.chat import Exit
from shield.service import metrics, operating
from tests.docs.pages import ROOT, command, environ, import_path, pages

_SPEC = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
assert _SPEC is not None
assert _SPEC.loader is not None
generate = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(generate)

PROGRAMS = {"shield": generate.shield, "agentctl": generate.agentctl, "audit": generate.audit}
COMMANDS = [path for name, program in PROGRAMS.items() for path, _ in generate.walk(program, name, None)]


@pytest.mark.parametrize("name", generate.PAGES)
def test_generated_pages_are_current(name):
    text = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert text == generate.PAGES[name](), "run `python docs/generate.py`"


def test_every_command_and_option_is_documented():
    """Independent of how the page was made: the parameters are those that click parses."""
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^#+ ([^\n]+)\n\n```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
    for name, program in PROGRAMS.items():
        for path, context in generate.walk(program, name, None):
            if path.startswith("shield audit "):
                assert path.removeprefix("shield ") in sections
                continue
            for parameter in context.command.get_params(context):
                for option in parameter.opts if isinstance(parameter, click.Option) else ():
                    assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", sections[path]), (path, option)


def test_no_text_names_a_command_that_is_not_there():
    """Neither a page nor a message of the programs sends anybody to a command that does not exist."""
    for folder in (Path(shield.__file__).parent, Path(agentctl.__file__).parent, Path(audit.__file__).parent):
        for file in [*folder.rglob("*.py"), *pages()]:
            text = file.read_text(encoding="utf-8")
            for name in re.findall(r"`((?:shield|agentctl) [a-z]+)\b", text):
                assert name in COMMANDS, f"{file}: `{name}`"


def test_metrics_are_those_of_the_service():
    source = inspect.getsource(operating) + inspect.getsource(metrics)
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text()
    listed = re.findall(r"^\| `(shield_\w+)`", page, re.MULTILINE)
    assert sorted(listed) == sorted(set(re.findall(r'"(shield_[a-z0-9_]+)"', source)))


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:|mailto:", target):
            continue
        name, _, anchor = target.partition("#")
        there = (path.parent / name).resolve() if name else path
        assert there.exists(), f"{path}: {target}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", there.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}, (
                target
            )


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_tests_that_are_named_exist(path):
    text = path.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:shield|agentctl|audit|tests|benchmarks|docs)/[\w./]*[\w/])`", text):
        assert (ROOT / name).exists() or name == "tests/simple/testdata", name  # a folder of the CEL specification
    for file, test in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text):
        assert re.search(rf"^\s*(?:async )?def {test}\b", (ROOT / file).read_text(), re.MULTILINE), (file, test)


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_page_is_an_island(path):
    """Every page is linked from the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert path == ROOT / "README.md" or f"({path.relative_to(ROOT)})" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_help_without_development_tools(name, tmp_path):
    """In an environment that has only the wheel and what it depends on."""
    bare = os.environ.get("SHIELD_BARE")
    if bare is None:
        pytest.skip("SHIELD_BARE does not name an environment that has only the wheel; `make test` makes one")
    program, *words = name.split()
    start = [f"{bare}/bin/python", "-P", "-m", "audit"] if program == "audit" else [f"{bare}/bin/{program}"]
    done = run([*start, *words, "--help"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Usage: ")
    assert done.stderr == ""


# --- the README's table of exit codes --------------------------------------------------------------------------------


def codes() -> dict[str, dict[int, str]]:
    """Command → code → what it means, as the README says."""
    rows = re.findall(
        r"^\|(.*)\|$", (ROOT / "README.md").read_text(encoding="utf-8").partition("## Exit codes")[2], re.MULTILINE
    )
    head, _, *body = [[cell.strip() for cell in row.split("|")] for row in rows]
    return {
        row[0].strip("`"): {int(code): text for code, text in zip(head[1:], row[1:], strict=True) if text}
        for row in body
    }


@pytest.mark.parametrize("name", ["check", "eval"])
def test_the_readme_has_the_codes_of_the_help(name):
    (text,) = [
        context.get_help()
        for path, context in generate.walk(generate.shield, "shield", None)
        if path == f"shield {name}"
    ]
    said = {int(code): meaning for code, meaning in re.findall(r"^    (\d)  (.+)$", text, re.MULTILINE)}
    assert codes()[f"shield {name}"] == said


def test_the_readme_has_the_codes_of_agentctl():
    named = {value for name, value in vars(Exit).items() if name.isupper()}
    assert set(codes()["agentctl run"]) == named
    assert set(codes()["audit verify"]) == {0, 1, 2}


def test_codes_of_agentctl_run(tmp_path):
    nobody = {"AGENTCTL_MODEL": "m", "AGENTCTL_BASE_URL": "http://127.0.0.1:9/v1"}
    assert run([*command("agentctl"), "run", "hello"], tmp_path).returncode == 2
    inside = {"SHIELD_HOME": str(tmp_path / "home" / "ws" / "shield")}
    assert run([*command("agentctl"), "run", "hello"], tmp_path, more=nobody | inside).returncode == 3


def run(
    words: list[str], folder: Path, text: str = "", more: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """In a home and a workspace of its own, with nothing of our environment."""
    workspace = folder / "home" / "ws"
    workspace.mkdir(parents=True, exist_ok=True)
    path = import_path()
    env = environ(folder / "home", Path(sys.executable).parent) | ({"PYTHONPATH": path} if path else {}) | (more or {})
    return subprocess.run(
        words, input=text, capture_output=True, text=True, timeout=60, check=False, cwd=workspace, env=env
    )

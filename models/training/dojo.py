"""AgentDojo (PyPI `agentdojo`, MIT) as a test set: its injections in its environments, its user tasks as harmless text.

Nothing of it is trained on. The files are read out of the wheel; nothing of the package is imported or run.
"""

import ast
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import yaml

from models.training.row import Row

__all__ = ["dojo"]

_SUITES = ("workspace", "slack", "banking", "travel")
_HOLE = re.compile(r"\{((?:prompt_)?inj[a-z_0-9]*)\}")
_PLACEHOLDER = "\ue000"


def dojo(wheel: Path, rng: Random) -> Iterator[Row]:
    """Every text of the environments that has a place for an injection: clean, and with each kind of attack and a drawn
    goal of its suite; every other long text as harmless; the goals alone; the users' tasks."""
    with zipfile.ZipFile(wheel) as archive:
        wraps = _wraps(archive)
        for suite in _SUITES:
            goals = list(_strings(archive, f"agentdojo/default_suites/v1/{suite}/injection_tasks.py", "GOAL"))
            for prompt in _strings(archive, f"agentdojo/default_suites/v1/{suite}/user_tasks.py", "PROMPT"):
                yield Row(text=prompt, label=0, kind="prose", family="dojo-tasks", source="agentdojo")
            for goal in goals:
                yield Row(text=goal, label=1, kind="tool_result", family="dojo-goals", source="agentdojo")
            for text in _texts(archive, suite):
                clean = _HOLE.sub("", text).strip()
                if len(clean) > 20:
                    yield Row(text=clean, label=0, kind="tool_result", family="dojo-clean", source="agentdojo")
                if not _HOLE.search(text):
                    continue
                for name, wrap in wraps.items():
                    said = wrap.replace(_PLACEHOLDER, rng.choice(goals))
                    poisoned = said.join(_HOLE.split(text)[::2])
                    yield Row(text=poisoned, label=1, kind="tool_result", family=f"dojo-{name}", source="agentdojo")


def _texts(archive: zipfile.ZipFile, suite: str) -> Iterator[str]:
    base = f"agentdojo/data/suites/{suite}/"
    for name in sorted(archive.namelist()):
        if name.startswith(base) and name.endswith(".yaml") and not name.endswith("injection_vectors.yaml"):
            content = re.sub(r"!include \S+", "null", archive.read(name).decode())
            yield from _leaves(yaml.safe_load(content))


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) > 20 or _HOLE.search(value):
            yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)


def _strings(archive: zipfile.ZipFile, name: str, wanted: str) -> Iterator[str]:
    """The class attributes `wanted`, with names of module constants put in."""
    tree = ast.parse(archive.read(name).decode())
    constants = {
        target.id: value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and (value := _text(node.value, {})) is not None
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            own = dict(constants)
            for item in node.body:
                if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
                    text = _text(item.value, own)
                    if text is not None:
                        own[item.targets[0].id] = text
                        if item.targets[0].id == wanted:
                            yield text


def _text(node: ast.expr, names: dict[str, str]) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value)
            if isinstance(part, ast.Constant)
            else names.get(part.value.id, part.value.id)
            if isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name)
            else ""
            for part in node.values
        )
    return None


def _wraps(archive: zipfile.ZipFile) -> dict[str, str]:
    """The texts that the package's attacks put around a goal, by the attack's name."""
    found: dict[str, str] = {}
    for name in ("baseline_attacks.py", "important_instructions_attacks.py"):
        tree = ast.parse(archive.read(f"agentdojo/attacks/{name}").decode())
        strings = [
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        for text in strings:
            if "{goal}" in text and "The attack" not in text:
                shown = (
                    text.replace("{goal}", _PLACEHOLDER).replace("{user}", "Emma Johnson").replace("{model}", "GPT-4")
                )
                found[f"{name.split('_')[0]}{len(found)}"] = shown
    return found

"""Tasks that are code: of nox, invoke and rake. Of the file the named tasks are read, what they need, and what stands
beside all tasks; in Python by its syntax tree, in Ruby by its lines."""

import ast
import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence

from shield.facts.programs.invocation import Invocation
from shield.facts.programs.mention import bases_of
from shield.facts.programs.python.code import python_tree
from shield.facts.programs.reading import Value
from shield.facts.programs.scripts import read_code, script_text
from shield.facts.programs.task_files import UNKNOWN, Step, files_beneath, found_above, show_steps
from shield.regex import regex
from shield.types import Access

__all__ = ["invoke_tasks", "nox_sessions", "rake_tasks"]

_RUNNERS = frozenset(("run", "run_always", "local", "sudo"))
_MAX_TASKS = 200
_TASK = regex(
    r"^([ \t]*)(?:multi)?task\b([^\n]*)\bdo\b(?:\s*\|[^|\n]*\|)?[ \t]*$(.*?)^\1end\b", re.DOTALL | re.MULTILINE
)

_NEEDS = regex(r"^[ \t]*(?:multi)?task\b\W*(\w+)([^\n]*)$", re.MULTILINE)
_SHOWS = frozenset(("-T", "--tasks", "-P", "--prereqs", "-D", "--describe", "-W", "--where"))


def nox_sessions(call: Invocation, _: Sequence[Value]) -> None:
    """nox -s NAME: the functions of the noxfile.py."""
    texts = [word.text if word.fixed else "" for word in call.words]
    at = next((at for at, text in enumerate(texts) if text in ("-s", "-e", "--session", "--sessions")), None)
    names = [re.split(r"[-(]\d", text)[0] for text in texts[at + 1 :] if at is not None] if at is not None else []
    names = names[: names.index("--")] if "--" in names else names
    _python_tasks(call, "noxfile.py", names)


def invoke_tasks(call: Invocation, operands: Sequence[Value]) -> None:
    """invoke NAME…: the functions of the tasks.py."""
    names = [word.text.rpartition(".")[2] for word in operands if word.fixed and not word.text.startswith("-")]
    _python_tasks(call, "tasks.py", names)


def _python_tasks(call: Invocation, file: str, names: Sequence[str]) -> None:
    for base in bases_of(call):
        text, path = found_above(base, [file], call.context.place)
        tree = python_tree(text) if text is not None else None
        if path is None or tree is None:
            continue
        call.reading.path(Value(text=path, head=path, source=file), Access.EXECUTE)
        functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
        wanted = _needed([name.replace("-", "_") for name in names], functions)
        body = [each for each in tree.body if not isinstance(each, ast.FunctionDef) or each.name in wanted]
        kept = ast.Module(body=body, type_ignores=[])
        name = call.name.partition(" ")[0]
        read_code(call.reading, ast.unparse(kept), "python", name, (), call.context, file=path)
        show_steps(call, [Step(text="\n".join(_lines(kept)), folder=posixpath.dirname(path))], path)


def _needed(names: Sequence[str], functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef]) -> set[str]:
    """The functions of the tasks and those that they name; all, where none is known."""
    waiting = [name for name in names if name in functions] or list(functions)
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            named = (each.id for each in ast.walk(functions[name]) if isinstance(each, ast.Name))
            waiting += [each for each in named if each in functions]
    return found


def _lines(tree: ast.Module) -> Iterator[str]:
    """What is run by the object that a task is given: `c.run("rm x")`, `session.run("rm", "x")`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _RUNNERS:
            continue
        if isinstance(node.func.value, ast.Name) and node.func.value.id in ("subprocess", "os"):
            continue  # known as what they are
        texts = [_text(each) for each in node.args]
        if len(texts) == 1:
            yield texts[0]
        elif texts:
            yield " ".join(text if UNKNOWN in text else shlex.quote(text) for text in texts)


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else UNKNOWN


def rake_tasks(call: Invocation, operands: Sequence[Value]) -> None:
    """rake NAME…, rails NAME: the blocks of those tasks in the Rakefile and in the files that are loaded with it, and
    all that stands beside tasks."""
    shows = not _SHOWS.isdisjoint(word.text for word in call.words)
    names = {re.split(r"[\[:]", word.text)[-1 if ":" in word.text else 0] for word in operands if word.fixed}
    names = {""} if shows else names
    for base in bases_of(call):
        text, path = found_above(base, ["rakefile", "Rakefile", "rakefile.rb", "Rakefile.rb"], call.context.place)
        if text is None or path is None:
            continue
        framed = "load_tasks" in text  # Rails has tasks of its own, and finds the project's
        folder = posixpath.join(posixpath.dirname(path), "lib/tasks" if framed else "rakelib")
        files = files_beneath(folder, ".rake", call.context.place)
        said = {path: text} | {file: script_text(file, call.context.place) or "" for file in files}
        for file, code in _of_tasks(said, names, every=not framed and not shows).items():
            if code.strip():
                call.reading.path(Value(text=file, head=file, source=posixpath.basename(file)), Access.EXECUTE)
                read_code(call.reading, code, "ruby", "rake", (), call.context, file=file)


def _of_tasks(said: dict[str, str], names: set[str], *, every: bool) -> dict[str, str]:
    """Of each file the blocks of these tasks and of those that they need, and what stands beside tasks. `every`: where
    no name is a task's here, all count."""
    # of more tasks than that, all count
    if sum(text.count("task") for text in said.values()) > _MAX_TASKS:
        return said
    tasks = {file: [(found[2], found[3]) for found in _TASK.finditer(text)] for file, text in said.items()}
    heads = {name: head for each in tasks.values() for head, _ in each for name in re.findall(r"^\W*(\w+)", head)}
    for text in said.values():  # without a block a task is what it needs
        heads |= {name: rest + heads.get(name, "") for name, rest in _NEEDS.findall(_TASK.sub("", text))}
    wanted, waiting = set[str](), [name for name in names or {"default"} if name in heads]
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting += [each for each in re.findall(r"\w+", heads[name]) if each in heads]
    return {
        file: "\n".join(
            [
                _TASK.sub("", text),
                *(
                    body
                    for head, body in tasks[file]
                    if (every and not wanted) or wanted.intersection(re.findall(r"^\W*(\w+)", head))
                ),
            ]
        )
        for file, text in said.items()
    }

"""What a tool that runs the project's own code is handed to run besides: a program in one of its variables, options
for the node that it starts, a module that is no file but its own text."""

import re
from collections.abc import Sequence
from itertools import pairwise

from shield.facts.programs.forwarding import starts_program
from shield.facts.programs.library import models
from shield.facts.programs.reading import Value
from shield.regex import regex
from shield.types import Operation, RunsCode

__all__ = ["hands_code", "hands_program"]

# What may stand in front of a command: of make(1), of a shell, and variables of the command's own.
_BEFORE = regex(r"(?:[@+!({\s-]|[A-Za-z_]\w*=\S*\s)*")
_RUNNERS = frozenset((".", "builtin", "command", "eval", "exec", "source", "time"))
_CACHES = frozenset(("ccache", "distcc", "icecc", "sccache"))
_COMPILER = regex(r"(?:[\w.-]+-)?(?:cc|c\+\+|clang|clang\+\+|gcc|g\+\+|gfortran|cpp|tcc|icx?|nvcc)(?:-[\d.]+)?")
# `-wrapper rm,-rf,src`, plug-ins, and where it looks for its own parts
_COMPILER_RUNS = regex(r"-(?:wrapper|B|specs|fplugin|load|Xclang)|@")


def hands_program(name: str, value: str) -> bool:
    """Whether a recipe that has the variable `name` for a program would start one by its `value` that neither compiles
    nor runs the project's code, nor only reads: `CC='rm -rf src #'`."""
    words = _BEFORE.sub("", value, count=1).split()
    if not words:
        return False
    if len(words) > 1 and set(words[0]) & set("'\"\\"):
        return True  # whatever that is to a shell
    if words[0].rpartition("/")[2] in _CACHES or (words[0] in _RUNNERS and len(words) > 1):
        words = words[1:]
    if not words or not starts_program(" ".join(words)):
        return False
    base = words[0].rpartition("/")[2]
    if _COMPILER.fullmatch(base):
        return any(not word.startswith("-") or _COMPILER_RUNS.match(word) for word in words[1:])
    model = models().get(base)
    if len(words) > 1 or model is None:
        return True
    plain = model.does <= {Operation.READ} and model.runs in (RunsCode.NONE, RunsCode.WORKSPACE)
    return not plain and base != name.lower()


# Options of test runners whose values are options of node: `--node-arguments`, `--node-option`, `--…execArgv`.
_FOR_NODE = regex(r"-{1,2}(?:[\w.-]*[.-])?(?:node-?(?:arg|option)(?:ument)?s?|exec-?argv)", re.IGNORECASE)
_MOCHA_FOR_NODE = "-n"
_EVALUATES = regex(r"(?:\A|[\s='\"])-{0,2}(?:pe?|e|eval|print)(?:[\s='\"]|\Z)")
_DATA = regex(r"(?:\A|[\s=,'\"])data:[^,\s]*,", re.IGNORECASE)


def hands_code(name: str, words: Sequence[Value]) -> bool:
    """Whether one of the words is code to a tool for JavaScript: a `data:` URL, which may be a module, or what it hands
    on to node to be evaluated."""
    texts = [word.text for word in words]
    if any(_DATA.search(text) for text in texts):
        return True
    for text, after in pairwise([*texts, ""]):
        option, joined, value = text.partition("=")
        if not _FOR_NODE.fullmatch(option) and (option != _MOCHA_FOR_NODE or not name.startswith("mocha")):
            continue
        if _EVALUATES.search(value if joined else after):
            return True
    return False

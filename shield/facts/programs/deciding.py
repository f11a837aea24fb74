"""Files by whose content tools of a project decide what they run: what a line puts into one of them is code of its own.

By name alone, in whatever directory: a tool may be told to look in any. Sources are none of them: to change code and
then to test it is a day's work, and what it may do is what any test may do.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

from shield.regex import regex

__all__ = ["LED", "decides"]

_NODE = r"package\.json|\.npmrc|\.yarnrc(?:\.yml)?|\.pnpmfile\.c?js|pnpm-workspace\.yaml|bunfig\.toml"
_NODE_TOOLS = rf"{_NODE}|(?:[\w.-]+\.config|\.[\w-]+rc)\.(?:[cm]?[jt]s|json)|\.(?:mocharc|eslintrc|babelrc)(?:\.\w+)?"
_PYTHON = r"pyproject\.toml|setup\.(?:py|cfg)|conftest\.py|(?:site|user)customize\.py|[^/]+\.pth|pytest\.ini|tox\.ini"
_NODE_NAMES = """
jest vitest mocha ava karma cypress playwright eslint prettier stylelint webpack vite rollup babel tsup next nuxt astro
lerna nx turbo
"""

# Programs, or a program with its first word: files, as an expression over the end of a path.
_TABLE_TEXT: Mapping[str, str] = {
    "make gmake": r"(?:GNU)?[Mm]akefile(?:\.\w+)?|[^/]+\.(?:mk|mak)",
    "npm npx yarn pnpm bun bunx": _NODE,
    _NODE_NAMES: rf"{_NODE_TOOLS}|nx\.json|project\.json|turbo\.json|lerna\.json",
    "gulp grunt": r"[Gg]ulpfile(?:\.\w+)+|Gruntfile\.\w+",
    "pytest py.test python python3 pypy pypy3 coverage": rf"{_PYTHON}|\.pytest\.ini|\.coveragerc",
    "tox nox": rf"{_PYTHON}|tox\.toml|noxfile\.py",
    "mypy pylint flake8": r"pyproject\.toml|setup\.cfg|\.?mypy\.ini|\.?pylintrc|\.flake8|tox\.ini",
    "pip pip3 uv poetry pdm hatch pipenv rye": rf"{_PYTHON}|uv\.toml|hatch\.toml|Pipfile",
    "inv invoke doit": r"tasks\.py|dodo\.py|invoke\.yaml",
    "cargo rustc rustup": r"build\.rs|Cargo\.toml|rust-toolchain(?:\.toml)?|\.cargo/config(?:\.toml)?",
    "go": r"go\.(?:mod|work)",
    "go=generate": r"[^/]+\.go",
    "gradle gradlew": r"[^/]+\.gradle(?:\.kts)?|gradle\.properties|gradle-wrapper\.(?:properties|jar)",
    "mvn mvnw": r"pom\.xml|\.mvn/.*",
    "ant": r"build\.xml",
    "sbt mill": r"[^/]+\.sbt|project/[^/]+|build\.(?:sc|mill)",
    "bazel bazelisk buck2": r"(?:BUILD|WORKSPACE|MODULE)(?:\.bazel)?|[^/]+\.bzl|\.bazelrc|\.buckconfig",
    "pants": r"BUILD|pants\.toml",
    "cmake ctest": r"CMakeLists\.txt|[^/]+\.cmake|CTestTestfile\.cmake|CMakePresets\.json",
    "meson ninja samu": r"meson\.build|meson_options\.txt|[^/]+\.ninja",
    "scons waf": r"SCons(?:truct|cript)|wscript",
    "rake bundle rspec": r"[Rr]akefile(?:\.rb)?|Gemfile|\.rspec|[^/]+\.rake|(?:spec|rails)_helper\.rb|[^/]+\.gemspec",
    "mix rebar3": r"mix\.exs|rebar\.config",
    "composer phpunit": r"composer\.json|phpunit\.xml(?:\.dist)?",
    "just": r"\.?[Jj]ustfile|[^/]+\.just",
    "task": r"[Tt]askfile(?:\.dist)?\.ya?ml",
    "pre-commit": r"\.pre-commit-(?:config|hooks)\.yaml",
    "docker docker-compose podman podman-compose nerdctl buildah": (
        r"(?:Docker|Container)file(?:\.[\w.-]+)?|[\w.-]+\.[Dd]ockerfile|(?:docker-)?compose(?:\.[\w-]+)?\.ya?ml"
        r"|\.env"
    ),
    "ack": r"[._]ackrc",
    "dotnet msbuild": r"[^/]+\.(?:cs|fs|vb)proj|Directory\.Build\.(?:props|targets)|global\.json",
}
# They look for settings of the project, and where there are none they run none of its code, installed or not.
LED = frozenset(
    ("ack", "cargo", "docker", "docker-compose", "dotnet", "go", "nerdctl", "podman", "podman-compose", "rustup")
)
# What is installed in the project: every tool of it may load that.
_INSTALLED = regex(r".*/(?:node_modules|site-packages|dist-packages|\.?venv/bin)/", re.DOTALL)


_BY_NAME = MappingProxyType({name: files for names, files in _TABLE_TEXT.items() for name in names.split()})


def decides(path: str, program: str, words: Sequence[str]) -> bool:
    """Whether what the file at the absolute `path` says decides what `program words…` runs, wherever it lies."""
    name = program.partition(" ")[0]
    if name not in LED and _INSTALLED.match(path):
        return True
    return any(
        _pattern(key).match(path) is not None
        for key in (name, *(f"{name}={word}" for word in words[:1]))
        if key in _BY_NAME
    )


@cache
def _pattern(key: str) -> re.Pattern[str]:
    return re.compile(rf"(?:.*/)?(?:{_BY_NAME[key]})\Z", re.DOTALL)

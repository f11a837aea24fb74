"""The table of readers: it says what their modules hold, and a module is imported for the program that needs it."""

import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import shield
from shield.facts import programs
from shield.facts.programs.invocation import Special
from shield.facts.programs.special import DECLARED, SPECIALS
from shield.facts.shell.builtins import BUILTIN_SPECIALS

PACKAGES = str(Path(shield.__file__).resolve().parents[1])
JUDGED = """
import sys
from shield.facts.place import Place
from shield.facts.shell import analyse
from shield.facts.unseen import UnknownFiles
place = Place(files=UnknownFiles(), home="/home/u", cwd="/w", workspace_roots=("/w",))
for line in sys.argv[1:]:
    analyse(line, place)
print(*sys.modules)
"""


def imported(*lines: str) -> set[str]:
    """The readers' modules that a fresh interpreter has when it has read these lines."""
    command = [sys.executable, "-P", "-c", JUDGED, *lines]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONPATH": PACKAGES})
    loaded = set(done.stdout.split())
    return {module for module, _, _ in DECLARED if f"{programs.__name__}.{module}" in loaded}


@pytest.mark.parametrize(("module", "of", "names"), DECLARED, ids=[row[0] for row in DECLARED])
def test_the_table_says_what_a_module_holds(module: str, of: str, names: str):
    readers: Mapping[str, object] = getattr(import_module(f"{programs.__name__}.{module}"), of)
    assert names.split() == list(readers)
    for name, reader in readers.items():
        assert SPECIALS[name] is reader


def test_no_reader_has_the_name_of_another():
    """Which of two would be asked hung on the order in which their modules were named."""
    declared = [name for _, _, names in DECLARED for name in names.split()]
    own = [name for name in SPECIALS if name not in declared]
    assert len(declared) == len(set(declared))
    assert own == ["ps", "echo", "own_process", "printf", "test"]
    assert len(SPECIALS) == len(declared) + len(own) == len(list(SPECIALS))


def test_every_module_of_readers_is_in_the_table():
    """What only a part of them holds, such as git's remotes, is handed on by the mapping that is named."""
    declared = 0
    for found in walk_packages(programs.__path__, f"{programs.__name__}."):
        module = import_module(found.name)
        for name, kind in getattr(module, "__annotations__", {}).items():
            if kind == Mapping[str, Special]:
                declared += 1
                for special, reader in getattr(module, name).items():
                    assert SPECIALS[special] is reader, f"{found.name}.{name}"
    assert declared > len(DECLARED)


def test_a_builtin_reads_its_own_words():
    below = SPECIALS.below(BUILTIN_SPECIALS)
    assert below.keys() == SPECIALS.keys() | BUILTIN_SPECIALS.keys()
    for name in below:
        assert below[name] is below.get(name) is BUILTIN_SPECIALS.get(name, SPECIALS.get(name))
    assert below["printf"] is not SPECIALS["printf"]


def test_a_reader_that_is_not_there():
    assert SPECIALS.get("no such reader") is None
    assert "no such reader" not in SPECIALS
    with pytest.raises(KeyError):
        SPECIALS["no such reader"]


def test_what_is_not_called_is_not_imported():
    others = {"git.commands", "interpreters", "packages", "project", "archives"}
    assert imported("ls -la | sort | head -3").isdisjoint(others)
    assert imported("git status", "tar tf x.tar") & others == {"git.commands", "archives"}


def test_a_process_that_stays_imports_all():
    SPECIALS.load()
    assert {f"{programs.__name__}.{module}" for module, _, _ in DECLARED} <= sys.modules.keys()

"""No text makes the analysis fail; what bash does with lines it can run is compared in corpora/test_bash_differential.py."""

import os
import shutil
import string

from hypothesis import given, settings
from hypothesis import strategies as st

from runnable_lines import RunnableLines
from shield.facts.local import LocalFiles
from shield.facts.place import Place
from shield.facts.shell import analyse
from shield.types import Dynamic, Origin


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from(list(string.printable + "é\u00a0\u2028\x00\ud7ff")), max_size=60))
def test_no_text_crashes_the_analysis(text):
    place = Place(files=LocalFiles(), home="/home/user", cwd="/", workspace_roots=("/",), env={"PATH": "/usr/bin"})
    facts = analyse(text, place)
    for command in facts.commands:
        assert command.dynamic is Dynamic.CODE or facts.parsed
    assert facts.parsed or facts.commands


@settings(max_examples=100, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 3))
def test_mutated_lines_never_crash(rng, edits):
    line = RunnableLines(rng).line()
    for _ in range(edits):
        at = rng.randrange(len(line) + 1)
        line = line[:at] + rng.choice("\"'`$(){}|&;<>\\\n#~*[]!=") + line[at + rng.randrange(2) :]
    facts = analyse(line, Place(files=LocalFiles(), home="/h", cwd="/", workspace_roots=(), env={"PATH": os.defpath}))
    assert facts.parsed or any(command.dynamic is Dynamic.CODE for command in facts.commands)
    # a known name that nothing in PATH has is the only one without a program
    system = [command for command in facts.commands if command.origin is Origin.SYSTEM]
    assert all(command.program or shutil.which(command.name, path=os.defpath) is None for command in system)

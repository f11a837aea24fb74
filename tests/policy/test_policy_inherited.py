"""What `default` says of scripts whose shells run more than their text: by their environment, by functions that are
handed on, by names that stand for programs."""

import pytest

from git_world import repository
from shell_world import MadeFile, reading_policy, text
from shield.types import Decision

KEPT = {path: file for path, file in repository({"c.txt": "x\n"}).items() if path.startswith(".git/")}
HELD = ("c.txt", "src/a.py", "build/x", "dist/x", "lib.d/x")


def decided(line, files):
    held = {path: text("x\n", 0o644) for path in HELD}
    made = {path: each if isinstance(each, MadeFile) else text(each) for path, each in files.items()}
    return reading_policy(line, KEPT | held | made, confined=True)


@pytest.mark.parametrize(
    "script",
    ["BASH_ENV=y.sh bash -c true", "export BASH_ENV=y.sh\nbash z.sh", "BASH_ENV=./y.sh ./z.sh", "env BASH_ENV=y.sh bash z.sh", "ENV=y.sh sh -i -c true", "BASH_ENV=y.sh make -s",
     "PROMPT_COMMAND='rm -rf {}' bash -i < z.sh", "PS1='$(rm -rf {})' bash -i < z.sh"],
)  # fmt: skip
def test_what_the_environment_has_a_shell_run(script):
    for folder, allowed in (("src", False), ("dist", True)):
        files = {"y.sh": f"rm -rf {folder}\n", "z.sh": "#!/bin/bash\nls\n", "Makefile": "x:\n\tbash z.sh\n"}
        said = script.format(folder)
        assert (decided("bash x.sh", files | {"x.sh": said + "\n"}) is Decision.ALLOW) is allowed, folder
        recipe = "".join(f"\t{each.replace('$', '$$')}; \\\n" for each in said.split("\n"))
        assert (decided("make x", files | {"Makefile": f"x:\n{recipe}\ttrue\n"}) is Decision.ALLOW) is allowed, folder
    files = {"y.sh": "rm -rf src\n", "Makefile": "export BASH_ENV=y.sh\nSHELL=bash\nx:\n\ttrue\n"}
    assert decided("make x", files) is not Decision.ALLOW
    assert decided("bash x.sh", {"x.sh": "ENV=prod\nexport BASH_ENV=none\nsh -c ls\n"}) is Decision.ALLOW


@pytest.mark.parametrize(
    "script",
    ["f() {{ rm -rf {}; }}\nexport -f f\nbash -c f", "f() {{ rm -rf $1; }}\ndeclare -fx f\nbash -c 'f {}'", "f() {{ rm -rf {}; }}\nexport -f f\n./z.sh",
     "f() {{ rm -rf \"$1\"; }}\nexport -f f\nsetsid bash -c 'f \"$1\"' _ {}", "printf -v c %s rm\n$c -r {}", "printf -v c rm\n$c {}/a.py",
     "$(command -v rm) -r {}", "\"$(which rm)\" {}/a.py", "RM=$(command -v rm 2>/dev/null)\n$RM -r {}", "declare -A c=([y]='rm -rf {}' [z]=ls)\n${{c[$1]}}", "declare -A c\nc[y]=\"rm -rf {}\"\neval \"${{c[$1]}}\"",
     "r=(`type -P rm` -r)\n\"${{r[@]}}\" {}"],
)  # fmt: skip
def test_functions_that_are_handed_on_and_names_of_programs(script):
    for folder, allowed in (("src", False), ("dist", True)):
        files = {"x.sh": script.format(folder) + "\n", "z.sh": "#!/bin/bash\nf\n"}
        assert (decided("bash x.sh y", files) is Decision.ALLOW) is allowed, folder


@pytest.mark.parametrize(
    "script",
    ["f() { rm -rf src; }\nbash -c f", "f() { ls; }\nexport -f f\nbash -c f", "printf -v c %s-%s a b\necho $c", "read -r c <<< 'rm -rf src'\necho $c", "$(command -v python3) -m pytest",
     "declare -A c=([y]='rm -rf src')\necho ${c[y]}", "PS1='$ '\nbash -c ls"],
)  # fmt: skip
def test_ordinary_ones_go_ahead(script):
    assert decided("bash x.sh", {"x.sh": script + "\n"}) is Decision.ALLOW

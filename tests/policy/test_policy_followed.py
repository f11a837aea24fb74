"""How `default` follows scripts and recipes into others that they start, and behind what they change before."""

import pytest

from git_world import repository
from shell_world import MadeFile, reading_policy, text
from shield.types import Decision

KEPT = {path: file for path, file in repository({"c.txt": "x\n"}).items() if path.startswith(".git/")}
HELD = ("c.txt", "src/a.py", "build/x", "dist/x", "public/a", "data/a")


def decided(line, files):
    held = {path: text("x\n", 0o644) for path in HELD} | {".gitignore": text("data\n"), "list": text("src\n")}
    made = {path: each if isinstance(each, MadeFile) else text(each) for path, each in files.items()}
    return reading_policy(line, KEPT | held | made, confined=True)


_MAKE = "D=build\nx:\n\t{}\nz:\n\trm -rf $(D)\n"


@pytest.mark.parametrize("step", ["make z", "$(MAKE) z", "cd . && make z", "bash y.sh", "make -s y"])
@pytest.mark.parametrize("line", ["make x D={}", "D={} make -e x"])
def test_what_one_make_is_given_the_next_one_has(line, step):
    files = {"Makefile": _MAKE.format(step) + "y:\n\tmake z\n", "y.sh": "make z\n"}
    assert decided(line.format("src"), files) is not Decision.ALLOW
    assert decided(line.format("dist"), files) is Decision.ALLOW


@pytest.mark.parametrize(
    ("line", "files"),
    [("D={} bash x.sh", {"x.sh": "bash y.sh\n"}), ("make x D={}", {"Makefile": "x:\n\tbash y.sh\n"}), ("D={} npm run x", {"package.json": '{"scripts": {"x": "sh y.sh"}}'}),
     ("make x D={}", {"Makefile": "x:\n\tbash x.sh\n", "x.sh": "bash y.sh\n"})],
)  # fmt: skip
def test_a_script_has_what_the_one_before_it_was_given(line, files):
    files |= {"y.sh": "rm -rf ${D:-build}\n"}
    assert decided(line.format("src"), files) is not Decision.ALLOW
    assert decided(line.format("dist"), files) is Decision.ALLOW
    # what a script sets for itself it does not hand on
    assert decided("bash z.sh", files | {"z.sh": "D=src\nbash y.sh\n"}) is Decision.ALLOW


@pytest.mark.parametrize(
    "script",
    ["ln -s src l; rm -rf l/*", "ln -s src l; rm -rf l/", "ln -s src l; rm -f l/a.py", "ln -s src l && cd l && rm -f a.py", "ln -s ../src build/l; rm -rf build/l/*",
     "ln -s ../src build; rm -rf build/src/*", "ln -s $PWD/src build/l; rm -rf build/l/", "ln -s ../src build/l; rm -rf build/*/", "ln -s ../src build/l; rm -rf build/*/*",
     "ln -s ../src build/l; find build/l/ -delete", "ln -s ../src build/l; find -L build -delete", "ln -s ../src build/l; find build -follow -type f -exec rm {} +",
     "rm -rf build; ln -s src build; rm -rf build/*", "cp -a lk build/lk; rm -rf build/lk/*", "cp -a lk l; rm -rf l/*", "rsync -a lk l; rm -rf l/*", "mv lk l; rm -rf l/*",
     "cp -a held build/; rm -rf build/held/l/*", "tar xf a.tar -C build; rm -rf build/l/*", "unzip a.zip -d build; rm -rf build/l/*", "bash y.sh; rm -rf build/l/*",
     "rm -rf build; tar xf a.tar -C build; rm -rf build/sub/*", "find -L held -delete", "find -L held -type f -exec rm {} +"],
)  # fmt: skip
def test_what_a_link_leads_to_is_not_deleted_behind_it(script):
    files = {"x.sh": script + "\n", "y.sh": "ln -s ../src build/l\n", "a.tar": "x", "a.zip": "x"}
    files |= {name: MadeFile(symlink=to) for name, to in (("lk", "src"), ("held/l", "../src"))} | {"build/sub/x": "x\n"}
    assert decided("bash x.sh", files) is not Decision.ALLOW
    steps = "".join(f"\t{each.strip()}\n" for each in script.replace("$", "$$").replace("&&", "&& \\\n").split(";"))
    assert decided("make x", files | {"Makefile": f".ONESHELL:\nx:\n{steps}"}) is not Decision.ALLOW


@pytest.mark.parametrize(
    "script",
    ["ln -s a b; rm -f b", "ln -sf ../x build/y; rm -rf dist/*", "ln -sf foo.so.1 build/foo.so; rm -f build/*.o", "ln -s src build/l; rm -rf build", "cp -r public dist; rm -rf dist/a/b",
     "rsync -a public/ dist/; rm -rf dist/x/*", "tar xf a.tar -C build; rm -rf build/*", "tar xf a.tar -C build; rm -rf build/sub/*", "mv build old; rm -rf old/x",
     "t=$(mktemp -d); ln -s src $t/l; rm -rf $t", "find -L src -name '*.py' -exec grep x {} +"],
)  # fmt: skip
def test_what_is_deleted_beside_links_goes_ahead(script):
    files = {"x.sh": script + "\n", "a.tar": "x", "build/sub/x": "x\n"}
    assert decided("bash x.sh", files) is Decision.ALLOW


@pytest.mark.parametrize(
    "script",
    ["r\\\nm -rf src", "rm -rf s\\\nrc", "ls\n# a \\\nrm -rf s\\\nrc", "ls\nth=1; if true; th\\\nen rm -rf src; fi", "shopt -s extglob; rm -rf !(build)", "rm -rf src/@(a|b).py",
     "shopt -s expand_aliases\nalias ls='rm -rf src'\nls", "alias x=rm\nx -rf src", "alias rm='rm -v'\nrm -rf src", "alias rm=echo\nrm -rf src", "eval \"$(cat said)\"", "eval $(<said)",
     "bash -c \"$(cat said)\"", "source <(cat said)", ". /dev/stdin < said", ". /dev/stdin <<E\nrm -rf src\nE", "source <(echo rm -rf src)", "bash -c \"rm -rf $X\"",
     "while read -r l; do eval \"rm -rf $l\"; done < list", "${x:-rm} -rf src", "/bin/r? -rf src", "$(cat said) -rf src", "cat > y.sh <<'E'\nrm -rf src\nE\nchmod +x y.sh\n./y.sh",
     "cat > y.sh <<'E'\nrm -rf src\nE\nbash y.sh", "tee y.sh <<'E'\nrm -rf src\nE\n. ./y.sh"],
)  # fmt: skip
def test_however_a_script_spells_it_it_deletes_no_work(script):
    assert decided("bash x.sh", {"x.sh": script + "\n", "said": "rm -rf src\n"}) is not Decision.ALLOW


@pytest.mark.parametrize(
    "script",
    ["ls \\\n  -l src \\\n  build", "rm -rf bu\\\nild", "alias ll='ls -l'\nll src", "eval \"$(cat said)\"", "source <(cat said)",
     "bash -c \"ls $X\"", "\"$@\"", "${PYTHON:-python3} -m pytest -r fE", "cat > y.sh <<'E'\nls\nE\nbash y.sh", "cat > notes.txt <<'E'\nrm -rf src\nE", "eval \"echo $X\"",
     "x=confirm; eval \"$x src\"", "echo 'it will rm !(x)' > said2"],
)  # fmt: skip
def test_ordinary_spellings_go_ahead(script):
    assert decided("bash x.sh", {"x.sh": script + "\n", "said": "ls src\n"}) is Decision.ALLOW


_INCLUDING = "-include a.d\nD=build\nx:\n\trm -rf $(D)\n"


@pytest.mark.parametrize("rule", ["a.d:\n\techo 'override D=src' > a.d\n", "%.d: list\n\techo 'override D=src' > $@\n"])
def test_what_a_recipe_writes_into_an_included_file_is_not_trusted(rule):
    assert decided("make x", {"Makefile": _INCLUDING + rule, "a.c": "x\n"}) is not Decision.ALLOW


@pytest.mark.parametrize(
    "rule", ["", "%.d: %.c\n\t$(CC) -MM $< > $@\n", "a.d: a.c\n\tgcc -MM -MF $@ $<\n", "%.o: %.c\n\tcc -c $< -MD\n"]
)
def test_what_a_compiler_writes_into_an_included_file_goes_ahead(rule):
    assert decided("make x", {"Makefile": _INCLUDING + rule, "a.c": "x\n"}) is Decision.ALLOW


@pytest.mark.parametrize("place", ["/tmp/x", "/var/tmp/x", "/dev/shm/x", "../x", "~/x"])
@pytest.mark.parametrize(
    "script",
    ["mv src {}", "mv src/a.py {}/x", "cd . && mv src {}", "rsync -a --remove-source-files src/ {}/", "cd {} && mv /home/user/ws/src .", "t={}; mv src $t", "t=$(mktemp -d -p {}); mv src $t",
     "python3 -c \"import shutil; shutil.move('src', '{}')\""],
)  # fmt: skip
def test_what_a_sandbox_throws_away_is_no_place_for_work(place, script):
    """There the temporary folder ends with the session, and the rest of the machine takes nothing."""
    said = script.format(place)
    assert decided("bash x.sh", {"x.sh": said + "\n"}) is not Decision.ALLOW
    assert decided("make x", {"Makefile": "x:\n\t" + said.replace("$", "$$") + "\n"}) is not Decision.ALLOW
    assert decided(f"mv c.txt {place}; make", {"Makefile": "x:\n\tls\n"}) is not Decision.ALLOW


@pytest.mark.parametrize(
    "script",
    [
        "mv src build/",
        "mv src other",
        "mv src/a.py build/b.py",
        "mv build/x /tmp/x",
        "mv data /tmp/x",
        "mv a.new src/a.py",
    ],
)
def test_what_stays_or_is_made_again_is_moved(script):
    assert decided("bash x.sh", {"x.sh": script + "\n"}) is Decision.ALLOW
    assert decided("make x", {"Makefile": f"x:\n\t{script}\n"}) is Decision.ALLOW

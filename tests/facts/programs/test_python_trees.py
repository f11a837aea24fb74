"""Python that is proven to read or change what a walk through a tree comes upon, and what is no proof of that."""

import pytest

from shell_world import facts, reading_policy, text
from shield.facts.made import MadeFile
from shield.facts.programs.python.proof import proven
from shield.types import Decision

FILES = {"src/a.py": text("x\n"), "src/b/c.py": text("x\n"), "data.json": text("{}\n")}
WALKS = [
    "from pathlib import Path; print(sum(len(p.read_text().splitlines()) for p in Path('src').rglob('*.py')))",
    "from pathlib import Path; print(len(list(Path('.').rglob('*.py'))))",
    "from pathlib import Path; print(*Path('.').glob('*.toml'), sep='\\n')",
    "import pathlib; print([p.name for p in pathlib.Path('src').glob('*.py')])",
    "from pathlib import Path; print([str(p.relative_to('src')) for p in Path('src').iterdir()])",
    "from pathlib import Path\nfor i, p in enumerate(sorted(Path('src').rglob('*.py'))):\n print(i, f'{p}', p.parent, p.as_posix())",
    "import json, glob; [json.load(open(f)) for f in glob.glob('*.json')]; print('ok')",
    "import glob\nfor f in sorted(glob.glob('src/**/*.py', recursive=True)):\n print(f, len(open(f).read()))",
    "import os\nfor r, ds, fs in os.walk('src'):\n for f in fs:\n  print(os.path.join(r, f), os.path.getsize(os.path.join(r, f)))",
    (
        "import os\nfor r, ds, fs in os.walk('.'):\n ds[:] = [d for d in ds if d != 'x']\n for f in fs:\n  path = os.path.join(r, f)\n"
        "  with open(path) as h:\n   print(len(h.readlines()))"
    ),
    (
        "from pathlib import Path\nfrom collections import Counter\nfs = [p for p in Path('.').rglob('*') if p.is_file()]\n"
        "print(len(fs), Counter(p.suffix for p in fs).most_common(5))\nfor p in fs[:10]:\n print(p, p.stat().st_size)"
    ),
    "from pathlib import Path\nfor p in Path('src').rglob('*.py'):\n s = p.read_text()\n p.write_text(s.replace('x', 'y'))",
    "import os; [print(f, open(os.path.join('src', f)).read()) for f in os.listdir('src') if f.endswith('.py')]",
    "import os; [print(open(f'src/{f}').read()) for f in os.listdir('src')]",
    "import os; names = os.listdir('src'); names.sort(); print(names)",
]
REFUSED = [
    # what a walk gives is no value
    "from pathlib import Path; [p.unlink() for p in Path('src').rglob('*.py')]",
    "from pathlib import Path; [p.replace('x') for p in Path('src').rglob('*.py')]",
    "from pathlib import Path; [p.parent.replace('x') for p in Path('src').rglob('*.py')]",
    "from pathlib import Path; x = list(Path('src').rglob('*.py')); x[0].replace('y')",
    "from pathlib import Path; x = [p for p in Path('src').rglob('*.py')]; y = x; y[0].replace('z')",
    "from pathlib import Path; f = lambda q: q.replace('z'); [f(p) for p in Path('src').rglob('*.py')]",
    "from pathlib import Path; x = []; [x.append(p) for p in Path('src').rglob('*.py')]",
    "from pathlib import Path; sorted(Path('src').rglob('*.py'), key=lambda p: p.replace('z'))",
    "from pathlib import Path; list(map(lambda p: p.replace('z'), Path('src').rglob('*.py')))",
    "from pathlib import Path; max(Path('src').rglob('*.py')).replace('z')",
    "from pathlib import Path; next(Path('src').rglob('*.py')).replace('z')",
    "from pathlib import Path; [q.replace('z') for q in tuple(Path('src').rglob('*')) + ()]",
    "from pathlib import Path; a, *b = Path('src').rglob('*'); a.replace('z')",
    "from pathlib import Path; [t[1].replace('x') for t in enumerate(Path('src').rglob('*.py'))]",
    "from pathlib import Path; [t[1].replace('x') for i, t in enumerate(enumerate(Path('src').rglob('*.py')))]",
    "from pathlib import Path\np = 'a'\nfor p in Path('src').rglob('*.py'): p.replace('x')",
    "from pathlib import Path\nfor p in ['a']: p\nfor p in Path('src').rglob('*.py'): p.replace('x', 'y')",
    "from pathlib import Path\ndef f(p): return p\nfor p in Path('src').rglob('*.py'): p.replace('x')",
    "from pathlib import Path; d = {}\nfor d['a'] in Path('src').rglob('*.py'): d['a'].replace('x')",
    "from pathlib import Path\nfor i, p in enumerate(Path('src').rglob('*.py')): p.replace('x')",
    "from pathlib import Path; {p: 1 for p in Path('src').rglob('*.py')}.popitem()[0].replace('x')",
    "from pathlib import Path; next(p for p in Path('src').rglob('*.py')).replace('x')",
    "from pathlib import Path; [x.replace('y') for x in (p for p in Path('src').rglob('*.py'))]",
    "from pathlib import Path; [x.replace('y') for x in [p.parent for p in Path('src').rglob('*.py')]]",
    "from pathlib import Path; [x.replace('y') for x in [p.relative_to('a') for p in Path('src').rglob('*.py')]]",
    # out of the tree
    "import os; [t[1].append('/home/user/other') for t in os.walk('src')]",
    "import os; x = list(os.walk('src'))",
    "import os\nds = []\nfor r, ds, fs in os.walk('src'): ds.append('/home/user/other')",
    "from pathlib import Path; [(p.parent.parent / 'x').read_text() for p in Path('src').rglob('*.py')]",
    "from pathlib import Path; [open(p.parent.parent / 'x') for p in Path('src').rglob('*.py')]",
    "from pathlib import Path; [p.read_text() for p in Path('src').glob('../../*')]",
    "import os\nfor r, ds, fs in os.walk('src'):\n ds.append('/home/user/other')",
    "import os\nfor r, ds, fs in os.walk('src'):\n ds[:] = ['/home/user/other']",
    "import os\nfor r, ds, fs in os.walk('src'):\n fs.append('/home/user/other')\n for f in fs: open(os.path.join(r, f))",
    "import os\nfor r, ds, fs in os.walk('src'):\n for f in fs: open(os.path.join(r, f + '/../../x'))",
    "import os\nfor r, ds, fs in os.walk('src'):\n for f in fs: open(os.path.join(r, '..', f))",
    "import os\nfor r, ds, fs in os.walk(input()):\n for f in fs: open(os.path.join(r, f))",
    "import os; [os.remove(os.path.join(r, f)) for r, ds, fs in os.walk('src') for f in fs]",
    "import os; x = os.listdir('src'); x.append('/home/user/other'); [open(os.path.join('src', f)) for f in x]",
    "import os; [open(f'src{f}') for f in os.listdir('src')]",
    "import glob; x = glob.glob('*.md'); x.append('/home/user/other'); [open(f) for f in x]",
    "import glob; [open(f).read() for f in glob.glob('*', root_dir='/etc')]",
    "import glob\nfor p in glob.glob('*'):\n p += '/../../other'\n open(p)",
    "import glob\nfor p in glob.glob('*'):\n for p in ['/home/user/other' + p]: open(p)",
    "from pathlib import Path\nfor p in Path('src').rglob('*'):\n p = Path(input())\n p.read_text()",
    "import glob\ndef sorted(x): return ['/home/user/other']\nfor p in sorted(glob.glob('*')): open(p)",
    "import glob\ndef f(p): open(p)\nfor p in glob.glob('*'): f('/home/user/other')",
]


@pytest.mark.parametrize("code", WALKS)
def test_a_walk_through_a_tree_is_proven(code):
    assert proven(code, ("-c",)) is not None


@pytest.mark.parametrize("code", WALKS)
@pytest.mark.parametrize("confined", [True, False])
def test_a_walk_through_the_workspace_goes_ahead(code, confined):
    assert reading_policy(f"python3 - <<'EOF'\n{code}\nEOF", FILES, confined=confined) is Decision.ALLOW


@pytest.mark.parametrize("code", REFUSED)
def test_what_is_not_listed_is_no_proof(code):
    assert proven(code, ("-c",)) is None


def judged(code, more=None):
    return reading_policy(f"python3 - <<'EOF'\n{code}\nEOF", {**FILES, **(more or {})}, confined=True)


READS = "from pathlib import Path\nfor p in Path('%s').rglob('*'): print(p.read_text())"
WRITES = "from pathlib import Path\nfor p in Path('%s').rglob('*'): p.write_text('x')"


@pytest.mark.parametrize("code", [READS, WRITES])
def test_what_a_walk_comes_upon_counts(code):
    assert judged(code % "src") is Decision.ALLOW
    assert judged(code % "src", {"src/l.py": MadeFile(symlink="/etc/shadow")}) is not Decision.ALLOW
    assert judged(code % "src", {"src/.env": text("K=1\n")}) is not Decision.ALLOW
    assert judged(code % "/home/user") is not Decision.ALLOW
    assert judged(code % "..") is not Decision.ALLOW


@pytest.mark.parametrize(
    "name", [".git/hooks/pre-commit", "AGENTS.md", ".github/workflows/x.yml", ".vscode/settings.json"]
)
def test_what_is_guarded_in_a_tree_is_not_written(name):
    assert judged(WRITES % ".", {name: text("x\n")}) is not Decision.ALLOW
    assert judged(
        "import os\nfor r, d, fs in os.walk('.'):\n for f in fs: open(os.path.join(r, f), 'w')", {name: text("x\n")}
    ) is not (Decision.ALLOW)


def test_a_pattern_says_which_files_are_opened():
    code = "from pathlib import Path\nfor p in Path('.').rglob('*.py'): p.read_text()"

    assert judged(code, {".env": text("K=1\n")}) is Decision.ALLOW
    assert judged(code.replace("*.py", "*"), {".env": text("K=1\n")}) is not Decision.ALLOW
    assert judged(code.replace("*.py", "**/*"), {".env": text("K=1\n")}) is not Decision.ALLOW
    assert judged("import glob; [open(f) for f in glob.glob('**/.en?')]", {".env": text("K=1\n")}) is not Decision.ALLOW


@pytest.mark.parametrize(
    "code",
    [
        "import glob; print([open(f).read() for f in glob.glob('src/**/id_*', recursive=True)])",
        "import glob\nfs = sorted(glob.glob('src/**/*.py', recursive=True))\nfor f in fs: open(f, 'a').write('x')",
    ],
)
def test_glob_goes_on_through_links(code):
    outside = {"/home/user/other/k/c.py": text("x\n"), "/home/user/.ssh/id_rsa": text("x\n")}

    assert judged(code) is Decision.ALLOW
    assert judged(code, {"src/k": MadeFile(symlink="b"), "src/l.py": MadeFile(symlink="a.py")}) is Decision.ALLOW
    assert judged(code, {"src/.k": MadeFile(symlink="/home/user/other"), **outside}) is Decision.ALLOW
    assert judged(code, {"src/t": MadeFile(symlink="/usr/bin/true")}) is Decision.ALLOW
    assert judged(code, {"src/k": MadeFile(symlink="/home/user/.ssh"), **outside}) is not Decision.ALLOW
    assert judged(code, {"src/b/k": MadeFile(symlink="../../../.ssh"), **outside}) is not Decision.ALLOW
    # a path object's does not
    found = "from pathlib import Path; print([p.read_text() for p in Path('src').rglob('id_*')])"
    assert judged(found, {"src/k": MadeFile(symlink="/home/user/.ssh"), **outside}) is Decision.ALLOW


def test_a_walk_lists_and_what_it_opens_is_read():
    found = facts("python3 - <<'EOF'\n%s\nEOF" % (READS % "src"))

    assert {(path.raw, path.access.value) for path in found.paths} >= {("src", "list"), ("src", "read")}

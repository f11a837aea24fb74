"""What a script deletes by the names that a look gives it: asked where no tool makes it again."""

import pytest

from shell_world import reading_policy, text
from shield.types import Decision

LOOKS = {
    "glob of a path": "from pathlib import Path\nfor f in Path('{0}').glob('{1}'):\n    f.unlink()\n",
    "rglob, sorted": "from pathlib import Path\nfor f in sorted(Path('{0}').rglob('{1}')):\n    f.unlink(missing_ok=True)\n",
    "glob": "import glob, os\n[os.remove(f) for f in glob.glob('{0}/{1}')]\n",
    "mapped": "import glob, os\nlist(map(os.remove, glob.glob('{0}/{1}')))\n",
    "wrapped": "import os, glob\nfrom pathlib import Path\nfor f in glob.glob('{0}/{1}'):\n    Path(f).unlink()\n",
    "trees": "import shutil\nfrom pathlib import Path\nfor f in Path('{0}').glob('{1}'):\n    shutil.rmtree(f)\n",
}
WHOLE = {
    "listed": "import os\nfor n in os.listdir('{0}'):\n    os.remove(os.path.join('{0}', n))\n",
    "walked": "import os\nfor r, d, files in os.walk('{0}'):\n    for f in files:\n        os.unlink(os.path.join(r, f))\n",
    "divided": "import os\nfrom pathlib import Path\nD = Path('{0}')\ndef go():\n    for n in os.listdir(D):\n        (D / n).unlink()\ngo()\n",
}


OTHERS = {
    "for of": (
        "x.mjs",
        "import {{readdirSync, unlinkSync}} from 'fs'\nfor (const f of readdirSync('{0}')) unlinkSync(join('{0}', f))\n",
    ),
    "forEach": (
        "x.js",
        "const fs = require('fs')\nfs.readdirSync('{0}').forEach(f => fs.rmSync(path.join('{0}', f)))\n",
    ),
    "globSync": ("x.js", "const fs = require('fs')\nfor (const f of fs.globSync('{0}/*.csv')) fs.unlinkSync(f)\n"),
    "constant": ("x.js", "const D = '{0}'\nfor (const f of fs.readdirSync(D)) {{ fs.unlinkSync(`${{D}}/${{f}}`) }}\n"),
    "each": ("x.rb", "Dir.glob('{0}/*').each {{ |f| File.delete(f) }}\n"),
    "each do": ("x.rb", "Dir['{0}/*.csv'].each do |f|\n  File.unlink f\nend\n"),
    "all at once": ("x.rb", "require 'fileutils'\nFileUtils.rm_f Dir['{0}/*']\n"),
    "array_map": ("x.php", "<?php array_map('unlink', glob('{0}/*'));\n"),
    "foreach": ("x.php", "<?php foreach (glob('{0}/*') as $f) unlink($f);\n"),
    "unlink glob": ("x.pl", "unlink glob '{0}/*';\n"),
    "angles": ("x.pl", "unlink <{0}/*>;\n"),
    "foreach my": ("x.pl", "foreach my $f (glob('{0}/*')) {{ unlink $f }}\n"),
}
RUNS = {"mjs": "node", "js": "node", "rb": "ruby", "php": "php", "pl": "perl"}


def decided(code, *given):
    files = {"x.py": code.format(*given), "data/a.csv": "1\n", "build/a.csv": "1\n", "src/a.py": "x = 1\n"}
    return reading_policy("python3 x.py", {path: text(said) for path, said in files.items()}, confined=True)


@pytest.mark.parametrize("code", LOOKS.values(), ids=LOOKS)
def test_what_a_pattern_finds_and_a_script_deletes_is_asked(code):
    assert decided(code, "data", "*.csv") is Decision.ESCALATE
    assert decided(code, ".", "*.csv") is Decision.ESCALATE
    assert decided(code, "build", "*.csv") is Decision.ALLOW
    assert decided(code, ".", "__pycache__") is Decision.ALLOW


@pytest.mark.parametrize("code", WHOLE.values(), ids=WHOLE)
def test_what_a_folder_holds_and_a_script_deletes_is_asked(code):
    assert decided(code, "data") is Decision.ESCALATE
    assert decided(code, "build") is Decision.ALLOW


@pytest.mark.parametrize("does", ["print(f)", "f.read_text()", "f.with_suffix('.txt').write_text('x')"])
def test_a_look_that_deletes_nothing_goes_ahead(does):
    assert decided("from pathlib import Path\nfor f in Path('data').glob('*.csv'):\n    " + does) is Decision.ALLOW


def elsewhere(file, code):
    held = {file: code, "data/a.csv": "1\n", "build/a.csv": "1\n"}
    line = f"{RUNS[file.partition('.')[2]]} {file}"
    return reading_policy(line, {path: text(said) for path, said in held.items()}, confined=True)


@pytest.mark.parametrize(("file", "code"), OTHERS.values(), ids=OTHERS)
def test_what_a_look_finds_and_another_language_deletes_is_asked(file, code):
    assert elsewhere(file, code.format("data")) is Decision.ESCALATE
    assert elsewhere(file, code.format("build")) is Decision.ALLOW


@pytest.mark.parametrize(
    ("file", "code"),
    [("x.js", "for (const f of fs.readdirSync('data')) console.log(f)\n"), ("x.js", "for (const f of fs.readdirSync('data')) seen.delete(f)\n"),
     ("x.js", "const list = fs.readdirSync('data')\nfs.rmSync('build', {recursive: true})\n"), ("x.rb", "Dir.glob('data/*').each { |f| puts f }\n"),
     ("x.php", "<?php foreach (glob('data/*') as $f) echo $f;\n"), ("x.pl", "foreach my $f (glob('data/*')) { print $f }\n")],
)  # fmt: skip
def test_a_look_of_another_language_that_deletes_nothing_goes_ahead(file, code):
    assert elsewhere(file, code) is Decision.ALLOW

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

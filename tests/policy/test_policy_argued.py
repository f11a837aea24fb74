"""What `default` says of code that deletes what its words name: what these are is what counts."""

import json

import pytest

from git_world import repository
from shell_world import reading_policy, text
from shield.types import Decision

KEPT = {path: file for path, file in repository({"c.txt": "x\n"}).items() if path.startswith(".git/")}
HELD = ("c.txt", "src/a.py", "build/x", "dist/x")


def decided(line, **files):
    held = {path: text("x\n", 0o644) for path in HELD}
    return reading_policy(line, KEPT | held | {path: text(each) for path, each in files.items()}, confined=True)


@pytest.mark.parametrize(
    "code",
    ["fs.rmSync(process.argv[2], {recursive: true})", "for (const p of process.argv.slice(2)) fs.rmSync(p)", "process.argv.slice(2).forEach(p => fs.rmSync(p))",
     "const [,, d] = process.argv\nfs.rmdirSync(d)", "const d = process.argv[2] || 'build'\nfs.rmSync(d)", "const { argv } = process\nconst args = process.argv.slice(2)\nconst [d] = args\nfs.unlinkSync(d)",
     "require('child_process').execSync('rm -rf ' + process.argv[2])", "execSync(`rm -rf ${process.argv[2]}`)", "const rimraf = require('rimraf')\nrimraf.sync(process.argv[2])"],
)  # fmt: skip
@pytest.mark.parametrize("line", ["node x.js {}", "npm run x", "npm run y {}"])
def test_node(line, code):
    code = "const fs = require('fs')\n" + code
    for name, allowed in (("build", True), ("src", False)):
        scripts = json.dumps({"scripts": {"x": f"node x.js {name}", "y": "node x.js"}})
        found = decided(line.format(name), **{"x.js": code, "package.json": scripts})
        assert (found is Decision.ALLOW) is allowed, name


@pytest.mark.parametrize(
    "code",
    ["fs.rmSync(path.join(__dirname, '{}'))", "fs.rmSync(require('path').resolve('{}'))", "fs.rmSync(`${{__dirname}}/{}`)", "fs.rmSync(__dirname + '/{}')", "require('rimraf').sync('{}')",
     "require('del').sync(['{}'])", "for (const d of ['{}']) fs.rmSync(d)", "['dist', '{}'].forEach(d => fs.rmSync(d))"],
)  # fmt: skip
def test_paths_that_node_puts_together(code):
    for name, allowed in (("build", True), ("src", False)):
        found = decided(
            "node x.js", **{"x.js": f"const fs = require('fs'), path = require('path')\n{code.format(name)}\n"}
        )
        assert (found is Decision.ALLOW) is allowed, name


@pytest.mark.parametrize(
    "code",
    ["shutil.rmtree(sys.argv[1])", "for p in sys.argv[1:]:\n    shutil.rmtree(p)", "d = sys.argv[1] if len(sys.argv) > 1 else 'build'\nshutil.rmtree(d)", "_, d = sys.argv\nshutil.rmtree(d)",
     "import argparse\np = argparse.ArgumentParser()\np.add_argument('d')\na = p.parse_args()\nshutil.rmtree(a.d)", "def main(argv):\n    shutil.rmtree(argv[1])\nmain(sys.argv)",
     "import click\n@click.command()\n@click.argument('d')\ndef f(d):\n    shutil.rmtree(d)\nf()", "from pathlib import Path\nPath(sys.argv[1]).resolve().unlink()", "import subprocess\nsubprocess.run(['rm', '-rf', sys.argv[1]])",
     "import os\nos.system(f'rm -rf {sys.argv[1]}')", "import os\n[os.remove(p) for p in sys.argv[1:]]"],
)  # fmt: skip
@pytest.mark.parametrize("line", ["python3 x.py {}", "python3 -m x {}", "./x.py {}", "bash x.sh"])
def test_python(line, code):
    code = "#!/usr/bin/env python3\nimport shutil, sys\n" + code
    for name, allowed in (("build", True), ("src", False)):
        found = decided(line.format(name), **{"x.py": code, "x.sh": f"python3 x.py {name}\n"})
        assert (found is Decision.ALLOW) is allowed, name


@pytest.mark.parametrize(
    ("line", "file", "code"),
    [("ruby x.rb {}", "x.rb", "require 'fileutils'\nFileUtils.rm_rf(ARGV[0])\n"), ("ruby x.rb {}", "x.rb", "ARGV.each { |d| FileUtils.rm_rf d }\n"), ("perl x.pl {}", "x.pl", "use File::Path;\nrmtree($ARGV[0]);\n"),
     ("perl x.pl {}", "x.pl", "my $d = shift;\nrmtree($d);\n"), ("php x.php {}", "x.php", "<?php\nforeach ($argv as $f) { unlink($f); }\n")],
)  # fmt: skip
def test_other_languages(line, file, code):
    for name, allowed in (("build", True), ("src", False)):
        assert (decided(line.format(name), **{file: code}) is Decision.ALLOW) is allowed, name


@pytest.mark.parametrize(
    ("line", "file", "code"),
    [("node x.js src", "x.js", "const t = fs.mkdtempSync('/tmp/x')\nrun(process.argv[2], t)\nfs.rmSync(t)\n"), ("python3 x.py src", "x.py", "import os, sys, tempfile\nt = tempfile.mkdtemp()\nprint(sys.argv[1])\nos.remove(t)\n"),
     ("python3 x.py src", "x.py", "import sys\nnames = set(sys.argv)\nnames.discard('x')\nprint(open(sys.argv[1]))\n"), ("node x.js src", "x.js", "const s = new Map()\nfor (const p of process.argv) s.set(p, 1)\ns.delete('x')\n"),
     ("ruby x.rb src", "x.rb", "h = {}\nARGV.each { |d| h[d] = 1 }\nputs h\n")],
)  # fmt: skip
def test_code_that_deletes_something_else_goes_ahead(line, file, code):
    assert decided(line, **{file: code}) is Decision.ALLOW

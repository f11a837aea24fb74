"""Comments, regular expressions, divisions and templates in JavaScript, which leave nothing out of the proof."""

import shutil
import subprocess

import pytest

from shield.facts.programs.javascript.plainer import plainer
from shield.facts.programs.javascript.proof import node_proven

COMPUTES = [
    "console.log(1/2)", "const a = 4; const b = 2; console.log((a / b).toFixed(1), a / 2 / b, [4][0]/2)", "console.log(/x|y/i.test('a'))",
    "const p = require('./package.json'); for (const [k, v] of Object.entries(p.packages)) if (/vue|vite/.test(k)) console.log(k.replace(/^a\\//, ''), v.version)",
    "console.log('a-b'.split(/[-/]/g).map(x => x.replace(/'/g, '\"')))", "console.log(1) // that is all", "/* a\n b */ console.log(1)", "console.log(`a ${1 + 1} b ${`c ${2}`}`)", "const s = `it's`; console.log(s)",
    "const { readFileSync } = require('fs'); console.log(readFileSync('a.txt', 'utf8').length)", "import { readFileSync, existsSync } from 'node:fs';\nconsole.log(JSON.parse(readFileSync('a.json', 'utf8')).name, existsSync('b'))",
    "console.log(`${/[`]/.test('a') ? 1 : 2}`)", "const r = a => { return /x/.test(a) }; console.log(r('x'))",
]  # fmt: skip
REFUSED = [
    # what stands in one of them is code all the same
    "console.log(`${require('child_process').execSync('id')}`)", "`${process.exit(1)}`", "console.log(`a`[`constructor`])", "[][`filter`][`constructor`]('x')()", "require(`child_process`)", "require(`./x.json`)",
    "console.log(/x/.constructor('x'))", "/x/['constructor']", "const f = a => a; f`x`", "String.raw`x`", "console.log(1/process.exit(1))", "fs.readFileSync(`/etc/shadow`)", "fs.writeFileSync(`x`, 'y')",
    # a slash that is not what it seems
    "const a = 1; a++ /x; require('child_process').execSync('id') /1", "const a = 1; a-- /'; require('child_process').execSync('id') /'1", "if (1) /'/.test('a'); require('child_process').execSync('id'); /'/.test('a')",
    "for (;0;) /'/; require('child_process').execSync('id'); '/'", "while (0) /'/; require('child_process').execSync('id'); '/'", "{} /'/.test('a'); require('child_process').execSync('id'); '/'",
    "do 1; while (0) /'/; require('child_process').execSync('id'); '/'", "const of = 1; of /'/ 2; require('child_process').execSync('id') /'/ 1", "else /'/", "1 /= 2", "console.log(1 // require('x')\r)", "// x \r require('child_process').execSync('id')",
    "// x \u2028 require('child_process').execSync('id')", "/* x", "`x", "`${1", "`${}`", "/x", "/[/]", "/x/require('child_process')", "a</'/; require('x'); '/'", "1 <!-- x", "1 --/**/> x; process.exit(1)",
    # names out of modules
    "const { execSync } = require('child_process'); execSync('id')", "const { rmSync } = require('fs'); rmSync('x')", "const { readFileSync, rmSync } = require('fs'); rmSync('x')", "const { readFileSync: constructor } = require('fs')",
    "const { readFileSync } = require('fs'); readFileSync(process.argv[1])", "const { readFileSync } = require('fs'); const f = readFileSync; f('/etc/shadow')", "const { readFileSync } = require('fs'); ['/etc/shadow'].map(readFileSync)",
    "const { readFileSync } = require('fs'); const o = { readFileSync }; o.readFileSync('/etc/shadow')", "const { readFileSync } = require('fs'); readFileSync => 1", "const { readFileSync } = require('fs'); readFileSync.constructor('x')()",
    "import { readFileSync } from './fs'; readFileSync('x')", "import { readFileSync as r } from 'fs'; r('x')", "const s = 'const { readFileSync } = require(\"fs\");'; readFileSync('x')", "const { readFileSync } = require('fs').promises; readFileSync('x')",
    "const { readFileSync } = require('fs'); const { existsSync } = require('fs'); existsSync('x')", "const { readFileSync } = require('fs')\n.constructor; readFileSync('x')",
]  # fmt: skip


@pytest.mark.parametrize("code", COMPUTES)
def test_what_is_proven(code):
    assert node_proven(code) is not None, plainer(code)


@pytest.mark.parametrize("code", REFUSED)
def test_what_is_not(code):
    assert node_proven(code) is None


def test_what_is_read_is_named():
    proof = node_proven("const { readFileSync, existsSync } = require('fs'); readFileSync('a'); existsSync('b')")
    assert proof is not None
    assert (proof.reads, proof.looks, proof.writes) == (("a",), ("b",), ())


def test_long_code_is_read_in_time():
    for opening in ("/", "`", "`${", "(", "{", "/*", "'", "const {", "/["):
        plainer(opening * 30_000)


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
@pytest.mark.parametrize("code", [each for each in COMPUTES if "require" not in each and "import" not in each])
def test_node_takes_the_same_code_for_code(code):
    for each in (code, plainer(code)):
        subprocess.run(["node", "--check", "-"], input=each, text=True, check=True, capture_output=True)

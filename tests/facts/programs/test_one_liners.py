"""One-liners for node and perl that are proven to compute, print and read what they name, and what is no proof."""

import pytest

from shell_world import WS, facts, place
from shield.facts.made import MadeFile
from shield.facts.programs.javascript.proof import node_proven
from shield.facts.programs.perl_proof import perl_proven, plain_operand
from shield.types import Access, Operation, RunsCode

NODE = [
    "console.log(1+1)",
    "process.version",
    "console.log(process.versions.node)",
    "console.log(require('./package.json').version)",
    "require('./package.json').dependencies['react']",
    "JSON.stringify({a:1},null,2)",
    "[1,2,3].map(x=>x*2).join(',')",
    "console.log(Object.keys(require('./package.json').scripts).length)",
    "const p=require('./package.json'); console.log(p.name, p.version)",
    "new Date().toISOString()",
    "Math.max(1,2)",
    "require('./package.json').files.join(', ')",
    "console.log(require('fs').readFileSync('x.txt','utf8').split('\\n').length)",
    "console.log([1,2,3].reduce((a,b)=>a+b,0))",
    "const fs=require('fs'); console.log(fs.readFileSync('a.js','utf8').length)",
    "import fs from 'node:fs'; console.log(fs.readdirSync('src'))",
    "JSON.stringify(JSON.parse(fs.readFileSync('a.json')), null, 2)",
    "const fs=require('fs');const s=fs.readFileSync('a.js','utf8');fs.writeFileSync('a.js',s.replace('x=1','x=2'))",
    "require('fs').writeFileSync('x','y')",
    "Buffer.from('aGVsbG8=','base64').toString()",
    "let s='';process.stdin.on('data',d=>s+=d).on('end',()=>console.log(JSON.parse(s).name))",
    "JSON.parse(fs.readFileSync(0, 'utf8')).name",
    "const path = require('path'); path.resolve('src')",
    "fs.statSync('a').isFile()",
    "if (path.sep == '/') console.log(os.cpus().length >= 2, process.cwd() === '/')",
    "[1, 2].map(a => path.join('a', 'b'))",
]
NODE_REFUSED = [
    "const path = require('path'); path.resolve = () => '/tmp/x.js'; require('./package.json')",
    "require('path').resolve = () => '/tmp/x.js'; require('./package.json')",
    "path.resolve\n= () => '/tmp/x.js'; require('./package.json')",
    "(path.resolve) = () => '/tmp/x.js'; require('./package.json')",
    "path.resolve &&= () => '/tmp/x.js'; require('./package.json')",
    "const l = Array.of(() => '/tmp/x.js'); for (path.resolve of l) require('./package.json')",
    "const l = Array.of(() => '/tmp/x.js'); for ((path.resolve) of l) require('./package.json')",
    "for (path.sep in {a: 1}) 1",
    "process.cwd = () => '/tmp'",
    "Buffer.from = () => 1",
    "(a=>a) <!--\n['constructor']('x')()",
    "const of = a=>a; of['constructor']('x')()",
    "of = a=>a; of['constructor']",
    "let = a=>a; let['constructor']",
    "'const cluster ='; Object.values(cluster)",
    "[1].map(cluster=>1); Object.values(cluster)",
    "1 ? crypto : 2",
    "({crypto})",
    "require('child_process').execSync('id')",
    "process.exit(1)",
    "process['mainModule']",
    "eval('1')",
    "(a=>a)['constructor']('x')()",
    "(a=>a).constructor('x')()",
    "globalThis.x",
    "this['eval']",
    "import('fs')",
    "require('./x.js')",
    "require('x')",
    "require(x)",
    "const require=1; require('fs')",
    "const f = require; f('fs')",
    "[1].map(require)",
    "x.y",
    "`a${process.env}`",
    "a\\u0062",
    "[]['filter']['constructor']('x')()",
    "const c='constructor'; [][c]",
    "const a = 'x'; (1)[a]",
    "fetch('http://x')",
    "const {constructor: c} = 1",
    "process.stdout.constructor",
    "require('fs').writeFileSync(x,'y')",
    "require('fs').writeFileSync(['x'],'y')",
    "require('fs').rmSync('x',{recursive:true})",
    "const fs=require('fs'); fs.rmSync('x')",
    "const fs=require('fs'); const g=fs; g.rmSync('x')",
    "const fs=require('fs'); fs['rmSync']('x')",
    "const fs=require('child_process'); fs.execSync('id')",
    "const fs=require('fs'), os=1; os.cpus()",
    "let fs=require('fs'); fs={}; fs.readFileSync('x')",
    "[1].map(fs=>fs.readFileSync('x'))",
    "[1].map((a,fs)=>fs.readFileSync('x'))",
    "const {rmSync}=require('fs')",
    "import {rmSync} from 'fs'",
    "import fs from './x.js'",
    "import fs from 'child_process'",
    "fs.readFileSync(process.argv[1])",
    "fs.readFileSync('x', {encoding:'utf8', flag:'w'})",
    "fs.writeFileSync('x'+y, 'z')",
    "fs.promises.rm('x')",
    "fs.constructor",
    "process.stdin.constructor",
    "process.stdin.pipe(x)",
    "Buffer.constructor('x')()",
    "Buffer.from('a').buffer",
    "const Buffer=1; Buffer.from('a')",
    "path.posix.win32",
    "require('fs').readFileSync(x)",
    "/a/.exec('b')",
    "function f(){}",
    "const process = 1; process.exit()",
    "require('os').constructor",
    "console.log(process.env)",
    "process.argv.constructor",
    "const eval=1; eval('x')",
    "JSON.parse('1').constructor",
    "require('./a/../x.json').constructor",
    "process.versions['constructor']",
    "Object['getOwnPropertyDescriptor'](1)",
    "({}).a.b['__proto__']",
    "constructor => constructor",
    "require\n('fs')",
    "const a=1; a=>a['const'+'ructor']",
]
PERL = [
    "print if /x/",
    "s/a/b/",
    "s/a/b/g",
    "print",
    "s/(\\d+)/<$1>/",
    "print $F[0]",
    'print "$F[0]\\n"',
    "print unless /^#/",
    "$s += $F[1]; END { print $s }",
    "$s+=$F[0]; }{ print $s",
    "print if 5..10",
    "print if /a/../b/",
    "tr/a-z/A-Z/",
    "s|a|b|",
    "s/^\\s+|\\s+$//g",
    "next unless /x/; print",
    "print $. if /x/",
    "print if $. > 5",
    "/x/ and print",
    "s,a/b,c/d,g",
    'if (/a(.*?)b/) { print "$1\\n" }',
    'while (m{<a>(.*?)</a>}sg) { print "$1\\n" }',
    'print "$1\\n" while /a(.)/g',
    "if (/a/ && !/b/) { s/a/b/; print } else { print 'x' }",
    "if (/a/) { print } s/a/b/; print",
    "print if m!a$!",
    "print if m|^a/b| or m#c#",
    'printf "%s %d\\n", $1, $2 if /(a)(b)/',
    '$h{$1}++ if /(a)/; END { print "$_ $h{$_}\\n" for sort keys %h }',
    '$n{$F[0]} += $F[1]; END { printf "%s %d\\n", $_, $n{$_} for sort { $n{$b} <=> $n{$a} } keys %n }',
]
PERL_REFUSED = [
    "print 'x' while 1",
    "while (1) { print }",
    "while (m{a}) { print }",
    "if (system('id')) { print }",
    "if (/a/) { system('id') }",
    "if (/a/) { print } system('id')",
    "if (/a/) { print } elsif (`id`) { print }",
    "if (/a/) { if (`id`) { print } }",
    "if (/a/) { print",
    "if (/a/) { print }}",
    "if (/a/) {} {system 'id'}",
    "unless (/a/) { unlink 'x' }",
    "{ print }",
    "print print",
    'if (/a/) { print "@{[`id`]}" }',
    "m{(?{system 1})}",
    "m{a{}}",
    "m{a}e",
    "m{a}{system 1}",
    "m{a}.system(1)",
    "print if m{$x}",
    "print if m!@{[`id`]}!",
    "print if m,$x,",
    "print if m!$!!",
    "printf STDERR 'x'",
    "printf {$x} 'a'",
    "printf '%s', `id`",
    "$h{system('id')}++",
    'print "$h{`id`}"',
    'print "$h{$_}[0]"',
    'print "$h{$_}{`id`}"',
    'print "$h{$_}->x"',
    "$ENV{$1} = 'x'",
    "$SIG{$_} = 'x'",
    "END { print `id` for keys %h }",
    "END { print for sort { system(1) } keys %h }",
    "END { print 'x' for keys %ENV }",
    "END { unlink $_ for keys %h }",
    "print for `id`",
    'print if $_ =~ "(?{system 1})"',
    "system('id')",
    "print `id`",
    "s/a/system('id')/e",
    "s/a/`id`/ee",
    "s/(?{system('id')})//",
    "s/a/@{[system('id')]}/",
    "s/a/${\\system('id')}/",
    "s/a/$1[system('id')]/",
    "print $F[system('id')]",
    "open(F,'>x')",
    "exec 'id'",
    "print <F>",
    'print "@{[`id`]}"',
    "/(??{system 'id'})/",
    "$x = <STDIN>",
    "print qx(id)",
    "s/$x/y/",
    "require 'x'",
    "use x",
    "BEGIN{system 'id'}",
    "print $ENV{X}",
    "$0 = 'x'",
    "$x{a}=1",
    "print $x->foo",
    "print $s::t",
    "unlink 'x'",
    "s/a/b/e;",
    "s/a/b/;system('id')",
    "print; `id`",
    "s#a#b#e",
    "print 'a' . `id`",
    "s/a/$&{x}/",
    "y/a/b/; exit system 'id'",
    "s/x/\\\\$x/",
    "s|a|`id`|e",
    "s/a/\n/;`id`",
    'print "$x[0]"',
    'print "$s->{x}"',
    "$a[0]=1",
    "s{a}{b}e",
    "print 1 if system('id')",
    "$x = do 'y'",
    "eof; system 1",
]


@pytest.mark.parametrize("code", NODE)
def test_node_that_is_proven(code):
    assert node_proven(code) is not None


@pytest.mark.parametrize("code", NODE_REFUSED)
def test_node_that_is_not(code):
    assert node_proven(code) is None


@pytest.mark.parametrize("code", PERL)
def test_perl_that_is_proven(code):
    assert perl_proven(code)


@pytest.mark.parametrize("code", PERL_REFUSED)
def test_perl_that_is_not(code):
    assert not perl_proven(code)


def test_names_that_perl_opens_otherwise():
    assert all(plain_operand(text) for text in ("x", "a/b.txt", "/etc/x", "-", "a b"))
    assert not any(plain_operand(text) for text in ("id|", "|id", ">x", "<x", " x", "x ", "&3", "<&3", "+<x", "-x", ""))


def first(line, files=None, **changes):
    found = facts(line, files, **changes)
    return found, found.commands[0]


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        ("node -p process.version", set()),
        ("node -e 'console.log(1+1)'", set()),
        (
            "node -p \"require('./package.json').version\"",
            {(f"{WS}/package.json", "read"), (f"{WS}/package.json", "execute")},
        ),
        ("node -p \"require('fs').readFileSync('x','utf8').length\"", {(f"{WS}/x", "read")}),
        ("perl -ne 'print if /x/' a.txt", {(f"{WS}/a.txt", "read")}),
        ("perl -pe 's/a/b/'", set()),
        ("perl -lane 'print $F[1]' a.txt", {(f"{WS}/a.txt", "read")}),
        ("perl -F: -lane 'print $F[0]' a.txt", {(f"{WS}/a.txt", "read")}),
        ("perl -pi -e 's/a/b/g' a.txt", {(f"{WS}/a.txt", "read"), (f"{WS}/a.txt", "write")}),
        ("perl -i.bak -pe 's/a/b/' a", {(f"{WS}/a", "read"), (f"{WS}/a", "write"), (f"{WS}/a.bak", "write")}),
        ("perl -0777 -ne 'print length' a", {(f"{WS}/a", "read")}),
        ("perl -0777pe 's/a/b/' a", {(f"{WS}/a", "read")}),
        ("perl -0pi -e 's/a/b/' a", {(f"{WS}/a", "read"), (f"{WS}/a", "write")}),
        ("perl -0777i.bak -pe 's/a/b/' a", {(f"{WS}/a", "read"), (f"{WS}/a", "write"), (f"{WS}/a.bak", "write")}),
        ("perl -l012 -F'\\t' -ane 'print $F[0]' a", {(f"{WS}/a", "read")}),
        ("perl -F/,/ -lane 'print $F[0]' a", {(f"{WS}/a", "read")}),
        ("perl -pe 's/a/b/;' -e 's/c/d/' a", {(f"{WS}/a", "read")}),
    ],
)
def test_a_proven_line_runs_nothing(line, paths):
    found, command = first(line, {"package.json": MadeFile(content=b"{}"), "a.txt": MadeFile(content=b"x")})
    assert command.runs_code is RunsCode.NONE
    assert command.operations <= {Operation.READ, Operation.EXECUTE, Operation.WRITE}
    assert {(path.resolved, path.access.value) for path in found.paths} == paths
    assert found.parsed
    assert not found.unknown


@pytest.mark.parametrize(
    "line",
    [
        "node -r ./x.js -p 1", "node --import ./x -e 1", "node -e 'console.log(1)' --frob", "node -e 1 -e 2", "node -i -e 1",
        "NODE_OPTIONS=--require=./x node -p 1", "node -p \"require('./dir.json').x\"", "node -p \"require('./none.json').x\"",
        "node -p \"$(cat y)\"", "perl -ne 'print' 'id|'", "perl -pe 's/a/b/' '>x'", "perl -ne print *", "perl -Mx -ne print a",
        "perl -d -ne print a", "perl -I. -ne print a", "perl -s -ne print a", "perl -i'../x/*' -pe 's/a/b/' a", "perl -pie 's/a/b/' a",
        "perl -F'(?{system 1})' -lane 'print $F[0]' a", "PERL5OPT=-Mx perl -ne print a", "perl -e 'print' -e 'system 1'",
        "perl -ne print -0e 'exec id'", "perl -ne print -0I./lib -0MFoo a", "perl -0xFF -ne print a", "perl -0pe 'system 1' a",
        "perl -pe 's/a/b/' -e 's/c/d/' a", "perl -F/x/,eval -ane print a", "perl -F/x/,unlink -ane print a",
        "perl -F'/\\/' -ane 'print if /x/' a", "perl -F\"'x',eval,'\" -ane print a",
        "perl -x -ne print a", "perl -S -ne print a", "perl -ne \"$(cat y)\" a", "perl -pe 's/a/b/' \"$(cat y)\"",
    ],
)  # fmt: skip
def test_what_brings_more_ends_the_proof(line):
    found = facts(line, {"dir.json/index.js": MadeFile(content=b"x"), "id|": MadeFile(content=b"")})
    command = found.commands[-1]
    assert command.runs_code is not RunsCode.NONE or command.dynamic.value == "code"


def test_a_variable_of_the_session_ends_it():
    env = place().env
    assert first("node -p 1", env={**env, "NODE_OPTIONS": "x"})[1].runs_code is not RunsCode.NONE
    assert first("perl -ne print a", env={**env, "PERL5LIB": "x"})[1].runs_code is not RunsCode.NONE


def test_a_file_that_is_required_is_bound_and_may_not_be_changed_by_the_line():
    line = "echo x > package.json; node -p \"require('./package.json').version\""
    found = facts(line, {"package.json": MadeFile(content=b"{}")})
    assert (f"{WS}/package.json", Access.EXECUTE) in {(path.resolved, path.access) for path in found.paths}
    assert found.unknown


def test_odd_texts_cost_little():
    for evil in (
        "$a=1" + "+$a" * 300 + "!",
        "/a/ and " * 100 + "!",
        "s/" + "a" * 900,
        "print if " + "$a && " * 150,
        "( " * 400,
    ):
        assert not perl_proven(evil)
    assert node_proven("[" * 1_900) is not None
    assert node_proven("require(" * 200) is None

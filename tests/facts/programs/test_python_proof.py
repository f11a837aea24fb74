"""Python that is proven to compute, print and read what it names: what is, what is not, and where another module would
run in place of the library's."""

import ast
import importlib
import shlex
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shell_world import WS, facts, place
from shield.facts.made import MadeFile
from shield.facts.programs.python.allowed import BUILTINS, METHODS, MODULES, SHADOWS
from shield.facts.programs.python.alone import may_shadow, runs_alone
from shield.facts.programs.python.files import FILE_NAMES, FileUse
from shield.facts.programs.python.installed import READERS
from shield.facts.programs.python.proof import proven
from shield.types import Access, Operation, RunsCode

HARMLESS = [
    "print(1+1)", "import sys; print(sys.version)", "import json,sys; print(json.load(sys.stdin)['a'])",
    "import json; print(json.dumps(json.load(open('x.json')), indent=2))",
    "import sys, json; d=json.load(sys.stdin); [print(x['name'], x.get('v')) for x in d]",
    "from datetime import datetime; print(datetime.now().isoformat())", "import uuid; print(uuid.uuid4())",
    "import sys; print(sys.path)", "import sys; print('\\n'.join(sys.path))", "import sys; print(sys.argv[1:])",
    "import os; print(os.getcwd())", "print(open('README.md').read())", "print(sum(int(x) for x in open('n.txt')))",
    "import re; print(re.findall(r'\\d+', open('x').read()))", "import base64; print(base64.b64decode('aGk=').decode())",
    "import hashlib; print(hashlib.sha256(open('x','rb').read()).hexdigest())", "print('%s-%d' % ('a', 3))",
    "print('{} {:>3}'.format('a', 3))", "print(f\"{3.14159:.2f} {len('abc')!r}\")", "import urllib.parse as u; print(u.quote('a b'))",
    "import collections; c=collections.Counter(open('w').read().split()); print(c.most_common(3))",
    "import sys; print(type(sys.version_info).__name__, sys.version_info.major)", "x = 5; print(type(x))",
    "import csv; print([row['x'] for row in csv.DictReader(open('a.csv'))])", "from pprint import pprint; pprint({'a':1})",
    "import math; print(math.sqrt(2))", "def f(n): return 1 if n<2 else n*f(n-1)\nprint(f(5))",
    "import platform; print(platform.python_version())", "with open('x') as f: print(f.readline().strip())",
    "import tomllib; print(tomllib.load(open('pyproject.toml','rb'))['project']['version'])",
    "import sys; sys.stdout.write('x'); sys.exit(0)", "import xml.etree.ElementTree as ET; print(ET.parse('a.xml').find('a').text)",
    "import random, string; print(''.join(random.choice(string.ascii_letters) for _ in range(8)))",
    "import random; random.seed(1); print(random.lognormvariate(-1.6, 0.7), random.gammavariate(1, 2))",
    "import random; print(random.weibullvariate(1, 2), random.paretovariate(3), random.vonmisesvariate(0, 4))",
    "import secrets; print(secrets.token_hex(16))", "import sys; print(sys.stdin.read().upper())",
    "import sys; [print(l.rstrip()) for l in sys.stdin if 'x' in l]", "import ast; print(ast.literal_eval('[1]'))",
    "print(sorted({'b':1,'a':2}.items(), key=lambda t: -t[1]))", "try:\n print(1/0)\nexcept ZeroDivisionError as e:\n print(e)",
    "import os; print(os.path.exists('a'), os.path.join('a','b'))", "import time; print(int(time.time()))",
    "import ast; print(ast.dump(ast.parse('1', mode='eval')))", "import ast; ast.parse(open('x.py').read())",
    "import ast; t=ast.parse(open('x').read()); print([n.name for n in ast.walk(t) if isinstance(n, ast.FunctionDef)])",
    "import ast, sys\ntry:\n ast.parse(sys.stdin.read())\nexcept SyntaxError as e:\n print(e.lineno, e.msg)",
    "from ast import parse, unparse; print(unparse(parse('1 + 1')))",
    "import xml.etree.ElementTree as E\ntry:\n E.parse('a')\nexcept E.ParseError as e:\n print(e)",
    "from xml.etree.ElementTree import parse, ParseError\ntry:\n parse('a')\nexcept ParseError as e:\n print(e)",
    "import warnings; warnings.filterwarnings('ignore', category=DeprecationWarning); print(1)",
    "import difflib; print(difflib.SequenceMatcher(None, 'a', 'b').get_opcodes())", "import colorsys; print(colorsys.rgb_to_hsv(1, 0, 0))",
    "import gzip, bz2, lzma; print(gzip.decompress(b''), bz2.compress(b'a'), lzma.compress(b'a'))",
    "import ipaddress; print(ipaddress.ip_network('10.0.0.0/24').num_addresses, [*ipaddress.ip_network('10.0.0.0/30').hosts()])",
    "import email.utils as e; print(e.parseaddr('a <a@b>'))", "import quopri; print(quopri.decodestring(b'a=20'))",
    "import codecs; print(codecs.encode('a', 'rot13'))", "import cmath; print(cmath.sqrt(-1))", "import fnmatch; print(fnmatch.fnmatch('a', '*'))",
    "import tokenize, io; print([t.string for t in tokenize.generate_tokens(io.StringIO('x').readline)])",
    "from typing import Dict, List\ndef f(a: List[int]) -> Dict[str, int]:\n return {}\nprint(f([]))",
    "import site; print(site.getsitepackages())", "import ssl; print(ssl.OPENSSL_VERSION)", "import sqlite3; print(sqlite3.sqlite_version)",
    "import json, os.path; print(json.__file__, os.path.__name__, json.__doc__)",
    "import importlib.util; print(importlib.util.find_spec('yaml') is not None)", "import os; print(os.uname().machine)",
]  # fmt: skip

REFUSED = [
    "import os; os.system('id')", "__import__('os').system('id')", "eval('1')", "exec('1')", "open('x','wo')", "open('x', mode=m)",
    "open(x)", "print(open(input()).read())", "import sys; sys.path.insert(0,'/tmp')", "import sys; p=sys.path; p.append('x')",
    "import sys; sys.modules['os'].system('id')", "import sys; print(sys.modules)", "import os; print(os.environ)",
    "import os; print(os.environ['HOME'])", "getattr(1,'x')", "(1).__class__.__mro__", "'{0.__class__}'.format(1)",
    "'{0.real}'.format(1)", "'{0[a]}'.format({})", "x='{0.a}'; x.format(1)", "f=str.format", "import json; print(json)", "import json; x=json",
    "import json; print(json.codecs.open)", "import re; re.enum.sys", "import subprocess; subprocess.Popen(['ls'])", "import socket", "import urllib.request",
    "from os import system", "from os import *", "from sys import modules", "import sys; sys.argv[1]='/x'; open(sys.argv[1])",
    "import sys; sys.argv.append('x')", "import sys; a=sys.argv; a[1]='x'; open(sys.argv[1])", "import sys; open(sys.argv[5])",
    "(lambda eval: 0)(1); eval('x')", "[0 for eval in [1]]; eval('x')", "def f(eval): pass", "open = 1", "list(map(open, ['x']))",
    "f = open", "type('X',(),{})", "type(1)(2)", "t = type(1)", "x = [type(open('x','rb'))]", "import functools; functools.partial(open,'x')",
    "import io; io.FileIO('x','w')", "import io; io.open_code('x')", "import pathlib; pathlib.Path('a').replace('b')",
    "import pickle", "import ctypes", "import uuid; uuid.uuid1()",
    "import platform; platform.libc_ver('/etc/passwd')", "breakpoint()", "help()", "input()", "open('x', opener=print)", "open('x', 'rb', 0)", "open(0)",
    "open('x', *['w'])", "open(*['x','w'])", "open('x', **{'mode':'w'})", "vars()", "globals()", "import importlib; importlib.import_module('os')",
    "import os; os.path.os.system('x')", "import random; random._os.system('x')", "import random; random.lognormvariate.__globals__",
    "import random; random.SystemRandom.__init__", "import random; random.gammavariate = exit", "import operator; operator.attrgetter('x')",
    "import operator as o; o.methodcaller('x')", "if 1: import os", "f\"{__import__('os').system('id')}\"", "[eval for x in y]", "lambda: eval",
    "x: open(a,'w') = 1", "def f(a=eval('1')): pass", "def f(a: eval('1')): pass", "@print\ndef f(): pass", "async def f(): pass",
    "# coding: utf-7\nprint(1)", "# -*- coding: x -*-", "print('é')", "import sys; sys.stdout.buffer.raw", "import sys; sys.stdin.buffer.raw",
    "import sys; sys.setprofile(print)", "import sys; sys.excepthook = print", "import sys; sys.stdout = open('x')", "import sys; sys.path[0] = '/tmp'",
    "import sys; [0 for sys.path in [1]]", "import sys; sys.path += ['x']", "import os as open", "from json import loads as eval",
    "import xml.etree.ElementTree as E; E.iterparse('/etc/x')", "import xml.etree.ElementTree as E; E.ElementTree(None,'/x')",
    "import hashlib; hashlib.file_digest", "print.__self__.eval('1')", "import string; string.Formatter().format('{0.x}', 1)",
    "import collections; collections._sys", "import os; os.popen('x')", "import os; [*map(os.remove, ['x'])]", "match 1:\n case print(): pass",
    "(x for x in []).gi_frame.f_builtins", "ｅval('1')", "print(1)\r__import__('os')", "import os.path as p; p.os.system('x')",
    "from json import __builtins__", "import json; json.__builtins__", "a = b = print.__call__", "del print", "global eval", "exit.__class__",
    "import codecs; codecs.open('x','w')", "import zoneinfo; zoneinfo.reset_tzpath(['x'])",
    "import ast; ast.parse('x is 1', '/etc/shadow')", "import ast; ast.parse('x is 1', filename='/etc/shadow')", "import ast; ast.parse(*['x', 'y'])",
    "import ast; ast.parse('x', **{'filename': 'y'})", "import ast; [*map(ast.parse, ['x is 1'], ['/etc/shadow'])]", "import ast; p = ast.parse",
    "from ast import parse; p = parse", "raise SyntaxError('x', ('/etc/shadow', 1, 1, None))", "try: pass\nexcept (SyntaxError, f()): pass",
    "from xml.etree.ElementTree import ParseError; raise ParseError('invalid syntax', ('/etc/shadow', 1, 1, None, 1, 2, (1, 1, None)))",
    "import xml.etree.ElementTree as E; e = E.ParseError", "from xml.etree.ElementTree import ParseError\ntry: pass\nexcept (ParseError,): pass",
    "import importlib.util; importlib.util.find_spec('a.b')", "import importlib.util; importlib.util.find_spec(x)", "import importlib.util as u; [*map(u.find_spec, ['a.b'])]",
    "import importlib.util as u; u.spec_from_file_location('a', 'a.py')", "import warnings; warnings.warn_explicit('x', UserWarning, '/etc/shadow', 1)",
    "import platform; f = platform.system", "import platform; platform.platform(1)", "import sqlite3; sqlite3.connect(x)", "import ssl; ssl.get_server_certificate(('x', 1))",
    "import email.utils; email.utils.make_msgid()", "import email.utils; email.utils.socket", "import tokenize; tokenize.open('x')", "import gzip; gzip.open(x)",
    "import json; json.__path__", "import json; json.dumps.__doc__", "import json; json.decoder.__file__",
    "import typing; typing.get_type_hints(print)", "import collections.abc; collections.abc.sys", "import signal; signal.signal(2, print)", "import os; os.uname().system",
]  # fmt: skip


@pytest.mark.parametrize("code", HARMLESS)
def test_what_is_proven(code):
    assert proven(code, ("-c", "a")) is not None


@pytest.mark.parametrize("code", REFUSED)
def test_what_is_not(code):
    if code == "global eval":
        assert proven(code + "; eval('x')", ("-c",)) is None
    else:
        assert proven(code, ("-c", "a")) is None


def test_what_is_read_and_looked_at_is_named():
    proof = proven("import os,sys; print(open('a').read(), open(sys.argv[1]).read(), os.listdir('b'))", ("-c", "c"))
    assert proof is not None
    assert proof.files == (FileUse("a", Access.READ), FileUse("c", Access.READ), FileUse("b", Access.LIST))
    assert proven("import sys; open(sys.argv[1])", ("-c", None)) is None


@given(st.text(alphabet="abeio_.()[]{}'\" =:;,xyz0\nvl", max_size=60))
@settings(max_examples=400, deadline=None)
def test_whatever_is_proven_reaches_no_name_that_is_not_listed(code):
    """INVARIANT: every name and attribute of proven code is on a list or the code's own."""
    if proven(code, ("-c",)) is None:
        return
    own = {
        node.id
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    own |= {node.arg for node in ast.walk(ast.parse(code)) if isinstance(node, ast.arg)}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name):
            assert node.id in own | BUILTINS | {"open", "type"}, code
        elif isinstance(node, ast.Attribute):
            assert node.attr in METHODS | {"format", "__name__"}, code


def test_what_the_listed_modules_import_is_watched_for():
    """Whatever the library imports when these are imported and an error is shown would be taken from the directory."""
    code = (
        "import sys\nbefore = set(sys.modules)\n"
        + "".join(f"try:\n import {name}\nexcept ImportError: pass\n" for name in MODULES)
        + "import traceback, linecache, tokenize\nprint(sorted({m.partition('.')[0] for m in set(sys.modules) - before}))"
    )
    found = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    names = set(ast.literal_eval(found.stdout))
    assert len(names) > 50
    assert not [name for name in names if not may_shadow(name)]
    assert {name for name in sys.stdlib_module_names if not name.startswith("_")} - SHADOWS <= {
        "idlelib", "lib2to3", "this", "turtledemo", "cProfile", "test", "tkinter", "turtle", "nturl2path", "xxlimited_35", "cprofile",
    }  # fmt: skip


def test_every_listed_name_exists_or_is_of_another_version():
    """A list with names that do not exist would hide a mistake in it."""
    missing = []
    for module, names in MODULES.items():
        code = f"import {module} as m; print([n for n in {sorted(names)} if not hasattr(m, n)])"
        found = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            missing += [f"{module}.{name}" for name in ast.literal_eval(found.stdout)]
    assert set(missing) <= {"itertools.batched", "math.cbrt", "math.exp2", "datetime.UTC", "math.sumprod"}, missing
    for name in FILE_NAMES - READERS - {"open"}:
        module, _, last = name.rpartition(".")
        assert hasattr(importlib.import_module(module), last), name


# --- in a line --------------------------------------------------------------------------------------------------------


def run(code, files=None, flags="", **changes):
    found = facts(f"python3 {flags} -c {shlex.quote(code)}", files, **changes)
    return found, found.commands[0]


def test_a_proven_line_runs_nothing_and_says_what_it_reads():
    found, command = run("import json; print(json.load(open('x.json')))")
    assert command.runs_code is RunsCode.NONE
    assert command.operations <= {Operation.READ, Operation.EXECUTE}
    assert {(path.resolved, path.access) for path in found.paths} == {
        (f"{WS}/x.json", Access.READ),
        (WS, Access.EXECUTE),
    }
    assert found.parsed
    assert not found.unknown


@pytest.mark.parametrize(
    "files",
    [["json.py"], ["json.pyc"], ["re.py"], ["traceback.py"], ["codecs.so"], ["JSON.py"], ["json.cpython-311-x86_64-linux-gnu.so"],
     ["json/__init__.py"], ["encodings/__init__.pyc"], ["apport.py"], ["StringIO.py"], ["linecache.py"], ["_json.py"], ["_struct.abi3.so"], ["_datetime.py"],
     ["_ast_unparse.py"], ["_py_warnings.pyc"], ["_not_yet.py"], ["_pyrepl/__init__.py"]],
)  # fmt: skip
def test_a_file_that_stands_in_for_a_module_ends_the_proof(files):
    world = {name: MadeFile(content=b"x") for name in files}
    assert run("import json; print(json.loads('1'))", world)[1].runs_code is RunsCode.INLINE
    assert run("print(1/0)", world)[1].runs_code is RunsCode.INLINE
    assert run("import json; print(json.loads('1'))", world, "-I")[1].runs_code is RunsCode.NONE


@pytest.mark.parametrize(
    "files", [["json/data.txt"], ["app.py"], ["test/x.py"], ["types.d.ts/x"], ["types.ts"], ["json.h"], ["conftest.py"]]
)
def test_other_files_do_not(files):
    world = {name: MadeFile(content=b"x") for name in files}
    assert run("import json; print(json.loads('1'))", world)[1].runs_code is RunsCode.NONE


def test_what_the_line_itself_puts_there_ends_it():
    for first in ("echo x > json.py", "cp a re.py", "tar xf a.tar", "mkdir json && touch json/__init__.py"):
        found = facts(f"{first}; python3 -c 'import json; print(json.loads(\"1\"))'", {"a": MadeFile(content=b"x")})
        assert found.unknown or not found.parsed, first
    assert not facts("echo x > out.txt; python3 -c 'print(1)'").unknown


@pytest.mark.parametrize(
    "flags",
    [
        "-i",
        "-W error::evil.X",
        "-W error::X",
        "-W ignore:a:evil",
        "-X pycache_prefix=x",
        "-X frozen_modules=x",
        "-v",
        "--frob",
        "-x",
        "-m json.tool -i",
    ],
)
def test_options_that_bring_more_end_it(flags):
    assert run("print(1)", flags=flags)[1].runs_code is not RunsCode.NONE


@pytest.mark.parametrize(
    "flags", ["-X importtime", "-X utf8=1", "-W ignore", "-W error::DeprecationWarning", "-Wignore", "-u -B"]
)
def test_options_that_only_say_more_do_not(flags):
    assert run("print(1)", flags=flags)[1].runs_code is RunsCode.NONE


@pytest.mark.parametrize("line", ["PYTHONPATH=x %", "PYTHONSTARTUP=x %", "LD_PRELOAD=x %", "PYTHONHOME=x %", "PYTHONINSPECT=1 %",
                                  "export PYTHONPATH=x; %", "./python3 -c 'print(1)'", "python2 -c 'print(1)'", "pypy3 -c 'print(1)'",
                                  "python3 -c \"$(cat y)\"", "python3 -c 'print(1)' > /etc/x; python3 -c \"$(cat x)\""])  # fmt: skip
def test_what_steers_it_ends_it(line):
    found = facts(line.replace("%", "python3 -c 'print(1)'"), {"python3": MadeFile(content=b"\0", mode=0o755)})
    last = found.commands[-1]
    assert last.runs_code is not RunsCode.NONE or last.dynamic.value == "code", found


def test_a_variable_of_the_session_ends_it():
    world = place()
    for name in ("PYTHONPATH", "PYTHONSTARTUP", "PYTHONWARNINGS"):
        assert run("print(1)", env={**world.env, name: "x"})[1].runs_code is RunsCode.INLINE
    assert run("print(1)", env={**world.env, "PYTHONUNBUFFERED": "1"})[1].runs_code is RunsCode.NONE


def test_where_it_runs_has_to_be_known():
    assert not runs_alone(None, place(), isolated=False)
    assert runs_alone(None, place(), isolated=True)
    assert facts('cd "$(cat y)"; python3 -c "print(1)"').commands[-1].runs_code is not RunsCode.NONE


OWN = {
    "app/__init__.py": MadeFile(content=b""),
    "tool.py": MadeFile(content=b""),
    "src/lib/__init__.py": MadeFile(content=b""),
}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("import app; print(app.__version__)", RunsCode.WORKSPACE), ("from app.util import f; print(f(3))", RunsCode.WORKSPACE),
        ("import tool; tool.main(['a'])", RunsCode.WORKSPACE), ("from lib import x; x.go().to(1)", RunsCode.WORKSPACE),
        ("import numpy; print(numpy.__version__)", RunsCode.WORKSPACE), ("import numpy as np; print(np.__file__)", RunsCode.WORKSPACE),
        ("import numpy; print(numpy.zeros(3))", RunsCode.WORKSPACE), ("import numpy; numpy.load('x')", RunsCode.INLINE),
        ("import requests; requests.get('http://x')", RunsCode.INLINE),
        ("import app; app.os.system('id')", RunsCode.INLINE), ("from app import os; os.system('id')", RunsCode.INLINE),
        ("import app, os; os.system('id')", RunsCode.INLINE), ("import app; eval('1')", RunsCode.INLINE),
        ("import app; (x for x in []).gi_frame.f_builtins", RunsCode.INLINE), ("import app; app._x", RunsCode.INLINE),
        ("import app; app.__dict__", RunsCode.INLINE), ("import app; '{0.os}'.format(app)", RunsCode.INLINE),
        ("import app; open('x','w')", RunsCode.INLINE), ("from app import *", RunsCode.INLINE), ("from . import app", RunsCode.INLINE),
        ("import app as open; open('x','w')", RunsCode.INLINE),
    ],
)  # fmt: skip
def test_code_of_the_project_is_the_workspaces(code, kind):
    assert run(code, OWN)[1].runs_code is kind

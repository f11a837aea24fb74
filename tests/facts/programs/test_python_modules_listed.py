"""What proven Python may ask of PyYAML, sqlite3, pandas, numpy and more of the library, and how that would be abused."""

import ast

import pytest

from shell_world import reading_policy, text
from shield.facts.programs.python.allowed import METHODS
from shield.facts.programs.python.installed import FRAME_METHODS, INSTALLED, NEVER_METHODS, READERS, TO_TEXT
from shield.facts.programs.python.proof import proven
from shield.types import Access, Decision

COMPUTES = [
    "import yaml; d = yaml.safe_load(open('config.yaml')); print(d.keys())",
    "import yaml, sys; print(yaml.safe_load(sys.stdin)['a'])",
    "import yaml; print(yaml.load(open('a.yaml'), Loader=yaml.SafeLoader))",
    "from yaml import safe_load\nprint(safe_load(open('a.yaml')))",
    "import yaml\nfrom pathlib import Path\nfor p in Path('.').glob('*.yaml'):\n print(p, yaml.safe_load(p.read_text()))",
    "import sqlite3; c = sqlite3.connect('app.db'); print([r[0] for r in c.execute('select name from sqlite_master')])",
    "import sqlite3\nwith sqlite3.connect('file:app.db?mode=ro', uri=True) as c:\n print(c.execute('PRAGMA table_info(users)').fetchall())",
    (
        "import sqlite3\nc = sqlite3.connect('app.db')\nc.row_factory = sqlite3.Row\nk = c.cursor()\nk.execute('SELECT * FROM u WHERE id = ?', (1,))\n"
        "for row in k.fetchall():\n print(dict(row), row.keys())\nc.close()"
    ),
    "import configparser; c = configparser.ConfigParser(); c.read('tox.ini'); print(c.sections())",
    "import zipfile; print(zipfile.ZipFile('a.whl').namelist())",
    "import tarfile; print(tarfile.open('a.tgz', 'r:gz').getnames())",
    "import inspect, json; print(inspect.signature(json.dumps), inspect.getsource(json.dumps))",
    "import dis; dis.dis('a + b')",
    "import logging; logging.basicConfig(level=logging.INFO, format='%(message)s'); logging.info('x')",
    "import datetime, zoneinfo; print(datetime.datetime.now(zoneinfo.ZoneInfo('Europe/Berlin')))",
    "import xml.etree.ElementTree as E; print(E.parse('c.xml').getroot().attrib)",
    "import shutil; print(shutil.which('ruff'))",
    "import importlib.metadata as m; d = m.distribution('x'); print(d.version, d.requires, len(d.files or []))",
    (
        "import glob, hashlib, zipfile\nfor name in glob.glob('dist/*.whl'):\n with zipfile.ZipFile(name) as z:\n"
        "  for n in z.namelist():\n   print(n, hashlib.new('sha256', z.read(n)).hexdigest())"
    ),
]
LOOKS_AT_DATA = [
    "import pandas as pd; df = pd.read_csv('data.csv'); print(df.shape, df.columns.tolist(), df.head()); print(df.dtypes)",
    "import pandas as pd; print(pd.read_csv('data.csv', sep=';').groupby('a')['b'].mean().to_string(index=False))",
    "import numpy as np; print(np.arange(10).reshape(2, 5).sum(axis=0), np.random.rand(3), np.linalg.norm([1, 2]))",
    "import numpy; print(numpy.__version__)",
    (
        "import pandas as pd\na = pd.read_csv('data.csv', parse_dates=['day'])\nb = a.merge(a, on='id', suffixes=('', '_b'))\n"
        "print(b.id.duplicated().sum(), b.groupby(b.day.dt.to_period('M')).amount.sum().tail(6), b[b.amount > 3].shape)"
    ),
    "import pandas as pd; print(pd.read_excel('data.xlsx', sheet_name='a').groupby('k').agg({'n': 'sum', 'm': ['min', 'max']}))",
    "import pandas as pd; print(pd.read_csv('data.csv').groupby('k').agg(total=('n', 'sum'), many=('n', 'count')))",
    "import pandas as pd; d = pd.read_csv('data.csv'); d['x'] = d['a'].apply(lambda v: v.strip().lower()); print(d)",
    "import openpyxl\nw = openpyxl.load_workbook('data.xlsx', read_only=True)\nfor s in w:\n print(s.title, [c.value for c in s[1]])",
    "import duckdb; c = duckdb.connect('a.duckdb', read_only=True); print(c.sql('select count(*) from t').fetchall())",
    "import duckdb; print(duckdb.sql(\"select * from 'data.csv' limit 3\"))",
    "import torch; print(torch.__version__, torch.cuda.is_available(), torch.cuda.device_count())",
    "import torch; s = torch.load('a.pt', map_location='cpu', weights_only=True); print({k: v.shape for k, v in s.items()})",
]
WRITES_DATA = [
    "import pandas as pd; pd.read_excel('data.xlsx').to_csv('out/data.csv', index=False)",
    (
        "import pandas as pd\nd = pd.read_csv('data.csv')\nwith pd.ExcelWriter('out/a.xlsx', engine='openpyxl') as w:\n"
        " d.to_excel(w, sheet_name='all', index=False)\n d.groupby('k').size().to_excel(w, sheet_name='k')"
    ),
    "import openpyxl; w = openpyxl.load_workbook('data.xlsx'); w.save('out/b.xlsx')",
    "import duckdb; duckdb.sql(\"copy (select 1) to 'out/a.parquet'\")",
    "import json, pandas as pd\nwith open('out/a.json', 'w') as f:\n json.dump(pd.read_csv('data.csv').shape, f)",
]
REFUSED = [
    "import pandas as pd; print(pd.read_csv('file:/home/user/other/data.csv'))",
    "import pandas as pd; print(pd.read_csv('http:/db.example/data.csv'))",
    "import pandas as pd; print(pd.read_json('FILE:/home/user/x.json'))",
    "import yaml; yaml.load(open('a.yaml'))",
    "import yaml; yaml.load(open('a.yaml'), Loader=yaml.Loader)",
    "import yaml; yaml.load(open('a.yaml'), yaml.UnsafeLoader)",
    "import yaml; yaml.unsafe_load(open('a.yaml'))",
    "import yaml; yaml.full_load(open('a.yaml'))",
    "import yaml; f = yaml.load; f(open('a.yaml'))",
    "import yaml; yaml.SafeLoader.add_constructor('!x', print)",
    "import yaml\nclass A: SafeLoader = yaml.Loader",
    "import yaml; yaml.reader.codecs.open('x', 'w')",
    "import sqlite3; c = sqlite3.connect('app.db'); c.execute('delete from u')",
    "import sqlite3; c = sqlite3.connect('app.db'); c.execute('attach ? as x', ('/home/user/x',))",
    "import sqlite3; c = sqlite3.connect('app.db'); c.execute(input())",
    "import sqlite3; c = sqlite3.connect('app.db'); c.executescript('select 1')",
    "import sqlite3; c = sqlite3.connect('app.db'); f = c.execute; f('delete from u')",
    "import sqlite3; c = sqlite3.connect('app.db'); list(map(c.execute, ['delete from u']))",
    "import sqlite3; c = sqlite3.connect('app.db'); c.enable_load_extension(True)",
    "import sqlite3; c = sqlite3.connect('app.db'); c.execute('select load_extension(1)')",
    "import sqlite3; c = sqlite3.connect('app.db'); c.execute('pragma writable_schema = 1')",
    "import sqlite3; c = sqlite3.connect('app.db'); c.execute('vacuum into ?', ('x',))",
    "import sqlite3; c = sqlite3.connect('app.db'); c.row_factory = print",
    "import sqlite3; sqlite3.connect(input())",
    "import sqlite3; sqlite3.connect('file:app.db?mode=rw', uri=True)",
    "import sqlite3; sqlite3.connect('app.db', factory=print)",
    "import configparser; c = configparser.ConfigParser(); c.read(input())",
    "import configparser; c = configparser.ConfigParser(); f = c.read; f('/home/user/x')",
    "import configparser; c = configparser.ConfigParser(); list(map(c.read, ['/home/user/x']))",
    "import zipfile; zipfile.ZipFile('a.zip', 'w')",
    "import zipfile; zipfile.ZipFile('a.zip', mode='a')",
    "import zipfile; zipfile.ZipFile('a.zip').extractall('x')",
    "import tarfile; tarfile.open('a.tar', 'w')",
    "import tarfile; tarfile.open('a.tar').extractall()",
    "import inspect\ndef f(a: \"__import__('os').system('id')\"): pass\nprint(inspect.signature(f, eval_str=True))",
    "import inspect; s = inspect.signature\ndef f(a: 'x'): pass\ns(f, eval_str=True)",
    "import inspect, json; print(inspect.getmembers(json))",
    "import dis; dis.dis('a', file=open('x', 'w'), depth=1)",
    "import logging; logging.basicConfig(filename='/home/user/x')",
    "import logging; logging.getLogger().addHandler(logging.FileHandler('x'))",
    "import logging.config; logging.config.fileConfig('x')",
    "import xml.etree.ElementTree as E; E.parse('c.xml').write('x')",
    "import pandas as pd; pd.read_pickle('x.pkl')",
    "import pandas as pd; pd.read_csv('https://x.example/a.csv')",
    "import pandas as pd; pd.read_csv('~/a.csv')",
    "import pandas as pd; pd.read_csv('zip://a.csv::/home/user/x.zip')",
    "import pandas as pd; pd.read_csv(input())",
    "import pandas as pd; pd.read_csv('a.csv', storage_options={})",
    "import pandas as pd; pd.read_csv('a.csv', converters={})",
    "import pandas as pd; f = pd.read_csv; f('/home/user/x')",
    "import pandas as pd; pd.read_csv('a.csv').query('@pd.eval')",
    "import pandas as pd; pd.read_csv('a.csv').eval('x')",
    "import pandas as pd; pd.read_csv('a.csv').agg('to_csv', path_or_buf='src/a.py')",
    "import pandas as pd; pd.read_csv('a.csv').apply('to_csv', path_or_buf='src/a.py')",
    "import pandas as pd; pd.read_csv('a.csv').pipe(print)",
    "import pandas as pd; pd.read_csv('a.csv').to_csv('src/a.py')",
    "import pandas as pd; pd.read_csv('a.csv').to_csv(path_or_buf='src/a.py')",
    "import pandas as pd; pd.read_csv('a.csv').to_string('src/a.py')",
    "import pandas as pd; pd.read_csv('a.csv').to_pickle('src/a.py')",
    "import pandas as pd; f = pd.read_csv('a.csv').to_csv; f('src/a.py')",
    "import pandas as pd; pd.read_csv('a.csv').to_sql('x', 'sqlite:///x')",
    "import pandas as pd; pd.io.common.os.system('id')",
    "import pandas as pd; pd.set_option('plotting.backend', 'x')",
    "import pandas.io.common as c; c.os.system('id')",
    "import numpy as np; np.load('x.npy', allow_pickle=True)",
    "import numpy as np; np.save('src/a.py', 1)",
    "import numpy as np; np.array([1]).tofile('src/a.py')",
    "import numpy as np; np.array([1]).dump('src/a.py')",
    "import numpy as np; np.fromfile('/home/user/x')",
    "import numpy as np; np.os.system('id')",
    "import numpy as np; np.lib.npyio.os.system('id')",
    "import numpy as np; np.ctypeslib.load_library('x', '.')",
    "import pandas as pd; pd.read_csv('a.csv').to_csv('src/a.py')",
    "import pandas as pd; pd.read_csv('a.csv').to_csv('numpy/core.so')",
    "import pandas as pd; pd.read_csv('a.csv').to_csv('a.pth')",
    "import pandas as pd; pd.read_csv('a.csv').to_csv('s3://x/a.csv')",
    "import pandas as pd; pd.read_csv('a.csv').to_csv('~/a.csv')",
    "import pandas as pd; pd.read_csv('a.csv').to_csv(input())",
    "import pandas as pd; pd.read_csv('a.csv').to_csv('a.csv', storage_options={})",
    "import pandas as pd; pd.read_csv('a.csv').to_csv('a.csv', path_or_buf='b.csv')",
    "import pandas as pd; w = 'src/a.py'; pd.read_csv('a.csv').to_excel(w)",
    "import pandas as pd; w = pd.ExcelWriter('a.xlsx'); w = input(); pd.read_csv('a.csv').to_excel(w)",
    "import pandas as pd; pd.ExcelWriter('a.py')",
    "import pandas as pd; pd.ExcelWriter(input())",
    "import pandas as pd; f = pd.ExcelWriter; f('src/a.py')",
    "import pandas as pd; d = pd.read_csv('a.csv'); list(map(d.to_csv, ['src/a.py']))",
    "import pandas as pd; d = pd.read_csv('a.csv'); f = d.a.to_csv; f('src/a.py')",
    "import pandas as pd; d = pd.read_csv('a.csv'); [f('src/a.py') for f in (d.to_pickle,)]",
    "import pandas as pd; d = pd.read_csv('a.csv'); print(d.style.env.from_string('x'))",
    "import pandas as pd; d = pd.read_csv('a.csv'); d.os.system('id')",
    "import pandas as pd; d = pd.read_csv('a.csv'); d.x.subprocess.run('id')",
    "import pandas as pd\ndef f(): pass\nprint(f.__globals__['x'])",
    "import pandas as pd\ndef f(): yield\nf().gi_frame.f_globals.get('x')",
    "import pandas as pd; pd.read_csv('a.csv').groupby('k').agg('to_csv')",
    "import pandas as pd; pd.read_csv('a.csv').groupby('k').agg(['sum', 'to_pickle'])",
    "import pandas as pd; pd.read_csv('a.csv').agg(x=('a', 'to_csv'))",
    "import pandas as pd; pd.read_csv('a.csv').agg('sum', path_or_buf='a.py')",
    "import pandas as pd; pd.read_csv('a.csv').apply(print)",
    "import pandas as pd; pd.read_csv('a.csv').apply(lambda r: r, func='to_csv')",
    "import pandas as pd; pd.read_csv('a.csv').map('to_csv')",
    "import pandas as pd; pd.read_csv('a.csv').apply(lambda r: __import__('os'))",
    "import openpyxl; openpyxl.load_workbook('a.xlsx').save('src/a.py')",
    "import openpyxl; openpyxl.load_workbook(input())",
    "import openpyxl; openpyxl.load_workbook('https://x.example/a.xlsx')",
    "import duckdb; duckdb.sql('install httpfs')",
    "import duckdb; duckdb.sql(\"select * from read_text('.env')\")",
    "import duckdb; duckdb.sql(input())",
    "import duckdb; duckdb.connect('a.duckdb')",
    "import duckdb; duckdb.connect('md:x', read_only=True)",
    "import duckdb; duckdb.connect('a.duckdb', read_only=True, config={})",
    "import duckdb; c = duckdb.connect(); f = c.execute; f('install httpfs')",
    "import duckdb; duckdb.sql(\"copy (select 1) to 'out/a.py'\")",
    "import torch; torch.load('a.pt')",
    "import torch; torch.load('a.pt', weights_only=False)",
    "import torch; torch.load('a.pt', weights_only=True, pickle_module=print)",
    "import torch; torch.save({}, 'src/a.py')",
    "import torch; torch.hub.load('x/y', 'z')",
    "import torch; torch.ops.load_library('x.so')",
    "import torch; torch.jit.load('x.pt')",
    "import importlib.metadata as m; m.entry_points()[0].load()",
    "import importlib.metadata as m; m.distribution('x').locate_file('a').read_text()",
    "import glob, zipfile\nfor n in glob.glob('*.zip'):\n zipfile.ZipFile(n, 'a')",
    "import glob, zipfile\nfor n in glob.glob('*.zip'):\n zipfile.ZipFile(n).extractall('src')",
    "from numpy import load",
    "from pandas import *",
]


@pytest.mark.parametrize("code", COMPUTES)
def test_more_of_the_library_is_proven_to_compute(code):
    found = proven(code, ("-c",))

    assert found is not None
    assert found.modules == ()


@pytest.mark.parametrize("code", LOOKS_AT_DATA)
def test_a_look_at_data_runs_what_is_installed_and_nothing_else(code):
    found = proven(code, ("-c",))

    assert found is not None
    assert {use.access for use in found.files} <= {Access.READ}
    assert set(found.modules) <= {"duckdb", "numpy", "openpyxl", "pandas", "torch"}


@pytest.mark.parametrize("code", WRITES_DATA)
def test_data_may_be_written_by_what_is_installed(code):
    found = proven(code, ("-c",))

    assert found is not None
    assert found.changed()
    assert all(path.startswith("out/") for path in found.changed())


@pytest.mark.parametrize("code", WRITES_DATA)
def test_where_data_is_written_is_judged(code):
    assert reading_policy(line(code), FILES, confined=True) is Decision.ALLOW
    assert reading_policy(line(code), FILES, confined=False) is not Decision.ALLOW
    for place in ("../x/", "/home/user/.config/", ".git/hooks/"):
        assert reading_policy(line(code.replace("out/", place)), FILES, confined=True) is not Decision.ALLOW


@pytest.mark.parametrize("code", REFUSED)
def test_what_is_not_listed_of_them_is_no_proof(code):
    assert proven(code, ("-c",)) is None


def test_a_module_of_the_project_and_a_listed_one_are_not_told_apart():
    code = "import app, pandas as pd; pd.read_csv('a.csv').to_csv('src/a.py')"

    assert proven(code, ("-c",), lambda name: name == "app") is None
    assert proven("import app; print(app.x)", ("-c",), lambda name: name == "app") is not None


@pytest.mark.parametrize("name", ["Queue", "Token", "Email", "Profile", "Random"])
def test_a_class_of_the_project_is_no_module_of_the_library(name):
    for code in (f"from app import {name}; print({name}('x'))", f"import app; print(app.{name})"):
        found = proven(code, ("-c",), lambda module: module == "app")
        assert found is not None
        assert found.modules == ("app",)


@pytest.mark.parametrize("name", ["os", "subprocess", "cProfile", "queue", "pathlib", "sys"])
def test_a_module_of_the_library_is_not_had_by_way_of_the_project(name):
    for code in (
        f"from app import {name}; print({name})",
        f"import app; print(app.{name})",
        f"import app; app.x.{name}",
    ):
        assert proven(code, ("-c",), lambda module: module == "app") is None


def line(code):
    return f"python3 - <<'EOF'\n{code}\nEOF"


FILES = {"config.yaml": text("a: 1\n"), "a.yaml": text("a: 1\n"), "data.csv": text("a;b\n")}


@pytest.mark.parametrize("code", COMPUTES)
@pytest.mark.parametrize("confined", [True, False])
def test_what_computes_goes_ahead(code, confined):
    assert reading_policy(line(code), FILES, confined=confined) is Decision.ALLOW


@pytest.mark.parametrize("code", LOOKS_AT_DATA)
def test_a_look_at_data_goes_ahead_in_the_sandbox(code):
    assert reading_policy(line(code), FILES, confined=True) is Decision.ALLOW
    assert reading_policy(line(code), FILES, confined=False) is not Decision.ALLOW


@pytest.mark.parametrize(
    "name",
    [
        "yaml.py",
        "yaml/__init__.py",
        "_yaml.so",
        "tzdata/__init__.py",
        "_sysconfigdata__linux_x86_64-linux-gnu/__init__.py",
        "sqlite3.py",
    ],
)
@pytest.mark.parametrize("code", [COMPUTES[0], COMPUTES[5], COMPUTES[14]])
def test_another_module_may_stand_in_the_directory(code, name):
    assert reading_policy(line(code), {**FILES, name: text("x\n")}, confined=True) is not Decision.ALLOW


@pytest.mark.parametrize(
    "path", ["/home/user/.mozilla/cookies.sqlite", "/home/user/.aws/credentials", "../other/x", ".env"]
)
@pytest.mark.parametrize(
    "code",
    [
        "import sqlite3; print(sqlite3.connect('%s').execute('select 1').fetchall())",
        "import yaml; print(yaml.safe_load(open('%s')))",
        "import configparser; c = configparser.ConfigParser(); c.read(['%s']); print(c.sections())",
        "import zipfile; print(zipfile.ZipFile('%s').namelist())",
        "import pandas as pd; print(pd.read_csv('%s'))",
    ],
)
def test_what_they_open_is_judged(code, path):
    assert reading_policy(line(code % path), {**FILES, ".env": text("K=1\n")}, confined=True) is not Decision.ALLOW


def test_nothing_that_runs_a_text_or_opens_a_file_is_a_method():
    runs = {
        "agg",
        "aggregate",
        "apply",
        "dump",
        "eval",
        "execute",
        "executescript",
        "extractall",
        "map",
        "pipe",
        "query",
        "to_pickle",
    }

    assert not runs & FRAME_METHODS
    assert not runs & METHODS - NEVER_METHODS
    assert not TO_TEXT & (FRAME_METHODS | METHODS)
    assert not READERS & {f"{module}.{name}" for module, names in INSTALLED.items() for name in names}
    assert all(ast.parse(name) for name in FRAME_METHODS)

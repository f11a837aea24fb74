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
]
LOOKS_AT_DATA = [
    "import pandas as pd; df = pd.read_csv('data.csv'); print(df.shape, df.columns.tolist(), df.head()); print(df.dtypes)",
    "import pandas as pd; print(pd.read_csv('data.csv', sep=';').groupby('a')['b'].mean().to_string(index=False))",
    "import numpy as np; print(np.arange(10).reshape(2, 5).sum(axis=0), np.random.rand(3), np.linalg.norm([1, 2]))",
    "import numpy; print(numpy.__version__)",
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
    assert set(found.modules) <= {"numpy", "pandas"}


@pytest.mark.parametrize("code", REFUSED)
def test_what_is_not_listed_of_them_is_no_proof(code):
    assert proven(code, ("-c",)) is None


def test_a_module_of_the_project_and_a_listed_one_are_not_told_apart():
    code = "import app, pandas as pd; pd.read_csv('a.csv').to_csv('src/a.py')"

    assert proven(code, ("-c",), lambda name: name == "app") is None
    assert proven("import app; print(app.x)", ("-c",), lambda name: name == "app") is not None


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

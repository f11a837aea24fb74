"""Classes, helpers and whole imports in proven Python code: what they are followed for, and what leads out of them."""

import pytest

from shield.facts.programs.python.files import FileUse
from shield.facts.programs.python.proof import proven
from shield.types import Access

PARSER = "from html.parser import HTMLParser\nclass C(HTMLParser):\n"
KEEPS = "class A:\n    def keep(self, v): self.v = v\n"

COMPUTES = [
    "class A: pass\nprint(A())", "class A:\n    'Says it.'\n    limit = 3\n    def f(self): return self.limit\na = A()\nprint(a.f())",
    f"{PARSER}    def __init__(self):\n        super().__init__(convert_charrefs=True)\n        self.n, self._out = 0, []\n    def handle_data(self, data):\n        self.n += 1; self._out.append(data)\np = C()\np.feed('<a>')\nprint(p.n, p._out)",
    "import html.parser\nclass C(html.parser.HTMLParser): pass\np = C()\np.feed('x')",
    "from dataclasses import dataclass, field\n@dataclass(frozen=True, order=True)\nclass P:\n    x: int\n    y: list = field(default_factory=list)\n    z: str = 'a'\n    def far(self): return self.x\np = P(1)\nprint(p.x, p.far(), P(2))",
    "class N:\n    def __init__(self, v, kids=None): self.v = v; self.kids = kids or []\n    def __lt__(self, other): return True\n    def __repr__(self): return f'N({self.v})'\nprint(sorted([N(2), N(1)]), isinstance(N(1), N))",
    "class Bad(ValueError): pass\ndef f(x: int) -> Bad: raise Bad(x)\ntry: f(1)\nexcept Bad as e: print(e)",
    "class A:\n    def __init__(self): self.d = {}\n    def put(self, k): self.d[k] = 1\na = A()\na.put(1)\na.last = 2\nprint(a.d, a.last)",
    "from functools import cache, lru_cache\n@cache\ndef f(n): return n\n@lru_cache(maxsize=None)\ndef g(n): return n\nprint(f(1), g(2))",
    "from math import *\nprint(sqrt(2), pow(2, 3))", "from decimal import *\nprint(Decimal('1').quantize(Decimal('0.1'), ROUND_HALF_EVEN))",
    "def walk(o):\n    for k in o: yield from walk(o[k])\nprint(list(walk({})))", "from datetime import datetime, timezone\nprint(datetime.now(timezone.utc).astimezone())",
    "from collections import deque\nq = deque([1], maxlen=3)\nq.appendleft(2)", "import tarfile\nwith tarfile.open('a.tar') as t:\n    for m in t: print(m.name, m.size, m.isfile())",
    "from string import Template\nprint(Template('$a').substitute(a=1))",
]  # fmt: skip

REFUSED = [
    # a method that is called with something else than an instance could change what the library has
    f"{KEEPS}A.keep(print, 1)", f"{KEEPS}[A][0].keep(print, 1)", f"{KEEPS}x = A\nx.keep(print, 1)", f"{KEEPS}for c in (A,): c.keep(print, 1)", f"{KEEPS}(lambda c: c)(A)", f"{KEEPS}list(map(A, [1]))",
    f"{KEEPS}    def g(self, h=keep): h(print, 1)\nA().g()", f"{KEEPS}    g = keep", f"{KEEPS}    x = [keep]", f"{KEEPS}A().keep.__func__(print, 1)", f"{KEEPS}type(A()).keep(print, 1)", f"{KEEPS}A().__class__.keep(print, 1)",
    f"{KEEPS}    @staticmethod\n    def g(x): return x", f"{KEEPS}    @classmethod\n    def g(self): self.x = 1", f"{KEEPS}def keep(self, v): self.v = v\nkeep(print, 1)", "class A:\n    def f(this): this.x = 1",
    f"{KEEPS}self = print\nself.x = 1", f"{KEEPS}for self in [print]: self.x = 1", f"{KEEPS}(lambda self: self.x)(print)", "class A:\n    def f(self):\n        self = print\n        self.x = 1", f"{KEEPS}def f(self): self.x = 1",
    f"{KEEPS}a = A()\na = print\na.x = 1", f"{KEEPS}a = A()\nfor a in [print]: a.x = 1", f"{KEEPS}A = print\nA.x = 1", f"{KEEPS}def f(a): a.x = 1\nf(print)", f"{KEEPS}print.x = 1", f"{KEEPS}[A()][0].x = 1",
    # what the interpreter calls with more than data, or by which an instance becomes another thing
    "class A:\n    def __exit__(self, a, b, tb): print(tb.tb_frame)", "class A:\n    def __new__(self): return print", "class A:\n    def __init_subclass__(self): pass", "class A:\n    def __set_name__(self, o, n): pass",
    "class A:\n    def __getattr__(self, n): pass", "class A:\n    __class__ = print", "class A:\n    __slots__ = 'x'", "class A:\n    def f(self): self.__class__ = print", "class A:\n    def f(self): return self.__init__.__globals__",
    "class A:\n    def f(self): return self.__dict__", "class A(type): pass", "class A(metaclass=print): pass", "class A(print): pass", "class A(SyntaxError): pass\nraise A('x', ('/etc/shadow', 1, 1, None))", "import json\nclass A(json.JSONDecoder): pass",
    "import io\nclass A(io.StringIO): pass", "import collections\nclass A(collections.OrderedDict): pass", "from pathlib import Path\nclass A(Path): pass\nA('/etc/x').unlink()", "class A:\n    import os", "class A:\n    open('/etc/x')",
    "class A:\n    x = open('/etc/x')", "class A:\n    class B: pass", "class A:\n    if 1: x = 1", "class A:\n    x: print = print", "class A[T]: pass", "import dataclasses\nclass A:\n    x: int = dataclasses.field(default_factory=exit)",
    "from html.parser import HTMLParser\nx = HTMLParser", "from html.parser import HTMLParser\nHTMLParser.x = 1", "from html.parser import HTMLParser\nHTMLParser.feed(print, 1)", "import html.parser\nprint(html.parser)", "import html.parser\nhtml.parser._markupbase",
    "class A:\n    async def f(self): pass", "@print\nclass A: pass", "from dataclasses import dataclass\n@dataclass(*[1])\nclass A: x: int", "from dataclasses import dataclass\n@dataclass(**{'x': 1})\nclass A: x: int", "from dataclasses import dataclass\nx = dataclass",
    "class A:\n    def _A__x(self): pass\n    def __y(self): pass", "class A:\n    def f(self): return super().__getattribute__('x')", "class A:\n    def f(self): return super().__class__",
    # of what is no instance nothing more may be asked than before
    "import zipfile\nclass A:\n    def extractall(self): pass\nz = zipfile.ZipFile('a.zip')\nz.extractall()", "import zipfile\nclass A:\n    def __init__(self): self.extractall = 1\nfor z in [zipfile.ZipFile('a.zip')]: z.extractall()",
    "from functools import cache\n@cache(print)\ndef f(): pass", "from functools import cache\nx = cache", "from functools import lru_cache\n@lru_cache(maxsize=print('x'))\ndef f(): pass", "from functools import wraps\n@wraps(print)\ndef f(): pass",
    "from os import *", "from operator import *", "from string import *", "from datetime import *", "from functools import *", "from typing import *", "from pathlib import *", "from re import *", "from .math import *", "from math import *\nulp(1.0)", "from math import *\npi = 3",
]  # fmt: skip


@pytest.mark.parametrize("code", COMPUTES)
def test_what_is_proven(code):
    assert proven(code, ("-c",)) is not None


@pytest.mark.parametrize("code", REFUSED)
def test_what_is_not(code):
    assert proven(code, ("-c",)) is None


def reads(code):
    found = proven(code, ("-c",))
    return None if found is None else {use.path for use in found.files if use.access is Access.READ}


def test_a_helper_reads_what_it_is_called_with():
    helper = "def read(p, mode='r'):\n    return open(p).read()\n"
    assert reads(f"{helper}print(read('a'), read(p='b'), read('c', 'd'))") == {"a", "b", "c"}
    assert reads("def read(n):\n    with open(f'data/{n}.json') as f: return f.read()\nfor each in ['a', 'b']: read(each)") == {
        "data/a.json", "data/b.json"
    }  # fmt: skip
    assert proven("import gzip\nprint(gzip.open('a.gz', 'rt').read())", ("-c",)).files == (
        FileUse("a.gz", Access.READ),
    )


@pytest.mark.parametrize(
    "rest",
    ["[*map(read, ['/etc/x'])]", "x = read\nx('/etc/x')", "read(*['/etc/x'])", "read(**{'p': '/etc/x'})", "read(input())", "read()", "read('a', '/etc/x')", "sorted(['/etc/x'], key=read)", "[read][0]('/etc/x')",
     "p = '/etc/x'\nread('a')", "def g(p): read(p)\ng('a')", "read('a')\nread = 1", "class A:\n    def read(self, q): pass\nread = A().read", "print(read)\nread('a')", "read('a') if 0 else (lambda f: f('/etc/x'))(read)"],
)  # fmt: skip
def test_a_helper_that_may_be_called_with_anything_is_no_proof(rest):
    assert reads("def read(p): return open(p).read()\nread('a')") == {"a"}
    assert proven(f"def read(p): return open(p).read()\n{rest}", ("-c",)) is None


def test_a_method_of_the_same_name_is_another_function():
    code = "class A:\n    def read(self, p): return open(p).read()\ndef read(q, r): return q\nread('a', 'b')\na = A()\na.read('/etc/x')"
    assert proven(code, ("-c",)) is None
    assert (
        proven(
            "def read(p): return open(p).read()\nclass A:\n    def f(self, read): read('/etc/x')\nread('a')", ("-c",)
        )
        is None
    )


@pytest.mark.parametrize("decorated", ["@cache\n", "@lru_cache(maxsize=2)\n"])
def test_a_decorated_helper_is_not_followed(decorated):
    code = f"from functools import cache, lru_cache\n{decorated}def read(p): return open(p).read()\nread('a')"
    assert proven(code, ("-c",)) is None

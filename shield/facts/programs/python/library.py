"""Modules of Python's library that are programs (`python -m`): what each does with its words.

Source: Library Reference, Python 3.8 to 3.14, "Modules command-line interface", and the modules' own `__main__`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from shield.facts.programs.reading import Value
from shield.types import Access

__all__ = ["LIBRARY", "Does", "Module"]


class Does(Enum):
    TELLS = "reads what it is given and prints"
    WORKS = "works on what it is given, or runs the project's code"
    RUNS = "runs a script or a module"
    TIMES = "runs statements"
    QUERIES = "runs statements of SQL"
    PACKS = "reads or writes an archive"
    PROMPTS = "runs code that it is fed"
    ASKS = "serves, opens or reaches what is not this machine's"


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """`flags` stand alone, `values` take the next word; of RUNS, `writes` name a file. `operands`: what is done to each
    in turn, the last of them to all that follow; `number`: they are numbers; `beside`: of each a compiled form is put
    into the `__pycache__` beside it, and with `tree` of all beneath a folder, too."""

    does: Does
    flags: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    operands: tuple[Access, ...] = ()
    most: int | None = None
    number: bool = False
    tree: bool = False
    beside: bool = False

    def split(self, words: Sequence[Value]) -> tuple[dict[str, list[Value]], list[Value]] | None:
        """The values of options, and what follows the options; None where one of them is not listed."""
        given: dict[str, list[Value]] = {}
        rest = list(words)
        valued = self.values | self.writes
        while rest:
            word = rest[0]
            if not word.fixed:
                return None
            name, joined, tail = word.text.partition("=")
            if not word.text.startswith("-") or word.text == "-":
                break
            rest.pop(0)
            if word.text == "--":
                break
            if word.text in self.flags:
                given.setdefault(word.text, [])
            elif name in valued and joined and name.startswith("--"):
                given.setdefault(name, []).append(Value(text=tail, head=tail))
            elif word.text in valued and rest and rest[0].fixed:
                given.setdefault(word.text, []).append(rest.pop(0))
            elif word.text[:2] in valued and len(word.text) > 2 and not word.text.startswith("--"):
                given.setdefault(word.text[:2], []).append(Value(text=word.text[2:], head=word.text[2:]))
            else:
                return None
        return given, rest


def _of(
    does: Does,
    flags: str = "",
    values: str = "",
    writes: str = "",
    operands: tuple[Access, ...] = (),
    most: int | None = 0,
    number: bool = False,
    tree: bool = False,
    beside: bool = False,
) -> Module:
    return Module(
        does=does,
        flags=frozenset(flags.split()),
        values=frozenset(values.split()),
        writes=frozenset(writes.split()),
        operands=operands,
        most=most,
        number=number,
        tree=tree,
        beside=beside,
    )


_R, _W = Access.READ, Access.WRITE
_JSON = _of(
    Does.TELLS,
    "--sort-keys --no-ensure-ascii --json-lines --tab --no-indent --compact",
    "--indent",
    operands=(_R, _W),
    most=2,
)
_PROFILE = _of(Does.RUNS, values="-s --sort", writes="-o --outfile")
_LISTED: Mapping[str, Module] = {
    "json.tool": _JSON,
    "json": _JSON,
    "ast": _of(
        Does.TELLS, "-a --include-attributes --no-type-comments", "-m --mode -i --indent", operands=(_R,), most=1
    ),
    "base64": _of(Does.TELLS, "-d -e -u", operands=(_R,), most=1),
    "calendar": _of(Does.TELLS, values="-w --width -l --lines -s --spacing -m --months -t --type", most=2, number=True),
    "compileall": _of(Does.TELLS, "-q -qq -l -f", "-r -j -o", operands=(_R,), most=None, tree=True, beside=True),
    "dis": _of(Does.TELLS, "-C --show-caches -O --show-offsets", operands=(_R,), most=1),
    "py_compile": _of(Does.TELLS, "-q --quiet", operands=(_R,), most=None, beside=True),
    "site": _of(Does.TELLS, "--user-base --user-site"),
    "sysconfig": _of(Does.TELLS),
    "tabnanny": _of(Does.TELLS, "-q -v", operands=(_R,), most=None, tree=True),
    "this": _of(Does.TELLS),
    "tokenize": _of(Does.TELLS, "-e --exact", operands=(_R,), most=1),
    "uuid": _of(Does.TELLS),
    "timeit": _of(Does.TIMES, "-p --process -v --verbose", "-n --number -r --repeat -u --unit -s --setup", most=None),
    "cProfile": _PROFILE,
    "profile": _PROFILE,
    "trace": _of(
        Does.RUNS,
        "-c --count -t --trace -l --listfuncs -T --trackcalls -R --no-report -s --summary -g --timing -m --missing",
        "--ignore-module --ignore-dir",
        "-f --file -C --coverdir",
    ),
    "runpy": _of(Does.RUNS),
    "sqlite3": _of(Does.QUERIES),
    "zipfile": _of(Does.PACKS, values="--metadata-encoding"),
    "tarfile": _of(Does.PACKS, "-v --verbose", "--filter"),
}
_OTHERS = {
    Does.PROMPTS: "asyncio code pdb idlelib pstats",
    Does.ASKS: """
        BaseHTTPServer CGIHTTPServer SimpleHTTPServer antigravity ftplib http.server imaplib nntplib poplib smtpd
        smtplib telnetlib test tkinter turtle turtledemo webbrowser wsgiref.simple_server xmlrpc.server
    """,
    Does.WORKS: """
        difflib doctest encodings.rot_13 filecmp fileinput gzip inspect lib2to3 locale mimetypes
        modulefinder pickle pickletools platform pyclbr pydoc quopri random symtable textwrap unittest
        unittest.__main__ venv zipapp
    """,
}
LIBRARY: Mapping[str, Module] = MappingProxyType(
    {**_LISTED, **{name: _of(does) for does, names in _OTHERS.items() for name in names.split()}}
)

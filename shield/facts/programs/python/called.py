"""Functions that Python code may call, but not with everything, and which are no values for that."""

import ast

from shield.facts.programs.python.processes import Started

__all__ = ["CALLED", "CAUGHT", "UnlistedCallError", "called"]

# They look for the processor by `uname -p` (Lib/platform.py), at once or when it is asked for.
_UNAME_TEXT = """
platform.machine platform.node platform.platform platform.processor platform.release platform.system platform.uname
platform.version
"""
_UNAME = frozenset(_UNAME_TEXT.split())
_PARSE_KEYWORDS = frozenset(("feature_version", "mode", "type_comments"))
# Syntax errors: to make one would be to name a file, of which 3.14 shows a line. They may be caught.
CAUGHT = frozenset(("SyntaxError", "xml.etree.ElementTree.ParseError"))
# By their keywords they would run a text, or write to a file.
_TOLD = frozenset(("dis.dis", "inspect.getdoc", "inspect.getfile", "inspect.getsource", "inspect.signature"))
_LOGGED = frozenset(("datefmt", "force", "format", "level"))
_SAFE = frozenset(("BaseLoader", "CSafeLoader", "SafeLoader"))
CALLED = frozenset(
    ("ast.parse", "importlib.util.find_spec", "logging.basicConfig", "yaml.load", *_TOLD, *_UNAME, *CAUGHT)
)


class UnlistedCallError(Exception):
    """Such a function is given what it may not be."""


def called(node: ast.Call, name: str) -> tuple[tuple[ast.expr, ...], tuple[Started, ...]]:
    """Of a call of one of CALLED: the arguments that are values like any others, and what it starts.

    Raises:
        UnlistedCallError: with these arguments it may do more.
    """
    match name, node.args, node.keywords:
        case str(), [], [] if name in _UNAME:
            return (), (Started(("uname", "-p")),)
        # A warning shows a line of the file that the code is said to be of: none is said.
        case "ast.parse", [source], keywords if {keyword.arg for keyword in keywords} <= _PARSE_KEYWORDS:
            if not isinstance(source, ast.Starred):
                return (source, *(keyword.value for keyword in keywords)), ()
        case str(), [value], [] if name in _TOLD and not isinstance(value, ast.Starred):
            return (value,), ()
        case "logging.basicConfig", [], keywords if {keyword.arg for keyword in keywords} <= _LOGGED:
            return tuple(keyword.value for keyword in keywords), ()
        case "yaml.load", [source], [ast.keyword(arg="Loader", value=ast.Attribute(attr=loader) as how)]:
            if loader in _SAFE and not isinstance(source, ast.Starred):
                return (source, how), ()
        # Of a module within a package that package is run.
        case "importlib.util.find_spec", [ast.Constant(value=str(module))], [] if module.isidentifier():
            return (), ()
    raise UnlistedCallError

"""Random conditions over a few facts, every small world that they can be asked about, and the shipped policies."""

from functools import cache
from itertools import product

from hypothesis import strategies as st

from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.policy.cel import CelError, compile_condition
from shield.policy.load import load_policy
from shield.policy.roots import environment, schema_for
from shield.policy.rule import Grant
from shield.policy.shelf import shipped_shelf
from shield.policy.tools.sources import read_sources
from shield.policy.world import NOW
from shield.types import Access, Facts, PathFact, ShellFact

LISTS = {"some": ("read", "write"), "none": (), "one": ("a",)}
SCHEMA = schema_for(None, None, LISTS)
OF_PATH = schema_for(None, Grant.PATH, LISTS)
ACTION = make_action("read_file", {"path": "a"}, "/w")

_ATOMS = [
    'V.access == "read"',
    'V.access != "write"',
    '"write" == V.access',
    'V.access in ["read", "list"]',
    "V.access in lists.some",
    "V.raw in lists.none",
    'V.raw == "a"',
    'V.raw in ["a", "b"]',
    "V.recursive",
    "V.recursive == false",
    '"credential" in V.categories',
    "V.categories.size() > 0",
    "V.categories.size() <= 1",
    "V.categories.size() == 0",
    "has(V.resolved)",
    "true",
]
_TOPS = [
    "malformed",
    'agent == "one"',
    'agent in ["one", "two"]',
    "paths.size() > 1",
    "paths.size() < 2",
    "shell.parsed",
]


def _joined(atoms):
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(["&&", "||"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
            inner.map(lambda text: f"!({text})"),
            st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} ? {t[1]} : {t[2]})"),
        ),
        max_leaves=5,
    )


def bodies(variable: str):
    return _joined(st.sampled_from([atom.replace("V", variable) for atom in _ATOMS]))


def quantified():
    word = st.sampled_from(["exists", "all", "exists_one"])
    name = st.sampled_from(["p", "q"])
    return st.tuples(word, name).flatmap(
        lambda chosen: bodies(chosen[1]).map(lambda body: f"paths.{chosen[0]}({chosen[1]}, {body})")
    )


conditions = _joined(st.one_of(st.sampled_from(_TOPS), quantified()))

_PATHS = [
    PathFact(raw=raw, resolved=resolved, access=access, recursive=recursive, categories=frozenset(categories))
    for raw, resolved, access, recursive, categories in [
        ("a", "/w/a", Access.READ, False, ()),
        ("b", "/w/b", Access.WRITE, False, ("credential",)),
        ("a", None, Access.WRITE, True, ("credential", "ci")),
        ("c", "/c", Access.LIST, True, ("ci",)),
        ("b", "/w/b", Access.READ, True, ("credential", "ci", "device")),
        ("a", "/w/a", Access.DELETE, False, ("credential",)),
    ]
]
PATH_LISTS = [
    (),
    *[(path,) for path in _PATHS],
    *[(_PATHS[a], _PATHS[b]) for a, b in ((0, 1), (1, 2), (2, 3), (0, 5), (4, 5))],
]


def world_of(paths, malformed, agent):
    facts = Facts(paths=paths, malformed=malformed, shell=ShellFact(parsed=not malformed), unknown=())
    return environment(ACTION, lookup("read_file"), facts, agent=agent, workspace="/w", now=NOW)


WORLDS = [world_of(*world) for world in product(PATH_LISTS, (True, False), ("one", "two", "three"))]


def outcomes(text):
    """The tree of a condition, and what it says of every world."""
    condition = compile_condition(text, SCHEMA)
    return condition.tree, [answer(condition, world) for world in WORLDS]


def answer(condition, world):
    """True, False, or None where there is no answer."""
    try:
        return condition.test(world)
    except CelError:
        return None


@cache
def shipped(name):
    """A shipped policy with its sources, loaded once: that takes as long as all that is done with it."""
    shelf = shipped_shelf()
    policy = load_policy(name, shelf)
    return read_sources(policy, [str(shelf.find(name))])

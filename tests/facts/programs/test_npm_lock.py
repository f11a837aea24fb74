"""`npm install` without a package: what the lock file names, where it is the lock file of what package.json asks for."""

import copy
import json

import pytest

from shell_world import WS, accesses, facts
from shield.facts.made import MadeFile
from shield.types import RunsCode

ASKS = {
    "name": "x",
    "version": "2.0.0",
    "dependencies": {"a": "^1.0.0"},
    "devDependencies": {"b": "~2.1.0"},
    "scripts": {"test": "b"},
}
LOCK = {
    "name": "x", "lockfileVersion": 3, "requires": True,
    "packages": {
        "": {"name": "x", "version": "1.0.0", "dependencies": {"a": "^1.0.0"}, "devDependencies": {"b": "~2.1.0"}},
        "node_modules/a": {"version": "1.2.0", "resolved": "https://registry.npmjs.org/a/-/a-1.2.0.tgz", "integrity": "sha512-x"},
        "node_modules/b": {"version": "2.1.3", "resolved": "https://registry.npmjs.org/b/-/b-2.1.3.tgz", "integrity": "sha512-y", "dev": True},
    },
}  # fmt: skip


def world(package=ASKS, lock=LOCK, folder=""):
    return {
        f"{folder}package.json": MadeFile(content=json.dumps(package).encode()),
        f"{folder}package-lock.json": MadeFile(content=json.dumps(lock).encode()),
    }


def changed(value, path, to):
    value = copy.deepcopy(value)
    at = value
    for key in path[:-1]:
        at = at[key]
    if to is None:
        del at[path[-1]]
    else:
        at[path[-1]] = to
    return value


@pytest.mark.parametrize(
    "line",
    [
        "npm install",
        "npm i",
        "npm i --no-audit --no-fund",
        "npm install --ignore-scripts -s",
        "cd sub; npm i",
        "npm --prefix sub i",
    ],
)
def test_what_the_lock_names_is_pinned(line):
    files = {**world(), **world(folder="sub/"), "node_modules/x/y": MadeFile()}
    found = facts(line, files)
    assert found.commands[-1].runs_code is RunsCode.FETCHED
    assert not found.unknown
    assert {host.host for host in found.hosts} == {"registry.npmjs.org"}
    folder = f"{WS}/sub" if "sub" in line else WS
    assert {(f"{folder}/package.json", "execute"), (f"{folder}/package-lock.json", "execute")} <= accesses(found)


@pytest.mark.parametrize(
    "files",
    [
        {}, {"package.json": world()["package.json"]}, {"package-lock.json": world()["package-lock.json"]},
        world(changed(ASKS, ("dependencies", "c"), "*")), world(changed(ASKS, ("dependencies", "a"), "^2.0.0")), world(changed(ASKS, ("dependencies",), None)),
        world(changed(ASKS, ("optionalDependencies",), {"c": "1"})), world(changed(ASKS, ("workspaces",), ["p/*"])), world(changed(ASKS, ("overrides",), {"a": "2"})),
        world(changed(ASKS, ("dependencies",), ["a"])), world(ASKS, changed(LOCK, ("lockfileVersion",), 1)), world(ASKS, changed(LOCK, ("packages", "node_modules/a"), None)),
        world(ASKS, changed(LOCK, ("packages", ""), None)), world(ASKS, changed(LOCK, ("packages",), None)), world(ASKS, changed(LOCK, ("packages", "", "devDependencies"), None)),
        world([]), world(ASKS, []), world(ASKS, "x"), {**world(), "package.json": MadeFile(content=b"{")}, {**world(), "package-lock.json": MadeFile(content=b"[" * 90_000)},
        {**world(), "package.json": MadeFile(directory=True)}, {**world(), ".npmrc": MadeFile(content=b"git=./x\n")},
    ],
)  # fmt: skip
def test_what_it_does_not_is_not(files):
    assert facts("npm install", files).unknown


@pytest.mark.parametrize(
    "line",
    ["npm install a", "npm i -D b", "npm install --frob", "npm install -g", "npm install .", "npm add", "npm update", "npm_config_x=y npm i", "cd sub; npm i", "npm i --prefix sub", "cd node_modules/a && npm i",
     "echo {} > package.json; npm i", "cp x package-lock.json; npm i", "cd \"$x\"; npm i", "npm i \"$x\""],
)  # fmt: skip
def test_what_else_is_named_or_changed_is_not(line):
    files = {
        **world(),
        "sub/package.json": MadeFile(content=json.dumps(ASKS).encode()),
        "node_modules/a/x": MadeFile(),
        "x": MadeFile(),
    }
    found = facts(line, files)
    assert found.unknown or not found.parsed or any(c.dynamic.value == "code" for c in found.commands), found

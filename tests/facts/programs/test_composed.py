"""What Compose loads before it tells of a project: files of this machine, or what they name elsewhere."""

from dataclasses import replace

import pytest

from model_world import WORLD
from shield.facts.made import MadeFile, MadeFiles
from shield.facts.shell import analyse
from shield.types import Access

PROGRAMS = frozenset(("docker", "docker-compose", "echo", "mv", "cp"))
PLAIN = "services:\n  web:\n    image: postgres:16\n    ports: ['80:80']\n    environment: {X: 'https://x.example'}\n"
VERBS = ("ps", "ps -a --format json", "logs -f web", "images", "top", "port web 80", "events", "stats")
ELSEWHERE = (
    "https://x.example/y.git",
    "git@x.example:y.git",
    "ssh://git@x.example/y.git#main:sub",
    "oci://x.example/y:latest",
    "github.com/x/y",
    "GitHub.com/x/y",
    "${FROM}",
    "$FROM/compose.yaml",
    "~/compose.yaml",
)


def found(line, files, **changes):
    made = {name: MadeFile(content=text.encode()) for name, text in files.items()}
    return analyse(line, replace(WORLD, files=MadeFiles(made, programs=PROGRAMS), **changes))


def asks(line, files, **changes):
    return any("load files from elsewhere" in why for why in found(line, files, **changes).unknown)


def bound(line, files, **changes):
    facts = found(line, files, **changes)
    assert not facts.unknown
    return {fact.resolved.removeprefix("/home/user/ws/") for fact in facts.paths if fact.access is Access.EXECUTE}


@pytest.mark.parametrize("verb", VERBS)
def test_a_project_of_this_machine_is_told_of_and_bound(verb):
    files = {"compose.yaml": PLAIN, "compose.override.yml": "services: {}", ".env": "TAG=1\nDOCKER_TAG=3\n"}
    assert bound(f"docker compose {verb}", files) == {"compose.yaml", "compose.override.yml"}
    assert bound(f"docker compose -p x {verb}", {}) == set()
    assert bound(f"docker-compose {verb}", {"docker-compose.yml": PLAIN}) == {"docker-compose.yml"}


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.parametrize(
    "text",
    [
        "include: [NAME]",
        "include:\n  - path: NAME",
        "include:\n  - path: [a.yml, NAME]\n    env_file: x",
        "services: {a: {extends: {file: NAME, service: b}}}",
        "x-a: &a {extends: {file: NAME, service: b}}\nservices: {a: {<<: *a}}",
        "services: {}\n---\ninclude: [NAME]",
        '"\\x69nclude": [NAME]',
        "include: {NAME: x}",
    ],
)
def test_what_a_file_names_elsewhere_is_fetched(name, text):
    assert asks("docker compose ps", {"compose.yaml": text.replace("NAME", f"'{name}'")})
    assert asks(
        "docker compose ps", {"docker-compose.override.yml": text.replace("NAME", f"'{name}'"), "compose.yml": ""}
    )


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_the_call_names_elsewhere_is_fetched(name):
    assert asks(f"docker compose -f '{name}' ps", {"compose.yaml": PLAIN})
    assert asks(f"docker compose -f compose.yaml --file='{name}' logs", {"compose.yaml": PLAIN})


@pytest.mark.parametrize(
    "text",
    [
        "x: &a include\n? *a\n: [https://x.example/y.git]",
        "? !!binary aW5jbHVkZQ==\n: [https://x.example/y.git]",
        "x: &a [https://x.example/y.git]\ninclude: *a",
        "include: [!!binary aHR0cHM6Ly94LmV4YW1wbGUveS5naXQ=]",
        "x: 1\x85include: [y]",
        "x: '",
        "x: " + "[" * 30_000,
    ],
)
def test_what_yaml_may_say_otherwise_is_not_known(text):
    assert asks("docker compose ps", {"compose.yaml": text})


def test_files_are_followed_through_others():
    files = {
        "compose.yaml": "include: [sub/a.yml, {path: b.yml}]\nservices: {w: {extends: {file: c.yml, service: w}}}",
        "sub/a.yml": "include: [d.yml]",
        "sub/d.yml": PLAIN,
        "b.yml": PLAIN,
        "c.yml": "include: [compose.yaml]",
    }
    assert bound("docker compose ps", files) == set(files)
    for name in ("sub/a.yml", "sub/d.yml", "b.yml", "c.yml"):
        assert asks("docker compose ps", {**files, name: "include: [oci://x.example/y]"})
    links = {"a": MadeFile(symlink="deep/er"), "deep/er/a.yml": MadeFile(content=b"include: [../x.yml]")}
    there = {"compose.yaml": MadeFile(content=b"include: [a/a.yml]"), "x.yml": MadeFile(content=b"include: ['x:y']")}
    place = replace(WORLD, files=MadeFiles({**links, **there}, programs=PROGRAMS))
    assert analyse("docker compose ps", place).unknown
    links = {"link/a.yml": MadeFile(symlink="../d/a.yml"), "d/a.yml": MadeFile(content=b"include: [c.yml]")}
    there = {"compose.yaml": b"include: [link/a.yml, d/a.yml]", "link/c.yml": b"include: ['x:y']"}
    made = {**links, **{name: MadeFile(content=content) for name, content in there.items()}}
    assert analyse("docker compose ps", replace(WORLD, files=MadeFiles(made, programs=PROGRAMS))).unknown
    dotted = {"compose.yaml": "include: [./a.yml, ./sub/./b.yml]", "a.yml": "include: [./sub/b.yml]"}
    dotted["sub/b.yml"] = "include: [../a.yml, ./b.yml]"
    assert bound("docker compose -f ./compose.yaml ps", dotted) == set(dotted)
    around = {"l": MadeFile(symlink="."), "compose.yaml": MadeFile(content=b"include: [l/compose.yaml]")}
    assert analyse("docker compose ps", replace(WORLD, files=MadeFiles(around, programs=PROGRAMS))).unknown
    many = {f"{at}.yml": f"include: [{at + 1}.yml]" for at in range(40)}
    assert asks("docker compose -f 0.yml ps", many)


def test_a_name_counts_from_wherever_it_may():
    evil = "include: ['https://x.example/y.git']"
    further = "include: [c.yaml]"
    for files in (
        {"compose.yaml": "include: [{path: sub/a.yaml, project_directory: other}]", "sub/a.yaml": further},
        {"compose.yaml": "include: [{path: [sub/a.yaml, x/b.yaml]}]", "x/b.yaml": further, "sub/a.yaml": ""},
        {"compose.yaml": "", ".env": "COMPOSE_FILE=sub/a.yaml:b.yaml", "b.yaml": further, "sub/a.yaml": ""},
        {".env": "COMPOSE_FILE=sub/a.yaml:b.yaml", "b.yaml": further, "sub/a.yaml": ""},
        {"compose.yaml": "include: [b.yaml, sub/a.yaml]", "b.yaml": "", "sub/a.yaml": further},
    ):
        for place in ("other/c.yaml", "sub/c.yaml"):
            wanted = "project_directory" in files.get("compose.yaml", "") or place == "sub/c.yaml"
            assert asks("docker compose ps", {**files, place: evil}) is wanted, (files, place)
    assert asks("docker compose ps", {"compose.yaml": f"include: [{', '.join(f'a{at}' for at in range(300))}]"})


@pytest.mark.parametrize("value", ["-", "./compose.yaml:-", "github.com/x/y.git"])
def test_a_file_of_variables_names_no_input(value):
    files = {"compose.yaml": PLAIN, ".env": f"COMPOSE_FILE={value}"}
    assert asks("docker compose ps < e.yaml", {**files, "e.yaml": ""})
    assert asks("docker compose ps", files)


def test_the_project_is_that_of_the_nearest_directory():
    files = {"compose.yaml": "include: [oci://x.example/y]", "sub/compose.yaml": PLAIN, "other/x": ""}
    assert bound("cd sub && docker compose ps", files) == {"sub/compose.yaml"}
    assert bound("docker compose --project-directory sub ps", files) == {"sub/compose.yaml"}
    assert bound("docker compose -f sub/compose.yaml ps", files) == {"sub/compose.yaml"}
    assert asks("cd other && docker compose ps", files)
    assert asks("docker compose --project-directory sub/.. ps", files)
    assert asks("cd $X; docker compose ps", {})


def test_files_of_variables_may_name_the_project():
    files = {"compose.yaml": PLAIN, "a.yml": "", "b.yml": "include: [oci://x.example/y]", ".env": "COMPOSE_FILE=a.yml"}
    assert bound("docker compose ps", files) == {"compose.yaml", "a.yml"}
    for text in (
        "COMPOSE_FILE=a.yml:b.yml",
        "X=1\nCOMPOSE_FILE=b.yml\n",
        "COMPOSE_FILE='a.yml'",
        "COMPOSE_PATH_SEPARATOR=,\nCOMPOSE_FILE=a.yml",
        "COMPOSE_ENV_FILES=x",
        "DOCKER_HOST=tcp://10.0.0.1:2375",
    ):
        assert asks("docker compose ps", {**files, ".env": text})
        assert asks("docker compose --env-file x ps", {**files, "x": text})
        assert asks("docker compose -f sub/a.yml ps", {"sub/a.yml": "", "sub/b.yml": files["b.yml"], "sub/.env": text})
    assert asks("docker compose ps", {}, env={**WORLD.env, "COMPOSE_FILE": "a.yml"})
    assert not asks("docker compose ps", {}, env={**WORLD.env, "COMPOSE_PROJECT_NAME": "a"})


@pytest.mark.parametrize(
    "line",
    [
        "echo 'include: [x]' > compose.override.yaml; docker compose ps",
        "echo COMPOSE_FILE=x > .env; docker compose ps",
        "mv x a.yml && docker compose ps",
    ],
)
def test_a_line_that_writes_what_is_loaded_is_asked_about(line):
    assert found(line, {"compose.yaml": "include: [a.yml]", "a.yml": "", "x": ""}).unknown


@pytest.mark.parametrize("line", ["docker compose ls", "docker compose version", "docker ps", "docker logs web"])
def test_these_load_no_project(line):
    assert bound(line, {"compose.yaml": "include: [oci://x.example/y]"}) == set()

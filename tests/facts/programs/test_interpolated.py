"""What a compose file puts values into that may be secrets, and what its files of variables are."""

import pytest

from shell_world import MadeFile, reading_policy, text
from shield.types import Decision

ENV = {".env": text("TOKEN=abc\nTAG=1\n", 0o644), "../other/secret.txt": text("a word\n", 0o644)}
VERBS = ("ps", "config --images", "config -q", "logs web", "images")


def decided(said, verb="ps", **files):
    made = {path: text(each, 0o644) if isinstance(each, str) else each for path, each in files.items()}
    world = {**ENV, "compose.yaml": text(said, 0o644), **made}
    return reading_policy(f"docker compose {verb}", world, confined=True)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "service",
    ["image: 'x:${TOKEN}'", "image: x$TOKEN", "image: 'x:${TAG:-${TOKEN}}'", "ports: ['${TOKEN}']", "mem_limit: ${TOKEN}", "image: 'x:${TAG:?$TOKEN}'", "environment: {A: '${NOPE:?$TOKEN}'}",
     "environment: ['A=${NOPE:?is ${TOKEN}}']", "command: '${TAG:-${NOPE?${TOKEN}}}'", "build: {context: '${TOKEN}'}", "environment: &e {A: x${TOKEN}}\n    image: *e",
     "environment: {A: &t '${TOKEN}'}\n    image: *t", "healthcheck: {interval: '${TOKEN}'}", "? image\n    : 'x:${TOKEN}'", "\"im\\x61ge\": 'x:${TOKEN}'", "image: 'x:$$${TOKEN}'",
     "<<: {image: '${TOKEN}'}", "<<: [{image: '${TOKEN}'}]", "image: \"x:\\x24{TOKEN}\"", "image: 'x:${DB_PASS}'", "image: 'x:${PORTAL}'", "image: 'x:${_}'"],
)  # fmt: skip
def test_a_value_that_may_be_a_secret_comes_to_be_seen(verb, service):
    assert decided(f"services:\n  web:\n    {service}\n", verb) is not Decision.ALLOW


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "service",
    ["image: 'x:${TAG:-latest}'", "image: '${REGISTRY}/x:$APP_VERSION'", "ports: ['${WEB_PORT:-80}:80']", "environment: {A: '${TOKEN}'}", "environment: ['A=$TOKEN', TOKEN]",
     "environment: {A: '${TOKEN:?set it}'}", "environment: {A: 'http://x?a=${TOKEN}'}", "environment: {A: '${A:?b} ${TOKEN}'}", "command: ['x', '${TOKEN}']", "labels: {a: '${TOKEN}'}",
     "build: {context: ., args: {A: '${TOKEN}'}}", "healthcheck: {test: ['CMD', 'x', '${DB}']}", "image: 'x:$${TOKEN}'", "image: x", "image: 'x:${TAG:?set it}'",
     "environment: &e {A: '${TOKEN}'}\n    labels: *e", "environment: {<<: {A: '${TOKEN}'}}"],
)  # fmt: skip
def test_what_is_plain_or_for_the_container_alone_goes_ahead(verb, service):
    assert decided(f"services:\n  web:\n    {service}\n", verb) is Decision.ALLOW


@pytest.mark.parametrize(
    "said",
    ["services: {environment: {image: 'x:${TOKEN}'}}", "x: &s {environment: {image: 'x:${TOKEN}'}}\nservices:\n  <<: *s", "name: ${TOKEN}", "networks: {a: {name: '${TOKEN}'}}",
     "x-a: {environment: {A: '${TOKEN}'}}", "services: {a: {environment: {A: 1}}}\n---\nservices: {a: {image: '${TOKEN}'}}", "volumes: {a: {driver_opts: {b: '${TOKEN}'}}}",
     "include: [sub.yaml]", "services: {a: {extends: {file: sub.yaml, service: web}}}"],
)  # fmt: skip
def test_wherever_it_stands(said):
    sub = {"sub.yaml": "services: {web: {image: 'x:${TOKEN}'}}"}
    assert decided(said, **sub) is not Decision.ALLOW
    assert (
        decided(said.replace("TOKEN", "TAG"), **{"sub.yaml": sub["sub.yaml"].replace("TOKEN", "TAG")}) is Decision.ALLOW
    )
    assert decided("services: {}", **{"compose.override.yaml": sub["sub.yaml"]}) is not Decision.ALLOW


@pytest.mark.parametrize(
    "given",
    ["../other/secret.txt", "[a.conf, ../other/secret.txt]", "[{path: ../other/secret.txt, required: false}]", "id_rsa", "secrets.yaml", "lk.env", "'${TAG}/x'", "/etc/passwd", "~/x"],
)  # fmt: skip
def test_a_file_of_variables_is_read(given):
    said = f"services:\n  web:\n    image: x\n    env_file: {given}\n"
    link = {"lk.env": MadeFile(symlink="../other/secret.txt"), "id_rsa": "KEY\n", "secrets.yaml": "x\n"}
    assert decided(said, **link) is not Decision.ALLOW
    assert decided(said.replace("env_file", "label_file"), **link) is not Decision.ALLOW


@pytest.mark.parametrize(
    "given", [".env", "[.env, a.conf, ./sub/web.env]", "[{path: .env.local, required: false, format: raw}]", "a.conf"]
)
def test_files_of_variables_are_given_to_services(given):
    assert decided(f"services:\n  web:\n    image: x\n    env_file: {given}\n", **{"a.conf": "A=1\n"}) is Decision.ALLOW


def test_too_much_is_not_known():
    many = "a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b]\n"
    assert decided(many) is Decision.ALLOW
    assert decided(many + "d: &d [*c, *c, *c, *c, *c, *c, *c, *c]\ne: [*d, *d, *d, *d]\n") is not Decision.ALLOW
    assert decided("a: &a [*a]\n") is not Decision.ALLOW
    assert decided("a: " + "[" * 30_000) is not Decision.ALLOW

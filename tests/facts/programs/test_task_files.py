"""Justfiles, Taskfiles and composer's scripts: whatever leads to a command, it is seen; what is not understood is asked."""

import json

import pytest

from shell_world import facts, reading_policy, text
from shield.types import Decision

BAD = "cat .env"
WORLD = {
    ".env": text("S=1\n"),
    ".e": text("D=src\n"),
    ".gitignore": text("build\n"),
    ".git/HEAD": text("ref: refs/heads/main\n"),
    "src/a.py": text("x\n"),
    "sub/a": text(""),
}


def decided(line, name, content, **files):
    return reading_policy(line, WORLD | {name: text(content)} | files, confined=True)


@pytest.mark.parametrize(
    ("line", "content"),
    [
        ("just x .env", "x *args:\n  cat {{args}}\n"),
        ("just x a .env", "x +args:\n  cat {{args}}\n"),
        ("just r reset --hard", "r *args:\n  git {{args}}\n"),
        ("just y r reset --hard", "y:\n  ls\nr *args:\n  git {{args}}\n"),
        ("just x", f"x:\n  echo {{{{`{BAD}`}}}}\n"),
        ("just x", f"v := `{BAD}`\nx:\n  ls\n"),
        ("just x", f"v := if `{BAD}` == '' {{ 'a' }} else {{ 'b' }}\nx:\n  ls\n"),
        ("just x", f"v := odd ? `{BAD}`\nx:\n  ls\n"),
        ("just x", f"x:\n  echo {{{{shell('{BAD}')}}}}\n"),
        ("just x", f"x a=`{BAD}`:\n  ls\n"),
        ("just x", "x: (y '.env')\ny f:\n  cat {{f}}\n"),
        ("just x", "f := '.env'\nx: (y f)\ny f:\n  cat {{f}}\n"),
        ("just x .env", "x f: (y f)\ny f:\n  cat {{f}}\n"),
        ("just x", "x: && (y '.' + 'env')\n  ls\ny f:\n  cat {{f}}\n"),
        ("just x", "set dotenv-load\nx:\n  $CMD\n"),
        ("just x", "set dotenv-load\nx:\n  rm -rf $D\n"),
        ("JUST_JUSTFILE=sub/j just x", "x:\n  ls\n"),
        ("JUST_SHELL=./x just x", "x:\n  ls\n"),
        ("just -g x", "x:\n  ls\n"),
        ("just --choose", "x:\n  ls\n"),
        ("just --working-directory sub --justfile justfile x", "x:\n  rm -rf ../src\n"),
        ("just -d sub -f justfile x", "x:\n  rm -rf ../src\n"),
        ("just -d $D -f justfile x", "x:\n  ls\n"),
        ("just -f sub/justfile x", "x:\n  ls\n"),
        ("just -f none x", "x:\n  ls\n"),
        ("just x", "set shell := ['bash','-c','cat .env']\nx:\n  ls\n"),
        ("just x", "set odd := true\nx:\n  ls\n"),
        ("just m::x", "mod m 'sub/justfile'\n"),
        ("just m x", "mod m 'sub/justfile'\n"),
        ("just x", "D := 'sr' + 'c'\nx:\n  rm -rf {{D}}\n"),
        ("just x", "D := 'src'\nx:\n  rm -rf {{D / 'a.py'}}\n"),
        ("just x", "D := env('D', 'src')\nx:\n  rm -rf {{D}}\n"),
        ("D=src just x", "D := env('D', 'build')\nx:\n  rm -rf {{D}}\n"),
        ("just D=src x", "D := 'build'\nx:\n  rm -rf {{D}}\n"),
        ("just --set D src x", "D := 'build'\nx:\n  rm -rf {{D}}\n"),
        ("just x src", "x $D:\n  rm -rf $D\n"),
        ("just x src", "set positional-arguments\nx D:\n  rm -rf $1\n"),
        ("just x", "export D := 'src'\nx:\n  rm -rf $D\n"),
        ("just x", "set export\nD := 'src'\nx:\n  rm -rf $D\n"),
        ("just x", "x:\n  rm -rf {{invocation_directory()}}/src\n"),
        ("just x", "x:\n  rm -rf {{uuid()}}\n"),
        ("just x", "x:\n  r\\\n  m -rf src\n"),
        ("just x none", "x:\n  ls\n"),
        ("just sub/x", "x:\n  ls\n"),
        ("just y", "x:\n  ls\ny:\n  just sub/x\n"),
        ("just none/x", "y:\n  ls\n"),
        ("just x", "a := 'src'\nx: (y f'rm -rf {{a}}')\ny c:\n  {{c}}\n"),
        ("just x", "D := `cat .e`\nx:\n  rm -rf '{{D}}'\n"),
        ("just x", "D := `cat .e`\nx:\n  # it's\n  rm -rf '{{D}}'\n"),
        ("just x $(cat .e)", "x D:\n  rm -rf '{{D}}'\n"),
        ("bash y.sh", "x:\n  none here\n[script('python3')]\nz:\n  ls\n"),
    ],
)  # fmt: skip
def test_whatever_just_makes_of_a_recipe_it_is_asked(line, content):
    files = {"sub/j": text(f"x:\n  {BAD}\n"), "sub/justfile": text("x:\n  rm -rf ../src\n"), "y.sh": text("just x\n")}
    assert decided(line, "justfile", content, **files) is not Decision.ALLOW


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("set shell := ['bash', '-euo', 'pipefail', '-c']\nset dotenv-load\nset positional-arguments := false\nset export := false\ndefault:\n    @just --list\nbuild target='debug': && done\n    cargo build {{ if target == 'full' { '--release' } else { '' } }}\ntest *args:\n    cargo test {{args}}\ndone:\n    echo $PORT\n",
         ["just", "just build", "just build full", "just test", "just test -- --nocapture", "just -q test a -b"]),
        ("v := `git describe --tags`\nout := 'build'\nexport RUST_BACKTRACE := '1'\npackage: (build 'x')\n    tar czf {{out}}/a-{{v}}.tar.gz src\nbuild mode:\n    mkdir -p {{out}}/{{mode}}\nclean:\n    rm -rf {{out}}\n",
         ["just package", "just clean", "just build a package"]),
        ("alias t := test\npy := if os() == 'windows' { 'python' } else { 'python3' }\n[group('a')]\ntest P='.': setup # all of them\n    #!/usr/bin/env bash\n    pytest -k {{P}}\n[no-cd]\nsetup:\n    pwd\n[confirm]\nreset: #x\n    rm -rf build\n",
         ["just t", "just test foo", "just reset"]),
        ("import 'sub/common.just'\nmod docs 'sub/docs.just'\ndb := env_var_or_default('DB', 'x')\nroot := justfile_directory()\nrun port='80' +flags='--r':\n    cd {{root}} && python3 src/a.py {{port}} {{flags}}\n",
         ["just run", "just run 90 --a", "just hello", "just docs build", "just docs::build"]),
    ],
)  # fmt: skip
def test_ordinary_justfiles_go_ahead(content, lines):
    files = {"sub/common.just": text("hello:\n    echo hello\n"), "sub/docs.just": text("build:\n    mkdocs build\n")}
    for line in lines:
        assert decided(line, "justfile", content, **files) is Decision.ALLOW, line


@pytest.mark.parametrize(
    ("line", "content"),
    [
        ("task x", "tasks:\n  x:\n    cmds:\n      - for: ['.env']\n        cmd: cat {{.ITEM}}\n"),
        ("task x", "tasks:\n  x:\n    vars: {L: 'a .env'}\n    cmds:\n      - for: {var: L}\n        cmd: cat {{.ITEM}}\n"),
        ("task x", "tasks:\n  x:\n    vars: {L: 'a,.env'}\n    cmds:\n      - for: {var: L, split: ',', as: F}\n        cmd: cat {{.F}}\n"),
        ("task x", "tasks:\n  x:\n    cmds:\n      - for: [src]\n        task: y\n        vars: {D: '{{.ITEM}}'}\n  y: rm -rf {{.D}}\n"),
        ("task x", "tasks:\n  x:\n    cmds:\n      - task: y\n        vars: {D: src}\n  y: rm -rf {{.D}}\n"),
        ("task x", "tasks:\n  x:\n    deps:\n      - task: y\n        vars: {F: .env}\n  y: cat {{.F}}\n"),
        ("task -d sub x", "tasks:\n  x: ls\n"),
        ("task --dir sub x", "tasks:\n  x: ls\n"),
        ("task --dir=$D x", "tasks:\n  x: ls\n"),
        ("task -t sub/T.yml x", "tasks:\n  x: ls\n"),
        ("task -t sub x", "tasks:\n  x: ls\n"),
        ("task -t none x", "tasks:\n  x: ls\n"),
        ("task -g x", "tasks:\n  x: ls\n"),
        ("task x", "dotenv: ['.env']\ntasks:\n  x: $CMD\n"),
        ("task x", "dotenv: ['.e']\ntasks:\n  x: rm -rf $D\n"),
        ("task x", "tasks:\n  x:\n    dotenv: ['.e']\n    cmds: ['rm -rf $D']\n"),
        ("task x", "includes: {r: 'https://x.example/Taskfile.yml'}\ntasks:\n  x: ls\n"),
        ("task r:x", "includes: {r: {taskfile: 'git@x.example:x.git'}}\n"),
        ("task x", "tasks:\n  x:\n    dir: sub\n    cmds: ['rm -rf ../src']\n"),
        ("task s:x", "includes: {s: {taskfile: ./sub/T.yml, dir: sub}}\n"),
        ("task x", f"vars:\n  V: {{sh: {BAD}}}\ntasks:\n  x: echo\n"),
        ("task x", f"tasks:\n  x:\n    env:\n      V: {{sh: {BAD}}}\n    cmds: [echo]\n"),
        ("task x", f"tasks:\n  x:\n    cmds: [{{task: y, vars: {{V: {{sh: {BAD}}}}}}}]\n  y: ls\n"),
        ("task x", f"tasks:\n  x:\n    preconditions: ['{BAD}']\n    cmds: [echo]\n"),
        ("task x", f"tasks:\n  x:\n    status: [{{sh: '{BAD}'}}]\n    cmds: [echo]\n"),
        ("task x", f"tasks:\n  x:\n    if: '{BAD}'\n    cmds: [echo]\n"),
        ("task x", "tasks:\n  x:\n    env: {D: src}\n    cmds: ['rm -rf $D']\n"),
        ("task x", "env: {D: src}\ntasks:\n  x: rm -rf $D\n"),
        ("D=src task x", "tasks:\n  x: rm -rf {{.D}}\n"),
        ("task x D=src", "vars: {D: build}\ntasks:\n  x: rm -rf {{.D}}\n"),
        ("task x D=src", "tasks:\n  x:\n    vars: {D: build}\n    cmds: ['rm -rf {{.D}}']\n"),
        ("task x", "tasks:\n  x: rm -rf {{.D | default \"src\"}}\n"),
        ("task x", "vars: {A: src, D: '{{.A}}'}\ntasks:\n  x: rm -rf {{.D}}\n"),
        ("task x", "tasks:\n  x: rm -rf {{uuid}}\n"),
        ("task x", "tasks:\n  x:\n    cmds: [{defer: {task: y}}]\n  y: rm -rf src\n"),
        ("task x", "tasks:\n  x:\n    vars: {T: y}\n    cmds: [{task: '{{.T}}'}]\n  y: rm -rf src\n"),
        ("task x", "tasks:\n  x:\n    odd: ['ls']\n"),
        ("task x", "odd: 1\ntasks:\n  x: ls\n"),
        ("task x-1", f"tasks:\n  'x-*': {BAD}\n"),
        ("task none", "tasks:\n  x: ls\n"),
        ("task x", "tasks:\n  x: '{{if .A}}rm -rf src{{else}}ls{{end}}'\n"),
        ("task x", "vars: {D: {sh: cat .e}}\ntasks:\n  x: rm -rf '{{.D}}'\n"),
        ("task x", "vars: {D: {sh: cat .e}}\ntasks:\n  x: |\n    # it's\n    rm -rf '{{.D}}'\n"),
        ("task run -- reset --hard", "tasks:\n  run: git {{.CLI_ARGS}}\n"),
        ("bash y.sh", "tasks:\n  x: ls\nodd: 1\n"),
    ],
)  # fmt: skip
def test_whatever_task_makes_of_a_task_it_is_asked(line, content):
    taken = text("tasks:\n  x: rm -rf ../src\n")
    files = {"sub/T.yml": taken, "sub/Taskfile.yml": taken, "y.sh": text("task x\n")}
    assert decided(line, "Taskfile.yml", content, **files) is not Decision.ALLOW


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("version: '3'\nvars:\n  BIN: app\n  V: {sh: git describe --tags}\nenv: {CGO_ENABLED: '0'}\ntasks:\n  default:\n    cmds: [task --list]\n    silent: true\n  build:\n    sources: ['**/*.go']\n    generates: ['build/{{.BIN}}']\n    cmds:\n      - go build -ldflags \"-X main.v={{.V}}\" -o build/{{.BIN}} .\n  test:\n    deps: [build]\n    cmds: ['go test ./... {{.CLI_ARGS}}']\n  clean: rm -rf {{.OUT | default \"build\"}}\n",
         ["task", "task build", "task test -- -v", "task clean", "task -s test"]),
        ("version: '3'\ndotenv: ['.env', '{{.ENV}}/.env']\nincludes:\n  docs: {taskfile: ./sub/T.yml, dir: ./sub, optional: true}\n  none: {taskfile: ./none.yml, optional: true}\ntasks:\n  fmt:\n    cmds:\n      - for: [src, tests]\n        cmd: ruff format {{.ITEM}}\n  each:\n    sources: [src/*.py]\n    cmds:\n      - for: sources\n        cmd: cat {{.ITEM}}\n  test:\n    dir: sub\n    preconditions:\n      - test -f ../README.md\n      - {sh: test -d ../src, msg: x}\n    status: [test -f ../build/x]\n    cmds:\n      - pytest -q\n      - defer: rm -rf ../build/tmp\n  all:\n    cmds:\n      - {task: fmt}\n      - {task: test, vars: {A: b}}\n",
         ["task fmt", "task each", "task test", "task all", "task docs:build"]),
    ],
)  # fmt: skip
def test_ordinary_taskfiles_go_ahead(content, lines):
    for line in lines:
        files = {"sub/T.yml": text("tasks:\n  build: mkdocs build\n")}
        assert decided(line, "Taskfile.yml", content, **files) is Decision.ALLOW, line


@pytest.mark.parametrize(
    ("line", "scripts"),
    [
        ("COMPOSER=c.json composer run x", {"x": "ls"}),
        ("composer run x", {"x": "@y .env", "y": "cat"}),
        ("composer run x", {"x": "@y src", "y": "rm -rf"}),
        ("composer run x", {"x": ["@putenv D=src", "rm -rf $D"]}),
        ("composer run x", {"x": ["@composer y"], "y": BAD}),
        ("composer run x", {"x": ["@composer run-script y"], "y": BAD}),
        ("composer run x", {"x": ["@none"]}),
        ("composer run x", {"x": "ls", "pre-command-run": BAD}),
        ("composer dump-autoload", {"post-autoload-dump": BAD}),
        ("composer install", {"post-install-cmd": BAD}),
        ("composer run r -- src", {"r": "rm -rf"}),
        ("composer run r src", {"r": ["echo", "rm -rf @additional_args"]}),
        ("cd sub && composer run x", {"x": BAD}),
    ],
)  # fmt: skip
def test_whatever_composer_makes_of_a_script_it_is_asked(line, scripts):
    files = {"c.json": text(json.dumps({"scripts": {"x": BAD}})), "composer.lock": text("{}")}
    assert decided(line, "composer.json", json.dumps({"scripts": scripts}), **files) is not Decision.ALLOW


def test_ordinary_scripts_of_composer_go_ahead():
    scripts = {
        "test": ["@putenv XDEBUG_MODE=off", "phpunit"], "lint": ["@cs", "@stan --no-progress"], "cs": "php-cs-fixer fix --dry-run",
        "stan": "phpstan analyse src", "all": ["@lint", "@test"], "made": "rm -rf build @no_additional_args", "a": "Acme\\A::b",
    }  # fmt: skip
    for line in (
        "composer run test",
        "composer run lint",
        "composer run all",
        "composer run test -- --filter X",
        "composer run made -- src",
        "composer run a",
    ):
        assert decided(line, "composer.json", json.dumps({"scripts": scripts})) is Decision.ALLOW, line


@pytest.mark.parametrize(
    "content",
    ["x", "x:", "x a:", "x a=:\n  {{", "{{}}:", "a := (\nx:\n  {{a}}\n", "a := a\nx:\n  {{a}}\n", "a := b\nb := a\nx:\n  {{a}}\n", "x: (x (x (x", "x: x\n  {{" + "(" * 2_000 + "}}\n",
     "x:\n  {{" + "if a " * 500 + "}}\n", "mod x\n", "import 'justfile'\nx:\n  ls\n", "set shell :=\n", "x a b='" + "'" * 9 + ":\n", "alias x := x\n", "x *a: (x a)\n  ls\n"],
)  # fmt: skip
def test_odd_justfiles_come_to_an_end(content):
    for line in ("just x", "just x a b", "just --evaluate"):
        assert facts(line, {"justfile": text(content)}).parsed


@pytest.mark.parametrize(
    "content",
    ["tasks: {x: {cmds: [{for: {var: X}, cmd: '{{.X}}'}], vars: {X: '{{.X}}{{.X}}'}}}", "tasks: {x: {deps: [x], cmds: [{task: x, vars: {A: '{{.A}}b'}}]}}", "includes: {a: Taskfile.yml}\ntasks: {x: ls}",
     "tasks: {x: [[[1]]]}", "tasks: {x: {vars: 1, env: [], dir: {}, deps: {a: b}}}", "vars: [1]\ntasks: {x: null}"],
)  # fmt: skip
def test_odd_taskfiles_come_to_an_end(content):
    assert facts("task x", {"Taskfile.yml": text(content)}).parsed


PROGRAM = text("#!/usr/bin/env node\n")
BINS = {
    f"node_modules/.bin/{name}": PROGRAM
    for name in ("run-s", "run-p", "npm-run-all", "concurrently", "turbo", "nx", "eslint", "jest", "tsc", "rimraf")
}


def package(scripts=None, **fields):
    return json.dumps({"scripts": scripts or {}, **fields})


@pytest.mark.parametrize(
    ("line", "content", "more"),
    [
        ("npm run g -- reset --hard", package({"g": "git"}), {}),
        ("npm run r -- -rf src", package({"r": "rm"}), {}),
        ("npm run r src", package({"r": "rm -rf"}), {}),
        ("npm run r -- $D", package({"r": "rm -rf"}), {}),
        ("yarn r src", package({"r": "rm -rf"}), {}),
        ("yarn run r src", package({"r": "rm -rf"}), {}),
        ("pnpm r src", package({"r": "rm -rf"}), {}),
        ("bun run r src", package({"r": "rm -rf"}), {}),
        ("npm test -- src", package({"test": "rm -rf"}), {}),
        ("npm test src", package({"test": "ls && rm -rf"}), {}),
        ("cd sub && npm run y", package({"y": BAD}), {}),
        ("cd sub && npm test", package({"test": BAD}), {}),
        ("cd sub && yarn y", package({"y": BAD}), {}),
        ("npm run y", package({"y": "run-s a b", "a": "ls", "b": BAD}), {}),
        ("npm run y", package({"y": "npm-run-all a --parallel b", "a": "ls", "b": BAD}), {}),
        ("npm run y", package({"y": "run-p b:*", "b:a": "ls", "b:b": BAD}), {}),
        ("npm run y", package({"y": "run-s 'r src'", "r": "rm -rf"}), {}),
        ("npm run y", package({"y": "run-s none"}), {}),
        ("npm run y", package({"y": "run-s --odd a", "a": "ls"}), {}),
        ("npm run y", package({"y": "concurrently npm:b", "b": BAD}), {}),
        ("npm run y", package({"y": "concurrently 'npm:b-*'", "b-a": BAD}), {}),
        ("npm run y", package({"y": f"concurrently -n a,b 'ls' '{BAD}'"}), {}),
        ("npx run-s b", package({"b": BAD}), {}),
        ("npx concurrently npm:b", package({"b": BAD}), {}),
        ("npm run y", package({"y": "ls"}), {".npmrc": "script-shell=./x.py\n"}),
        ("npm_config_script_shell=./x.py npm run y", package({"y": "ls"}), {}),
        ("npm run y", package({"y": "ls"}, workspaces=["p/*"]), {".npmrc": "workspaces=true\n", "p/a/package.json": package({"y": "cat ../../.env"})}),
        ("npx turbo run x", package({"x": "ls", "y": BAD}), {"turbo.json": '{"tasks": {"x": {"with": ["y"]}}}'}),
        ("npx turbo run x", package({"x": "ls", "y": BAD}), {"turbo.json": '{"tasks": {"//#x": {"dependsOn": ["y"]}}}'}),
        ("npx nx x app", package(), {"nx.json": json.dumps({"targetDefaults": {"x": {"options": {"command": BAD}}}}), "app/project.json": '{"targets": {"x": {}}}'}),
        ("npx nx x app", package(), {"nx.json": json.dumps({"targetDefaults": {"nx:run-commands": {"options": {"commands": [BAD]}}}}), "app/project.json": '{"targets": {"x": {"executor": "nx:run-commands"}}}'}),
        ("npx nx x app", package(nx={"targets": {"x": {"command": BAD}}}), {"nx.json": "{}"}),
        ("npx nx y app", package(), {"nx.json": "{}", "app/package.json": package({"x": "cat ../.env"}), "app/project.json": '{"targets": {"y": {"executor": "nx:run-script", "options": {"script": "x"}}}}'}),
        ("npx nx y app", package(), {"nx.json": "{}", "app/project.json": json.dumps({"targets": {"y": {"dependsOn": ["z"]}, "z": {"command": BAD}}})}),
        ("npx nx y app", package(), {"nx.json": "{}", "app/project.json": json.dumps({"targets": {"y": {"dependsOn": [{"target": "z"}]}, "z": {"command": BAD}}})}),
        ("npm run y", "{" + " " * 70_000 + package({"y": "ls"})[1:], {}),
        ("npm run y", "{", {}),
        ("npm run x", package({"x": "$npm_execpath run y", "y": BAD}), {}),
        ("npm run x", package({"x": "npm run $npm_lifecycle_event:y", "x:y": BAD}), {}),
    ],
)  # fmt: skip
def test_whatever_leads_to_a_script_of_a_package_it_is_asked(line, content, more):
    files = BINS | {name: text(each) for name, each in more.items()}
    assert decided(line, "package.json", content, **files) is not Decision.ALLOW


def test_ordinary_scripts_of_packages_go_ahead():
    scripts = {
        "build": "run-s clean build:*", "build:a": "tsc -p a", "build:b": "tsc", "clean": "rimraf build", "test": "jest --coverage", "watch": 'concurrently -k "npm:build:*" "tsc -w"',
        "all": "npm-run-all --parallel lint test", "lint": "eslint src", "fix": "run-s 'lint -- --fix'",
    }  # fmt: skip
    for line in (
        "npm run build",
        "npm test -- -t name",
        "npm run watch",
        "npm run all",
        "npm run fix",
        "npm run lint -- --fix",
        "cd sub && npm test",
        "yarn test src",
        "pnpm test src",
        "npx run-s lint",
    ):
        files = BINS | {".npmrc": text("save-exact=true\nengine-strict=true\n")}
        assert decided(line, "package.json", package(scripts), **files) is Decision.ALLOW, line

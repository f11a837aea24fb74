"""Programs that are asked for their help or version: what surely tells and ends, and what only looks like it."""

from collections.abc import Iterator

import pytest

from model_world import facts
from shell_world import reading_policy, text
from shield.facts.programs.library import models
from shield.facts.programs.model import Model

# To these a word or an option that tells is a listing besides, which some rule lets go with more words, too.
_LISTING = frozenset(("brew", "conda", "getconf", "getent", "locale", "mamba", "micromamba", "nvm"))
_BUILTINS = frozenset(("time",))


def _lines(name: str, model: Model, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Program and subcommands, and a word that tells behind it."""
    for word in sorted(model.tells):
        yield name, word
    for sub, inner in (model.subcommands or {}).items() if depth < 3 else ():
        if "*" not in sub:
            yield from _lines(f"{name} {sub}", inner, depth + 1)


def _all() -> list[tuple[str, str]]:
    return [line for name in sorted(models()) for line in _lines(name, models()[name])]


def test_a_lone_question_does_nothing():
    for program, word in _all():
        found = facts(f"{program} '{word}'")
        first = found.commands[0]
        more = [*first.operations, *found.paths, *found.hosts, *found.unknown]
        assert not more, (program, word)
        assert (first.runs_code, first.dynamic) == ("none", "none"), (program, word)


def test_there_are_enough_of_them():
    assert len({program.split()[0] for program, _ in _all()}) >= 400


def _programs() -> list[str]:
    """The first program of each entry that tells something by an option."""
    seen: set[int] = set()
    return [
        name
        for name in sorted(models())
        if any(word.startswith("-") for word in models()[name].tells)
        and not (id(models()[name].tells) in seen or seen.add(id(models()[name].tells)))
        and name not in _BUILTINS | _LISTING
    ]


@pytest.mark.parametrize("program", _programs())
def test_a_question_with_more_words_is_judged_as_what_it_may_be(program):
    """Neither another word, nor one that nobody knows yet, is a part of the question."""
    word = next(word for word in sorted(models()[program].tells, reverse=True) if word.startswith("-"))
    alone = facts(f"{program} '{word}'").commands[0].flags
    assert alone == (word,)
    for line in (f"{program} '{word}' x/y", f"{program} x/y '{word}'", f"{program} \"$1\" '{word}'", f"{program} $X"):
        found = facts(line)
        told = not (found.commands[0].operations or found.paths or found.hosts or found.unknown)
        assert not told or found.commands[0].dynamic != "none", line


ASKED = [
    # of a program that is started, here or elsewhere
    "docker run ubuntu --help",
    "docker exec web --help",
    "docker compose exec web --help",
    "kubectl exec web --help",
    "ssh host --help",
    "npx pkg --help",
    "npm exec pkg --help",
    "uvx pkg --help",
    "uv run x --help",
    "uv tool run x --help",
    "pipx run x --help",
    "sudo ls --help",
    "echo x | xargs -I{} {} --help",
    "busybox sh x --help",
    # of what a pattern stands for, or nobody knows
    "gh x --help",
    "kubectl x --help",
    "helm plugin --help",
    "git x -h",
    "docker $X --help",
    "docker help $X",
    "kubectl help ./x",
    "bun x --help",
    "deno run --help x.ts",
    "docker run $X --help",
    'ssh "$X"',
    # a word is a folder to publish, or a file of settings
    "surge version",
    "now version",
    "openvpn version",
    "terragrunt version",
    # an option before it
    "docker -H tcp://10.0.0.1:2375 run --help",
    "git -c alias.push='!x' push -h",
    "kubectl --kubeconfig x get --help",
    # another file, or other code in it
    "PATH=.:$PATH ssh --help",
    "export PATH=.:$PATH; ssh --help",
    "LD_PRELOAD=./x.so ssh --help",
    "export LD_PRELOAD=./x.so; ssh --help",
    "ssh() { rm -rf src; }; ssh --help",
    "alias ssh='rm -rf src'; ssh --help",
    "hash -p ./x ssh; ssh --help",
    "JAVA_TOOL_OPTIONS=-javaagent:x.jar java --version",
    "export NODE_OPTIONS=--require=./x.js; npx --help",
    "export RUBYOPT=-r./x; ruby --help",
    "export PERL5OPT=-Mx; perl --help",
    "export BASH_ENV=./x; bash -c 'ssh --help'",
    "export GIT_CONFIG_GLOBAL=./x; git push -h",
    # what it prints goes where something runs by itself
    "ssh --help > ~/.bashrc",
    "ssh --help > .git/hooks/pre-commit",
]
SANDBOXED = [
    # a program of the project, whoever starts it
    "env X=1 ./x --help",
    "timeout 5 ./x --help",
    "hyperfine ./x --help",
    "find . -exec ./x --help ';'",
    "./ssh --help",
    "xargs ./x --help",
    # code of the project is run before anything is printed
    "pytest --help",
    "python3 -m pytest --help",
    "python3 manage.py --help",
    "flask --help",
    "rails --help",
    "cargo build --help",
    "npm run build --help",
]
ALLOWED = [
    "go help build",
    "cargo --help",
    "dotnet -h",
    "aws s3 help",
    "aws ec2 describe-instances help",
    "ssh --help",
    "ssh -V",
    "npx --help",
    "ruff --help",
    "ruff check --help",
    "uv pip install --help",
    "npm install -h",
    "make --help",
    "docker run --help",
    "docker context ls -h",
    "gh pr create --help",
    "terraform plan -help",
    "git push -h",
    "kubectl help get",
    "docker help run",
    "deno --version",
    "psql --help | head -20",
    "command -p ssh --help",
    "env --help",
    "timeout 5 ssh --help",
    "for p in ssh scp; do $p --help; done",
]
FILES = {
    "x": text("\x7fELF"),
    "ssh": text("\x7fELF"),
    "manage.py": text("import x\n"),
    ".git/HEAD": text("ref: refs/heads/main\n"),
}
FILES |= {".git/config": text("[core]\n"), ".git/objects/x": text(""), ".git/refs/x": text("")}
FILES["package.json"] = text('{"scripts": {"build": "x"}}')


@pytest.mark.parametrize("line", ASKED)
def test_what_only_looks_like_a_question_asks(line):
    assert reading_policy(line, FILES, confined=True) != "ALLOW"


@pytest.mark.parametrize("line", SANDBOXED)
def test_what_runs_the_project_first_needs_a_sandbox(line):
    assert reading_policy(line, FILES, confined=False) != "ALLOW"


@pytest.mark.parametrize("line", ALLOWED)
def test_a_question_goes_ahead_without_a_sandbox(line):
    assert reading_policy(line, FILES, confined=False) == "ALLOW"


@pytest.mark.parametrize("where", ["", "/"])
@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("go help build", "go.mod"),
        ("go -h", "go.work"),
        ("cargo --help", "rust-toolchain"),
        ("cargo -h", "rust-toolchain.toml"),
        ("dotnet --help", "global.json"),
    ],
)
def test_a_file_of_the_project_or_above_it_may_choose_who_answers(line, name, where):
    assert reading_policy(line, FILES | {f"{where}{name}": text("x")}, confined=False) != "ALLOW"
    assert reading_policy(f"cd $X; {line}", FILES, confined=False) != "ALLOW"


def test_a_setting_of_the_repository_may_start_what_shows_the_usage():
    files = FILES | {".git/config": text("[alias]\n\tpush = !x\n[core]\n\tpager = ./x\n")}
    assert reading_policy("git push -h", files, confined=False) != "ALLOW"


LISTINGS = ["crontab -l", "at -l", "atq", "service --status-all", "service cron status", "systemd-analyze blame"]
LISTINGS += ["busctl list", "swapon --show", "losetup -a", "lastlog", "kind get clusters", "brew services list"]
CHANGES = [
    "crontab -e",
    "crontab -r",
    "crontab jobs",
    "crontab -",
    "crontab -l -u ana",
    "crontab $X",
    "at -c 3",
    "atrm 3",
]
CHANGES += [
    "crontab -l | crontab -",
    "(crontab -l; echo '* * * * * x') | crontab -",
    "at -l x",
    "echo x | at now",
    "batch",
]
CHANGES += ["service cron restart", "service ../x status", "service $X status", "busctl call x", "swapon /swap"]
CHANGES += ["launchctl list com.x", "launchctl print system", "kind get kubeconfig", "brew services start x"]


@pytest.mark.parametrize("line", LISTINGS)
def test_what_only_lists_goes_ahead(line):
    assert reading_policy(line, FILES, confined=False) == "ALLOW"


@pytest.mark.parametrize("line", CHANGES)
def test_what_changes_or_shows_more_asks(line):
    assert reading_policy(line, FILES, confined=True) != "ALLOW"

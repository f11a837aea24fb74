"""What `default` says of the small programs of languages: looking at what is built, emptying a cache, an environment
that lies elsewhere."""

import pytest

from shell_world import MadeFile, reading_policy, text
from shield.types import Decision

FILES = {
    "app": MadeFile(content=b"\x7fELF\x02\0", mode=0o755),
    "x.exs": text("x\n"),
    "x.jl": text("x\n"),
    "Gemfile": text("x\n"),
    "go.mod": text("module x\n"),
}


@pytest.mark.parametrize(
    "line",
    ["go clean -testcache", "go clean -cache", "dotnet list package", "dotnet ef migrations list", "elixir x.exs", "julia x.jl", "ldd ./app", "xcodebuild -list",
     "bundle exec rubocop", "poetry run mypy src", "hatch run pylint src"],
)  # fmt: skip
def test_they_go_ahead_in_a_sandbox(line):
    assert reading_policy(line, FILES, confined=True) is Decision.ALLOW
    assert reading_policy(line, FILES, confined=False) is not Decision.ALLOW


@pytest.mark.parametrize(
    "line",
    ["go clean", "go clean -modcache", "go clean -cache -modcache", "go clean -testcache ./...", "go clean -i -cache", "dotnet ef database drop -f",
     "dotnet list app.sln reference add x", "elixir -e x", "elixir -S mix x", "julia -e 'x'", "elixir /tmp/x.exs", "ldd /tmp/x", "ldd ~/x",
     "rubocop_none", "bundle exec frobnicate", "poetry run frobnicate", "poetry run $X", "bundle exec $X", "xcodebuild install", "sudo bundle exec nothere"],
)  # fmt: skip
def test_and_nothing_else_of_them(line):
    assert reading_policy(line, FILES, confined=True) is not Decision.ALLOW


@pytest.mark.parametrize("line", ["x=1; frobnicate", "env frobnicate", "flake8none", "timeout 5 interrogate-none"])
def test_what_is_nowhere_is_no_program_of_an_environment(line):
    files = {"/usr/bin/bundle": MadeFile(content=b"x", mode=0o755)}
    assert reading_policy(line, files, confined=True) is not Decision.ALLOW

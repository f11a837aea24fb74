"""Servers for development that show a folder: to this machine alone, and none with secrets in it."""

import pytest

from shell_world import MadeFile, reading_policy
from shield.types import Decision

HELD = {"public/index.php": MadeFile(content=b"<?php\n"), "sub/.env": MadeFile(content=b"KEY=x\n")}


def decided(line, *, confined=True):
    return reading_policy(line, HELD, confined=confined)


@pytest.mark.parametrize(
    "line",
    ["php -S localhost:8000 -t public", "php -S 127.0.0.1:8000 -t public", "python3 -m http.server 8000 --bind 127.0.0.1 --directory public",
     "python3 -m http.server -b localhost -d public & sleep 1; curl -s http://localhost:8000/; kill %1"],
)  # fmt: skip
def test_a_folder_is_shown_to_this_machine(line):
    assert decided(line) is Decision.ALLOW
    assert decided(line, confined=False) is not Decision.ALLOW


@pytest.mark.parametrize(
    "line",
    ["php -S 0.0.0.0:8000 -t public", "php -S $H:8000 -t public", "php -S localhost:8000 -t /", "php -S localhost:8000 -t ..", "php -S localhost:8000 -t sub", "php -S localhost:8000",
     "php -d extension=./x.so -S localhost:8000 -t public", "perl -S localhost:8000", "python3 -m http.server 8000 -d public", "python3 -m http.server --bind 0.0.0.0 -d public",
     "python3 -m http.server --bind localhost -d /", "python3 -m http.server --bind localhost -d sub", "python3 -m http.server --bind localhost", "python3 -m http.server --bind localhost --cgi -d public",
     "python3 -m http.server --bind localhost -d ../other"],
)  # fmt: skip
def test_what_others_may_see_or_what_is_secret_is_not(line):
    assert decided(line) is not Decision.ALLOW

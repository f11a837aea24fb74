"""docs/reference/{api,config}.md name every route, reason and setting, and nothing that is not there."""

import os
import re
from pathlib import Path

from shield.config.sections import Config
from shield.service.problems import TABLE
from shield.service.routes import ROUTES

DOCS = Path(__file__).resolve().parent.parent.parent / "docs" / "reference"
MARK = "<!-- reasons: generated from shield.service.problems by tests/service/test_reference_docs.py -->\n"


def reasons() -> str:
    rows = [f"| `{reason.value}` | {status} | {title} |\n" for reason, (status, title) in TABLE.items()]
    return "\n| reason | status | title |\n|---|---|---|\n" + "".join(rows)


def test_reasons_are_listed():
    """Set SHIELD_WRITE_DOCS=1 to write the table anew."""
    file = DOCS / "api.md"
    head, mark, tail = file.read_text(encoding="utf-8").partition(MARK)
    if os.environ.get("SHIELD_WRITE_DOCS") == "1":
        file.write_text(head + MARK + reasons(), encoding="utf-8")
        return
    assert mark
    assert tail == reasons()


def test_routes_are_listed():
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    listed = {
        (method, target.partition("?")[0])
        for method, target in re.findall(r"^\| `(GET|POST) (\S+?)`", text, re.MULTILINE)
    }
    assert listed == {(route.method, route.path) for route in ROUTES}
    for route in ROUTES:
        role = "anyone" if route.roles is None else " or ".join(sorted(route.roles))
        (line,) = [
            row for row in text.splitlines() if re.match(rf"\| `{route.method} {re.escape(route.path)}[`?]", row)
        ]
        assert f"| {role} |" in line, route


def test_settings_are_listed_with_their_defaults():
    text = (DOCS / "config.md").read_text(encoding="utf-8").partition("## shield.toml")[2]
    listed = dict(re.findall(r"^\| `([a-z0-9_.]+)` \| (.+?) \|", text, re.MULTILINE))
    default = Config().model_dump()
    known = {}
    for name, value in default.items():
        known |= {f"{name}.{key}": item for key, item in value.items()} if isinstance(value, dict) else {name: value}
    assert listed.keys() == known.keys()
    for key, value in known.items():
        shown = listed[key].strip("`")
        if value is None:
            assert shown == "none"
        elif isinstance(value, bool):
            assert shown == str(value).lower()
        elif isinstance(value, tuple):
            assert shown == "[" + ", ".join(f'"{item}"' for item in value) + "]"
        else:
            assert shown == (f"{value:g}" if isinstance(value, float) else str(value)), key

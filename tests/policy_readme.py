"""Writes policies/README.md from the shipped policies: `python tests/policy_readme.py`. A test checks that it is current."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from shield.policy.reader import plain  # noqa: E402
from shield.policy.rule import Default, PolicyFile, RuleText  # noqa: E402
from shield.policy.schema import read_policy  # noqa: E402
from shield.types import Effect  # noqa: E402

NAMES = (
    "baseline", "default", "strict", "permissive", "ci", "read-only", "cloud", "databases", "git", "kubernetes", "supply-chain",
)  # fmt: skip
TARGET = ROOT / "policies" / "README.md"
HEAD = """# The shipped policies

`baseline` is always in and nothing weakens it. Choose one of the others by name (`policy = "default"` in `shield.toml`,
`shield check --policy strict`), or extend it in a file of your own; `docs/reference/policy.md` says how. An action goes
ahead only if allow rules cover all of it and nothing blocks or escalates it. `cases/` holds what each policy owes:
`shield eval default --cases policies/cases/default.yaml`.

| policy | for |
|---|---|
| `default` | everyday work with a person at hand |
| `permissive` | a machine that holds nothing of value |
| `strict` | reading only, a change is asked, all else refused |
| `ci` | work that nobody watches: what `default` asks about is refused |
| `read-only` | questions about a project: nothing is changed, no code is run |
| `cloud` `databases` `git` `kubernetes` `supply-chain` | to add: `extends: [default, cloud, git]` |

This file is generated from the policies by `python tests/policy_readme.py`.
"""


def readme() -> str:
    """The whole text."""
    parts = [HEAD]
    for name in NAMES:
        file = ROOT / "policies" / f"{name}.yaml"
        parts.append(_policy(read_policy(file.read_bytes(), file.name), file.read_text()))
    return "\n".join(parts)


def _policy(policy: PolicyFile, text: str) -> str:
    about = " ".join(line[2:] for line in text.split("\nversion:")[0].splitlines() if line.startswith("# "))
    lines = [f"## {policy.name}", "", about.split(" Sending and fetching:")[0], ""]
    if policy.extends:
        lines += ["Extends " + ", ".join(f"`{named.name}`" for named in policy.extends) + ".", ""]
    if policy.default is not None:
        lines += [f"What no rule covers is {_default(policy.default)}.", ""]
    for rule in policy.rules:
        lines += _rule(rule)
    return "\n".join(lines)


def _default(default: Default) -> str:
    return "blocked" if default.effect is Effect.BLOCK else f"escalated to tier {int(default.to)}"


def _rule(rule: RuleText) -> list[str]:
    effect = rule.effect.value
    if rule.effect is Effect.ESCALATE and rule.to is not None:
        effect += f" to tier {int(rule.to)}"
    if rule.grants is not None:
        effect += f", once per {rule.grants.value}" if rule.grants.value != "action" else ", the action itself"
        effect += f", from tier {int(rule.min_tier)}" if rule.min_tier else ""
    lines = [f"### {rule.id}", "", f"*{effect} · {rule.severity.value}* — {rule.reason}"]
    if rule.advice:
        lines[-1] += f" {rule.advice}"
    lines.append("")
    if rule.actions:
        lines += ["Only for " + ", ".join(f"`{name}`" for name in rule.actions) + ".", ""]
    if rule.when is not None:
        lines += ["```cel", rule.when.text.strip(), "```", ""]
    if rule.references:
        lines += ["See " + ", ".join(f"[{_title(link)}]({link})" for link in rule.references) + ".", ""]
    for matches, word in ((True, "Holds for"), (False, "Does not hold for")):
        shown = [_example(example.action) for example in rule.examples if example.matches is matches]
        if shown:
            lines += [f"{word} {', '.join(shown)}.", ""]
    return lines


def _title(link: str) -> str:
    """`CWE-78`, `T1552.001`, `CVE-2025-61260`; any other link by its host."""
    name = link.rstrip("/").rpartition("/")[2]
    if link.startswith("https://cwe.mitre.org/"):
        return "CWE-" + name.removesuffix(".html")
    if link.startswith("https://attack.mitre.org/"):
        return link.partition("/techniques/")[2].rstrip("/").replace("/", ".")
    return link.rpartition("=")[2] if "id=" in link else link.split("/")[2]


def _example(action) -> str:
    value = plain(action)
    payload = value["payload"]
    if set(payload) == {"command"}:
        return f"`{payload['command']}`".replace("\n", "⏎").replace("``", "`")
    words = " ".join(f"{key}={item}" for key, item in payload.items() if key not in ("content", "old", "new"))
    return f"`{value['type']} {words}`".replace(" `", "`")


if __name__ == "__main__":
    TARGET.write_text(readme(), encoding="utf-8")

"""JSON Schemas (2020-12) of policy files for editors, made from the tables that the loader uses.

An editor knows less than the loader: a file that fits may still be refused, one that does not fit never loads.
`python -m shield.policy.editor` writes the two files beside this module; a test keeps them current.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from shield.actions.registry import names
from shield.policy.keys import DEFAULT_EFFECTS, EXAMPLE_KEYS, FILE_KEYS, MIN_TIERS, ONLY, RULE_KEYS, TO, WORKSPACE_KEYS
from shield.policy.names import AGENT, MACRO, NAME, RESERVED, RESERVED_PREFIXES, WORD
from shield.policy.rule import Grant
from shield.policy.shape import VERSION
from shield.types import Effect, Json, Severity

__all__ = ["policy_schema", "workspace_schema"]

Fragment = dict[str, Any]
_BASE: Final = "https://shield.invalid/schemas/"


def policy_schema() -> dict[str, Json]:
    """The schema of a policy file."""
    return _file("policy", "A policy of Shield", FILE_KEYS, ("version", "name"), tuple(Effect))


def workspace_schema() -> dict[str, Json]:
    """The schema of a workspace's `.shield.yaml`, which may only restrict."""
    effects = tuple(effect for effect in Effect if effect is not Effect.ALLOW)
    return _file("workspace", "A workspace's own policy (.shield.yaml)", WORKSPACE_KEYS, ("version",), effects)


def _file(
    name: str, title: str, keys: tuple[str, ...], needed: tuple[str, ...], effects: tuple[Effect, ...]
) -> dict[str, Json]:
    parts = _file_parts()
    partial = [{"properties": {"enforce": {"const": False}}, "required": ["enforce"]}, {"required": ["agents"]}]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{_BASE}{name}.json",
        "title": title,
        **_mapping({key: parts[key] for key in keys}, needed),
        "if": {"anyOf": partial},
        "then": {"not": {"anyOf": [{"required": ["default"]}, {"required": ["overrides"]}]}},
        "$defs": {"rule": _rule(effects), "example": _example()},
    }


def _file_parts() -> Mapping[str, Fragment]:
    effect = {"enum": [effect.value for effect in DEFAULT_EFFECTS], "description": "Never allow."}
    default = _mapping({"effect": effect, "to": _tier(TO)}, ("effect",))
    blocks = {"properties": {"effect": {"const": Effect.BLOCK.value}}}
    return {
        "version": {"const": VERSION},
        "name": _text(NAME, "The policy's name."),
        "extends": _words("Policies by name, or `.yaml` files beside this one, whose rules hold here, too."),
        "overrides": _words("Ids of extended rules, or `default`, that this file lowers, replaces or switches off."),
        "default": {
            **default,
            "if": blocks,
            "then": {"not": {"required": ["to"]}},
            "description": "What holds where no rule allows the whole action.",
        },
        "agents": _agents("The agents that this file is for; every agent without it."),
        "enforce": {"type": "boolean", "description": "false: the rules are judged and recorded, and decide nothing."},
        "lists": {
            "type": "object",
            "propertyNames": {"pattern": f"^{WORD}$"},
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
            "description": "Lists of strings, used as `lists.NAME` in conditions of this file.",
        },
        "macros": {
            "type": "object",
            "propertyNames": {"pattern": f"^{MACRO}$"},
            "additionalProperties": {"type": ["string", "boolean"]},
            "description": "Conditions under a name, used as `macros.NAME` or `macros.NAME(x)` in this file.",
        },
        "rules": {"type": "array", "items": {"$ref": "#/$defs/rule"}, "description": "In any order."},
    }


def _rule(effects: tuple[Effect, ...]) -> Fragment:
    parts = _rule_parts(effects)
    return {
        **_mapping({key: parts[key] for key in RULE_KEYS}, ("id", "effect")),
        "anyOf": [{"required": ["when"]}, {"required": ["actions"]}],
        "allOf": [
            *(
                {"if": {"required": [key]}, "then": {"properties": {"effect": {"const": only.value}}}}
                for key, only in ONLY.items()
            ),
            {
                "if": {"properties": {"effect": {"const": Effect.ALLOW.value}}},
                "then": {
                    "required": ["grants"],
                    "anyOf": [
                        {"properties": {"grants": {"const": Grant.ACTION.value}}},
                        {"required": ["when"]},
                    ],
                },
            },
        ],
    }


def _rule_parts(effects: tuple[Effect, ...]) -> Mapping[str, Fragment]:
    reserved = "|".join(prefix.replace(".", r"\.") for prefix in RESERVED_PREFIXES)
    own = {"anyOf": [{"enum": sorted(RESERVED)}, {"pattern": f"^(?:{reserved})"}]}
    return {
        "id": {**_text(NAME, "Unique in the policy set."), "not": own},
        "effect": {"enum": [effect.value for effect in effects]},
        "to": {**_tier(TO), "description": "2: the judge model; 3: a person (default)."},
        "actions": {
            "type": "array",
            # aliases are taken, too; the first alternative is what an editor offers
            "items": {"type": "string", "anyOf": [{"enum": sorted(names())}, {"pattern": "^[a-z_A-Z:/.0-9-]+$"}]},
            "uniqueItems": True,
            "minItems": 1,
            "description": "Action types; `payload` may be read then.",
        },
        "agents": _agents("The agents that the rule is for."),
        "grants": {"enum": [grant.value for grant in Grant], "description": "What an allow rule speaks for."},
        "when": {"type": ["string", "boolean"], "description": "A condition in CEL."},
        "min_tier": {**_tier(MIN_TIERS), "description": "The tier that still has to agree."},
        "enforce": {"type": "boolean", "description": "false: judged and recorded, decides nothing."},
        "severity": {"enum": [severity.value for severity in Severity]},
        "reason": _prose("What the agent is told."),
        "advice": _prose("What the agent should do instead."),
        "references": {"type": "array", "items": _prose("A link for people.")},
        "examples": {
            **_mapping({key: {"type": "array", "items": {"$ref": "#/$defs/example"}} for key in ("match", "no_match")}),
            "description": "Actions that are judged whenever the file is loaded.",
        },
    }


def _example() -> Fragment:
    parts: Mapping[str, Fragment] = {
        "type": {"type": "string"},
        "payload": {"type": "object"},
        "cwd": {"anyOf": [{"type": "null"}, {"type": "string", "pattern": "^/"}]},
        "files": {"type": "object"},
    }
    return _mapping({key: parts[key] for key in EXAMPLE_KEYS}, ("type", "payload"))


def _mapping(parts: Mapping[str, Fragment], needed: tuple[str, ...] = ()) -> Fragment:
    found: Fragment = {"type": "object", "properties": dict(parts), "additionalProperties": False}
    return {**found, "required": list(needed)} if needed else found


def _text(pattern: str, description: str) -> Fragment:
    return {"type": "string", "pattern": f"^{pattern}$", "description": description}


def _prose(description: str) -> Fragment:
    return {"type": "string", "pattern": r"\S", "description": description}


def _tier(tiers: tuple[int, ...]) -> Fragment:
    return {"enum": list(tiers)}


def _words(description: str) -> Fragment:
    return {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "description": description}


def _agents(description: str) -> Fragment:
    items = {"type": "string", "pattern": f"^{AGENT}$"}
    return {"type": "array", "items": items, "uniqueItems": True, "minItems": 1, "description": description}


def _write() -> None:
    for name, schema in (("policy", policy_schema()), ("workspace", workspace_schema())):
        text = json.dumps(schema, indent=2, ensure_ascii=True)
        Path(__file__).with_name(f"{name}.schema.json").write_text(f"{text}\n", encoding="ascii")


if __name__ == "__main__":
    _write()

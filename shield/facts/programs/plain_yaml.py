"""YAML files of a project that are small and hold nothing that stands for something else."""

import yaml

__all__ = ["plain_yaml"]

_MAX_EVENTS = 5_000
_MAX_DEEP = 24


def plain_yaml(text: str) -> dict[str, object] | None:
    """The mapping that `text` is, every scalar as the text that it is written with; None where it is none, or has
    aliases, or is too large. Never raises."""
    try:
        deep = 0
        for count, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader)):
            deep += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if count > _MAX_EVENTS or deep > _MAX_DEEP or isinstance(event, yaml.AliasEvent):
                return None
        found = yaml.load(text, Loader=yaml.CBaseLoader)  # noqa: S506 - it makes texts, lists and mappings only
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        return None
    return found if isinstance(found, dict) and all(isinstance(key, str) for key in found) else None

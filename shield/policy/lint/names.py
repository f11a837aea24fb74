"""What a file names: lists and macros that nothing uses, and rules that it overrides."""

import re
from collections.abc import Iterator
from pathlib import Path

from shield.errors import PolicyError
from shield.policy.lint.finding import CODES, Finding
from shield.policy.reader import Map, Mark, Node, read
from shield.policy.rule import PolicyFile
from shield.policy.shelf import read_bounded
from shield.policy.tools.sources import Sources

__all__ = ["check_names"]


def check_names(file: PolicyFile, sources: Sources) -> Iterator[Finding]:
    """SH008, SH009 and SH013 for one file."""
    texts = [rule.when.text for rule in file.rules if rule.when is not None]
    texts += [macro.text.text for macro in file.macros.values()]
    for name in file.lists:
        if not _mentioned(f"lists.{name}", texts):
            fix = "remove it, or use it as `lists." + name + "` in a condition"
            yield _about(file, "SH008", _place(file, "lists", name), f"no condition uses the list `{name}`", fix)
    for name, macro in file.macros.items():
        if not _mentioned(f"macros.{name}", texts):
            fix = "remove it, or use it as `macros." + name + "` in a condition"
            yield _about(file, "SH009", macro.mark, f"no condition uses the macro `{name}`", fix)
    for named in file.overrides:
        own = next((rule for rule in sources.rules if rule.id == named.name and rule.file == file.file), None)
        said = f"`{named.name}` of an extended policy is switched off"
        if named.name == "default" and file.default is not None:
            said = "the default of an extended policy is replaced"
        elif own is not None:
            said = f"`{named.name}` of an extended policy is replaced by a rule that {own.effect.value}s"
        yield _about(file, "SH013", named.mark, said, "leave it so if it is meant; the override is recorded")


def _mentioned(name: str, texts: list[str]) -> bool:
    pattern = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")
    return any(pattern.search(text) for text in texts)


def _place(file: PolicyFile, key: str, name: str) -> Mark:
    """Where a name stands below a key of the file; its first line where the file is gone or another by now."""
    try:
        found: Node | None = read(read_bounded(Path(file.file)), file.file)
    except PolicyError:
        return Mark(1, 1)
    for word in (key, name):
        entry = found.get(word) if isinstance(found, Map) else None
        if entry is None:
            return Mark(1, 1)
        found, mark = entry.value, entry.mark
    return mark


def _about(file: PolicyFile, code: str, mark: Mark, message: str, fix: str) -> Finding:
    return Finding(code=CODES[code], file=file.file, mark=mark, message=message, fix=fix)

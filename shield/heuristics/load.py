"""From folders of files to rules that are ready to scan. A file that does not load is not left out: nothing loads."""

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from shield.errors import PolicyError
from shield.heuristics.rule import HeuristicExample, HeuristicFile, HeuristicRule
from shield.heuristics.scan import Heuristics
from shield.heuristics.schema import read_file
from shield.policy.proven import is_proven
from shield.policy.reader import Mark
from shield.policy.shelf import read_bounded

__all__ = ["HEURISTICS", "load_heuristics"]

HEURISTICS: Final = "policies/heuristics"  # those that ship

MAX_FILES: Final = 64


def load_heuristics(folder: Path, own: Path | None = None, *, prove: bool = False) -> Heuristics:
    """The rules of every `.yaml` file in `folder`, and what the owner adds to them: `own` is a file, or a folder that
    may be empty or missing. Patterns and examples of files that are as they were released are not tried again, unless
    `prove`.

    INVARIANT: what is added adds. No file can take the place of another one, nor a rule that of another rule.

    Raises:
        PolicyError: with file, line and column of what is wrong; also where there is no file at all.
    """
    raws = {str(path): read_bounded(path) for path in [*_paths(folder), *_own_paths(own)]}
    files = [read_file(raw, path) for path, raw in raws.items()]
    rules = tuple(rule for file in files for rule in file.rules)
    _check_ids(rules)
    proven = not prove and all(map(is_proven, raws.values()))
    heuristics = Heuristics(rules, _digest(files), proven=proven)
    for rule in () if proven else rules:
        for example in rule.examples:
            _check_example(heuristics, rule, example)
    return heuristics


def _paths(folder: Path) -> list[Path]:
    paths = _files(folder)
    if not paths:
        raise PolicyError("there is no heuristics file, so nothing would be found; add a `.yaml`", file=str(folder))
    return paths


def _own_paths(own: Path | None) -> list[Path]:
    if own is None or not os.path.lexists(own):
        return []
    return [own] if own.is_file() else _files(own)


def _files(folder: Path) -> list[Path]:
    try:
        names = sorted(folder.iterdir())
    except OSError as error:
        reason = (error.strerror or "not a folder").lower()
        raise PolicyError(f"the heuristics cannot be read: {reason}", file=str(folder)) from None
    for path in names:
        if path.suffix == ".yml":
            raise PolicyError("a heuristics file ends in `.yaml`; rename it", file=str(path))
    paths = [path for path in names if path.suffix == ".yaml"]
    if len(paths) > MAX_FILES:
        raise PolicyError(f"more than {MAX_FILES} heuristics files; merge some", file=str(folder))
    return paths


def _check_ids(rules: Iterable[HeuristicRule]) -> None:
    seen: dict[str, HeuristicRule] = {}
    for rule in rules:
        first = seen.setdefault(rule.id, rule)
        if first is not rule:
            where = f"{first.file}:{first.mark.line}"
            raise _error(rule, rule.mark, f"the id `{rule.id}` is used twice, first in {where}; rename one", "id")


def _check_example(heuristics: Heuristics, rule: HeuristicRule, example: HeuristicExample) -> None:
    answers = [found.answer for found in heuristics.scan(example.text, example.kind, only=rule.id)]
    if example.matches != bool(answers):
        wrong = "does not match, but stands under `match`" if example.matches else "matches the rule"
    elif example.answer not in (None, *answers[:1]):
        wrong = f"comes out as `{answers[0].lower()}`"
    else:
        return
    detail = f"this example {wrong}; change the patterns or the example"
    raise _error(rule, example.mark, detail, "examples")


def _error(rule: HeuristicRule, mark: Mark, detail: str, key: str) -> PolicyError:
    return PolicyError(detail, file=rule.file, line=mark.line, column=mark.column, key=f"rule `{rule.id}`, {key}")


def _digest(files: Iterable[HeuristicFile]) -> str:
    # Strings, whole numbers, booleans, null only: the reader lets nothing else through, so this form is canonical.
    content = ["shield-heuristics-1", *(file.content for file in files)]
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"sha256:{hashlib.sha256(canonical.encode('ascii')).hexdigest()}"

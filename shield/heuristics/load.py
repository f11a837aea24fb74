"""From folders of files to rules that are ready to scan. A file that does not load is not left out: nothing loads."""

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from shield.errors import PolicyError
from shield.heuristics.rule import HeuristicExample, HeuristicFile, HeuristicRule
from shield.heuristics.scan import Heuristics
from shield.heuristics.schema import read_file
from shield.policy.proven import is_proven
from shield.policy.reader import Mark
from shield.policy.shelf import read_bounded
from shield.types import TextKind

__all__ = ["HEURISTICS", "load_heuristics"]

HEURISTICS: Final = "policies/heuristics"  # those that ship

MAX_FILES: Final = 64


def load_heuristics(
    folder: Path,
    own: Path | None = None,
    *,
    beside: Path | None = None,
    prove: bool = False,
    step: Callable[[], None] = lambda: None,
) -> Heuristics:
    """The rules of every `.yaml` file in `folder`, and what the owner adds to them in the folder `own`, which may be
    empty or missing; `beside` is one more file. Of files that are as they were released patterns and examples are not
    tried again, unless `prove`. `step` is called before each file, each pattern and the examples of each rule; what it
    raises ends this, and the first scan.

    A name that begins with `.` or `#`, or ends with `~`, is an editor's or a version control's: that file is none.

    INVARIANT: what is added adds. No file can take the place of another one, nor a rule that of another rule.

    Raises:
        PolicyError: with file, line and column of what is wrong; also where there is no file at all.
    """
    paths = [*_paths(folder), *_own_paths(own), *([] if beside is None else [beside])]
    raws = {str(path): read_bounded(path) for path in paths}
    files = []
    for path, raw in raws.items():
        step()
        files.append(read_file(raw, path))
    rules = tuple(rule for file in files for rule in file.rules)
    _check_ids(rules)
    tried = [rule for file in files if prove or not is_proven(raws[file.file]) for rule in file.rules]
    if tried:
        trial = Heuristics(tried, "", step=step)
        trial.scan("", TextKind.PROSE)  # compiles them
        for rule in tried:
            step()
            for example in rule.examples:
                _check_example(trial, rule, example)
    return Heuristics(rules, _digest(files), step=step)


def _paths(folder: Path) -> list[Path]:
    paths = _files(folder)
    if not paths:
        raise PolicyError("there is no heuristics file, so nothing would be found; add a `.yaml`", file=str(folder))
    return paths


def _own_paths(own: Path | None) -> list[Path]:
    if own is None:
        return []
    try:
        mode = own.lstat().st_mode
    except FileNotFoundError:
        return []
    except OSError as error:  # INVARIANT: what cannot be looked at is not what is not there
        raise _unreadable(own, error) from None
    if not stat.S_ISDIR(mode):
        # where a link leads may be open to others; a service does not start with one (`shield.service.home.prepare`)
        raise PolicyError("this is a link or a file, and `shield serve` takes a folder; make it one", file=str(own))
    return _files(own)


def _files(folder: Path) -> list[Path]:
    try:
        names = sorted(path for path in folder.iterdir() if not _is_left_over(path.name))
    except OSError as error:
        raise _unreadable(folder, error) from None
    for path in names:
        if _is_meant(path):
            detail = "a heuristics file ends in `.yaml` and lies in no folder of its own; rename or move it"
            raise PolicyError(detail, file=str(path))
    paths = [path for path in names if path.suffix == ".yaml"]
    if len(paths) > MAX_FILES:
        raise PolicyError(f"more than {MAX_FILES} heuristics files; merge some", file=str(folder))
    return paths


def _is_left_over(name: str) -> bool:
    return name.startswith((".", "#")) or name.endswith("~")


def _is_meant(path: Path) -> bool:
    """Whether somebody may take this for one of the files that are read, and it is none."""
    name = path.name.lower()
    return path.suffix != ".yaml" and (".yaml" in name or ".yml" in name or os.path.isdir(path))


def _unreadable(path: Path, error: OSError) -> PolicyError:
    reason = (error.strerror or "not a folder").lower()
    return PolicyError(f"the heuristics cannot be read: {reason}", file=str(path))


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

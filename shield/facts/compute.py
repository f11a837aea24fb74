"""All facts of one action: the one entry. What cannot be established is said in `unknown`, and never left out.

1. Every payload field gives what its role says: paths, commands, hosts, recipients, text.
2. Fields that the type does not know, and all of an unknown type's, are read by name and by value.
3. What the type does without being told (search where it stands, run where it stands) is added.
4. The strings are made plain and searched for secrets; the resulting content of a write is computed.
"""

from collections.abc import Callable
from dataclasses import replace

from shield.actions.registry import ActionType
from shield.facts.finding import Finding, OutOfTimeError
from shield.facts.implied import imply
from shield.facts.place import Place
from shield.facts.result import results
from shield.facts.roles import read_fields
from shield.facts.snapshot import Snapshot
from shield.facts.strings import read_strings
from shield.types import Action, Facts

__all__ = ["compute"]


def compute(action: Action, type: ActionType, place: Place, *, deadline: Callable[[], bool] | None = None) -> Facts:
    """The facts of `action`, of type `type`, in `place`. Never raises.

    Where the files of `place` are a Snapshot, it is the one for this action; else one is made.

    `deadline` answers whether time is up; it is asked between steps. Whatever stops the work early, the facts found so
    far stand, with a line in `unknown`, and `malformed` and `operations` as cautious as they begin.
    """
    finding = Finding(action=action, type=type, place=place, deadline=deadline)
    try:
        files = place.files if isinstance(place.files, Snapshot) else Snapshot(place.files)
        if files is not place.files or place.cwd != action.cwd:
            finding.place = replace(place, files=files, cwd=action.cwd)
        read_fields(finding)
        imply(finding)
        found, unknown = results(action, finding.paths, finding.place)
        finding.results += found
        finding.unknown += unknown
        read_strings(finding)
        finding.complete = True
    except OutOfTimeError:
        finding.unknown.append("the facts were not complete when time was up")
    except Exception as error:  # noqa: BLE001 - an error here must come out as unknown, whatever it is
        finding.unknown.append(f"the facts could not be computed: {error.__class__.__name__}")
    return finding.facts()

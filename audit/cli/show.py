"""`show`: the story of one call on one screen."""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from audit.cli.terms import FILE, SEQ, printable, rfc3339, screen, streaming, write

if TYPE_CHECKING:
    from audit.known import Known
    from audit.story import Step, Story

__all__ = ["command", "lines"]

_LABEL: Final = 12  # columns of `         proposed  `
_FOLDED: Final = 3  # lines that one text may take
_FACTS: Final = 8  # of evidence, or members of an unknown body


@click.command("show")
@click.argument("db", type=FILE)
@click.argument("seq", type=SEQ)
@click.option("--key", "key_file", type=FILE, help="File with the log's vkey line: prove that it is what was signed.")
@click.option("--checkpoint", "checkpoints", type=FILE, multiple=True, help="A checkpoint kept outside (with --key).")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(db: Path, seq: int, key_file: Path | None, checkpoints: tuple[Path, ...], *, as_json: bool) -> None:
    """Tell the story of the call that record SEQ of DB is part of: proposal, verdict, answer, execution, outcome."""
    if checkpoints and key_file is None:
        raise click.UsageError("--checkpoint says nothing without --key")
    from audit.keys import read_verify_key
    from audit.story import tell

    with streaming():
        key = None if key_file is None else read_verify_key(key_file)
        story = tell(db, seq, key=key, outside=[_newest(file) for file in checkpoints])
        if as_json:
            write([json.dumps(_as_json(story)) + "\n"])
        else:
            width, colour = screen()
            write(f"{line}\n" for line in lines(story, width=width, colour=colour))


def _newest(path: Path) -> str:
    """The newest checkpoint in a file of one or many; a torn one at its end is none. Raises ReadError, NoteError."""
    from audit.errors import NoteError, ReadError
    from audit.note import split_note
    from audit.notebook import read_notes

    found: str | None = None
    for stored in read_notes(path):
        if not stored.ended:
            try:
                split_note(stored.note)
            except NoteError:
                continue
        found = stored.note
    if found is None:
        raise ReadError(f"`{path}` holds no checkpoint")
    return found


def _as_json(story: "Story") -> dict[str, Any]:
    from audit.formats.json_lines import as_dict

    return {
        "seq": story.seq,
        "steps": [{"after_us": step.after_us, "record": as_dict(step.record)} for step in story.steps],
        "more": story.more,
        "sealed": story.sealed,
        "proven": story.proven,
        "confirmed": story.confirmed,
    }


def lines(story: "Story", *, width: int, colour: bool) -> Iterator[str]:
    """The story as lines of at most `width` columns."""
    from audit.known import Known
    from audit.plain import span_text

    one = next(step.record.envelope for step in story.steps if step.record.envelope.seq == story.seq)
    yield f"record {story.seq} of {one.log}"
    who = [f"{name} {value}" for name, value in (("session", one.session), ("agent", one.agent)) if value]
    if who:
        yield ", ".join(who)
    told: dict[str, object] = {}
    most = len(str(story.steps[-1].record.envelope.seq))
    for step in story.steps:
        record = step.record.envelope
        since = "" if step.after_us is None else f"  {'' if step.after_us < 0 else '+'}{span_text(step.after_us)}"
        mark = "▸" if record.seq == story.seq else " "
        to = "" if record.ref is None else f" → {record.ref}"
        yield ""
        yield f"{mark}{record.seq:>{most}}  {record.kind}{to}  {rfc3339(record.time)}{since}"
        for label, text in _told(step, Known.of(record.body), told):
            yield from _folded(label, text, width=width, colour=colour)
    yield ""
    if story.more:
        yield f"more records refer to these; `list --ref {story.steps[0].record.envelope.seq}` shows them"
    yield from textwrap.wrap(_vouched(story), width)


def _told(step: "Step", known: "Known", told: dict[str, object]) -> Iterator[tuple[str, str]]:
    """What a step says, as (label, text); what an earlier step of the story said already is left out."""
    body = step.record.envelope.body
    if known.decision is not None:
        yield from _new(told, "proposed", _proposal(known))
        yield from _new(told, "in", known.cwd)
        yield from _new(told, "claimed", known.intent)
        if told.get("found") != (known.operations, known.evidence, known.facts):
            told["found"] = (known.operations, known.evidence, known.facts)
            yield from _found(known)
        tier = "" if known.tier is None else f" at tier {known.tier}"
        yield "verdict", f"{known.decision}{tier}" + ("" if known.rule is None else f" by {known.rule}")
        if known.reason is not None:
            yield "", known.reason
    elif known.status is not None:
        yield "outcome", ", ".join(known.outcome())
        redactions = body.get("redactions")
        if isinstance(redactions, dict) and redactions:
            yield "", "taken out: " + ", ".join(f"{count} of {name}" for name, count in redactions.items())
        yield from _withheld(known)
    elif known.state is not None:
        yield "answer", known.state + (f" by {known.answered_by}" if known.answered_by else ", by nobody")
        if known.note is not None:
            yield "note", known.note
    elif known.enforced is not None:
        yield (
            "runs",
            ("" if known.isolation is None else f"isolation {known.isolation}, ") + f"enforced by {known.enforced}",
        )
    else:
        if known.reason is not None:
            yield "reason", known.reason if known.count in {None, 1} else f"{known.reason}, {known.count} times"
        yield from _withheld(known)
        said = {"reason", "count", "permit"} | ({"withheld", "evidence"} if known.withheld else set())
        yield from _plain({name: value for name, value in body.items() if name not in said})


def _new(told: dict[str, object], label: str, text: str | None) -> Iterator[tuple[str, str]]:
    if text is not None and told.get(label) != text:
        told[label] = text
        yield label, text


def _proposal(known: "Known") -> str | None:
    view = dict(known.view or {})
    shown = known.main
    if shown is not None:
        name = next(name for name, value in view.items() if value == shown)
        del view[name]
    rest = json.dumps(view, ensure_ascii=False) if view else None
    return "  ".join(part for part in (known.type, shown, rest) if part) or None


def _found(known: "Known") -> Iterator[tuple[str, str]]:
    label = "found"
    if known.operations:
        yield label, "it would " + ", ".join(known.operations)
        label = ""
    for name, value in (known.facts or {}).items():
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        if text and value is not None:
            yield label, f"{name}: {text}"
            label = ""
    for line in _first(known.evidence):
        yield label, line
        label = ""


def _withheld(known: "Known") -> Iterator[tuple[str, str]]:
    """What the agent was not given of a text that came in, and what spoke against it: which rule, of which tier."""
    if known.withheld:
        yield "withheld", f"{', '.join(known.withheld)}: not given to the agent"
        yield from (("", line) for line in _first(known.evidence))


def _first(evidence: Sequence[str]) -> Iterator[str]:
    yield from evidence[:_FACTS]
    if len(evidence) > _FACTS:
        yield f"… {len(evidence) - _FACTS} more"


def _plain(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    from audit.known import scalars

    members = scalars(body)
    yield from members[:_FACTS]
    left = len(members[_FACTS:]) + sum(isinstance(value, list) for value in body.values())
    if left:
        yield "", f"… and {left} more, which `list --json` shows"


def _folded(label: str, text: str, *, width: int, colour: bool) -> Iterator[str]:
    from audit.formats.table import STYLES

    room = max(16, width - _LABEL - 3)
    pieces: Sequence[str] = textwrap.wrap(printable(text), room, break_on_hyphens=False) or [""]
    if len(pieces) > _FOLDED:
        pieces = [*pieces[: _FOLDED - 1], pieces[_FOLDED - 1][: room - 1] + "…"]
    word, gap, rest = pieces[0].partition(" ")
    style = STYLES.get(word) if label == "verdict" and colour else None
    first = pieces[0] if style is None else f"{style.render(word)}{gap}{rest}"
    yield f"   {printable(label) + ' ':<{_LABEL}}{first}".rstrip()
    for piece in pieces[1:]:
        yield f"   {'':<{_LABEL}}{piece}"


def _vouched(story: "Story") -> str:
    """What shows that the steps are what was recorded."""
    seqs = [step.record.envelope.seq for step in story.steps]
    beyond = [seq for seq in seqs if seq >= story.sealed]
    covered = "all of it stands" if not beyond else f"what is before record {beyond[0]} stands"
    if story.proven is None:
        under = f"{covered} under the newest checkpoint" if len(beyond) < len(seqs) else "no checkpoint covers this yet"
        return f"not proven: {under} ({story.sealed} records), but no --key was given to check that with"
    signed = f"the signed checkpoint of {story.sealed} records"
    said = f"proven: {covered} under {signed} (that none is missing, `verify` shows)"
    if len(beyond) == len(seqs):
        said = f"unsealed: the newest signed checkpoint covers {story.sealed} records and nothing of this yet"
    if story.confirmed is None:
        return f"{said}; not compared with any from outside"
    reach = "all of it" if seqs[-1] < story.confirmed else f"what is before record {story.confirmed}"
    reach = "nothing of it" if seqs[0] >= story.confirmed else reach
    return f"{said}; {reach} also under one from outside, of {story.confirmed}"

"""What `shield model scan` says of a text: as JSON, for a person at a terminal, and for code scanning."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from shield.cli.model_rows import Row, Unread, UnreadFile
from shield.cli.notices import Level, Notice
from shield.cli.render import compact, near, shown
from shield.tiers.texts import CLASSIFIER
from shield.tiers.views import RAW, SOURCE, VISIBLE
from shield.types import Answer, Decision, Json, TextFinding

__all__ = ["Scanned", "as_json", "as_notices", "as_text", "titles", "unread_json", "unread_notice", "unread_text"]

_DECISIONS = {Answer.BLOCK: Decision.BLOCK, Answer.ESCALATE: Decision.ESCALATE}
_NONE = "none"
_UNREAD = "unread"
_UNNAMED = "this speaks against the text"
_AS_WRITTEN = (RAW, SOURCE, VISIBLE)
_EXCERPT_LEAST = 24
_MANY = 20  # places of one text that a person reads; JSON has all


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """One text as it was judged. `findings` are the most severe first; `score` is the classifier's, None without one;
    `unread` says why not all of it was read, which is never an ALLOW; `failed` says that something broke over it."""

    row: Row
    findings: tuple[TextFinding, ...]
    score: float | None
    unread: str | None = None
    failed: bool = False

    @property
    def decision(self) -> Decision:
        answers = {finding.answer for finding in self.findings}
        if Answer.BLOCK in answers:
            return Decision.BLOCK
        return Decision.ESCALATE if self.unread is not None or Answer.ESCALATE in answers else Decision.ALLOW

    @property
    def by(self) -> str:
        """Who decided: a rule before the classifier where both say the same, because it says what it saw."""
        return min((_by(finding) for finding in self._deciding), key=lambda by: by == CLASSIFIER, default=_NONE)

    @property
    def _deciding(self) -> Iterator[TextFinding]:
        return (finding for finding in self.findings if _DECISIONS.get(finding.answer) is self.decision)


def as_json(scanned: Scanned) -> str:
    """One line: `{"id","decision","score","by","spans"}`, offsets in code points of the text; and `unread`, why not all
    of it was read, where that is so."""
    spans: list[Json] = [
        {"start": finding.start, "end": finding.end, "rule": finding.rule} for finding in scanned.findings
    ]
    return compact(
        {
            "id": scanned.row.id,
            "decision": scanned.decision.value,
            "score": scanned.score,
            "by": scanned.by,
            "spans": spans,
            **({} if scanned.unread is None else {"unread": scanned.unread}),
        }
    )


def unread_json(unread: Unread) -> str:
    """A line that could not be read: what the answer to a text has, and what `shield check` says; its file, if any."""
    return compact(
        {
            "id": unread.id,
            **({} if unread.file is None else {"file": unread.file}),
            "line": unread.line,
            "decision": Decision.BLOCK.value,
            "score": None,
            "by": _NONE,
            "spans": [],
            "rule": unread.error.reason.value,
            "reason": _why(unread),
        }
    )


def unread_text(unread: Unread) -> str:
    where = f"line {unread.line}" if unread.file is None else f"{near(unread.file)}:{unread.line}"
    return shown(f"BLOCK     {where}: {unread.error.reason.value}: {_why(unread)}")


def unread_notice(unread: UnreadFile) -> Notice:
    """For code scanning, which would take silence for a clean file."""
    return Notice(code=_UNREAD, level=Level.ERROR, file=unread.file, line=1, message=unread.why)


def as_text(scanned: Scanned, reasons: Mapping[str, str], columns: int) -> Iterator[str]:
    """The decision, the places that speak against the text with what stands there, and why, once for each rule."""
    told: set[str] = set()
    score = "" if scanned.score is None else f", score {scanned.score:.2f}"
    said = f"read as {scanned.row.kind.value}{score}"
    yield f"{scanned.decision.value:<8}  {shown(near(scanned.row.id))}  {said}"
    if scanned.unread is not None:
        yield f"  {scanned.unread}"
    for finding in scanned.findings[:_MANY]:
        yield from _found(finding, scanned.row.text, columns)
        if finding.rule in reasons and finding.rule not in told:
            told.add(finding.rule)
            yield f"      {shown(reasons[finding.rule])}"
    if len(scanned.findings) > _MANY:
        yield f"  … {len(scanned.findings) - _MANY} more, see --json"


def as_notices(scanned: Scanned, reasons: Mapping[str, str]) -> Iterator[Notice]:
    """One for each place; a text that was not read whole has one at its beginning."""
    if scanned.unread is not None:
        yield Notice(code=_UNREAD, level=Level.WARNING, file=scanned.row.id, line=1, message=scanned.unread)
    for finding in scanned.findings:
        line, column = _place(scanned.row.text, finding.start)
        yield Notice(
            code=finding.rule,
            level=Level.ERROR if finding.answer is Answer.BLOCK else Level.WARNING,
            file=scanned.row.id,
            line=line,
            column=column,
            message=f"{finding.answer.value}, read as {finding.kind.value}: {reasons.get(finding.rule, _UNNAMED)}",
        )


def titles(texts: Sequence[Scanned], reasons: Mapping[str, str]) -> dict[str, str]:
    """A title for each code that `as_notices` gives of these."""
    found = {finding.rule for scanned in texts for finding in scanned.findings}
    return {rule: reasons.get(rule, _UNNAMED) for rule in sorted(found)} | {_UNREAD: "not all of the text was read"}


def _found(finding: TextFinding, text: str, columns: int) -> Iterator[str]:
    """Where it is and what stands there; of what is encoded only that it is in there."""
    line, column = _place(text, finding.start)
    said = f"{finding.answer.value} {finding.rule}"
    if finding.layer not in _AS_WRITTEN:
        yield f"  in the {shown(finding.layer)} layer: {said}"
        return
    head = f"  {line}:{column}  {said}  "
    excerpt = shown(json.dumps(text[finding.start : finding.end][:columns], ensure_ascii=False))
    room = columns - len(head)
    if room >= _EXCERPT_LEAST:
        yield head + _cut(excerpt, room)
    else:
        yield head.rstrip()
        yield f"      {_cut(excerpt, columns - 6)}"


def _by(finding: TextFinding) -> str:
    return finding.rule if finding.rule == CLASSIFIER else f"heuristic:{finding.rule}"


def _why(unread: Unread) -> str:
    error = unread.error
    if error.offset is not None:
        return f"{error.detail} (byte {error.offset})"
    return f"{error.detail} (at `{error.pointer}`)" if error.pointer else error.detail


def _place(text: str, offset: int) -> tuple[int, int]:
    """Line and column, both from 1, of a code point."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else f"{text[: max(size - 1, 0)]}…"

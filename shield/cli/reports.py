"""Reports of `shield eval` for people, for CI servers, for code scanning and for GitHub's annotations."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from shield.cli.notices import Level, Notice, as_github, as_sarif
from shield.cli.outcome import Result
from shield.cli.render import compact, near, shown
from shield.cli.trial import Report, Trial
from shield.policy.tools.exercise import RuleCoverage, Seen, percent

__all__ = ["eval_github", "eval_junit", "eval_sarif", "eval_text"]

_RULES = {
    "case.failed": "a case did not get the verdict that it wants",
    "case.error": "a case could not be judged",
    "coverage.rule": "no case makes this rule hold",
    "coverage.side": "no case comes to this side of a condition",
    "mutant.survived": "a mistake here is noticed by no case and no example",
}
_MANY = 20  # gaps that a person reads; the other formats have all


def eval_text(report: Report) -> str:
    """One line a policy and, for each case that did not pass, what was wanted, what came and on which facts."""
    lines = []
    for trial in report.trials:
        lines.append(shown(f"{trial.policy}: {len(trial.outcomes) - trial.failed} passed, {trial.failed} failed"))
        for outcome in trial.outcomes:
            if outcome.status != "pass":
                lines.extend(f"  {shown(line)}" for line in _lines(outcome))
        lines.extend(f"  {shown(line)}" for line in _extra(trial))
    return "\n".join(lines)


def eval_junit(report: Report) -> str:
    """JUnit's XML: a suite a policy, a test a case."""
    root = Element("testsuites")
    for trial in report.trials:
        _suite(root, trial)
    indent(root)
    return tostring(root, encoding="unicode", xml_declaration=True)


def eval_sarif(report: Report) -> str:
    """SARIF 2.1.0: failures as errors, what no case shows as warnings and notes."""
    return as_sarif([notice for trial in report.trials for notice in _notices(trial)], _RULES)


def eval_github(report: Report) -> str:
    """Annotations for failures and gaps, then the text for the log."""
    notices = as_github(notice for trial in report.trials for notice in _notices(trial))
    text = eval_text(report)
    return f"{notices}\n{text}" if notices else text


def _suite(root: Element, trial: Trial) -> None:
    errors = sum(outcome.status == "error" for outcome in trial.outcomes)
    suite = SubElement(
        root,
        "testsuite",
        name=shown(trial.policy),
        tests=str(len(trial.outcomes)),
        failures=str(trial.failed - errors),
        errors=str(errors),
    )
    for outcome in trial.outcomes:
        test = SubElement(
            suite,
            "testcase",
            classname=shown(f"{trial.policy}.{outcome.file}"),
            name=shown(outcome.id),
            file=shown(outcome.file),
            line=str(outcome.line),
        )
        if outcome.status != "pass":
            lines = [shown(line) for line in _lines(outcome)]
            kind = "error" if outcome.status == "error" else "failure"
            SubElement(test, kind, message=lines[0]).text = "\n".join(lines[1:])


def _problems(outcome: Result) -> str:
    return "; ".join([*outcome.wrong, *(f"rule `{rule}` could not be evaluated" for rule in outcome.troubled)])


def _lines(outcome: Result) -> list[str]:
    facts = {key: value for key, value in outcome.facts.items() if value not in ([], None)}
    return [
        f"{outcome.file}:{outcome.line}: {outcome.id}: {_problems(outcome)}",
        f"  decided by `{outcome.rule}`: {outcome.reason}",
        *(f"  {line}" for line in dict.fromkeys(outcome.evidence)),
        f"  facts: {compact(facts)}",
    ]


def _extra(trial: Trial) -> Iterator[str]:
    if trial.coverage is not None:
        yield from _coverage(trial.coverage)
    if trial.mutation is not None:
        found = trial.mutation
        yield (
            f"mutants: {found.tried - len(found.survivors)} of {found.tried} noticed{_share(found.percent)}, "
            f"out of {found.possible} possible, seed {found.seed}"
        )
        for mutant in found.survivors[:_MANY]:
            place = f"{near(mutant.rule.file)}:{mutant.mark.line}:{mutant.mark.column}"
            yield f"  {place}: {mutant.rule.id}: {_change(mutant.before, mutant.after)}"
        yield from _rest(len(found.survivors))


def _coverage(rules: tuple[RuleCoverage, ...]) -> Iterator[str]:
    held = sum(rule.held is Seen.CASE for rule in rules)
    sides = [side for rule in rules for side in rule.sides]
    seen = sum(side.seen is Seen.CASE for side in sides)
    yield f"coverage: {held} of {len(rules)} rules held, {seen} of {len(sides)} sides seen{_share(percent(rules))}"
    gaps = [line for rule in rules for line in _gaps(rule)]
    yield from (f"  {line}" for line in gaps[:_MANY])
    yield from _rest(len(gaps))


def _share(percentage: float | None) -> str:
    return "" if percentage is None else f" ({percentage:.1f} %)"


def _gaps(rule: RuleCoverage) -> Iterator[str]:
    if rule.held is not Seen.CASE:
        only = ", only its own examples do" if rule.held is Seen.EXAMPLE else ""
        yield f"{near(rule.file)}:{rule.line}: {rule.rule}: no case makes it hold{only}"
        return
    for side in rule.sides:
        if side.seen in (Seen.NOTHING, Seen.EXAMPLE):
            only = ", only in an example" if side.seen is Seen.EXAMPLE else ""
            place = f"{near(rule.file)}:{side.mark.line}:{side.mark.column}"
            yield f"{place}: {rule.rule}: never {str(side.value).lower()} in a case{only}: `{side.text[:80]}`"


def _rest(count: int) -> Iterator[str]:
    if count > _MANY:
        yield f"  … {count - _MANY} more, see --format json"


def _change(before: str, after: str) -> str:
    return f"`{before}` left out" if after == "left out" else f"`{before}` as `{after}`"


def _notices(trial: Trial) -> Iterator[Notice]:
    for outcome in trial.outcomes:
        if outcome.status != "pass":
            yield Notice(
                code="case.error" if outcome.status == "error" else "case.failed",
                level=Level.ERROR,
                file=outcome.file,
                line=outcome.line,
                message=shown(f"{trial.policy}: {outcome.id}: {_problems(outcome)}; decided by `{outcome.rule}`"),
            )
    for rule in trial.coverage or ():
        yield from _uncovered(rule)
    for mutant in trial.mutation.survivors if trial.mutation is not None else ():
        yield Notice(
            code="mutant.survived",
            level=Level.WARNING,
            file=mutant.rule.file,
            line=mutant.mark.line,
            column=mutant.mark.column,
            rule=mutant.rule.id,
            message=shown(f"{mutant.rule.id}: nothing notices {_change(mutant.before, mutant.after)}"),
        )


def _uncovered(rule: RuleCoverage) -> Iterator[Notice]:
    if rule.held is not Seen.CASE:
        yield Notice(
            code="coverage.rule",
            level=Level.WARNING,
            file=rule.file,
            line=rule.line,
            rule=rule.rule,
            message=f"no case makes the rule `{rule.rule}` hold",
        )
        return
    for side in rule.sides:
        if side.seen in (Seen.NOTHING, Seen.EXAMPLE):
            yield Notice(
                code="coverage.side",
                level=Level.NOTE,
                file=rule.file,
                line=side.mark.line,
                column=side.mark.column,
                rule=rule.rule,
                message=shown(f"{rule.rule}: never {str(side.value).lower()} in a case: `{side.text}`"),
            )

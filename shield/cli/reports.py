"""Reports of `shield eval` for people and for CI servers."""

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from shield.cli.render import compact, shown
from shield.cli.trial import Outcome, Report, Trial
from shield.facts.json import facts_json

__all__ = ["as_junit", "as_text"]


def as_text(report: Report) -> str:
    """One line a policy and, for each case that did not pass, what was wanted, what came and on which facts."""
    lines = []
    for trial in report.trials:
        lines.append(shown(f"{trial.policy}: {len(trial.outcomes) - trial.failed} passed, {trial.failed} failed"))
        for outcome in trial.outcomes:
            if outcome.status != "pass":
                lines.extend(f"  {shown(line)}" for line in _lines(outcome))
    return "\n".join(lines)


def as_junit(report: Report) -> str:
    """JUnit's XML: a suite a policy, a test a case."""
    root = Element("testsuites")
    for trial in report.trials:
        _suite(root, trial)
    indent(root)
    return tostring(root, encoding="unicode", xml_declaration=True)


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
        case = outcome.case
        test = SubElement(
            suite,
            "testcase",
            classname=shown(f"{trial.policy}.{case.file}"),
            name=shown(case.id),
            file=shown(case.file),
            line=str(case.line),
        )
        if outcome.status != "pass":
            lines = [shown(line) for line in _lines(outcome)]
            kind = "error" if outcome.status == "error" else "failure"
            SubElement(test, kind, message=lines[0]).text = "\n".join(lines[1:])


def _lines(outcome: Outcome) -> list[str]:
    case, verdict = outcome.case, outcome.verdict
    problems = [*outcome.wrong, *(f"rule `{rule}` could not be evaluated" for rule in outcome.troubled)]
    facts = {key: value for key, value in facts_json(outcome.facts).items() if value not in ([], None)}
    return [
        f"{case.file}:{case.line}: {case.id}: {'; '.join(problems)}",
        f"  decided by `{verdict.rule}`: {verdict.reason}",
        *(f"  {line}" for line in dict.fromkeys(verdict.evidence)),
        f"  facts: {compact(facts)}",
    ]

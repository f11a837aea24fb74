"""Maven and Gradle: the goals and properties among their words that run more than the project's own code."""

import re

from shield.facts.programs.cleared import emptied
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.reading import Value
from shield.regex import regex
from shield.types import RunsCode

__all__ = ["built_by_java"]

_MAVEN = frozenset(("mvn", "mvnw"))
_GRADLE = frozenset(("gradle", "gradlew"))
# What `clean` deletes is a property, in its older versions one of the line's own.
_BUILD_FOLDER = regex(r"(?:-P|--project-prop[= ]?)?(?:project\.)?(?:buildDir|layout\.buildDirectory)=(.*)", re.DOTALL)


def built_by_java(call: Invocation, operands: list[Value]) -> None:
    """What the words of Maven and Gradle have them run or delete; other tools have no such words."""
    if call.name in _MAVEN:
        _plugins(call, operands)
    for word in call.words if call.name in _GRADLE else ():
        found = _BUILD_FOLDER.fullmatch(word.text)
        if found is not None:
            emptied(call, Value(text=found[1], known=word.fixed), call.name)


def _plugins(call: Invocation, goals: list[Value]) -> None:
    """Maven runs the goal of any plugin by its coordinates; those of some run what properties say, and `help:system`
    shows the environment."""
    told = any(word.text.startswith("-D") and re.search(r"\b(?:env|settings)\b", word.text) for word in call.words)
    for goal in goals:
        if goal.text in ("help:system", "help:effective-settings") or (goal.text == "help:evaluate" and told):
            call.reading.unknown.append(f"`mvn {goal.text}` shows the environment, or the user's own settings")
        if goal.text.count(":") > 1:
            call.reading.run(RunsCode.FETCHED)
            call.reading.unknown.append(f"`{goal.text[:80]}` may be a plugin that the project does not name")
        elif goal.text.startswith(("exec:", "gmaven:", "gmavenplus:", "groovy:", "jshell:")):
            call.reading.run(RunsCode.INLINE)

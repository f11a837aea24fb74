"""Maven and Gradle: the goals and properties among their words that run more than the project's own code."""

import re

from shield.facts.filesystem import FileKind
from shield.facts.paths import resolve_path
from shield.facts.programs.cleared import emptied
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.mention import bases_of
from shield.facts.programs.reading import Value
from shield.regex import regex
from shield.types import RunsCode

__all__ = ["built_by_java"]

_MAVEN = frozenset(("mvn", "mvnw"))
_GRADLE = frozenset(("gradle", "gradlew"))
# What `clean` deletes is a property, in its older versions one of the line's own.
_BUILD_FOLDER = regex(r"(?:-P|--project-prop[= ]?)?(?:project\.)?(?:buildDir|layout\.buildDirectory)=(.*)", re.DOTALL)


# A build file's own name for a folder, which its `clean` may delete. `maven.test.skip` and its like are none.
_OWN_FOLDER = regex(r"-D[\w.-]*(?i:build|target|dist|output|dest|classes|docs?)[\w.-]*=(.*)", re.DOTALL)
_CLEANS = regex(r"[\w.:-]*(?i:clean|clobber)[\w.:-]*")


def built_by_java(call: Invocation, operands: list[Value]) -> None:
    """What the words of Maven and Gradle have them run or delete; other tools have no such words."""
    if call.name in _MAVEN:
        _plugins(call, operands)
    for word in call.words if call.name in _GRADLE else ():
        found = _BUILD_FOLDER.fullmatch(word.text)
        if found is not None:
            emptied(call, Value(text=found[1], known=word.fixed), call.name)
    if call.name in ("ant", *_MAVEN) and any(_CLEANS.fullmatch(word.text) for word in operands):
        for found in filter(None, (_OWN_FOLDER.fullmatch(word.text) for word in call.words)):
            if _is_folder(call, found[1]):
                emptied(call, Value(text=found[1]), call.name)


def _is_folder(call: Invocation, text: str) -> bool:
    place = call.context.place
    found = [resolve_path(f"./{text}", place, base=base, expand_tilde=False).stat for base in bases_of(call)]
    found.append(resolve_path(text, place, base=None, expand_tilde=False).stat if text.startswith("/") else None)
    return any(stat is not None and stat.kind is FileKind.DIRECTORY for stat in found)


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

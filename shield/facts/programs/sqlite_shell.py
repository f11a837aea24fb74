"""What the shell of SQLite is told, in its words, its `-cmd` or its input (sqlite3(1); sqlite.org/cli.html).

A list of what it may be: queries, rows and tables that are added, and commands that set how something is shown or read
rows from a file. All others are code: `.shell`, `.system`, `.read`, `.load`, `.output |x`, `.import |x`, `.open` …
"""

from dataclasses import dataclass

from shield.facts.programs.statements import only_reads
from shield.regex import regex

__all__ = ["Told", "told"]

_MAX_TEXT = 65_536
_MAX_STATEMENT = 8_192
# How something is shown. What stands behind it is a word or a quoted text, with neither a backslash nor a pipe in it.
_SHOWING = regex(
    r"\.(?:(?:mode|separator|nullvalue|width|print|prompt|timeout)(?:[ \t]+(?:[^\s'\"\\|]+|\"[^\"\\|]*\"|'[^'\\|]*'))*"
    r"|(?:headers?|bail|changes|echo|eqp|explain|timer|stats)[ \t]+(?:on|off)|quit|exit)[ \t]*"
)
_IMPORT = regex(
    r"\.import(?:[ \t]+(?:--?csv|--?ascii|-v|--?skip[ \t]+[0-9]+))*[ \t]+(?P<file>[A-Za-z0-9_./][A-Za-z0-9_./+-]*)"
    r"(?:[ \t]+(?:--?csv|--?ascii|-v|--?skip[ \t]+[0-9]+))*[ \t]+(?P<table>[A-Za-z_]\w*)"
    r"(?:[ \t]+(?:--?csv|--?ascii|-v|--?skip[ \t]+[0-9]+))*[ \t]*"
)
_ADDING = regex(r"(?i)[ \t\n]*(?:create[ \t\n]+(?:temp[ \t\n]+)?table|insert[ \t\n]+into)[ \t\n][^;]*;?[ \t\n]*")
# A line that ends a statement, or that newer shells take for a comment.
_LONE = regex(r"(?i)/|go|#.*")


@dataclass(frozen=True, slots=True)
class Told:
    """What is read and changed, if all of it is known. `imports`: files of which rows are added. `adding`: statements
    that add tables or rows, whose words are not looked at yet."""

    imports: tuple[str, ...] = ()
    adding: tuple[str, ...] = ()

    @property
    def writes(self) -> bool:
        return bool(self.imports or self.adding)


def told(text: str) -> Told | None:
    """What the lines say; None where one of them is not known."""
    if len(text) > _MAX_TEXT or "\0" in text or "\r" in text:
        return None
    imports: list[str] = []
    adding: list[str] = []
    statement = ""
    for line in text.split("\n"):
        bare = line.strip(" \t")
        if _LONE.fullmatch(bare):
            return None
        if bare.startswith("."):
            # INVARIANT: wherever such a line stands it is one of these, so that where a statement ends does not matter
            found = _IMPORT.fullmatch(bare)
            if found is not None and not found["table"].lower().startswith("sqlite_"):
                imports.append(found["file"])
            elif not _SHOWING.fullmatch(bare) and not (only_reads(bare) and not statement.strip()):
                return None
            continue
        statement += line + "\n"
        if len(statement) > _MAX_STATEMENT:
            return None
        if bare.endswith(";"):
            if not _known(statement, adding):
                return None
            statement = ""
    if statement.strip() and not _known(statement, adding):
        return None
    return Told(tuple(imports), tuple(adding))


def _known(statement: str, adding: list[str]) -> bool:
    if only_reads(statement):
        return True
    if _ADDING.fullmatch(statement) is None or "sqlite_" in statement.lower():
        return False
    adding.append(statement.strip().rstrip(";"))
    return True

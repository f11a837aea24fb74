"""`pnpm NAME`, `yarn NAME`, `bun run NAME`: a script of package.json, else a program of the project's packages, else to
some of them one of the system."""

import posixpath

from shield.facts.programs.invocation import Invocation
from shield.facts.programs.javascript.scripts import names_script
from shield.facts.programs.library import models
from shield.facts.programs.mention import bases_of
from shield.facts.programs.owned import own_program
from shield.facts.programs.reading import Value

__all__ = ["starts_by_name"]


def starts_by_name(call: Invocation, words: list[Value], *, system: bool) -> bool:
    """Whether the words are surely a command, which is added. `system`: programs on PATH are looked for, too."""
    if not words or not words[0].fixed or names_script(words[0].text, call.context.place, bases_of(call)):
        return False
    found = own_program(call, words[0], ("node_modules/.bin",))
    known = found is not words[0] or (system and posixpath.basename(words[0].text) in models())
    if known:
        call.command([found, *words[1:]])
    return known

"""`pnpm NAME`, `yarn NAME`, `bun run NAME`: a script of package.json, else a program of the project's packages, else to
some of them one of the system.

Where packages are kept as archives (Yarn's Plug'n'Play), or further up, no folder shows their programs: by a name that
everybody knows it is the program of that name.
"""

import posixpath

from shield.facts.programs.invocation import Invocation
from shield.facts.programs.javascript.scripts import names_script
from shield.facts.programs.library import models
from shield.facts.programs.mention import bases_of
from shield.facts.programs.outcomes import told_outcome
from shield.facts.programs.owned import own_program
from shield.facts.programs.reading import Value
from shield.types import RunsCode

__all__ = ["starts_by_name"]


def starts_by_name(call: Invocation, words: list[Value], *, system: bool) -> bool:
    """Whether the words are surely a command, which is added. `system`: programs on PATH are looked for, too."""
    if not words or not words[0].fixed or names_script(words[0].text, call.context.place, bases_of(call)):
        return False
    found = own_program(call, words[0], ("node_modules/.bin",))
    model = models().get(posixpath.basename(words[0].text))
    if found is not words[0] or (system and model is not None):
        call.command([found, *words[1:]])
        return True
    told_outcome(call.reading, words[0].text, words[1:])
    if model is not None:
        call.reading.run(RunsCode.WORKSPACE)
        call.read_as(model.name, model, tuple(words[1:]))
    return model is not None

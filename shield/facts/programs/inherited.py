"""What a shell runs by the environment that it is started in: `BASH_ENV=y.sh bash -c true`, in a script or a recipe.

Such a shell may be any program's, or no more than one that is started further on. Source: bash(1), INVOCATION and
PROMPTING; dash(1), ENV.
"""

from shield.facts.filesystem import FileKind
from shield.facts.paths import resolve_path
from shield.facts.programs.invocation import Context
from shield.facts.programs.reading import Reading, Value
from shield.facts.programs.scripts import language_of, read_code, run_script

__all__ = ["run_inherited"]

_INTERACTIVE = ("PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4")


def run_inherited(reading: Reading, name: str, context: Context) -> None:
    """Add the scripts that the environment of the command `name` names, and the texts that it has a shell run."""
    told = context.told
    shell = language_of(name) == "sh"
    for variable in ("BASH_ENV", "ENV") if shell else ("BASH_ENV",):
        file = told.get(variable)
        if file and _is_file(file, context):
            run_script(reading, Value(text=file, head=file), "sh", (), context)
    if shell:
        for variable in _INTERACTIVE:
            text = told.get(variable, "")
            if variable == "PROMPT_COMMAND" or "$(" in text or "`" in text:
                read_code(reading, text if variable == "PROMPT_COMMAND" else f': "{text}"', "sh", name, (), context)


def _is_file(file: str, context: Context) -> bool:
    found = (resolve_path(file, context.place, base=base, expand_tilde=False) for base in context.bases)
    return any(each.stat is not None and each.stat.kind is FileKind.FILE for each in found)

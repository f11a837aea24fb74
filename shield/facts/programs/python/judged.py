"""Python code that the line holds: proven to compute, print and work on files that it names, or code like any other."""

import posixpath

from shield.facts.filesystem import FileKind
from shield.facts.fixed import TEMPORARY
from shield.facts.paths import resolve_path
from shield.facts.programs.interpreted import arguments, inline
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.python.alone import may_shadow, runs_alone
from shield.facts.programs.python.files import FileUse
from shield.facts.programs.python.processes import Started
from shield.facts.programs.python.proof import Proof, proven
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.facts.programs.scripts import script_text
from shield.regex import regex
from shield.types import Access, Operation, RunsCode

__all__ = ["as_computed", "judge_python", "judge_script", "stands_alone"]

_PYTHON = regex(r"python(?:3(?:\.\d+)?)?\Z")
# Options with a value that change what is printed, and nothing of what runs.
_QUIET_VALUES = {
    "-X": regex(r"importtime|utf8(?:=[01])?|faulthandler|no_debug_ranges"),
    "-W": regex(r"(?:ignore|default|error|always|module|once)(?:::(?:[A-Z][a-z]+)?Warning)?"),
}
_TEMPORARY = tuple(f"{folder}/" for folder in TEMPORARY)
_QUIET_FLAGS = frozenset("-c -m -B -E -s -S -I -P -u -q -b -bb -O -OO".split())  # noqa: SIM905


def judge_python(
    call: Invocation,
    code: str,
    words: list[Value],
    name: str,
    taken: frozenset[str] = frozenset(),
    *,
    searches: bool = False,
) -> None:
    """Take `code`, run with `words` and `name` before them for its arguments, for what it is. `taken`: names that have
    a meaning where it runs; `searches`: it looks for modules in the directory, whatever the options say."""
    given = (name, *(word.text if word.fixed else None for word in words))
    isolated = call.arguments.has("-I") and not searches
    alone = stands_alone(call, isolated=isolated)
    proof = proven(code, given, lambda module: _projects_own(call, module), taken) if alone else None
    if proof is not None and not _brings_modules(call, proof.changed()):
        _as_proven(call, proof, words, isolated=isolated)
    else:
        call.reading.run(RunsCode.INLINE)
        arguments(call, words)
        proof = None
    if proof is None or proof.modules:
        inline(call, code, words)


def judge_script(call: Invocation, script: Value, words: list[Value]) -> bool:
    """Whether the script in the temporary folder, or one that the line writes, run with `words`, is taken for what it
    is proven to do, as code in the line is. Another of the workspace is the code that is being worked on."""
    bases, place = call.context.bases, call.context.place
    if not script.fixed or not script.text.endswith(".py") or len(bases) != 1:
        return False
    found = resolve_path(_raw(script.text), place, base=bases[0], expand_tilde=False)
    texts = call.context.dictated(found.path or "")
    if found.path is None or not found.path.endswith(".py") or not (found.path.startswith(_TEMPORARY) or texts):
        return False
    there = script_text(found.path, place) if found.stat is not None and found.stat.kind is FileKind.FILE else None
    if there is None and (found.stat is not None or found.symlink or not texts):
        return False
    # What is there may stay where the line cannot write it.
    codes = dict.fromkeys((*texts, there) if there is not None else texts)
    # It looks for modules where the script lies, and not where it is started.
    folder = posixpath.dirname(found.path)
    isolated = call.arguments.has("-I", "-P")
    if not stands_alone(call, isolated=isolated, searched=(folder,)):
        return False
    given = (script.text, *(word.text if word.fixed else None for word in words))
    proofs = [proven(code, given) for code in codes]
    known = [proof for proof in proofs if proof is not None and not proof.modules]
    if len(known) < len(proofs):
        return False
    if any(_brings_modules(call, proof.changed(), searched=(*bases, folder)) for proof in known):
        return False
    reading = call.reading
    operations: set[Operation] = set()
    for proof in known:
        _as_proven(call, proof, words, isolated=True)
        operations |= reading.operations
    reading.operations = operations
    if texts:
        reading.proven[found.path] = frozenset(texts)
    # INVARIANT: what is judged by its content is bound by its content.
    for path in (found.path, folder):
        reading.path(Value(text=path, head=path), Access.EXECUTE)
    reading.path(script, Access.READ)
    return True


def stands_alone(
    call: Invocation, *, isolated: bool | None = None, searched: tuple[str | None, ...] | None = None
) -> bool:
    """Whether it is a Python 3 that nothing steers, and that finds its own library only. `isolated`: it does not look
    for modules in the directory (None: as the options say); `searched`: where it does instead of where it starts."""
    options, place = call.arguments, call.context.place
    if options.foreign or call.reading.loose or not _PYTHON.match(call.name):
        return False
    for option, value in options.given:
        pattern = _QUIET_VALUES.get(option.name)
        quiet = pattern is not None and value is not None and value.fixed and pattern.fullmatch(value.text)
        if option.name not in _QUIET_FLAGS and not quiet:
            return False
    isolated = options.has("-I") if isolated is None else isolated
    searched = call.context.bases if searched is None else searched
    return all(runs_alone(base, place, isolated=isolated) for base in searched)


def as_computed(call: Invocation, uses: tuple[FileUse, ...], *, isolated: bool | None = None) -> None:
    """It runs nothing of anyone's, and does no more than `uses` to files."""
    reading = call.reading
    # The table knows only that an option brings code.
    reading.runs = RunsCode.NONE
    reading.operations = {Operation.EXECUTE}
    for use in uses:
        reading.path(Value(text=use.path, head=use.path), use.access, recursive=use.recursive, look=use.look)
    if not (call.arguments.has("-I") if isolated is None else isolated):
        # It holds as long as nothing in the directory takes the name of a module.
        reading.path(Value(text=".", head="."), Access.EXECUTE)


def _as_proven(call: Invocation, proof: Proof, words: list[Value], *, isolated: bool) -> None:
    as_computed(call, proof.files, isolated=isolated)
    call.reading.nested += [_command(call.name, each) for each in proof.commands]
    if proof.modules:
        call.reading.run(RunsCode.WORKSPACE)
        arguments(call, words)


def _command(name: str, found: Started) -> Nested:
    words = tuple(Value(text=word, head=word) for word in found.words)
    if found.shell:
        return Nested(kind=NestedKind.SHELL, words=words, via=(name, "sh"))
    return Nested(kind=NestedKind.ARGV, words=words, via=(name,))


def _brings_modules(call: Invocation, changed: tuple[str, ...], searched: tuple[str | None, ...] | None = None) -> bool:
    """Whether what the code writes may stand in for a module that it imports later, without saying so. `searched`:
    where modules are looked for, each of them instead of where it starts."""
    for base in call.context.bases:
        for text in changed:
            found = resolve_path(_raw(text), call.context.place, base=base, expand_tilde=False)
            if base is None or found.path is None:
                return True
            # a link by such a name would have ended the proof already
            for folder in (base,) if searched is None else searched:
                beneath = found.path.removeprefix(f"{folder}".rstrip("/") + "/")
                if beneath != found.path and may_shadow(beneath.split("/")[0]):
                    return True
    return False


def _raw(text: str) -> str:
    return text if text.startswith("/") else f"./{text}"


def _projects_own(call: Invocation, module: str) -> bool:
    """Whether the project has a module of this name where it is started, or in `src`."""
    place = call.context.place
    names = [f"./{folder}{module}{end}" for folder in ("", "src/") for end in (".py", "/__init__.py", "")]
    found = [resolve_path(name, place, base=base, expand_tilde=False) for base in call.context.bases for name in names]
    roots = tuple(root.rstrip("/") + "/" for root in place.workspace_roots)
    return any(each.exists and each.path is not None and each.path.startswith(roots) for each in found)

"""node: what code it is given or pointed to, and what of it is proven to compute."""

from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.filesystem import FileKind
from shield.facts.paths import resolve_path
from shield.facts.programs.interpreted import arguments, given_code, only_version, script_and_rest
from shield.facts.programs.invocation import Context, Invocation, Special
from shield.facts.programs.javascript.proof import node_proven
from shield.facts.programs.javascript.scripts import package_scripts
from shield.facts.programs.leading import mention_value
from shield.facts.programs.mention import bases_of
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Value
from shield.types import Access, Operation, RunsCode

__all__ = ["NODE"]


def _node(call: Invocation) -> bool:
    options = call.arguments
    if only_version(call) or (options.has("-v") and not call.operands):
        return True
    call.reading.run(RunsCode.WORKSPACE)
    for option, value in options.given:
        if option.value is Use.TEXT:
            mention_value(call.reading, value, home=call.context.place.home)
    if options.foreign or any(value is not None and value.text[:5].lower() == "data:" for _, value in options.given):
        call.reading.run(RunsCode.INLINE)  # of a `data:` URL the module is its own text
    inline = any(option.value is Use.CODE for option, _ in options.given)
    given = any(option.name in ("-c", "--check") for option, _ in options.given)
    if inline and _node_tells(call):
        return True
    for value in options.values("--run"):
        package_scripts(call.reading, call.name, value.text, call.context.place, bases_of(call))
    if inline or given or (not call.operands and options.has("--test", "--run")):
        given_code(call)
        arguments(call, call.operands)
        return True
    script_and_rest(call, call.operands)
    return True


_TYPES = frozenset(("commonjs", "module"))
_NODE_QUIET = frozenset(("-e", "--eval", "-p", "--print"))


def _node_tells(call: Invocation) -> bool:
    """`node -e`, `-p`: where the code surely does no more than compute, print and read what it names."""
    reading, context = call.reading, call.context
    codes = [value for option, value in call.arguments.given if option.value is Use.CODE]
    plain = all(
        option.name in _NODE_QUIET or (option.name == "--input-type" and value is not None and value.text in _TYPES)
        for option, value in call.arguments.given
    )
    if len(codes) != 1 or codes[0] is None or not (codes[0].fixed and plain) or call.arguments.foreign or reading.loose:
        return False
    proof = node_proven(codes[0].text) if call.name in ("node", "nodejs") else None
    steered = any(name.startswith("NODE_") and name != "NODE_ENV" for name in context.place.env)
    if proof is None or steered or not all(_is_json(context, name) for name in proof.requires):
        return False
    reading.runs = RunsCode.NONE
    reading.operations = {Operation.EXECUTE}
    for text in (*proof.reads, *proof.requires):
        reading.path(Value(text=text, head=text), Access.READ)
    for text in proof.looks:
        reading.path(Value(text=text, head=text), Access.LIST)
    for text in proof.writes:
        reading.path(Value(text=text, head=text), Access.WRITE)
    for text in proof.requires:
        # a link in its place, or a directory, would be run by what it leads to
        reading.path(Value(text=text, head=text), Access.EXECUTE)
    return True


def _is_json(context: Context, name: str) -> bool:
    """Node follows links first and then goes by the name of the file: of a directory it runs the code in it."""
    found = [resolve_path(name, context.place, base=base, expand_tilde=False) for base in context.bases]
    return all(
        each.stat is not None and each.stat.kind is FileKind.FILE and (each.path or "").endswith(".json")
        for each in found
    )


NODE: Mapping[str, Special] = MappingProxyType({"node": _node})

"""jq, yq and clients with a `--jq` of their own: filters that surely only compute (jq(1); yq: mikefarah.gitbook.io/yq).

Two programs are called yq: one in Go, with a language of its own, and one that hands its filter to jq. What either
would read or show counts.
"""

from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.paths import resolve_path
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Value
from shield.regex import regex

__all__ = ["QUERIES"]

# After one dot these are names of fields; after two they are not. jq 1.6 takes `$ ENV` for `$ENV`, with a comment
# between them, too; yq has `load`, `load_str`, `strload` and more.
_ACTIVE = regex(
    r"(?:(?<!\.)|(?<=\.\.))\b(?:input_filename|import|include|env|ENV|strenv|envsubst|debug|\w*load\w*|eval|system|modulemeta)\b"
    r"|\$ENV"
)
_YQ_VERBS = frozenset(("e", "eval", "ea", "eval-all"))


def _jq(call: Invocation) -> bool:
    if call.arguments.foreign:
        return False
    operands = list(call.operands)
    if operands:
        _filter(call, operands.pop(0))
    for operand in operands:
        call.reading.use(Use.READ, operand)
    return True


def _filter(call: Invocation, program: Value) -> None:
    if not program.fixed or _ACTIVE.search(program.text):
        call.reading.caution()


def _yq(call: Invocation) -> bool:
    """yq: a first operand that is the name of a file is no filter to the one in Go, but one more file."""
    if call.arguments.foreign:
        return False
    operands = list(call.operands)
    use = Use.EDIT if call.arguments.has("-i", "--inplace", "--in-place") else Use.READ
    if operands and operands[0].fixed and operands[0].text in _YQ_VERBS:
        operands.pop(0)
    if operands:
        program = operands.pop(0)
        _filter(call, program)
        if _exists(call, program):
            call.reading.use(use, program)
    for operand in operands:
        call.reading.use(use, operand)
    return True


def _exists(call: Invocation, word: Value) -> bool:
    found = [resolve_path(word.text, call.context.place, base=base) for base in call.context.bases]
    return any(each.path is None or each.exists for each in found)


def _client(call: Invocation) -> bool:
    """gh: `--jq` is a filter as jq's, with the environment at hand (gh-help-formatting(7))."""
    for program in call.arguments.values("-q", "--jq"):
        _filter(call, program)
    return False


QUERIES: Mapping[str, Special] = MappingProxyType({"jq": _jq, "yq": _yq, "jq_client": _client})

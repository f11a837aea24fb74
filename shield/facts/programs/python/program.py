"""python: code on its command line, code that it is fed, modules, scripts."""

from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.programs.interpreted import arguments, fed_code, only_version, script_and_rest
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.leading import mention_value
from shield.facts.programs.managed import managed
from shield.facts.programs.model import Use
from shield.facts.programs.outcomes import told_outcome
from shield.facts.programs.python.judged import judge_python, judge_script
from shield.facts.programs.python.modules import run_module
from shield.facts.programs.reading import Value
from shield.facts.programs.scripts import language_of
from shield.types import RunsCode

__all__ = ["PYTHON"]


def _python(call: Invocation) -> bool:
    options = call.arguments
    _values(call)
    if only_version(call):
        return True
    if options.foreign or options.has("-i"):
        call.reading.run(RunsCode.INLINE)
    modules = options.values("-m")
    if options.has("-c"):
        _code(call)
    elif modules:
        run_module(call, modules[0], call.operands)
        if modules[0].fixed and modules[0].text == "django":
            managed(call.reading, Value(text="manage.py"), call.operands)
        told_outcome(call.reading, modules[0].text if modules[0].fixed else "", call.operands)
    elif not call.operands or not judge_script(call, call.operands[0], call.operands[1:]):
        script_and_rest(call, call.operands, _fed)
    return True


def _values(call: Invocation) -> None:
    """Values of options that are no code and no script may still lead out (`-X pycache_prefix=/x`)."""
    for option, value in call.arguments.given:
        if option.value is Use.TEXT and option.name != "-c":
            mention_value(call.reading, value, home=call.context.place.home)


def _code(call: Invocation) -> None:
    """`python -c`: where it surely does no more than compute, print and work on what it names, that is all."""
    codes = call.arguments.values("-c")
    if not codes or not codes[0].fixed:
        call.reading.run(RunsCode.INLINE)
        arguments(call, call.operands)
        return
    judge_python(call, codes[0].text, call.operands, "-c")


def _fed(call: Invocation) -> None:
    context = call.context
    if context.stdin is not None and context.whole and language_of(call.name) == "python" and not context.fetched:
        judge_python(call, context.stdin, call.operands[1:], "-")
    else:
        fed_code(call)


def _coverage(call: Invocation) -> bool:
    """coverage run: a script or a module, as python runs it."""
    _values(call)
    modules = call.arguments.values("-m", "--module")
    if modules:
        run_module(call, modules[0], call.operands)
    else:
        script_and_rest(call, call.operands)
    return True


PYTHON: Mapping[str, Special] = MappingProxyType({"python": _python, "coverage_run": _coverage})

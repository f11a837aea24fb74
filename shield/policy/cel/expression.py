"""A checked expression, and the generated code that Python compiles for it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from shield.policy.cel.errors import CelError
from shield.policy.cel.functions import NAMESPACE
from shield.policy.cel.runtime import ABSORBED, BUDGET
from shield.policy.cel.schema import Type
from shield.policy.cel.scope import Code
from shield.regex import regex

__all__ = ["MARK", "Env", "Expression", "compiled"]

Env = Sequence[object]
# Where a constant stands in generated code, by its number.
MARK: Final = regex("\ue000([0-9]+)\ue001")


# without slots: what is made at its first use is kept beside the fields
@dataclass(frozen=True, kw_only=True, eq=False)
class Expression:
    """A checked expression of any type. `code` and `constants` are what its functions and a group are generated from.

    Python compiles the two functions when one of them is first asked: what a group asks mostly never is.
    """

    source: str
    type: Type
    roots: frozenset[str]
    places: tuple[tuple[int, str], ...]
    code: Code
    constants: tuple[object, ...]
    budget: bool

    @cached_property
    def fast(self) -> Callable[[Env], object]:
        """From the code that assumes that nothing raises."""
        return self._functions["fast"]

    @cached_property
    def exact(self) -> Callable[[Env], object]:
        """From the code that absorbs errors as CEL asks."""
        return self._functions["exact"]

    @cached_property
    def _functions(self) -> Mapping[str, Callable[..., object]]:
        shown = {"fast": self.code.fast, "exact": self.code.exact}
        lines = []
        for name, body in shown.items():
            lines += [
                f"def {name}(e):",
                *(f" r_{place} = e[{place}]" for place, _ in self.places),
                *[f" B = [{BUDGET}]"] * self.budget,
            ]
            lines.append(" return " + MARK.sub(r"K\1", body))
        made = compiled(lines, {f"K{place}": value for place, value in enumerate(self.constants)})
        if made is None:
            raise CelError("too deeply nested for Python")
        return {name: made[name] for name in shown}

    @property
    def compiles(self) -> bool:
        """Whether Python compiles the functions; they are kept."""
        try:
            return bool(self._functions)
        except CelError:
            return False

    def value(self, env: Env) -> object:
        """The value for `env`, root values in the schema's order. Raises CelError where CEL has none."""
        try:
            return self.fast(env)
        except Exception:  # noqa: BLE001, S110  # whatever the fast text raises, the exact one decides
            pass
        return self.answer(env)

    def answer(self, env: Env) -> object:
        """As `value`, by the exact text alone."""
        try:
            return self.exact(env)
        except CelError as error:
            said = error.detail
        except ABSORBED:
            said = "no value: a field is missing or has another type"
        except Exception as error:  # noqa: BLE001  # nothing else may escape, and nothing may pass for an answer
            said = f"internal: {type(error).__name__}"
        # raised out here, so that no traceback or context carries a value of the action
        raise CelError(said)


def compiled(lines: list[str], named: dict[str, object]) -> dict[str, Callable[..., object]] | None:
    """Compile generated text; None where CPython's parser finds it too deep."""
    space: dict[str, object] = {**NAMESPACE, **named}
    try:
        exec(compile("\n".join(lines), "<condition>", "exec"), space)  # noqa: S102  # see the invariant of translate
    except (SyntaxError, RecursionError, MemoryError):
        return None
    return {name: made for name, made in space.items() if callable(made)}

"""Regular expressions that are compiled when they are first asked something.

The readers of all languages together have some 700 of them, and one action asks a few: to compile every one took a
quarter of the time in which `shield check` starts.
"""

import re
from functools import cached_property
from typing import Any, AnyStr, Generic, cast

__all__ = ["regex"]


def regex(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, but it is not the `re` of its matches, and a wrong `source` raises re.error at its first use."""
    return cast("re.Pattern[AnyStr]", _Regex(source, flags))


class _Regex(Generic[AnyStr]):
    def __init__(self, source: AnyStr, flags: int) -> None:
        self._source: AnyStr = source
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[AnyStr]:
        return re.compile(self._source, self._flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # a copy, or a protocol that patterns do not have
            raise AttributeError(name)
        value = getattr(self._compiled, name)
        setattr(self, name, value)  # the next time it is found without coming here
        return value

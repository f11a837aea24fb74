"""What the name of a command stands for: a builtin, a function, a file, and the model that knows what it does."""

import posixpath
from collections.abc import Mapping
from typing import NamedTuple

from shield.facts.place import Place
from shield.facts.programs.model import Model
from shield.facts.shell.frame import Frame
from shield.facts.shell.lookup import Found, Lookup
from shield.facts.shell.state import State
from shield.regex import regex
from shield.types import Origin

__all__ = ["Called", "Names"]

_VERSIONED = frozenset(("python", "pip", "ruby", "perl", "php", "lua", "node"))
# A compiler for another machine, and the programs that read what it makes: `arm-none-eabi-size`; and `gcc-13`.
_CROSS = regex(
    r"(?:aarch64|arm|avr|i[3-6]86|mips[a-z0-9]*|riscv(?:32|64)|x86_64|xtensa)(?:-[a-z0-9_]+){0,3}"
    r"-(addr2line|c\+\+filt|nm|objdump|readelf|size|strings|gcc|g\+\+)"
)
_RELEASE = regex(r"(gcc|g\+\+|clang|clang\+\+|clang-format|clang-tidy)-[0-9]{1,2}")
_SLASHES = regex("//+")
_FUNCTION = Found(None, Origin.FUNCTION)
_INSTALLED = (Origin.SYSTEM, Origin.USER)
_HANDLERS = ("command_not_found_handle", "command_not_found_handler")  # bash(1), zshmisc(1)


class Called(NamedTuple):
    """`name`: without directories. `model` is None where nothing is known of a program of this name."""

    name: str
    found: Found
    model: Model | None


class Names:
    """The commands that one line may name. `functions`: what a reading defines that is not understood."""

    def __init__(self, place: Place, programs: Mapping[str, Model]) -> None:
        self._programs = programs
        self._lookup = Lookup(place)
        self.functions: set[str] = set()

    def called(self, text: str, state: State, frame: Frame, *, path: str | None, made: bool = False) -> Called:
        """What `text` calls here. `path`: what PATH holds, None where that is not known. `made`: the project's own code
        may have made it before."""
        if "//" in text:
            text = _SLASHES.sub("/", text)
        name = posixpath.basename(text.rstrip("/")) if "/" in text else text
        found = self._found(text, path, state, frame)
        model = self._model(name, found)
        if found.file is None and found.origin in _INSTALLED and (model is None or made or self._handled(state)):
            # What comes to stand there before it is run, nobody can know.
            found = Found(absent=not made and not self._handled(state))
        if made and found == Found() and "/" in text and not frame.elsewhere:
            coming = {self._lookup.coming(text, base) for base in state.bases}
            found = coming.pop() if len(coming) == 1 else found
            model = self._model(name, found)
        return Called(name, found, model)

    def _found(self, text: str, path: str | None, state: State, frame: Frame) -> Found:
        if frame.elsewhere:
            return Found()
        if text in self.functions and frame.builtins and frame.functions:
            return _FUNCTION
        first = self._lookup.find(text, state.bases[0], path, builtins=frame.builtins)
        # Where the directory is not certain, a program found in it is not, either.
        for base in state.bases[1:]:
            if self._lookup.find(text, base, path, builtins=frame.builtins) != first:
                return Found()
        return first

    def _handled(self, state: State) -> bool:
        """Whether the line says what is done where a command is not found."""
        return any(name in state.functions or name in self.functions for name in _HANDLERS)

    def _model(self, name: str, found: Found) -> Model | None:
        model = self._programs.get(name)
        if model is None and found.file is not None:
            model = self._programs.get(posixpath.basename(found.file))
        if model is None:
            bare = name.rstrip("0123456789.")
            model = self._programs.get(bare) if bare in _VERSIONED else None
        if model is None and found.origin in _INSTALLED:
            plain = _CROSS.fullmatch(name) or _RELEASE.fullmatch(name)
            model = self._programs.get(plain[1]) if plain is not None else None
        return model

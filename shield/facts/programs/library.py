"""The shipped program models, each read when its program is first met.

What stands in the `*.yaml` beside this module is read as `shield.facts.programs.model` describes it. A start of a
command meets a handful of more than a thousand programs, so a file is taken apart into its top entries, which begin
at the first column, and only the entries that are asked for are parsed.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import yaml

from shield.facts.programs.model import NO_OPTIONS, NOBODY, Model, Option, Use
from shield.regex import regex
from shield.types import Operation, RunsCode

__all__ = ["Library", "load_models", "models"]

_MODES_TEXT = "leading words digits tree steady bundle open verbs shared params response elsewhere helpful"
_MODES = frozenset(_MODES_TEXT.split())
_TEXTS_TEXT = "does flags recursive tells helps led first rest last default fewer runs_code ends asks mode special same"
_TEXTS = frozenset(_TEXTS_TEXT.split())
_TABLES = frozenset(("values", "optional", "pairs", "adds", "runs", "questions"))
_ENTRIES = frozenset(("subcommands", "choices"))
_TOP = regex(r"^[^\s#][^\n]*", re.MULTILINE)  # a line that begins at the first column
_NAMES = regex(r"""(?:"([^"]+)"|'([^']+)'|([^\s"'\-][^:]*?)) *:(?:\s|$)""")
# What an entry may need of others of its text. What else these find in it brings an entry too many: no harm.
_SAME = regex(r"""\bsame: *["']?([^\s,}"']+)""")
_ALIAS = regex(r"\*([\w-]+)")
_ANCHOR = regex(r"&([\w-]+)")


class Library(Mapping[str, Model]):
    """Models by program name, of several texts (`source: text`). An entry is parsed when it is first asked for.

    Raises ValueError: a text is no mapping, or a name is described twice.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._shelves: dict[str, _Shelf] = {}
        self._read: dict[str, Model] = {}
        for source, text in texts.items():
            shelf = _Shelf(text, source)
            for name in shelf.places:
                if name in self._shelves:
                    raise ValueError(f"{source}: `{name}` is described twice")
                self._shelves[name] = shelf

    def __getitem__(self, name: str) -> Model:
        found = self._read.get(name)
        if found is None:
            shelf = self._shelves[name]
            found = self._read[name] = load_models(shelf.text_for(name), shelf.source)[name]
        return found

    def get(self, name: str, default: Any = None) -> Any:
        """The model of this name, else `default`."""
        return self[name] if name in self._shelves else default

    def __contains__(self, name: object) -> bool:
        return name in self._shelves

    def __iter__(self) -> Iterator[str]:
        return iter(self._shelves)

    def __len__(self) -> int:
        return len(self._shelves)


class _Shelf:
    """One text in parts, each a top entry. `places` says which part describes a program."""

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self.places: dict[str, int] = {}
        self._anchors: dict[str, int] = {}
        self._parts: list[str] = []
        tops = list(_TOP.finditer(text))
        if not tops:
            raise ValueError(f"{source}: not a mapping")
        ends = [*(top.start() for top in tops[1:]), len(text)]
        for place, (top, end) in enumerate(zip(tops, ends, strict=True)):
            names = _NAMES.match(top[0])
            if names is None:
                raise ValueError(f"{source}: not a mapping: `{top[0][:64]}`")
            part = text[top.start() : end]
            self._parts.append(part)
            self._anchors |= dict.fromkeys(_ANCHOR.findall(part), place)
            for name in names[names.lastindex or 0].split():
                if name in self.places:
                    raise ValueError(f"{source}: `{name}` is described twice")
                self.places[name] = place

    def text_for(self, name: str) -> str:
        """The entry of this name with those that it refers to, in the order of the text."""
        needed: set[int] = set()
        waiting = [self.places[name]]
        while waiting:
            place = waiting.pop()
            if place in needed:
                continue
            needed.add(place)
            part = self._parts[place]
            waiting += [self.places[other] for other in _SAME.findall(part) if other in self.places]
            waiting += [self._anchors[other] for other in _ALIAS.findall(part) if other in self._anchors]
        return "".join(self._parts[place] for place in sorted(needed))


@cache
def models() -> Library:
    """The shipped models by program name."""
    entries = sorted(files(__package__).iterdir(), key=lambda entry: entry.name)
    return Library({entry.name: entry.read_text("utf-8") for entry in entries if entry.name.endswith(".yaml")})


def load_models(text: str, source: str) -> Mapping[str, Model]:
    """The models of one text.

    Raises:
        ValueError: an entry that does not fit the schema; the message names source and entry.
    """
    try:
        data = yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise ValueError(f"{source}: no YAML: {error}") from error
    return MappingProxyType(_entries(data, source, NO_OPTIONS, frozenset()))


def _entries(data: object, source: str, shared: Mapping[str, Option], helps: frozenset[str]) -> dict[str, Model]:
    if not isinstance(data, dict):
        raise ValueError(f"{source}: not a mapping")
    found: dict[str, Model] = {}
    for names, given in data.items():
        if not isinstance(names, str) or not isinstance(given, dict | None):
            raise ValueError(f"{source}: `{names}` has no mapping")
        entry = given or {}
        if isinstance(entry.get("same"), str):
            like = next((value for key, value in data.items() if entry["same"] in str(key).split()), None)
            if like is None:
                raise ValueError(f"{source}: `{names}` is the same as `{entry['same']}`, which is not there")
            entry = {**like, **{key: value for key, value in entry.items() if key != "same"}}
        model: Model | None = None
        for name in names.split():
            if name in found:
                raise ValueError(f"{source}: `{name}` is described twice")
            model = (
                _model(name, entry, f"{source}: {names}", shared, helps) if model is None else replace(model, name=name)
            )
            found[name] = model
    return found


def _model(name: str, entry: dict[str, Any], source: str, shared: Mapping[str, Option], helps: frozenset[str]) -> Model:
    _check(entry, source)
    # what a pattern stands for may be anything, and hand the word on
    helps = frozenset() if "*" in name else helps | frozenset(entry.get("helps", "").split())
    mode = set(entry.get("mode", "").split())
    if "subcommands" in entry and "open" not in mode:
        mode.add("leading")  # what follows a subcommand is its own to read
    unknown = mode - _MODES
    if unknown:
        raise ValueError(f"{source}: unknown mode {sorted(unknown)}")
    try:
        own = _options(entry, source)
        options = MappingProxyType({**shared, **own} if shared else own)
        inner = options if "shared" in mode else NO_OPTIONS
        sub, choices = entry.get("subcommands"), entry.get("choices")
        return Model(
            name=name,
            does=_operations(entry.get("does", "")),
            options=options,
            tells=frozenset(entry.get("tells", "").split()) | helps,
            led=frozenset(entry.get("led", "").split()),
            first=tuple(Use(use) for use in entry.get("first", "").split()),
            rest=Use(entry.get("rest", "text")),
            last=Use(entry["last"]) if "last" in entry else None,
            default=entry.get("default"),
            fewer=entry.get("fewer"),
            runs=RunsCode(entry.get("runs_code", "none")),
            asks=entry.get("asks"),
            guarded=_guarded(entry["questions"]) if "questions" in entry else NOBODY,
            special=entry.get("special"),
            subcommands=MappingProxyType(_entries(sub, source, inner, helps)) if sub is not None else None,
            choices=MappingProxyType(_entries(choices, source, inner, frozenset())) if choices is not None else None,
            **dict.fromkeys(mode, True),
        )
    except ValueError as error:
        text = str(error)
        raise error if text.startswith(source) else ValueError(f"{source}: {text}") from error


def _guarded(questions: Mapping[str, str]) -> Mapping[str, str]:
    """The patterns of operands among the questions."""
    return MappingProxyType(
        {name: why for names, why in questions.items() for name in names.split() if not name.startswith("-")}
    )


def _check(entry: dict[str, Any], source: str) -> None:
    """Keys and the types of their values."""
    for key, value in entry.items():
        if key in _TEXTS:
            fits = isinstance(value, str)
        elif key in _TABLES:
            fits = isinstance(value, dict) and all(isinstance(item, str) for pair in value.items() for item in pair)
        elif key in _ENTRIES:
            fits = isinstance(value, dict)
        else:
            raise ValueError(f"{source}: unknown key `{key}`")
        if not fits:
            raise ValueError(f"{source}: the value of `{key}` has a wrong type")


def _options(entry: dict[str, Any], source: str) -> dict[str, Option]:
    options: dict[str, dict[str, Any]] = {}
    defined: set[str] = set()

    def put(names: str, *, defines: bool = False, **changes: Any) -> None:
        for option in names.split():
            if not option.startswith(("-", "+")):
                raise ValueError(f"{source}: `{option}` is no option")
            if defines and option in defined:
                raise ValueError(f"{source}: `{option}` is listed twice")
            if defines:
                defined.add(option)
            options.setdefault(option, {}).update(changes)

    put(entry.get("flags", ""), defines=True)
    for names, use in entry.get("values", {}).items():
        put(names, defines=True, value=Use(use.rstrip("!")), spares_first=use.endswith("!"))
    for names, use in entry.get("optional", {}).items():
        put(names, defines=True, value=Use(use), joined=True)
    for names, use in entry.get("pairs", {}).items():
        put(names, defines=True, value=Use(use), pair=True)
    put(entry.get("recursive", ""), defines=True, recursive=True)
    for names, operations in entry.get("adds", {}).items():
        put(names, adds=_operations(operations))
    for names, kind in entry.get("runs", {}).items():
        put(names, runs=RunsCode(kind))
    for names, why in entry.get("questions", {}).items():
        put(" ".join(name for name in names.split() if name.startswith("-")), asks=why)
    put(entry.get("ends", ""), ends=True)
    for name in entry.get("choices") or {}:
        put(name)
    return {key: Option(name=key, **value) for key, value in options.items()}


def _operations(text: str) -> frozenset[Operation]:
    return frozenset(Operation(word) for word in text.split())

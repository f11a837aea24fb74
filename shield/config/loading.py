"""`shield.toml` and the `SHIELD_SECTION__KEY` variables that override it, into one `Config`."""

import difflib
import json
import os
import stat
import tomllib
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from shield.config.home import Home
from shield.config.sections import Config, Section
from shield.errors import ConfigError
from shield.regex import regex

__all__ = ["load", "place_set"]

TOML_MAX = 256 * 1024


def load(home: Home, environ: Mapping[str, str]) -> Config:
    """`shield.toml` of the home (absent = empty) with overrides from `environ`. Raises ConfigError naming file, key."""
    values, written = _read_toml(home.toml)
    where = {key: _place_of(key, written, home.toml) for key in _leaves(values)}
    for name, text in environ.items():
        if (key := _override(name)) is not None:
            _set(values, key, _value_of(key, text))
            where[key] = name
    service = values.get("service")
    if isinstance(service, dict) and {"socket", "tcp"} <= service.keys():
        raise ConfigError(f"{where['service.tcp']}: `service.socket` and `service.tcp` are both set; keep one")
    try:
        return Config.model_validate(_tuples(values))
    except ValidationError as error:
        raise ConfigError(_explain(error, where, _place_of(_key_of(error), written, home.toml))) from None


def place_set(home: Home, environ: Mapping[str, str], key: str) -> str:
    """Where `key` got its value, for a message about what only shows later: a variable, or the file and its line.

    Raises ConfigError as `load` does."""
    _, written = _read_toml(home.toml)
    for name in environ:
        if _override(name) == key:
            return name
    return _place_of(key, written, home.toml)


def _read_toml(path: str) -> tuple[dict[str, Any], str]:
    """The values and the text they were read from, both empty where there is no file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return {}, ""
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; make it readable for its owner") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(f"{path}: not a regular file; replace it")
        if status.st_uid not in (0, os.getuid()) or status.st_mode & 0o022:
            raise ConfigError(f"{path}: writable by others; run `chmod 600` on it")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            raw = file.read(TOML_MAX + 1)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; make it readable for its owner") from None
    finally:
        os.close(descriptor)
    if len(raw) > TOML_MAX:
        raise ConfigError(f"{path}: larger than {TOML_MAX} bytes; shorten it")
    try:
        text = raw.decode("utf-8")
        return tomllib.loads(text), text
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deep; its keys are {', '.join(_keys())}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(_misread(path, str(error))) from None


_AT = regex(r"(.*?) \(at (line \d+), column (\d+)\)")
_MISREAD = {
    "invalid value": "text stands in quotes, a list in `[…]`",
    "cannot overwrite a value": "a key stands there twice, keep one",
    "cannot declare": "a section stands there twice, put their keys into one",
}


def _misread(path: str, said: str) -> str:
    """tomllib's own words, its place in front as everywhere, and what is mostly behind it."""
    found = _AT.fullmatch(said)
    what, place = (found[1], f"{path}, {found[2]}") if found else (said, path)
    what = f"{what[:1].lower()}{what[1:]}"
    advice = next((text for words, text in _MISREAD.items() if what.startswith(words)), "see https://toml.io")
    column = f" at column {found[3]}" if found else ""
    return f"{place}: {what}{column}; {advice}"


_HEAD = regex(r"\s*\[\s*([\w.-]+)\s*\]")
_SET = regex(r"""\s*["']?([\w.-]+)["']?\s*=""")


def _place_of(key: str, text: str, path: str) -> str:
    """The file, and the line in it where the key or section stands, as far as that can be told."""
    section = ""
    for number, row in enumerate(text.splitlines(), start=1):
        if (head := _HEAD.match(row)) is not None:
            section = f"{head[1]}."
            if head[1] == key:
                return f"{path}, line {number}"
        elif (said := _SET.match(row)) is not None:
            name = section + said[1]
            if name == key or key.startswith(f"{name}."):
                return f"{path}, line {number}"
    return path


def _sections() -> dict[str, type[Section] | None]:
    found: dict[str, type[Section] | None] = {}
    for name, field in Config.model_fields.items():
        kind = field.annotation
        found[name] = kind if isinstance(kind, type) and issubclass(kind, Section) else None
    return found


def _keys() -> list[str]:
    names = []
    for name, section in _sections().items():
        names += [name] if section is None else [f"{name}.{key}" for key in section.model_fields]
    return names


def _override(name: str) -> str | None:
    """The key that a variable sets. A name without `__` is a setting only if it is one of the few top-level keys."""
    if not name.startswith("SHIELD_"):
        return None
    key = name.removeprefix("SHIELD_").lower().replace("__", ".")
    if key in _keys():
        return key
    top = [key for key in _keys() if "." not in key]
    if "." in key or difflib.get_close_matches(key, top, cutoff=0.8):
        raise ConfigError(f"{name}: unknown key `{key}`{_suggest(key, 'SHIELD_') or '; unset it'}")
    return None


def _value_of(key: str, text: str) -> Any:
    section, _, name = key.rpartition(".")
    model = _sections()[section] if section else Config
    annotation = str((model or Config).model_fields[name].annotation)
    if ("str" in annotation and "tuple" not in annotation) or "Literal" in annotation:
        return text
    try:
        value = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    # A newline could smuggle in further keys; the type check then refuses the text as it is.
    return value["value"] if len(value) == 1 else text


def _set(values: dict[str, Any], key: str, value: Any) -> None:
    section, _, name = key.rpartition(".")
    place = values.setdefault(section, {}) if section else values
    if isinstance(place, dict):  # otherwise validation names the section
        place[name] = value


def _leaves(values: Mapping[str, Any], prefix: str = "") -> list[str]:
    found = []
    for key, value in values.items():
        found += _leaves(value, f"{prefix}{key}.") if isinstance(value, dict) else [prefix + key]
    return found


def _tuples(value: Any) -> Any:
    """Lists as tuples: the strict model takes nothing else."""
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _suggest(key: str, prefix: str = "") -> str:
    known = _keys() if "." in key or prefix else [*_keys(), *_sections()]
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    if not close:
        return ""
    return f", did you mean `{prefix + close[0].upper().replace('.', '__') if prefix else close[0]}`?"


def _key_of(error: ValidationError) -> str:
    return ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"] if not isinstance(part, int))


# What pydantic calls a wrong type or value, and what to write; `{}` is its own limit.
_WANTED = {
    "int_type": "write a whole number, without quotes",
    "float_type": "write a number, without quotes",
    "bool_type": "write `true` or `false`, without quotes",
    "string_type": "write text, in quotes",
    "string_too_short": "write what it is, or leave the key out",
    "tuple_type": 'write a list, such as `["a", "b"]`',
    "literal_error": "write {expected}",
    "greater_than": "write more than {gt}",
    "greater_than_equal": "write {ge} or more",
    "less_than_equal": "write {le} or less",
}
_SHOWN_MAX = 120


def _explain(error: ValidationError, where: Mapping[str, str], file: str) -> str:
    first = error.errors(include_url=False)[0]
    key, kind = _key_of(error), first["type"]
    origin = where.get(key, file)
    if kind == "extra_forbidden":
        return f"{origin}: unknown key `{key}`{_suggest(key)}"
    if kind == "model_type":
        return f"{origin}: `{key}` is a section; write `[{key}]` and its keys in lines below it"
    if kind in _WANTED:
        value = first["input"]
        shown = (value if isinstance(value, str) else json.dumps(value, default=str))[:_SHOWN_MAX]
        return f"{origin}: `{key}` is `{shown}`; {_WANTED[kind].format(**first.get('ctx', {}))}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{origin}: `{key}`: {message[:1].lower()}{message[1:]}"

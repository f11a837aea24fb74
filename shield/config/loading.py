"""`shield.toml` and the `SHIELD_SECTION__KEY` variables that override it, into one `Config`."""

import difflib
import os
import stat
import tomllib
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from shield.config.home import Home
from shield.config.sections import Config, Section
from shield.errors import ConfigError

__all__ = ["load"]

TOML_MAX = 256 * 1024


def load(home: Home, environ: Mapping[str, str]) -> Config:
    """`shield.toml` of the home (absent = empty) with overrides from `environ`. Raises ConfigError naming file, key."""
    values = _read_toml(home.toml)
    where = dict.fromkeys(_leaves(values), home.toml)
    for name, text in environ.items():
        if (key := _override(name)) is not None:
            _set(values, key, _value_of(key, text))
            where[key] = name
    service = values.get("service")
    if isinstance(service, dict) and {"socket", "tcp"} <= service.keys():
        raise ConfigError(f"{home.toml}: `service.socket` and `service.tcp` are both set; keep one")
    try:
        return Config.model_validate(_tuples(values))
    except ValidationError as error:
        raise ConfigError(_explain(error, where, home.toml)) from None


def _read_toml(path: str) -> dict[str, Any]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return {}
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
        return tomllib.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: {str(error)[:1].lower()}{str(error)[1:]}") from None


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
        raise ConfigError(f"{name}: unknown key `{key}`{_suggest(key, 'SHIELD_')}; unset it")
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


def _explain(error: ValidationError, where: Mapping[str, str], file: str) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    key = ".".join(str(part) for part in first["loc"] if not isinstance(part, int))
    origin = where.get(key, file)
    if first["type"] == "extra_forbidden":
        return f"{origin}: unknown key `{key}`{_suggest(key)}"
    if first["type"] == "model_type":
        return f"{origin}: `{key}` is a section; write `[{key}]` and its keys in lines below it"
    message = first["msg"].removeprefix("Value error, ")
    return f"{origin}: `{key}`: {message[:1].lower()}{message[1:]}"

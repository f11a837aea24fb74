"""agentctl's own settings: `$XDG_CONFIG_HOME/agentctl/config.toml` and `AGENTCTL_*`, read once into a frozen value.

The only module that is given an environment. Nothing inside a workspace can set any of this.
"""

import os
import stat
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from agentctl.errors import SettingsError
from agentctl.given import DEFAULT, FILE, Given, line_of, without_user
from shield.client import check_home, refuse_project
from shield.errors import ConfigError
from shield.types import Isolation, Json
from shield.user import user_home

__all__ = ["ModelChoice", "ProviderName", "Setting", "Settings", "load"]

_FILE_MAX: Final = 64 * 1024
_TOKENS_MAX: Final = 10_000_000
_MODEL_KEYS: Final = ("provider", "model", "base_url", "key_env", "proxy", "max_tokens")
_KEYS: Final = (*_MODEL_KEYS, "isolation", "caches")  # how commands are confined is never taken from a variable


class ProviderName(StrEnum):
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    OLLAMA = "ollama"


_DEFAULTS: Final = {
    ProviderName.OPENAI: ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    ProviderName.ANTHROPIC: ("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    ProviderName.OLLAMA: ("http://127.0.0.1:11434", None),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """Which model is asked, and where. `key_env` names the variable that holds the key; the key is not kept here.

    `key_needed`: without a key there is no use in asking, as the variable was named or the service is known.
    """

    provider: ProviderName
    model: str
    base_url: str
    key_env: str | None = None
    key_needed: bool = False
    proxy: str | None = field(default=None, repr=False)
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting in force, without any secret. `origin` is `file`, `default` or the name of a variable."""

    name: str
    value: Json
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`model` None: no model is configured, and `chat` is the guarded console. `home` is Shield's.

    `isolation` None: the strongest sandbox level that holds here; otherwise exactly that one. `caches` are folders
    that confined commands may write besides the workspace. `shown` is all of it, and where it comes from.
    """

    file: Path
    home: Path
    user: Path
    data: Path
    model: ModelChoice | None
    isolation: Isolation | None = None
    caches: tuple[Path, ...] = ()
    shown: tuple[Setting, ...] = ()

    @property
    def history(self) -> Path:
        return _history(self.data)


def _history(data: Path) -> Path:
    return data / "history.db"


def load(environ: Mapping[str, str], *, cwd: Path, isolation: str | None = None) -> Settings:
    """Read file and environment; a variable goes before the file, `isolation` of the command line before both.

    Raises SettingsError naming the file and line, or the variable, the key and what was given; ClientError
    (`service.impostor`) where a project or another user could have made Shield's home, or where the project set a
    variable that steers us.
    """
    try:
        user = Path(user_home(environ))
    except ConfigError as error:
        raise SettingsError(error.detail) from None
    home = _directory(environ, "SHIELD_HOME", user / ".shield")
    refuse_project(environ, cwd, user=user, import_path=sys.path, prefixes=(sys.prefix, sys.base_prefix))
    check_home(Path(environ.get("SHIELD_HOME") or home), workspace=cwd, user=user)
    file = _directory(environ, "XDG_CONFIG_HOME", user / ".config") / "agentctl" / "config.toml"
    data = _directory(environ, "XDG_DATA_HOME", user / ".local" / "share") / "agentctl"
    given = dict.fromkeys(_KEYS, Given()) | _read(file, cwd, user)
    for key in _MODEL_KEYS:
        name = f"AGENTCTL_{key.upper()}"
        if environ.get(name):
            given[key] = Given(value=environ[name], origin=name, where=name)
    if isolation is not None:
        given["isolation"] = Given(value=isolation, origin="--isolation", where="--isolation")
    model, shown = _model(given)
    level, caches = _isolation(given["isolation"]), _caches(given["caches"], user)
    return Settings(
        file=file,
        home=home,
        user=user,
        data=data,
        model=model,
        isolation=level,
        caches=caches,
        shown=(
            _place("file", file, environ, "XDG_CONFIG_HOME"),
            _place("shield_home", home, environ, "SHIELD_HOME"),
            _place("history", _history(data), environ, "XDG_DATA_HOME"),
            *shown,
            Setting(name="isolation", value=level and level.value, origin=given["isolation"].origin),
            Setting(name="caches", value=[str(cache) for cache in caches], origin=given["caches"].origin),
        ),
    )


def _place(name: str, path: Path, environ: Mapping[str, str], variable: str) -> Setting:
    return Setting(name=name, value=str(path), origin=variable if environ.get(variable) else DEFAULT)


def _directory(environ: Mapping[str, str], name: str, default: Path) -> Path:
    given = environ.get(name)
    if not given:
        return default
    if not os.path.isabs(given):
        raise SettingsError(f"{name} is `{given}`; set it to an absolute path")
    real, named = os.path.realpath(given), os.path.normpath(given)
    # as it is named where that leads there: who put another link in its place would be found out by the name
    return Path(named if os.path.realpath(named) == real else real)


def _read(file: Path, cwd: Path, user: Path) -> dict[str, Given]:
    raw = _bytes(file)
    if raw is None:
        return {}
    here = os.path.realpath(cwd)
    inside = os.path.realpath(file).startswith(here.rstrip("/") + "/")
    if inside and here not in ("/", os.path.realpath(user)):
        # INVARIANT: a project directory cannot say which model is asked, where, or with which key
        raise SettingsError(f"`{file}` lies in the directory that is worked in; set XDG_CONFIG_HOME elsewhere")
    if len(raw) > _FILE_MAX:
        raise SettingsError(f"`{file}` has more than {_FILE_MAX} bytes; shorten it")
    try:
        text = raw.decode("utf-8")
        values = tomllib.loads(text)
    except UnicodeDecodeError as error:
        there = raw.count(b"\n", 0, error.start) + 1
        raise SettingsError(f"`{file}`, line {there}: this is no utf-8; save it as utf-8") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"`{file}` is no toml: {str(error).lower()}; see https://toml.io") from None
    except RecursionError:
        raise SettingsError(f"`{file}` is nested too deep; the keys are {', '.join(_KEYS)}") from None
    given = {}
    for key, value in values.items():
        line = line_of(key, text)
        where = f"`{file}`" if line is None else f"`{file}`, line {line}"
        if key not in _KEYS:
            raise SettingsError(f"{where}: unknown key `{key[:80]}`; the keys are {', '.join(_KEYS)}")
        given[key] = Given(value=value, origin=FILE, where=f"{where}: `{key}`")
    return given


def _bytes(file: Path) -> bytes | None:
    """What is in it, at most one byte too much; None where there is none."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"`{file}` cannot be read: {error.strerror}") from None
    try:
        entry = os.fstat(descriptor)
        if not stat.S_ISREG(entry.st_mode):
            raise SettingsError(f"`{file}` is no file; move away what is there")
        if entry.st_uid not in (os.geteuid(), 0) or entry.st_mode & 0o022:
            raise SettingsError(f"`{file}` is not a file that you alone can write; run `chmod 600` on it")
        raw = b""
        while len(raw) <= _FILE_MAX and (piece := os.read(descriptor, _FILE_MAX + 1 - len(raw))):
            raw += piece
        return raw
    except OSError as error:
        raise SettingsError(f"`{file}` cannot be read: {error.strerror}") from None
    finally:
        os.close(descriptor)


def _model(given: Mapping[str, Given]) -> tuple[ModelChoice | None, list[Setting]]:
    """The model, and each of its settings to be shown. What is wrong is wrong without a model, too."""
    name = _provider(given["provider"])
    model = given["model"].text()
    base_url = given["base_url"].address("give an http or https address without user or query", path=True)
    key_env = given["key_env"].variable()
    proxy = given["proxy"].address("give `http://HOST:PORT` or `https://HOST:PORT`", user=True)
    max_tokens = given["max_tokens"].count(_TOKENS_MAX)
    choice = None
    if model is not None:
        name = name or ProviderName.OPENAI
        default_url, default_key = _DEFAULTS[name]
        base_url, own_key = base_url or default_url, key_env is not None
        known = default_key is not None and urlsplit(base_url).hostname == urlsplit(default_url).hostname
        key_env = key_env or default_key
        choice = ModelChoice(
            provider=name,
            model=model,
            base_url=base_url,
            key_env=key_env,
            key_needed=own_key or known,
            proxy=proxy,
            max_tokens=max_tokens,
        )
    elif name is not None:
        raise given["provider"].wrong("set a `model` with it, or AGENTCTL_MODEL")
    values = (name and name.value, model, base_url, key_env, proxy and without_user(proxy), max_tokens)
    return choice, [
        Setting(name=key, value=value, origin=given[key].origin) for key, value in zip(_MODEL_KEYS, values, strict=True)
    ]


def _provider(given: Given) -> ProviderName | None:
    for name in ProviderName:
        if name.value == given.value:
            return name
    if given.value is None:
        return None
    raise given.wrong(f"give one of {', '.join(ProviderName)}")


def _isolation(given: Given) -> Isolation | None:
    for level in Isolation:
        if level.value == given.value:
            return level
    if given.value is None:
        return None
    levels = ", ".join(level.value for level in Isolation)
    raise given.wrong(f"give one of {levels}, or leave it out for the strongest")


def _caches(given: Given, user: Path) -> tuple[Path, ...]:
    value = [] if given.value is None else given.value
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise given.wrong('give a list of folders, like ["~/.cargo/registry"]')
    found = []
    for item in value:
        path = user / item[2:] if item.startswith("~/") else Path(item)
        if (advice := _no_cache(item, path, user)) is not None:
            raise Given(value=item, where=f"{given.where}: one of them").wrong(advice)
        found.append(path)
    return tuple(found)


def _no_cache(item: str, path: Path, user: Path) -> str | None:
    """What to write instead of a folder that can be no cache; None for one that can."""
    if not path.is_absolute() or "\0" in item:
        return "name folders by absolute paths or ones that begin with `~/`"
    if ".." in path.parts:
        return "name the folder without `..`"
    if path == Path("/") or path == user or path in user.parents:
        return "commands could write all of your home directory there; name a folder in it, like `~/.cargo/registry`"
    return None

"""agentctl's own settings: `$XDG_CONFIG_HOME/agentctl/config.toml` and `AGENTCTL_*`, read once into a frozen value.

The only module that is given an environment. Nothing inside a workspace can set any of this.
"""

import os
import stat
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from agentctl.errors import SettingsError
from shield.client import check_home, refuse_project
from shield.types import Isolation

__all__ = ["ModelChoice", "ProviderName", "Settings", "load"]

_FILE_MAX: Final = 64 * 1024
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
    """Which model is asked, and where. `key_env` names the variable that holds the key; the key is not kept here."""

    provider: ProviderName
    model: str
    base_url: str
    key_env: str | None = None
    proxy: str | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`model` None: no model is configured, and `chat` is the guarded console. `home` is Shield's.

    `isolation` None: the strongest sandbox level that holds here; otherwise exactly that one. `caches` are folders
    that confined commands may write besides the workspace.
    """

    file: Path
    home: Path
    user: Path
    data: Path
    model: ModelChoice | None
    isolation: Isolation | None = None
    caches: tuple[Path, ...] = ()

    @property
    def history(self) -> Path:
        return self.data / "history.db"


def load(environ: Mapping[str, str], *, cwd: Path, isolation: str | None = None) -> Settings:
    """Read file and environment; a variable goes before the file, `isolation` of the command line before both.

    Raises SettingsError naming file and key, ClientError (`service.impostor`) where a project or another user could
    have made Shield's home, or where the project set a variable that steers us.
    """
    user = Path(environ.get("HOME") or "/")
    home = _directory(environ, "SHIELD_HOME", user / ".shield")
    refuse_project(environ, cwd, user=user, import_path=sys.path, prefixes=(sys.prefix, sys.base_prefix))
    check_home(Path(environ.get("SHIELD_HOME") or home), workspace=cwd, user=user)
    file = _directory(environ, "XDG_CONFIG_HOME", user / ".config") / "agentctl" / "config.toml"
    values = _read(file, cwd, user)
    for key in _MODEL_KEYS:
        name = f"AGENTCTL_{key.upper()}"
        if environ.get(name):
            values[key] = environ[name]
    return Settings(
        file=file,
        home=home,
        user=user,
        data=_directory(environ, "XDG_DATA_HOME", user / ".local" / "share") / "agentctl",
        model=_model(values),
        isolation=_isolation(values.get("isolation") if isolation is None else isolation),
        caches=_caches(values.get("caches", []), user),
    )


def _directory(environ: Mapping[str, str], name: str, default: Path) -> Path:
    given = environ.get(name)
    if not given:
        return default
    if not os.path.isabs(given):
        raise SettingsError(f"{name} is `{given}`; set it to an absolute path")
    real, named = os.path.realpath(given), os.path.normpath(given)
    # as it is named where that leads there: who put another link in its place would be found out by the name
    return Path(named if os.path.realpath(named) == real else real)


def _read(file: Path, cwd: Path, user: Path) -> dict[str, Any]:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError(f"`{file}` cannot be read: {error.strerror}") from None
    with os.fdopen(descriptor, "rb") as opened:
        entry = os.fstat(descriptor)
        if not stat.S_ISREG(entry.st_mode) or entry.st_uid not in (os.geteuid(), 0) or entry.st_mode & 0o022:
            raise SettingsError(f"`{file}` is not a file that you alone can write; run `chmod 600` on it")
        raw = opened.read(_FILE_MAX + 1)
    here = os.path.realpath(cwd)
    inside = os.path.realpath(file).startswith(here.rstrip("/") + "/")
    if inside and here not in ("/", os.path.realpath(user)):
        # INVARIANT: a project directory cannot say which model is asked, where, or with which key
        raise SettingsError(f"`{file}` lies in the directory that is worked in; set XDG_CONFIG_HOME elsewhere")
    try:
        values = tomllib.loads(raw.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"`{file}`: {str(error).lower()}") from None
    if len(raw) > _FILE_MAX:
        raise SettingsError(f"`{file}` has more than {_FILE_MAX} bytes; shorten it")
    for key in values:
        if key not in _KEYS:
            raise SettingsError(f"`{file}`: unknown key `{key}`; the keys are {', '.join(_KEYS)}")
    return values


def _model(values: Mapping[str, Any]) -> ModelChoice | None:
    if "model" not in values and "provider" not in values:
        return None
    model, provider = values.get("model"), values.get("provider", "openai")
    if not isinstance(model, str) or not model:
        raise SettingsError("a provider is set but no `model`; set it, or AGENTCTL_MODEL")
    try:
        name = ProviderName(provider)
    except ValueError:
        raise SettingsError(f"unknown provider `{provider}`; use openai, anthropic or ollama") from None
    default_url, default_key = _DEFAULTS[name]
    base_url = _text(values, "base_url") or default_url
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise SettingsError(f"`base_url` is `{base_url}`; set an http or https address without user or query")
    return ModelChoice(
        provider=name,
        model=model,
        base_url=base_url,
        key_env=_text(values, "key_env") or default_key,
        proxy=_text(values, "proxy"),
        max_tokens=_count(values.get("max_tokens")),
    )


def _isolation(value: object) -> Isolation | None:
    if value is None:
        return None
    for level in Isolation:
        if level.value == value:
            return level
    levels = ", ".join(level.value for level in Isolation)
    raise SettingsError(f"`isolation` is `{value}`; set one of {levels}, or leave it out for the strongest")


def _caches(value: object, user: Path) -> tuple[Path, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise SettingsError('`caches` must be a list of folders, like ["~/.cargo/registry"]')
    found = []
    for item in value:
        path = user / item[2:] if item.startswith("~/") else Path(item)
        if not path.is_absolute() or ".." in path.parts or path in (Path("/"), user):
            raise SettingsError(f"`caches` names `{item}`; name folders by absolute paths or ones that begin with `~/`")
        found.append(path)
    return tuple(found)


def _text(values: Mapping[str, Any], key: str) -> str | None:
    value = values.get(key)
    if value is not None and not isinstance(value, str):
        raise SettingsError(f"`{key}` must be text")
    return value


def _count(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 10_000_000:
        raise SettingsError("`max_tokens` must be a whole number above 0")
    return value

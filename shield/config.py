"""What the owner says: `$SHIELD_HOME`, `shield.toml` with its `SHIELD_SECTION__KEY` overrides, and the environment that
tools are run with. Read once into frozen values; the only module that knows names of environment variables."""

import dataclasses
import difflib
import os
import pwd
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from shield.errors import ConfigError

__all__ = [
    "EXEC_UMASK",
    "Config",
    "Home",
    "agent_homes",
    "checkpoints_folder",
    "exec_env",
    "home_from",
    "load",
    "split_tcp",
    "token_from",
    "user_home",
]

SOCKET_PATH_MAX = 100  # bytes; sun_path holds 108 on Linux and 104 on macOS, with the NUL
EXEC_UMASK = 0o022
TOML_MAX = 256 * 1024
_SHELLS = ("/usr/bin/bash", "/bin/bash", "/usr/local/bin/bash", "/opt/homebrew/bin/bash")
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"
_EXEC_NAMES = ("HOME", "LANG", "LOGNAME", "PATH", "TERM", "TMPDIR", "TZ", "USER")
# Names that make a shell, a loader or an interpreter run something else than what was judged.
_NEVER = re.compile(
    r"BASH_.*|ENV|LD_.*|DYLD_.*|PYTHON.*|NODE_OPTIONS|NODE_PATH|GIT_.*|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4|IFS|CDPATH"
    r"|GLOBIGNORE|SHIELD_.*|AGENTCTL_.*|PERL5.*|PERLLIB|RUBYOPT|RUBYLIB|JAVA_TOOL_OPTIONS|SHELL|PATH|HOME"
)
_WITNESS = re.compile(r"https?://[!-~]+ [!-~]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Service(_Section):
    """`socket` is relative to the home or absolute; `tcp` (`127.0.0.1:PORT`) takes its place. `queue` requests may be
    judged at a time; `rate` evaluations per second and token."""

    socket: str = Field(default="run/shield.sock", min_length=1)
    tcp: str | None = None
    queue: int = Field(default=256, ge=1, le=65_536)
    rate: float = Field(default=50.0, gt=0, le=1_000_000)

    @field_validator("tcp")
    @classmethod
    def _loopback(cls, value: str | None) -> str | None:
        if value is not None:
            split_tcp(value)
        return value


class Approvals(_Section):
    timeout_s: int = Field(default=300, ge=1, le=86_400)


class Workspaces(_Section):
    roots: tuple[str, ...] = ()


class Exec(_Section):
    env: tuple[str, ...] = ()

    @field_validator("env")
    @classmethod
    def _harmless(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not _NAME.fullmatch(name) or _NEVER.fullmatch(name):
                raise ValueError(f"`{name}` may not be passed to tools; leave it out")
        return names


class Protection(_Section):
    identity: tuple[str, ...] = ("IDENTITY.md", "SOUL.md")
    instructions: tuple[str, ...] = ("AGENTS.md", "CLAUDE.md", ".cursorrules")
    memory: tuple[str, ...] = ("MEMORY.md", "USER.md")


class Facts(_Section):
    filesystem: Literal["local", "none"] = "local"


class Tier1(_Section):
    model: str = Field(default="tier1", min_length=1)


class Audit(_Section):
    """`checkpoints` is the folder that remembers the newest checkpoint besides the log, see `checkpoints_folder`;
    a witness is `URL VKEY`. `payloads` keeps actions, secrets taken out, encrypted beside the log."""

    checkpoints: str | None = None
    syslog: bool = False
    witnesses: tuple[str, ...] = ()
    interval_s: float = Field(default=5.0, ge=0.1, le=3_600)
    payloads: bool = False

    @field_validator("checkpoints")
    @classmethod
    def _absolute(cls, value: str | None) -> str | None:
        if value and (not os.path.isabs(value) or "\0" in value):
            raise ValueError(f"`{value}` is not absolute; give the whole path of a folder")
        return value

    @field_validator("witnesses")
    @classmethod
    def _pairs(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        for value in values:
            if not _WITNESS.fullmatch(value):
                raise ValueError(
                    f"`{value[:128]}` is no witness; write `https://HOST VKEY`, as the witness shows its key"
                )
        if len(set(values)) != len(values):
            raise ValueError("a witness stands twice; keep it once")
        return values


class Config(_Section):
    """`shield.toml` with its overrides; the defaults are those of an empty file."""

    policy: str = Field(default="default", min_length=1)
    service: Service = Service()
    approvals: Approvals = Approvals()
    workspaces: Workspaces = Workspaces()
    exec: Exec = Exec()
    protection: Protection = Protection()
    facts: Facts = Facts()
    tier1: Tier1 = Tier1()
    audit: Audit = Audit()


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Where everything of one Shield lies. `path` is absolute with every link followed, `given` as it was named."""

    path: str
    given: str | None = dataclasses.field(default=None, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Both, without repetition: a link put in its place keeps the one, another name for it the other."""
        return (self.path,) if self.given in (None, self.path) else (self.path, self.given)

    @property
    def toml(self) -> str:
        return os.path.join(self.path, "shield.toml")

    @property
    def policies(self) -> str:
        return os.path.join(self.path, "policies")

    @property
    def keys(self) -> str:
        return os.path.join(self.path, "keys")

    @property
    def audit_key(self) -> str:
        return os.path.join(self.keys, "audit.pem")

    @property
    def audit_vkey(self) -> str:
        return os.path.join(self.keys, "audit.vkey")

    @property
    def audit_private(self) -> str:
        return os.path.join(self.keys, "private.key")

    @property
    def audit_db(self) -> str:
        return os.path.join(self.path, "audit.db")

    @property
    def audit_checkpoint(self) -> str:
        return os.path.join(self.path, "audit.checkpoint")

    @property
    def state_db(self) -> str:
        return os.path.join(self.path, "state.db")

    @property
    def tokens(self) -> str:
        return os.path.join(self.path, "tokens")

    @property
    def token_book(self) -> str:
        return os.path.join(self.tokens, "tokens.json")

    @property
    def agent_token(self) -> str:
        return os.path.join(self.tokens, "agent.token")

    @property
    def models(self) -> str:
        return os.path.join(self.path, "models")

    @property
    def run(self) -> str:
        return os.path.join(self.path, "run")

    @property
    def lock(self) -> str:
        return os.path.join(self.run, "shield.lock")

    @property
    def permit_key(self) -> str:
        """The public half of the running Shield's permit key, for who did not start it."""
        return os.path.join(self.run, "permit.pub")

    @property
    def old(self) -> str:
        """Logs that a person replaced by new ones, each with its keys."""
        return os.path.join(self.path, "old")

    @property
    def trusted(self) -> str:
        return os.path.join(self.path, "trusted.json")

    def socket(self, config: Config) -> str:
        """The socket's absolute path. Raises ConfigError where it does not fit the operating system's limit."""
        path = os.path.join(self.path, config.service.socket)
        if len(os.fsencode(path)) > SOCKET_PATH_MAX:
            raise ConfigError(
                f"the socket path `{path}` is longer than {SOCKET_PATH_MAX} bytes;"
                " set `[service] socket` in shield.toml to a shorter absolute path"
            )
        return path


def home_from(environ: Mapping[str, str]) -> Home:
    """`$SHIELD_HOME`, else `~/.shield`. Raises ConfigError if it is not absolute."""
    given = environ.get("SHIELD_HOME")
    if given is None:
        given = os.path.join(user_home(environ), ".shield")
    if not os.path.isabs(given):
        raise ConfigError(f"SHIELD_HOME is `{given}`; set it to an absolute path")
    return Home(path=os.path.realpath(given), given=os.path.normpath(given))


def token_from(environ: Mapping[str, str]) -> str | None:
    """The token that a person put into `SHIELD_TOKEN` for `shield approvals|status|audit`."""
    return environ.get("SHIELD_TOKEN") or None


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


def split_tcp(value: str) -> tuple[str, int]:
    """Host and port of `[service] tcp`; only loopback addresses are taken. Raises ValueError."""
    host, _, port = value.rpartition(":")
    if host not in ("127.0.0.1", "[::1]") or not re.fullmatch(r"\d{1,5}", port) or int(port) > 65_535:
        raise ValueError("only a loopback address with a port is taken, for example `127.0.0.1:8470`")
    return host.strip("[]"), int(port)


# --- the environment of tools ----------------------------------------------------------------------------------------


def exec_env(config: Config, environ: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    """The absolute shell and exactly the environment that every command is run with, fixed when Shield starts.

    Raises ConfigError if there is no bash in a system directory.
    """
    shell = next((path for path in _SHELLS if os.access(path, os.X_OK)), None)
    if shell is None:
        raise ConfigError(f"no bash at {', '.join(f'`{path}`' for path in _SHELLS)}; install it")
    names = {*_EXEC_NAMES, *config.exec.env, *(name for name in environ if re.fullmatch(r"LC_[A-Z]+", name))}
    env = {name: environ[name] for name in sorted(names) if name in environ and not environ[name].startswith("() {")}
    env["HOME"] = user_home(environ)
    # A relative or empty entry would find programs in whatever directory the agent is in.
    entries = [entry for entry in env.get("PATH", "").split(":") if os.path.isabs(entry)]
    env["PATH"] = ":".join(entries) or _DEFAULT_PATH
    if not os.path.isabs(env.get("TMPDIR", "/")):
        del env["TMPDIR"]
    env.setdefault("LANG", "C.UTF-8")
    return shell, MappingProxyType(dict(sorted(env.items())))


def user_home(environ: Mapping[str, str]) -> str:
    """What `~` means: `$HOME` if it is absolute, else what the password database says."""
    home = environ.get("HOME", "")
    return home if os.path.isabs(home) else pwd.getpwuid(os.getuid()).pw_dir


def agent_homes(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Where agentctl keeps its configuration and its sessions (XDG Base Directory Specification)."""
    user = user_home(environ)
    bases = (("XDG_CONFIG_HOME", ".config"), ("XDG_DATA_HOME", os.path.join(".local", "share")))
    given = ((environ.get(name, ""), os.path.join(user, default)) for name, default in bases)
    return tuple(os.path.join(base if os.path.isabs(base) else default, "agentctl") for base, default in given)


def checkpoints_folder(config: Config, environ: Mapping[str, str]) -> str:
    """Where the newest checkpoint of every log of this user is remembered, outside of every home: what the owner says,
    else `shield` in the user's state directory (XDG Base Directory Specification). Every link is followed."""
    given = config.audit.checkpoints
    if not given:
        state = environ.get("XDG_STATE_HOME", "")
        base = state if os.path.isabs(state) else os.path.join(user_home(environ), ".local", "state")
        given = os.path.join(base, "shield")
    return os.path.realpath(given)


# --- reading ---------------------------------------------------------------------------------------------------------


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


def _sections() -> dict[str, type[_Section] | None]:
    found: dict[str, type[_Section] | None] = {}
    for name, field in Config.model_fields.items():
        kind = field.annotation
        found[name] = kind if isinstance(kind, type) and issubclass(kind, _Section) else None
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
    close = difflib.get_close_matches(key, _keys(), n=1, cutoff=0.5)
    if not close:
        return ""
    return f", did you mean `{prefix + close[0].upper().replace('.', '__') if prefix else close[0]}`?"


def _explain(error: ValidationError, where: Mapping[str, str], file: str) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    key = ".".join(str(part) for part in first["loc"] if not isinstance(part, int))
    origin = where.get(key, file)
    if first["type"] == "extra_forbidden":
        return f"{origin}: unknown key `{key}`{_suggest(key)}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{origin}: `{key}`: {message[:1].lower()}{message[1:]}"

"""The settings, their defaults and what is refused of them."""

import os
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from shield.config.environment import is_harmless
from shield.config.loopback import split_tcp
from shield.config.model_folder import SHIPPED, model_name
from shield.errors import ConfigError
from shield.regex import regex

__all__ = ["Audit", "Config", "Section"]

_WITNESS = regex(r"https?://[!-~]+ [!-~]+")


def _whole_path(value: str) -> str:
    if not os.path.isabs(value) or "\0" in value:
        raise ValueError(f"`{value}` is not absolute; give the whole path of a folder")
    return value


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Service(Section):
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


class Approvals(Section):
    timeout_s: int = Field(default=300, ge=1, le=86_400)


class Workspaces(Section):
    roots: tuple[str, ...] = ()

    @field_validator("roots")
    @classmethod
    def _absolute(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(_whole_path, values))


class Exec(Section):
    env: tuple[str, ...] = ()

    @field_validator("env")
    @classmethod
    def _harmless(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not is_harmless(name):
                raise ValueError(f"`{name}` may not be passed to tools; leave it out")
        return names


class Protection(Section):
    identity: tuple[str, ...] = ("IDENTITY.md", "SOUL.md")
    instructions: tuple[str, ...] = ("AGENTS.md", "CLAUDE.md", ".cursorrules")
    memory: tuple[str, ...] = ("MEMORY.md", "USER.md")

    @field_validator("identity", "instructions", "memory")
    @classmethod
    def _names(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        for value in values:
            if value in ("", ".", "..") or "/" in value or "\0" in value:
                raise ValueError(f"`{value}` is no name of a file; give the name alone, which counts in every folder")
        return values


class Facts(Section):
    filesystem: Literal["local", "none"] = "local"


class Tier1(Section):
    model: str = Field(default=SHIPPED, min_length=1)

    @field_validator("model")
    @classmethod
    def _name(cls, value: str) -> str:
        try:
            return model_name(value)
        except ConfigError as error:
            raise ValueError(error.detail) from None


class Audit(Section):
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
        return _whole_path(value) if value else value

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


class Config(Section):
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

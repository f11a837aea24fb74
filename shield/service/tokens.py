"""Who may call: bearer tokens by role, of which only the SHA-256 is ever stored."""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hmac import compare_digest
from typing import Any

from shield.config.home import Home
from shield.errors import ConfigError
from shield.regex import regex
from shield.service.home import read_private, write_private
from shield.types import Role

__all__ = [
    "Token",
    "TokenBook",
    "agent_trouble",
    "issue",
    "read_book",
    "read_what_is_left",
    "write_agent_token",
    "write_book",
]

SECRET_BYTES = 32
_SECRET = regex(r"shield_[a-z]+_[0-9a-f]{64}")
_SHA256 = regex(r"[0-9a-f]{64}")
_ID = regex(r"tok_[0-9a-f]{16}")
_NAME = regex(r"[A-Za-z0-9._:-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """`name` is what `agent` means for an agent's token and who answered for an approver's."""

    id: str
    role: Role
    name: str
    sha256: str
    created_at: int = 0


class TokenBook:
    """The tokens in force. Looking one up takes the same time whether and where it is found."""

    __slots__ = ("_digests", "tokens")

    def __init__(self, tokens: Iterable[Token]) -> None:
        self.tokens = tuple(tokens)
        self._digests = tuple((bytes.fromhex(token.sha256), token) for token in self.tokens)

    def find(self, presented: bytes) -> Token | None:
        """The token whose secret was presented, None if there is none."""
        digest = hashlib.sha256(presented).digest()
        found = None
        for known, token in self._digests:
            if compare_digest(known, digest):
                found = token
        return found


def issue(role: Role, name: str, random: Callable[[int], bytes], *, created_at: int) -> tuple[Token, str]:
    """A fresh token and its secret, `shield_ROLE_` + 64 hex digits; the secret exists nowhere else."""
    secret = f"shield_{role.value}_{random(SECRET_BYTES).hex()}"
    token = Token(
        id=f"tok_{random(8).hex()}",
        role=role,
        name=name,
        sha256=hashlib.sha256(secret.encode()).hexdigest(),
        created_at=created_at,
    )
    return token, secret


def read_book(home: Home) -> TokenBook:
    """The stored tokens. Raises ConfigError if there are none or the file is damaged or open to others."""
    try:
        return _book(read_private(home.token_book))
    except ValueError as error:
        raise ConfigError(f"`{home.token_book}` {error}; run `shield init --new-tokens`") from None


def read_what_is_left(home: Home) -> TokenBook | None:
    """The same, for whoever makes new tokens; None where there is no book or none that can be read. Raises ConfigError
    if the file is open to others."""
    try:
        return _book(read_private(home.token_book))
    except ValueError:
        return None


def _book(raw: bytes | None) -> TokenBook:
    """Raises ValueError with what is wrong."""
    if raw is None:
        raise ValueError("is missing")
    try:
        value = json.loads(raw)
        if set(value) != {"version", "tokens"} or value["version"] != 1:
            raise ValueError
        tokens = tuple(_token(item) for item in value["tokens"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError("is damaged") from None
    if len({token.id for token in tokens}) != len(tokens) or len({token.sha256 for token in tokens}) != len(tokens):
        raise ValueError("names a token twice")
    return TokenBook(tokens)


def write_book(home: Home, tokens: Iterable[Token]) -> None:
    """Store the hashes of `tokens`. Raises ConfigError."""
    value = {
        "version": 1,
        "tokens": [
            {
                "id": token.id,
                "role": token.role.value,
                "name": token.name,
                "sha256": token.sha256,
                "created_at": token.created_at,
            }
            for token in tokens
        ],
    }
    write_private(home.token_book, json.dumps(value, indent=1).encode() + b"\n")


def write_agent_token(home: Home, secret: str) -> None:
    """The one secret that lies on disk: the agent's, which can ask but decide nothing."""
    if not _SECRET.fullmatch(secret) or not secret.startswith("shield_agent_"):
        raise ConfigError("only an agent's token is ever written to disk")
    write_private(home.agent_token, secret.encode() + b"\n")


def agent_trouble(home: Home, book: TokenBook) -> str | None:
    """Why agents cannot ask with the token that lies in the home for them; None where they can."""
    try:
        raw = read_private(home.agent_token)
    except ConfigError as error:
        return error.detail
    if raw is None:
        return f"`{home.agent_token}` is missing"
    found = book.find(raw.strip())
    if found is None or found.role is not Role.AGENT:
        return f"`{home.agent_token}` holds no agent's token that `{home.token_book}` knows"
    return None


def _token(item: dict[str, Any]) -> Token:
    if set(item) != {"id", "role", "name", "sha256", "created_at"}:
        raise ValueError
    name, digest, identity, created = item["name"], item["sha256"], item["id"], item["created_at"]
    if not (isinstance(digest, str) and _SHA256.fullmatch(digest) and isinstance(identity, str)):
        raise ValueError
    if not (isinstance(name, str) and _NAME.fullmatch(name) and _ID.fullmatch(identity) and type(created) is int):
        raise ValueError
    return Token(id=identity, role=Role(item["role"]), name=name, sha256=digest, created_at=created)

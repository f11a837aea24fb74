"""The right to do one thing: a receipt that held, and the action parsed back from the bytes that it names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from agentctl.errors import ToolError
from shield import canonical
from shield.errors import InputError, PermitError, Reason
from shield.permits import Receipt, verify_receipt
from shield.types import FileIdentity, FileRole, Isolation, Json, Tier

__all__ = ["Terms", "Warrant", "canonical_action", "permit_terms"]

_LEEWAY_S: Final = 0


class Warrant:
    """INVARIANT: there is no Warrant without a receipt that was verified for exactly these bytes.

    Every function that starts a process, opens a socket or touches a user's file takes one. Making it raises
    PermitError (`mismatch`, `expired`) unless the receipt is signed by `public_key`, names the digest of `action`,
    the permit `jti` and the `nonce`, and has not expired at `now_s` (unix seconds).
    """

    __slots__ = ("cwd", "payload", "receipt", "type")

    receipt: Receipt
    type: str
    payload: Mapping[str, Json]
    cwd: str | None

    def __init__(self, receipt: str, *, public_key: bytes, action: bytes, jti: str, nonce: str, now_s: float) -> None:
        # 1. signed by the Shield that this session began with
        self.receipt = verify_receipt(receipt, public_key)
        # 2. for these very bytes, this permit, this request
        for name, got, expected in (
            ("action", self.receipt.act, canonical.digest(action)),
            ("permit", self.receipt.jti, jti),
            ("nonce", self.receipt.nonce, nonce),
        ):
            if got != expected:
                raise PermitError(f"the receipt is for another {name}; nothing was run", reason=Reason.PERMIT_MISMATCH)
        # 3. still valid
        if now_s >= self.receipt.exp + _LEEWAY_S:
            raise PermitError("the receipt has expired; nothing was run", reason=Reason.PERMIT_EXPIRED)
        # 4. what is run is what the bytes say, not what the caller holds
        try:
            value = canonical.decode(action)
        except InputError as error:
            raise PermitError(f"the action cannot be read back: {error.detail}") from None
        if not isinstance(value, dict) or value.keys() != {"cwd", "payload", "type"}:
            raise PermitError("the bytes are no action; nothing was run")
        kind, payload, cwd = value["type"], value["payload"], value["cwd"]
        if not isinstance(kind, str) or not isinstance(payload, dict) or not (cwd is None or isinstance(cwd, str)):
            raise PermitError("the bytes are no action; nothing was run")
        self.type, self.payload, self.cwd = kind, payload, cwd

    def text(self, name: str) -> str:
        """A payload field that must be text. Raises ToolError."""
        value = self.payload.get(name)
        if not isinstance(value, str):
            raise ToolError(f"`{name}` must be text; send it as a string")
        return value

    def optional_text(self, name: str) -> str | None:
        return None if self.payload.get(name) is None else self.text(name)

    def flag(self, name: str) -> bool:
        value = self.payload.get(name, False)
        if not isinstance(value, bool):
            raise ToolError(f"`{name}` must be true or false")
        return value

    def whole(self, name: str, default: int, *, least: int, most: int) -> int:
        """A payload field that must be a whole number within bounds. Raises ToolError."""
        value = self.payload.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise ToolError(f"`{name}` must be a whole number from {least} to {most}")
        return value

    def file(self, *roles: FileRole) -> FileIdentity:
        """The one file that the receipt names in one of these roles, an earlier role before a later one.

        The path judged is the path opened: it is taken from the receipt and never worked out again. Raises
        PermitError where there is none or more than one.
        """
        for role in roles:
            found = [entry for entry in self.receipt.files if entry.role is role]
            if len(found) == 1:
                return found[0]
            if found:
                break
        raise PermitError(f"the receipt does not name one file to {self.type.replace('_', ' ')}; nothing was done")


def canonical_action(kind: str, payload: Mapping[str, Json], cwd: str | None) -> bytes:
    """The bytes whose SHA-256 a verdict, permit and receipt must name. Raises InputError for what is not JSON."""
    return canonical.encode({"type": kind, "payload": payload, "cwd": cwd}, max_nodes=canonical.MAX_NODES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the enforcement point needs to know of a permit before it redeems it.

    `isolation` is the least sandbox level; `by_person` that a person allowed this very action as it was shown.
    """

    jti: str
    isolation: Isolation
    by_person: bool


def permit_terms(permit: str, public_key: bytes) -> Terms:
    """The terms of a permit signed by the pinned key. Raises PermitError where another key signed it."""
    try:
        claims = jwt.decode(
            permit,
            Ed25519PublicKey.from_public_bytes(public_key),
            algorithms=["EdDSA"],
            audience="shield-redeem",
            issuer="shield",
            leeway=0,
            # Shield judges expiry by its monotonic clock when the permit is redeemed
            options={"require": ["jti", "iso", "tier"], "verify_exp": False, "verify_iat": False, "verify_nbf": False},
        )
        tier, isolation = Tier(claims["tier"]), Isolation(claims["iso"])
    except (jwt.PyJWTError, ValueError, TypeError):
        raise PermitError("the permit is not signed by the Shield that this session began with") from None
    jti = claims["jti"]
    if not isinstance(jti, str) or not jti:
        raise PermitError("the permit has no id")
    return Terms(jti=jti, isolation=isolation, by_person=tier is Tier.PERSON)

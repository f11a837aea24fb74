"""Permits and receipts: signed, single-use, bound to exactly one action.

A permit (`typ: shield-permit+jwt`) says that an action may be redeemed; a receipt (`typ: shield-receipt+jwt`) says that
it was, and names what may be touched. Both are JWTs (RFC 7519) signed with Ed25519 (`EdDSA`, RFC 8037) by a key that is
made when Shield starts and never leaves its memory, so both die with the process.
Verification never lets the token choose: algorithm, type, key id, issuer, audience and claims are fixed here.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from shield.canonical import digest, encode
from shield.errors import PermitError, Reason
from shield.types import FileIdentity, FileRole, HostFact, IpClass, Isolation, Tier

__all__ = [
    "PERMIT_SECONDS",
    "Permit",
    "PermitKey",
    "Receipt",
    "env_digest",
    "key_id",
    "state_digest",
    "verify_receipt",
]

PERMIT_SECONDS = 60  # DESIGN 5
_ALGORITHM = "EdDSA"
_ISSUER = "shield"
_PERMIT_TYPE, _PERMIT_AUDIENCE = "shield-permit+jwt", "shield-redeem"
_RECEIPT_TYPE, _RECEIPT_AUDIENCE = "shield-receipt+jwt", "shield-execute"
_PERMIT_CLAIMS = (
    "jti iss sub sid tcid iat exp aud act state env pol need tier seq wsr iso".split()  # noqa: SIM905  # reads as the list in DESIGN 5
)
_RECEIPT_CLAIMS = "jti iss aud act state nonce seq exp files shell env allow_hosts".split()  # noqa: SIM905  # as CONTRACTS
_MAX_TOKEN = 1 << 20
_COMPACT = json.JSONEncoder(separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """The claims of a permit. Times are unix seconds; `wsr` are the session's workspace roots."""

    jti: str
    sub: str
    sid: str
    tcid: str
    iat: int
    exp: int
    act: str
    state: str
    env: str
    pol: str
    need: Tier
    tier: Tier
    seq: int
    wsr: tuple[str, ...]
    iso: Isolation


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The claims of a receipt. `exp` is unix seconds, `env` the exact environment, `files` what may be opened."""

    jti: str
    act: str
    state: str
    nonce: str
    seq: int
    exp: int
    files: tuple[FileIdentity, ...]
    shell: str
    env: Mapping[str, str]
    allow_hosts: tuple[HostFact, ...]


class PermitKey:
    """The signing key of one Shield process. Never written, never returned: only its public half leaves."""

    def __init__(self, private: Ed25519PrivateKey | None = None) -> None:
        self._private = private if private is not None else Ed25519PrivateKey.generate()
        self.public = self._private.public_key().public_bytes_raw()
        kid = key_id(self.public)
        self._heads = {
            kind: _base64(_json({"alg": _ALGORITHM, "kid": kid, "typ": kind})) for kind in (_PERMIT_TYPE, _RECEIPT_TYPE)
        }

    def sign_permit(self, permit: Permit) -> str:
        """The permit as a compact JWT."""
        claims = {
            "jti": permit.jti,
            "iss": _ISSUER,
            "sub": permit.sub,
            "sid": permit.sid,
            "tcid": permit.tcid,
            "iat": permit.iat,
            "exp": permit.exp,
            "aud": _PERMIT_AUDIENCE,
            "act": permit.act,
            "state": permit.state,
            "env": permit.env,
            "pol": permit.pol,
            "need": int(permit.need),
            "tier": int(permit.tier),
            "seq": permit.seq,
            "wsr": permit.wsr,
            "iso": permit.iso.value,
        }
        return self._sign(claims, _PERMIT_TYPE)

    def sign_receipt(self, receipt: Receipt) -> str:
        """The receipt as a compact JWT."""
        claims = {
            "iss": _ISSUER,
            "aud": _RECEIPT_AUDIENCE,
            "jti": receipt.jti,
            "act": receipt.act,
            "state": receipt.state,
            "nonce": receipt.nonce,
            "seq": receipt.seq,
            "exp": receipt.exp,
            "files": [file_json(file) for file in receipt.files],
            "shell": receipt.shell,
            "env": dict(receipt.env),
            "allow_hosts": [_host_json(host) for host in receipt.allow_hosts],
        }
        return self._sign(claims, _RECEIPT_TYPE)

    def verify_permit(self, token: str) -> Permit:
        """The claims of a permit that this very key signed. Expiry is the caller's: it has the monotonic clock.

        Raises PermitError `mismatch`.
        """
        claims = _verify(token, self.public, _PERMIT_TYPE, _PERMIT_AUDIENCE, _PERMIT_CLAIMS)
        try:
            return Permit(
                jti=_text(claims["jti"]),
                sub=_text(claims["sub"]),
                sid=_text(claims["sid"]),
                tcid=_text(claims["tcid"]),
                iat=_whole(claims["iat"]),
                exp=_whole(claims["exp"]),
                act=_text(claims["act"]),
                state=_text(claims["state"]),
                env=_text(claims["env"]),
                pol=_text(claims["pol"]),
                seq=_whole(claims["seq"]),
                need=Tier(_whole(claims["need"])),
                tier=Tier(_whole(claims["tier"])),
                wsr=tuple(_text(root) for root in claims["wsr"]),
                iso=Isolation(claims["iso"]),
            )
        except (TypeError, ValueError):
            raise _mismatch("its claims are not a permit's") from None

    def _sign(self, claims: Mapping[str, Any], kind: str) -> str:
        # RFC 7515 section 7.1, compact serialisation; the head is one of two, made when the key was
        signed = self._heads[kind] + b"." + _base64(_json(claims))
        return (signed + b"." + _base64(self._private.sign(signed))).decode("ascii")


def _json(value: Mapping[str, Any]) -> bytes:
    return _COMPACT.encode(value).encode("utf-8")


def _base64(raw: bytes) -> bytes:
    """base64url without padding, RFC 7515 section 2."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


def verify_receipt(token: str, public_key: bytes) -> Receipt:
    """The claims of a receipt signed by `public_key` (32 raw bytes, pinned when the session began).

    The caller compares `act`, `nonce`, `jti` and `exp` with what it sent. Raises PermitError `mismatch`.
    """
    claims = _verify(token, public_key, _RECEIPT_TYPE, _RECEIPT_AUDIENCE, _RECEIPT_CLAIMS)
    try:
        return Receipt(
            jti=_text(claims["jti"]),
            act=_text(claims["act"]),
            state=_text(claims["state"]),
            nonce=_text(claims["nonce"]),
            seq=_whole(claims["seq"]),
            exp=_whole(claims["exp"]),
            files=tuple(_file(item) for item in claims["files"]),
            shell=_text(claims["shell"]),
            env={_text(name): _text(value) for name, value in claims["env"].items()},
            allow_hosts=tuple(_host(item) for item in claims["allow_hosts"]),
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        raise _mismatch("its claims are not a receipt's") from None


def key_id(public_key: bytes) -> str:
    """The `kid` of a raw Ed25519 public key: the first 16 hex digits of its SHA-256."""
    return hashlib.sha256(public_key).hexdigest()[:16]


def state_digest(files: Sequence[FileIdentity]) -> str:
    """`sha256:` digest over the identities, in the order given: what `state` binds."""
    # not the canonical form, which has no place for a name that is no UTF-8: here it is escaped, byte by byte
    return digest(_COMPACT.encode([file_json(file) for file in files]).encode("ascii"))


def env_digest(shell: str, shell_version: str, env: Mapping[str, str], umask: int) -> str:
    """`sha256:` digest of the execution environment: shell, its version, every variable, umask."""
    return digest(encode({"env": dict(env), "shell": shell, "umask": umask, "version": shell_version}))


def file_json(file: FileIdentity) -> dict[str, Any]:
    """One entry of `files[]`. Nanoseconds stand as a decimal string: they pass 2^53."""
    shape: dict[str, Any] = {
        "role": file.role.value,
        "path": file.path,
        "dev": file.dev,
        "ino": file.ino,
        "sha256": file.sha256,
        "absent": file.absent,
    }
    if file.kind is not None:
        shape["kind"] = file.kind
    if file.size is not None:
        shape["size"] = file.size
    if file.ctime_ns is not None:
        shape["ctime_ns"] = str(file.ctime_ns)
    if file.deleted:
        shape["deleted"] = True
    return shape


# --- reading ---------------------------------------------------------------------------------------------------------


def _verify(token: str, public_key: bytes, kind: str, audience: str, claims: Sequence[str]) -> dict[str, Any]:
    if len(token) > _MAX_TOKEN:
        raise _mismatch("it is too long")
    try:
        decoded = jwt.decode_complete(
            token,
            Ed25519PublicKey.from_public_bytes(public_key),
            algorithms=[_ALGORITHM],
            audience=audience,
            issuer=_ISSUER,
            leeway=0,
            # INVARIANT: expiry is judged by the caller's own clock; the wall clock here could be set back
            options={"require": list(claims), "verify_exp": False, "verify_iat": False, "verify_nbf": False},
        )
    except (jwt.PyJWTError, ValueError, TypeError):
        raise _mismatch("its signature or claims do not hold") from None
    header = decoded["header"]
    if header.get("typ") != kind or header.get("kid") != key_id(public_key) or header.get("alg") != _ALGORITHM:
        raise _mismatch(f"it is not a `{kind}` of this key")
    payload: dict[str, Any] = decoded["payload"]
    if set(payload) != set(claims):
        raise _mismatch("it has other claims than expected")
    return payload


def _mismatch(why: str) -> PermitError:
    return PermitError(f"the token is not valid here: {why}; ask for a new evaluation", reason=Reason.PERMIT_MISMATCH)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError(value)
    return value


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(value)
    return value


def _optional(value: Any) -> int | None:
    return None if value is None else _whole(value)


def _file(item: Mapping[str, Any]) -> FileIdentity:
    ctime, digest_, kind = item.get("ctime_ns"), item["sha256"], item.get("kind")
    if type(item["absent"]) is not bool or item.get("deleted", True) is not True:
        raise TypeError(item)
    return FileIdentity(
        role=FileRole(item["role"]),
        path=_text(item["path"]),
        dev=_optional(item["dev"]),
        ino=_optional(item["ino"]),
        size=_optional(item.get("size")),
        ctime_ns=None if ctime is None else int(_text(ctime)),
        kind=None if kind is None else _text(kind),
        sha256=None if digest_ is None else _text(digest_),
        absent=item["absent"],
        deleted="deleted" in item,
    )


def _host_json(host: HostFact) -> dict[str, Any]:
    return {"url": host.url, "scheme": host.scheme, "host": host.host, "port": host.port, "ip_class": host.ip_class}


def _host(item: Mapping[str, Any]) -> HostFact:
    return HostFact(
        url=_text(item["url"]),
        scheme=_text(item["scheme"]),
        host=_text(item["host"]),
        port=_optional(item["port"]),
        ip_class=IpClass(item["ip_class"]),
    )

"""What can be told of a token without asking its issuer: its checksum, or the structure it is made of.

Each function takes the token alone. None: this text is not of the one shape that is known to carry a checksum (a
longer token, one with other text glued to it), so nothing can be told.
"""

import hashlib
import zlib
from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from typing import Final

__all__ = ["base58", "bech32", "crc_base62", "macaroon"]

_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BECH32: Final = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATOR: Final = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


def crc_base62(token: str) -> bool | None:
    """GitHub's tokens and npm's: a prefix, 30 characters, their CRC32 in six digits of base 62.

    Source: github.blog, "Behind GitHub's new authentication token formats" (2021), "Announcing npm's new access token
    format" (2021).
    """
    body = token.rpartition("_")[2]
    if len(body) != 36 or token.startswith("github_pat_"):
        return None
    return body[30:] == _digits(zlib.crc32(body[:30].encode()))


def bech32(token: str) -> bool | None:
    """BIP 173: what stands before the last `1`, then data of five bits a character, the last six their checksum."""
    prefix, _, data = token.lower().rpartition("1")
    values = [_BECH32.find(character) for character in data]
    if not prefix or len(data) < 6 or min(values) < 0:
        return False
    check = 1
    spread = [ord(character) >> 5 for character in prefix] + [0] + [ord(character) & 31 for character in prefix]
    for value in (*spread, *values):
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for bit, factor in enumerate(_GENERATOR):
            check ^= factor if top >> bit & 1 else 0
    return check == 1


def base58(token: str) -> bool | None:
    """Base58Check, as wallets write keys: the last four bytes are of the double SHA-256 of the others."""
    number = 0
    for character in token:
        number = number * 58 + _BASE58.index(character)
    raw = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return hashlib.sha256(hashlib.sha256(raw[:-4]).digest()).digest()[:4] == raw[-4:]


def macaroon(token: str) -> bool | None:
    """A macaroon of version 2 behind a prefix, as PyPI's: it begins with the name of the host that issued it.

    Source: docs.pypi.org, "API tokens"; the macaroon library's format, `02`, field 1 (location), field 2 (identifier).
    """
    body = token.partition("-")[2][:80]  # a host's name is not longer, and whole quadruples can be decoded alone
    try:
        raw = urlsafe_b64decode(body[: len(body) // 4 * 4])
    except (Base64Error, ValueError):
        return False
    host = raw[3 : 3 + raw[2]]
    known = host.isascii() and host.replace(b".", b"").replace(b"-", b"").isalnum()
    return raw[:2] == b"\x02\x01" and known and raw[3 + raw[2] : 4 + raw[2]] in (b"\x02", b"")


def _digits(number: int) -> str:
    found = ""
    while number:
        number, digit = divmod(number, 62)
        found = _BASE62[digit] + found
    return found.rjust(6, "0")

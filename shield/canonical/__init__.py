"""Strict JSON in, canonical bytes out: what is judged, hashed, logged and run is one and the same byte string.

`parse` reads JSON (RFC 8259) and refuses what two readers could understand differently: duplicate keys, NaN and
infinity (also by overflow), lone surrogates, a byte order mark, and anything past a named limit.
`encode` writes `shield-jcs-1`: RFC 8785 (JSON Canonicalization Scheme), but an integer beyond ±(2^53−1), which RFC 8785
cannot represent, becomes `{"$int":"…"}`, and an object with exactly one key matching `^\\$+int$` gains one `$`.
`decode` is the inverse: `decode(encode(v)) == v` up to the number forms that RFC 8785 merges (`1.0` is `1`).
"""

from shield.canonical.form import canonicalise, decode, digest, encode
from shield.canonical.limits import MAX_BYTES, MAX_DEPTH, MAX_NODES, MAX_SAFE_INTEGER
from shield.canonical.reader import parse

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_NODES",
    "MAX_SAFE_INTEGER",
    "canonicalise",
    "decode",
    "digest",
    "encode",
    "parse",
]

"""Secrets in text, by the shapes their issuers give them, and by name and randomness where there is no shape.

Only kind and place leave this module. RE2 makes the search linear in the text whatever the text is.
"""

import json
import math
from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import re2  # type: ignore[import-untyped]  # the wheel ships no types

from shield.types import SecretFact

__all__ = ["KINDS", "find_secrets", "redact"]

# Kind and pattern; group 1 is the secret. The shapes are those that the issuers document for scanners. One with a
# prefix that means nothing else needs no boundary before it: glued to other text it is still the secret.
_SHAPES: tuple[tuple[str, str], ...] = (
    ("age_key", r"\b(AGE-SECRET-KEY-1[A-Z0-9]{58})\b"),
    ("anthropic_key", r"(sk-ant-[a-z0-9]{2,10}-[A-Za-z0-9_-]{20,})"),
    ("atlassian_token", r"\b(ATATT3[A-Za-z0-9_=-]{50,})"),
    (
        "authorization_header",
        r"(?i)\bauthorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)\s+([A-Za-z0-9._~+/=-]{16,})",
    ),
    ("aws_access_key", r"\b((?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})\b"),
    (
        "aws_secret_key",
        r"(?i)\b(?:aws_?)?secret_?(?:access_?)?key[\"']?\s*[:=]\s*[\"']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)",
    ),
    (
        "azure_client_secret",
        r"(?:^|[^A-Za-z0-9_~.-])([A-Za-z0-9_~.]{3}[78]Q~[A-Za-z0-9_~.-]{31,34})(?:[^A-Za-z0-9_~.-]|$)",
    ),
    ("azure_sas", r"[?&]sig=([A-Za-z0-9%+/]{40,}=*)"),
    ("azure_storage_key", r"AccountKey=([A-Za-z0-9+/]{86}==)"),
    ("basic_auth_url", r"(?i)\bhttps?://[^\s/:@?#\"']*:([^\s/@\"'<>{}$]{3,})@"),
    (
        "database_url",
        (
            r"(?i)\b(?:postgres|postgresql|mysql|mariadb|mongodb|redis|rediss|amqp|amqps|mssql|sqlserver|clickhouse|cockroachdb|ldaps?)"
            r"(?:\+[a-z0-9]+)?://[^\s:/@\"']*:([^\s@/\"'<>{}$]{2,})@"
        ),
    ),
    ("databricks_token", r"\b(dapi[0-9a-f]{32})(?:-[0-9])?\b"),
    ("digitalocean_token", r"\b(do[opr]_v1_[0-9a-f]{64})\b"),
    ("discord_token", r"\b([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38})"),
    (
        "discord_webhook",
        r"(https://(?:canary\.|ptb\.)?discord(?:app)?\.com/api/webhooks/[0-9]{15,20}/[A-Za-z0-9_-]{40,})",
    ),
    ("docker_token", r"(dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,})"),
    ("github_token", r"((?:gh[opusr]_[A-Za-z0-9]{36,255})|(?:github_pat_[A-Za-z0-9_]{60,255}))"),
    ("gitlab_token", r"(gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_.-]{20,})"),
    ("google_api_key", r"\b(AIza[A-Za-z0-9_-]{35})(?:[^A-Za-z0-9_-]|$)"),
    ("google_oauth", r"\b(ya29\.[A-Za-z0-9_-]{30,}|GOCSPX-[A-Za-z0-9_-]{28})"),
    ("grafana_token", r"\b(gl(?:c|sa)_[A-Za-z0-9+/_=-]{32,})"),
    ("heroku_key", r"\b(HRKU-[A-Za-z0-9_-]{36,})"),
    ("huggingface_token", r"\b(hf_[A-Za-z0-9]{34,40})\b"),
    ("jwt", r"\b(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,})"),
    ("linear_key", r"\b(lin_api_[A-Za-z0-9]{40})\b"),
    ("mailchimp_key", r"\b([0-9a-f]{32}-us[0-9]{1,2})\b"),
    ("mailgun_key", r"\b(key-[0-9a-f]{32})\b"),
    ("newrelic_key", r"\b(NRAK-[A-Z0-9]{27})\b"),
    ("notion_token", r"\b((?:ntn_|secret_)[A-Za-z0-9]{43,50})\b"),
    ("npm_token", r"\b(npm_[A-Za-z0-9]{36})\b"),
    ("npm_auth", r"(?i)_auth(?:token)?\s*=\s*([A-Za-z0-9+/=_-]{20,})"),
    (
        "openai_key",
        r"\b(sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,}|sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|sk-[A-Za-z0-9]{48})",
    ),
    ("private_key", r"(-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----)"),
    ("putty_key", r"(PuTTY-User-Key-File-[0-9]: )"),
    ("pypi_token", r"\b(pypi-AgE[A-Za-z0-9_-]{50,})"),
    ("sendgrid_key", r"\b(SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64})"),
    ("sentry_token", r"\b(sntry[su]_[A-Za-z0-9_=+/-]{40,})"),
    ("shopify_token", r"\b(shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32})\b"),
    ("slack_token", r"\b(xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{20,})"),
    ("slack_webhook", r"(https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,})"),
    ("square_token", r"\b(sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,43})"),
    ("stripe_key", r"\b((?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{32,}=*)"),
    ("telegram_token", r"\b([0-9]{8,10}:AA[A-Za-z0-9_-]{33})(?:[^A-Za-z0-9_-]|$)"),
    ("twilio_key", r"\b(SK[0-9a-f]{32})\b"),
    ("vault_token", r"\b(hv[sbr]\.[A-Za-z0-9_-]{24,})"),
    (
        "named_secret",
        (
            r"(?i)(?:password|passwd|passphrase|pwd|secret|api_?-?key|access_?-?key|auth_?-?token|access_?-?token|private_?-?key|"
            r"client_?-?secret|signing_?-?key|encryption_?-?key|[_-]token|^token)[A-Za-z0-9_]{0,20}[\"']?\s{0,3}(?:=>|:=|=|:)\s{0,3}[\"']?([^\s\"'`,;<>]{8,200})"
        ),
    ),
)
KINDS = tuple(kind for kind, _ in _SHAPES)

# A random string of 16 hexadecimal digits has at least this many bits a character in 999 of 1,000 draws, one of 16
# letters and digits always: `tests/facts/test_secrets.py` measures it.
_LEAST_BITS = 2.4
_REMEMBERED_TEXT = 256  # code points; paths, names and short commands come again and again
_PLACEHOLDERS = (
    "example",
    "changeme",
    "change_me",
    "change-me",
    "placeholder",
    "redacted",
    "replace",
    "dummy",
    "your",
    "xxxx",
    "****",
    "....",
    "todo",
    "insert",
    "1234567890123456",
)


def find_secrets(text: str, where: str = "", *, limit: int | None = None) -> tuple[SecretFact, ...]:
    """The secrets in `text`, by position, none overlapping another; `where` is its JSON pointer or role.

    With `limit`, the search of a kind stops when that many were found; a caller who gets some then knows only that.
    """
    spans: list[tuple[int, int, str]] = []
    for shape in _matching(text):
        covered = 0
        for match in shape.regex.finditer(text):
            start, end = match.span(1)
            # INVARIANT: a kind's spans do not overlap: the search for a block's end goes over the text once.
            if start >= covered and shape.check(text[start:end]):
                covered = _whole(shape.kind, text, end)
                spans.append((start, covered, shape.kind))
                if limit is not None and len(spans) >= limit:
                    break
    # A shape says more than a name, and the longer match more than the shorter.
    spans.sort(key=lambda span: (span[2] == "named_secret", span[0] - span[1], span[0], span[2]))
    kept: list[tuple[int, int, str]] = []
    for span in spans:
        at = bisect(kept, span)
        if (at == 0 or kept[at - 1][1] <= span[0]) and (at == len(kept) or span[1] <= kept[at][0]):
            kept.insert(at, span)
    return tuple(SecretFact(kind=kind, where=where, start=start, end=end) for start, end, kind in kept)


def redact(text: str, where: str = "") -> tuple[str, tuple[SecretFact, ...]]:
    """`text` with each secret replaced by `[redacted KIND]`, and what was replaced, in offsets of the text given."""
    if len(text) <= _REMEMBERED_TEXT and _clean(text):
        return text, ()
    found = find_secrets(text, where)
    pieces, at = [], 0
    for secret in found:
        pieces += [text[at : secret.start], f"[redacted {secret.kind}]"]
        at = secret.end
    return "".join((*pieces, text[at:])), found


def _clean(text: str) -> bool:
    """Whether a short text holds no secret; only that is remembered, never a text that holds one."""
    try:
        return _seen_clean(text)
    except _HoldsSecretError:
        return False


class _HoldsSecretError(Exception):
    """Not an answer that a cache keeps."""


@lru_cache(maxsize=4096)
def _seen_clean(text: str) -> bool:
    if find_secrets(text, limit=1):
        raise _HoldsSecretError
    return True


def _whole(kind: str, text: str, end: int) -> int:
    """A private key ends where its block does; one that is cut off reaches to the end of the text."""
    if kind == "putty_key":
        return len(text)
    if kind != "private_key":
        return end
    closing = text.find("-----END ", end)
    if closing < 0:
        return len(text)
    line = text.find("\n", closing)
    return len(text) if line < 0 else line


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    kind: str
    regex: "re2._Regexp"
    check: Callable[[str], bool]


def _matching(text: str) -> Iterator[_Shape]:
    shapes, union = _compiled()
    # None is "no match". A set whose automaton does not fit into `max_mem` answers None, too, but it does so for every
    # text: the tests would see it. (RE2 never gives up half way in a set, `re2/dfa.cc`.)
    return (shapes[index] for index in sorted(union.Match(text) or ()))


@lru_cache(maxsize=1)
def _compiled() -> "tuple[tuple[_Shape, ...], re2.Set]":
    options = re2.Options()
    options.max_mem = 64 << 20
    options.log_errors = False
    union = re2.Set.SearchSet(options)
    for _, pattern in _SHAPES:
        union.Add(pattern)
    union.Compile()
    checks = {"jwt": _is_jwt, "named_secret": _is_value, "npm_auth": _is_random}
    shapes = tuple(
        _Shape(kind=kind, regex=re2.compile(pattern, options), check=checks.get(kind, _is_meant))
        for kind, pattern in _SHAPES
    )
    return shapes, union


def _is_meant(value: str) -> bool:
    """Not the placeholder that documentation writes in a secret's place."""
    lower = value.lower()
    return (
        not any(word in lower for word in ("example", "xxxxxx", "your_", "your-", "<", "...")) and len(set(value)) > 1
    )


def _is_jwt(value: str) -> bool:
    header = value.partition(".")[0]
    try:
        parsed = json.loads(urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    except (Base64Error, ValueError, RecursionError):
        return False
    return isinstance(parsed, dict) and ("alg" in parsed or "enc" in parsed)


def _is_random(value: str) -> bool:
    return not any(word in value.lower() for word in _PLACEHOLDERS) and _bits(value) >= _LEAST_BITS


def _is_value(value: str) -> bool:
    """A value that stands behind a secret's name: random enough, and no expression that fetches it from elsewhere."""
    if any(mark in value for mark in "(){}[]$%") or value.startswith(("/", "./", "~/", "&", "http://", "https://")):
        return False
    core = value.rstrip(".:;!?")
    kinds = (any(map(str.isdigit, core)), any(map(str.islower, core)), any(map(str.isupper, core)))
    symbol = any(not character.isalnum() and character not in "_-./" for character in core)
    # `config.old_password`, `my-secret-name`: names of things are letters with few kinds of separators.
    if not kinds[0] and not symbol:
        return False
    return len(core) >= 8 and sum((*kinds, symbol)) >= 2 and _is_random(core)


def _bits(value: str) -> float:
    """Shannon's entropy of the characters of `value`, in bits a character."""
    counts, size = Counter(value), len(value)
    return -sum(count / size * math.log2(count / size) for count in counts.values()) if size else 0.0

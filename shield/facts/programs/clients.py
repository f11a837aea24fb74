"""Clients of databases: where their surroundings lead them, whatever the line says, and what they run at once."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.guards import inside
from shield.facts.paths import resolve_path, resolved_roots
from shield.facts.programs.invocation import Invocation, Special
from shield.regex import regex
from shield.types import RunsCode

__all__ = ["CLIENTS"]

# Variables by which libpq finds another server, whatever the line says, or more statements (libpq, "Environment
# Variables"; psql, "Files").
_STEERING = ("PGHOSTADDR", "PGSERVICE", "PGSERVICEFILE", "PGSYSCONFDIR", "PSQLRC")
_LOCAL = ("", "localhost", "127.0.0.1", "::1")
_URL = regex(r"(?:postgres(?:ql)?|rediss?)://")
# The clients of Redis take all in front of an `@` for the user, wherever it stands: `redis://localhost/@db.example`.
_REDIS_URL = regex(r"rediss?://(?:[^@/?#]*@)?[^@/?#]*(?:/\d*)?")
# Of these tables and columns the hashes of passwords are read, or passwords for other servers.
_SECRETS = regex(
    r"(?i)\b(?:pg_authid|pg_shadow|pg_user_mappings?)\b|(?=.*\bmysql[\s`.]+user\b)(?=.*(?:\*|\bpassword|authentication_))",
    re.DOTALL,
)


def _postgres(call: Invocation) -> bool:
    env = {**call.context.place.env, **call.context.told}
    named = call.arguments.has("-h", "--host") or any("://" in word.text for word in call.words)
    steering = [name for name in _STEERING if name in env]
    host = env.get("PGHOST", "")
    if not named and host not in _LOCAL and not host.startswith("/"):
        steering.append("PGHOST")
    for name in steering:
        call.reading.unknown.append(f"`{name}` says which server `{call.name[:40]}` asks, or what it runs")
    if any(word.text.startswith("redis") and _URL.match(word.text) for word in call.words):
        call.reading.unknown.append(f"which server `{call.name[:40]}` asks is not known")
    _asked(call, "-c", "--command")
    _started_with(call, "psqlrc", "pg_service.conf")
    return False


def _dump(call: Invocation) -> bool:
    """pg_dump: of named tables or schemas, or of rows alone, it shows neither how other servers are asked nor what
    subscriptions are (pg_dump(1): "no attempt to dump any other database objects")."""
    if not call.arguments.has("-t", "--table", "-n", "--schema", "-a", "--data-only"):
        call.reading.caution()
        call.reading.unknown.append(f"`{call.name[:40]}` may show passwords for other servers")
    return _postgres(call)


def _mysql(call: Invocation) -> bool:
    """Commands of other clients are its own by other names: `\\encoding` begins with `\\e`, which starts an editor."""
    statements = call.arguments.values("-e", "--execute")
    if any(statement.text.lstrip().startswith(("\\", ".")) for statement in statements):
        call.reading.run(RunsCode.INLINE)
    if any(_URL.match(word.text) for word in call.words):
        call.reading.unknown.append(f"which server `{call.name[:40]}` asks is not known")
    _asked(call, "-e", "--execute")
    _started_with(call, "my.cnf", "mylogin.cnf")
    return False


def _redis(call: Invocation) -> bool:
    for url in call.arguments.values("-u"):
        if not url.fixed or _REDIS_URL.fullmatch(url.text) is None:
            call.reading.unknown.append(f"where `{url.text[:80]}` leads is not known")
    _started_with(call, "redisclirc")
    return False


def _asked(call: Invocation, *options: str) -> None:
    if any(_SECRETS.search(statement.text) for statement in call.arguments.values(*options)):
        call.reading.unknown.append(f"`{call.name[:40]}` is asked for passwords")


def _started_with(call: Invocation, *names: str) -> None:
    """Statements and settings that lie in the home, where that is the workspace."""
    place = call.context.place
    for name in names:
        found = resolve_path(f"{place.home}/.{name}", place, base=None, expand_tilde=False)
        if found.path is None or inside(found.path, resolved_roots(place)):
            call.reading.run(RunsCode.WORKSPACE)


CLIENTS: Mapping[str, Special] = MappingProxyType(
    {"postgres": _postgres, "dump": _dump, "mysql": _mysql, "redis": _redis}
)

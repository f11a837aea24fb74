"""Clients of databases: where their surroundings lead them, whatever the line says, and what they run at once."""

from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.guards import inside
from shield.facts.paths import resolve_path, resolved_roots
from shield.facts.programs.invocation import Invocation, Special
from shield.types import RunsCode

__all__ = ["CLIENTS"]

# Variables by which libpq finds another server, whatever the line says, or more statements (libpq, "Environment
# Variables"; psql, "Files").
_STEERING = ("PGHOSTADDR", "PGSERVICE", "PGSERVICEFILE", "PGSYSCONFDIR", "PSQLRC")
_LOCAL = ("", "localhost", "127.0.0.1", "::1")


def _postgres(call: Invocation) -> bool:
    env = call.context.place.env
    named = call.arguments.has("-h", "--host") or any("://" in word.text for word in call.words)
    steering = [name for name in _STEERING if name in env]
    host = env.get("PGHOST", "")
    if not named and host not in _LOCAL and not host.startswith("/"):
        steering.append("PGHOST")
    for name in steering:
        call.reading.unknown.append(f"`{name}` says which server `{call.name[:40]}` asks, or what it runs")
    _started_with(call, "psqlrc", "pg_service.conf")
    return False


def _mysql(call: Invocation) -> bool:
    _started_with(call, "my.cnf", "mylogin.cnf")
    return False


def _redis(call: Invocation) -> bool:
    _started_with(call, "redisclirc")
    return False


def _started_with(call: Invocation, *names: str) -> None:
    """Statements and settings that lie in the home, where that is the workspace."""
    place = call.context.place
    for name in names:
        found = resolve_path(f"{place.home}/.{name}", place, base=None, expand_tilde=False)
        if found.path is None or inside(found.path, resolved_roots(place)):
            call.reading.run(RunsCode.WORKSPACE)


CLIENTS: Mapping[str, Special] = MappingProxyType({"postgres": _postgres, "mysql": _mysql, "redis": _redis})

"""Calls, requests, messages and writes, as programs send them: a name and what it is given, in many shapes."""

import json
from collections.abc import Callable, Sequence
from random import Random
from urllib.parse import urlencode
from xml.sax.saxutils import escape

from models.training.invented import code, date, money, name, person, place, score, status, title
from shield.types import Json

__all__ = ["call"]


_Said = Callable[[], str]

_VERBS = (
    "get", "set", "list", "create", "update", "delete", "send", "search", "find", "add", "remove", "play", "stop",
    "start", "open", "close", "book", "cancel", "order", "check", "convert", "calculate", "translate", "read", "write",
    "upload", "download", "run", "execute", "fetch", "query", "count", "compare", "resize", "plot", "clone", "rename",
)  # fmt: skip
_NOUNS = (
    "weather", "volume", "alarm", "order", "invoice", "user", "file", "report", "ticket", "event", "playlist", "route",
    "price", "stock", "message", "email", "appointment", "account", "balance", "recipe", "flight", "server", "branch",
    "repo", "issue", "page", "image", "document", "contact", "reminder", "device", "light", "thermostat", "sensor",
    "note", "policy", "command", "distance", "matrix", "badge", "room", "project", "agent", "model", "song", "cell",
)  # fmt: skip
_SHORT_FIELDS = (
    "id", "type", "name", "location", "city", "unit", "date", "start", "end", "limit", "page", "status", "language",
    "category", "size", "color", "amount", "currency", "path", "format", "from", "to", "user_id", "mode", "key",
    "brand", "level", "count", "detailed", "verbose", "a", "b", "x", "n", "origin", "destination",
)  # fmt: skip
_LONG_FIELDS = (
    "query", "q", "text", "message", "body", "content", "description", "note", "notes", "comment", "answer", "summary",
    "input", "title", "prompt", "caption", "reason", "details", "reply", "task",
)  # fmt: skip
_CALLED = ("tool", "name", "function", "action", "method", "op", "command", "api", "endpoint", "operation", "recipient")
_GIVEN = ("arguments", "args", "input", "parameters", "params", "payload", "data", "inputs", "kwargs", "body")
_HELD_OUT = ("tool", "arguments")  # the envelope of a source that the classifier is measured on
_PATHS = ("notes.md", "src/main.py", "docs/index.html", "config.yaml", "data/2025.csv", "report.txt", "./img/cat.jpg")
_COMMANDS = ("ls -la", "echo done", "git status", "df -h", "ps aux", "npm test", "cat README.md", "uptime", "date")
_MARK = "SLOTSLOT"  # outlives every escape


def call(rng: Random, said: _Said, words: str = "") -> tuple[str, int]:
    """One of them, and where in it `words` begin, which are escaped as its other fields are; without any, some place.

    `said` gives what its longer fields say.
    """
    given = _fields(rng, said)
    if words:
        before = said() + " " if rng.random() < 0.3 else ""
        given[rng.choice(_LONG_FIELDS)] = f"{before}{_MARK}{words}"
    fields = list(given.items())
    rng.shuffle(fields)
    text = rng.choice(_SHAPES)(_named(rng), dict(fields), rng)
    at = text.find(_MARK) if words else rng.randint(0, len(text) // 2)
    return text.replace(_MARK, ""), at


def _named(rng: Random) -> str:
    verb, noun = rng.choice(_VERBS), rng.choice(_NOUNS)
    other = rng.choice(_NOUNS)
    return rng.choice(
        (
            f"{verb}_{noun}",
            f"{verb}_{noun}",
            f"{verb}{noun.capitalize()}",
            f"{noun}.{verb}",
            f"{other}_{noun}.{verb}",
            f"{noun}_{other}__{verb}",
            f"{noun}-{verb}",
            f"{name(rng)}.{verb}",
            f"{noun}s",
            verb,
        )
    )


def _fields(rng: Random, said: _Said) -> dict[str, Json]:
    given: dict[str, Json] = {field: _short(rng) for field in rng.sample(_SHORT_FIELDS, rng.choice((0, 1, 1, 2, 3)))}
    for field in rng.sample(_LONG_FIELDS, rng.choice((0, 0, 1, 1, 2))):
        given[field] = _long(rng, said)
    if rng.random() < 0.15:
        inner = {field: _short(rng) for field in rng.sample(_SHORT_FIELDS, 2)}
        given[rng.choice(("options", "filter", "settings", "metadata", "item"))] = (
            inner if rng.random() < 0.6 else [inner, {field: _short(rng) for field in inner}]
        )
    return given


def _short(rng: Random) -> Json:
    draw = rng.random()
    if draw < 0.3:
        return rng.choice((rng.randint(0, 9), rng.randint(10, 5_000), rng.randint(1, 999) / 10, 1.0))
    if draw < 0.38:
        return rng.choice((True, False, None))
    if draw < 0.46:
        return [_word(rng) for _ in range(rng.randint(0, 4))]
    return _word(rng)


def _word(rng: Random) -> str:
    makers = (name, person, place, title, date, code, status, score, money, _address, _of_a_list, _hour)
    return rng.choice(makers)(rng)


def _address(rng: Random) -> str:
    who, where = name(rng).lower(), name(rng).lower()
    return rng.choice((f"{who}@{where}.example", f"https://{where}.example/{who}", f"git@{where}.example:{who}.git"))


def _of_a_list(rng: Random) -> str:
    return rng.choice((*_NOUNS, *_PATHS, *_COMMANDS, "all", "any", "celsius", "USD", "en", "de", "hot", "large", "asc"))


def _hour(rng: Random) -> str:
    return f"{rng.randint(0, 23):02}:{rng.choice(('00', '15', '30', '45'))}"


def _long(rng: Random, said: _Said) -> Json:
    draw = rng.random()
    if draw < 0.2:
        return _word(rng)
    if draw < 0.35:
        return " ".join(said().split()[: rng.randint(1, 5)])
    return said()


def _object(called: str, given: dict[str, Json], rng: Random) -> str:
    key, values = rng.choice(_CALLED), rng.choice(_GIVEN)
    if (key, values) == _HELD_OUT:
        values = "args"
    return _json({key: called, values: given}, rng)


def _plain_object(called: str, given: dict[str, Json], rng: Random) -> str:
    del called
    return _json(given, rng)


def _in_a_string(called: str, given: dict[str, Json], rng: Random) -> str:
    function = {"name": called, "arguments": json.dumps(given, ensure_ascii=rng.random() < 0.5)}
    return _json({"id": f"call_{rng.randint(10**6, 10**9):x}", "type": "function", "function": function}, rng)


def _rpc(called: str, given: dict[str, Json], rng: Random) -> str:
    method: dict[str, Json] = {"method": called, "params": given}
    if rng.random() < 0.5:
        method = {"method": "tools/call", "params": {"name": called, "arguments": given}}
    return _json({"jsonrpc": "2.0", "id": rng.randint(1, 99), **method}, rng)


def _several(called: str, given: dict[str, Json], rng: Random) -> str:
    more = [{"tool": _named(rng), "args": {field: _short(rng) for field in rng.sample(_SHORT_FIELDS, 2)}}]
    return _json([*more, {"tool": called, "args": given}], rng)


def _written_out(called: str, given: dict[str, Json], rng: Random) -> str:
    dumped = (f"{field}={json.dumps(value, ensure_ascii=False)}" for field, value in given.items())
    return f"{called.replace('-', '_')}({', '.join(dumped)})" + rng.choice(("", "", ";", "\n"))


def _elements(called: str, given: dict[str, Json], rng: Random) -> str:
    end = rng.choice(("", "\n", "\n  "))
    inner = end.join(f"<{field}>{escape(_flat(value))}</{field}>" for field, value in given.items())
    return f"<{called}>{end}{inner}{end.strip(' ')}</{called}>"


def _lines(called: str, given: dict[str, Json], rng: Random) -> str:
    sign = rng.choice((": ", ": ", "=", " = "))
    lines = [f"{field}{sign}{_flat(value)}" for field, value in given.items()]
    return "\n".join([f"{rng.choice(_CALLED)}{sign}{called}", *lines] if rng.random() < 0.5 or not lines else lines)


def _query(called: str, given: dict[str, Json], rng: Random) -> str:
    del rng
    return f"{called}?{urlencode({field: _flat(value) for field, value in given.items()})}"


def _request(called: str, given: dict[str, Json], rng: Random) -> str:
    head = f"{rng.choice(('POST', 'PUT', 'PATCH'))} /{called.replace('.', '/')} HTTP/1.1"
    return f"{head}\nHost: {name(rng).lower()}.example\nContent-Type: application/json\n\n{_json(given, rng)}"


def _mail(called: str, given: dict[str, Json], rng: Random) -> str:
    del called
    sent: dict[str, Json] = {"to": _address(rng), "subject": title(rng), **given}
    return _json(sent, rng)


def _write(called: str, given: dict[str, Json], rng: Random) -> str:
    text = _lines(called, given, rng) if rng.random() < 0.5 else _flat(given)
    return _json({"path": rng.choice(_PATHS), "content": text}, rng)


_SHAPES: Sequence[Callable[[str, dict[str, Json], Random], str]] = (
    _object,
    _object,
    _object,
    _object,
    _plain_object,
    _plain_object,
    _in_a_string,
    _rpc,
    _several,
    _written_out,
    _elements,
    _lines,
    _query,
    _request,
    _mail,
    _write,
)


def _json(value: Json, rng: Random) -> str:
    return json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, None, None, 2)))


def _flat(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

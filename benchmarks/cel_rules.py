"""Generated rule sets for tier 0 and its peers: conditions of three shapes over one plain action.

`rules(n)` are conditions, `action()` the facts they are asked about, `schema()` their declarations. A third each: a
type and a substring; two types, a prefix and an exclusion; a quantifier with a pattern or a pattern on an optional
field. Of the last kind one in twenty names no action type.
"""

import statistics
import time
from dataclasses import dataclass

from shield.policy.cel import DYN, INT, STRING, Field, ListOf, MapObject, Object, Schema, compile_condition, group

TYPES = (
    "shell.exec", "file.read", "file.write", "file.delete", "http.request", "db.query", "email.send", "browser.open",
    "git.push", "code.run", "memory.write", "tool.call", "payment.send", "secret.read", "agent.spawn", "model.call",
    "calendar.write", "chat.post", "dns.lookup", "process.kill",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    type: str
    path: str
    count: int
    tags: tuple[str, ...]


def rule(i: int) -> str:
    """The condition of rule `i`; each has its own literals."""
    one, two = TYPES[i % len(TYPES)], TYPES[(i + 1) % len(TYPES)]
    if i % 3 == 0:
        return f'action.type == "{one}" && args.command.contains("word{i} -rf")'
    if i % 3 == 1:
        return (
            f'action.type in ["{one}", "{two}"] && action.path.startsWith("/etc/d{i}/") '
            f'&& !(action.path in ["/etc/d{i}/ok"])'
        )
    either = (
        f'(action.tags.exists(t, t.matches("^secret{i}.*")) '
        f'|| (has(args.url) && args.url.matches("^https?://[^/]*evil{i}")))'
    )
    return either if i % 20 == 0 or i % 60 == 5 else f'action.type == "{one}" && {either}'


def rules(n: int) -> list[str]:
    return [rule(i) for i in range(n)]


def schema() -> Schema:
    """`action` a declared object, `args` a JSON object of claims: both kinds of read are measured."""
    fields = {"type": Field(STRING), "path": Field(STRING), "count": Field(INT), "tags": Field(ListOf(STRING))}
    args = {"command": Field(STRING), "url": Field(STRING, optional=True), "env": Field(DYN, optional=True)}
    return Schema(roots={"action": Object("action", fields), "args": MapObject("args", args)})


def action(kind: str = "shell.exec") -> tuple[object, ...]:
    """The roots of `schema()` for one harmless action."""
    made = Action(type=kind, path="/home/u/project/build.sh", count=4, tags=("ci", "batch", "public"))
    args = {"command": "make -C build all && ls -la", "url": "https://example.com/a?b=1", "env": {"A": "1", "B": "2"}}
    return made, args


def measure(n: int, rounds: int = 9) -> tuple[float, float, float]:
    """Microseconds of CPU: loading one rule, one decision over all rules, one over those of the action's type."""
    declared = schema()
    start = time.process_time()
    conditions = [compile_condition(text, declared) for text in rules(n)]
    load = (time.process_time() - start) / n
    everything = group(conditions)
    indexed = {kind: group([c for c in conditions if c.types is None or kind in c.types]) for kind in TYPES}
    asked = [(indexed[kind], action(kind)) for kind in TYPES]
    whole: list[float] = []
    sliced: list[float] = []
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(10):
            for _, env in asked:
                everything(env)
        whole.append((time.process_time() - start) / 10 / len(asked))
        start = time.process_time()
        for _ in range(50):
            for ask, env in asked:
                ask(env)
        sliced.append((time.process_time() - start) / 50 / len(asked))
    return load * 1e6, statistics.median(whole) * 1e6, statistics.median(sliced) * 1e6


if __name__ == "__main__":
    for count in (100, 1000):
        loading, every, slice_ = measure(count)
        print(f"{count} rules: load {loading:.0f} us a rule, all {every:.1f} us, by action type {slice_:.1f} us")

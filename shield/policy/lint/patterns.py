"""Names taken in part: patterns without ends, prefixes and suffixes that other names have, too.

Only where they give leave: in an allow rule, or behind a `!` in one that blocks or escalates. Elsewhere too wide a
pattern only protects more.
"""

from collections.abc import Iterator
from typing import Final

from shield.policy.cel.syntax import Call, Choice, Literal, Name, Node, Select, Unary, parts, walk
from shield.policy.compiled import Rule
from shield.policy.lint.finding import CODES, Finding
from shield.policy.rule import Grant
from shield.policy.tools.sources import Sources
from shield.policy.tools.tree import is_macro
from shield.regex import regex
from shield.types import Effect

__all__ = ["check_patterns"]

_HOSTS: Final = frozenset(("host", "url", "recipient"))
_NAMES: Final = _HOSTS | {"name"}
_PATHS: Final = frozenset(("resolved", "raw", "program"))
_END = regex(r"(?<!\\)[$^]|\\[AzbB]")
# a dot that is not escaped, between letters, and not repeated: meant as a dot
_DOT = regex(r"(?<!\\)(?<![\[^])\w\.\w")


def check_patterns(rule: Rule, sources: Sources) -> Iterator[Finding]:
    """SH014, SH015, SH017, SH018 and SH022 for one rule."""
    tree = sources.tree(rule)
    if tree is None:
        return
    allows = rule.effect is Effect.ALLOW
    for node, found in (
        *((node, _of_call(node)) for node in _leave(tree, leave=allows)),
        *((node, _of_guard(node)) for node in _leave(tree, leave=not allows)),
    ):
        for code, message, fix in found:
            mark = sources.place(rule, node)
            yield Finding(code=CODES[code], file=rule.file, mark=mark, rule=rule.id, message=message, fix=fix)
    if rule.effect is Effect.ALLOW and rule.grants is Grant.PATH:
        read = {node.field for node in walk(tree) if isinstance(node, Select)}
        if "raw" in read and not read & {"resolved", "inside_workspace"}:
            yield Finding(
                code=CODES["SH018"],
                file=rule.file,
                mark=rule.text.mark,
                rule=rule.id,
                message="the rule looks only at the path as it is written, which a link can lead elsewhere",
                fix="add `path.inside_workspace`, or compare `path.resolved`",
            )


def _leave(node: Node, *, leave: bool) -> Iterator[Call]:
    """The calls whose truth makes the rule give leave."""
    if isinstance(node, Unary) and node.op == "!":
        yield from _leave(node.arg, leave=not leave)
        return
    if isinstance(node, Choice):
        # its test speaks for one side and against the other
        yield from _leave(node.yes, leave=leave)
        yield from _leave(node.no, leave=leave)
        return
    if isinstance(node, Call) and leave and not is_macro(node):
        yield node
    for part in parts(node):
        yield from _leave(part, leave=leave)


def _of_call(node: Call) -> Iterator[tuple[str, str, str]]:
    if node.name == "reaches":
        yield "SH022", "`reaches` is true of whatever may match, which allows too much", "write `glob`"
    subject, text = _subject(node)
    if subject is None or text is None:
        return
    field = _field(subject)
    if node.name == "matches":
        if not _whole(field, text):
            body = text.removeprefix("^").removesuffix("$") if "|" not in text else text
            whole = f"^(?:{body})$" if "|" in body else f"^{body}$"
            fix = f"write `{whole[:64]}`: without ends it is found inside any longer text"
            yield "SH014", f"the pattern `{text[:64]}` need not be the whole of `{field}`", fix
        if field in _HOSTS and _DOT.search(text):
            yield "SH015", f"`.` in `{text[:64]}` stands for any character", "write `\\\\.` for a dot"
        return
    other = _other(node.name, field, text)
    if other is not None:
        example, fix = other
        yield "SH017", f"`{field}` `{example}` is taken for it, too", fix


def _of_guard(node: Call) -> Iterator[tuple[str, str, str]]:
    if node.name == "glob":
        fix = "write `reaches`: it is true of whatever may come upon such a path"
        yield "SH022", "`glob` is true only of what surely matches, which protects too little", fix


def _subject(node: Call) -> tuple[Node | None, str | None]:
    """What is looked at, and the constant that is looked for."""
    if (
        node.target is not None
        and len(node.args) == 1
        and node.name in ("matches", "startsWith", "endsWith", "contains")
    ):
        subject, wanted = node.target, node.args[0]
    elif node.target is None and node.name == "matches" and len(node.args) == 2:
        subject, wanted = node.args
    else:
        return None, None
    text = wanted.value if isinstance(wanted, Literal) else None
    return subject, text if isinstance(text, str) else None


def _field(node: Node) -> str:
    if isinstance(node, Call) and node.name in ("lowerAscii", "trim") and node.target is not None:
        return _field(node.target)
    return node.field if isinstance(node, Select) else node.name if isinstance(node, Name) else "it"


def _whole(field: str, pattern: str) -> bool:
    """Whether a pattern says where it begins and ends as far as it matters for this field."""
    if field in _PATHS:
        return _rooted(pattern)
    return _anchored(pattern) if field in _NAMES else bool(_END.search(pattern))


def _rooted(pattern: str) -> bool:
    """Whether a pattern for a path begins at its root or where a component begins."""
    return pattern.startswith(("^", "\\A", "/", "(^|/)", "(?:^|/)"))


def _anchored(pattern: str) -> bool:
    if not (pattern.startswith(("^", "\\A")) and (pattern.endswith("\\z") or _ends(pattern))):
        return False
    depth = 0
    for place, char in enumerate(pattern):
        if place and pattern[place - 1] == "\\":
            continue
        depth += (char == "(") - (char == ")")
        if char == "|" and depth == 0:
            return False
    return True


def _ends(pattern: str) -> bool:
    body = pattern.removesuffix("$")
    return len(body) < len(pattern) and (len(body) - len(body.rstrip("\\"))) % 2 == 0


def _other(call: str, field: str, text: str) -> tuple[str, str] | None:
    """Another name that passes the test, and how to write what is meant."""
    if field in ("host", "recipient"):
        if call == "endsWith" and text[:1] not in (".", "@"):
            lead = "@" if field == "recipient" else "."
            fix = f'write `{field} == "{text}"`, or end with `{lead}{text}`'
            return (f"x@not{text}" if field == "recipient" else f"not{text}"), fix
        if call in ("startsWith", "contains"):
            return f"{text}.example.net", 'compare the whole with `==` or `in`, or use endsWith(".…")'
    if field == "url" and call == "startsWith" and "://" in text and "/" not in text.partition("://")[2]:
        return f"{text}.example.net", f"write `{text}/`, or compare `host`"
    if field in _PATHS and call == "startsWith" and text.startswith("/") and not text.endswith("/"):
        return f"{text}-other", f"write `{text}/`"
    if field == "name" and call in ("startsWith", "endsWith", "contains"):
        example = f"{text}x" if call == "startsWith" else f"x{text}"
        return example, "compare the whole name with `==` or `in`"
    return None

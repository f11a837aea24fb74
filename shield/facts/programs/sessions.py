"""tmux(1), screen(1) and kin: a terminal of its own, or a server that starts what it is told to, now or later."""

from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.programs.forwarding import command_among
from shield.facts.programs.invocation import Invocation, Special
from shield.regex import regex
from shield.types import Operation, RunsCode

__all__ = ["SESSIONS"]

# What shows names of sessions, windows and panes, and nothing of what is in them.
_LISTS = {
    "tmux": ("ls", "list-sessions", "lsw", "list-windows", "lsp", "list-panes", "has", "has-session"),
    "screen": ("-ls", "-list"),
    "zellij": ("ls", "list-sessions"),
}
_VERSIONS = ("-V", "-v", "--version")
_PLAIN = regex(r"-[as]|-t|-F|[A-Za-z0-9_.:%@$=-]*[A-Za-z0-9_]")
_FORMAT = regex(r"(?:[A-Za-z0-9 _.,:|/\t-]|#\{[a-z_]+\})*")  # `#(…)` starts a program (tmux(1), FORMATS)


def _session(call: Invocation) -> bool:
    """What can be seen of what is started is listed."""
    if _lists(call):
        call.reading.operations = {Operation.READ}
        return True
    call.reading.run(RunsCode.INLINE)
    call.reading.unknown.append(f"what `{call.name[:80]}` starts outlives the command")
    call.reading.code |= any(not word.fixed for word in call.words)
    call.reading.nested += command_among(call.name, call.words, lines=True)
    return True


def _lists(call: Invocation) -> bool:
    """Whether it shows what there is: a server is not started for that, and reads no settings."""
    texts = [word.text for word in call.words]
    if not texts or not all(word.fixed for word in call.words):
        return False
    if texts[0] in _VERSIONS:
        return len(texts) == 1
    if texts[0] not in _LISTS.get(call.name, ()):
        return False
    rest = texts[1:]
    if call.name != "tmux":
        return not rest
    formats = [text for before, text in zip(texts, rest, strict=False) if before == "-F"]
    return all(_FORMAT.fullmatch(text) for text in formats) and all(
        _PLAIN.fullmatch(text) for text in rest if text not in formats
    )


SESSIONS: Mapping[str, Special] = MappingProxyType({"session": _session})

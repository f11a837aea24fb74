"""The words of a runner of named tasks: its options, and what they are followed by."""

from shield.facts.programs.invocation import Invocation
from shield.facts.programs.task_files import UNKNOWN

__all__ = ["TaskWords"]


class TaskWords:
    """`options`: names with their values; `rest`: the words from the first on that is no option (`late`: options may
    follow it, and are taken out); `behind`: those behind `--`."""

    def __init__(self, call: Invocation, valued: frozenset[str], *, late: bool) -> None:
        self.options: list[tuple[str, str]] = []
        self.rest: list[str] = []
        self.behind: list[str] = []
        texts = [word.text if word.fixed else UNKNOWN for word in call.words]
        while texts:
            text = texts.pop(0)
            if text == "--":
                self.behind = texts
                break
            if not text.startswith("-") or text == "-" or (self.rest and not late):
                self.rest.append(text)
                continue
            name, equals, value = text.partition("=")
            if not name.startswith("--") and len(name) > 2:
                # `-fx`, `-qf x`
                at = next((at for at, letter in enumerate(name[1:], 1) if f"-{letter}" in valued), None)
                self.options += [(f"-{letter}", "") for letter in name[1 : at if at is not None else len(name)]]
                if at is None:
                    continue
                name, value, equals = f"-{name[at]}", text[at + 1 :].removeprefix("="), text[at + 1 :]
            if name == "--set":
                self.options.append((name, "=".join(texts[:2])))
                texts = texts[2:]
            elif name in valued and not equals and texts:
                self.options.append((name, texts.pop(0)))
            else:
                self.options.append((name, value))

    def value(self, *names: str) -> str | None:
        return next((value for name, value in self.options[::-1] if name in names), None)

    def has(self, names: frozenset[str]) -> bool:
        return any(name in names for name, _ in self.options)

"""A makefile as it is read: its rules, and what reading it sets and runs (GNU make manual, "Writing Makefiles")."""

import posixpath
import re
from collections.abc import Sequence

from shield.facts.programs.exposed import UNKNOWN
from shield.facts.programs.makefiles.conditions import Conditions
from shield.facts.programs.makefiles.functions import is_known
from shield.facts.programs.makefiles.lines import collapsed, joined, top_level, uncommented
from shield.facts.programs.makefiles.model import Makefile, Rule, Told
from shield.facts.programs.makefiles.values import Disk, Values, again
from shield.regex import regex

__all__ = ["DEPENDENCIES", "read_makefile"]

_MAX_LINES = 20_000
_MAX_RULES = 2_000
_MAX_INCLUDED = 32
_MODIFIERS = r"(?:(?:export|override|private|unexport)\s+)*"
_SET = regex(rf"\s*({_MODIFIERS})([^\s:#=?+!]+)\s*(:{{0,3}}|\?|\+|!)=\s*(.*)\Z", re.DOTALL)
_DEFINE = regex(rf"\s*({_MODIFIERS})define\s+(\S+?)\s*(:{{0,3}}|\?|\+|!)?=?\s*\Z")
_UNDEFINE = regex(r"\s*(?:override\s+)?undefine\s+(.*)\Z", re.DOTALL)
_INCLUDE = regex(r"\s*(?:-|s)?include\s+(.*)\Z", re.DOTALL)
_EXPORT = regex(r"\s*(un)?export(?:\s+(.*))?\Z")
_FLAGS = regex(
    r"-[Bbeijkmnqrsw]+|-?-?[Rrskw]+|-j\d*|\d+|--(?:always-make|jobs|keep-going|no-[\w-]+|output-sync|quiet|silent|warn[\w-]*"
    r"|environment-overrides|print-directory|check-symlink-times|shuffle)(?:=\w+)?|-O\w*"
)
DEPENDENCIES = (".d", ".dep", ".P", ".Po", ".Plo")
_SHELL = regex(
    r"(?:(?:/usr)?(?:/local)?/bin/|/opt/homebrew/bin/|(?:/usr/bin/)?env\s+)?(?:ba|da|z|k|a)?sh(?:\s+-[eux]*(?:o\s+pipefail)?)*"
)
_SHELL_FLAGS = regex(r"(?:-[eufxvnCc]+|-[eux]*o\s+\w+|\s+)+")
_SUFFIXES = regex(r"(\.\w+)(\.\w+)?")


def read_makefile(name: str, text: str, disk: Disk, told: Told, choices: Sequence[bool] = ()) -> Makefile:
    """Read it, and what it includes. `choices`: how the conditions that cannot be told are taken, one after the other.
    Never raises."""
    reader = _Reader(disk, told, choices)
    reader.makefile.included.append(name)
    reader.read(text)
    for each in told.env.get("MAKEFILES", "").split():
        reader.include(each)
    reader.settle()
    return reader.makefile


class _Reader:
    def __init__(self, disk: Disk, told: Told, choices: Sequence[bool]) -> None:
        values = Values(disk, self.read)
        self.makefile = Makefile(values)
        self._values = values
        self._told = told
        self._conditions = Conditions(self.makefile, choices)
        self._lines = 0
        self._deep = 0
        winning = {**(told.env if told.overriding else {}), **told.given}
        self._winning = winning
        own = {
            "MAKE": " ".join(("make", *(f"{name}={_quoted(value)}" for name, value in told.given.items()))),
            "RM": "rm -f", "CC": "cc", "CXX": "g++", "CPP": "$(CC) -E", "AR": "ar", "AS": "as", "LD": "ld", "FC": "f77",
            "LEX": "lex", "YACC": "yacc", "SHELL": "/bin/sh", "CURDIR": disk.base or UNKNOWN, "MAKELEVEL": "0",
            "MAKECMDGOALS": " ".join(told.goals), "MAKE_VERSION": "4.3", ".SHELLFLAGS": "-c",
            "COMPILE.c": "$(CC) $(CFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -c", "OUTPUT_OPTION": "-o $@",
            "LINK.c": "$(CC) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) $(TARGET_ARCH)",
            "COMPILE.cc": "$(CXX) $(CXXFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -c",
            "LINK.cc": "$(CXX) $(CXXFLAGS) $(CPPFLAGS) $(LDFLAGS) $(TARGET_ARCH)",
        }  # fmt: skip
        values.held.update({key: (text, False) for key, text in own.items()})
        values.held.update({key: (text, True) for key, text in told.env.items() if key not in ("SHELL", "MAKEFLAGS")})
        values.held.update({key: (text, False) for key, text in told.given.items()})

    def read(self, text: str) -> None:
        """Read on in this text."""
        self._deep += 1
        if self._deep > _MAX_INCLUDED:
            self.makefile.unread = True
            return
        waiting = joined(text)
        current: list[str] | None = None
        taken: list[bool | None] = []  # None: another branch was taken already
        while waiting:
            raw = waiting.pop()
            self._lines += 1
            if self._lines > _MAX_LINES:
                self.makefile.unread = True
                break
            prefix = self._values.value(".RECIPEPREFIX")[:1] or "\t"
            if raw.startswith(prefix) and current is not None:
                if all(taken):
                    current.append(raw[1:].replace(f"\n{prefix}", "\n"))
                continue
            raw = collapsed(raw)
            line = uncommented(raw).rstrip()
            if not line.strip() or self._conditions.follow(line, taken):
                continue
            defined = _DEFINE.match(line)
            if defined is not None:
                body = _body(waiting)
                if all(taken):
                    self._assign(defined[1], defined[2], defined[3] or "", body)
            elif all(taken):
                current = self._line(line, current, raw)
        self._deep -= 1

    def _line(self, line: str, current: list[str] | None, raw: str) -> list[str] | None:
        included = _INCLUDE.match(line)
        if included is not None:
            for name in self._values.expanded(included[1]).split():
                self.include(name)
            return None
        assigned = _SET.match(line)
        if assigned is not None and (top_level(line, ":") < 0 or top_level(line, ":") >= assigned.start(3)):
            self._assign(assigned[1], self._values.expanded(assigned[2]), assigned[3], assigned[4])
            return current
        exported = _EXPORT.match(line)
        if exported is not None:
            names = self._values.expanded(exported[2] or "*").split()
            self.makefile.exported = (
                self.makefile.exported - set(names) if exported[1] else self.makefile.exported | set(names)
            )
            return current
        word = line.split(None, 1)[0]
        if word == "vpath":
            self.makefile.folders += re.split(r"[\s:]+", self._values.expanded(line))[2:]
            return current
        undefined = _UNDEFINE.match(line)
        if undefined is not None:
            name = self._values.expanded(undefined[1]).strip()
            self.makefile.unread |= not is_known(name) or name in self._winning
            self._values.held.pop(name, None)
            return current
        if word in ("load", "-load"):
            self.makefile.unread = True
            return current
        return self._rule(line, raw)

    def include(self, name: str) -> None:
        """Read a file that this one takes in, from where it is found."""
        makefile, disk = self.makefile, self._values.disk
        names = [name] if is_known(name) else None
        if names is None and name.endswith(DEPENDENCIES):
            return  # the compiler writes those, without recipes
        if names and set(name) & set("*?["):
            names = disk.matching(name)
        if names is None or len(makefile.included) > _MAX_INCLUDED:
            makefile.unread = True
            return
        for each in names:
            makefile.included.append(each)
            folders = ("", *self._told.folders) if not each.startswith("/") else ("",)
            where = next(
                (path for path in (posixpath.join(folder, each) for folder in folders) if disk.exists(path)), None
            )
            text = disk.text(where) if where is not None else None
            if text is not None:
                self.read(text)
            elif where is not None or "/usr/" in each:
                makefile.unread = True

    def _assign(self, modifiers: str, name: str, kind: str, text: str) -> None:
        values = self._values
        self.makefile.unread |= "private" in modifiers
        if "export" in modifiers.split():
            self.makefile.exported.add(name)
        if name in self._winning and "override" not in modifiers:
            return
        before = values.held.get(name)
        if kind == "?":
            if before is not None:
                return
            values.held[name] = (text, False)
        elif kind == "!":
            values.held[name] = (values.printed(values.expanded(text)), True)
        elif kind == "+":
            old, simple = before if before is not None else ("", False)
            added = values.expanded(text) if simple else text
            values.held[name] = (f"{old} {added}" if old else added, simple)
        else:
            values.held[name] = (values.expanded(text), True) if kind else (text, False)

    def _rule(self, line: str, raw: str) -> list[str] | None:
        makefile, values = self.makefile, self._values
        semicolon = top_level(line, ";")
        head, recipe = (line, None) if semicolon < 0 else (line[:semicolon], line[semicolon + 1 :])
        if recipe is not None and top_level(raw, ";#") == semicolon:
            recipe = raw[semicolon + 1 :]  # what is a comment there the shell says
        colon = top_level(head, ":")
        if colon < 0:
            # an expansion may make rules of its own
            made = values.expanded(line)
            if made.strip() and made.strip() != line.strip():
                self.read(again(made))
            elif made.strip():
                makefile.unread |= not is_known(made) or "=" in made
            return None
        targets = tuple(values.expanded(head[:colon].removesuffix("&")).removesuffix("&").split())
        rest = head[colon + 1 :].removeprefix(":")
        own = _SET.match(rest)
        if own is not None:
            text = own[4] if recipe is None else f"{own[4]};{recipe}"
            makefile.unread |= "private" in own[1] or ("override" in own[1] and own[2] in self._winning)
            for target in targets:
                makefile.own.append((target, own[2], *self._settled(target, own[3], text)))
            if "export" in own[1]:
                makefile.exported.add(own[2])
            return None
        pattern = top_level(rest, ":")
        fitting = values.expanded(rest[:pattern]).strip() if pattern >= 0 else None
        needs = rest[pattern + 1 :] if pattern >= 0 else rest
        # what is needed is read now, recipes later
        needs = values.expanded(needs)
        needs = again(needs) if self._second() else needs.replace("$", "$$")
        lines = [recipe] if recipe is not None and recipe.strip() else []
        targets = tuple(_by_suffix(target) or target for target in targets)
        if len(makefile.rules) < _MAX_RULES:
            makefile.rules.append(Rule(targets, needs, lines, fitting))
        else:
            makefile.unread = True
        if makefile.first is None:
            makefile.first = next(
                (each for each in targets if "%" not in each and not (each.startswith(".") and "/" not in each)), None
            )
        return lines

    def _settled(self, target: str, kind: str, text: str) -> tuple[str, str]:
        """What a target has of its own, as it is set, and the text; what is expanded as it is read is no more later."""
        if kind not in ("!", ":", "::", ":::"):
            return kind, text
        local: dict[str, str] = {}
        for each, name, _, told in self.makefile.own:
            if each == target:
                local[name] = self._values.expanded(told, local)
        value = self._values.expanded(text, local)
        return "", (self._values.printed(value) if kind == "!" else value).replace("$", "$$")

    def _second(self) -> bool:
        return any(".SECONDEXPANSION" in rule.targets for rule in self.makefile.rules)

    def settle(self) -> None:
        """What changes how all recipes are run has to be understood."""
        makefile, values = self.makefile, self._values
        own = [(name, values.expanded(text)) for _, name, _, text in makefile.own]
        shells = [makefile.plain("SHELL"), *(text for name, text in own if name == "SHELL")]
        flags = [makefile.plain(".SHELLFLAGS"), *(text for name, text in own if name == ".SHELLFLAGS")]
        makefile.unread |= not all(map(_SHELL.fullmatch, shells)) or not all(map(_SHELL_FLAGS.fullmatch, flags))
        for name in ("MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS"):
            makefile.unread |= not all(map(_FLAGS.fullmatch, makefile.plain(name).split()))
        makefile.unread |= values.unread


def _body(waiting: list[str]) -> str:
    """The lines up to `endef`."""
    out: list[str] = []
    deep = 1
    while waiting:
        line = waiting.pop()
        deep += re.match(r"\s*define\b", line) is not None
        deep -= re.match(r"\s*endef\b", line) is not None
        if deep == 0:
            break
        out.append(collapsed(line))
    return "\n".join(out)


def _by_suffix(target: str) -> str | None:
    """`.c.o` is another way to write `%.o: %.c`."""
    found = _SUFFIXES.fullmatch(target)
    if found is None or target in (".PHONY", ".DEFAULT", ".ONESHELL", ".SUFFIXES", ".SILENT", ".POSIX", ".PRECIOUS"):
        return None
    return f"%{found[2]}" if found[2] else None


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"

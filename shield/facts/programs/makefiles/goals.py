"""What make would run for its goals: the recipes of their rules, of all that they need, and what runs as it reads."""

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shield.facts.programs.exposed import UNKNOWN, ends, exposed
from shield.facts.programs.handed import hands_program
from shield.facts.programs.makefiles.functions import fits, is_known, with_stem
from shield.facts.programs.makefiles.model import Makefile, Rule, Told
from shield.facts.programs.makefiles.reader import DEPENDENCIES, read_makefile
from shield.facts.programs.makefiles.values import Disk
from shield.regex import regex

__all__ = ["Made", "made_by"]

_MAX_TARGETS = 300
_MAX_TEXT = 65_536
_MAX_WORLDS = 16
_BREAKS = regex(r"(?<!\\)\n")
_DEPENDING = regex(r"(?<!\w)-M|depend|DEP|deps", re.ASCII)
_MAX_CHAIN = 4  # of patterns
# Rules of make's own, for what no other says how to make; `$(CC)` may be anything.
_BUILTIN = tuple(
    Rule((target,), needs, [line])
    for target, needs, line in (
        ("%.o", "%.c", "$(COMPILE.c) $(OUTPUT_OPTION) $<"), ("%.o", "%.cc", "$(COMPILE.cc) $(OUTPUT_OPTION) $<"),
        ("%.o", "%.cpp", "$(COMPILE.cc) $(OUTPUT_OPTION) $<"),
        ("%.o", "%.s", "$(AS) $(ASFLAGS) $(TARGET_MACH) -o $@ $<"),
        ("%.o", "%.S", "$(COMPILE.c) -o $@ $<"), ("%.o", "%.C", "$(COMPILE.cc) $(OUTPUT_OPTION) $<"),
        ("%.o", "%.f", "$(FC) $(FFLAGS) $(TARGET_ARCH) -c $(OUTPUT_OPTION) $<"),
        ("%.o", "%.F", "$(FC) $(FFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -c $(OUTPUT_OPTION) $<"),
        ("%.o", "%.m", "$(OBJC) $(OBJCFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -c $(OUTPUT_OPTION) $<"),
        ("%.o", "%.p", "$(PC) $(PFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -c $(OUTPUT_OPTION) $<"),
        ("%", "%.o", "$(CC) $(LDFLAGS) $^ $(LOADLIBES) $(LDLIBS) -o $@"), ("%", "%.c", "$(LINK.c) $^ $(LDLIBS) -o $@"),
        ("%", "%.cc", "$(LINK.cc) $^ $(LDLIBS) -o $@"), ("%", "%.cpp", "$(LINK.cc) $^ $(LDLIBS) -o $@"),
        ("%", "%.sh", "cat $< > $@"), ("%.c", "%.y", "$(YACC) $(YFLAGS) $<"), ("%.c", "%.l", "$(LEX) $(LFLAGS) -t $<"),
    )
)  # fmt: skip


@dataclass(slots=True)
class Made:
    """`text`: for a shell, each recipe line in a subshell; `env`: what that has in its environment besides; `files`:
    makefiles that are read, too; `unread`: there is more than was understood."""

    text: str = ""
    env: dict[str, str] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    unread: bool = False


def made_by(name: str, text: str, disk: Disk, told: Told) -> Made:
    """What `make goals…` runs by the makefile `name`. Never raises."""
    made = Made()
    lines: dict[str, None] = {}
    waiting: list[tuple[bool, ...]] = [()]
    count = 0
    while waiting:
        choices = waiting.pop()
        count += 1
        makefile = read_makefile(name, text, disk, told, choices)
        if makefile.asked > len(choices):
            # each condition that cannot be told holds, or does not
            further = range(makefile.asked - len(choices))
            waiting.extend((*choices, *[True] * number, False) for number in further)
        run = _Run(makefile, disk, told)
        lines |= dict.fromkeys(run.lines(told.goals))
        for key, value in run.exported().items():
            made.env[key] = value if made.env.get(key, value) == value else UNKNOWN
        made.unread |= run.unread or makefile.unread or makefile.values.unread
        made.files = list(dict.fromkeys((*made.files, *makefile.included[1:])))
        if count >= _MAX_WORLDS and waiting:
            made.unread = True
            break
    made.text = "\n".join(lines)
    if len(made.text) > _MAX_TEXT:
        made.unread, made.text = True, made.text[:_MAX_TEXT]
    return made


class _Run:
    """One makefile as it was read, put to goals."""

    def __init__(self, makefile: Makefile, disk: Disk, told: Told) -> None:
        self._makefile = makefile
        self._values = makefile.values
        self._disk = disk
        self._told = told
        self._values.held["MAKEFILE_LIST"] = (" ".join(makefile.included), True)
        self._explicit: dict[str, list[Rule]] = {}
        self._patterns = [rule for rule in makefile.rules if rule.by_pattern]
        for rule in makefile.rules:
            for target in () if rule.by_pattern else rule.targets:
                self._explicit.setdefault(target, []).append(rule)
        self._wild = [rule for target, rules in self._explicit.items() if not is_known(target) for rule in rules]
        phony = (rule.needs.split() for rule in self._explicit.get(".PHONY", ()))
        self._phony = {name for names in phony for name in names}
        self._whole = ".ONESHELL" in self._explicit
        self._folders = [*makefile.folders, *re.split(r"[\s:]+", self._values.value("VPATH"))]
        self._lines: list[str] = []
        self._seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
        self.unread = False

    def lines(self, goals: Sequence[str]) -> list[str]:
        makefile, values = self._makefile, self._values
        first = values.value(".DEFAULT_GOAL").split() or ([makefile.first] if makefile.first else [])
        for name in dict.fromkeys(makefile.included):
            if is_known(name) and name not in self._phony and not self._only_by_anything(name):
                self._make(name, {}, 0)
                # what is made is read then
                made = [rule for rule in self._explicit.get(name, ()) if rule.lines]
                made += [rule for rule in self._patterns if not made and _stem(rule, name) is not None and rule.lines]
                if name.endswith(DEPENDENCIES):
                    # what a compiler writes there are rules without recipes, and no variables
                    made = [rule for rule in made if not any(map(_DEPENDING.search, rule.lines))]
                elif not any(name in rule.targets for rule in made):
                    made = []
                self.unread |= not self._disk.exists(name) and bool(made)
        for goal in goals or first:
            self._make(goal, {}, 0, goal=True)
        ran = [f"( {values.shown(command)}\n)" for command in values.ran]
        wrote = [f": > {shlex.quote(name)}" for name in values.wrote]
        return [*ran, *wrote, *map(values.shown, self._lines)]

    def _only_by_anything(self, name: str) -> bool:
        """A makefile that is there and needs nothing is not made again by a rule that fits everything (GNU make,
        "Match-Anything Rules"); by `%: force` it is."""
        fitting = [rule for rule in self._patterns if any(fits(target, name) is not None for target in rule.targets)]
        return (
            name not in self._explicit
            and self._disk.exists(name)
            and all(rule.targets == ("%",) and not rule.needs.strip() for rule in fitting)
        )

    def _make(self, target: str, inherited: Mapping[str, str], chain: int, *, goal: bool = False) -> None:
        # what depends on the rule is another thing for each of what the target needs
        local = {**inherited, **self._own(target, {**inherited, **dict.fromkeys("@<^+?*%|", UNKNOWN)})}
        key = (target, tuple(sorted(local.items())))
        if key in self._seen:
            return
        if len(self._seen) >= _MAX_TARGETS:
            self.unread = True
            return
        self._seen.add(key)
        found = [(rule, _stem(rule, target) or "") for rule in self._explicit.get(target, ())]
        if not any(rule.lines for rule, _ in found) and target not in self._phony:
            fitting = self._by_pattern(target, chain)
            found += fitting
            chain += bool(fitting)
        if not found and target not in self._phony and not self._disk.exists(target):
            found = [(rule, "") for rule in self._explicit.get(".DEFAULT", ())]
            self.unread |= goal and not is_known(target)
        if target not in self._explicit:
            found += [(rule, "") for rule in self._wild]  # of a name that is not known
        every: list[list[str]] = []
        for rule, stem in found:
            needs = [with_stem(need, stem) if "%" in need else need for need in self._needs(rule, target, stem)]
            every.append([self._where(need) for need in needs])
            for need in every[-1]:
                if need != "|":
                    self._make(need, local, chain)
        for at, (rule, stem) in enumerate(found):
            # what other rules say that it needs counts, too
            ordered = [_parted(each) for each in (every[at], *every[:at], *every[at + 1 :])]
            needs = [need for each, _ in ordered for need in each]
            behind = [need for _, each in ordered for need in each]
            self._run(rule, target, stem, [*needs, "|", *behind], inherited)

    def _where(self, need: str) -> str:
        """What is needed, in one of the other folders that it may lie in."""
        if not is_known(need) or need in self._explicit or self._disk.exists(need):
            return need
        paths = (posixpath.join(folder, need) for folder in self._folders)
        return next((path for path in paths if self._disk.exists(path)), need)

    def _needs(self, rule: Rule, target: str, stem: str) -> list[str]:
        automatic = {"@": target, "*": stem, "<": "", "^": "", "+": "", "?": ""}
        return self._values.expanded(rule.needs, automatic).split()

    def _by_pattern(self, target: str, chain: int) -> list[tuple[Rule, str]]:
        """The rules by pattern that may make the target: those of which all that is needed is there or can be made."""
        if chain >= _MAX_CHAIN:
            return []
        found = [(rule, stem) for rule in self._patterns if (stem := _stem(rule, target)) is not None]
        found = [(rule, stem) for rule, stem in found if rule.lines]
        able = [(rule, stem) for rule, stem in found if self._able(rule, target, stem)]
        if able or found:
            return able or found
        return [
            (rule, stem)
            for rule in _BUILTIN
            if (stem := _stem(rule, target)) and self._disk.exists(with_stem(rule.needs, stem))
        ]

    def _able(self, rule: Rule, target: str, stem: str) -> bool:
        needs = [with_stem(need, stem) for need in self._needs(rule, target, stem) if need != "|"]
        needs = [self._where(need) for need in needs]
        return all(not is_known(need) or need in self._explicit or self._disk.exists(need) for need in needs)

    def _run(self, rule: Rule, target: str, stem: str, needs: Sequence[str], inherited: Mapping[str, str]) -> None:
        ordered = list(needs)
        if "|" in ordered:
            ordered = ordered[: ordered.index("|")]
        joined = " ".join(dict.fromkeys(ordered))
        automatic = {
            "@": target, "<": ordered[0] if ordered else "", "^": joined, "+": " ".join(ordered), "?": joined,
            "*": stem, "%": "", "|": " ".join(needs[len(ordered) + 1 :]),
        }  # fmt: skip
        local = {**inherited, **self._own(target, {**inherited, **automatic})}
        exported = [
            f"export {name}={_shown(value)}" for name, value in local.items() if name in self._makefile.exported
        ]
        lines = [
            (each if "#" in each else each.replace("\\\n", "")).lstrip(" \t@+-")
            for line in rule.lines
            for each in _BREAKS.split(self._values.expanded(line, {**local, **automatic}))
        ]
        if self._whole:
            lines = ["\n".join(lines)]
        for line in lines:
            shown = exposed(line)
            self.unread |= shown is None or not ends(line)
            if line.strip():
                self._lines.append("( " + "\n".join((*exported, line if shown is None else shown)) + "\n)")

    def _own(self, target: str, inherited: Mapping[str, str]) -> dict[str, str]:
        """The variables of the target itself. One may name another that is set behind it."""
        return self._own_in(target, inherited, self._own_in(target, inherited, {})) if self._makefile.own else {}

    def _own_in(self, target: str, inherited: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
        found: dict[str, str] = {}
        # what is said of a pattern gives way to what is said of a longer one, and of the name
        for pattern, name, kind, text in sorted(self._makefile.own, key=_closeness):
            if name in self._told.given or (fits(pattern, target) is None and is_known(pattern)):
                continue
            others = {each: value for each, value in known.items() if each != name}
            value = self._values.expanded(text, {**inherited, **found, **others})
            value = value if is_known(pattern) else UNKNOWN
            before = found.get(name, inherited.get(name, self._values.value(name)))
            if kind != "?" or not before:
                found[name] = f"{before} {value}" if kind == "+" else value
        return found

    def exported(self) -> dict[str, str]:
        """What recipes have in their environment besides."""
        told, values, exported = self._told, self._values, set(self._makefile.exported)
        exported |= {"*"} if ".EXPORT_ALL_VARIABLES" in self._explicit else set()
        names = [*told.given, *(name for name in told.env if name in values.held and name != "PATH")]
        names += [name for name in values.held if name in exported or ("*" in exported and name.isidentifier())]
        out: dict[str, str] = {}
        for name in dict.fromkeys(names):
            value = values.value(name)
            if not re.fullmatch(r"[A-Za-z_]\w*", name) or (name not in exported and value == told.env.get(name)):
                continue
            if name in exported and hands_program(name, value) and name != "SHELL":
                self.unread = True
            if name == "PATH":
                value = ":".join(self._placed(entry) for entry in value.split(":"))
            out[name] = value if is_known(value) else UNKNOWN
        return out

    def _placed(self, entry: str) -> str:
        base = self._disk.base
        return posixpath.normpath(posixpath.join(base, entry)) if base and entry and is_known(entry) else entry


def _parted(needs: list[str]) -> tuple[list[str], list[str]]:
    """Those before `|`, and those behind it."""
    at = needs.index("|") if "|" in needs else len(needs)
    return needs[:at], [need for need in needs[at:] if need != "|"]


def _closeness(own: tuple[str, str, str, str]) -> tuple[bool, int]:
    pattern = own[0]
    return "%" not in pattern, len(pattern) if "%" in pattern else 0


def _shown(value: str) -> str:
    return shlex.quote(value) if is_known(value) else f'"{value}"' if '"' not in value else f'"{UNKNOWN}"'


def _stem(rule: Rule, target: str) -> str | None:
    if rule.fitting is not None:
        return fits(rule.fitting, target)
    stems = (fits(each, target) for each in rule.targets if "%" in each)
    found = next((stem for stem in stems if stem is not None), None)
    if found is None and "/" in target:
        # a pattern without a slash is put to the name alone, and its folder stands in front of the stem
        folder, _, name = target.rpartition("/")
        stems = (fits(each, name) for each in rule.targets if "%" in each and "/" not in each)
        found = next((f"{folder}/{stem}" for stem in stems if stem is not None), None)
    return found

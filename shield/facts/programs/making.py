"""make: variables that are set among its words, and what its rules would run by them."""

from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import quote, unquote

from shield.facts.programs.forwarding import glimpse
from shield.facts.programs.handed import hands_program
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.listed import counted
from shield.facts.programs.makefiles.disk import Folder
from shield.facts.programs.makefiles.goals import made_by
from shield.facts.programs.makefiles.model import Told
from shield.facts.programs.mention import bases_of
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.regex import regex
from shield.types import Access, RunsCode

__all__ = ["SHELL_MARKS", "made_of", "parted", "recipes"]

# make(1) hands the values of its variables and most of its recipes to a shell.
SHELL_MARKS: Final = frozenset("$`;|&<>\n")
# What takes a value, by its long name; a number alone may follow those that count.
_SHORT = {
    "C": "--directory", "I": "--include-dir", "o": "--old-file", "W": "--what-if", "E": "--eval", "f": "--file",
}  # fmt: skip
_VALUED = frozenset((*_SHORT.values(), "--makefile", "--assume-old", "--new-file", "--assume-new"))
_COUNTING = {"j": "--jobs", "l": "--load-average"}
_JOINED = frozenset((*_COUNTING.values(), "--max-load", "--output-sync", "--debug", "--shuffle"))
_OTHERS = """
--always-make --environment-overrides --help --ignore-errors --just-print --keep-going --dry-run --recon
--no-builtin-rules --no-builtin-variables --no-print-directory --no-keep-going --print-data-base --print-directory
--question --quiet --silent --no-silent --stop --touch --trace --version --warn-undefined-variables
--check-symlink-times --no-jobserver --jobserver-auth --jobserver-fds --jobserver-style --sync-mutex
"""
_LONG: Final = (*sorted(_VALUED), *sorted(_JOINED), *_OTHERS.split())
_SHELL_CALL = regex(r"\$[({]shell\s+([^(){}]*)[)}]")


def _recipe(text: str) -> list[str]:
    """The commands of rules: behind the first `;` of a line, or after a tab."""
    return [line.partition(";")[2].strip() if not line.startswith("\t") else line[1:] for line in text.split("\n")]


def made_of(call: Invocation, words: Iterable[Value]) -> None:
    """make(1): `NAME=value` words set variables, which its recipes hand to a shell."""
    for word in words:
        if not word.fixed:
            continue
        if "=" in word.text and not word.text.startswith("-") and SHELL_MARKS & set(word.text):
            call.reading.run(RunsCode.INLINE)
        name, _, value = word.text.partition("=")
        name = name.rstrip(":?+")
        if name in ("SHELL", ".SHELLFLAGS") or (not name.startswith("-") and hands_program(name, value)):
            # every recipe is handed to it, or begins with it
            call.reading.run(RunsCode.INLINE)
            call.reading.nested += glimpse(call.name, [value])
        elif name == "--eval":
            call.reading.run(RunsCode.INLINE)
            call.reading.nested += glimpse(call.name, [*_SHELL_CALL.findall(value), *_recipe(value)])


def parted(call: Invocation) -> tuple[Value, ...]:
    """The words as make(1) reads them, each option by itself: `-kC sub` as `-k`, `-C`, `sub`, `--fi=x` as `--file=x`,
    `-j 8` as `-j`; what is not an option stands where it stood."""
    words, found = counted(call), list[Value]()
    while words:
        word = words.pop(0)
        text = word.text
        if not word.fixed or not text.startswith("-") or text == "-":
            found.append(word)
        elif text == "--":
            return (*found, word, *words)
        elif text.startswith("--"):
            name, equals, value = text.partition("=")
            name = _whole(name)
            found.append(Value(text=name + equals + value, head=name + equals + value))
            if name in _VALUED and not equals and words:
                found.append(words.pop(0))
            elif name in (*_COUNTING.values(), "--max-load") and not equals and _counts(words, whole=name == "--jobs"):
                words.pop(0)
        else:
            found += _letters(text, words)
    return tuple(found)


def _letters(text: str, words: list[Value]) -> list[Value]:
    found: list[Value] = []
    for at, letter in enumerate(text[1:], 2):
        if letter in _SHORT:
            found.append(Value(text="-" + letter, head="-" + letter))
            if text[at:]:
                found.append(Value(text=text[at:], head=text[at:]))
            elif words:
                found.append(words.pop(0))
            return found
        if letter in _COUNTING or letter == "O":
            if letter in _COUNTING and not text[at:] and _counts(words, whole=letter == "j"):
                words.pop(0)
            return [*found, Value(text=f"-{letter}{text[at:]}", head=f"-{letter}{text[at:]}")]
        found.append(Value(text="-" + letter, head="-" + letter))
    return found


def _whole(name: str) -> str:
    """An option by its full name, of which `name` may be the beginning (getopt_long(3))."""
    close = [each for each in _LONG if each.startswith(name)]
    return name if name in _LONG or len(close) != 1 else close[0]


def _counts(words: list[Value], *, whole: bool) -> bool:
    """Whether the next word is an option's number: to `--jobs` all of it is one, else it is a target."""
    return bool(words) and words[0].fixed and (words[0].text if whole else words[0].text[:1]).isdecimal()


# What one make hands on to those that its recipes start: in MAKEFLAGS, kept here under a name that no variable
# has (GNU make, "Communicating Options to a Sub-make").
_HANDED = "make given"
_NAMES = ("GNUmakefile", "makefile", "Makefile")  # in the order of make(1)


def recipes(call: Invocation) -> None:
    """What the rules of the makefile say of the targets."""
    targets: list[str] = []
    given, overriding = _inherited(call)
    files: list[Value] = []
    folders: list[str] = []
    words = list(call.words)
    while words:
        word = words.pop(0)
        text = word.text
        name, equals, value = text.partition("=")
        if text in ("-f", "--file", "--makefile", "-I", "--include-dir") and words:
            (folders.append(words.pop(0).text) if "I" in text or "inc" in text else files.append(words.pop(0)))
        elif name in ("--file", "--makefile") and equals:
            files.append(Value(text=value, known=word.fixed))
        elif name == "--include-dir" and equals:
            folders.append(value)
        elif (text in _VALUED or text[1:] in _SHORT) and words:
            words.pop(0)
        elif equals and not text.startswith("-"):
            given[name.rstrip(":?+")] = value
        elif not text.startswith("-"):
            targets.append(text)
    overriding |= any(word.text in ("-e", "--environment-overrides") for word in call.words)
    env = {**call.context.place.env, **call.context.told}
    told = Told(given=given, env=env, overriding=overriding, goals=targets, folders=folders)
    kept = [each.text for each in files if each.fixed and each.text != "-" and not each.text.startswith("/dev/")]
    if len(kept) < len(files):
        # a makefile that it is fed is code of the line
        call.reading.run(RunsCode.FETCHED if call.context.fetched else RunsCode.INLINE)
        fed = call.context.stdin
        folder = Folder(call.context.place, call.context.base)
        call.reading.nested += glimpse("make", [made_by("-", fed, folder, told).text] if fed is not None else [])
    for base in bases_of(call) if kept or not files else ():
        folder = Folder(call.context.place, base)
        _made(call, kept or [name for name in _NAMES if folder.exists(name)][:1], folder, told)


def _inherited(call: Invocation) -> tuple[dict[str, str], bool]:
    """The variables that a make above this one was given, and whether the environment wins over makefiles."""
    words = call.context.told.get(_HANDED, "").split()
    return {
        name: unquote(value) for name, _, value in (word.partition("=") for word in words if "=" in word)
    }, "-e" in words


def _handed(told: Told) -> tuple[tuple[str, str], ...]:
    words = [*(["-e"] if told.overriding else []), *(f"{name}={quote(value)}" for name, value in told.given.items())]
    return ((_HANDED, " ".join(words)),) if words else ()


def _made(call: Invocation, names: Sequence[str], folder: Folder, told: Told) -> None:
    """Several makefiles are read one after the other, as one."""
    if folder.base is None:
        call.reading.unread.append("in which directory `make` runs is not known")
    paths = [path for path in map(folder.path, names) if path is not None]
    if not paths:
        return
    name, path = names[0], paths[0]
    texts = [folder.text(each) for each in names if folder.path(each) is not None]
    whole = None if None in texts else "\n".join(text for text in texts if text is not None)
    made = made_by(name, whole, folder, told) if whole is not None else None
    for each in (*paths, *map(folder.path, made.files if made is not None else ())):
        if each is not None:
            call.reading.path(Value(text=each, head=each, source=name), Access.EXECUTE)
    if made is None or made.unread:
        call.reading.unread.append(f"what `{name[:80]}` runs is not known")
    if made is not None and made.text.strip():
        line, base = Value(text=made.text, head=made.text), folder.base
        moved = Value(text=base, head=base) if base is not None else None
        call.reading.nested.append(
            Nested(
                kind=NestedKind.SCRIPT,
                words=(line,),
                via=("make", path),
                moved=moved,
                file=path,
                assignments=(*made.env.items(), *_handed(told)),
            )
        )

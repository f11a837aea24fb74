"""find(1) and xargs(1): which entries they come upon, and what they start with them."""

import posixpath
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from shield.facts.beneath import Look
from shield.facts.programs.filled import filled_script, plain_names
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.listing import linked, printed_by_find, taken_apart
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Listing, Reading, Value, plain_globs
from shield.regex import regex
from shield.types import Access

__all__ = ["FINDERS"]

_FIND_ALONE_TEXT = """
-daystart -depth -d -ignore_readdir_race -noignore_readdir_race -mount -xdev -noleaf -empty -executable -readable
-writable -nogroup -nouser -true -false -print -print0 -ls -prune -quit -not ! -a -and -o -or , ( ) -follow -nowarn
-warn -X -x -s -E -H -L -P
"""

_FIND_ALONE = frozenset(_FIND_ALONE_TEXT.split())

_FIND_VALUE_TEXT = """
-maxdepth -mindepth -regextype -amin -atime -cmin -ctime -mmin -mtime -fstype -gid -group -ilname -iname -inum
-ipath -iregex -iwholename -links -lname -name -path -perm -regex -size -type -uid -used -user -wholename -xtype
-context -printf -newermt -newerat -newerct -D -Olevel
"""

_FIND_VALUE = frozenset(_FIND_VALUE_TEXT.split())

_FIND_READ_TEXT = """
-anewer -cnewer -newer -samefile -files0-from -newermm -neweraa -newercc
"""

_FIND_READ = frozenset(_FIND_READ_TEXT.split())

_FIND_WRITE_TEXT = """
-fprint -fprint0 -fls
"""

_FIND_WRITE = frozenset(_FIND_WRITE_TEXT.split())

_FIND_EXEC_TEXT = """
-exec -execdir -ok -okdir
"""

_FIND_EXEC = frozenset(_FIND_EXEC_TEXT.split())

# Parts of an expression that can only leave entries out, so that those before and after them still hold.
_FIND_NARROWS_TEXT = """
-maxdepth -mindepth -mtime -mmin -atime -amin -ctime -cmin -size -perm -user -group -empty -readable -newer -depth
-xdev -mount -print -print0 -exec -execdir -delete -ls -name -type
"""

_FIND_NARROWS = frozenset(_FIND_NARROWS_TEXT.split())

_DELETING = frozenset(("mv", "rm", "rmdir", "shred", "trash", "unlink"))

# Words that xargs takes as they are: in others are quotes, backslashes, or what ends the input.
_PLAIN = regex(r"[A-Za-z0-9_./:,@%+= \t\n-]*")
_MAX_TOLD = 16
# What xargs adds where that is not known.
_TAKEN = Value(text="$(xargs)", known=False, many=True, bare="")
_NUMBER = Value(text="$(xargs)", known=False, number=True, bare="")
_NUMBERS = _TAKEN._replace(numbers=True)
_HASH = _NUMBER._replace(revision=True)
_HASHES = _TAKEN._replace(number=True, revision=True)


def _find(call: Invocation) -> bool:
    """find(1): starting points, then an expression that may delete, write and execute."""
    reading, words = call.reading, list(call.words)
    roots = _starting_points(words, reading)
    look = _find_look(call.words)
    follows = any(word.fixed and word.text in ("-L", "-follow") for word in call.words)
    for root in roots:
        reading.path(root, Access.LIST, recursive=True, look=linked(follows=follows))
    while words:
        word = words.pop(0)
        name = word.text
        if not word.fixed:
            reading.loose = True
        elif name in _FIND_ALONE or name.startswith("-O"):
            reading.flags.append(name)
        elif name in _FIND_VALUE or name in _FIND_READ or name in _FIND_WRITE or name == "-fprintf":
            reading.flags.append(name)
            value = words.pop(0) if words else None
            if value is None:
                continue
            # A value of unknown content is one word if it is quoted; else it may be more of the expression.
            reading.loose |= value.many
            if name == "-files0-from":
                reading.use(Use.NAMES, value)
            elif name in _FIND_READ:
                reading.path(value, Access.READ)
            elif name in _FIND_WRITE or name == "-fprintf":
                reading.path(value, Access.WRITE)
                if name == "-fprintf" and words:
                    words.pop(0)
        elif name == "-delete":
            reading.flags.append(name)
            here = Value(text="{}", known=False, roots=tuple(roots), look=replace(look, follows=False))
            # behind a link what is found lies anywhere
            reading.path(Value(text="{}", known=False) if follows else here, Access.DELETE, recursive=True)
        elif name in _FIND_EXEC:
            reading.flags.append(name)
            deletes = bool(words) and posixpath.basename(words[0].text) in _DELETING
            within = () if follows and deletes else tuple(roots)
            words = _find_exec(call, words, within, look, elsewhere=name in ("-execdir", "-okdir"))
        else:
            reading.flags.append(name)
            reading.caution()
    reading.prints = _find_prints(call, roots)
    return True


def _starting_points(words: list[Value], reading: Reading) -> list[Value]:
    """What stands before the expression, which is left in `words`."""
    roots: list[Value] = []
    while words and words[0].fixed and (words[0].text in ("-H", "-L", "-P", "-D") or words[0].text.startswith("-O")):
        if words.pop(0).text == "-D" and words:
            reading.loose |= words.pop(0).adrift
    while words and not (words[0].text if words[0].fixed else words[0].head).startswith(("-", "(", ")", "!", ",")):
        word = words.pop(0)
        reading.loose |= word.adrift
        roots.append(word)
    return roots or [Value(text=".", head=".")]


def _find_prints(call: Invocation, roots: list[Value]) -> Listing | None:
    if call.reading.cautious or call.reading.loose:
        return None
    words = call.words
    # What stands behind `-print` leaves nothing out of what is printed.
    ends = (at for at, word in enumerate(words) if word.fixed and word.text in ("-print", "-print0"))
    look = _find_look(words[: next(ends, len(words))])
    if any(word.fixed and word.text in ("-o", "-or", ",", "-L", "-H", "-follow") for word in words):
        look = Look(follows=True)
    return printed_by_find(words, roots, Listing(tuple(roots), look))


def _find_look(words: tuple[Value, ...]) -> Look:
    """Which entries the actions of this expression see, where it is one conjunction that begins with its tests."""
    tests: list[str] = []
    files, only = False, None
    for index, word in enumerate(words):
        if not word.fixed or word.text in ("-exec", "-execdir", "-delete"):
            break
        if word.text.startswith(("-", "!", "(", ",")):
            tests.append(word.text)
            value = words[index + 1] if index + 1 < len(words) else None
            files |= word.text == "-type" and value is not None and value.fixed and value.text == "f"
            if word.text == "-name" and value is not None:
                only = plain_globs([value])
    # Without `-type f` an entry may be a link, which the command that gets its name follows.
    if any(test not in _FIND_NARROWS for test in tests) or any(
        word.fixed and word.text in ("-o", "-or", ",", "-L", "-H", "-follow") for word in words
    ):
        return Look(follows=True)
    return Look(follows=not files, only=only or ())


def _find_exec(
    call: Invocation, words: list[Value], roots: tuple[Value, ...], look: Look, *, elsewhere: bool
) -> list[Value]:
    """One `-exec` and its command. `elsewhere`: it is started in the directory of each entry, wherever that is. Without
    `roots` an entry may lie anywhere."""
    command: list[Value] = []
    while words:
        word = words.pop(0)
        if word.fixed and word.text == ";":
            break
        if word.fixed and word.text == "+" and command and command[-1].text == "{}":
            break
        if not word.fixed and word.many:
            call.reading.loose = True
        if "{}" in word.text:
            lead = word.text.partition("{}")[0]
            # find(1) starts every name with its starting point, so `{}` cannot begin with a dash unless that does.
            dashed = not lead and any((root.head or "-").startswith("-") for root in roots)
            alone = word.text == "{}"
            word = Value(
                text=word.text,
                known=alone and bool(roots),
                head="" if dashed else (lead or "/"),
                many=dashed,
                roots=roots if alone and not dashed and roots else None,
                look=look,
                bare=lead,
            )
        command.append(word)
    if elsewhere:
        call.reading.unknown.append("what the command finds in each directory that it is started in is not known")
    call.command(command)
    return words


_REPLACING = ("-I", "-J", "-i", "--replace")
# By these it reads something else, or takes it apart in another way.
_OTHERWISE = ("-a", "--arg-file", "-R", "--process-slot-var", "-d", "--delimiter", "-0", "--null")
_LIMITING = ("-L", "-l", "--max-lines", "-n", "--max-args")


def _xargs(call: Invocation) -> bool:
    """xargs(1): the command gets further arguments of unknown content, or `-I` puts them in."""
    marks, appends = _marks(call)
    words = call.operands or [Value(text="echo", head="echo")]
    named = _named(call)
    plain = not (call.arguments.foreign or call.arguments.has(*_OTHERWISE))
    counted, hashed = call.context.numbers and plain, call.context.hashes and plain
    if marks:
        call.command(
            _script(call, words, marks, named)
            or [_filled(word, marks, _NUMBER if counted else _HASH if hashed else named) for word in words]
        )
    if not appends:
        return True
    told = _told(call) if plain and not marks else None
    if told is not None:
        for each in told:
            call.command([*words, *each])
    elif named is None:
        call.command([*words, _NUMBERS if counted else _HASHES if hashed else _TAKEN])
    else:
        if not call.arguments.has("-r", "--no-run-if-empty"):
            call.command(list(words))  # of an empty list it is started once, without a name
        call.command([*words, named])
    return True


def _told(call: Invocation) -> list[list[Value]] | None:
    """The words that each command gets of what the line itself feeds it; None where that is not known."""
    context, limits = call.context, call.arguments.values("-n", "--max-args")
    others = call.arguments.has("-L", "-l", "--max-lines", "-s", "--max-chars", "-E", "-e", "--eof", "-x", "--exit")
    if context.stdin is None or not context.whole or context.fetched or others or not _PLAIN.fullmatch(context.stdin):
        return None
    found = [Value(text=text, head=text) for text in context.stdin.split()]
    if len(found) > _MAX_TOLD or not found or any(not limit.fixed or not limit.text.isdecimal() for limit in limits):
        return None
    size = int(limits[-1].text) if limits else len(found)
    return [found[at : at + size] for at in range(0, len(found), size)] if size else None


def _script(call: Invocation, words: list[Value], marks: list[str], named: Value | None) -> list[Value] | None:
    """A shell with the names in its script, where that is the same as a parameter."""
    context = call.context
    if named is None or context.names is None or len(marks) != 1 or call.arguments.has("-J"):
        return None
    filled = filled_script(words, marks[0], named)
    return filled if filled is not None and plain_names(context.names, context.place, context.bases) else None


def _marks(call: Invocation) -> tuple[list[str], bool]:
    """What names are put in the place of, and whether they may stand at the end of the command. Of several marks the
    last one counts; a limit behind it, other than of one word, makes it count no more (GNU xargs, `-I`)."""
    marks: list[str] = []
    appends = True
    for option, value in call.arguments.given:
        if option.name in _REPLACING:
            appends = False
            marks.append(value.text if value is not None and value.text else "{}")
        elif option.name in _LIMITING:
            appends |= option.name not in ("-n", "--max-args") or value is None or value.text != "1"
    return marks, appends


def _named(call: Invocation) -> Value | None:
    """A word that the command gets, where xargs reads a list of names from a program that prints nothing else."""
    arguments, context = call.arguments, call.context
    if context.names is None or arguments.foreign or arguments.has("-a", "--arg-file", "-R", "--process-slot-var"):
        return None
    ends, nul = arguments.values("-d", "--delimiter"), arguments.has("-0", "--null")
    if any(nul or value.text != "\\n" for value in ends):
        return None
    return taken_apart(context.names, context.place, context.bases, nul=nul)


def _filled(word: Value, marks: list[str], named: Value | None) -> Value:
    """A word of the command with the name in the place of each of `marks`."""
    bare = word.text
    for mark in marks:
        bare = bare.replace(mark, "")
    if bare == word.text:
        return word
    if named is not None and word.text == marks[-1]:
        return named
    lead = word.text[: min(at for mark in marks if (at := word.text.find(mark)) >= 0)]
    # a revision, and what stands behind it
    begins = named is not None and named.revision and word.text == f"{marks[-1]}{bare}"
    return Value(text=word.text, known=False, many=False, head=lead, bare=bare, number=begins, revision=begins)


FINDERS: Mapping[str, Special] = MappingProxyType({"find": _find, "xargs": _xargs})

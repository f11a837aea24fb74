"""From a program's use of an argument to path facts, for every directory that the shell may stand in."""

import posixpath
from dataclasses import replace

from shield.facts.beneath import Look, look_beneath, may_touch
from shield.facts.filesystem import FileKind
from shield.facts.paths import led_beneath, path_fact, resolve_path
from shield.facts.place import Place
from shield.facts.programs.reading import PathUse, Value
from shield.facts.shell.glob import climbs, fixed_directory, superset
from shield.facts.shell.shaped import may_be, pattern_of
from shield.regex import regex
from shield.types import Access, PathFact

__all__ = ["looks_like_path", "path_facts", "raw_path"]

_SECRET = frozenset(("credential", "secret_store"))
_ALWAYS_COVERED = frozenset(("shield_state", "shield_code"))
_SCHEME = regex(r"[A-Za-z][A-Za-z0-9+.\-]*:")


def raw_path(text: str) -> str:
    """To a program `file:x` is a name in the working directory, not a URI."""
    return "./" + text if _SCHEME.match(text) else text


def path_facts(use: PathUse, place: Place, bases: tuple[str | None, ...], source: str) -> list[PathFact]:
    """The facts of one use. What is not known has `resolved` None, and categories by what its beginning shows."""
    facts: list[PathFact] = []
    value = use.value
    if use.moved is not None and value.pattern is not None:
        # The shell matched in its own directory, the program looks in another.
        value = value._replace(known=False, pattern=None)
    for base in bases:
        start = base
        if use.moved is not None:
            start = (
                resolve_path(raw_path(use.moved.text), place, base=base, expand_tilde=False).path
                if use.moved.fixed
                else None
            )
        if use.below is None:
            found = _one(value, use.access, place, start, use.recursive, source)
        else:
            found = _below(use, use.below, place, start, base, source)
        look = value.look if value.roots is not None else use.look
        facts.extend(
            found if look is None else _beneath(found, use.access, place, look, narrow=value.roots is not None)
        )
    return facts


def _beneath(facts: list[PathFact], access: Access, place: Place, look: Look, *, narrow: bool) -> list[PathFact]:
    """The facts of trees in the workspace, and of what with a meaning stands in them.

    `narrow`: only what is there is touched, so a tree that was seen whole covers nothing else.
    """
    out: list[PathFact] = []
    for fact in facts:
        if not (fact.recursive and fact.inside_workspace and fact.exists and fact.resolved):
            out.append(fact)
            continue
        # To delete a link leaves alone what it leads to.
        reads = access in (Access.READ, Access.LIST)
        look = replace(look, follows=look.follows and access is not Access.DELETE, secrets=reads)
        met = look_beneath(fact.resolved, place, look)
        entries = dict.fromkeys((*met.links, *met.entries), True) | _led(fact.resolved, access, place, look)
        found = [
            path_fact(path, access, place, base=None, recursive=tree, source=fact.source, expand_tilde=False)
            for path, tree in entries.items()
        ]
        # rg and the like leave hidden entries out: of a tree too large to see, that is enough.
        lost = not met.complete and (look.follows or (reads and look.hidden))
        whole = replace(fact, resolved=None, inside_workspace=False) if lost else fact
        if narrow and met.complete:
            whole = replace(whole, covers=whole.covers & _ALWAYS_COVERED)
        out.append(whole)
        out.extend(each for each in found if _matters(each, access))
    return out


def _led(top: str, access: Access, place: Place, look: Look) -> dict[str, bool]:
    """What is there and has a meaning by another name, for settings or links lead to it; whether it is a directory."""
    found: dict[str, bool] = {}
    for path in led_beneath(top, access, place):
        stat = resolve_path(path, place, base=None, expand_tilde=False).stat
        # which names in a directory matter, its own does not say
        tree = stat is not None and stat.kind is FileKind.DIRECTORY
        if path != top and stat is not None and (tree or may_touch(look, top, path)):
            found[path] = tree
    return found


def _matters(fact: PathFact, access: Access) -> bool:
    if not fact.inside_workspace:
        return True
    # To read a repository's settings or an agent's files is nothing special; to read a secret is.
    if access in (Access.READ, Access.LIST):
        return bool(fact.categories & _SECRET)
    return bool(fact.categories or fact.covers)


def _below(
    use: PathUse, named: Value, place: Place, start: str | None, base: str | None, source: str
) -> list[PathFact]:
    """Every source's name beneath every target that is a directory, else the target itself."""
    targets, names = _texts(use.value, place, start), _texts(named, place, base)
    if targets is None or names is None:
        # Which names there are is not known: the target with all beneath.
        return _one(use.value._replace(pattern=None, known=use.value.fixed), use.access, place, start, True, source)
    facts: list[PathFact] = []
    for target in targets:
        found = resolve_path(raw_path(target), place, base=start, expand_tilde=False)
        kind = found.stat.kind if found.stat is not None else None
        for name in names:
            entry = resolve_path(raw_path(name), place, base=base, expand_tilde=False)
            single = entry.stat is not None and entry.stat.kind is FileKind.FILE
            last = name.strip("/") if use.parents else name.rstrip("/").rpartition("/")[2]
            inner = () if use.whole or last in ("", ".", "..") else (posixpath.join(target, last),)
            # What is not there may be made a directory by then.
            texts = (
                inner if kind is FileKind.DIRECTORY and inner else (target,) if kind is not None else (target, *inner)
            )
            facts.extend(
                path_fact(
                    raw_path(text),
                    use.access,
                    place,
                    base=start,
                    recursive=use.recursive and not single,
                    source=source,
                    expand_tilde=False,
                )
                for text in texts
            )
    return facts


def _texts(value: Value, place: Place, base: str | None) -> tuple[str, ...] | None:
    """Everything that a word may be, as it would be written; None where that is not known."""
    if value.fixed:
        return (value.text,)
    known = value.pattern is not None and value.known and not value.fresh
    return superset(value.pattern or "", place, base) if known else None


def _one(value: Value, access: Access, place: Place, base: str | None, recursive: bool, source: str) -> list[PathFact]:
    if value.roots is not None:
        return [fact for root in value.roots for fact in _one(root, access, place, base, True, source)]
    if value.fixed:
        fact = path_fact(
            raw_path(value.text), access, place, base=base, recursive=recursive, source=source, expand_tilde=False
        )
        return [fact if fact.raw == value.shown else replace(fact, raw=value.shown)]
    if value.pattern is not None:
        return _glob(value, access, place, base, recursive, source)
    # A word that is a number and nothing else may mean anything but a file.
    if value.sample and value.head:
        return _shaped(value, access, place, base, recursive, source)
    # Where nothing sets the name, `$x/*` is `/*`: to look there is no harm that anybody meant.
    looks = access in (Access.READ, Access.LIST)
    bare = value.head or value.bare or "."
    if looks and not bare.strip("/*"):
        bare = "."
    # Of a word that may be anything nothing is known: that is unknown, not dangerous.
    beneath = recursive and bare != "."
    fact = path_fact(raw_path(bare), access, place, base=base, recursive=beneath, source=source, expand_tilde=False)
    unknown = replace(fact, raw=value.shown, recursive=recursive, resolved=None, inside_workspace=False, exists=False)
    empty = (word for word in value.unset or () if word.text and not (looks and not word.text.strip("/*")))
    return [unknown, *(fact for word in empty for fact in _one(word, access, place, base, recursive, source))]


def _shaped(
    value: Value, access: Access, place: Place, base: str | None, recursive: bool, source: str
) -> list[PathFact]:
    """One name of such a form, those that are there, and the one without what is not known."""
    matches = superset(pattern_of(value), place, base)
    if matches is None:
        return _one(value._replace(sample=""), access, place, base, recursive, source)
    texts = dict.fromkeys((value.sample, *(text for text in matches if may_be(value, text))))
    if not value.digits:  # what prints nothing leaves nothing
        texts[value.bare or "."] = None
    facts = [
        path_fact(raw_path(text), access, place, base=base, recursive=recursive, source=source, expand_tilde=False)
        for text in texts
    ]
    return [replace(facts[0], raw=value.shown), *facts[1:]]


def _glob(value: Value, access: Access, place: Place, base: str | None, recursive: bool, source: str) -> list[PathFact]:
    """The directory that all matches lie in, and each match; all beneath the directory where they are not known."""
    assert value.pattern is not None
    if value.fresh and climbs(value.pattern):
        return _one(Value(text=value.text, known=False), access, place, base, recursive, source)
    # Of what the line makes anew nothing is there yet.
    found = None if value.fresh else superset(value.pattern, place, base)
    lead = fixed_directory(value.pattern)
    # Where every match is known, the directory above them is looked through and nothing else.
    fact = path_fact(
        raw_path(lead),
        access if found is None else Access.LIST,
        place,
        base=base,
        recursive=found is None,
        source=source,
        expand_tilde=False,
    )
    facts = [replace(fact, raw=value.shown)]
    # Where nothing matches, the shell leaves the pattern as it is, and that is the name of what is written.
    unmatched = (
        [value.text] if access is Access.WRITE and found is not None and ("[" in value.pattern or not found) else []
    )
    for match in (*(found or ()), *unmatched):
        fact = path_fact(
            raw_path(match), access, place, base=base, recursive=recursive, source=source, expand_tilde=False
        )
        facts.append(fact)
    return facts


def looks_like_path(word: Value, place: Place, bases: tuple[str | None, ...]) -> bool:
    """Whether an argument of an unknown program may name a file: a slash, `~`, a dot first, or it exists."""
    text = word.text
    if not word.fixed:
        return True
    if not text or "\0" in text:
        return False
    if "/" in text or text[0] in "~.":
        return True
    return any(
        (found := resolve_path(raw_path(text), place, base=base, expand_tilde=False)).exists or found.path is None
        for base in bases
    )

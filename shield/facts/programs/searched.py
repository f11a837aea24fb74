"""Which files of a tree grep(1) and rg(1) read: those of the names that they are told to keep to."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from shield.facts.beneath import Look
from shield.facts.programs.arguments import Arguments
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.model import Option
from shield.facts.programs.reading import Value, plain_globs
from shield.regex import regex

__all__ = ["is_rg", "searched"]

# What may stand in a pattern of rg that reads here as it does there; one that begins with `#` is none (gitignore(5)).
_PLAIN_GLOB = regex(r"[\w.*?/@%=~-][\w.*?/@%=~+-]*", re.ASCII)
_BRACED = regex(r"([^{}]*)\{([^{},]+(?:,[^{},]+)*)\}([^{}]*)")
_ENDS_ALIKE = regex(r"\*[\w.+-]+", re.ASCII)

# The names of types (ripgrep 13 to 15, `default_types.rs`), in none of which a secret is at home.
_TYPES_TEXT = """
py python: *.py *.pyi
js javascript: *.js *.jsx *.vue *.cjs *.mjs
ts typescript: *.ts *.tsx *.cts *.mts
rust: *.rs
go: *.go
java: *.java *.jsp *.jspx *.properties
kotlin: *.kt *.kts
swift: *.swift
scala: *.scala *.sbt
c: *.[chH] *.[chH].in *.cats
cpp: *.[ChH] *.cc *.[ch]pp *.[ch]xx *.hh *.inl *.[ChH].in *.cc.in *.[ch]pp.in *.[ch]xx.in *.hh.in *.ipp *.tpp
h: *.h *.hh *.hpp
cs csharp: *.cs
php: *.php *.php[0-9] *.pht *.phtml
ruby: config.ru Gemfile .irbrc Rakefile *.gemspec *.rb *.rbw *.rake
lua: *.lua
dart: *.dart
elixir: *.ex *.eex *.exs *.heex *.leex *.livemd
css: *.css *.scss
sass: *.sass *.scss
less: *.less
html: *.htm *.html *.ejs
vue: *.vue
svelte: *.svelte *.svelte.ts
json: *.json *.sarif composer.lock
jsonl: *.jsonl
yaml: *.yaml *.yml
toml: *.toml Cargo.lock
xml: *.xml *.xml.dist *.dtd *.xsl *.xslt *.xsd *.xjb *.rng *.sch *.xhtml
md markdown: *.markdown *.md *.mdown *.mdwn *.mkd *.mkdn *.mdx
rst: *.rst
txt: *.txt
csv: *.csv
sql: *.sql *.psql
protobuf: *.proto
graphql: *.graphql *.graphqls
cmake: *.cmake CMakeLists.txt
"""


def _named(text: str) -> Mapping[str, tuple[str, ...]]:
    rows = (line.partition(":") for line in text.strip().splitlines())
    return MappingProxyType({name: tuple(globs.split()) for names, _, globs in rows for name in names.split()})


_TYPES = _named(_TYPES_TEXT)


def is_rg(call: Invocation) -> bool:
    return call.name.rpartition("/")[2] in ("rg", "ripgrep")


def searched(call: Invocation) -> Look:
    """Which files of a tree the invocation reads."""
    arguments = call.arguments
    if is_rg(call):
        shown = arguments.has("--hidden", "-.", "-u", "-uu", "-uuu", "--unrestricted")
        # A chosen glob or type brings hidden files back (rg(1), AUTOMATIC FILTERING).
        chosen = bool(_chosen(arguments)) or arguments.has("-t", "--type")
        follows = arguments.has("-L", "--follow")
        return Look(hidden=shown or chosen, follows=follows, only=() if follows else _of_rg(arguments), ignores=True)
    return _of_grep(arguments)


def _of_grep(arguments: Arguments) -> Look:
    included, excluded = arguments.values("--include"), arguments.values("--exclude")
    # Where one file is both, the order decides (grep(1)): then nothing is taken for left out.
    without = [] if included else excluded
    follows = arguments.has("-R", "--dereference-recursive")
    # What matches none of these is left out only where the first of them is `--include`.
    told = [option.name for option, _ in arguments.given]
    every = [name for name in told if name in ("--include", "--exclude", "--exclude-from")][:1] != ["--include"]
    return Look(
        follows=follows,
        # A link to a directory is followed, whatever files are chosen there.
        only=() if follows or every else plain_globs([_matched(value) for value in included]) or (),
        without=(plain_globs(without) or ()) + (plain_globs(arguments.values("--exclude-dir")) or ()),
    )


def _matched(value: Value) -> Value:
    """`*.py` without quotes, joined to its option: whatever files the shell put in its place, their names end so."""
    if value.pattern is not None and value.pattern == value.text and value.known and not value.many:
        return Value(text=value.text) if _ENDS_ALIKE.fullmatch(value.text) else value
    return value


def _of_rg(arguments: Arguments) -> tuple[str, ...]:
    """The names that globs let through, else those of types: where there is such a glob, types count for nothing."""
    globs = _chosen(arguments)
    return _of_globs(globs, blind=arguments.has("--glob-case-insensitive")) if globs else _of_types(arguments)


def _chosen(arguments: Arguments) -> list[tuple[Option, Value]]:
    """Globs but for those that only take names out."""
    given = [(option, value) for option, value in arguments.given if value is not None]
    globs = [(option, value) for option, value in given if option.name in ("-g", "--glob", "--iglob")]
    return [(option, value) for option, value in globs if not (value.fixed and value.text.startswith("!"))]


def _of_globs(globs: Sequence[tuple[Option, Value]], *, blind: bool) -> tuple[str, ...]:
    """The names that these globs let through; empty where all names may be."""
    found: list[str] = []
    for option, value in globs:
        names = _names(value.text) if value.fixed else None
        if names is None:
            return ()
        found += [_blind(name) for name in names] if blind or option.name == "--iglob" else names
    return tuple(found)


def _names(glob: str) -> list[str] | None:
    """The names of files that a glob of rg(1) matches, with a directory in front or not; None if that is not known."""
    braced = _BRACED.fullmatch(glob)
    globs = [braced[1] + each + braced[3] for each in braced[2].split(",")] if braced is not None else [glob]
    if not all(_PLAIN_GLOB.fullmatch(each) and not each.endswith("/") for each in globs):
        return None
    return [each.rpartition("/")[2] for each in globs]


def _blind(name: str) -> str:
    """A pattern for the name in capitals and small letters."""
    return "".join(f"[{each.lower()}{each.upper()}]" if each.isalpha() else each for each in name)


def _of_types(arguments: Arguments) -> tuple[str, ...]:
    """The names of the types that are chosen; empty where one is not listed here, or may mean something else."""
    chosen = arguments.values("-t", "--type")
    if arguments.has("--type-add", "--type-clear") or not all(value.fixed and value.text in _TYPES for value in chosen):
        return ()
    return tuple(glob for value in chosen for glob in _TYPES[value.text])

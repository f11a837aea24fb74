"""Compilers and the front ends of languages: what they read and write, and where their options name other programs."""

from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.guards import inside
from shield.facts.paths import resolved_roots
from shield.facts.programs.cargo_make import cargo_make
from shield.facts.programs.declared import cargo_alias
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.library import models
from shield.facts.programs.mention import mention
from shield.facts.programs.project import PROJECT
from shield.facts.programs.reading import Value
from shield.regex import regex
from shield.types import Access, Operation, RunsCode

__all__ = ["TOOLCHAIN"]

# gcc(1), clang(1), rustc(1): these name a program that is started in place of one of the compiler's own.
_STARTS = (
    "-wrapper",
    "-fmodule-mapper",
    "--codegen",
    "-fuse-ld=",
    "--ld-path",
    "-specs",
    "-no-integrated",
    "-fplugin",
    "-load",
    "-Xclang",
    "-C",
    "-Z",
)
_OUTPUT = frozenset(("-o", "-MF", "--output", "-dumpdir", "--out-dir", "-aux-info"))

_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".C", ".m", ".mm", ".rs", ".s", ".S", ".i", ".ii", ".o", ".a")


# What a compiler has defined before it reads anything: `gcc -dM -E -x c /dev/null`.
_DEFINED = regex(
    r"-E|-dM|-P|-x(?:c|c\+\+)|-std=[a-z0-9+:]+|-O[0-3sgz]?|-m(?:arch|cpu|tune|fpu|abi)=[\w.+-]+|-m(?:32|64|[a-z0-9.-]*sse[0-9.]*|avx[\w]*)"
    r"|-f(?:PIC|PIE|pic|pie|openmp|exceptions|no-exceptions|no-rtti|signed-char|unsigned-char)|/dev/null"
)
# They say where the parts of a compiler are looked for.
_STEERING = frozenset(("COMPILER_PATH", "GCC_EXEC_PREFIX", "LIBRARY_PATH", "CCC_OVERRIDE_OPTIONS"))


def _only_defines(call: Invocation) -> bool:
    """Whether it only tells what is defined: of no file, by the parts that belong to it."""
    words = list(call.words)
    place = call.context.place
    named = {**place.env, **call.context.told}
    folders = named.get("PATH", "").split(":")
    if _STEERING & named.keys() or not all(
        each.startswith("/") and not inside(each, resolved_roots(place)) for each in folders
    ):
        return False
    texts = [word.text if word.fixed else "" for word in words]
    while "-x" in texts:
        at = texts.index("-x")
        if texts[at + 1 : at + 2] not in (["c"], ["c++"]):
            return False
        texts[at : at + 2] = []
    told = {"-E", "-dM"} <= set(texts) and all(_DEFINED.fullmatch(text) for text in texts)
    return told and "/dev/null" in texts


def _compiler(call: Invocation) -> bool:
    """Compilers read sources and write objects; plug-ins, wrappers and response files run or hide more."""
    reading, words = call.reading, list(call.words)
    if _only_defines(call):
        reading.runs = RunsCode.NONE
        reading.operations = {Operation.READ}
        return True
    if words and all(word.fixed and word.text in ("--version", "-V", "-dumpversion", "-dumpmachine") for word in words):
        return True
    reading.operations |= {Operation.READ, Operation.WRITE}
    while words:
        word = words.pop(0)
        text = word.text
        if word.fixed and text in _OUTPUT:
            if words:
                reading.path(words.pop(0), Access.WRITE)
        elif word.fixed and text.startswith("-o") and len(text) > 2:
            reading.path(Value(text=text[2:], head=text[2:]), Access.WRITE)
        elif word.fixed and text.startswith("@") and len(text) > 1:
            # the words of that file take its place, and an error shows them
            reading.path(Value(text=text[1:], head=text[1:]), Access.READ)
            reading.caution()
        elif word.fixed and text.startswith(_STARTS):
            mention(call, word)
            if text.startswith(("-wrapper", "-fmodule-mapper")) or "linker" in text or "ld-path" in text:
                reading.run(RunsCode.INLINE)
            if text in ("-C", "--codegen") and words:
                value = words.pop(0)
                mention(call, value)
                if "linker" in value.text:
                    reading.run(RunsCode.INLINE)
        elif word.fixed and text.endswith(_SOURCES) and not text.startswith("-"):
            reading.path(word, Access.READ)  # there or not yet: what is made of it depends on it
        else:
            if text.startswith(("-working-directory", "--working-directory")):
                reading.unknown.append(f"where the paths of `{call.name[:80]}` start is not known")
            mention(call, word, Access.READ, doubtful=True)
    return True


def _jar(call: Invocation) -> bool:
    """jar: archives are written and listed; what one that is unpacked would write is not known."""
    reading, words = call.reading, list(call.words)
    first = words[0] if words else None
    unpacks = first is None or not first.fixed or (not first.text.startswith("--") and "x" in first.text)
    if unpacks or any(not word.fixed or word.text.startswith(("--e", "-x")) for word in words):
        reading.unknown.append("which files and links the archive holds is not known")
        reading.reshapes = True
    for word in words:
        mention(call, word, Access.READ, Access.WRITE, doubtful=True)
    return True


def _toolchain(call: Invocation) -> bool:
    """cargo: `+NAME` before everything else chooses a toolchain, which rustup may fetch first."""
    if any("linker=" in word.text for word in call.words):
        call.reading.run(RunsCode.INLINE)
    first = call.words[0] if call.words else None
    if first is not None and first.text == "make":
        cargo_make(call)
    if first is None or not first.text.startswith("+"):
        return cargo_alias(call)
    if not first.fixed or "/" in first.text:
        call.reading.unknown.append("which toolchain is chosen is not known")
    call.read_as(call.name, models()["cargo"], call.words[1:])
    return True


def _go_run(call: Invocation) -> bool:
    """go run: packages of the module and of its dependencies; with `@version` a module that nothing pins."""
    for word in call.words:
        if not word.fixed or "@" in word.text or "://" in word.text:
            call.reading.run(RunsCode.FETCHED)
            call.reading.ask("what `go run` fetches is pinned by nothing")
            return True
        if not word.text.startswith("-"):
            break
    return PROJECT["project"](call)


def _go_build(call: Invocation) -> bool:
    """go build, go test: `-ldflags=-extld=…` names a program that links."""
    if any("extld=" in word.text for word in call.words):
        call.reading.run(RunsCode.INLINE)
    return PROJECT["project"](call)


def _rollup(call: Invocation) -> bool:
    """rollup: a plug-in is a name, a path or, in braces or parentheses, code (rollupjs.org, "Command line flags")."""
    if any(set("{(") & set(word.text) for word in call.words):
        call.reading.run(RunsCode.INLINE)
    return PROJECT["project"](call)


def _go_env(call: Invocation) -> bool:
    """go env: `-w` and `-u` change the user's own settings."""
    if any(not word.fixed or word.text.startswith(("-w", "-u", "--w", "--u")) for word in call.words):
        call.reading.unknown.append("`go env -w` changes the user's own settings")
    return True


TOOLCHAIN: Mapping[str, Special] = MappingProxyType(
    {
        "compiler": _compiler,
        "jar": _jar,
        "toolchain": _toolchain,
        "go_build": _go_build,
        "go_run": _go_run,
        "go_env": _go_env,
        "rollup": _rollup,
    }
)

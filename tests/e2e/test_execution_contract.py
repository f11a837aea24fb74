"""What Shield judged is what bash does: lines whose facts are certain, run by the shell tool itself, compared word for word.

Stand-in programs write down what they were really given: name, arguments, directory, and where their standard input and
output lead. The shell, its arguments and its environment are those of the enforcement point, not of the test.
"""

import asyncio
import os
import random
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentctl.execute import ShieldGate
from agentctl.turns.messages import ToolResult
from fake_shield import TOKEN, FakeShield, fake_shield, proposed
from scale import scale, seed
from shield.client import AsyncClient
from shield.config.environment import exec_env
from shield.facts.local import LocalFiles
from shield.facts.place import Place
from shield.facts.shell import ShellAnalysis, analyse
from shield.types import Access, CommandFact, Dynamic, RunsCode

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash to compare with")

STAND_INS = ("cat", "ls", "grep", "wc", "head", "tail", "cp", "touch", "zap")
SHELLS = ("bash", "sh", "dash")
_PATHS = ("cat", "wc", "touch")  # every operand is a path
_FIELDS = 5
_STAND_IN = """#!INTERPRETER
printf '%s\\0' "${0##*/}" "$(pwd -P)" "$(READLINK /proc/$$/fd/0)" "$(READLINK /proc/$$/fd/1)" "$#" "$@" >>LOG
"""


@dataclass(frozen=True)
class Ran:
    name: str
    cwd: str
    stdin: str
    stdout: str
    argv: tuple[str, ...]


class World:
    """A home, a workspace in it, stand-ins as the only programs on PATH, and a gate that runs lines."""

    def __init__(self, folder: Path, fake: FakeShield) -> None:
        self.base = folder.resolve()
        self.home = self.base / "home"
        self.workspace = self.home / "ws"
        self.bin = self.base / "bin"
        self.log = self.base / "log"
        for made in (self.bin, self.workspace / "sub" / "deep", self.workspace / "a b", self.home / "bin"):
            made.mkdir(parents=True)
        # by a name that Shield knows no language of: what a stand-in does to write its log is not the line's
        self.interpreter = self.base / "interpreter"
        self.interpreter.symlink_to("/bin/sh")
        for name in STAND_INS:
            self.stand_in(self.bin / name)
        for name in SHELLS:
            found = shutil.which(name, path="/usr/bin:/bin")
            if found is not None:
                (self.bin / name).symlink_to(found)
        (self.workspace / "in.txt").write_text("text\n")
        (self.workspace / "-n").write_text("")
        (self.workspace / "link").symlink_to("sub/deep")
        given = {"HOME": str(self.home), "PATH": str(self.bin), "LANG": "C.UTF-8", "USER": "u", "TERM": "dumb"}
        self.shell, env = exec_env((), given)
        self.env = dict(env)
        fake.shell, fake.env = self.shell, self.env
        self._fake = fake

    def stand_in(self, path: Path) -> None:
        readlink = shutil.which("readlink") or "readlink"
        text = _STAND_IN.replace("READLINK", readlink).replace("LOG", str(self.log))
        path.write_text(text.replace("INTERPRETER", str(self.interpreter)))
        path.chmod(0o755)

    def facts(self, line: str, stdin: str | None = None) -> ShellAnalysis:
        place = Place(
            files=LocalFiles(),
            home=str(self.home),
            cwd=str(self.workspace),
            workspace_roots=(str(self.workspace),),
            env=self.env,
            shell=self.shell,
        )
        return analyse(line, place, stdin=stdin)

    def run(self, lines: Sequence[str], **payload: object) -> list[tuple[ToolResult, list[Ran], set[str]]]:
        """Of each line: its result, what ran in order, and the files that are new or changed."""
        return asyncio.run(self._run(lines, payload))

    async def _run(self, lines: Sequence[str], payload: dict) -> list[tuple[ToolResult, list[Ran], set[str]]]:
        found = []
        async with AsyncClient(self._fake.endpoint, TOKEN) as client:
            gate = ShieldGate(client, await client.open_session([str(self.workspace)]))
            for line in lines:
                self.log.write_text("")
                before = self._files()
                proposal = proposed("execute_command", {"command": line, **payload})
                result = await gate.run(proposal, await gate.propose(proposal))
                assert isinstance(result, ToolResult)
                after = self._files()
                changed = {path for path, entry in after.items() if before.get(path) != entry}
                for path in changed - before.keys():
                    os.unlink(path)
                found.append((result, self._ran(), changed))
        return found

    def _files(self) -> dict[str, tuple[int, int]]:
        found = {}
        for folder, _, names in os.walk(self.home):
            for name in names:
                path = os.path.join(folder, name)
                entry = os.lstat(path)
                found[path] = (entry.st_mtime_ns, entry.st_size)
        return found

    def _ran(self) -> list[Ran]:
        fields = self.log.read_text().split("\0")[:-1]
        found = []
        while fields:
            name, cwd, stdin, stdout, count = fields[:_FIELDS]
            end = _FIELDS + int(count)
            found.append(Ran(name, cwd, stdin, stdout, tuple(fields[_FIELDS:end])))
            del fields[:end]
        return found


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with fake_shield() as fake, tempfile.TemporaryDirectory(prefix="sh") as folder:
        yield World(Path(folder), fake)


def certain(found: ShellAnalysis) -> bool:
    """Whether Shield says that it knows what this line does, to the last word."""
    return settled(found) and all(command.dynamic is Dynamic.NONE for command in found.commands)


def settled(found: ShellAnalysis) -> bool:
    """Whether it knows which programs run and what they could reach; arguments may be patterns or unknown text."""
    known = (Dynamic.NONE, Dynamic.ARGUMENT)
    return (
        found.parsed
        and not found.unknown
        and all(command.dynamic in known for command in found.commands)
        and all(path.resolved is not None for path in found.paths)
    )


def differences(
    line: str, found: ShellAnalysis, result: ToolResult, ran: Sequence[Ran], changed: set[str]
) -> list[str]:
    """Where what happened is not what the facts say; empty if it is."""
    expected = [(at, command) for at, command in enumerate(found.commands) if command.name in STAND_INS]
    ordered = not any(mark in line for mark in "|&$<")
    # what runs at once writes its record at any time: it is right if there is a command for each
    fits = not ordered and _fits(found, expected, ran)
    wrong = [] if fits else _strange(found, expected, ran, ordered=ordered)
    passed_over = any(mark in line for mark in ("&", "||", "exit", "false", "set -e")) or "[stderr]" in result.content
    if not passed_over and len(ran) != len(expected):
        wrong.append(f"{len(ran)} ran, {len(expected)} are in the facts")
    written = {path.resolved for path in found.paths if path.access is Access.WRITE}
    # a pattern without a match is a name of its own, in the directory that the facts name
    wrong += [
        f"written and not in the facts: {path}"
        for path in changed - written
        if not ("touch" in line and any(mark in path for mark in "*?[") and os.path.dirname(path) in written)
    ]
    return wrong


def _fits(found: ShellAnalysis, expected: Sequence[tuple[int, CommandFact]], ran: Sequence[Ran]) -> bool:
    """Whether each record is of a command of its own that says the same."""
    if not ran:
        return True
    return any(
        _same(item[1], ran[0])
        and not _places(found, *item, ran[0])
        and _fits(found, [*expected[:at], *expected[at + 1 :]], ran[1:])
        for at, item in enumerate(expected)
    )


def _strange(
    found: ShellAnalysis, expected: Sequence[tuple[int, CommandFact]], ran: Sequence[Ran], *, ordered: bool
) -> list[str]:
    """What ran and is not in the facts, or is otherwise."""
    wrong: list[str] = []
    left = list(expected)
    for record in ran:
        alike = [item for item in left if _same(item[1], record)]
        # one that was passed over may look the same: the one that fits in everything, if there is one
        match = next((item for item in alike if not _places(found, *item, record)), alike[0] if alike else None)
        if match is None:
            wrong.append(f"ran and is not in the facts: {record}")
            continue
        if ordered:  # one after the other: what was passed over was not run
            left = left[left.index(match) + 1 :]
        else:
            left.remove(match)
        wrong += _places(found, *match, record)
    return wrong


def _same(command: CommandFact, record: Ran) -> bool:
    known = command.argv[1:] == record.argv or command.dynamic is Dynamic.ARGUMENT
    return command.name == record.name and known


def _places(found: ShellAnalysis, at: int, command: CommandFact, record: Ran) -> list[str]:
    resolved = {path.resolved or "" for path in found.paths if path.source == f"commands[{at}]"}
    wrong = []
    if command.dynamic is Dynamic.ARGUMENT:
        # a pattern may match what an earlier command of the line wrote, which the facts name as written
        resolved |= {path.resolved or "" for path in found.paths if path.access is Access.WRITE}
    if command.name in _PATHS:
        for word in record.argv:
            real = os.path.realpath(os.path.join(record.cwd, word))
            seen = {real}
            if command.dynamic is Dynamic.ARGUMENT and re.search(r"[*?\[]", word):
                # a pattern without a match is a name of its own, somewhere in the directory that the facts name
                seen |= {str(folder) for folder in Path(real).parents}
            if not word.startswith("-") and word and not seen & resolved:
                wrong.append(f"`{word}` in {record.cwd} is {real}, the facts say {sorted(map(str, resolved))}")
    for redirect in command.redirects:
        if redirect.target is None or redirect.op not in ("<", ">", ">>", ">|") or redirect.fd not in (0, 1):
            continue
        real = os.path.realpath(os.path.join(record.cwd, redirect.target))
        if not redirect.target.startswith("/dev/") and real not in resolved:
            wrong.append(f"the facts do not resolve {redirect.op}{redirect.target} to {real}")
    last = {redirect.fd: redirect for redirect in command.redirects if redirect.target is not None}
    for fd, got in ((0, record.stdin), (1, record.stdout)):
        redirect = last.get(fd)
        if redirect is not None and redirect.op in ("<", ">", ">>", ">|"):
            real = os.path.realpath(os.path.join(record.cwd, str(redirect.target)))
            if got != real and not real.startswith(("/dev", "/proc")):
                wrong.append(f"descriptor {fd} leads to {got}, the facts say {real}")
    return wrong


# --- generated ---------------------------------------------------------------------------------------------------------

_WORDS = (
    "x", "in.txt", "'a b'", '"a b"', "a\\ b", "~", "~/q", "$HOME", "${HOME}/q", '"$HOME"', "sub/deep", "./x", "../ws/x",
    "link/..", "link/x", "$v", '"$v"', "'$v'", "\\$v", '"\\$v \\" \\\\ \\x"', "$'a\\tb'", "$'\\x41\\u00e9'", "é", "''", '""',
    "--", "-n", "-", "a=b", "a=~", "A=~/x", "a:~", "{}", "{x}", "x{y}z", "#x", "x#y", "!", "!x", "%", "^", "@", "1", "2",
    "foo'bar'\"baz\"", "'\n'", '"\n"', "$'\\n'", "\\~", "'~'/x", "~''", "~/'a b'", "//etc", "/..", "a//b", "*x\\*", "'*'",
    "\\*", "[", "]", "[x", "\\[x]", "?\\?", "$", "$%", '"$"', "a$", "$v$", "$v$/x", "+", ",", ".", "..", "...", "\\\\", "\\a", "\\-n",
    "$UNSET_NAME", '"$UNSET_NAME"', "$w", '"$w"', "$PWD", "${PWD}/x", "$USER", "time", "if", "then", "done", "function",
    "${@:-q}", '"${@:-q}"', '"${@#x}"', "${@%y}", '"${v:+$@}"', "''\"$@\"", '"$@""$@"', '"$@"$@', '"${@-q}"', '"$*"', "$1", "$#",
    "$v{a,b}", "${v}{/a,.b}", "{$v,b}c", "{a}b,c}", "{}a,b}", "{a..}{b,c}", "{$,b}", "{a,b}=~", "a={~,b}", "{x,y}", "{1..3}",
    '"${v:+"$w"x}"', '"${v:+"$"HOME}"', "${v/x/&}", '"${v/x/[&]}"', '"${v/x/~}"', "${v//[a\\-z]}", '${v//["a-z"]}', "${v//[^]]}", '"${v/*/a}"', "${v^^[\\]]}", "['x]']*",
    "*", "sub/*", "i?.txt", "[a-z]*", "-*", "*.nothing", "$v*", "\u00a0x", "a\u00a0b", "\u3000", "\U0001F600", "x\u0301",
)  # fmt: skip
_JOINTS = ("; ", ";", "\n", " && ", " || ", " | ", " # c\n", "\n\n", " ;\t", "&&", "||")
_REDIRECTS = (
    "", "", "", "", ">out", "> out", ">>out", ">|out", "<in.txt", "< in.txt", "2>err", "2>&1", "&>both", "&>>both",
    ">'o p'", ">$v", ">~/q", "1>out", "0<in.txt", ">out 2>&1", ">one >two", "</dev/null", ">/dev/null", "<<<word",
    ">sub/out", ">&both", ">&'a\\b'", '>&"~/q"', ">./link/out", ">link/../out", "3>three", ">out </dev/null", "2>/dev/null", "<>both",
)  # fmt: skip
_LEADS = (
    "", "", "", "", "", "v=1 ", "export v=$w; ", "w='p q'; export v=$w; ", "w=~; v=$w/x; ", "cd sub; ", "cd sub && ", "cd link; ", "cd link/..; ", "cd -P link/..; ", "cd ..; ",
    "cd ~; ", "cd; ", "cd 'a b'; ", "cd /nowhere; ", "cd /nowhere && ", "cd /nowhere || ", "v='x y'; ", "v=x; ", "v=*; ",
    "w=~/z; ", "w=$HOME:~; ", "v=$HOME; w=$v/x; ", "export v=x; ", "export v='x y'; ", "LANG=C ", "true; ", "false || ",
    "set -e; ", "cd sub; cd ..; ", "cd sub; cd deep; ", "cd sub >log; ", "v=x w=y; ", "v=; ", "echo hi; ", "cd .; ",
    "set --; ", "set -- x 'y z'; ", "set -- ''; ", "v=x; v=y export v; ", "v=x; v=y :; ", "w='p q'; \\export v=$w; ", "export v={~,x}; ",
    "v=x; : $((1/0)); v=z\n", "v=x; : ${1:=y}; w=z\n", "n=0; [[ $v == x && $((n++)) ]]; v=$n; ", "v=a/b; v=${v////-}; ",
    "command ", "set -u; ", "set -o noglob; ", "v=a\\ b; ", 'v="a  b"; ', "v=~; ", "cd sub | ", "(cd sub); ", "unset v; ", ": ", "test -f x; ",
)  # fmt: skip


class Lines:
    """Lines of the plain language, most of which Shield understands to the last word."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def simple(self) -> str:
        words = [self.rng.choice(_WORDS) for _ in range(self.rng.randrange(4))]
        glued = "".join(self.rng.choice(_WORDS) for _ in range(2)) if self.rng.random() < 0.2 else ""
        name = self.rng.choice(STAND_INS)
        spelled = self.rng.choice([name] * 6 + [f"'{name}'", f"\\{name}", f"{name[0]}''{name[1:]}", f'"{name}"'])
        redirect = self.rng.choice(_REDIRECTS)
        parts = [spelled, *words, *([glued] if glued else [])]
        where = self.rng.randrange(1 + len(parts))
        return " ".join([*parts[:where], *([redirect] if redirect else []), *parts[where:]])

    def line(self) -> str:
        text = self.rng.choice(_LEADS) + self.simple()
        for _ in range(self.rng.choice([0, 0, 0, 1, 1, 2])):
            text += self.rng.choice(_JOINTS) + self.rng.choice(_LEADS) + self.simple()
        nested = self.rng.randrange(14)
        if nested < len(SHELLS):
            quoted = text.replace("'", "'\\''")
            text = f"{SHELLS[nested]} -c '{quoted}'"
        elif nested == len(SHELLS):
            text = f"eval {_quoted(text)}"
        elif nested == len(SHELLS) + 1:
            text = f"{self.simple()} $({text})"
        return text


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def test_lines_that_are_certain_do_what_their_facts_say(world):
    rng = random.Random(seed())
    grammar = Lines(rng)
    wanted = scale("execution_contract")
    lines: list[str] = []
    made = 0
    while len(lines) < wanted and made < 60 * wanted:
        line = grammar.line()
        made += 1
        found = world.facts(line)
        # one in eight may hold words that are not known
        if any(command.name in STAND_INS for command in found.commands) and (
            certain(found) or (settled(found) and made % 8 == 0)
        ):
            lines.append(line)
    # a generator whose lines are all given up on would prove nothing
    assert len(lines) == wanted, f"{len(lines)} of {made} are known"
    compare(world, lines)


def compare(world: World, lines: Sequence[str], **payload: object) -> list[list[Ran]]:
    """Run the lines and assert that each did what its facts say; what ran."""
    wrong, all_ran = [], []
    found = [world.facts(line) for line in lines]
    for line, facts, done in zip(lines, found, world.run(lines, **payload), strict=True):
        all_ran.append(done[1])
        wrong += [(line, difference) for difference in differences(line, facts, *done)]
    assert not wrong, "\n".join(f"{line!r}\n    {difference}" for line, difference in wrong[:12])
    return all_ran


# --- picked by hand ----------------------------------------------------------------------------------------------------

KNOWN = (
    "cat in.txt",
    "cd sub && cat x; cd .. && cat in.txt",
    "cd sub; cd ..; cat in.txt",
    "cd link && cat x",
    "cd -P link/.. && cat deep/x",
    "cat ~/q ~/'a b' ~ '~/x' \\~",
    "v=in.txt; cat $v \"$v\" '$v'",
    "v='a b'; cat \"$v\"",
    "v='a b'; cat $v a$ $v\"$\" $v\\$",
    "cat $'a\\tb' $'\\u00e9' é",
    "cat 'a b' >'o p' <in.txt",
    "cat <in.txt >out 2>err",
    "cat >one >two",
    "wc in.txt && wc sub",
    "touch x{y}z",
    "cat a\\ b",
    "cat !x ! ^ %",
    "cat x # y; zap",
    "cat x#y; zap '#'",
    "zap time if then",
    "zap <<<'a b'",
    "eval 'cat in.txt'; eval cat x",
    "command cat x",
    "bash -c 'cat in.txt; cd sub; cat x'",
    "sh -c 'cat in.txt; cd sub; cat x'",
    "dash -c 'cat in.txt; cd sub; cat x'",
    "bash -c 'zap $HOME'",
    "true && zap a; false || zap b",
    "set -e; zap a; zap b",
    "LANG=C cat in.txt",
    "cat -- -n; cat ./-n",
    "zap '' \"\"",
    "cat .\\./in.txt",
    "exec 3<in.txt; cat <&3",
    "zap\tx",
    "test 'a[$(zap)]' -eq 1; zap z",
    "printf %d 'a[$(zap)]'; zap z",
    "export v='p q'; zap \"$v\"",
    "hash -r; cat x",
    "zap 'a\nb'",
    "readonly PATH; cat x",
    "set -- a b; cat $1",
    'v=x; true || export v=y; cat "$v"',
    'v=x; false && export v=y; cat "$v"',
    'v=x; true || v=y; cat "$v"',
    "pushd sub; cat x",
    "cat {a,b} {1..3}",
    "cat `echo x`",
    "! cat x",
    "if true; then cat x; fi",
    "for v in a b; do cat $v; done",
    "while cat x; do break; done",
    "case x in *) cat x;; esac",
    "{ cat x; }",
    "(cat x)",
    "[[ -n x ]] && cat x",
    "((1)) && cat x",
    "v=(a b); cat ${v[1]}",
    "v[0]=x; cat x",
    "v+=(x); cat x",
    "trap zap EXIT; cat x",
    "f() { zap $1; cat \"$2\"; }; f a 'x y'",
    "v=in.txt; cat ${v%.txt} ${v/in/out} ${v:0:2} ${#v}",
    "zap $((1+2)) $(echo 'a b') \"$(echo 'a b')\"",
    "exec 4>out; { cat x; } >one; zap",
    # what stands for nothing, and empty words beside it
    'set --; zap \'\'"$@" "$@""$@" "$@"$@ ""$@ "$*" x"$@"',
    'v=(); zap "${v[@]}${v[@]}" \'\'"${v[@]}" "${v[*]}"',
    'set --; zap "${@-q}" "${*+q}" "${@:-p q}"',
    'v=; zap "${v/*/a}" "${v//*/a}" "${v/x/a}"',
    # the first brace behind a comma or dots of its own closes; what braces make is no assignment
    "zap {a}b,c} a{}b,c} {}a,b} {x,y}{}b,c} {a..}{b,c} {a..{1..2}} {x{1..2}}",
    "zap {a,b}=~ a={~,b} v=x:{~,y} {~,x}/y",
    'export v={~,x}; zap "$v"',
    "f() { local -i n=1+1; zap $n; }; f; n=1+1; zap $n",
    # an expansion that fails skips the rest of its line, and not the next one
    "readonly w=x; v=x; w=y; v=z\nzap $v",
    "n=$#; v=x; w=$((1/n)); v=z\nzap $v",
    "w=(x); v=x; w[-9]=y; v=z\nzap $v",
    # what another condition or pattern settles, is not expanded
    "n=0; [[ x == y && $((n++)) ]]; zap $n",
    "n=0; [[ x == x || n++ -gt 3 ]]; zap $n",
    "n=0; case x in x) ;; $((n++))) ;; esac; zap $n; false",
    "v=x; n=0; zap ${v:-$((n++))}; zap $n; false",
)

UNKNOWN = (
    # a word that bash does not split for a lone `$` in it, and dash does
    "v='x y'; zap $v$",
    "v='x y'; zap $v$/in.txt",
    "set -- 'x y'; zap a$ $1$",
    "v='x y'; zap $(echo $v)$.",
    "v='x y'; zap {a,$v}$",
    # an operation is put to each parameter, and a quoted expansion may be several words
    "set -- x 'y z'; zap \"${@:-q}\"",
    "set -- x 'y z'; zap \"${@#x}\"",
    "set -- xa ya; zap ${@%a}",
    "set -- xa ya; v=${@%a}; zap $v",
    "v=(x 'y z'); zap \"${v[@]/y/q}\"",
    "v=q; set -- x 'y z'; zap \"${v:+$@}\"",
    'v=; set -- x \'y z\'; zap "${v:-"$@"}"',
    # an expansion that fails skips the rest of its line, and not the next one
    "v=x; : $((1/0)); v=z\nzap $v",
    "v=x; : ${1:=y}; v=z\nzap $v",
    "w=abc; v=x; : ${w:1:-9}; v=z\nzap $v",
    "v=x; case x in x) : $((2**-1));; esac; v=z\nzap $v",
    "f() { v=x; : $((1%0)); v=z; }; f\nzap $v",
    "v=x; eval ': $((1/0)); v=y'; zap $v",
    "bash -c 'v=x; : $((1/0)); v=z\nzap $v'",
    "shopt -s failglob; v=x; : *.nothing; v=z\nzap $v",
    "v=a/-b; zap ${v///-}",
    "v=a/b; zap ${v////-}",
    # the name of a file behind `>&` is expanded once more
    "zap >&'a\\b'",
    "v='~/q'; zap >&\"$v\"",
    "zap >&'$(zap)'",
    "{ zap; } >&'$(zap)'",
    # nothing is put in what is not set; another element is not the first
    'v=(x); zap "${v[1]/#/x}"',
    "unset v; zap ${v/%/x}",
    "v=(x); : ${v[1]:=abc}; zap ${#v} $v",
    'set --; zap "${@:+x}"',
    # a substitution that fails prints nothing
    'set -- \'\'; zap "$(echo "${1:=y}")"',
    'v=$(echo x <nowhere); zap "x$v"',
    'v=(x); zap "$(echo 1${v[1]:?y})"',
    "sh -c 'zap 2>i*.txt'",
    "v=\u00e9; zap ${v/[[:alpha:]]/x}",
    "set -o noglob; zap 3>i*.txt",
    "set -eo noglob; cat i* >out",
    "LANG=C; v=\u00e9; zap ${v%?}",
    # quotes within `"${x:+…}"` are gone before expansions are looked for
    'v=q; zap "${v:+"$"(zap)}"',
    'v=q; w=z; zap "${v:+"$w"x}"',
    'v=q; w=z; zap "${v:+$w"x"}"',
    'v=q; zap "${v:+"$"HOME}"',
    'v=q; zap "${v:+$"HOME"}"',
    'v=q; w=z; zap "${v:+"$w""x"}"',
    # what is quoted in a bracket expression, and what bash finds too short for one
    "v=abc; zap ${v//[a\\-c]}",
    'v=abc; zap ${v//["a-c"]}',
    "v='a!b'; zap ${v//[\\!a]}",
    "v=abc; zap ${v//[^]]}",
    "cat ['i]']*",
    # double quotes around the whole keep neither `&` nor `~` of a replacement from being expanded
    'v=xyz; zap "${v/y/[&]}"',
    'v=xyz; zap "${v/y/~}"',
    "v=ABC; read w <in.txt; zap ${v,,$w}",
    "v=ABC; w=; zap \"${v,,''}\" ${v,,$w}",
    # braces are expanded in the text, before names are looked for
    "v=1; zap $v{a,b}",
    "v=1; zap {$v,b}{c,d}",
    "zap {$,x}HOME",
    "zap {{a,b}..c}",
    "zap {9223372036854775806..9223372036854775807}",
    # what is written in quotes declares nothing, and what braces make is no assignment
    "w='a b'; \\export v=$w; zap \"$v\"",
    "w='a b'; ex''port v=$w; zap \"$v\"",
    "w='a b'; export v=x{,$w}; zap \"$v\"",
    # an assignment in front of a builtin meets the variable itself
    "v=x; v=y export v; zap $v",
    "v=x; v=y readonly v; zap $v",
    "v=1; v=2 let v++; zap $v",
    "v=x; v=y unset v; zap x$v",
    "v=x; v=y eval 'unset v; zap x$v'",
    "sh -c 'v=x; v=y :; zap $v'",
    "sh -c 'v=x; v=y unset w; zap $v'",
    # what makes names mean something else
    "alias cat=zap; cat x",
    "shopt -s expand_aliases\nalias cat=zap\ncat x",
    "hash -p ./zap cat; cat x",
    "hash -rp ./zap cat; cat x",
    "test -v 'a[$(zap)]'",
    "[ -v 'a[$(zap)]' ]",
    "jobs -x zap",
    "wait -p 'a[$(zap)]'",
    "printf -v 'a[$(zap)]' x",
    "unset 'a[$(zap)]'",
    "read 'a[$(zap)]' <in.txt",
    "export 'a[$(zap)]=x'",
    "let 'a[$(zap)]'",
    "declare -i v='a[$(zap)]'",
    "builtin hash -p ./zap cat; cat x",
    "command hash -p ./zap cat; cat x",
    "complete -C zap cat; cat x",
    "bind -x zap",
    "exec -a cat zap",
    "exec -c cat x",
    "exec -l bash -c 'cat x'",
    "exec -cla x cat",
    "test -f x -a -v 'a[$(zap)]'",
    "enable -n echo; echo x",
    "PATH=sub:$PATH; cat x",
    "PATH=sub cat x",
    "export PATH=sub; cat x",
    "unset PATH; cat x",
    "declare -x PATH=sub; cat x",
    "typeset PATH=sub; cat x",
    "local PATH=sub; cat x",
    "printf -v PATH sub; cat x",
    "read PATH <<<sub; cat x",
    "mapfile PATH <in.txt; cat x",
    "for PATH in sub; do cat x; done",
    # what is read before a command runs
    "BASH_ENV=sub/evil bash -c 'cat x'",
    "export BASH_ENV=sub/evil; bash -c 'cat x'",
    "ENV=sub/evil sh -i -c 'cat x'",
    "SHELLOPTS=xtrace bash -c 'cat x'",
    "BASHOPTS=expand_aliases bash -c 'cat x'",
    "PS4='$(zap)' bash -xc 'cat x'",
    "PROMPT_COMMAND=zap; cat x",
    "LD_PRELOAD=./x.so cat x",
    "bash --rcfile sub/evil -i -c 'cat x'",
    "bash -l -c 'cat x'",
    # what splits and expands words
    "IFS=n; v=in.txt; cat $v",
    "IFS=/ cat $HOME",
    "CDPATH=/; cd sub; cat x",
    "export CDPATH=/; cd sub; cat x",
    "GLOBIGNORE='*'; cat *",
    "set -f; cat *",
    "set -o posix; cat A=~/x",
    "shopt -s nullglob; cat *.nothing",
    "shopt -s dotglob; cat *",
    "shopt -s extglob; cat !(x)",
    "POSIXLY_CORRECT=1; cat A=~/x",
    "POSIXLY_CORRECT=1 bash -c 'cat A=~/x'",
    "HOME=/; cat ~/etc",
    "export HOME=/; cat ~/etc",
    "cat ~root ~+ ~-",
    "cat ~root/x",
    "cat ~+/x",
    "cd sub; cd -; cat x",
    "cat $OLDPWD",
    "OLDPWD=/; cd -; cat x",
    "PWD=/; cat $PWD",
    "cat ${v:-x} ${HOME#/} ${!v} ${v@P} ${#v}",
    "cat $((1)) $[1]",
    "cat $1 $# $? $$ $- $@ $*",
    "cat $RANDOM $SECONDS $LINENO $UID $BASHPID $_ $0",
    "cat <<E\n$(zap)\nE\n",
    "source sub/evil; cat x",
    ". sub/evil; cat x",
    "cat x\r",
    "cat a\\\nb",
    "cat $'\\0x'",
    'cat $"x"',
    # what other shells read otherwise
    "sh -c 'cat A=~/x'",
    "dash -c 'cat a=b:~'",
    "sh -c 'cat <<<x'",
    "sh -c 'cat x &>out'",
    "dash -c 'cat x |& zap'",
    "sh -c \"cat \\$'x'\"",
    "sh -c 'v=abc; zap ${v%[^a]}'",
    "sh -c 'zap x 10>out'",
    "sh -c 'set -- x; zap ${#@}'",
    "sh -c 'set --; zap \"${@-q}\"'",
    'sh -c \'set -- "x y"; zap "$@"$1\'',
    "sh -c 'zap {a,\"b c\"}'",
    "sh -c 'v=a; printf -v v b; zap $v'",
    "sh -c 'zap \"$(echo a\\\\nb)\"'",
    "sh <<<'zap {a,b}'",
    "echo 'zap {a,b}' | sh",
    "zsh -c 'cat x'",
    "ksh -c 'cat x'",
    "fish -c 'cat x'",
)


@pytest.mark.parametrize("line", KNOWN)
def test_what_is_picked_as_certain_is_and_is_what_happens(world, line):
    assert certain(world.facts(line)), world.facts(line).unknown
    (ran,) = compare(world, [line])
    assert ran, "it ran something, so there was something to compare"


@pytest.mark.parametrize("line", UNKNOWN)
def test_what_could_mean_something_else_is_not_called_known(world, line):
    """The shell's state, its expansions, and readings that differ between shells: a person decides on these."""
    found = world.facts(line)
    assert not certain(found)
    if settled(found):
        compare(world, [line])


# --- the environment and the shell that a line meets -------------------------------------------------------------------

_FALSE_BASH = "() { zap; }"
HOSTILE = {
    "BASH_ENV": "/tmp/evil",
    "ENV": "/tmp/evil",
    "SHELLOPTS": "braceexpand:hashall:interactive-comments:posix:xtrace",
    "BASHOPTS": "expand_aliases:extglob:nullglob",
    "IFS": "/",
    "CDPATH": "/",
    "GLOBIGNORE": "*",
    "POSIXLY_CORRECT": "1",
    "PS4": "$(zap)",
    "PROMPT_COMMAND": "zap",
    "OLDPWD": "/etc",
    "PWD": "/etc",
    "BASH_FUNC_cat%%": _FALSE_BASH,
    "BASH_FUNC_echo%%": _FALSE_BASH,
    "cat": _FALSE_BASH,
    "LANG": _FALSE_BASH,
    "LD_PRELOAD": "/tmp/evil.so",
    "LD_LIBRARY_PATH": "/tmp",
    "PYTHONPATH": "/tmp",
    "NODE_OPTIONS": "--require /tmp/evil",
    "GIT_DIR": "/tmp",
    "BASH_XTRACEFD": "9",
    "BASH_COMPAT": "31",
    "EXECIGNORE": "*",
    "FIGNORE": "x",
    "HISTFILE": "/tmp/evil",
    "INPUTRC": "/tmp/evil",
    "TMOUT": "1",
    "SHIELD_HOME": "/tmp/evil",
    "SHIELD_TOKEN": "secret",
    "AGENTCTL_MODEL": "evil",
    "LC_EVIL": _FALSE_BASH,
    "SHELL": "/tmp/evil",
    "SHLVL": "500",
    "_": "/tmp/evil",
    "v": "/etc",
}


@pytest.fixture
def hostile(world):
    """The same world, where the person's environment was poisoned before Shield started."""
    kept = dict(world.env)
    given = {**HOSTILE, "HOME": str(world.home), "PATH": f".::sub:{world.bin}:"}
    _, env = exec_env((), given)
    world.env.clear()
    world.env.update(env)
    world._fake.env = world.env
    yield world
    world.env.clear()
    world.env.update(kept)


def test_nothing_of_a_poisoned_environment_reaches_a_line(hostile):
    for name in HOSTILE.keys() - {"LANG"}:
        assert name not in hostile.env, name
    assert hostile.env["LANG"] == "C.UTF-8"
    assert hostile.env["PATH"] == str(hostile.bin), "an entry that is not absolute is the agent's directory"
    lines = ["cat in.txt ~/q $HOME A=~/x", "cd sub; cat x", "v=a/b; cat $v", "zap *.nothing", "zap $'a b' {}"]
    assert all(certain(hostile.facts(line)) or settled(hostile.facts(line)) for line in lines)
    assert all(compare(hostile, lines))


def test_a_line_gets_exactly_the_environment_that_was_judged(hostile):
    (hostile.bin / "env").symlink_to(shutil.which("env", path="/usr/bin:/bin"))
    try:
        ((result, _, _),) = hostile.run(["env"])
    finally:
        (hostile.bin / "env").unlink()
    got = dict(line.split("=", 1) for line in result.content.splitlines())
    # what bash itself sets (bash(1) Shell Variables): facts take none of them from the environment
    assert got.pop("PWD") == str(hostile.workspace)
    assert got.pop("SHLVL") == "0"
    assert got.pop("_") == str(hostile.bin / "env")
    assert got == hostile.env


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("echo $0 $# $-", r"/\S*/bash 0 hBc"),
        ('printf %q "$IFS"', r"\$' \\t\\n'"),
        ("umask", "0022"),
        ("declare -F; alias; trap; echo end", "end"),
        ("echo ${BASH_ENV-0}${ENV-0}${CDPATH-0}${GLOBIGNORE-0}${POSIXLY_CORRECT-0}${OLDPWD-0}${v-0}", "0000000"),
        ("echo $PS4", r"\+"),
        (
            "shopt -o posix; shopt expand_aliases extglob nullglob dotglob failglob",
            r"(\w+ +\toff\s+){6}\[exit code 1\]",
        ),
        ("[ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo none", "none"),
        ("exec 2>&1; : </dev/tty", r".*/dev/tty: No such device or address\s+\[exit code 1\]"),
    ],
)
def test_the_shell_starts_plain(hostile, line, said):
    ((result, _, _),) = hostile.run([line])
    assert re.fullmatch(said, result.content.strip(), re.DOTALL)


def test_no_descriptor_and_no_input_is_inherited(hostile):
    read, write = os.pipe()
    os.set_inheritable(read, True)
    try:
        ((result, _, _),) = hostile.run(["for fd in /proc/self/fd/*; do echo ${fd##*/}; done; read line || echo end"])
    finally:
        os.close(read)
        os.close(write)
    words = result.content.split()
    # the glob itself opens one more while it reads the directory
    assert set(words) <= {"0", "1", "2", "3", "end"}
    assert words[-1] == "end"


def test_standard_input_is_what_was_judged(world):
    """`stdin` is part of the hashed payload: a command reads that and nothing else."""
    text = "first\n$(zap)\n"
    ((result, _, _),) = world.run(['read a; read b; echo "$a|$b"'], stdin=text)
    assert result.content.strip() == "first|$(zap)"
    # a shell that reads it reads a script, and the facts say so
    found = world.facts("bash", stdin="zap x\n")
    assert found.commands[0].runs_code is RunsCode.INLINE
    assert "zap" in [command.name for command in found.commands]


def test_a_file_is_made_with_the_mask_that_was_judged(world):
    os.umask(0o077)
    world.run(["touch in.txt; : >sub/made; cd sub"])
    # taken away again by `run`, so it is looked at from inside
    ((result, _, _),) = world.run([": >made; [ -r made ] && for f in made; do test -O $f; umask; done"])
    assert result.content.strip() == "0022"


# --- programs that stand in another place ------------------------------------------------------------------------------


def test_the_program_that_is_named_is_the_one_that_runs(world):
    """PATH order, a directory and a file without leave to run in front, a name with a slash, a script in the workspace."""
    first = world.base / "first"
    (first / "cat").mkdir(parents=True)
    (first / "zap").write_text("#!/bin/sh\nexit 7\n")
    (first / "zap").chmod(0o644)
    world.stand_in(world.workspace / "sub" / "zap")
    kept = world.env["PATH"]
    world.env["PATH"] = f"{first}:{world.bin}"
    try:
        lines = ["cat in.txt", "zap x", "./sub/zap x", "cd sub && ./zap x", "sub/zap x; zap y"]
        found = [world.facts(line) for line in lines]
        ran = [records for _, records, _ in world.run(lines)]
    finally:
        world.env["PATH"] = kept
        (world.workspace / "sub" / "zap").unlink()
    for line, facts, records in zip(lines, found, ran, strict=True):
        programs = [str(command.program) for command in facts.commands if command.name in STAND_INS]
        assert len(records) == len(programs), line
    assert str(found[0].commands[0].program) == str(world.bin / "cat")
    assert str(found[1].commands[0].program) == str(world.bin / "zap")
    assert str(found[2].commands[0].program) == str(world.workspace / "sub" / "zap")
    assert str(found[3].commands[1].program) == str(world.workspace / "sub" / "zap")


def test_a_difference_is_noticed(world):
    """The comparison itself can fail: facts of one line, the run of another."""
    for judged, run in (("cat a", "cat b"), ("zap", "zap; zap"), ("cat <in.txt", "cat"), ("zap", "zap >made")):
        ((result, ran, changed),) = world.run([run])
        assert differences(judged, world.facts(judged), result, ran, changed), (judged, run)

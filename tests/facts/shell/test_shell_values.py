"""Values against the real bash: whatever a line passes to a command is what the facts say, or they say it is unknown."""

import random
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from scale import scale, seed
from shield.facts.local import LocalFiles
from shield.facts.place import Place
from shield.facts.programs.library import models
from shield.facts.shell import Analyser
from shield.facts.shell.grammar.reader import read_line
from shield.facts.shell.grammar.script import Script
from shield.types import Dynamic

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="there is no bash to compare with")
READ = ["a", "b", "c", "a", "b", "c", "HOME", "LANG", "d"]
NAMES = ["a", "b", "c", "d"]
TEXTS = ["x", "y z", "1", "7", "-3", "", "a.b.c", "/etc/x", "*.py", "q", "~/k", "Mixed", "  lead", "010", "a"]
FUNCTIONS = ["f", "g"]


class OwnReader:
    """The reader of our own for a second parser: what is tested here is what is made of the tree."""

    def read(self, text: str) -> Script:
        return read_line(text)


class Scripts:
    """Random scripts that assign, branch, loop and call; each `show` has a label of its own."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.labels = 0
        self.loops = 0

    def pick(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def name(self) -> str:
        return self.rng.choice(NAMES)

    def read(self) -> str:
        return self.rng.choice(READ)

    def literal(self) -> str:
        text = self.rng.choice(TEXTS)
        return self.pick(f"'{text}'", f'"{text}"', text.replace(" ", "\\ ") or '""')

    def word(self, depth: int = 0) -> str:
        kinds = [
            self.literal,
            lambda: f"${self.read()}",
            lambda: f'"${self.read()}"',
            lambda: f'"{self.rng.choice(TEXTS)}${{{self.read()}}}"',
            lambda: f"{self.pick('p', 'q/', '-')}${self.read()}",
            self.parameter,
            lambda: f'"{self.parameter()}"',
            lambda: f"$(({self.sum()}))",
            lambda: self.pick("{1,2}", "{a,b}c", "{1..3}", "{x,{y,z}}", "{c..a}", "{01..2}", "{q}", "x{,y}", "{a,b"),
            lambda: self.pick("*.py", "a*", "[ab].py", "*.none", "?.py", "'*.py'", "*"),
            lambda: self.pick("~", "~/x", "a~", "x=~/y", "'~'"),
            lambda: self.pick('"$@"', "$1", "$#", '"$*"', "$2", '"${1:-d}"', '"${@}"'),
            lambda: f"$(echo {self.literal()})" if depth < 2 else "w",
            lambda: f'"$(printf %s {self.literal()})"' if depth < 2 else "w",
            lambda: self.pick('"${r[@]}"', "${r[0]}", "${#r[@]}", '"${r[1]}"', "${r[*]}", "$r"),
            lambda: self.pick("$'a\\tb'", "a\\ b", "'a'\"b\"", "$PWD", "${PWD##*/}"),
        ]
        return self.rng.choice(kinds)()

    def parameter(self) -> str:
        name, text = self.read(), self.pick("x", "z", "*", "?", ".", "a", "'*'", "$b", "[a-c]", "*.", ".*", "")
        operator = self.pick(
            ":-",
            "-",
            ":=",
            ":+",
            "+",
            "#",
            "##",
            "%",
            "%%",
            "/",
            "//",
            "/#",
            "/%",
            "^",
            "^^",
            ",",
            ",,",
            ":",
            "#len",
            "!",
            "@Q",
            "@U",
        )
        match operator:
            case ":=":
                return f"${{{self.name()}:={text}}}"
            case "#len":
                return f"${{#{name}}}"
            case "!":
                return f"${{!{name}}}"
            case "@Q" | "@U":
                return f"${{{name}{operator}}}"
            case ":":
                return f"${{{name}:{self.pick('0', '1', ' -1', '9', '1:2', '0:-1', 'b')}}}"
            case "/" | "//" | "/#" | "/%":
                return f"${{{name}{operator}{text or 'x'}/{self.pick('R', '', '$c', '-')}}}"
            case "^" | "^^" | "," | ",,":
                return f"${{{name}{operator}}}"
        return f"${{{name}{operator}{text}}}"

    def sum(self) -> str:
        atom = lambda: self.pick("1", "2", "07", "0x1f", "n", "$n", "m", "(1+n)", "-n", "!n", "~m", "$#")  # noqa: E731
        text = atom()
        for _ in range(self.rng.randrange(3)):
            text += self.pick("+", "-", "*", "/", "%", "**", "<<", "<", "==", "&&", "||", "&", "|", "^", ",") + atom()
        return self.pick(text, text, f"n={text}", f"n+={text}", "n++", "--m", f"n?{text}:2")

    def show(self) -> str:
        self.labels += 1
        words = " ".join(self.word() for _ in range(self.rng.randrange(1, 4)))
        return f"show L{self.labels} {words}"

    def statement(self, depth: int) -> str:
        kind = self.rng.randrange(24 if depth < 3 else 13)
        name, body = self.name(), lambda: self.block(depth + 1)
        match kind:
            case 0 | 1 | 2 | 3 | 4:
                return self.show()
            case 5 | 6:
                return f"{name}={self.word()}" if self.rng.random() < 0.7 else f"{name}+={self.literal()}"
            case 7:
                return f"{self.pick('export', 'declare', 'typeset')} {name}={self.word()}"
            case 8:
                return self.pick("n=$((n+1))", "((n+=2))", "let m=n+1", "m=3", "((m--))", f"((n={self.sum()}))", "n=$m")
            case 9:
                return self.pick("r=(1 'b c' x)", "r=()", "r+=(k)", "r=($a)", "r[1]=z", 'r=("$@")')
            case 10:
                return self.pick("set -- one 'two three'", "shift", "set --", "set -- $a $b", 'set -- "$@" k')
            case 11:
                return self.pick(
                    f"unset {name}",
                    f"read -r {name} <<< 'in put'",
                    f"printf -v {name} %s {self.literal()}",
                    "cd sub",
                    "cd ..",
                    "cd sub && cd ..",
                    f"{name}=2 {self.show()}",
                )
            case 12:
                return self.pick(
                    f"{self.rng.choice(FUNCTIONS)} {self.word()}",
                    f"eval '{name}=ev'",
                    f"eval 'show E ${self.name()}'",
                    "true",
                    "false",
                    f"{name}=t true",
                    "break",
                    "return 0",
                    "continue",
                    f": ${{{name}:=dflt}}",
                )
            case 13 | 14:
                other = f"else {body()}; " if self.rng.random() < 0.5 else ""
                return f"if {self.condition()}; then {body()}; {other}fi"
            case 15 | 16:
                return f"for {name} in {self.word()} {self.word()}; do {body()}; done"
            case 17:
                self.loops += 1
                k = f"k{self.loops}"
                return f"{k}=0; while [ ${k} -lt 2 ]; do {k}=$(({k}+1)); {body()}; done"
            case 18:
                return f"case {self.word()} in x|'y z') {body()};; *.py) {body()}{self.pick(';;', ';&', ';;&')} *) {body()};; esac"
            case 19:
                return f"( {body()} )"
            case 20:
                return f"{{ {body()}; }}{self.pick('', ' 2>/dev/null', ' < none', ' | cat', ' > none/x')}"
            case 21:
                self_name = self.rng.choice(FUNCTIONS)
                local = f"local {name}={self.literal()}; " if self.rng.random() < 0.5 else ""
                return f"{self_name}() {{ {local}{body()}; }}"
            case 22:
                return (
                    f"{self.condition()} {self.pick('&&', '||')} {{ {body()}; }} {self.pick('&&', '||')} {self.show()}"
                )
        return self.pick(f"for ((i=0;i<2;i++)); do {body()}; done", f"{{ {body()}; }} & wait", f"! {self.show()}")

    def condition(self) -> str:
        return self.pick(
            "true",
            "false",
            "[ -f a.py ]",
            '[ -n "$a" ]',
            "[[ $a == x* ]]",
            "[[ -d sub && $n -gt 1 ]]",
            "((n))",
            'test "$b" = x',
            "cd sub",
            "! false",
        )

    def block(self, depth: int) -> str:
        return "; ".join(self.statement(depth) for _ in range(self.rng.randrange(1, 4)))

    def script(self) -> str:
        self.labels = 0
        text = "; ".join(self.statement(0) for _ in range(self.rng.randrange(2, 6)))
        start = "n=1; m=2; a=x; b='y z'; c=/etc/x.py; r=(k 'l m'); f() { show F $# \"$1\" $a; a=of; }; "
        return (start + text).replace("& wait;", "& wait\n")


@pytest.fixture(scope="module")
def world():
    home = Path(tempfile.mkdtemp(prefix="sh"))
    work = home / "work"
    (work / "sub").mkdir(parents=True)
    for name in ("a.py", "b.py", "c d.txt", "sub/a.py", "sub/z"):
        (work / name).write_text("x\n")
    yield home
    shutil.rmtree(home)


def environment(home: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}


def shown(scripts: list[str], home: Path) -> list[list[list[str]]]:
    """The words of every `show` that bash runs, for each script, in the order they ran."""
    show = home / "show.sh"
    show.write_text("show() { printf '%s\\0' \"$@\" >&9; printf '\\1' >&9; }\n")
    outer = []
    for number, script in enumerate(scripts):
        (home / f"{number}.sh").write_text(script)
        (home / f"{number}.out").unlink(missing_ok=True)
        outer.append(
            f"(exec 9>'{home}/{number}.out'; . '{show}'; export -f show; cd '{home}/work'; "
            f"timeout 5 {BASH} --noprofile --norc -c \"$(<'{home}/{number}.sh')\" >/dev/null 2>&1 </dev/null)"
        )
    subprocess.run(
        [BASH, "--noprofile", "--norc", "-c", "\n".join(outer)],
        env=environment(home), timeout=280, check=False, capture_output=True,
    )  # fmt: skip
    out = []
    for number in range(len(scripts)):
        data = (home / f"{number}.out").read_bytes()
        out.append([[word.decode() for word in chunk.split(b"\0")[:-1]] for chunk in data.split(b"\1")[:-1]])
    return out


def place_in(home: Path) -> Place:
    work = str(home / "work")
    return Place(
        files=LocalFiles(), home=str(home), cwd=work, workspace_roots=(work,), env=environment(home), shell="/bin/bash"
    )


def surprises(script: str, ran: list[list[str]], home: Path) -> tuple[list[list[str]], int]:
    """What ran otherwise than any fact says, and how many of the facts are exact; a line that is not understood says
    nothing that could be wrong."""
    found = Analyser(models(), OwnReader()).analyse(script, place_in(home))
    others = [command for command in found.commands if command.name != "show"]
    if not found.parsed or any(command.dynamic in (Dynamic.CODE, Dynamic.PROGRAM) for command in others):
        return [], 0
    calls = [command for command in found.commands if command.name == "show"]
    # an argument that is not known makes any program that is not known `dynamic: code`
    exact = {command.argv[1:] for command in calls if command.dynamic is Dynamic.NONE}
    loose = {command.argv[1] for command in calls if command.dynamic is not Dynamic.NONE}
    return [words for words in ran if tuple(words) not in exact and words[0] not in loose], len(exact)


def test_random_scripts_pass_what_the_facts_say(world):
    rng = random.Random(seed())
    scripts = [Scripts(rng).script() for _ in range(scale("shell_values"))]
    wrong, exact = [], 0
    for start in range(0, len(scripts), 500):
        batch = scripts[start : start + 500]
        for script, ran in zip(batch, shown(batch, world), strict=True):
            odd, known = surprises(script, ran, world)
            exact += known
            if odd:
                wrong.append((script, odd[:2]))
    assert not wrong, wrong[0]
    # unknown would always be right
    assert exact > len(scripts)


# Scripts of which every word that reaches `show` must be known, and be what bash makes of it.
KNOWN = r"""
x=a; show $x ${x} "$x" '$x' \$x "${x}b" $x$x
x='a b'; show $x "$x" pre$x"post"
x=' a  b '; show [$x] "[$x]"
x=; show "$x" a $x b
x=abc.tar.gz; show ${x%.*} ${x%%.*} ${x#*.} ${x##*.} ${x%z} ${x#q}
x=/a/b/c.txt; show ${x##*/} ${x%/*} "${x%%/*}" ${x#/}
x=aXbXc; show ${x/X/-} ${x//X/-} ${x/X} ${x//X} ${x/#a/z} ${x/%c/z} ${x/q/z}
x=hello; show ${x^} ${x^^} ${x:1} ${x:1:2} ${x: -2} ${x:0:-1} ${x:9} ${#x}
x=HELLO; show ${x,} ${x,,} ${x@L} ${x@U} ${x@Q} ${x@u}
x=a; show ${x:-b} ${x-b} ${x:+c} ${x+c} ${x:=d} ${x:?e}
x=; show "${x:-b}" "${x-b}" "${x:+c}" "${x+c}" "${x:=d}" "$x"
x=; : ${x:=later}; show $x
x=y; y=z; show ${!x} "${!x}q"
x='*'; show "$x" '*' \*
x='*.none'; show "$x"
x=a*b; show "${x#a'*'}" ${x%"*b"} ${x#a\*}
x=a.b; show ${x//[.]/-} ${x/[ab]/Q} ${x//[!a]/Q} ${x//?/Q}
x=a1b22; show ${x//[0-9]/} ${x//[[:digit:]]/D} ${x%%[0-9]*}
x=foo y=bar; show $x$y "$x $y" ${x}_$y
show {a,b,c} {a,b}{1,2} x{,y}z {1..5} {5..1..2} {a..e..2} {01..03} {-1..1} {a,{b,c}d} {a} {} a{b,c
show "{a,b}" '{a,b}' \{a,b} {a\,b,c} {"a,b",c}
x=q; show {$x,b} {a,"$x"}$x
show ~ ~/x "~" a~ x=~ x=a:~ --x=~ ~/
x=~; show "$x"; x=a:~/b; show "$x"
show $((1+2*3)) $(((1+2)*3)) $((7/2)) $((-7/2)) $((-7%3)) $((2**10)) $((1<<4)) $((5&3|8)) $((!0)) $((~0))
show $((0x1f)) $((010)) $((2#101)) $((36#z)) $((1,2)) $((3>2?10:20)) $((1&&0||1)) $((9223372036854775807+1))
n=3; show $((n+1)) $(($n+1)) $((n++)) $n $((--n)) $n $((n*=4)) $n
n=m+1; m=4; show $((n*2)) $((n))
n=5; ((n+=2)); show $n; let n=n-1 "m=n*2"; show $n $m
((n=2,m=n+1)); show $n $m
declare -i n; n=2+3; show $n
a=(x 'y z' w); show "${a[@]}" ${#a[@]} "${a[1]}" ${a[0]} $a "${a[-1]}" "${a[*]}"
a=(1 2); a+=(3); i=1; show ${a[i]} ${a[i+1]} ${a[$i]} ${#a[*]}
a=(); show x "${a[@]}" y
a=({1..3} 'b c'); show "${a[@]}"
set -- a 'b c' d; show "$1" "$2" $# "$@" "$*" ${2} "${@}"; shift; show $1 $#
set -- a b; for i; do show $i; done
f() { show "$1" $# "$@"; }; f x 'y z'
f() { local x=in; show $x; }; x=out; f
f() { x=$1; }; f set; show $x
f() { g "$@" last; }; g() { show "$@"; }; f a b
f() { [ -n "$1" ] && show "$1"; }; f a
x=1; x=2 y=$x; show $x $y
x=a; x+=b; show $x
export x=a y='b c'; show $x "$y"
declare x=a; typeset y=b; show $x $y
y='a b'; export x=$y; show "$x"
x=$(echo hi); show $x "$(echo 'a  b')" $(echo 'a  b') $(printf %s q) "$(printf '%s\n' r)"
x=`echo hi`; show $x "`echo a`"
for i in a 'b c' d; do show "$i"; done
for i in {1..3}; do show $i; done
for i in a b; do for j in 1 2; do show $i$j; done; done
for i in *.py; do show "$i" "${i%.py}"; done
x=py; for i in *.$x; do show "$i"; done
if true; then x=a; else x=a; fi; show $x
x=a; if [ -f a.py ]; then :; fi; show $x
x=a; (x=b; show $x); show $x
{ x=a; show $x; } ; show $x
x=a; x=b | true; show $x
case a in a) show 1;; esac
eval 'x=a'; show $x; eval "show $x 'b c'"
x=a; eval show '$x'
cd sub && show "$PWD"
cd sub && show ${PWD##*/}
show $'a\tb' $'\x41' 'it'\''s' "a\"b" a\ b "\$x" "a\b"
show a#b # comment
show a;show b&&show c
time show a; ! show b
x=abc; show "${x:1}${x:0:1}" "${x/b/$x}" ${x:${#x}-1}
x=a; show "${x:+"$x b"}" 2>/dev/null
printf -v x %s a; show a
read -r x <<< b; show a
x=; unset nope; show a ${nope@Q} ${x@Q} ${nope@U} b
unset nope; show "$nope" a $nope b "${nope}x" ${nope:-d} ${nope-e} "${nope+f}" $((nope+1)) ${#nope} end
nope=x; unset nope; show "${nope-e}" "$nope" $((nope))
x=; unset y a; show "${x-e}" "${x+f}"; x+=k; show $x; y+=z; show $y; a+=(q); show "${a[@]}"
x='a;b'; show $x "$x"; x='$(id)'; show $x "$x"
"""

LONGER = [
    "show \"$(cat <<'EOF'\na line\nanother\nEOF\n)\"",
    'show "a\nb"',
    "x=1\nif true\nthen x=1\nfi\nshow $x\n",
    "f() {\n  show $1\n}\nf a; f b",
    "cat > none <<EOF\n$HOME\nEOF\nshow a",
]


def test_what_must_be_known_is_known_and_right(world):
    lines = [*KNOWN.strip().split("\n"), *LONGER]
    wrong = []
    for line, ran in zip(lines, shown(lines, world), strict=True):
        found = Analyser(models(), OwnReader()).analyse(line, place_in(world))
        calls = [command for command in found.commands if command.name == "show"]
        exact = [list(command.argv[1:]) for command in calls if command.dynamic is Dynamic.NONE]
        if not found.parsed or exact != ran:
            wrong.append((line, exact, ran, found.unknown))
    assert not wrong, wrong[0]
    assert len(lines) > 70

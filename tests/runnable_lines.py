"""Random lines that bash can run: everyday shapes and the corners that guards get wrong, over stand-in programs."""

import random
from collections.abc import Callable

__all__ = ["RunnableLines"]

_PROGRAMS = ("rm", "ls", "cat", "curl", "grep", "mv", "cp", "wc", "tee", "id", "touch", "head", "sort", "zip", "mkdir")
_VARIABLES = ("v", "w", "n", "f")
_LITERALS = (
    "x", "-l", "-rf", "--all", "a.txt", "src/m.py", "../ws/b.txt", "build", "/etc/passwd", "~/notes.txt", "~", "1", "a=b",
    "'a b'", '"a b"', "a\\ b", "'$v'", "\\$v", "$'a\\tb'", "é", "''", "--", "-", "{}", "@{u}", "foo#bar", "!x", "'a;rm'",
    "'`rm`'", "'$(rm)'", '"\\$(rm)"', '"\\`rm\\`"', "x\\;rm", "[", "]]", "then", "a:b", "%s", "^", "+x", "2", "'#'", ",",
)  # fmt: skip
_GLOBS = ("*.txt", "?.txt", "[ab].txt", "src/*", "*", "*.none", "build/*.o", "{a,b}.txt", "x{1..3}", "{a,b}{1,2}", "[!a]*", "~/*.txt", "{rm,x}", "{,x}")  # fmt: skip
_PARAMETERS = (
    "$v", '"$v"', "${v}", '"${v}"', "${v:-x}", '"${v:-a b}"', "${u-rm}", "${u:=ls}", "${v:+x}", '"${#v}"', "${v#a}", "${v%.*}",
    "${v##*/}", "${v/a/b}", "${v//[a-z]/x}", "${v^^}", "${v,,}", "${v:0:1}", "${v:1}", "$@", '"$@"', "$*", "$1", "$#", "$?",
    "$$", "$!", "$HOME", '"$HOME/x"', "${HOME}/x", "$PWD/x", "$u", '"$u"', "${!v}", "${v@Q}", "${v@P}", "${a[0]}", '"${a[@]}"',
    "${#a[@]}", "${a[*]}", "$PATH", "${v:?}", "$-", "$IFS", "$LINENO", "$RANDOM", "$0", "$UID", "$SECONDS", "x$v", "$v$w",
)  # fmt: skip
_ASSIGNED = (
    "1",
    "'a b'",
    "rm",
    "ls",
    "a.txt",
    '"rm x"',
    "",
    "~/q",
    "*",
    "$v",
    '"$w"x',
    "-l",
    "'$(rm)'",
    "'a[$(rm)]'",
    "v",
    "$((1+2))",
)
_EXPRESSIONS = ("1+2", "n+1", "n++", "n=3", "n<2", "v", "1?2:3", "0", "a[1]", "n*(2+1)", "16#f", "-n", "n=v", "!n")
_OUTPUTS = (">out", "> out", ">>out", ">|out", "2>err", "&>both", "&>>both", ">'o p'", ">$v", '>"$v"', ">~/q", "1>out", ">out 2>&1", ">src/o", ">build/../o", "3>three", "<>both", ">/dev/null", "2>/dev/null", ">&2", "2>&1", ">/tmp/t", ">&fd", "1>&-", ">x{1,2}", ">o.t?t")  # fmt: skip
_INPUTS = ("<a.txt", "< b.txt", "</dev/null", "<<<word", '<<<"$v"', "<&-", "0<a.txt", "<<<$(id)", "<nowhere")
_JOINTS = ("; ", ";", "\n", " && ", " || ", " | ", " |& ", " & ", " # c\n", "\n\n", "&&", "||", "|")


class RunnableLines:
    """Lines from one source of randomness; loops end."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.depth = 0

    def line(self) -> str:
        self.depth = 0
        lead = self.one("v=1; ", "v=rm; ", "v='a b' w=x; ", "set -- rm x; ", "a=(rm x 'y z'); ", "cd src; ", "n=0; ", "f=out; ") if self.often(0.35) else ""  # fmt: skip
        return lead + self.script()

    # --- choices -------------------------------------------------------------------------------------------------------

    def often(self, share: float) -> bool:
        return self.rng.random() < share

    def one(self, *texts: str) -> str:
        return self.rng.choice(texts)

    def pick(self, *makers: Callable[[], str]) -> str:
        """What one of the makers makes; the first where it would get too deep."""
        self.depth += 1
        text = makers[0]() if self.depth > 5 else self.rng.choice(makers)()
        self.depth -= 1
        return text

    # --- words ---------------------------------------------------------------------------------------------------------

    def program(self) -> str:
        return self.rng.choice(_PROGRAMS)

    def name(self) -> str:
        name = self.program()
        cut = self.rng.randrange(len(name))
        return self.one(
            *[name] * 16, f"\\{name}", f"'{name}'", f'"{name}"', f"{name[:cut]}''{name[cut:]}", f"{name[:cut]}\\\n{name[cut:]}",
            f"/bin/{name}", f"/usr/bin/../bin/./{name}", "$'" + "".join(f"\\x{ord(char):02x}" for char in name) + "'",
            f"$'\\{ord(name[0]):o}{name[1:]}'", f'$"{name}"', "$v", "${u:-" + name + "}", f"$(echo {name})", "${a[0]}", "$1",
            f"{{{name},x}}", f"{name[:cut]}$u{name[cut:]}", f"/bin/{name[:-1]}?", "${v:-" + name + "}", f"`echo {name}`",
        )  # fmt: skip

    def word(self) -> str:
        return self.pick(
            lambda: self.rng.choice(_LITERALS), lambda: self.rng.choice(_LITERALS), lambda: self.rng.choice(_LITERALS),
            lambda: self.rng.choice(_GLOBS), lambda: self.rng.choice(_PARAMETERS), lambda: self.rng.choice(_PARAMETERS),
            self.substitution,
        )  # fmt: skip

    def substitution(self) -> str:
        return self.pick(
            lambda: f"$({self.simple()})",
            lambda: f'"$({self.script()})"',
            lambda: f'"x$({self.simple()})y"',
            lambda: f"`{self.program()} x`",
            lambda: f'"`{self.program()} \\"x\\"`"',
            lambda: f"${{u:-$({self.simple()})}}",
            lambda: f'"${{u:-`{self.program()} 1`}}"',
            lambda: f"${{v:+$({self.simple()})}}",
            lambda: f"${{v/a/$({self.simple()})}}",
            lambda: f"${{v:$({self.program()}):1}}",
            lambda: f"${{a[$({self.program()})]}}",
            lambda: f"$((1+$({self.program()})))",
            lambda: f"$(({self.rng.choice(_EXPRESSIONS)}))",
            lambda: f"$[{self.rng.choice(_EXPRESSIONS)}]",
            lambda: f"<({self.simple()})",
            lambda: f">({self.simple()})",
            lambda: "$(<a.txt)",
            lambda: f"$(({self.program()}) x)",
        )

    def words(self, most: int = 4) -> str:
        return " ".join(self.word() for _ in range(self.rng.randrange(most)))

    def redirect(self) -> str:
        return self.rng.choice(_OUTPUTS if self.often(0.7) else _INPUTS)

    # --- commands ------------------------------------------------------------------------------------------------------

    def script(self) -> str:
        text = self.command()
        for _ in range(self.rng.choice((0, 0, 0, 1, 1, 2)) if self.depth < 4 else 0):
            text += ("" if text.endswith("\n") else self.rng.choice(_JOINTS)) + self.command()
        return text

    def block(self) -> str:
        text = self.script()
        return text if text.endswith("\n") else text + self.one("; ", "\n", ";", " & ")

    def command(self) -> str:
        return self.pick(
            self.simple, self.simple, self.simple, self.simple, self.simple, self.compound, self.compound, self.builtin,
            self.builtin, self.wrapped, self.fed,
        )  # fmt: skip

    def simple(self) -> str:
        parts = [self.assignment() for _ in range(self.rng.choice((0,) * 9 + (1, 2)))]
        parts += [self.name(), *(self.word() for _ in range(self.rng.randrange(4)))]
        if self.often(0.25):
            parts.insert(self.rng.randrange(len(parts) + 1), self.redirect())
        return self.one(" ", " ", " ", "  ", "\t", " \\\n").join(parts)

    def assignment(self) -> str:
        return self.pick(
            lambda: self.rng.choice(_VARIABLES) + self.one("=", "=", "=", "+=") + self.rng.choice(_ASSIGNED),
            lambda: self.rng.choice(_VARIABLES) + "=" + self.substitution(),
            lambda: self.one(
                "LC_ALL=C", "IFS=,", "IFS=", "PATH=/usr/bin", "PATH=.:$PATH", "HOME=/tmp", "BASH_ENV=a.txt"
            ),
            lambda: f"a{self.one('=', '+=')}({self.words()})",
            lambda: f"a[{self.rng.choice(_EXPRESSIONS)}]={self.rng.choice(_ASSIGNED)}",
        )

    def builtin(self) -> str:
        return self.pick(
            lambda: self.assignment(),
            lambda: f"{self.one('export', 'declare', 'readonly', 'declare -x', 'typeset -i')} {self.assignment()}",
            lambda: self.one("cd src", "cd ..", "cd", "cd -", "cd /tmp", "cd nowhere", "pushd src", "popd", "cd $v", "cd ~"),
            lambda: self.one("set -e", "set -u", "set -f", "set -x", "set +e", "shopt -s nullglob", "set -o pipefail", "shopt -s expand_aliases extglob"),
            lambda: f"set -- {self.words()}",
            lambda: self.one("shift", "unset v", "unset a", "true", "false", ":", "exit", "return", "break", "hash -r", "wait", "umask 022"),
            lambda: f"printf -v {self.rng.choice(_VARIABLES)} {self.word()}",
            lambda: f"read {self.rng.choice(_VARIABLES)} <<< {self.word()}",
            lambda: f"echo {self.words()} {self.redirect()}",
            lambda: f"printf {self.words()} {self.redirect()}",
            lambda: f"trap '{self.plain()}' {self.one('EXIT', 'DEBUG', 'ERR', 'INT', 'RETURN')}",
            lambda: f"eval {self.one('', '-- ')}'{self.plain()}'",
            lambda: f'eval "{self.program()} {self.rng.choice(("$v", "x", "a b"))}"',
            lambda: f"eval {self.plain()}",
            lambda: f"let {self.rng.choice(_EXPRESSIONS)!r}",
            lambda: f"alias {self.program()}='{self.program()} x'",
            lambda: f"exec {self.redirect()}",
            lambda: f"mapfile {self.rng.choice(_VARIABLES)} < <({self.simple()})",
            lambda: f"test {self.one('-f', '-n', '-z', '-v')} {self.word()}",
            lambda: f"[ {self.word()} {self.one('=', '!=', '-eq', '-nt')} {self.word()} ]",
        )  # fmt: skip

    def plain(self) -> str:
        """A command that can stand in single quotes."""
        return f"{self.program()} {self.one('x', 'a.txt', '$v', chr(34) + '$v' + chr(34), '-l')}"

    def wrapped(self) -> str:
        plain = self.plain()
        name = self.program()
        return self.one(
            f"env A=1 {plain}", f"env -i {plain}", f"env -S '{name} x'", f"nice -n 1 {plain}", f"nohup {plain}", f"timeout 5 {plain}",
            f"setsid {plain}", f"stdbuf -oL {plain}", f"command {plain}", f"command -p {plain}", f"command -v {name}", f"builtin {plain}",
            f"exec {plain}", f"exec -a x {plain}", f"time {plain}", f"! {plain}", f"bash -c '{plain}'", f"sh -ec '{plain}'",
            f"bash -c 'rm \"$@\"' _ {name} x", f"echo 1 2 | xargs {name}", f"echo x | xargs -I% {name} % y", f"xargs -n1 {name} <a.txt",
            f"find . -maxdepth 1 -exec {name} {{}} \\;", f"find . -name '*.txt' -exec {name} {{}} +", f"find . -name a.txt -print0 | xargs -0 {name}",
            f"echo {name} x | bash", f"echo '{plain}' | sh -s", f"sudo {plain}", f"sudo -- {plain}", f"busybox {plain}", f"type {name}",
            f"printf '%s\\n' '{plain}' | bash", f"bash <<< '{plain}'", f". <(echo '{plain}')", f"bash <(echo '{plain}')",
            f"echo '{plain}' >s.sh; bash s.sh", f"echo '{plain}' >s.sh; . ./s.sh", f"echo '{plain}' | tee s.sh >/dev/null; sh s.sh",
            f"flock out {plain}", f"env -u A {plain}", f"nice nice {plain}", f"env env -- {plain}", f"{name} \"$({plain})\"",
        )  # fmt: skip

    def fed(self) -> str:
        mark = self.one("E", "'E'", '"E"', "\\E")
        op = self.one("<<", "<<", "<<-")
        body = self.pick(
            lambda: self.plain(), lambda: "$v text", lambda: f"$({self.plain()})", lambda: f"`{self.plain()}`", lambda: "a\\$b \\`id\\`",
            lambda: f"${{u:-$({self.plain()})}}",
        )  # fmt: skip
        reader = self.one(
            "cat", "bash", "sh", "wc -l", "while read l; do echo $l; done", "read v", "tee out", "xargs rm", "sh -s x"
        )
        return f"{reader} {op}{mark}{self.one('', '', ' | wc', ' >out', f' && {self.program()}', f'; {self.program()} y')}\n{body}\nE\n"

    def compound(self) -> str:
        text = self.pick(
            lambda: f"{{ {self.block()}}}",
            lambda: f"({self.script()}\n)",
            lambda: f"if {self.block()}then {self.block()}fi",
            lambda: f"if {self.block()}then {self.block()}elif {self.block()}then {self.block()}else {self.block()}fi",
            lambda: f"while {self.block()}do {self.block()}break; done",
            lambda: f"until {self.block()}do {self.block()}break; done",
            lambda: f"for i in {self.words()}; do {self.simple()} $i; done",
            lambda: f"for v in {self.words()}; do {self.block()}done",
            lambda: f"for i; do {self.simple()} \"$i\"; done",
            lambda: f"for ((n=0; n<2; n++)); do {self.simple()} $n; done",
            lambda: f"for i in {self.program()} {self.program()}; do $i x; done",
            lambda: f"while read l; do {self.simple()} \"$l\"; done <a.txt",
            lambda: f"select i in {self.words()}; do {self.block()}break; done",
            lambda: f"case {self.word()} in {self.word()}|x) {self.block()};; *) {self.block()};; esac",
            lambda: f"case $v in r*) {self.simple()} ;& [ab]) {self.simple()} ;;& *) {self.simple()};; esac",
            lambda: f"[[ {self.condition()} ]]",
            lambda: f"[[ {self.condition()} ]] && {self.simple()}",
            lambda: f"(({self.rng.choice(_EXPRESSIONS)})) || {self.simple()}",
            lambda: f"(( a[$({self.program()})] ))",
            lambda: f"f() {{ {self.block()}}}; f {self.words()}",
            lambda: f"f() {{ local v=$1; $v \"$2\"; }}; f {self.program()} {self.word()}",
            lambda: f"f() {{ \"$@\"; }}; f {self.program()} {self.word()}",
            lambda: f"function {self.program()} {{ {self.block()}}}; {self.simple()}",
            lambda: f"coproc {{ {self.block()}}}",
            lambda: f"coproc {self.plain()}",
            lambda: f"a=({self.words()}); {self.program()} \"${{a[@]}}\"",
            lambda: f"a=({self.program()} x); \"${{a[@]}}\"",
        )  # fmt: skip
        return text + " " + self.redirect() if self.often(0.15) and not text.endswith("\n") else text

    def condition(self) -> str:
        return self.pick(
            lambda: f"{self.one('-f', '-n', '-z', '-d', '! -e', '-v')} {self.word()}",
            lambda: f"{self.word()} {self.one('==', '!=', '=', '<')} {self.word()}",
            lambda: f"$v {self.one('-eq', '-lt')} {self.rng.choice(('1', 'n', '$v', 'v'))}",
            lambda: f"$v =~ {self.one('^a', '(a|b)$', '$w')}",
            lambda: f"{self.condition()} {self.one('&&', '||')} {self.condition()}",
            lambda: f"-n $({self.program()})",
        )

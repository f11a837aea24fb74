"""Random lines of shell: most of them well-formed, some cut up, for the tests that compare parsers."""

import random
from collections.abc import Callable

__all__ = ["Grammar"]

_WORDS = [
    "a", "b", "ls", "-l", "--x=y", "f.txt", "./p", "/etc/x", "*.py", "[a-z]*", "{a,b}", "~", "~/x", "a=b", "'q'", '"d"',
    "'a b'", '"a b"', "\\;", "a\\ b", "$x", '"$x"', "${x}", '"${x}"', "$1", "$@", '"$@"', "$?", "$$", "é", "-#b", "=x",
    "x=", "-f", "==", "a:b", "1", "2", "12", "$'n'", "$'a\\tb'", "'a\"b'", '"a\'b"', '"a\\"b"', '"\\$x"', "''", '"a$"',
    "then", "fi", "do", "done", "in", "!", "{", "}", "[[", "]]", "case", "esac", "time", "function", "%", "a\\\"b", "^",
]  # fmt: skip
_OPERATORS = (":-", "-", ":=", ":?", ":+", "+", "#", "##", "%", "%%", "^", "^^", ",", ",,")
_NOISE = [
    *"'\"`$(){}[]<>|&;!#\\\n \t=*?~:/-+@%^,",
    *("$(", "${", "((", "))", "<<E\n", "E\n", "\\\n", ";;", "&&", "||", ">&", "<(", "do ", "fi;"),
]


class Grammar:
    """Lines from one source of randomness."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.depth = 0

    def line(self) -> str:
        """A line; every fourth has something put in, taken out or doubled at random."""
        self.depth = 0
        text = self.script()
        while self.rng.random() < 0.25 and text:
            at = self.rng.randrange(len(text))
            to = min(len(text), at + self.rng.randrange(1, 4))
            text = text[:at] + self.rng.choice(["", self.rng.choice(_NOISE), text[at:to] * 2]) + text[to:]
        return text

    def pick(self, *makers: Callable[[], str]) -> str:
        """What one of the makers makes; the first one where it would get too deep."""
        self.depth += 1
        text = makers[0]() if self.depth > 5 else self.rng.choice(makers)()
        self.depth -= 1
        return text

    def some(self, maker: Callable[[], str], low: int = 0, high: int = 3, by: str = " ") -> str:
        return by.join(maker() for _ in range(self.rng.randint(low, high)))

    def script(self) -> str:
        texts = [self.and_or() for _ in range(self.rng.choice((1, 1, 1, 2, 3)))]
        return "".join(text + self.rng.choice(("; ", "\n", " & ", ";", "\n\n")) for text in texts[:-1]) + texts[-1]

    def block(self) -> str:
        return self.script() + self.rng.choice(("; ", "\n", " & ", " ;"))

    def and_or(self) -> str:
        return self.rng.choice((" && ", " || ", "&&", " ||\n")).join(
            self.pipeline() for _ in range(self.rng.choice((1, 1, 2)))
        )

    def pipeline(self) -> str:
        head = self.rng.choice(("",) * 12 + ("! ", "time ", "time -p ", "! time "))
        return head + self.rng.choice((" | ", "|", " |& ", " |\n")).join(
            self.command() for _ in range(self.rng.choice((1, 1, 1, 2, 3)))
        )

    def command(self) -> str:
        return self.pick(self.simple, self.simple, self.simple, self.compound, self.arrays)

    def simple(self) -> str:
        parts = [self.assignment() for _ in range(self.rng.choice((0, 0, 0, 1, 2)))]
        parts.append(self.rng.choice(("a", "ls", "echo", "find", "$x", "x-y", "test", "[ ", "export", '"$x"')))
        parts += [self.pick(self.word, self.word, self.word, self.redirect) for _ in range(self.rng.randrange(4))]
        return self.rng.choice((" ", " ", "  ", "\t", " \\\n")).join(parts)

    def assignment(self) -> str:
        name = self.rng.choice(("x", "y_1", "PATH"))
        equals = self.rng.choice(("=", "=", "+="))
        return self.pick(lambda: name + equals + self.word(), lambda: name + equals)

    def arrays(self) -> str:
        return self.some(
            lambda: self.pick(
                lambda: f"x[{self.expression()}]{self.rng.choice(('=', '+='))}{self.word()}",
                lambda: f"x{self.rng.choice(('=', '+='))}{self.array()}",
            ),
            1,
            2,
        )

    def array(self) -> str:
        return f"({self.some(self.element, by=self.rng.choice((' ', chr(10))))})"

    def element(self) -> str:
        return self.pick(self.word, self.word, lambda: f"[{self.expression()}]={self.word()}")

    def redirect(self) -> str:
        fd = self.rng.choice(("", "", "", "2", "10"))
        op = self.rng.choice((">", ">>", "<", ">|", "<>", "<<<", "&>", ">&", "<&"))
        if op == "&>":
            fd = ""
        target = self.rng.choice(("1", "2", "-")) if op in (">&", "<&") else self.word()
        return fd + op + self.rng.choice(("", " ")) + target

    def document(self) -> str:
        mark = self.rng.choice(("E", "'E'", '"E"', "\\E"))
        op = self.rng.choice(("<<", "<<", "<<-"))
        body = "".join(self.pick(lambda: "text ", self.quotable, lambda: "\n") for _ in range(self.rng.randrange(4)))
        return f"cat {op}{mark}{self.rng.choice(('', ' | a', ' >f', ' && b', '; c'))}\n{body}\nE\n"

    def word(self) -> str:
        return "".join(self.pick(self.plain, self.plain, self.plain, self.expansion, self.double) for _ in range(self.rng.choice((1, 1, 1, 2, 3))))  # fmt: skip

    def plain(self) -> str:
        return self.rng.choice(_WORDS)

    def double(self) -> str:
        return '"' + "".join(self.pick(lambda: "a b", self.quotable, lambda: "c'd") for _ in range(self.rng.randrange(4))) + '"'  # fmt: skip

    def quotable(self) -> str:
        return self.pick(
            lambda: self.rng.choice(("$x", "${x}", "$1", "$", "\\$", "\\`", "\\\\", "a\\b", "!")),
            lambda: f"$({self.script()})",
            lambda: f"$(({self.expression()}))",
            lambda: "${" + self.operation(quoted=True) + "}",
            lambda: f"`{self.rng.choice(('a', 'ls $x', 'a | b', 'a; b'))}`",
        )

    def expansion(self) -> str:
        return self.pick(
            lambda: self.rng.choice(("$x", "${x}", "$1")),
            lambda: f"$({self.script()})",
            lambda: f"$(({self.expression()}))",
            lambda: "${" + self.operation(quoted=False) + "}",
            lambda: f"`{self.rng.choice(('a', 'ls $x', 'a | b', 'a; b'))}`",
            lambda: f"{self.rng.choice('<>')}({self.script()})",
        )

    def operation(self, *, quoted: bool) -> str:
        name = self.pick(lambda: self.rng.choice(("x", "y_1", "1", "@", "*")), lambda: "x[@]", lambda: f"x[{self.expression()}]")  # fmt: skip
        return self.pick(
            lambda: self.rng.choice(("#x", "!x", "!x*", "!x@", "#x[@]", "!x[@]", "#", "x", "x@Q")),
            lambda: name + self.rng.choice(_OPERATORS) + self.operand(quoted=quoted),
            lambda: (
                name
                + self.rng.choice(("/", "//", "/#", "/%"))
                + self.rng.choice(("a", "\\/", "*", "$x", '"b"'))
                + self.rng.choice(("", "/", "/b", "/$y"))
            ),
            lambda: (
                f"{name}:{self.rng.choice(('', '1', ' -1', '$x', '(-2)'))}{self.rng.choice(('', ':1', ':$y', ':x'))}"
            ),
        )

    def operand(self, *, quoted: bool) -> str:
        return self.pick(
            lambda: self.rng.choice(("", "a", "a b", "*.", "~/x", "a;b", "/", "\\}", "é")),
            lambda: '"a b"',
            lambda: "a" if quoted else "'c d'",
            lambda: self.quotable(),
        )

    def expression(self) -> str:
        return self.pick(
            lambda: self.rng.choice(("1", "x", "$x", "x+1", "i++", "x < 2", "a ? b : c", "x=1", "16#ff", "-1")),
            lambda: f"({self.expression()})",
            lambda: f"{self.expression()} {self.rng.choice('+-*/%')} {self.expression()}",
            lambda: f"${{{self.operation(quoted=True)}}}",
            lambda: f"$({self.simple()})",
            lambda: f"x[{self.expression()}]",
        )

    def condition(self) -> str:
        return self.pick(
            lambda: self.rng.choice(("-f", "-n", "-z", "-d", "!  -e")) + " " + self.word(),
            lambda: f"{self.word()} {self.rng.choice(('==', '!=', '=', '-eq', '-nt', '<', '>'))} {self.word()}",
            lambda: f"{self.word()} =~ {self.rng.choice(('^a', '(a|b)$', '[0-9]+', '$x', 'a(b|c(d))*', '^(a b)$'))}",
            lambda: f"{self.condition()} {self.rng.choice(('&&', '||'))} {self.condition()}",
            lambda: f"! {self.condition()}",
            lambda: f"( {self.condition()} )",
            lambda: self.word(),
        )

    def compound(self) -> str:
        text = self.pick(
            lambda: f"{{ {self.block()}}}",
            lambda: f"({self.script()})",
            lambda: f"if {self.block()}then {self.block()}fi",
            lambda: f"if {self.block()}then {self.block()}elif {self.block()}then {self.block()}else {self.block()}fi",
            lambda: f"{self.rng.choice(('while', 'until'))} {self.block()}do {self.block()}done",
            lambda: f"{self.rng.choice(('for', 'select'))} i in {self.some(self.word)}; do {self.block()}done",
            lambda: f"for i; do {self.block()}done",
            lambda: f"for (({self.expression()}; {self.expression()}; )); do {self.block()}done",
            lambda: f"case {self.word()} in {self.some(self.clause)} esac",
            lambda: f"[[ {self.condition()} ]]",
            lambda: f"(({self.expression()}))",
            lambda: f"{self.rng.choice(('f()', 'function f', 'f ()'))} {{ {self.block()}}}",
            lambda: f"coproc {self.rng.choice(('', 'N '))}{{ {self.block()}}}",
            self.document,
        )
        return text + self.pick(lambda: "", lambda: "", self.redirect) if not text.endswith("\n") else text

    def clause(self) -> str:
        patterns = self.some(self.word, 1, 2, "|")
        return f"{self.rng.choice(('', '('))}{patterns}) {self.script()} {self.rng.choice((';;', ';&', ';;&'))}"

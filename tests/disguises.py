"""Ways to write a command so that bash does the same and a reader of words does not see it."""

import base64
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

__all__ = ["COMMANDS", "LINES", "WORDS", "Draft", "disguise"]


@dataclass(frozen=True)
class Draft:
    """A pipeline of plain words. `before` are statements that the words need; `targets` are what is written or read by
    redirection. Words that hold what bash would change are spelled by a disguise, so a word is text until `text()`."""

    stages: tuple[tuple[str, ...], ...]
    redirect: tuple[str, str] | None = None
    before: tuple[str, ...] = ()
    spelled: bool = False

    def text(self) -> str:
        quote = (lambda word: word) if self.spelled else plain
        parts = [" ".join(map(quote, words)) for words in self.stages]
        if self.redirect is not None:
            parts[-1] += f" {self.redirect[0]} {quote(self.redirect[1])}"
        return "; ".join([*self.before, " | ".join(parts)])


def plain(word: str) -> str:
    """Quoted only if it must be."""
    return word if word and all(char.isalnum() or char in "/._-@:%+,=" for char in word) else quoted(word)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def doubled(text: str) -> str:
    return '"' + "".join("\\" + char if char in '\\"$`' else char for char in text) + '"'


def _cut(word: str, rng: random.Random) -> tuple[str, str]:
    at = rng.randrange(1, len(word)) if len(word) > 1 else len(word)
    return word[:at], word[at:]


def _hex(word: str) -> str:
    return "$'" + "".join(f"\\x{byte:02x}" for byte in word.encode()) + "'"


def _octal(word: str) -> str:
    return "$'" + "".join(f"\\{byte:03o}" for byte in word.encode()) + "'"


def _unicode(word: str) -> str:
    return "$'" + "".join(f"\\u{ord(char):04x}" for char in word) + "'"


def _split(word: str, rng: random.Random, middle: str) -> str:
    head, tail = _cut(word, rng)
    return plain(head) + middle + (plain(tail) if tail else "")


def _coded(word: str) -> str:
    return base64.b64encode(word.encode()).decode()


Spelling = tuple[str, str]  # a statement before, and the word
WordDisguise = Callable[[str, random.Random, int], Spelling]

# Each word may be spelled so. `at` is the word's number: a variable of its own.
WORDS: Mapping[str, WordDisguise] = MappingProxyType(
    {
        "single quotes": lambda word, rng, at: ("", quoted(word)),
        "double quotes": lambda word, rng, at: ("", doubled(word)),
        "backslashes": lambda word, rng, at: ("", "".join(f"\\{char}" for char in word) if "\n" not in word else quoted(word)),
        "quotes inside": lambda word, rng, at: ("", _split(word, rng, "''")),
        "double quotes inside": lambda word, rng, at: ("", _split(word, rng, '""')),
        "half in quotes": lambda word, rng, at: ("", doubled(_cut(word, rng)[0]) + "" if len(word) < 2 else _halves(word, rng)),
        "hexadecimal": lambda word, rng, at: ("", _hex(word)),
        "octal": lambda word, rng, at: ("", _octal(word)),
        "unicode escapes": lambda word, rng, at: ("", _unicode(word)),
        "locale quotes": lambda word, rng, at: ("", "$" + doubled(word)),
        "line continuation": lambda word, rng, at: ("", _split(word, rng, "\\\n")),
        "variable": lambda word, rng, at: (f"v{at}={plain(word)}", f'"$v{at}"'),
        "braced variable": lambda word, rng, at: (f"v{at}={quoted(word)}", f'"${{v{at}}}"'),
        "two variables": lambda word, rng, at: _two(word, rng, at),
        "appended variable": lambda word, rng, at: _appended(word, rng, at),
        "array": lambda word, rng, at: (f"v{at}=(x {plain(word)})", f'"${{v{at}[1]}}"'),
        "associative array": lambda word, rng, at: (f"declare -A v{at}=([k]={plain(word)})", f'"${{v{at}[k]}}"'),
        "indirection": lambda word, rng, at: (f"v{at}={plain(word)}; p{at}=v{at}", f'"${{!p{at}}}"'),
        "name reference": lambda word, rng, at: (f"v{at}={plain(word)}; declare -n p{at}=v{at}", f'"$p{at}"'),
        "default": lambda word, rng, at: ("", f'"${{u{at}:-{_inner(word)}}}"'),
        "assigned default": lambda word, rng, at: (f": \"${{u{at}:={_inner(word)}}}\"", f'"$u{at}"'),
        "alternative": lambda word, rng, at: ("", f'"${{HOME:+{_inner(word)}}}"'),
        "unset inside": lambda word, rng, at: ("", _split(word, rng, "${u}")),
        "empty expansion inside": lambda word, rng, at: ("", _split(word, rng, "${PATH:0:0}")),
        "positional inside": lambda word, rng, at: ("", _split(word, rng, "$@")),
        "substring": lambda word, rng, at: (f"v{at}={plain('xx' + word + 'yy')}", f'"${{v{at}:2:{len(word)}}}"'),
        "prefix cut": lambda word, rng, at: (f"v{at}={plain('zz' + word)}", f'"${{v{at}#zz}}"'),
        "suffix cut": lambda word, rng, at: (f"v{at}={plain(word + '~~')}", f'"${{v{at}%~~}}"'),
        "replacement": lambda word, rng, at: (f"v{at}={plain(word[:1] + 'QZ' + word[1:])}", f'"${{v{at}/QZ/}}"'),
        "lower case": lambda word, rng, at: (f"v{at}={plain(word.upper())}", f'"${{v{at},,}}"') if word == word.lower() else ("", word),
        "prompt expansion": lambda word, rng, at: (f"v{at}={plain(word)}", f'"${{v{at}@P}}"'),
        "echo": lambda word, rng, at: ("", f'"$(echo {plain(word)})"'),
        "printf": lambda word, rng, at: ("", f"\"$(printf %s {plain(word)})\""),
        "printf escapes": lambda word, rng, at: ("", "\"$(printf '" + "".join(f"\\{byte:03o}" for byte in word.encode()) + "')\""),
        "backticks": lambda word, rng, at: ("", f"\"`printf %s {plain(word)}`\"" if "\\" not in plain(word) and '"' not in word else plain(word)),
        "edited": lambda word, rng, at: ("", f'"$(printf %s {plain("@@" + word)} | sed s/@@//)"'),
        "base64 word": lambda word, rng, at: ("", f'"$(echo {_coded(word)} | base64 -d)"'),
        "translated": lambda word, rng, at: ("", f"\"$(printf %s {plain(word.swapcase())} | tr a-zA-Z A-Za-z)\""),
        "printf -v": lambda word, rng, at: (f"printf -v v{at} %s {plain(word)}", f'"$v{at}"'),
        "read": lambda word, rng, at: (f"read -r v{at} <<< {plain(word)}", f'"$v{at}"'),
        "here-document": lambda word, rng, at: (f"v{at}=$(cat <<'E'\n{word}\nE\n)", f'"$v{at}"'),
        "mapfile": lambda word, rng, at: (f"mapfile -t v{at} < <(printf %s {plain(word)})", f'"${{v{at}[0]}}"'),
        "loop variable": lambda word, rng, at: (f"for v{at} in x {plain(word)}; do :; done", f'"$v{at}"'),
        "eval assigns": lambda word, rng, at: (f"eval v{at}={quoted(plain(word))}", f'"$v{at}"'),
        "case": lambda word, rng, at: (f"case x in *) v{at}={plain(word)};; esac", f'"$v{at}"'),
        "function assigns": lambda word, rng, at: (f"f{at}() {{ v{at}={plain(word)}; }}; f{at}", f'"$v{at}"'),
        "brace of one": lambda word, rng, at: ("", _braced(word, rng)),
        "set": lambda word, rng, at: (f"set -- x {plain(word)}; v{at}=$2", f'"$v{at}"'),
    }
)  # fmt: skip


def _inner(word: str) -> str:
    return "".join("\\" + char if char in '\\"$`}' else char for char in word)


def _halves(word: str, rng: random.Random) -> str:
    head, tail = _cut(word, rng)
    return doubled(head) + quoted(tail)


def _two(word: str, rng: random.Random, at: int) -> Spelling:
    head, tail = _cut(word, rng)
    return f"a{at}={plain(head)}; b{at}={plain(tail)}", f'"$a{at}$b{at}"'


def _appended(word: str, rng: random.Random, at: int) -> Spelling:
    head, tail = _cut(word, rng)
    return f"v{at}={plain(head)}; v{at}+={plain(tail)}", f'"$v{at}"'


def _braced(word: str, rng: random.Random) -> str:
    """`{a,a}` would be two words: a range of one letter is one."""
    letters = [at for at, char in enumerate(word) if char.isascii() and char.isalpha()]
    if not letters or plain(word) != word:
        return plain(word)
    at = rng.choice(letters)
    return f"{word[:at]}{{{word[at]}..{word[at]}}}{word[at + 1 :]}"


# --- of whole lines ----------------------------------------------------------------------------------------------------

_BS = "\\"
LineDisguise = Callable[[str, random.Random], str]

LINES: Mapping[str, LineDisguise] = MappingProxyType(
    {
        "sh -c": lambda text, rng: f"sh -c {quoted(text)}",
        "bash -ec": lambda text, rng: f"bash -ec {quoted(text)}",
        "bash -c with arguments": lambda text, rng: f"bash -c 'eval \"$1\"' _ {quoted(text)}",
        "bash -c variable": lambda text, rng: f"c={quoted(text)}; bash -c \"$c\"",
        "exported": lambda text, rng: f"export C={quoted(text)}; bash -c 'eval \"$C\"'",
        "env bash": lambda text, rng: f"env -i PATH=\"$PATH\" HOME=\"$HOME\" bash -c {quoted(text)}",
        "env -S": lambda text, rng: f"env -S {quoted('bash -c ' + doubled(text))}" if "\n" not in text and "$" not in text and _BS not in text else text,
        "nohup nice timeout": lambda text, rng: f"nohup nice -n 5 timeout -k 1 20 bash -c {quoted(text)}",
        "setsid stdbuf": lambda text, rng: f"setsid -w stdbuf -oL sh -c {quoted(text)}",
        "flock": lambda text, rng: f"flock /tmp/l -c {quoted(text)}",
        "busybox": lambda text, rng: f"busybox sh -c {quoted(text)}",
        "sudo": lambda text, rng: f"sudo sh -c {quoted(text)}",
        "xargs": lambda text, rng: f"printf '%s{_BS}0' {quoted(text)} | xargs -0 -I% sh -c %",
        "xargs argument": lambda text, rng: f"printf '%s{_BS}0' {quoted(text)} | xargs -0 bash -c",
        "find -exec": lambda text, rng: f"find . -maxdepth 0 -exec bash -c {quoted(text)} {_BS};",
        "find -exec +": lambda text, rng: f"find . -maxdepth 0 -exec sh -c {quoted(text)} _ {{}} +",
        "awk": lambda text, rng: f"awk 'BEGIN {{ system(ARGV[1]) }}' {quoted(text)}",
        "eval": lambda text, rng: f"eval {quoted(text)}",
        "eval of a variable": lambda text, rng: f"c={quoted(text)}; eval \"$c\"",
        "builtin eval": lambda text, rng: f"builtin eval {quoted(text)}",
        "command eval": lambda text, rng: f"command eval {quoted(text)}",
        "subshell": lambda text, rng: f"( {text}\n)",
        "group": lambda text, rng: f"{{ {text}\n}}",
        "if": lambda text, rng: f"if true; then {text}\nfi",
        "condition": lambda text, rng: f"if {text}\nthen :; fi",
        "else": lambda text, rng: f"if false; then :; else {text}\nfi",
        "while": lambda text, rng: f"while true; do {text}\nbreak; done",
        "until": lambda text, rng: f"until {text}\ntrue; do :; done",
        "for": lambda text, rng: f"for i in 1; do {text}\ndone",
        "counting": lambda text, rng: f"for ((i=0; i<1; i++)); do {text}\ndone",
        "case clause": lambda text, rng: f"case x in [x]) {text}\n;; esac",
        "fall-through": lambda text, rng: f"case x in x) : ;& y) {text}\n;; esac",
        "function": lambda text, rng: f"f() {{ {text}\n}}; f",
        "function named ls": lambda text, rng: f"ls() {{ {text}\n}}; ls -l",
        "function of a subshell": lambda text, rng: f"function f ( {text}\n); f",
        "nested function": lambda text, rng: f"f() {{ g() {{ {text}\n}}; }}; f; g",
        "alias": lambda text, rng: f"shopt -s expand_aliases; alias ls={quoted(text)}\nls",
        "coproc": lambda text, rng: f"coproc {{ {text}\n}}; wait",
        "trap on exit": lambda text, rng: f"trap {quoted(text)} EXIT",
        "trap before each": lambda text, rng: f"trap {quoted(text)} DEBUG; true",
        "trap on failure": lambda text, rng: f"trap {quoted(text)} ERR; false",
        "here-document": lambda text, rng: f"bash <<'EOT'\n{text}\nEOT\n",
        "here-document with tabs": lambda text, rng: f"sh <<-'EOT'\n\t{text}\n\tEOT\n" if "\n" not in text else text,
        "here-document to cat": lambda text, rng: f"cat <<'EOT' | sh\n{text}\nEOT\n",
        "here-string": lambda text, rng: f"bash <<< {quoted(text)}",
        "piped": lambda text, rng: f"printf '%s{_BS}n' {quoted(text)} | bash",
        "piped to sh -s": lambda text, rng: f"printf '%s{_BS}n' {quoted(text)} | sh -s x",
        "piped through tee": lambda text, rng: f"printf '%s{_BS}n' {quoted(text)} | tee /dev/null | bash",
        "base64": lambda text, rng: f"echo {_coded(text)} | base64 -d | sh",
        "base64 substituted": lambda text, rng: f"eval \"$(echo {_coded(text)} | base64 --decode)\"",
        "base64 here-string": lambda text, rng: f"bash <<< \"$(base64 -d <<< {_coded(text)})\"",
        "hexadecimal line": lambda text, rng: f"bash -c {_hex(text)}",
        "edited line": lambda text, rng: f"printf '%s{_BS}n' {quoted('@@' + text)} | sed 1s/@@// | bash",
        "process substitution": lambda text, rng: f"bash <(printf '%s{_BS}n' {quoted(text)})",
        "sourced": lambda text, rng: f". <(printf '%s{_BS}n' {quoted(text)})",
        "sourced stdin": lambda text, rng: f"source /dev/stdin <<< {quoted(text)}",
        "script file": lambda text, rng: f"printf '%s{_BS}n' {quoted(text)} > s.sh; sh s.sh",
        "sourced file": lambda text, rng: f"printf '%s{_BS}n' {quoted(text)} > s.sh; . ./s.sh",
        "script file by here-document": lambda text, rng: f"cat > s.sh <<'EOT'\n{text}\nEOT\nbash ./s.sh",
        "script file by tee": lambda text, rng: f"echo {quoted(text)} | tee s.sh; bash s.sh" if "\n" not in text else text,
        "start-up file": lambda text, rng: f"printf '%s{_BS}n' {quoted(text)} > e.sh; BASH_ENV=e.sh bash -c true",
        "moved script": lambda text, rng: f"printf '%s{_BS}n' {quoted(text)} > e.txt && cp e.txt s.sh && ln e.txt t.sh && bash t.sh",
        "substituted": lambda text, rng: f"echo \"$({text}\n)\"",
        "substituted alone": lambda text, rng: f": $({text}\n)",
        "in backticks": lambda text, rng: f"echo `{text}`" if not set(text) & set("`$\\\"") else text,
        "in a default": lambda text, rng: f"echo \"${{u:-$({text}\n)}}\"",
        "in a subscript": lambda text, rng: f"a[$({text}\n)0]=1",
        "in arithmetic": lambda text, rng: f"echo $((1 + $({text}\n)0))",
        "in old arithmetic": lambda text, rng: f"echo $[ x='a[$({text})]', x ]" if "'" not in text and "\n" not in text else text,
        "in a value that is evaluated": lambda text, rng: f"x={quoted(f'a[$({text}{chr(10)})0]')}; echo $((x))",
        "in let": lambda text, rng: f"x={quoted(f'a[$({text}{chr(10)})0]')}; let y=x",
        "in a comparison": lambda text, rng: f"x={quoted(f'a[$({text}{chr(10)})0]')}; [[ $x -eq 0 ]]",
        "in an integer": lambda text, rng: f"declare -i y; y={quoted(f'a[$({text}{chr(10)})0]')}",
        "in test -v": lambda text, rng: f"test -v {quoted(f'a[$({text}{chr(10)})0]')}",
        "in a printed variable": lambda text, rng: f"printf -v {quoted(f'a[$({text}{chr(10)})0]')} x",
        "in a read variable": lambda text, rng: f"read {quoted(f'a[$({text}{chr(10)})0]')} <<< x",
        "in unset": lambda text, rng: f"a=1; unset {quoted(f'a[$({text}{chr(10)})0]')}",
        "in a prompt": lambda text, rng: f"x={quoted(f'$({text}{chr(10)})')}; echo \"${{x@P}}\"",
        "in PS4": lambda text, rng: f"PS4={quoted(f'$({text}{chr(10)})')}; set -x; :",
        "in a condition": lambda text, rng: f"[[ -n $({text}\n) ]]",
        "in a pattern": lambda text, rng: f"case $({text}\n) in x) ;; esac",
        "in a here-document": lambda text, rng: f"cat <<EOT\n$({text}\n)\nEOT\n",
        "in a here-string": lambda text, rng: f"cat <<< \"$({text}\n)\"",
        "in a redirection": lambda text, rng: f"echo x > \"/dev/null$({text}\n)\"",
        "in an assignment": lambda text, rng: f"x=$({text}\n) true",
        "in an array": lambda text, rng: f"a=($({text}\n))",
        "in for words": lambda text, rng: f"for i in $({text}\n); do :; done",
        "read by process": lambda text, rng: f"cat <({text}\n)",
        "written by process": lambda text, rng: f"echo x > >({text}\n)",
        "mapfile callback": lambda text, rng: f"mapfile -C {quoted(text + ' #')} -c 1 a <<< x" if "\n" not in text else text,
        "negated": lambda text, rng: f"! {{ {text}\n}}",
        "timed": lambda text, rng: f"time {{ {text}\n}}",
        "after and": lambda text, rng: f"true && {{ {text}\n}}",
        "after or": lambda text, rng: f"false || {{ {text}\n}}",
        "after a harmless one": lambda text, rng: f"ls -l; {text}",
        "before a harmless one": lambda text, rng: f"{text}\nls -l",
        "after a pipe": lambda text, rng: f"echo x | {{ {text}\n}}",
        "in the background": lambda text, rng: f"{{ {text}\n}} & wait",
        "after a comment": lambda text, rng: f"# {rng.choice(('harmless', 'rm', chr(39), '$('))}\n{text}",
        "before a comment": lambda text, rng: f"{text} # ' harmless" if not text.endswith("\n") else text,
        "after newlines": lambda text, rng: "\n \n\t\n" + text,
        "sixty before": lambda text, rng: "; ".join(["true"] * 60) + "; " + text,
        "ten kilobytes before": lambda text, rng: f"echo {'x' * 10_240}; {text}",
        "ten kilobytes of comment": lambda text, rng: f"# {'x' * 10_240}\n{text}",
        "after spaces": lambda text, rng: f"true;{' ' * 3_000}{text}",
        "nested shells": lambda text, rng: f"bash -c {quoted('sh -c ' + quoted('bash -c ' + quoted(text)))}",
        "nested groups": lambda text, rng: "{ ( { ( " + text + "\n) \n} \n) \n}",
        "nested substitutions": lambda text, rng: f"echo $(echo \"$(echo $({text}\n))\")",
        "deep in groups": lambda text, rng: "( " * 12 + text + "\n)" * 12,
        "in another directory": lambda text, rng: f"cd /tmp; {text}" if "../" not in text and "./" not in text else text,
        "exec": lambda text, rng: f"exec bash -c {quoted(text)}",
        "exec by another name": lambda text, rng: f"exec -a ls bash -c {quoted(text)}",
        "hashed": lambda text, rng: f"hash -p /bin/bash ls; ls -c {quoted(text)}",
        "PATH in front": lambda text, rng: f"PATH=/usr/bin:$PATH; {text}",
        "IFS set": lambda text, rng: f"IFS=,; {text}",
        "function called with it": lambda text, rng: f"f() {{ eval \"$*\"; }}; f {quoted(text)}",
        "select": lambda text, rng: f"select i in x; do {text}\nbreak; done <<< 1",
    }
)  # fmt: skip


def _spell(draft: Draft, name: str, rng: random.Random, share: float) -> Draft:
    """Every word, or a share of them, spelled by the disguise; the program's name always."""
    rule = WORDS[name]
    before: list[str] = list(draft.before)
    at = 0

    def spelled(word: str, *, always: bool) -> str:
        nonlocal at
        at += 1
        if not word or not (always or rng.random() < share):
            return plain(word)
        lead, text = rule(word, rng, at)
        if lead:
            before.append(lead)
        return text

    stages = tuple(
        tuple(spelled(word, always=place == 0) for place, word in enumerate(words)) for words in draft.stages
    )
    redirect = None if draft.redirect is None else (draft.redirect[0], spelled(draft.redirect[1], always=True))
    return replace(draft, stages=stages, redirect=redirect, before=tuple(before), spelled=True)


# Ways to put the first program of a pipeline and its words together that no word alone shows.
def _first(rule: Callable[[list[str]], str]) -> Callable[[Draft], str]:
    """The rule for the first program's words, each quoted where it must be; what follows it stays as it is."""

    def text(draft: Draft) -> str:
        first = rule([plain(word) for word in draft.stages[0]])
        lead, _, last = first.rpartition("; ")
        rest = replace(draft, stages=((last,), *(tuple(map(plain, words)) for words in draft.stages[1:])), spelled=True)
        if rest.redirect is not None:
            rest = replace(rest, redirect=(rest.redirect[0], plain(rest.redirect[1])))
        return "; ".join([*([lead] if lead else []), rest.text()])

    return text


def _prefixed(*before: str) -> Callable[[Draft], str]:
    return _first(lambda words: " ".join([*before, *words]))


def _located(spelling: Callable[[str], str]) -> Callable[[Draft], str]:
    return _first(lambda words: " ".join([spelling(words[0]), *words[1:]]))


def _home(spelling: str) -> Callable[[Draft], str]:
    def text(draft: Draft) -> str:
        return replace(draft, spelled=True, stages=tuple(tuple(_from_home(word, spelling) for word in words) for words in draft.stages), redirect=None if draft.redirect is None else (draft.redirect[0], _from_home(draft.redirect[1], spelling))).text()  # fmt: skip

    return text


def _from_home(word: str, spelling: str) -> str:
    return spelling + plain(word.removeprefix("/home/user")) if word.startswith("/home/user/") else plain(word)


def _moved(before: str, spelling: str) -> Callable[[Draft], str]:
    return lambda draft: before + _home(spelling)(draft)


# Disguises of a program with its words, and of where its files are.
COMMANDS: Mapping[str, Callable[[Draft], str]] = MappingProxyType(
    {
        "IFS between": _first(lambda words: "${IFS}".join(words)),
        "IFS splits": _first(lambda words: f"IFS=^; c='{'^'.join(words)}'; $c"),
        "array of words": _first(lambda words: f"c=({' '.join(words)}); \"${{c[@]}}\""),
        "arguments": _first(lambda words: f"set -- {' '.join(words)}; \"$@\""),
        "called": _first(lambda words: f"f() {{ \"$@\"; }}; f {' '.join(words)}"),
        "braces": _first(lambda words: "{" + ",".join(words) + "}"),
        "xargs words": _first(lambda words: f"printf '%s\\0' {' '.join(words[1:])} | xargs -0 {words[0]}"),
        "words read": _first(lambda words: f"read -r -a c <<< {quoted(' '.join(words))}; \"${{c[@]}}\""),
        "env": _prefixed("env", "A=1"),
        "env -u": _prefixed("/usr/bin/env", "-u", "A", "--"),
        "nice": _prefixed("nice", "-n", "1"),
        "nice -5": _prefixed("nice", "-5"),
        "timeout": _prefixed("timeout", "--signal=KILL", "9"),
        "nohup": _prefixed("nohup"),
        "setsid": _prefixed("setsid", "-w"),
        "stdbuf": _prefixed("stdbuf", "-o0", "-e", "L"),
        "ionice": _prefixed("ionice", "-c3"),
        "flock command": _prefixed("flock", "-n", "/tmp/l"),
        "sudo command": _prefixed("sudo"),
        "doas": _prefixed("busybox"),
        "command": _prefixed("command"),
        "command -p": _prefixed("command", "-p", "--"),
        "builtin command": _prefixed("builtin", "command"),
        "exec of it": _prefixed("exec"),
        "exec -a": _prefixed("exec", "-a", "ls"),
        "exec -c": _prefixed("exec", "-c"),
        "time -p": _prefixed("time", "-p"),
        "assignment": _prefixed("A=1", "B=2"),
        "many wrappers": _prefixed("nohup", "nice", "env", "timeout", "9", "setsid", "-w"),
        "find runs it": _first(lambda words: f"find . -maxdepth 0 -exec {' '.join(words)} \\;"),
        "find -execdir": _first(lambda words: f"find /home -maxdepth 0 -execdir {' '.join(words)} \\;"),
        "absolute": _located(lambda name: f"/bin/{name}"),
        "dotted path": _located(lambda name: f"/usr/bin/../bin/./{name}"),
        "double slashes": _located(lambda name: f"//usr//bin//{name}"),
        "glob of the program": _located(lambda name: f"/usr/bin/{name[:-1]}[{name[-1]}]"),
        "which": _located(lambda name: f"$(type -P {name})"),
        "tilde": _home("~"),
        "HOME": _home("$HOME"),
        "HOME quoted": _home('"$HOME"'),
        "parent directories": _home("../../user"),
        "through the workspace": _home("/home/user/ws/.."),
        "cd first": _moved("cd ~; ", "."),
        "cd there": _moved("cd /home && cd user && ", "./."),
        "pushd": _moved("pushd ~/src ~ 2>/dev/null; pushd ~ >/dev/null; ", "."),
        "symbolic link": _moved("ln -s /home/user /tmp/l; ", "/tmp/l"),
        "OLDPWD": _moved("cd ~; cd ws; ", '"$OLDPWD"'),
        "glob of the home": _home("/home/us[e]r"),
        "glob of a folder": _home("/hom?/*"),
    }
)  # fmt: skip


def disguise(draft: Draft, name: str, rng: random.Random) -> str:
    """The command in this disguise; `name` is a key of WORDS, COMMANDS or LINES."""
    if name in WORDS:
        return _spell(draft, name, rng, 0.6).text()
    if name in COMMANDS:
        return COMMANDS[name](draft)
    return LINES[name](draft.text(), rng)

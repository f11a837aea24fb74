"""awk(1) programs that surely only compute and print: read token by token, because a slash may divide or begin a
pattern and the two swallow different text (POSIX awk, Lexical Conventions)."""

from shield.regex import regex

__all__ = ["awk_prints_only"]

_MAX_PROGRAM = 4_000
_SPACE = regex(r"[ \t\r]+|#[^\n]*")
_STRING = regex(r'"(?:[^"\\\n]|\\[^\n])*"')
_PATTERN = regex(r"/(?:[^/\\\n]|\\[^\n])+/")
_BRACKET = regex(r"\\.|\[\^?\]?[^\]\\]*\]")
_NUMBER = regex(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_NAME = regex(r"[A-Za-z_]\w*")
_OPERATOR = regex(r"\+\+|--|&&|\|\||[-+*%^!~<>=?:,&$()\[\]]=?|\*\*=?")
_END = frozenset(";{}")
# Where this is all of what is printed to, no file is written.
_STREAM = regex(r">>?[ \t]*\"/dev/(?:stdout|stderr|null)\"[ \t]*(?=[;}\n]|\Z)")

# Words that run, read or write something, or reach another name's value.
_ACTIVE_TEXT = """
system getline close fflush ENVIRON ARGV ARGC SYMTAB FUNCTAB PROCINFO extension load include
"""
_ACTIVE = frozenset(_ACTIVE_TEXT.split())
# After these a slash begins a pattern; after every other name it divides.
_BEFORE_PATTERN_TEXT = """
if else while for do in return delete exit case switch default print printf BEGIN END next nextfile function func
"""
_BEFORE_PATTERN = frozenset(_BEFORE_PATTERN_TEXT.split())


def awk_prints_only(program: str) -> bool:
    """Whether the program has no redirection, pipe, call of another program or input of its own choosing.

    False wherever two readings are possible.
    """
    if len(program) > _MAX_PROGRAM:
        return False
    at, depth, printing = 0, 0, False
    # What the last token was: True an operand (a slash divides), False none (it begins a pattern), None either.
    operand: bool | None = False
    while at < len(program):
        here = program[at]
        if match := _SPACE.match(program, at):
            at = match.end()
            continue
        if here in _END or here == "\n":
            # INVARIANT: a newline ends a statement only where one can end; `print a,` goes on.
            if here != "\n" or operand is not False:
                printing = False
            at, operand = at + 1, False
        elif match := _STRING.match(program, at):
            at, operand = match.end(), True
        elif here == "/":
            end = _slash(program, at, operand)
            if end is None:
                return False
            at, operand = end, operand is False
        elif match := _NUMBER.match(program, at):
            at, operand = match.end(), True
        elif match := _NAME.match(program, at):
            word = match[0]
            if word in _ACTIVE or (depth and word in ("print", "printf")):
                return False
            printing |= word in ("print", "printf")
            at, operand = match.end(), None if word == "length" else word not in _BEFORE_PATTERN
        elif printing and (match := _STREAM.match(program, at)):
            at, operand = match.end(), True
        elif match := _OPERATOR.match(program, at):
            token = match[0]
            depth += (token[0] == "(") - (token[0] == ")")
            # between brackets it can only compare
            if token.startswith(">") and printing and depth <= 0:
                return False
            at, operand = match.end(), _after(token)
        else:
            # `|`, `@`, a backslash, whatever else: not read here.
            return False
    return True


def _slash(program: str, at: int, operand: bool | None) -> int | None:
    """Where the division sign or the pattern that begins here ends; None where that is not certain."""
    if operand is None:
        return None
    if operand:
        return at + 2 if program.startswith("/=", at) else at + 1
    match = _PATTERN.match(program, at)
    # A slash between brackets ends the pattern in one awk and not in another.
    if match is None or "[" in _BRACKET.sub("", match[0]):
        return None
    return match.end()


def _after(sign: str) -> bool | None:
    if sign in (")", "++", "--"):
        return None
    return sign == "]"

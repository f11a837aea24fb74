"""Whether JavaScript for `node -e` and `-p` surely does no more than compute, print and read files that it names.

A list of what may stand in such code, token by token. What leads out of a computation in JavaScript goes by a name
(`require`, `import`, `process`, `eval`, `Function`, `globalThis`, `constructor`), so a name that is neither listed nor
the code's own is no proof, and an index is a number, or a plain word where a JSON file's content is meant. Nothing is
taken apart by a pattern.
"""

import re
from dataclasses import dataclass

from shield.facts.programs.javascript.data import PLAIN_PATTERN, data_names
from shield.facts.programs.javascript.plainer import plainer
from shield.regex import regex

__all__ = ["NodeProof", "node_proven"]

_MAX_CODE = 2_000
_QUOTED = r"(?:'((?:[^'\\\n]|\\[nt'])*)'|\"((?:[^\"\\\n]|\\[nt\"])*)\")"
_REQUIRE = rf"require\s*\(\s*{_QUOTED}\s*\)"
# To code on the line the modules of node stand under their own names, too (node(1), `-e`).
_FS = r"(?:require\s*\(\s*['\"](?:node:)?fs['\"]\s*\)|fs)\s*\.\s*"
_CODING = r"(?:,\s*(?:CODING|\{\s*encoding\s*:\s*CODING\s*\})\s*)?".replace(
    "CODING", r"['\"](?:utf-?8|ascii|base64|hex|latin1)['\"]"
)
_READS = regex(rf"{_FS}(readFileSync|existsSync|readdirSync|statSync)\s*\(\s*{_QUOTED}\s*{_CODING}\)")
# Of one argument alone: a second one may put anything into it.
_PARSED = regex(rf"JSON\s*\.\s*parse\s*\(\s*{_READS.pattern}(?:\s*\.\s*toString\s*\(\s*\))?\s*\)")
_FED = regex(rf"{_FS}readFileSync\s*\(\s*0\s*{_CODING}\)|process\s*\.\s*stdin\s*\.\s*(?:on|setEncoding)\b")
_WRITES = regex(rf"{_FS}(?:writeFileSync|appendFileSync)\s*\(\s*{_QUOTED}\s*,")
_BROUGHT = regex(
    r"(?:(?:const|let|var)\s+(fs|os|path)\s*=\s*require\s*\(\s*['\"](?:node:)?\1['\"]\s*\)"
    r"|import\s+(?:\*\s*as\s+)?(fs|os|path)\s+from\s*['\"](?:node:)?\2['\"])"
)
_MODULES = regex(
    r"(?:require\s*\(\s*['\"](?:node:)?os['\"]\s*\)|os)"
    r"\s*\.\s*(?:cpus|totalmem|freemem|platform|arch|release|type|EOL|hostname|uptime)\b"
    r"|(?:require\s*\(\s*['\"](?:node:)?path['\"]\s*\)|path)"
    r"\s*\.\s*(?:join|basename|dirname|extname|resolve|relative|normalize|sep)\b"
    r"|Buffer\s*\.\s*(?:from|byteLength)\b"
)
_DATA = regex(_REQUIRE)
_PROCESS = regex(
    r"process\s*\.\s*(?:version|versions|platform|arch|pid|execPath|argv|uptime|cwd|memoryUsage|hrtime"
    r"|stdout\s*\.\s*write)\b"
)
_NUMBER = regex(r"(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)n?")
_STRING = regex(_QUOTED)
_NAME = regex(r"[A-Za-z_$][\w$]*")
_SPACE = regex(r"[ \t\n]+")
_INDEX = regex(r"\[\s*(?:\d+|(['\"])(?!constructor|prototype)[A-Za-z@][\w@./-]*\1)\s*\]")
_MEMBER = regex(r"\.\s*([A-Za-z_$][\w$]*)")
_END = regex(r"[)\]}]")
_KEY = regex(r"\s*:")
_SIGN = regex(r"=>|===|!==|==|!=|<=|>=|&&|\|\||\?\?|\+\+|--|\*\*|\+=|-=|\*=|\.\.\.|[-+*%<>=!?:,;(){}&|^~\[]")
_DECLARED = regex(
    r"\b(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*(?:=|of\b|in\b)|([A-Za-z_$][\w$]*)\s*=>|\(([\w$,\s]*)\)\s*=>"
)

_CHANGES = regex(
    r"(?:\.\s*[A-Za-z_$][\w$]*+|\])\s*(?:(?:[-+*/%&|^]|<<|>>>?|\*\*|&&|\|\||\?\?)?=(?![=>])|\+\+|--|(?:of|in)\b)"
    r"|(?:\+\+|--)\s*[\w$]+\s*[.\[]"
)
_PUTS = regex(r"\b(?:assign|copyWithin|fill|push|splice|unshift)\b")

# A pattern takes any property out of a value, by a text that may be put together: `({["constr" + "uctor"]: f} = f)`. So
# there is none: nothing in brackets or braces is assigned to, gone through, or a parameter. Nor is what
# stands in parentheses: `(path.resolve) = f`.
_PATTERN = regex(r"[)\]}]\s*(?:=(?![=>])|(?:of|in)\b)")
# What is put into a module is what node itself calls: by `path.resolve` it finds what `require` names.
_ASSIGNED = regex(r"\s*(?:(?:[-+*/%&|^?]|<<|>>|>>>|\*\*|&&|\|\||\?\?)?=(?![=>])|\+\+|--|(?:of|in)\b)")
_ARROW = regex(r"(?:[\w$]+|\([\w$,\s]*\))\s*=>")
_BRANCH = regex(r"\b(?:if|for)\s*\Z")

_GLOBALS_TEXT = """
console JSON Math Object Array Number String Boolean Date BigInt Set Map parseInt parseFloat isNaN isFinite NaN
Infinity undefined true false null encodeURIComponent decodeURIComponent encodeURI decodeURI escape unescape btoa atob
const let var new typeof of in for if else return
"""
_GLOBALS = frozenset(_GLOBALS_TEXT.split())
_MEMBERS_TEXT = """
log error warn info table stringify parse keys values entries fromEntries assign from isArray of map filter reduce
forEach find findIndex some every flat flatMap join split slice splice concat includes indexOf lastIndexOf sort
reverse push pop shift unshift fill at length size has get set add delete toString toFixed toPrecision toUpperCase
toLowerCase trim trimStart trimEnd padStart padEnd repeat replace replaceAll startsWith endsWith charAt charCodeAt
codePointAt fromCharCode substring match matchAll test localeCompare normalize toISOString toJSON getTime getFullYear
getMonth getDate getDay getHours getMinutes getSeconds toLocaleString toLocaleDateString now UTC abs acos asin atan
atan2 cbrt ceil cos exp floor hypot log10 log2 max min pow random round sign sin sqrt tan trunc PI E EPSILON
MAX_SAFE_INTEGER MIN_SAFE_INTEGER MAX_VALUE MIN_VALUE isInteger isSafeInteger version versions name dependencies
devDependencies scripts engines main type description license node v8 uv openssl modules rss heapUsed heapTotal
exports author workspaces on isFile isDirectory mtime mtimeMs
message data items id title value result results status code count total url path key user
users
"""
_MEMBERS = frozenset(_MEMBERS_TEXT.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeProof:
    """Files that the code reads, that it looks for or writes, and those of JSON that it requires, as it names them."""

    reads: tuple[str, ...]
    looks: tuple[str, ...]
    requires: tuple[str, ...]
    writes: tuple[str, ...]


_NEVER_TEXT = """
require import process eval Function globalThis global this module exports constructor prototype __proto__ arguments
with function class async await yield super apply call bind Reflect Proxy WebAssembly Worker fetch setTimeout
setInterval setImmediate queueMicrotask structuredClone Symbol Error gc root navigator performance localStorage
sessionStorage assert async_hooks buffer child_process cluster constants crypto dgram diagnostics_channel dns domain
events fs http http2 https inspector net os path perf_hooks punycode querystring readline repl sea sqlite stream
string_decoder sys test timers tls trace_events tty url util v8 vm wasi worker_threads zlib
"""
_NEVER = frozenset(_NEVER_TEXT.split())
_BRINGS = frozenset(("fs", "os", "path"))
# Reserved words behind which a bracket begins a list; `of` and `let` are names, too.
_LIST_FOLLOWS = frozenset(("const", "in", "new", "return", "typeof", "var"))


def node_proven(code: str) -> NodeProof | None:
    """The proof for `code`; None where there is none."""
    # `<!--` and `-->` begin comments.
    if len(code) > _MAX_CODE or not code.isascii() or "<!--" in code or "-->" in code:
        return None
    plain = plainer(code)
    return _proven(code) or (_proven(plain) if plain != code and "-->" not in plain and "<!--" not in plain else None)


def _proven(code: str) -> NodeProof | None:
    bare = _STRING.sub("''", code)
    parts: list[str] = []
    bare = PLAIN_PATTERN.sub(lambda found: _without_brackets(found, parts), bare)
    given = [name for found in _DECLARED.findall(bare) for part in found for name in re.split(r"[\s,]+", part) if name]
    given += parts
    own = set(given) - _BRINGS
    # INVARIANT: what a JSON file holds stays data, wherever the code has it from: nothing is put into any value
    trusts = _CHANGES.search(bare) is None and _PUTS.search(code) is None
    once = {name for name in own if trusts and given.count(name) == 1 and not _is_assigned(name, bare)}
    if any(name in _NEVER | _GLOBALS or not (name[0].islower() or name[0] in "_$") for name in own):
        # INVARIANT: a name of the code's own is no other's, wherever it stands.
        return None
    if _PATTERN.search(bare) or "=>" in _ARROW.sub("", bare) or _has_method(bare):
        return None
    reader = _Tokens(code, own, once, trusts=trusts)
    while reader.at < len(code):
        if not reader.step():
            return None
    # INVARIANT: a name of a module is given to it and nothing else
    if any(given.count(name) != reader.brought.count(name) for name in _BRINGS):
        return None
    if any(not name or "\\" in name or "\0" in name for name in (*reader.reads, *reader.looks, *reader.writes)):
        return None
    return NodeProof(
        reads=tuple(reader.reads),
        looks=tuple(reader.looks),
        requires=tuple(reader.requires),
        writes=tuple(reader.writes),
    )


def _without_brackets(found: re.Match[str], parts: list[str]) -> str:
    """The names of a plain pattern as parameters; of a declaration the first alone, and the others added to `parts`."""
    names = found["names"]
    if "=>" not in found["rest"]:
        names, *others = re.split(r"[\s,]+", names)
        parts += others
    return f"{found['lead']} {names}{found['rest']}"


def _is_assigned(name: str, bare: str) -> bool:
    """Whether it may get another value than it was given first."""
    once = re.sub(rf"\bconst\s+{re.escape(name)}\s*(?:=|of\b)", "", bare)
    return re.search(rf"(?<![\w$.]){re.escape(name)}(?![\w$]){_ASSIGNED.pattern}", once) is not None


def _has_method(bare: str) -> bool:
    """Whether an object may have a method, whose parameters may be patterns: `{f({constructor: g}) {…}}`. A method may
    be called `if`, too: its pattern has braces."""
    begun: list[int] = []
    for found in re.finditer(r"\(|\)(\s*\{)?", bare):
        if found[0] == "(":
            begun.append(found.start())
            continue
        start = begun.pop() if begun else 0
        if found[1] and not (_BRANCH.search(bare, 0, start) and "{" not in bare[start : found.start()]):
            return True
    return False


class _Tokens:
    """Reads one token after the other. `valued`: the last one was a value, so that a bracket is an index; `data`: of
    what a JSON file holds; `opened`: it was `{` or `,`, behind which a key may stand."""

    def __init__(self, code: str, own: set[str], once: set[str], *, trusts: bool) -> None:
        self.at = 0
        self.reads: list[str] = []
        self.looks: list[str] = []
        self.requires: list[str] = []
        self.writes: list[str] = []
        self.brought: list[str] = []  # names that modules get, but for those that are imported
        self._code = code
        self._own = own
        self._once = once
        self._trusts = trusts
        self._parts: set[str] = set()  # names for what a JSON file holds
        self._valued = False
        self._data = False
        self._opened = False

    def step(self) -> bool:
        """Go on by one token; False where it is not on the list."""
        code, at = self._code, self.at
        if match := _SPACE.match(code, at):
            self.at = match.end()
        elif match := _PARSED.match(code, at):
            self.reads.append(match[2] or match[3] or "")
            self._holds(match)
            return match[1] == "readFileSync"
        elif match := _READS.match(code, at):
            (self.reads if match[1] == "readFileSync" else self.looks).append(match[2] or match[3] or "")
            self._go(match, valued=True)
        elif match := _WRITES.match(code, at):
            self.writes.append(match[1] or match[2] or "")
            self._go(match, valued=False)
        elif match := _BROUGHT.match(code, at):
            self.brought += [match[1]] if match[1] else []
            self._go(match, valued=True)
        elif match := _FED.match(code, at) or _MODULES.match(code, at) or _PROCESS.match(code, at):
            self._go(match, valued=True)
            return _ASSIGNED.match(code, self.at) is None
        elif match := _DATA.match(code, at):
            return self._required(match)
        elif match := _STRING.match(code, at) or _NUMBER.match(code, at):
            self._go(match, valued=True)
        elif code[at] == "." and (match := _MEMBER.match(code, at)):
            return self._member(match)
        elif match := _NAME.match(code, at):
            return self._name(match)
        elif self._valued and code[at] == "[":
            return self._index()
        elif match := _END.match(code, at):
            self._go(match, valued=True)
        elif match := _SIGN.match(code, at):
            self._go(match, valued=False)
            self._opened = match[0] in "{,"
        else:
            return False
        return True

    def _go(self, match: re.Match[str], *, valued: bool, data: bool = False) -> None:
        self.at, self._valued, self._data, self._opened = match.end(), valued, data and self._trusts, False

    def _holds(self, match: re.Match[str]) -> None:
        """What stands here is data; names may get a part of it."""
        self._go(match, valued=True, data=True)
        self._parts.update(data_names(self._code, match.start(), match.end(), self._once))

    def _required(self, match: re.Match[str]) -> bool:
        name = match[1] or match[2] or ""
        self.requires.append(name)
        self._holds(match)
        return name.startswith(("./", "../", "/")) and name.endswith(".json") and "\\" not in name

    def _member(self, match: re.Match[str]) -> bool:
        name = match[1]
        listed = name in _MEMBERS or (self._data and name not in _NEVER and not name.startswith("_"))
        self._go(match, valued=True, data=self._data)
        return listed

    def _name(self, match: re.Match[str]) -> bool:
        key = self._opened and _KEY.match(self._code, match.end()) is not None
        if match[0] in self._parts and not key:
            self._holds(match)
            return True
        self._go(match, valued=match[0] not in _LIST_FOLLOWS)
        return match[0] not in _NEVER and (key or match[0] in _GLOBALS or match[0] in self._own)

    def _index(self) -> bool:
        match = _INDEX.match(self._code, self.at)
        if match is None or (match[1] and not self._data):
            return False
        self._go(match, valued=True, data=self._data)
        return True

"""Programs that move data between machines."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.programs.forwarding import glimpse
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Value
from shield.facts.programs.sockets import PIECE, SOCKETS, endpoint
from shield.types import Access, Operation, RunsCode

__all__ = ["TRANSFER"]

_CURL_FLAGS_TEXT = """
-s -S -f -L -v -i -I -k -g -G -N -n -a -j -l -M -p -q -R -Z -# -0 -1 -2 -3 -4 -6 --silent --show-error --fail
--location --verbose --include --head --insecure --globoff --get --no-buffer --compressed --http1.1 --http2 --http3
--ipv4 --ipv6 --fail-with-body --location-trusted --no-progress-meter --progress-bar --parallel --path-as-is --raw
--styled-output --tlsv1.2 --tlsv1.3 --create-dirs --no-keepalive --anyauth --basic --digest --negotiate
--junk-session-cookies --remote-time --remove-on-error --no-clobber --version --help --disable -V -h
"""
_CURL_FLAGS = frozenset(_CURL_FLAGS_TEXT.split())
_CURL_TEXT_TEXT = """
-X -H -A -e -u -U -m -r -w -y -Y -z -C -P -t --request --header --user-agent --referer --user --max-time --range
--write-out --connect-timeout --retry --retry-delay --retry-max-time --max-redirs --limit-rate --speed-time
--speed-limit --oauth2-bearer --max-filesize --data-raw --json-raw --aws-sigv4 --url-query --form-string --ciphers
--proto --continue-at --stderr-text
"""
_CURL_TEXT = frozenset(_CURL_TEXT_TEXT.split())
_CURL_DATA_TEXT = """
-d -b -F --data --data-ascii --data-binary --data-urlencode --json --cookie --form --variable
"""
_CURL_DATA = frozenset(_CURL_DATA_TEXT.split())
_CURL_READ_TEXT = """
-T -E --upload-file --cert --key --cacert --capath --netrc-file --ca --crlfile --etag-compare
"""
_CURL_READ = frozenset(_CURL_READ_TEXT.split())
_CURL_WRITE_TEXT = """
-o -c -D --output --cookie-jar --dump-header --trace --trace-ascii --stderr --etag-save --output-dir --hsts
--alt-svc --libcurl
"""
_CURL_WRITE = frozenset(_CURL_WRITE_TEXT.split())
_CURL_HOST_TEXT = """
-x --proxy --preproxy --socks5 --socks4 --socks5-hostname --doh-url --url --haproxy-clientip
"""
_CURL_HOST = frozenset(_CURL_HOST_TEXT.split())


def _curl(call: Invocation) -> bool:
    """curl(1): URLs, uploads (`-d @f`, `-F x=@f`, `-T f`), outputs, other hosts, configuration files."""
    reading, words = call.reading, list(call.words)
    while words:
        word = words.pop(0)
        text = word.text
        if not word.fixed and (not word.head or word.many):
            reading.loose = True
            _curl_url(call, word)
        elif not (word.head or text).startswith("-"):
            _curl_url(call, word)
        elif text.startswith("--"):
            reading.flags.append(text)
            _curl_option(call, text, words, None)
        else:
            _curl_cluster(call, word, words)
    return True


def _curl_cluster(call: Invocation, word: Value, words: list[Value]) -> None:
    text = word.text if word.fixed else word.head
    for at in range(1, len(text)):
        letter = "-" + text[at]
        call.reading.flags.append(letter)
        rest = text[at + 1 :]
        if letter in _CURL_FLAGS or letter == "-O":
            _curl_option(call, letter, words, None)
            continue
        joined = Value(text=word.text[at + 1 :], known=word.known, head=rest) if rest or not word.fixed else None
        _curl_option(call, letter, words, joined)
        return
    call.reading.loose |= not word.fixed


def _curl_option(call: Invocation, name: str, words: list[Value], joined: Value | None) -> None:
    reading = call.reading
    if name in _CURL_FLAGS:
        return
    if name in ("-O", "--remote-name", "-J", "--remote-header-name", "--remote-name-all", "-OJ"):
        reading.path(Value(text=".", head="."), Access.WRITE)
        return
    value = joined if joined is not None else (words.pop(0) if words else None)
    if value is None:
        reading.caution()
        return
    reading.loose |= value.many
    if name in _CURL_DATA:
        _curl_data(call, name, value)
    elif name in _CURL_READ:
        reading.path(value, Access.READ)
    elif name in _CURL_WRITE:
        if value.text != "-":
            reading.path(value, Access.WRITE)
    elif name in _CURL_HOST:
        _curl_url(call, value)
    elif name in _CURL_TEXT:
        if name in ("-w", "-H", "--write-out", "--header") and (value.text.startswith("@") or "%output{" in value.text):
            reading.path(Value(text=value.text.lstrip("@"), known=value.known), Access.READ, Access.WRITE)
            reading.caution()
    else:
        # `-K`, `--resolve`, `--connect-to`, `--unix-socket`, `--engine` and whatever is not known.
        reading.caution()
        _curl_instead(call, name, value)
        reading.use(Use.ANY, value)
        reading.unknown.append(f"what `{name[:80]}` of `curl` does is not known")


def _curl_instead(call: Invocation, name: str, value: Value) -> None:
    """`--connect-to HOST1:PORT1:HOST2:PORT2` and `--resolve HOST:PORT:ADDRESS…`: where it connects in fact."""
    pieces = PIECE.findall(value.text)
    if name == "--connect-to" and len(pieces) >= 2 and value.known:
        call.reading.hosts.append(endpoint(pieces[-2], pieces[-1]))
    elif name == "--resolve" and len(pieces) >= 3 and value.known:
        call.reading.hosts.extend(
            endpoint(address, pieces[1]) for address in value.text.partition(pieces[1] + ":")[2].split(",")
        )


def _curl_data(call: Invocation, name: str, value: Value) -> None:
    text = value.text
    if name in ("-b", "--cookie"):
        files = [] if "=" in text else [text]
    elif name in ("-F", "--form"):
        files = re.findall(r"[@<]([^;,]+)", text)
    elif name == "--data-urlencode":
        files = [text.partition("@")[2]] if "@" in text and "=" not in text.partition("@")[0] else []
    else:
        files = re.findall(r"@(.+)", text, re.DOTALL) if "@" in text[:1] or name == "--variable" else []
    for file in files:
        if file != "-":
            call.reading.path(Value(text=file, known=value.known, head=file if value.known else ""), Access.READ)
    if not value.fixed and not value.head:
        call.reading.path(value, Access.READ)


def _curl_url(call: Invocation, word: Value) -> None:
    text = word.text
    if re.match(r"(?i)file:", text):
        path = re.sub(r"(?i)^file:(?://(?:localhost)?)?(?=/)", "", text)
        call.reading.path(Value(text=path, known=word.known, head=path), Access.READ)
    elif re.search(r"[\[{]", text) and not re.match(r"(?i)\w+://\[[0-9a-f:.]+\]", text):
        call.reading.hosts.append(Value(text=text, known=False))  # curl expands lists and ranges itself
        call.reading.operations.add(Operation.NETWORK)
    else:
        # An unknown end of a URL cannot move its host once the path has begun.
        fixed = word.fixed or word.pattern is not None or bool(re.match(r"\w+://[^/?#@\\]+/", word.head))
        host = word.text if word.fixed or word.pattern is not None else word.head
        call.reading.hosts.append(Value(text=host if fixed else text, known=fixed, head=text))
        call.reading.operations.add(Operation.NETWORK)


def _wget(call: Invocation) -> bool:
    if not call.arguments.has("-O", "--output-document", "--spider"):
        folder = call.arguments.values("-P", "--directory-prefix")
        call.reading.path(folder[0] if folder else Value(text=".", head="."), Access.WRITE)
    if call.arguments.has("-i", "--input-file", "-r", "--recursive", "-m", "--mirror", "-e", "--execute"):
        call.reading.unknown.append("which hosts `wget` would ask is not known")
    return False


def _lookup(call: Invocation) -> bool:
    """A look-up sends the name that is asked, whatever is in it, to a name server."""
    for word in call.words:
        if word.fixed and word.text.startswith("@"):
            call.reading.hosts.append(Value(text=word.text[1:]))
        elif word.fixed and call.name == "whois" and re.match(r"-h.|--host=", word.text):
            call.reading.hosts.append(Value(text=word.text.partition("=")[2] or word.text[2:]))
        elif word.fixed and word.text in ("-f", "-k"):
            call.reading.caution()
        elif not word.text.startswith(("-", "+")):
            call.reading.hosts.append(word)
        call.reading.loose |= word.adrift
    return True


_REMOTE_FILE = re.compile(r"(?:[\w.-]+@)?([\w.\-]+|\[[0-9a-fA-F:]+\]):(?!//)")


def _scp(call: Invocation) -> bool:
    reading = call.reading
    operands: list[Value] = []
    words = list(call.words)
    recursive = False
    while words:
        word = words.pop(0)
        text = word.text
        if word.adrift:
            reading.loose = True
            operands.append(word)
        elif text.startswith("-") and len(text) > 1:
            recursive |= bool(re.match(r"-\w*[ra]", text)) or text == "--recursive"
            if re.match(r"-[oSeF]|--rsh|--rsync-path", text):
                reading.run(RunsCode.INLINE)
                joined = text.partition("=")[2] if text.startswith("--") else text[2:]
                value = word if joined or not words else words[0]
                # what a file of settings runs is not seen
                reading.code |= not value.fixed or text.startswith("-F")
                line = joined or value.text
                reading.nested += glimpse(call.name, [line.partition("ProxyCommand=")[2] or line])
            if re.fullmatch(r"-[cDFiJloPSXe]", text) and words:
                value = words.pop(0)
                if text in ("-i", "-F"):
                    reading.path(value, Access.READ)
        else:
            operands.append(word)
    for index, word in enumerate(operands):
        remote = _REMOTE_FILE.match(word.text)
        if "://" in word.text:
            reading.hosts.append(word)
        elif remote is not None:
            reading.hosts.append(Value(text="ssh://" + word.text[: remote.end() - 1]))
        else:
            access = Access.WRITE if index == len(operands) - 1 and index else Access.READ
            reading.path(word, access, recursive=recursive)
    return True


def _rsync(call: Invocation) -> bool:
    _scp(call)
    call.reading.caution()
    call.reading.reshapes = True
    for value in call.words:
        if value.text.startswith("--") and not value.fixed:
            call.reading.code = True
        if value.text.startswith("--files-from"):
            call.reading.unknown.append("which files rsync copies is not known")
        if value.text.startswith("--") and "=" in value.text and "/" in value.text:
            tail = value.text.partition("=")[2]
            call.reading.use(Use.ANY, Value(text=tail, head=tail))
    return True


TRANSFER: Mapping[str, Special] = MappingProxyType(
    {**SOCKETS, "curl": _curl, "wget": _wget, "lookup": _lookup, "scp": _scp, "rsync": _rsync}
)

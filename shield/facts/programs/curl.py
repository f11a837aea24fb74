"""curl(1): URLs, uploads (`-d @f`, `-F x=@f`, `-T f`), outputs, other hosts, configuration files."""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import unquote

from shield.facts.programs.addresses import FILE_URL, file_names
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Reading, Value
from shield.facts.programs.sockets import PIECE, endpoint
from shield.regex import regex
from shield.types import Access, Operation

__all__ = ["CURL", "stored_as"]

_FLAGS_TEXT = """
-s -S -f -L -v -i -I -k -g -G -N -a -B -j -l -M -p -q -R -Z -# -0 -1 -2 -3 -4 -6 --silent --show-error --fail
--location --verbose --include --head --insecure --globoff --get --no-buffer --compressed --http1.1 --http2 --http3
--ipv4 --ipv6 --fail-with-body --location-trusted --no-progress-meter --progress-bar --parallel --path-as-is --raw
--styled-output --tlsv1.2 --tlsv1.3 --create-dirs --no-keepalive --anyauth --basic --digest --negotiate
--junk-session-cookies --remote-time --remove-on-error --no-clobber --version --help --disable -V -h --append
--disallow-username-in-url --fail-early --http1.0 --http2-prior-knowledge --ignore-content-length --list-only --manual
--no-alpn --no-sessionid --ntlm --post301 --post302 --post303 --proxytunnel --retry-all-errors --retry-connrefused --ssl
--ssl-reqd --suppress-connect-headers --tcp-nodelay --tlsv1 --tlsv1.0 --tlsv1.1 --tr-encoding --use-ascii
"""
_FLAGS = frozenset(_FLAGS_TEXT.split())
_TEXT_TEXT = """
-X -H -A -e -u -U -m -r -w -y -Y -z -C -P -t --request --header --user-agent --referer --user --max-time --range
--write-out --connect-timeout --retry --retry-delay --retry-max-time --max-redirs --limit-rate --speed-time
--speed-limit --oauth2-bearer --max-filesize --data-raw --aws-sigv4 --form-string --ciphers --proto --proto-redir
--continue-at --expect100-timeout --happy-eyeballs-timeout-ms --keepalive-time --proxy-user --time-cond --tls-max
--tls13-ciphers
"""
_TEXT = frozenset(_TEXT_TEXT.split())
_DATA_TEXT = """
-d -b -F --data --data-ascii --data-binary --data-urlencode --json --cookie --form --url-query --variable
"""
_DATA = frozenset(_DATA_TEXT.split())
_READ_TEXT = """
--key --cacert --capath --netrc-file --ca --crlfile --etag-compare
"""
_READ = frozenset(_READ_TEXT.split())
_WRITE_TEXT = """
-c -D --cookie-jar --dump-header --trace --trace-ascii --stderr --etag-save --hsts
--alt-svc --libcurl
"""
_WRITE = frozenset(_WRITE_TEXT.split())
_HOST_TEXT = """
-x --proxy --preproxy --socks5 --socks4 --socks5-hostname --doh-url --url --haproxy-clientip
"""
_HOST = frozenset(_HOST_TEXT.split())
_UPLOADS = frozenset(("-T", "--upload-file"))
_CERTIFICATES = frozenset(("-E", "--cert"))
_NAMED = frozenset(("-O", "--remote-name", "--remote-name-all"))
# A file of a form, or one more of the same field (`x=@a,b`); in quotes it may hold anything.
_FORM_FILE = regex(r'[@<,]\s*(?:"((?:[^"\\]|\\.)*)"|([^;,]+))')
_URL_NAME = regex(r"(?:[A-Za-z][A-Za-z0-9+.-]*://)?[^/?#]*([^?#]*)")


@dataclass(slots=True)
class _Curl:
    """What is put together of several options: where what is fetched goes."""

    call: Invocation
    words: list[Value]
    urls: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    folders: list[Value] = field(default_factory=list)
    named: bool = False

    @property
    def reading(self) -> Reading:
        return self.call.reading


def _curl(call: Invocation) -> bool:
    curl = _Curl(call, list(call.words))
    while curl.words:
        word = curl.words.pop(0)
        text = word.text
        if not word.fixed and (not word.head or word.many):
            call.reading.loose = True
            _fetched(curl, word)
        elif not (word.head or text).startswith("-"):
            _fetched(curl, word)
        elif text == "--" and word.fixed:
            while curl.words:
                _fetched(curl, curl.words.pop(0))
        elif text.startswith("--"):
            call.reading.flags.append(text)
            _option(curl, text, None)
        else:
            _cluster(curl, word)
    _written(curl)
    return True


def _cluster(curl: _Curl, word: Value) -> None:
    text = word.text if word.fixed else word.head
    for at in range(1, len(text)):
        letter = "-" + text[at]
        curl.reading.flags.append(letter)
        rest = text[at + 1 :]
        if letter in _FLAGS or letter in ("-O", "-J", "-n"):
            _option(curl, letter, None)
            continue
        joined = Value(text=word.text[at + 1 :], known=word.known, head=rest) if rest or not word.fixed else None
        _option(curl, letter, joined)
        return
    curl.reading.loose |= not word.fixed


def _option(curl: _Curl, name: str, joined: Value | None) -> None:
    reading = curl.reading
    if name in _FLAGS or _takes_none(curl, name):
        return
    value = joined if joined is not None else (curl.words.pop(0) if curl.words else None)
    if value is None:
        reading.caution()
        return
    reading.loose |= value.many
    if name in _DATA:
        _sent(curl.call, name, value)
    elif name in _UPLOADS or name in _CERTIFICATES or name in _READ:
        _taken(reading, name, value)
    elif name in ("-o", "--output"):
        curl.outputs.append(value)
    elif name == "--output-dir":
        curl.folders.append(value)
    elif name in _WRITE:
        if value.text != "-":
            reading.path(value, *((Access.READ, Access.WRITE) if name in ("--hsts", "--alt-svc") else (Access.WRITE,)))
    elif name == "--url":
        _fetched(curl, value)
    elif name in _HOST:
        _host(curl.call, value)
    elif name in _TEXT:
        if name in ("-w", "-H", "--write-out", "--header") and (value.text.startswith("@") or "%output{" in value.text):
            reading.path(Value(text=value.text.lstrip("@"), known=value.known), Access.READ, Access.WRITE)
            reading.caution()
    else:
        # `-K`, `-Q`, `--resolve`, `--connect-to`, `--unix-socket`, `--engine` and whatever is not known.
        reading.caution()
        _instead(curl.call, name, value)
        if "://" in value.text:
            _fetched(curl, value)  # to a program that knows no such option, or gives it no value
        reading.use(Use.ANY, value)
        reading.unknown.append(f"what `{name[:80]}` of `curl` does is not known")


def _takes_none(curl: _Curl, name: str) -> bool:
    """Whether this option has no value; its effect, if it has one."""
    if name in _NAMED:
        curl.named = True
    elif name in ("-J", "--remote-header-name"):
        curl.reading.unknown.append("which file `curl` would write, the other side says")
    elif name in ("-n", "--netrc", "--netrc-optional"):
        home = posixpath.join(curl.call.context.place.home, ".netrc")
        curl.reading.path(Value(text=home, head=home), Access.READ)
    else:
        return False
    return True


def _taken(reading: Reading, name: str, value: Value) -> None:
    """A file that is sent, or says who sends: lists and ranges curl puts in for itself, a password may follow."""
    texts = (value.text, value.text.partition(":")[0]) if name in _CERTIFICATES else (value.text,)
    known = value.known and not (name in _UPLOADS and set(value.text) & set("[{"))
    for text in dict.fromkeys(texts):
        reading.path(value._replace(text=text, known=known, head=text if known else ""), Access.READ)


def _instead(call: Invocation, name: str, value: Value) -> None:
    """`--connect-to HOST1:PORT1:HOST2:PORT2` and `--resolve HOST:PORT:ADDRESS…`: where it connects in fact."""
    pieces = PIECE.findall(value.text)
    if name == "--connect-to" and len(pieces) >= 2 and value.known:
        call.reading.hosts.append(endpoint(pieces[-2], pieces[-1]))
    elif name == "--resolve" and len(pieces) >= 3 and value.known:
        call.reading.hosts.extend(
            endpoint(address, pieces[1]) for address in value.text.partition(pieces[1] + ":")[2].split(",")
        )


def _sent(call: Invocation, name: str, value: Value) -> None:
    text = value.text
    if name in ("-b", "--cookie"):
        files = [text.removeprefix("@")] if text.startswith("@") or "=" not in text else []
    elif name in ("-F", "--form"):
        found = _FORM_FILE.findall(text) if set(text) & set("@<") else []
        files = [re.sub(r"\\(.)", r"\1", quoted) or plain.strip() for quoted, plain in found]
    elif name in ("--data-urlencode", "--url-query"):
        files = [text.partition("@")[2]] if "@" in text and "=" not in text.partition("@")[0] else []
    else:
        files = re.findall(r"@(.+)", text, re.DOTALL) if "@" in text[:1] or name == "--variable" else []
    for file in files:
        if file != "-":
            call.reading.path(Value(text=file, known=value.known, head=file if value.known else ""), Access.READ)
    if not value.fixed and not value.head:
        call.reading.path(value, Access.READ)


def _fetched(curl: _Curl, word: Value) -> None:
    curl.urls.append(word)
    _host(curl.call, word)


def _host(call: Invocation, word: Value) -> None:
    text = word.text
    if FILE_URL.match(text):
        for path in file_names(text):
            known = word.known and not set(path) & set("[{")
            call.reading.path(Value(text=path, known=known, head=path if known else ""), Access.READ)
    elif re.search(r"[\[{]", text) and not re.match(r"(?i)\w+://\[[0-9a-f:.]+\]", text):
        call.reading.hosts.append(Value(text=text, known=False))  # curl expands lists and ranges itself
        call.reading.operations.add(Operation.NETWORK)
    else:
        # An unknown end of a URL cannot move its host once the path has begun.
        fixed = word.fixed or word.pattern is not None or bool(re.match(r"\w+://[^/?#@\\]+/", word.head))
        host = word.text if word.fixed or word.pattern is not None else word.head
        call.reading.hosts.append(Value(text=host if fixed else text, known=fixed, head=text))
        call.reading.operations.add(Operation.NETWORK)


def _written(curl: _Curl) -> None:
    folder = curl.folders[-1] if curl.folders else None
    for output in curl.outputs:
        if output.text != "-":
            curl.reading.path(_inside(folder, output), Access.WRITE)
    if curl.named:
        here = folder or Value(text=".", head=".")
        for url in curl.urls:
            for name in stored_as(url, here):
                curl.reading.path(name, Access.WRITE)


def _inside(folder: Value | None, name: Value) -> Value:
    if folder is None or folder.text == "." or name.head.startswith("/"):
        return name
    known = folder.known and name.known
    text = f"{folder.text}/{name.text}"
    return Value(text=text, known=known, head=text if known else folder.head if folder.known else "")


def stored_as(url: Value, folder: Value) -> list[Value]:
    """The file in `folder` that goes by the name of what is at `url`, which some programs decode; else `folder`."""
    found = _URL_NAME.match(url.text) if url.fixed or url.pattern is not None else None  # `?` matches no file
    last = posixpath.basename(found[1]) if found is not None else ""
    names = dict.fromkeys(name for name in (last, unquote(last, errors="surrogateescape")) if name)
    return [_inside(folder, Value(text=name, head=name)) for name in names] or [folder]


CURL: Mapping[str, Special] = MappingProxyType({"curl": _curl})

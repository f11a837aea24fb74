"""How `shield model` reads lines and files: as they come, bounded, and strictly."""

import os
import threading

import pytest

from shield.cli.model_rows import MAX_BYTES, Row, Source, Unread, batches, file_row, opened, plain_row, read_row
from shield.errors import ConfigError, InputError, Reason
from shield.types import TextKind


def through_a_pipe(*pieces):
    """All batches of what is written in these pieces, the next one only after the lines before were given out."""
    read, write = os.pipe()
    found = []
    taken = threading.Semaphore(0)

    def writing():
        for piece in pieces:
            left = memoryview(piece)
            while left:
                left = left[os.write(write, left) :]
            if piece.endswith(b"\n"):
                assert taken.acquire(timeout=20)
        os.close(write)

    writer = threading.Thread(target=writing)
    writer.start()
    for batch in batches(Source(descriptor=read, name="a pipe")):
        found.append(list(batch))
        taken.release()
    writer.join()
    os.close(read)
    return found


def test_a_line_is_given_out_before_the_next_one_comes():
    # the writer goes on only when the line before was answered: reading ahead would never end
    assert through_a_pipe(b"one\n", b"two\r\n", b"last") == [[(1, b"one")], [(2, b"two")], [(3, b"last")]]


def test_lines_that_come_together_are_read_together_but_not_without_bound():
    found = through_a_pipe(b"x\n" * 150)
    assert [len(batch) for batch in found] == [64, 64, 22]
    assert [number for batch in found for number, _ in batch] == list(range(1, 151))


def test_an_empty_line_is_a_line_and_nothing_is_none():
    assert through_a_pipe(b"\n") == [[(1, b"")]]
    assert through_a_pipe() == []


@pytest.mark.parametrize("ending", [b"", b"\n"])
def test_a_line_that_is_too_long_is_refused_and_the_next_one_read(ending, tmp_path):
    path = tmp_path / "long"
    path.write_bytes(b"a" * (MAX_BYTES + 1) + b"\n" + b"b" * MAX_BYTES + b"\n" + b"c" * (2 * MAX_BYTES) + ending)
    with opened(str(path)) as source:
        found = [row for batch in batches(source) for row in batch]
    assert [number for number, _ in found] == [1, 2, 3]
    assert isinstance(found[0][1], InputError)
    assert found[0][1].reason is Reason.INPUT_SIZE
    assert len(found[1][1]) == MAX_BYTES
    assert isinstance(found[2][1], InputError)


def test_a_row_has_id_text_and_kind():
    row = read_row(7, b'{"id":"a","text":"x","kind":"url","label":1}', TextKind.CODE)
    assert row == Row(id="a", line=7, text="x", kind=TextKind.URL)
    assert read_row(7, b'{"text":"x"}', TextKind.CODE) == Row(id="7", line=7, text="x", kind=TextKind.CODE)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", Reason.INPUT_JSON),
        (b"[]", Reason.INPUT_FIELD),
        (b'{"id":"a","kind":"url"}', Reason.INPUT_FIELD),
        (b'{"id":"a","text":null,"kind":"url"}', Reason.INPUT_FIELD),
        (b'{"id":1,"text":"x","kind":"url"}', Reason.INPUT_FIELD),
        (b'{"id":"a","text":"x"}', Reason.INPUT_FIELD),
        (b'{"id":"a","text":"x","kind":"URL"}', Reason.INPUT_FIELD),
        (b'{"id":"a","text":"x","kind":["url"]}', Reason.INPUT_FIELD),
        (b'{"id":"a","text":"safe","text":"x","kind":"url"}', Reason.INPUT_DUPLICATE_KEY),
        (b'{"id":"a","text":"\\ud800","kind":"url"}', Reason.INPUT_SURROGATE),
        (b'{"id":"a","text":"\xff","kind":"url"}', Reason.INPUT_ENCODING),
    ],
)
def test_what_is_no_row_is_refused(line, reason):
    row = read_row(3, line, None)
    assert isinstance(row, Unread)
    assert (row.line, row.error.reason) == (3, reason)


def test_the_mark_of_utf_8_belongs_to_no_line():
    mark = "\ufeff".encode()
    assert through_a_pipe(mark + b"one\n", mark + b"two") == [[(1, b"one")], [(2, mark + b"two")]]
    assert through_a_pipe(mark + b"one") == [[(1, b"one")]]


def test_a_line_that_is_not_utf_8_is_told_so_as_a_line_of_a_file():
    row = read_row(3, b'{"id":"a","text":"\xff","kind":"url"}', None, file="t.jsonl")
    assert (row.error.detail, row.error.offset, row.file) == ("not UTF-8; save it as UTF-8", 18, "t.jsonl")
    many = read_row(3, b'{"id":"a","more":[' + b"0," * 20_000 + b"0]}", None)
    assert many.error.reason is Reason.INPUT_NODES
    assert "action" not in many.error.detail


@pytest.mark.parametrize("line", [b"", b" \t"])
def test_an_empty_line_is_called_that(line):
    assert read_row(3, line, None).error.detail == "the line is empty; remove it"


def test_a_plain_line_is_the_text():
    assert plain_row(1, b'{"a":1}', TextKind.PROSE) == Row(id="1", line=1, text='{"a":1}', kind=TextKind.PROSE)
    undecodable = plain_row(1, b"a\xff", TextKind.PROSE)
    assert (undecodable.error.reason, undecodable.error.offset) == (Reason.INPUT_ENCODING, 1)
    refused = InputError("no", reason=Reason.INPUT_SIZE)
    assert plain_row(2, refused, TextKind.PROSE) == Unread(line=2, error=refused)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("\ufeffé".encode(), "é"),
        ("\ufeffignore".encode("utf-32-le"), "ignore"),
        ("\ufeffignore".encode("utf-32-be"), "ignore"),
        ("ignore".encode("utf-16"), "ignore"),
        (b"\xfe\xff" + "ignore".encode("utf-16-be"), "ignore"),
        (b"", ""),
    ],
)
def test_a_file_is_one_text_however_it_is_encoded(raw, text, tmp_path):
    path = tmp_path / "f.md"
    path.write_bytes(raw)
    assert file_row(str(path), TextKind.PROSE) == Row(id=str(path), line=1, text=text, kind=TextKind.PROSE)


@pytest.mark.parametrize(
    ("raw", "text", "why"),
    [
        (b"a\xffb", "a�b", "it is not UTF-8 (at byte 1)"),
        (b"\xef\xbb\xbfab\xe9", "ab�", "it is not UTF-8 (at byte 5)"),
        ("ig".encode("utf-16") + b"\x00", "ig�", "it is not UTF-16 (at byte 6)"),
        (b"\xff\xfe\x00\x00i\x00g\x00", "�", "it is not UTF-32 (at byte 4)"),
    ],
)
def test_what_cannot_be_decoded_was_not_read_whole(raw, text, why, tmp_path):
    path = tmp_path / "f.md"
    path.write_bytes(raw)
    row = file_row(str(path), TextKind.PROSE)
    assert (row.text, row.unread) == (text, f"{why}, so not all of it was read; save it as UTF-8")


def test_a_file_that_fails_while_it_is_read_is_named():
    with pytest.raises(ConfigError, match="`/proc/self/mem` cannot be read: input/output error"):
        file_row("/proc/self/mem", TextKind.PROSE)
    with pytest.raises(ConfigError, match="`/proc/self/mem`"), opened("/proc/self/mem") as source:
        list(batches(source))


def test_what_is_no_file_is_an_error_and_never_waited_for(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "large").write_bytes(b"x" * (MAX_BYTES + 1))
    for name, said in (
        ("fifo", "not a regular file"),
        ("none", "no such file"),
        (".", "is a folder; name its files"),
        ("large", "split it"),
        ("a\0b", "not a path"),
    ):
        with pytest.raises(ConfigError, match=said):
            file_row(f"{tmp_path}/{name}", TextKind.PROSE)

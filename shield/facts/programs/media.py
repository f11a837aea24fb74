"""Programs that show, cut and convert sound, films and pictures: ffmpeg, ffprobe, sox, soxi, flac, optipng and kin.

All of them take more than files: ffmpeg opens addresses, devices and playlists that name further files, by what a file
holds and not by its name, and some of its filters read, write or load others; to sox a name that begins with `|` is a
command. So only this is known: files by plain names that hold sound, film or dots by their first bytes, listed options
with plain values, listed filters and effects without the name of a file. Sources: ffmpeg.org, "ffmpeg", "Filters" and
"Formats"; sox(1); flac(1); optipng(1); jpegoptim(1); pngquant(1).
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from shield.facts.filesystem import FileKind, FileSystem, FileSystemUnknownError
from shield.facts.paths import resolve_path
from shield.facts.programs.filters import plain_effects, plain_filters
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import PathUse, Value
from shield.facts.programs.shrinking import Work, flac, jpegoptim, optipng, pngquant
from shield.regex import regex
from shield.types import Access, Operation

__all__ = ["MEDIA"]

_MAX_FILES, _MAX_WORD = 64, 512
_SOUND = r"wav|flac|mp3|ogg|oga|opus|m4a|aac|aiff?"
_FILM = r"mp4|m4v|mov|mkv|webm"
_DOTS = r"png|jpe?g|gif|webp|bmp"
_NAME = regex(
    rf"(?:\.{{0,2}}/)?(?:[A-Za-z0-9_.][A-Za-z0-9_. +-]*/)*[A-Za-z0-9_][A-Za-z0-9_. +-]*\."
    rf"(?i:{_SOUND}|{_FILM}|{_DOTS}|meta)"
)
# What files begin with that name no others; not `RIFF…AVI `, whose subtitles may be a playlist.
_HOLDS = regex(
    rb"RIFF....(?:WAVE|WEBP)|fLaC|OggS|\xff[\xe2-\xfd]|....ftyp|\x1aE\xdf\xa3|FORM....AIF[FC]|\x89PNG\r\n\x1a\n"
    rb"|\xff\xd8\xff|GIF8[79]a|BM....\0\0\0\0|;FFMETADATA1",
    re.DOTALL,
)
_FIRST = 16
# Behind such a tag ffmpeg looks for what the file holds, a playlist among it.
_TAGGED = regex(rb"ID3[\2-\4].([\0-\xff])([\0-\x7f]{4})", re.DOTALL)
_FOLLOWS = regex(rb"\xff[\xe2-\xfd]|fLaC")
_STEERING = ("AV_", "FFREPORT", "FFMPEG_", "SOX_", "LADSPA_", "LV2_", "FREI0R_", "LAME", "MAGICK")
_PLAIN = regex(r"[A-Za-z0-9_.:+,\[\]*?/ =-]*")
_FFMPEG_FLAGS_TEXT = """
-y -n -hide_banner -nostdin -vn -an -sn -dn -shortest -stats -nostats -re -copyts -bitexact -autorotate -noautorotate
-ignore_unknown
"""
_FFMPEG_FLAGS = frozenset(_FFMPEG_FLAGS_TEXT.split())
_OF_STREAM = r"(?::[\w:.?-]+)?"
# Options with a value by their names, of which some take a stream behind a colon.
_FFMPEG_VALUES = regex(
    rf"-(?:(?:c|codec|b|q|frames|r|s|pix_fmt|profile|disposition|metadata|map_metadata|aspect|g|bf|crf|maxrate|bufsize"
    rf"|preset|tune|level|ac|ar|sample_fmt){_OF_STREAM}|acodec|vcodec|ab|vb|aq|vframes|ss|to|t|itsoffset|loglevel|v|threads|map|map_chapters"
    r"|movflags|id3v2_version|write_id3v1|loop|compression_level|fps_mode|vsync|strict|qscale|framerate|stream_loop"
    r"|avoid_negative_ts|fflags|flags|channel_layout|ch_layout|frame_size|vbr|application|max_muxing_queue_size)"
)
_FILTERS = regex(rf"-(?:af|vf|filter{_OF_STREAM}|filter_complex|lavfi)")
_FORMS = frozenset(
    (
        "null",
        "wav",
        "mp3",
        "flac",
        "ogg",
        "opus",
        "mp4",
        "matroska",
        "webm",
        "ipod",
        "adts",
        "image2",
        "gif",
        "aiff",
        "mov",
    )
)
_FFPROBE_FLAGS_TEXT = """
-hide_banner -show_format -show_streams -show_packets -show_frames -show_chapters -show_error -show_programs -pretty
-unit -sexagesimal -bitexact -count_frames -count_packets -show_private_data
"""
_FFPROBE_FLAGS = frozenset(_FFPROBE_FLAGS_TEXT.split())
_FFPROBE_VALUES = frozenset(
    ("-v", "-loglevel", "-print_format", "-of", "-output_format", "-show_entries", "-select_streams", "-read_intervals")
)
_SOX_FLAGS = regex(
    r"-(?:[qSGDRLB]|V[0-6]?|-norm(?:=-?[\d.]+)?|-no-show-progress|m|M)|--(?:combine=[a-z-]+|norm(?:=-?[\d.]+)?)"
)
_SOX_VALUES = frozenset(("-r", "-b", "-c", "-e", "-v", "-C"))


def _media(call: Invocation) -> bool:
    """Take the program for what its words say, where all of them are known; else it is a person's to decide."""
    words = list(call.words)
    known = all(len(word.text) <= _MAX_WORD and word.fixed for word in words)
    work = _READERS[call.name.rpartition("/")[2]](words) if known and not _is_steered(call) else None
    names = None if work is None else _names(call, work)
    if work is None or names is None:
        call.reading.caution()
        call.reading.ask(f"`{call.name}`: its words may name programs and addresses, and so may what its files hold")
        for word in call.words:
            if not word.text.startswith("-"):
                call.reading.use(Use.ANY, word)
        return True
    call.reading.operations.add(Operation.READ)
    for path in names:
        # INVARIANT: what is judged by its content is bound by it, and no earlier command of the line writes it
        call.reading.paths.append(PathUse(value=Value(text=path, head=path), access=Access.EXECUTE))
        call.reading.operations.add(Operation.EXECUTE)
    for word in work.reads:
        call.reading.path(word, Access.READ)
    for word in work.writes:
        call.reading.path(word, Access.WRITE)
        call.reading.operations.add(Operation.WRITE)
    return True


def _is_steered(call: Invocation) -> bool:
    named = {**call.context.place.env, **call.context.told}
    return call.context.base is None or any(name.startswith(_STEERING) for name in named)


def _names(call: Invocation, work: Work) -> list[str] | None:
    """The files that are read, by their resolved paths; None where one is not plain, or does not hold what it says."""
    files, found = call.context.place.files, list[str]()
    if not work.reads or not all(_NAME.fullmatch(word.text) for word in (*work.reads, *work.writes)):
        return None
    try:
        for word in work.reads:
            raw = word.text if word.text.startswith("/") else f"./{word.text}"
            path = resolve_path(raw, call.context.place, base=call.context.base, expand_tilde=False)
            if path.path is None or path.symlink:
                return None
            stat = files.lstat(path.path)
            if stat is not None and (stat.kind is not FileKind.FILE or not _holds(files, path.path)):
                return None
            found.append(path.path)
    except FileSystemUnknownError:
        return None
    return found if len(found) <= _MAX_FILES else None


def _holds(files: FileSystem, path: str) -> bool:
    """Whether it is sound, a film or dots."""
    head = files.piece(path, 0, _FIRST)
    tag = _TAGGED.match(head)
    if tag is None:
        return _HOLDS.match(head) is not None
    size = sum(part << 7 * (3 - at) for at, part in enumerate(tag[2])) + 10 + 10 * bool(tag[1][0] & 0x10)
    return _FOLLOWS.match(files.piece(path, size, _FIRST)) is not None


def _ffmpeg(words: list[Value]) -> Work | None:
    work, form = Work(), ""
    while words:
        word = words.pop(0)
        if not word.text.startswith("-") or word.text == "-":
            if word.text in ("-", "/dev/null"):
                if form != "null":
                    return None
            else:
                work.writes.append(word)
            form = ""
        elif word.text not in _FFMPEG_FLAGS:
            value = words.pop(0) if words else None
            if value is None:
                return None
            if word.text == "-i":
                work.reads.append(value)
                form = ""
            elif word.text == "-f":
                form = value.text
                if form not in _FORMS:
                    return None
            elif _FILTERS.fullmatch(word.text):
                if not plain_filters(value.text):
                    return None
            elif not _is_plain(word.text, value.text):
                return None
    # One that is written and read at once is neither.
    texts = [each.text for each in work.reads]
    return work if not any(each.text in texts for each in work.writes) else None


def _is_plain(option: str, value: str) -> bool:
    """Whether the option is listed, and its value neither a file's name nor more; `-metadata` takes any text."""
    if _FFMPEG_VALUES.fullmatch(option) is None:
        return False
    return option.startswith("-metadata") or _PLAIN.fullmatch(value) is not None


def _ffprobe(words: list[Value]) -> Work | None:
    work = Work()
    while words:
        word = words.pop(0)
        if word.text == "-i" and words:
            work.reads.append(words.pop(0))
        elif not word.text.startswith("-"):
            work.reads.append(word)
        elif word.text in _FFPROBE_VALUES and words:
            if not _PLAIN.fullmatch(words.pop(0).text):
                return None
        elif word.text not in _FFPROBE_FLAGS:
            return None
    return work


def _sox(words: list[Value]) -> Work | None:
    files = list[Value]()
    nothing = False
    while words:
        word = words.pop(0)
        if word.text == "-n":
            nothing = True
            break
        if word.text in _SOX_VALUES and words:
            if not re.fullmatch(r"[\w.-]+", words.pop(0).text):
                return None
        elif not word.text.startswith("-") and _NAME.fullmatch(word.text):
            files.append(word)
        elif not _SOX_FLAGS.fullmatch(word.text):
            words.insert(0, word)
            break
    if not plain_effects([word.text for word in words]):
        return None
    if nothing:
        return Work(reads=files)
    return Work(reads=files[:-1], writes=files[-1:]) if len(files) > 1 else None


def _soxi(words: list[Value]) -> Work | None:
    options = [word for word in words if word.text.startswith("-")]
    known = all(re.fullmatch(r"-[trcsdDbBpea]", word.text) for word in options)
    return Work(reads=[word for word in words if not word.text.startswith("-")]) if known else None


_READERS: Mapping[str, Callable[[list[Value]], Work | None]] = MappingProxyType(
    {
        "ffmpeg": _ffmpeg,
        "ffprobe": _ffprobe,
        "sox": _sox,
        "soxi": _soxi,
        "flac": flac,
        "optipng": optipng,
        "jpegoptim": jpegoptim,
        "pngquant": pngquant,
    }
)
MEDIA: Mapping[str, Special] = MappingProxyType({"media": _media})

"""Programs that show, shrink and convert pictures: ImageMagick (identify, convert, mogrify, magick), cwebp, exiftool.

ImageMagick takes `http:x`, `msl:x`, `text:x`, `label:@x`, `@x` and more for operands, starts other programs for many
forms, and goes by what a file holds and not by its name: a `.png` may be a drawing that names files and addresses. So
only this is known: files that hold a picture of dots by their first bytes, options that name nothing else, and names
without a colon, an `@`, a `%` or a bracket. A PNG may name a file that is read into the copy (CVE-2022-44268).
Sources: imagemagick.org, "Command-line Options" and "Security Policy"; cwebp(1); exiftool(1).
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.glob import matches
from shield.facts.paths import resolve_path
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import PathUse, Value
from shield.regex import regex
from shield.types import Access, Operation

__all__ = ["PICTURES"]

_MAX_PICTURE = 16_777_216
_MAX_IN_ALL = 67_108_864
_MAX_PICTURES = 200
_FORMS = r"(?i:png|jpe?g|gif|webp|bmp|tiff?)"
_NAME = regex(rf"(?:\.{{0,2}}/)?(?:[A-Za-z0-9_.][A-Za-z0-9_. +-]*/)*[A-Za-z0-9_][A-Za-z0-9_. +-]*\.{_FORMS}")
_PATTERN = regex(r"[A-Za-z0-9_./][A-Za-z0-9_./*?+-]*")
_FOLDER = regex(r"/?[A-Za-z0-9_.][A-Za-z0-9_.+-]*(?:/[A-Za-z0-9_.+-]+)*/?")
_MAX_WORD = 256
# The first bytes of pictures that are dots and nothing else.
_DOTS = regex(rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8[79]a|RIFF....WEBP|BM....\0\0\0\0|II\*\0|MM\0\*", re.DOTALL)
_NAMES_FILE = regex(rb"(?i)[tzi](?:EXt|TXt)profile\0")
# Settings that lie where it is started, or are named by the surroundings.
_STEERING = ("MAGICK", "EXIFTOOL_HOME", "WEBP")
_SETTINGS_TEXT = """
delegates.xml policy.xml type.xml colors.xml coder.xml configure.xml log.xml magic.xml mime.xml thresholds.xml
quantization-table.xml english.xml locale.xml francais.xml .ExifTool_config
"""
_SETTINGS = tuple(_SETTINGS_TEXT.split())
# Of these the ones that say what is started; an earlier command of the line may put them there.
_STARTING = MappingProxyType(
    {
        **dict.fromkeys(("identify", "convert", "mogrify", "montage", "compare"), "delegates.xml"),
        "exiftool": ".ExifTool_config",
    }
)

_SIZE = r"[0-9.]*%?x?[0-9.]*%?(?:[-+][0-9]+){0,2}[%!<>^#@]?"
_NUMBER, _WORD = r"[-+]?[0-9.]+(?:[x,][-+]?[0-9.]+)*%?", r"[A-Za-z][A-Za-z0-9-]*"
_COLOR = r"#[0-9A-Fa-f]{3,8}|[A-Za-z]+[0-9]*"
_MAGICK_FLAGS_TEXT = """
-auto-orient -strip -flip -flop -flatten +repage -trim -negate -normalize -equalize -monochrome -transpose -transverse
-quiet -verbose -ping -auto-level -auto-gamma +profile -coalesce
"""
_MAGICK_VALUES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("-resize", "-thumbnail", "-scale", "-sample", "-crop", "-extent", "-border"), _SIZE),
        **dict.fromkeys(("-quality", "-rotate", "-density", "-blur", "-sharpen", "-unsharp", "-gamma"), _NUMBER),
        **dict.fromkeys(("-depth", "-colors", "-level", "-modulate", "-posterize", "-fuzz"), _NUMBER),
        **dict.fromkeys(("-gravity", "-colorspace", "-interlace", "-type", "-alpha", "-units", "-filter"), _WORD),
        **dict.fromkeys(("-background", "-bordercolor", "-fill", "-transparent"), _COLOR),
        "-sampling-factor": r"[0-9]:[0-9]:[0-9]|[0-9]x[0-9]",
        **dict.fromkeys(("-pointsize", "-strokewidth", "-shave", "-splice"), _NUMBER),
        **dict.fromkeys(("-stroke", "-undercolor"), _COLOR),
        "-tile": r"[0-9]*x[0-9]*",
        "-geometry": _SIZE,
        "-metric": _WORD,
    }
)
_CWEBP_VALUES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("-q", "-m", "-z", "-alpha_q", "-near_lossless", "-pass", "-f"), _NUMBER),
        **dict.fromkeys(("-sns", "-size", "-psnr"), _NUMBER),
        "-preset": _WORD,
        "-metadata": r"[a-z]+(?:,[a-z]+)*",
    }
)
_CWEBP_FLAGS_TEXT = "-quiet -lossless -mt -v -short -sharp_yuv -noalpha -exact -af -strong -nostrong -progress"
# By their full names: all others may be options that write or run something.
_TAGS = (
    r"(?i:(?:gps|exif|iptc|xmp|file|composite|all|icc_profile|makernotes|ifd0)(?::all)?|common)|ImageSize|ImageWidth"
    r"|ImageHeight|DateTimeOriginal|CreateDate|ModifyDate|Orientation|Make|Model|GPSLatitude|GPSLongitude|GPSPosition"
    r"|GPSAltitude|FileSize|FileType|MIMEType|Artist|Copyright|Title|Description|Keywords|Subject|LensModel|FocalLength"
    r"|ISO|ExposureTime|FNumber|Software|ColorSpace"
)
_EXIF = regex(rf"-(?:[nsSGaujqTe]|s[123]|G[0-7]|{_TAGS})")
_FORMAT = regex(
    r"(?:[\w .,:;()/=|-]|\\[nt]|%[A-Za-z%]|%\[(?:colorspace|channels|type|orientation|bit-depth|depth|mean|entropy"
    r"|standard-deviation|width|height|size|magick|units|resolution\.[xy]|quality|interlace|compression|opaque)\])+"
)
# What is drawn: neither the name of a file (`@x`) nor a question (`%[…]`).
_DRAWN = regex(r"(?!@)[\w .,:;!?()'/+-]*")


@dataclass(slots=True)
class _Work:
    """What a tool reads and writes; `folder`: where copies of all that is read come to lie, under the same names."""

    reads: list[Value] = field(default_factory=list)
    writes: list[Value] = field(default_factory=list)
    folder: Value | None = None


def _pictures(call: Invocation) -> bool:
    """Take the tool for what its words say, where all of them are known; else it is a person's to decide."""
    name, words = call.name, list(call.words)
    if name == "magick":
        name = "convert"
        if words and words[0].fixed and words[0].text in ("identify", "mogrify", "convert", "montage", "compare"):
            name = words.pop(0).text
    short = all(len(word.text) <= _MAX_WORD for word in words)
    work = _READERS[name](words, name) if short else None
    names = None if work is None or _is_steered(call) else _names(call, work)
    if work is None or names is None or not _hold_dots(call, names):
        call.reading.caution()
        call.reading.ask(f"`{call.name}`: its words may name programs and addresses, and so may what the pictures hold")
        for word in call.words:
            if not word.text.startswith("-"):
                call.reading.use(Use.ANY, word)
        return True
    call.reading.operations.add(Operation.READ)
    bound = [f"{call.context.base}/{_STARTING[name]}"] if name in _STARTING else []
    for path in (*names, *bound):
        # INVARIANT: what is judged by its content is bound by it, and no earlier command of the line writes it
        call.reading.paths.append(PathUse(value=Value(text=path, head=path), access=Access.EXECUTE))
        call.reading.operations.add(Operation.EXECUTE)
    for word in work.reads:
        call.reading.path(word, Access.READ)
        if work.folder is not None:
            call.reading.paths.append(PathUse(value=work.folder, access=Access.WRITE, below=word))
    for word in work.writes:
        call.reading.path(word, Access.WRITE)
    if work.writes or work.folder is not None:
        call.reading.operations.add(Operation.WRITE)
    return True


def _magick(words: list[Value], name: str) -> _Work | None:
    flags = frozenset(_MAGICK_FLAGS_TEXT.split())
    work = _Work()
    while words:
        word = words.pop(0)
        if not word.text.startswith(("-", "+")):
            work.reads.append(word)
        elif not word.fixed:
            return None
        elif word.text == "-annotate" and len(words) > 1 and all(each.fixed for each in words[:2]):
            where, text, words = words[0].text, words[1].text, words[2:]
            if not re.fullmatch(_SIZE, where) or not _DRAWN.fullmatch(text):
                return None
        elif word.text not in flags:
            value = words.pop(0) if words else None
            if value is None or not value.fixed:
                return None
            form = _MAGICK_VALUES.get(word.text)
            if word.text == "-path" and name == "mogrify" and _FOLDER.fullmatch(value.text):
                work.folder = value
            elif word.text == "-format" and name == "identify" and _FORMAT.fullmatch(value.text):
                continue
            elif form is None or not re.fullmatch(form, value.text):
                return None
    if name in ("convert", "montage", "compare"):
        if len(work.reads) < (3 if name == "compare" else 2) or not work.reads[-1].fixed:
            return None
        work.writes.append(work.reads.pop())
    elif name == "mogrify" and work.folder is None:
        work.writes += work.reads
    return work


def _cwebp(words: list[Value], _: str) -> _Work | None:
    flags = frozenset(_CWEBP_FLAGS_TEXT.split())
    work = _Work()
    while words:
        word = words.pop(0)
        if not word.text.startswith("-"):
            work.reads.append(word)
        elif not word.fixed:
            return None
        elif word.text not in flags:
            count = {"-resize": 2, "-crop": 4}.get(word.text, 1)
            values, words = words[:count], words[count:]
            form = _NUMBER if count > 1 else _CWEBP_VALUES.get(word.text)
            if word.text == "-o" and values:
                work.writes += values
            elif form is None or not all(value.fixed and re.fullmatch(form, value.text) for value in values):
                return None
    return work if len(work.reads) == 1 and work.reads[0].fixed else None


def _exiftool(words: list[Value], _: str) -> _Work | None:
    options = [word for word in words if word.text.startswith("-")]
    known = all(word.fixed and _EXIF.fullmatch(word.text) for word in options)
    return _Work(reads=[word for word in words if not word.text.startswith("-")]) if known else None


_READERS = MappingProxyType(
    {
        "montage": _magick,
        "compare": _magick,
        "identify": _magick,
        "convert": _magick,
        "mogrify": _magick,
        "cwebp": _cwebp,
        "exiftool": _exiftool,
    }
)


def _is_steered(call: Invocation) -> bool:
    """Whether settings may say that another program is to be started."""
    place, base = call.context.place, call.context.base
    named = {**place.env, **call.context.told}
    if base is None or any(name.startswith(_STEERING) for name in named):
        return True
    try:
        return any(place.files.lstat(posixpath.join(base, name)) is not None for name in _SETTINGS)
    except FileSystemUnknownError:
        return True


def _names(call: Invocation, work: _Work) -> list[str] | None:
    """The files that are read, by their resolved paths; None where a word may be more than the name of one."""
    if not work.reads or not all(word.fixed and _NAME.fullmatch(word.text) for word in work.writes if word.fixed):
        return None
    if any(not word.fixed and word not in work.reads for word in work.writes):
        return None
    found: list[str] = []
    for word in work.reads:
        texts = list(_texts(call, word))
        if not all(_NAME.fullmatch(text) for text in texts):
            return None
        for text in texts:
            raw = text if text.startswith("/") else f"./{text}"
            path = resolve_path(raw, call.context.place, base=call.context.base, expand_tilde=False)
            if path.path is None or path.symlink:
                return None
            found.append(path.path)
    return found if len(found) <= _MAX_PICTURES else None


def _texts(call: Invocation, word: Value) -> Iterator[str]:
    """What the word may be to the program; something that is no name where that is not known."""
    if word.fixed:
        yield word.text
        return
    pattern, base = word.pattern, call.context.base
    if pattern is None or not word.known or word.fresh or base is None or not _PATTERN.fullmatch(pattern):
        yield ""
        return
    try:
        found = matches(posixpath.join(base, pattern), call.context.place.files)
    except FileSystemUnknownError:
        yield ""
        return
    lead = "" if pattern.startswith("/") else base.rstrip("/") + "/"
    yield from (path.removeprefix(lead) for path in found)


def _hold_dots(call: Invocation, names: list[str]) -> bool:
    """Whether every file that is there holds a picture of dots, and names no other file."""
    files, left = call.context.place.files, _MAX_IN_ALL
    try:
        for path in names:
            stat = files.lstat(path)
            if stat is None:
                continue
            left -= stat.size
            if stat.kind is not FileKind.FILE or stat.size > _MAX_PICTURE or left < 0:
                return False
            content = files.read(path, _MAX_PICTURE)
            if content is None or _DOTS.match(content) is None or _NAMES_FILE.search(content):
                return False
    except FileSystemUnknownError:
        return False
    return True


PICTURES: Mapping[str, Special] = MappingProxyType({"pictures": _pictures})

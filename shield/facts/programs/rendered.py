"""Sound, films and pictures that a command of the line makes for a later one to look at: what they hold is known.

A program that knows a form writes it whole, whatever it is given. Not so ffmpeg where it is told the form, or how to
write dots: then bytes of anybody's choice may stand in the file.
"""

from shield.regex import regex
from shield.types import CommandFact, Operation, Origin, RunsCode

__all__ = ["rendered"]

_PICTURES = frozenset(
    ("compare", "convert", "cwebp", "jpegoptim", "magick", "mogrify", "montage", "optipng", "pngquant")
)
_SOUND = frozenset(("ffmpeg", "flac", "sox"))
_LOOKING = _PICTURES | _SOUND | {"exiftool", "ffprobe", "identify", "soxi"}
_DOTS = regex(r".*\.(?i:png|jpe?g|gif|webp|bmp|tiff?)", flags=16)
_PLAIN = frozenset((Operation.READ, Operation.WRITE, Operation.EXECUTE))


def rendered(maker: CommandFact, user: CommandFact, path: str) -> bool:
    """Whether `maker` writes the file that `user` goes by as what its name says."""
    if not (_is_known(maker) and _is_known(user) and user.name in _LOOKING):
        return False
    if maker.name in _PICTURES:
        return _DOTS.fullmatch(path) is not None
    if maker.name not in _SOUND or "-f" in maker.argv[1:]:
        return False
    coded = any(word.startswith(("-c", "-codec", "-vcodec", "-pix_fmt")) for word in maker.argv[1:])
    return maker.name != "ffmpeg" or not coded or _DOTS.fullmatch(path) is None


def _is_known(command: CommandFact) -> bool:
    """Whether nothing is done but what its words say."""
    system = command.origin in (Origin.SYSTEM, Origin.USER) and not command.assignments
    # What it prints is no picture.
    told = all(each.target in ("/dev/null", "1", "2") for each in command.redirects if ">" in each.op)
    return system and told and command.runs_code is RunsCode.NONE and command.operations <= _PLAIN

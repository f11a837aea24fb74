"""Filters of ffmpeg and effects of sox that work on what goes through them, and read and write nothing else.

Of those that are not here some load a library (ladspa, frei0r), read a file (movie, lut3d, subtitles, noisered) or
write one (metadata, spectrogram). The value of an option may be put into a file instead (`/text=FILE`).
"""

from collections.abc import Sequence

from shield.regex import regex

__all__ = ["plain_effects", "plain_filters"]

_FILTERS_TEXT = """
acompressor acrossfade adeclick adelay aecho afade afftdn aformat agate alimiter aloop amerge amix anull apad aresample
asetpts asetrate asplit astats atempo atrim bass blackdetect boxblur channelmap channelsplit colorchannelmixer compand
concat crop cropdetect deesser drawbox dynaudnorm ebur128 eq equalizer extrastereo fade format fps freezedetect gblur
hflip highpass hstack hue loop loudnorm lowpass null overlay pad palettegen paletteuse pan rotate scale select setdar
setpts setsar showspectrumpic showwaves showwavespic silencedetect silenceremove speechnorm split stereotools thumbnail
tile transpose treble trim unsharp vflip volume volumedetect vstack xfade yadif zoompan
"""
_FILTERS = frozenset(_FILTERS_TEXT.split())
# Links before it, its name, and what it is told: without quotes that could hold a separator.
_FILTER = regex(r"\s*(?:\[[\w:]+\])*\s*([a-z0-9_]+)(?:@\w+)?(?:=([\w.:=|+*/<>()% -]*))?\s*(?:\[\w+\])*\s*")
_NAMES_FILE = regex(r"(?i)(?:file|path|model|dump|log|dir|url)\w*\s*=|(?:^|[:=])\s*/")
_MAX_GRAPH = 2_000
_EFFECTS_TEXT = """
allpass band bandpass bandreject bass bend biquad channels chorus compand contrast dcshift deemph delay dither
downsample earwax echo echos equalizer fade flanger gain highpass
hilbert loudness lowpass mcompand norm oops overdrive pad phaser
pitch rate remix repeat reverb reverse riaa silence sinc speed stat stats stretch swap synth tempo treble tremolo trim
upsample vad vol
"""
_EFFECTS = frozenset(_EFFECTS_TEXT.split())
# A number, a time, a share, several of them; one letter; a form of wave or of a fade.
_TOLD = regex(
    r"[-+=]?(?:\d|\.\d)[\w.,:%+-]*|-|-[A-Za-z]|-freq|-rms|[tqhlp]"
    r"|sine|square|triangle|sawtooth|trapezium|exp|(?:white|pink|brown|tpdf)?noise|mix|create|fmod|amod"
)


def plain_filters(graph: str) -> bool:
    """Whether all of a filter graph is listed, and names no file."""
    if len(graph) > _MAX_GRAPH:
        return False
    for each in (part for chain in graph.split(";") for part in chain.split(",")):
        found = _FILTER.fullmatch(each)
        if found is None or found[1] not in _FILTERS or (found[2] and _NAMES_FILE.search(found[2])):
            return False
    return True


def plain_effects(words: Sequence[str]) -> bool:
    """Whether the words are effects with plain values, if anything. INVARIANT: what is no value begins another effect,
    so a word that could be either is not taken for a value."""
    return not words or (words[0] in _EFFECTS and all(word in _EFFECTS or _TOLD.fullmatch(word) for word in words))

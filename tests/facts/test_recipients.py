"""Recipients, one by one; nothing hides a second one and no one is made to look like another."""

import pytest

from shield.facts.recipients import recipients


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a@b.example"], ("a@b.example",)),
        (["Ann <A@B.example>"], ("a@b.example",)),
        (['"Ann B" <a@b.example>'], ("a@b.example",)),
        (["a@b.example, c@d.example; e@f.example"], ("a@b.example", "c@d.example", "e@f.example")),
        (["a@b.example", "A@b.example"], ("a@b.example",)),
        (["mailto:a@b.example"], ("a@b.example",)),
        (["#general"], ("#general",)),
        (["@Bob"], ("@bob",)),
        (["+49 30 1234"], ("+49 30 1234",)),
        (["a@bücher.example"], ("a@xn--bcher-kva.example",)),
    ],
)
def test_understood(values: list[str], expected: tuple[str, ...]) -> None:
    assert recipients(values) == (expected, ())


@pytest.mark.parametrize(
    "value",
    [
        "",
        "  ",
        "a@b.example\nBcc: evil@x.example",
        "a@b.example evil@x.example",
        "a@b.example <evil@x.example>",
        "a@b@evil.example",
        "a%evil.example@b.example",
        "evil.example!a@b.example",
        '"a@b.example"@evil.example',
        "<a@b.example><evil@x.example>",
        "a\u200b@b.example",
        "mailto:a@b.example?bcc=evil@x.example",
        "a@b_.exa mple",
        "a@",
        "x" * 700,
    ],
)
def test_not_understood(value: str) -> None:
    found, unknown = recipients([value])
    assert unknown
    assert "a@b.example" not in found


def test_a_lookalike_stays_one() -> None:
    # U+FF41 and U+212A become ASCII letters under NFKC and lower(); the owner's `kay@b.example` is somebody else
    found, _ = recipients(["\uff41@b.example", "\u212aay@b.example"])
    assert not {"a@b.example", "kay@b.example"} & set(found)


def test_many_recipients_are_bounded_and_said() -> None:
    found, unknown = recipients([f"a{number}@b.example" for number in range(600)])
    assert len(found) == 500
    assert unknown

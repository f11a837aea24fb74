"""Names, dates and figures that are nobody's: what generated tables and calls are filled with."""

from random import Random

__all__ = ["code", "date", "figure", "money", "name", "person", "place", "score", "status", "title"]

_SOUNDS = (
    "ka", "lo", "mi", "ra", "ten", "bor", "sel", "vi", "and", "er", "is", "ho", "ju", "mar", "el", "do", "nic", "ost",
)  # fmt: skip
_THINGS = (
    "spring", "river", "league", "station", "album", "tower", "bridge", "season", "engine", "harbour", "museum",
    "theatre", "village", "college", "express", "garden", "king", "light", "story", "school", "island", "cup", "night",
)  # fmt: skip


def name(rng: Random) -> str:
    """A word that is nobody's name."""
    return "".join(rng.choices(_SOUNDS, k=rng.randint(2, 3))).capitalize()


def person(rng: Random) -> str:
    """First name and surname, now and then with a nation."""
    nation = rng.choice(("", "", "", f" ({name(rng)[:3].upper()})"))
    return f"{name(rng)} {name(rng)}{nation}"


def title(rng: Random) -> str:
    """Of a film, a song, an event."""
    words = " ".join(word.capitalize() for word in rng.choices(_THINGS, k=rng.randint(1, 4)))
    return rng.choice((words, words, f'"{words}"', f"The {words}", f"{words} (Part {rng.randint(1, 3)})"))


def place(rng: Random) -> str:
    """A town, or a house in one."""
    return rng.choice((name(rng), f"{name(rng)}, {name(rng)}", f"{name(rng)} {rng.choice(_THINGS).capitalize()}"))


def date(rng: Random) -> str:
    """In one of the ways that dates are written."""
    year, month, day = rng.randint(1890, 2026), rng.randint(1, 12), rng.randint(1, 28)
    named = ("Jan", "Feb", "March", "April", "May", "June", "July", "Aug", "Sept", "Oct", "Nov", "Dec")[month - 1]
    return rng.choice((f"{day} {named} {year}", f"{year}-{month:02}-{day:02}", f"{day:02}/{month:02}/{year % 100:02}"))


def figure(rng: Random) -> str:
    """A count, a share, or nothing."""
    number = rng.choice((rng.randint(0, 40), rng.randint(40, 2_000), rng.randint(2_000, 9_000_000)))
    return rng.choice(
        (str(number), f"{number:,}", f"{number / 10}", f"{rng.randint(0, 99)}%", "\u2013", "", f"+{number}")
    )


def score(rng: Random) -> str:
    """Of a match."""
    low, high = rng.randint(0, 9), rng.randint(0, 21)
    return rng.choice((f"{low}\u2013{high}", f"{low}-{high}", f"{low}:{high}", f"W {low}-{high}", f"{low}/{high}"))


def money(rng: Random) -> str:
    """An amount."""
    return f"{rng.choice(('$', '€', '£', ''))}{rng.randint(1, 9_999):,}.{rng.randint(0, 99):02}"


def code(rng: Random) -> str:
    """Of an order, a route, a model."""
    return f"{rng.choice('ABCDKXM')}{rng.choice(('', '-'))}{rng.randint(1, 9_999)}"


def status(rng: Random) -> str:
    """What a thing may be in."""
    return rng.choice(("open", "closed", "yes", "no", "active", "running", "ok", "done", "DNF", "n/a", "won", "lost"))

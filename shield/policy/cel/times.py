"""Timestamps and durations in whole nanoseconds, with CEL's ranges.

A timestamp lies in the years 1 to 9999, a duration within ±10,000 years (protobuf's well-known types). Every scan here
is linear in its input.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from shield.policy.cel.errors import CelError
from shield.regex import regex

__all__ = ["Duration", "Timestamp", "duration", "timestamp", "zone", "zone_names"]

SECOND = 10**9
_FIRST = -62_135_596_800 * SECOND  # 0001-01-01T00:00:00Z
_LAST = 253_402_300_800 * SECOND - 1  # 9999-12-31T23:59:59.999999999Z
_LONGEST = 315_576_000_000 * SECOND
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time in nanoseconds."""

    ns: int

    def __post_init__(self) -> None:
        if not -_LONGEST <= self.ns <= _LONGEST:
            raise CelError("duration out of range")

    def text(self) -> str:
        """Seconds with 0, 3, 6 or 9 more digits, as protobuf's JSON form writes them."""
        sign = "-" if self.ns < 0 else ""
        seconds, rest = divmod(abs(self.ns), SECOND)
        return f"{sign}{seconds}{_fraction(rest)}s"


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A point in time, in nanoseconds since 1970-01-01T00:00:00Z."""

    ns: int

    def __post_init__(self) -> None:
        if not _FIRST <= self.ns <= _LAST:
            raise CelError("timestamp out of range")

    @classmethod
    def of(cls, moment: datetime) -> "Timestamp":
        """From an aware datetime. Raises CelError for a naive one."""
        if moment.tzinfo is None:
            raise CelError("timestamp without a time zone")
        return cls((moment - _EPOCH) // timedelta(microseconds=1) * 1000)

    def text(self) -> str:
        """RFC 3339 in UTC."""
        seconds, rest = divmod(self.ns, SECOND)
        moment = _EPOCH + timedelta(seconds=seconds)
        return f"{moment.year:04}-{moment:%m-%dT%H:%M:%S}{_fraction(rest)}Z"

    def local(self, place: tzinfo | None) -> datetime:
        """The civil time at `place` (None: UTC), whole seconds. Raises CelError outside the years 1 to 9999."""
        try:
            moment = _EPOCH + timedelta(seconds=self.ns // SECOND)
            return moment if place is None else moment.astimezone(place)
        except (OverflowError, ValueError):
            pass
        raise CelError("local time out of range")


def _fraction(ns: int) -> str:
    digits = f"{ns:09}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return "." * bool(digits) + digits


_RFC3339 = regex(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)


def timestamp(text: str) -> Timestamp:
    """Parse RFC 3339 with capital T and Z. Raises CelError."""
    found = _RFC3339.fullmatch(text)
    if found is not None:
        *parts, fraction, sign, hours, minutes = found.groups()
        try:
            seconds = (datetime(*map(int, parts), tzinfo=UTC) - _EPOCH) // timedelta(seconds=1)  # type: ignore[misc, arg-type]  # six numbers
        except ValueError:
            pass
        else:
            offset = int(hours) * 3600 + int(minutes) * 60 if sign else 0
            if offset < 86_400 and (not sign or int(minutes) < 60):
                seconds -= -offset if sign == "-" else offset
                return Timestamp(seconds * SECOND + int((fraction or "0").ljust(9, "0")))
    raise CelError("not a timestamp as RFC 3339 writes it")


_PART = regex(r"([0-9]{1,20})?(?:\.([0-9]{1,20}))?(ns|us|ms|s|m|h)")
_UNIT = {"ns": 1, "us": 1000, "ms": 10**6, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND}


def duration(text: str) -> Duration:
    """Parse `1h30m`, `-1.5s`, `0`: decimal numbers with the units h m s ms us ns. Raises CelError."""
    at = 1 if text[:1] in ("-", "+") else 0
    if text[at:] == "0":
        return Duration(0)
    total = 0
    start = at
    while at < len(text) and len(text) <= 128:
        found = _PART.match(text, at)
        if found is None or not (found.group(1) or found.group(2)):
            raise CelError("not a duration: write it like `1h30m` or `1.5s`")
        whole, part, unit = found.groups()
        total += int(whole or 0) * _UNIT[unit]
        if part:
            more, rest = divmod(int(part) * _UNIT[unit], 10 ** len(part))
            if rest:
                raise CelError("a duration is a whole number of nanoseconds")
            total += more
        at = found.end()
    if at != len(text) or at == start:
        raise CelError("not a duration: write it like `1h30m` or `1.5s`")
    return Duration(-total if text[0] == "-" else total)


_OFFSET = regex(r"([+-])?([0-9]{2}):([0-9]{2})")


def zone(name: str) -> tzinfo:
    """A time zone by IANA name or fixed offset (`+11:00`, `02:00`). Raises KeyError where there is none."""
    fixed = _OFFSET.fullmatch(name)
    if fixed is not None:
        hours, minutes = int(fixed.group(2)), int(fixed.group(3))
        if hours > 23 or minutes > 59:
            raise KeyError(name)
        offset = timedelta(hours=hours, minutes=minutes)
        return timezone(-offset if fixed.group(1) == "-" else offset)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise KeyError(name) from None


def zone_names() -> frozenset[str]:
    """Every time zone of this machine; empty where it has no data of them."""
    return frozenset(available_timezones())


def get_full_year(value: Timestamp, place: tzinfo | None = None) -> int:
    return value.local(place).year


def get_month(value: Timestamp, place: tzinfo | None = None) -> int:
    return value.local(place).month - 1


def get_date(value: Timestamp, place: tzinfo | None = None) -> int:
    return value.local(place).day


def get_day_of_month(value: Timestamp, place: tzinfo | None = None) -> int:
    return value.local(place).day - 1


def get_day_of_week(value: Timestamp, place: tzinfo | None = None) -> int:
    return value.local(place).isoweekday() % 7


def get_day_of_year(value: Timestamp, place: tzinfo | None = None) -> int:
    return value.local(place).timetuple().tm_yday - 1


def get_hours(value: Timestamp | Duration, place: tzinfo | None = None) -> int:
    return value.local(place).hour if isinstance(value, Timestamp) else _whole(value, 3600 * SECOND)


def get_minutes(value: Timestamp | Duration, place: tzinfo | None = None) -> int:
    return value.local(place).minute if isinstance(value, Timestamp) else _whole(value, 60 * SECOND)


def get_seconds(value: Timestamp | Duration, place: tzinfo | None = None) -> int:
    return value.local(place).second if isinstance(value, Timestamp) else _whole(value, SECOND)


def get_milliseconds(value: Timestamp | Duration, _place: tzinfo | None = None) -> int:
    """Of a timestamp the thousandths of its second, of a duration those beyond its whole seconds."""
    if isinstance(value, Timestamp):
        return value.ns % SECOND // 10**6
    return _whole(Duration(abs(value.ns) % SECOND * (-1 if value.ns < 0 else 1)), 10**6)


def _whole(value: Duration, unit: int) -> int:
    return abs(value.ns) // unit * (-1 if value.ns < 0 else 1)

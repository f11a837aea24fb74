"""Which part of a text is read, and that only a text that was read to the last token is called whole."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from shield.model.windows import spans


@given(st.integers(0, 3_000), st.integers(1, 130), st.integers(1, 130), st.integers(1, 40))
def test_windows_are_few_ordered_and_never_too_long(count: int, size: int, step: int, most: int) -> None:
    step = min(step, size)
    found, whole = spans(count, size=size, step=step, most=most)
    assert len(found) <= most
    assert all(0 <= begin < end <= count and end - begin <= size for begin, end in found)
    assert list(found) == sorted(set(found))
    read = {token for begin, end in found for token in range(begin, end)}
    if whole:
        assert read == set(range(count))
    else:
        assert {0} <= read  # the head, and with two windows or more the tail
        assert most == 1 or count - 1 in read


@given(st.integers(1, 700), st.integers(2, 130))
def test_every_neighbourhood_of_half_a_window_stands_in_one_window(count: int, size: int) -> None:
    """What stands within `size - step` tokens is never torn apart."""
    step = size // 2
    found, whole = spans(count, size=size, step=step, most=10_000)
    assert whole
    reach = min(size - step, count)
    for begin in range(count - reach + 1):
        assert any(left <= begin and begin + reach <= right for left, right in found)


@given(st.integers(1, 6_000), st.integers(4, 130), st.integers(2, 40))
def test_windows_that_lie_apart_to_cover_more_share_a_quarter(count: int, size: int, most: int) -> None:
    found, whole = spans(count, size=size, step=size // 2, most=most)
    assert whole == (count <= size + (most - 1) * (size - size // 4))
    for (_, end), (begin, _) in itertools.pairwise(found) if whole else ():
        assert end - begin >= size // 4


def test_sizes_of_our_model() -> None:
    assert spans(0, size=125, step=64, most=32) == ((), True)
    assert spans(125, size=125, step=64, most=32) == (((0, 125),), True)
    assert spans(126, size=125, step=64, most=32) == (((0, 125), (64, 126)), True)
    found, whole = spans(2_109, size=125, step=64, most=32)
    assert (len(found), whole) == (32, True)
    found, whole = spans(4_157, size=125, step=64, most=64)
    assert (len(found), whole, found[1][0]) == (64, True, 64)
    found, whole = spans(4_158, size=125, step=64, most=64)
    assert (len(found), whole, found[1][0]) == (64, True, 65)
    found, whole = spans(6_047, size=125, step=64, most=64)
    assert (len(found), whole, found[1][0]) == (64, True, 94)
    found, whole = spans(100_000, size=125, step=64, most=64)
    assert (len(found), whole, found[31], found[32]) == (64, False, (2_914, 3_039), (96_961, 97_086))
    assert found[-1] == (99_875, 100_000)

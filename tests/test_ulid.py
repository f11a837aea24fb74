"""ULIDs against a second way to write them."""

from hypothesis import given
from hypothesis import strategies as st

from shield.ulid import Entropy, new_ulid

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@given(st.integers(0, 2**48 - 1), st.binary(min_size=10, max_size=10))
def test_agrees_with_the_plain_definition(time_ms, random):
    number = time_ms << 80 | int.from_bytes(random, "big")
    digits = [ALPHABET[number // 32**place % 32] for place in range(25, -1, -1)]
    assert new_ulid(time_ms, lambda size: random[:size]) == "".join(digits)


@given(st.lists(st.integers(0, 5000), max_size=20))
def test_no_drawn_byte_is_given_out_twice(sizes):
    drawn = []

    def source(size):
        start = sum(map(len, drawn))
        drawn.append(
            b"".join(number.to_bytes(4, "big") for number in range(start // 4, (start + size) // 4 + 1))[:size]
        )
        return drawn[-1]

    entropy = Entropy(source)
    taken = [entropy.take(size) for size in sizes]
    assert [len(piece) for piece in taken] == sizes
    position = 0
    whole = b"".join(drawn)
    for piece in taken:
        position = whole.index(piece, position) + len(piece)


def test_sorts_by_time_and_does_not_repeat():
    assert new_ulid(1) < new_ulid(2) < new_ulid(2**40)
    assert len({new_ulid(7) for _ in range(1000)}) == 1000

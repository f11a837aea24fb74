"""Threads that help: none is waited for that has not begun, none is left at work, and what one raises is raised."""

import threading
from collections import deque
from pathlib import Path

import pytest

from shield.errors import ModelError
from shield.model.hands import Hands, spare_cores
from shield.model.scorer import load_scorer
from shield.types import TextKind
from tier1_folder import lookup

WAIT_S = 30.0


def test_windows_are_read_side_by_side(tmp_path: Path) -> None:
    """Two windows that each wait until the other one is being read."""
    scorer = load_scorer(lookup(tmp_path))
    scorer._hands = Hands(1)
    both = threading.Barrier(2)
    margin = scorer._session.margin

    def meeting(ids: tuple[int, ...]) -> float:
        both.wait(WAIT_S)
        return margin(ids)

    scorer._session.margin = meeting  # type: ignore[method-assign,assignment]
    first, second = scorer.read([("override", TextKind.PROSE), ("obey", TextKind.PROSE)])
    assert (first.margin, second.margin) == (6.0, 3.0)


def test_whoever_asks_goes_on_alone_where_all_hands_are_busy() -> None:
    hands, free, busy = Hands(1), threading.Event(), threading.Event()

    def long() -> None:
        busy.set()
        free.wait(WAIT_S)

    other = threading.Thread(target=hands.share, args=(long, 2))
    other.start()
    assert busy.wait(WAIT_S)
    done: list[str] = []
    # two wait until they are freed: its own thread and the one that helps
    while hands._pool is not None and hands._pool._work_queue.qsize():
        pass
    hands.share(lambda: done.append(threading.current_thread().name), 5)
    assert done == [threading.current_thread().name]
    free.set()
    other.join(WAIT_S)
    assert not other.is_alive()


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("pieces", [0, 1, 2, 50])
def test_all_is_done_once_and_nothing_is_left_at_work(count: int, pieces: int) -> None:
    hands, left, done = Hands(count), deque(range(pieces)), deque[int]()
    at_work = [0]
    lock = threading.Lock()

    def take() -> None:
        with lock:
            at_work[0] += 1
        while True:
            try:
                done.append(left.popleft())
            except IndexError:
                break
        with lock:
            at_work[0] -= 1

    hands.share(take, pieces)
    assert at_work == [0]
    assert sorted(done) == list(range(pieces))


def test_what_a_hand_raises_is_raised(tmp_path: Path) -> None:
    """A model that fails in another thread than the one that asks."""
    scorer = load_scorer(lookup(tmp_path))
    scorer._hands = Hands(1)
    both, own = threading.Barrier(2), threading.current_thread()
    margin = scorer._session.margin

    def failing(ids: tuple[int, ...]) -> float:
        both.wait(WAIT_S)
        if threading.current_thread() is not own:
            raise ModelError("gone")
        return margin(ids)

    scorer._session.margin = failing  # type: ignore[method-assign,assignment]
    with pytest.raises(ModelError, match="gone"):
        scorer.read([("override", TextKind.PROSE), ("obey", TextKind.PROSE)])
    scorer._session.margin = margin  # type: ignore[method-assign]
    assert scorer.read([("obey", TextKind.PROSE)])[0].margin == 3.0


def test_a_hand_that_fails_is_waited_for_though_the_asker_fails_too() -> None:
    hands, both, ended = Hands(1), threading.Barrier(2), threading.Event()

    def failing() -> None:
        both.wait(WAIT_S)
        if threading.current_thread() is not threading.main_thread():
            ended.set()
        raise ModelError("gone")

    with pytest.raises(ModelError, match="gone"):
        hands.share(failing, 2)
    assert ended.is_set()


def test_spare_cores_are_few() -> None:
    assert 0 <= spare_cores() <= 3

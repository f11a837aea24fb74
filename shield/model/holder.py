"""The model of a running service: loaded in the background, and what became of it in one word.

INVARIANT: a model that failed stays failed until someone loads again; there is never a scorer without "ready".
"""

from collections.abc import Callable
from pathlib import Path
from threading import Condition, Thread
from typing import Final

from shield.errors import ShieldError
from shield.model.scorer import Scorer, load_scorer

__all__ = ["LOADING", "READY", "ModelHolder"]

LOADING: Final = "loading"
READY: Final = "ready"


class ModelHolder:
    """Holds the model of one folder. Safe to use from several threads; nothing it does raises.

    `folder` may be a function, so that one that cannot even be named is a state like the others.
    """

    def __init__(self, folder: Path | Callable[[], Path], *, load: Callable[[Path], Scorer] = load_scorer) -> None:
        self._folder = folder
        self._load = load
        self._changed = Condition()
        # one value, so that no reader sees the state of one load and the scorer of another
        self._held: tuple[str, Scorer | None] = (LOADING, None)
        self._round = 0

    @property
    def state(self) -> str:
        """`loading`, `ready`, or `failed: ` with what is wrong and what to do."""
        return self._held[0]

    @property
    def scorer(self) -> Scorer | None:
        """The model; None unless `ready`."""
        return self._held[1]

    def start(self) -> None:
        """Load in the background, again if it was loaded before. Until then there is no scorer."""
        number = self._begin()
        # No daemon: one that is inside onnxruntime when the interpreter ends aborts the process. It ends by itself.
        Thread(target=self._work, args=(number,), name="shield-model").start()

    def load(self) -> None:
        """Load at once, in this thread."""
        self._work(self._begin())

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the state is no longer `loading`, at most `timeout` seconds; whether it is not."""
        with self._changed:
            return self._changed.wait_for(lambda: self.state != LOADING, timeout)

    def _begin(self) -> int:
        with self._changed:
            self._round += 1
            self._held = (LOADING, None)
            return self._round

    def _work(self, number: int) -> None:
        scorer: Scorer | None = None
        try:
            folder = self._folder if isinstance(self._folder, Path) else self._folder()
            scorer = self._load(folder)
            state = READY
        except ShieldError as error:
            state = f"failed: {error.detail}"
        except Exception as error:  # noqa: BLE001  # whatever it is, there is no model
            state = f"failed: {type(error).__name__} while loading; install or adopt the model again"
        with self._changed:
            # an older load that ends late says nothing about the newer one
            if number == self._round:
                self._held = (state, scorer)
                self._changed.notify_all()

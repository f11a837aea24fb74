"""Where a model's words go: as they come where somebody watches, otherwise the answer alone, once it is whole."""

from typing import Final

from agentctl.turns.messages import StopReason
from agentctl.ui.screen import Screen

__all__ = ["Spoken"]

_TAIL: Final = 8  # characters: more than may stand on one letter


class Spoken:
    """A model's words, all of them as they come and on the `answer` screen where they are shown `at_once`.

    Otherwise only those go there, as one piece, that no call follows: a program reads them. What was said before calls,
    and an answer that broke off, is `talk`. Without an `answer` screen it is kept and not shown.
    """

    def __init__(self, talk: Screen, answer: Screen | None, *, at_once: bool = False) -> None:
        self._talk = _Stream(talk)
        self._answer = self._talk if answer is talk else None if answer is None else _Stream(answer)
        self._at_once = at_once and self._answer is not None
        self._held: list[str] = []
        self._calls = False
        self.answer: str | None = None  # the last words, whole

    def text(self, text: str) -> None:
        """Some more of it."""
        self._held.append(text)
        if self._at_once and self._answer is not None:
            self._answer.text(text)
        elif self._calls:
            self._to_talk()

    def call(self) -> None:
        """A call begins: what was said before it, and what comes after it in this message, is no answer."""
        self._calls = True
        if not self._at_once:
            self._to_talk()

    def stop(self, reason: StopReason) -> None:
        """The message is whole. One that only paused goes on in the next."""
        if reason is StopReason.PAUSE and not self._calls:
            return
        if not self._calls:
            self.answer = "".join(self._held)
            if not self._at_once and self._answer is not None:
                self._answer.text(self.answer)
                self._answer.end()
        self._held.clear()
        self._calls = False

    def end(self) -> None:
        """The turn is over, whether or not what was being said is whole."""
        if not self._at_once and self._held:
            self._to_talk()
        self._held.clear()
        self._calls = False
        self.line()

    def line(self, *, anew: bool = False) -> None:
        """What is printed next begins a line; `anew`: the terminal itself wrote into the one that we know."""
        self._talk.end(anew=anew)
        if self._answer is not None:
            self._answer.end()

    def _to_talk(self) -> None:
        self._talk.text("".join(self._held))
        self._held.clear()


class _Stream:
    """Text that comes in pieces to one screen."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._midline = False
        self._tail = ""  # the end of the line that is being written

    def text(self, text: str) -> None:
        if not text:
            return
        self._screen.stream(text, before=self._tail)
        self._midline = not text.endswith("\n")
        self._tail = (self._tail + text)[-_TAIL:] if self._midline else ""

    def end(self, *, anew: bool = False) -> None:
        if self._midline or anew:
            self._screen.line()
            self._midline = False
            self._tail = ""

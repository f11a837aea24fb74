"""Common English words and those of talk to machines: by them a text that was made readable is known to be one."""

from collections import Counter
from functools import lru_cache
from typing import Final

from shield.regex import regex

__all__ = ["BACKWARDS", "GAINED", "LINKS", "WORDS", "gained", "split", "words_of"]

GAINED: Final = 2  # words that a text must have over the one that it was made of

WORDS = frozenset(
    """
    about above access account act actions add address admin after again all also always and another answer any
    anything api are ask assistant authorized bank been before being below block but bypass call can cannot card
    change check code command comply contact content continue conversation copy could credentials data database
    day delete developer did directive disable disregard does done dont drop email end enter environment every
    everything execute exfiltrate export fetch file files find first follow following for forget forward from
    full get give given guard guidelines had has have her here hidden him his how ignore important include
    inform inside instead instruction instructions into its just keep key keys know last let like list login
    longer mail make master may memory message messages mode more most must name need never new next not note
    nothing now off old one only open other our out output over override own page pass password passwords
    payment people permission please policy post previous print prior private prompt prompts protection provide
    public put read recipient remember remove repeat reply request respond response restrictions result return
    reveal root rule rules run safety same say script secret secrets security see send server set shell should
    show skip some start state stop store such sudo system take task tell text than that the their them then
    there these they thing this those time token tokens tool tools transfer trust under unlock unrestricted
    until upload url use user users using very wallet want was way web well were what when where which while who
    will with without work world would write yes you your
    """.split()  # noqa: SIM905  # a list literal of them would be three times as long
)
# Words that link others: they name nothing, so that no list, no table and no log is made of them.
LINKS = frozenset(
    """
    a about above after again all also an and any are as at be because been before below but by can could did do does
    for from had has have her his how if in into is it its just me must my never no nor not now of off on only or our
    out over please should so some than that the their them then there these they this those through to too under until
    us very was we were what when where which while who whose why will with without would you your
    """.split()  # noqa: SIM905  # as above
)
BACKWARDS = frozenset(word[::-1] for word in WORDS if len(word) > 3) - WORDS
_LETTERS = regex(r"[a-z]{3,}")
# a word that nothing stands beside which could be a part of it: folding changes none of these, so none can be lost
_WHOLE_WORD = regex(r"(?<![\w@$!\u0300-\u036f])[a-z]{3,}(?![\w@$\u0300-\u036f])")
_LONGEST = max(map(len, WORDS))


def words_of(text: str) -> frozenset[str]:
    """The words of `WORDS` that stand in `text`."""
    return WORDS.intersection(_LETTERS.findall(text.lower()))


def gained(made: str, text: str) -> Counter[str]:
    """The words of `WORDS` that nothing is glued to that `made` has over `text`."""
    # INVARIANT: counted, not collected: the same words in plain sight elsewhere do not hide those that were found
    return _whole_words(made) - _whole_words(text)


@lru_cache(maxsize=2)  # a text is compared with all that is made of it
def _whole_words(text: str) -> Counter[str]:
    return Counter(word for word in _WHOLE_WORD.findall(text.lower()) if word in WORDS)


def split(run: str) -> str:
    """A run of letters cut into words, so that as many of its letters as can be belong to one."""
    # best[i]: letters outside of words, then number of pieces, of the first i letters; and where the last piece begins
    best: list[tuple[int, int, int]] = [(0, 0, 0)]
    for end in range(1, len(run) + 1):
        outside, pieces, _ = best[end - 1]
        choice = (outside + 1, pieces, -1)
        for start in range(max(0, end - _LONGEST), end - 2):
            if run[start:end] in WORDS:
                choice = min(choice, (best[start][0], best[start][1] + 1, start))
        best.append(choice)
    pieces_found: list[str] = []
    end = loose = len(run)
    while end:
        start = best[end][2]
        if start < 0:
            end -= 1
            continue
        pieces_found += [run[end:loose], run[start:end]]
        end = loose = start
    pieces_found.append(run[:loose])
    return " ".join(piece for piece in reversed(pieces_found) if piece)

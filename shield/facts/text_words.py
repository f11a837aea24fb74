"""Words by which a text that was decoded is known to be one."""

from shield.regex import regex

__all__ = ["COMMON", "words_of"]

_WORD = regex(r"[A-Za-z]{2,}")
# Common words, English ones first: what holds two of them as rot13 writes them, and fewer as they are, is turned.
COMMON = frozenset(
    """
    about add after all also and answer any are assistant because been before but call can change check could curl
    data day delete did does done email even every execute file find first for forward from get give good got has
    have help her here his how ignore include instructions into its just keep know last let link look made make may
    message more most must name need never new next not note now number off one only open order other our out over
    page part password people please previous put reply right run said same say secret see send set she should show
    some still system take tell text than thanks that the their them then there they thing this those through time
    today token tomorrow two under until use user using very visit want was way week well were what when where which
    while who will with without work would write yes you your
    bitte das dem den der die ein eine ist mit nicht und von
    avec dans des est les mais nous par pas pour sur une vous
    como con del las los para por que sin una usted
    che con dei del della gli nel non per questo sono
    com dos ele mas uma
    dat deze een het met naar niet van voor
    aby jest nie oraz
    """.split()  # noqa: SIM905  # a list literal of them would be three times as long
)


def words_of(text: str) -> frozenset[str]:
    """The words of ASCII letters in `text`, in small letters."""
    return frozenset(_WORD.findall(text.lower()))

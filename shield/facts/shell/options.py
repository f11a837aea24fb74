"""Options of the shell: what `set` and `shopt` change in how a line is read."""

from shield.facts.programs.reading import Value
from shield.facts.shell.state import State

__all__ = ["set_options", "set_shell_options"]


def set_options(words: tuple[Value, ...], state: State) -> None:
    """`set words…`: the parameters, and whether patterns are matched."""
    for index, word in enumerate(words):
        text = word.text if word.fixed else ""
        if text == "--":
            state.give(words[index + 1 :])
            return
        if not text.startswith(("-", "+")):
            if index and words[index - 1].text.endswith("o"):
                continue
            state.give(words[index:])
            return
        named = words[index + 1].text if text.endswith("o") and index + 1 < len(words) else ""
        if "f" in text or named == "noglob":
            state.globs = False
        if "e" in text or named == "errexit":
            state.ending = text.startswith("-")


_UNCHANGED_TEXT = """
nullglob inherit_errexit checkwinsize checkhash checkjobs huponexit histappend histreedit histverify
hostcomplete cmdhist lithist execfail mailwarn no_empty_cmd_completion progcomp autocd cdspell dirspell direxpand
"""
_UNCHANGED = frozenset(_UNCHANGED_TEXT.split())
_OFF = frozenset(
    ("extglob", "failglob", "expand_aliases", "lastpipe", "cdable_vars", "extdebug", "xpg_echo", "compat31")
)
_UNCHANGED_SET = frozenset(
    ("errexit", "nounset", "pipefail", "xtrace", "verbose", "noclobber", "errtrace", "functrace")
)
_MATCHING = frozenset(("dotglob", "globstar", "nocaseglob", "nocasematch", "globasciiranges", "globskipdots"))


def set_shell_options(words: tuple[Value, ...], state: State) -> None:
    """`shopt words…`: what may change how words are read is a doubt."""
    if any(not word.fixed or word.text == "errexit" for word in words):
        state.ending = False
    options = [word.text for word in words if word.fixed and word.text.startswith("-")]
    if all(word.fixed for word in words) and not any(set(option) & set("su") for option in options):
        return  # it tells how they are set
    if options == ["-u"] and all(word.fixed and (word.text in _OFF or word.text in options) for word in words):
        return  # as they are where nobody types; the line that sets one is not understood
    if "-o" in options and all(word.fixed and (word.text in _UNCHANGED_SET or word.text in options) for word in words):
        return
    for word in words:
        if word.fixed and word.text in ("-s", "-u", "-q", "-p", "--"):
            continue
        state.vanishing |= word.text == "nullglob"
        if word.fixed and word.text in _MATCHING:
            state.globs = False
        elif not word.fixed or word.text not in _UNCHANGED:
            state.doubt(f"`shopt {word.text[:40]}` changes how the line is read")

"""Reserved words, where one is recognised (bash(1) RESERVED WORDS)."""

from shield.facts.shell.grammar.reader_conditions import Conditions
from shield.facts.shell.grammar.script import RefusedLineError
from shield.regex import regex

__all__ = ["Reserved"]

_RESERVED = regex(
    r"(?:!|\[\[|\]\]|[{}]|if|then|else|elif|fi|for|while|until|do|done|case|esac|select|function|in|coproc|time)"
    r"(?=[ \t\n|&;<>()]|\Z|\\\n)"
)
_CLOSING = frozenset({"then", "else", "elif", "fi", "do", "done", "esac", "}"})


class Reserved(Conditions):
    def reserved(self) -> str:
        """The reserved word that stands here, where one is recognised; empty if none does."""
        match = _RESERVED.match(self.text, self.at)
        if match is None:
            return ""
        if self.text.startswith("\\\n", match.end()):
            after = self.past_continuations(match.end())
            if self.text[after : after + 1] not in ("", " ", "\t", "\n"):
                raise RefusedLineError("line continuation within a word")
        return match[0]

    def closing(self) -> str:
        word = self.reserved()
        return word if word in _CLOSING else ""

    def option(self, text: str) -> bool:
        """`text` stands here as a word."""
        after = self.past_continuations(self.at + len(text))
        follows = self.text[after : after + 2]
        ended = follows[:1] in ("", " ", "\t", "\n", ";", "|", "&") or (
            follows[:1] in ("<", ">") and follows[1:] != "("
        )
        return self.text.startswith(text, self.at) and ended

    def keyword(self, word: str) -> None:
        if self.reserved() != word:
            raise RefusedLineError(f"`{word}` is missing")
        self.at += len(word)

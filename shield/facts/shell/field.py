"""Words as they grow piece by piece, and fall apart where bash splits them (bash(1) Word Splitting)."""

import re
from copy import deepcopy
from dataclasses import dataclass, field

from shield.facts.programs.reading import Lost, Value
from shield.facts.shell.shaped import within_folder
from shield.facts.shell.variables import Fresh, Token
from shield.regex import regex

__all__ = ["Fields", "escaped"]

_ACTIVE = regex(r"[*?\[\\]")
_BLANKS = regex(r"[ \t\n]+")
_OPTION = regex(r"-[A-Za-z0-9\-]*=?\Z")
_UNSEEN = Token()


def escaped(text: str) -> str:
    """As a pattern that stands for `text` alone."""
    return _ACTIVE.sub(r"[\g<0>]", text)


def _may_match(text: str) -> bool:
    """Whether unquoted text holds a pattern: a lone bracket is none."""
    return "*" in text or "?" in text or 0 <= text.find("[") < text.rfind("]")


@dataclass(slots=True)
class _Field:
    text: list[str] = field(default_factory=list)
    pattern: list[str] = field(default_factory=list)
    head: list[str] = field(default_factory=list)
    bare: list[str] = field(default_factory=list)
    live: list[str] = field(default_factory=list)  # what is unquoted
    bracket: bool = False  # a bracket is
    known: bool = True
    many: bool = False
    present: bool = False
    solid: bool = False  # present without what is missing
    foreign: bool = False  # what is not known of it is more than what is missing
    leading: bool = False
    fleeting: bool = False  # a part of it may come to nothing
    counted: bool = True  # every part that is not known is an integer, and none begins the word with a dash
    pipe: bool = False
    revision: bool = False  # the first part is a revision that git printed, and no other is unknown
    sample: list[str] | None = field(default_factory=list)  # what it may be; None: that is not known
    whole: Value | None = None  # the field is this value and nothing else

    def value(self, source: str | None, *, globs: bool) -> Value:
        text = "".join(self.text)
        if self.whole is not None and len(self.text) == 1:
            return self.whole
        if self.known:
            live = "".join(self.live)
            if _ACTIVE.search(live) and _may_match(live):
                pattern = "".join(self.pattern)
                lead = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
                if "\\" in live or not globs:
                    return Value(text=text, known=False, many=True, head="", bare=text)
                return Value(text=text, pattern=pattern, head=lead, bare=text, source=source)
            return Value(text=text, head=text, bare=text, source=source)
        head = "".join(self.head)
        bare = "".join(self.bare)
        if self.pipe and (not head or _OPTION.match(head)) and bare == head:
            return Value(text=text, known=False, head=head or "/dev/fd/", bare=bare, roots=())
        # what it begins with is no dash
        number = self.leading and not self.many and not (self.fleeting and bare.startswith("-"))
        if number and self.fleeting and not self.solid:
            return Value(
                text=text, known=False, many=True, head=head, bare=bare, number=True, unset=(), revision=self.revision
            )
        unset = None if self.foreign else self._without(globs=globs)
        digits = self.counted and not self.many and not self.fleeting
        sample = "" if self.many or self.sample is None else within_folder(head, "".join(self.sample))
        return Value(
            text=text,
            known=False,
            many=self.many,
            head=head,
            bare=bare,
            number=number,
            unset=unset,
            digits=digits,
            sample=sample,
            revision=self.revision,
        )

    def take(self, text: str, pattern: str | None) -> None:
        """Known text comes behind it. `pattern`: as a pattern; None if it is quoted."""
        self.text.append(text)
        self.bare.append(text)
        self.pattern.append(escaped(text) if pattern is None else pattern)
        if pattern is not None:
            self.live.append(text)
            self.bracket = self.bracket or "[" in text
        elif self.bracket and "]" in text:
            self.live.append("\\")  # `['x]']` is one bracket expression, which is not followed
        if self.known:
            self.head.append(text)
        if self.sample is not None:
            self.sample.append(text)

    def _without(self, *, globs: bool) -> tuple[Value, ...]:
        if not self.solid:
            return ()
        rest = _Field(text=self.bare, pattern=self.pattern, head=self.bare, bare=self.bare, live=self.live)
        return (rest.value(None, globs=globs),)


class Fields:
    """The words that one word of the line becomes."""

    def __init__(self, *, globs: bool, splits: bool = True) -> None:
        self._globs = globs
        self._splits = splits
        self._done: list[_Field] = []
        self._open = _Field()
        self._fresh: dict[str, None] = {}  # letters of what the line makes anew
        self._lost: str | None = None  # what was perhaps not made,
        self._without: Fields | None = None  # and the words as they then are
        self.source: str | None = None

    def put(self, text: str, *, quoted: bool, pattern: str | None = None) -> None:
        """Literal text of the line. `pattern`: the same with what is literal in it in brackets."""
        if self._without is not None:
            self._without.put(text, quoted=quoted, pattern=pattern)
        here = self._open
        here.present |= quoted or bool(text)
        here.solid |= quoted or bool(text)
        if not text:
            return
        here.take(text, None if quoted else text if pattern is None else pattern)

    def expanded(self, text: str, *, quoted: bool) -> None:
        """The known result of an expansion: split and matched unless it is quoted."""
        if not (quoted or self._splits) and _BLANKS.search(text):
            self.unknown(text, quoted=False)
            return
        if self._without is not None:
            self._without.expanded(text, quoted=quoted)
        if quoted:
            here = self._open
            here.present = here.solid = True
            here.take(text, None)
            return
        pieces = _BLANKS.split(text)
        for index, piece in enumerate(pieces):
            if index:
                self.end()
            if piece:
                here = self._open
                here.present = here.solid = True
                here.take(piece, piece)

    def fresh(self, found: Fresh, source: str, *, quoted: bool) -> None:
        """The name of what the line makes anew. Of two that may be missing nothing is known."""
        if found.lost is not None and self._lost not in (None, found.chance):
            self.unknown(source, quoted=quoted)
            return
        if found.lost is not None and self._without is None:
            self._lost, self._without = found.chance, deepcopy(self)
        without, self._without = self._without, None
        if without is not None:
            without.expanded(found.path if found.lost is None else found.lost, quoted=quoted)
        self.expanded(found.path, quoted=quoted)
        self._fresh[found.chance] = None
        self._without = without

    def unknown(self, source: str, *, quoted: bool, seen: str = "") -> None:
        """A piece of which nothing is known but what is `seen` of it: `~name/x`."""
        if self._without is not None:
            self._without.unknown(source, quoted=quoted, seen=seen)
        here = self._open
        here.text.append(source)
        here.bare.append(seen)
        if here.known:
            here.head.append(seen)
        here.known = here.counted = here.revision = False
        here.sample = None
        here.present = here.foreign = True
        here.many |= not quoted

    def missing(self, source: str, *, quoted: bool, listed: bool, otherwise: str = "") -> None:
        """A name that nothing is known to set, and that the host may. `listed`: any number of words, though quoted.
        `otherwise`: the text that then stands for it, one word."""
        if self._without is not None:
            self._without.missing(source, quoted=quoted, listed=listed, otherwise=otherwise)
        here = self._open
        here.text.append(source)
        here.known = here.counted = here.revision = False
        here.sample = None
        here.present = True
        here.many |= listed or not quoted
        here.solid |= (quoted and not listed) or bool(otherwise)
        if otherwise:
            here.bare.append(otherwise)
            here.pattern.append(escaped(otherwise))

    def number(
        self, source: str, *, natural: bool, quoted: bool, maybe: bool, integer: bool = False, seen: Token = _UNSEEN
    ) -> None:
        """An integer of unknown value, or a text that begins as `seen` says and, if it is `natural`, with no dash.
        `maybe`: or nothing; the word is none then, unless it is `quoted`. `integer`: it surely is one."""
        if self._without is not None:
            self._without.number(source, natural=natural, quoted=quoted, maybe=maybe, integer=integer, seen=seen)
        here = self._open
        here.revision = seen.revision and not any(here.text)
        here.counted &= integer and (natural or any(here.text))
        here.leading = here.leading or (natural and here.known and not any(here.text))
        here.sample = [*here.sample, seen.form] if here.sample is not None and seen.form and natural else None
        here.text.append(source)
        here.bare.append(seen.bare or seen.head)
        if here.known:
            here.head.append(seen.head)
        here.known = False
        here.present = here.foreign = True
        here.fleeting |= maybe
        here.solid |= quoted or not maybe

    def pipe(self, source: str) -> None:
        """`<(…)`: a name of the shell's own for a pipe."""
        if self._without is not None:
            self._without.pipe(source)
        here = self._open
        here.pipe = here.known
        here.text.append(source)
        here.known = here.counted = here.revision = False
        here.sample = None
        here.present = here.foreign = True

    def value(self, value: Value, *, quoted: bool) -> None:
        """A word that was expanded before: a parameter of a function, a name that a pattern stands for."""
        if value.fresh or value.lost is not None:
            self.unknown(value.text, quoted=quoted)
            self.alone(value)
            return
        if value.fixed:
            self.expanded(value.text, quoted=quoted)
            return
        if value.number:
            plain = value.revision and value.bare == ""
            self.number(
                value.text,
                natural=True,
                quoted=quoted and not value.many,
                maybe=value.many,
                integer=value.digits and not value.head,
                seen=Token(value.head, form=value.sample, revision=plain),
            )
            return
        self.unknown(value.text, quoted=quoted and not value.many)
        if not value.many or quoted:
            self.alone(value)

    def entries(self, value: Value) -> None:
        """Any number of words, each of which is one of those that `value` stands for."""
        self.unknown(value.text, quoted=False)
        self.alone(value)

    def alone(self, value: Value) -> None:
        """The word is this value if nothing else is in it."""
        self._open.whole = value
        if self._without is not None:
            self._without.alone(value)

    @property
    def made(self) -> bool:
        """Whether a word names what the line makes anew."""
        return bool(self._fresh)

    def end(self) -> None:
        """The word ends here, and another begins."""
        if self._without is not None:
            self._without.end()
        if self._open.present:
            self._done.append(self._open)
        self._open = _Field()

    def values(self) -> list[Value]:
        """The words, of which one that came to nothing is none."""
        self.end()
        source = self.source if len(self._done) == 1 else None
        values = [item.value(source, globs=self._globs) for item in self._done]
        if not self._fresh:
            return values
        if len(values) > 1 and self._without is not None:
            # which of them is which without it, is not known
            return [Value(text=each.text, known=False, many=True) for each in values]
        values = [each._replace(fresh=next((it for it in self._fresh if it in each.text), "")) for each in values]
        if self._without is None:
            return values
        lost = Lost(f"{self._lost}", tuple(self._without.values()))
        return [each._replace(lost=lost) for each in values]

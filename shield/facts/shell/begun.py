"""Contents that are known in part: by their beginning, or as the name of what the line makes anew."""

from shield.facts.shell.variables import Content, Fresh, Number, Token, united
from shield.regex import regex

__all__ = ["begun", "extended", "kept_of"]

_BLANK = regex(r"[\s*?\[\\]")


def extended(contents: list[Content]) -> Fresh | None:
    """The name of something new and known text behind it: `x="$t/sub"`."""
    rest = [found for found in contents if found != ""]
    lead, *behind = rest or [""]
    if not isinstance(lead, Fresh):
        return None
    texts = [found for found in behind if isinstance(found, str)]
    if len(texts) != len(behind):
        return None
    tail = "".join(texts)
    return lead._replace(path=lead.path + tail, lost=None if lead.lost is None else lead.lost + tail)


def begun(contents: list[Content]) -> Content:
    """A text of which the beginning is known: `x=report-$(date +%F).txt`."""
    lead, blank = "", False
    for found in contents:
        if isinstance(found, str):
            blank |= _BLANK.search(found) is not None
            continue
        if isinstance(found, Token):
            blank |= found.blank
        elif not isinstance(found, Number) or found.several:
            return None
    for found in contents:
        if not isinstance(found, str):
            lead += found.head if isinstance(found, Token) else ""
            break
        lead += found
    dashed = lead.startswith("-") or (not lead and not _is_undashed(contents[0]))
    if dashed or lead.startswith("~"):
        return None
    forms = [_form(found) for found in contents]
    form = "".join(forms) if all(form or found == "" for form, found in zip(forms, contents, strict=True)) else ""
    bare = "".join(found for found in contents if isinstance(found, str)) if form else ""
    # what is begun already says itself what it is without its digits
    if any(isinstance(found, Token) and found.head for found in contents):
        form = bare = ""
    return Token(lead, blank, form=form, bare=bare)


def _form(found: Content) -> str:
    """The content with zeros for its digits, where nothing else of it is not known."""
    if isinstance(found, str):
        return found
    if isinstance(found, Token):
        return found.form
    return "0" if isinstance(found, Number) and found.natural and not found.several else ""


def _is_undashed(found: Content) -> bool:
    return isinstance(found, Token | Number) and not found.maybe and (isinstance(found, Token) or found.natural)


def kept_of(operator: str, subject: Fresh, other: Content) -> Content:
    """`${x:?}` and kin of what the line makes anew, or of nothing; None where an operation changes more."""
    if operator.endswith("+"):
        return None
    if subject.lost != "":
        return subject
    if operator == ":?":
        return subject._replace(lost=None)
    return united(subject._replace(lost=None), other) if operator == ":-" or other == "" else None

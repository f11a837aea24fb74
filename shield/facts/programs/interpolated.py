"""What a compose file puts values of `.env` and of the environment into, and which files of variables it names.

Compose fills in `$NAME` whatever the verb, before it checks what came of it. What a check finds wrong it prints, as it
does the text behind `${NAME:?`: a file with `image: "x:${TOKEN}"` shows the token. Source: Compose documentation,
"Interpolation"; compose-go, `template`, `loader` and `dotenv` (which quotes the line that it cannot read).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from shield.facts.filesystem import FileSystemUnknownError
from shield.regex import regex

__all__ = ["dotted", "shows", "variable_files"]

_MAX_NODES = 5_000
_FILES = frozenset(("env_file", "label_file"))
_BESIDE = frozenset(("format", "required"))  # of a file of variables, and no names
_MERGED = "<<"
# Of a service: what stays text whatever it is, and is handed to the container alone.
_HANDED = frozenset(
    (("environment",), ("labels",), ("command",), ("entrypoint",), ("build", "args"), ("healthcheck", "test"))
)
# What goes by such a name is no secret: which, how many, how big and where.
_PLAIN_TEXT = """
ADDR ADDRESS ARCH BRANCH COUNT CPU CPUS DIR DIRECTORY DOMAIN DRIVER ENV ENVIRONMENT FOLDER GID GROUP HOME HOST HOSTNAME
IMAGE INTERVAL IP LEVEL LIMIT MEM MEMORY MODE NAME NETWORK PATH PLATFORM POLICY PORT PORTS PREFIX PROFILE PROFILES
PROJECT PWD REGISTRY RELEASE REPLICAS REPO REPOSITORY RESTART RETRIES ROOT SIZE STAGE SUBNET SUFFIX TAG TARGET TIMEOUT
TZ UID USER VERSION VOLUME
"""
_PLAIN = regex(rf"(?:\w*_)?(?:{'|'.join(_PLAIN_TEXT.split())})", re.ASCII | re.IGNORECASE)
_NAME = regex(r"\$\{?(\w*)", re.ASCII)
_MARK = regex(r"\$\$|\$\{|[$?}]")
_DOTTED = regex(r"\.env(?:\..*)?|.*\.env", re.DOTALL)


def shows(content: str) -> bool:
    """Whether a value could come to be seen that by its name may be a secret.

    Raises:
        FileSystemUnknownError: there is too much of it.
        yaml.YAMLError: it is none.
    """
    for path, text in _texts(content):
        handed = len(path) > 2 and path[0] == "services" and not _HANDED.isdisjoint((path[2:3], path[2:4]))
        names = _NAME.findall(text.replace("$$", ""))
        if (not handed or _complains(text)) and not all(map(_PLAIN.fullmatch, names)):
            return True
    return False


def variable_files(content: str) -> Iterator[str]:
    """The files whose lines a service gets as variables. Errors as of `shows`."""
    for path, text in _texts(content):
        if not _FILES.isdisjoint(path) and path[-1] not in _BESIDE:
            yield text


def dotted(name: str) -> bool:
    """Whether a file goes by a name that only files of variables have: in those Compose can read every line."""
    return _DOTTED.fullmatch(name.rpartition("/")[2]) is not None


def _complains(text: str) -> bool:
    """Whether it has a complaint, `${NAME:?…}`, into which a value is put."""
    depth, complaint = 0, None
    for mark in _MARK.findall(text):
        if mark in ("$", "${") and complaint is not None:
            return True
        if mark == "?" and depth and complaint is None:
            complaint = depth
        depth += (mark == "${") - (mark == "}" and depth > 0)
        if complaint is not None and depth < complaint:
            complaint = None
    return False


def _texts(content: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every text that is a value, with the keys above it. What stands there by an alias stands there."""
    waiting: list[tuple[tuple[str, ...], _Node]] = [((), _read(content))]
    count = 0
    while waiting:
        path, node = waiting.pop()
        count += 1
        if count > _MAX_NODES:
            raise FileSystemUnknownError
        if not node.within:
            yield path, node.text
        elif node.mapping:
            for key, value in zip(node.within[::2], node.within[1::2], strict=True):
                waiting.append((path if key.text == _MERGED else (*path, key.text), value))
        else:
            waiting += [(path, each) for each in node.within]


@dataclass(slots=True)
class _Node:
    """A text, or a collection: of keys and values in turn where it is a mapping."""

    text: str = ""
    mapping: bool = False
    within: list["_Node"] = field(default_factory=list)


def _read(content: str) -> _Node:
    """The documents, in one list. Built step by step: a reader that calls itself ends the process where it is deep."""
    opened, anchors = [_Node()], dict[str, _Node]()
    for count, event in enumerate(yaml.parse(content, Loader=yaml.CSafeLoader)):
        if count == _MAX_NODES:
            raise FileSystemUnknownError
        if isinstance(event, yaml.CollectionEndEvent):
            opened.pop()
        if not isinstance(event, yaml.AliasEvent | yaml.ScalarEvent | yaml.CollectionStartEvent):
            continue
        if isinstance(event, yaml.AliasEvent):
            node = anchors.get(event.anchor or "") or _Node()
        else:
            text = event.value if isinstance(event, yaml.ScalarEvent) else ""
            node = _Node(text=text, mapping=isinstance(event, yaml.MappingStartEvent))
            if event.anchor is not None:
                anchors[event.anchor] = node
        opened[-1].within.append(node)
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append(node)
    return opened[0]

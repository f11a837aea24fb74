"""What a condition waits for: constants of which one must be among the facts, or the condition is false.

`needed(condition)` is a set of keys. INVARIANT: where none of them is among the facts, the condition is false and has
that answer without an error, so an index may pass it over. It follows the tree: of `a && b` one operand that is surely
false is enough, of `a || b` both must be; `exists` is false where its body is for each element. Reads of what may be
absent count as false: the guard that every rule has before them is false then. All else waits for nothing known.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from shield.policy.cel import regex
from shield.policy.cel.condition import Condition
from shield.policy.cel.schema import STRING, EnumOf, ListOf, MapObject, MapOf, Object, Schema, SetOf, Type
from shield.policy.cel.syntax import Binary, Call, Items, Literal, Logic, Name, Node, Select

__all__ = ["Key", "Slot", "Way", "needed"]


class Way(StrEnum):
    """How a text of the facts stands to the key."""

    EQUAL = "equal"
    PREFIX = "prefix"
    PART = "part"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Where the texts are: a root at `place` of the values; `many`: of each of its elements; the `field` of it, if
    any; `members`: of that the elements."""

    place: int
    many: bool
    field: str | None
    members: bool
    way: Way


@dataclass(frozen=True, slots=True)
class Key:
    slot: Slot
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spot:
    """A value in the facts: a root, an element, a field, or an element of a field."""

    slot: Slot
    type: Type


_Names = Mapping[str, _Spot]
_Keys = frozenset[Key]
_SHORT = 3  # a shorter part is in too many texts to tell anything
_COSTS = {Way.EQUAL: 1, Way.PREFIX: 2, Way.PART: 3}


def needed(condition: Condition) -> _Keys | None:
    """Keys of which one must be there for the condition to be anything but false; None where nothing is known."""
    return _keys(condition.tree, {}, condition)


def _keys(node: Node, names: _Names, condition: Condition) -> _Keys | None:
    schema = condition.schema
    match node:
        case Logic(op="and"):
            found = []
            for arg in node.args:
                keys = _keys(arg, names, condition)
                if keys is not None:
                    found.append(keys)
                if id(arg) in condition.costly:
                    break  # what comes later is not reached where this has cost too much
            return min(found, key=_cost) if found else None
        case Logic():
            either = [_keys(arg, names, condition) for arg in node.args]
            known = [keys for keys in either if keys is not None]
            return frozenset().union(*known) if len(known) == len(either) else None
        case Call(name="exists" | "exists_one") if len(node.args) == 2 and node.target is not None:
            variable, body = node.args
            items = _elements(node.target, names, schema)
            # what stands inside another one is paid for, element by element
            if items is None or names or not isinstance(variable, Name):
                return None
            return _keys(body, {variable.name: items}, condition)
    if id(node) in condition.costly:
        return None
    match node:
        case Binary():
            return _compared(node, names, schema)
        case Call():
            return _called(node, names, schema)
    return None


def _cost(keys: _Keys) -> int:
    """How often the keys will be met by chance, roughly: enumerations and members of sets are met at every turn."""
    return sum(_COSTS[key.slot.way] + 8 * key.slot.members for key in keys)


def _compared(node: Binary, names: _Names, schema: Schema) -> _Keys | None:
    if node.op == "==":
        for one, other in ((node.left, node.right), (node.right, node.left)):
            spot = _spot(one, names, schema)
            if spot is not None and isinstance(other, Literal) and isinstance(other.value, str):
                return _texts(spot, [other.value])
    if node.op == "in":
        spot = _spot(node.left, names, schema)
        constants = _constants(node.right, names, schema)
        if spot is not None and constants is not None:
            return _texts(spot, constants)
        within = _elements(node.right, names, schema)
        if within is not None and isinstance(node.left, Literal) and isinstance(node.left.value, str):
            return _texts(within, [node.left.value])
    return None


def _called(node: Call, names: _Names, schema: Schema) -> _Keys | None:
    if node.name == "intersects" and isinstance(node.target, Name) and node.target.name == "sets":
        items, constants = _elements(node.args[0], names, schema), _constants(node.args[1], names, schema)
        return _texts(items, constants) if items is not None and constants is not None else None
    if node.target is None or len(node.args) != 1:
        return None
    spot, written = _spot(node.target, names, schema), node.args[0]
    if spot is None or not isinstance(written, Literal) or not isinstance(written.value, str):
        return None
    return _searched(node.name, spot, written.value)


def _searched(name: str, spot: _Spot, text: str) -> _Keys | None:
    match name:
        case "startsWith":
            return _texts(spot, [text], Way.PREFIX)
        case "contains" | "endsWith":
            return _texts(spot, [text], Way.PART)
        case "matches":
            pattern = regex.pattern(text)
            match pattern.test:
                case "==":
                    return _texts(spot, [pattern.literal])
                case "startswith":
                    return _texts(spot, [pattern.literal], Way.PREFIX)
            return _texts(spot, [pattern.literal], Way.PART)
    return None


def _texts(spot: _Spot, texts: Iterable[str], way: Way = Way.EQUAL) -> _Keys | None:
    """The keys of texts at a place; None where they say too little, or the place holds no texts."""
    if spot.type != STRING or (way is Way.PREFIX and "" in texts):
        return None
    found = frozenset(Key(replace(spot.slot, way=way), text) for text in texts)
    if way is Way.PART and any(len(key.text) < _SHORT for key in found):
        return None
    return found


def _constants(node: Node, names: _Names, schema: Schema) -> tuple[str, ...] | None:
    """The texts of a constant list."""
    if isinstance(node, Items):
        values = [item.value for item in node.items if isinstance(item, Literal)]
        texts = tuple(value for value in values if isinstance(value, str))
        return texts if len(texts) == len(node.items) else None
    if isinstance(node, Select) and isinstance(node.base, Name) and node.base.name == "lists":
        if "lists" in schema.roots or ("lists" in names and not node.base.rooted):
            return None
        return tuple(schema.lists[node.field])
    return None


def _spot(node: Node, names: _Names, schema: Schema) -> _Spot | None:
    """The value that a name or a field of one stands for, if it is one of the facts."""
    if isinstance(node, Name):
        if not node.rooted and node.name in names:
            return names[node.name]
        kind = schema.roots.get(node.name)
        # what an action is, every slice of rules knows already
        if kind is None or node.name == "action" or isinstance(kind, MapObject | MapOf):
            return None
        place = list(schema.roots).index(node.name)
        return _Spot(slot=Slot(place=place, many=False, field=None, members=False, way=Way.EQUAL), type=kind)
    if isinstance(node, Select):
        base = _spot(node.base, names, schema)
        if base is None or not isinstance(base.type, Object) or base.slot.field is not None:
            return None
        declared = base.type.fields.get(node.field)
        return _Spot(slot=replace(base.slot, field=node.field), type=declared.type) if declared is not None else None
    return None


def _elements(node: Node, names: _Names, schema: Schema) -> _Spot | None:
    """What the elements of a list or set of the facts are."""
    spot = _spot(node, names, schema)
    if spot is None or not isinstance(spot.type, ListOf | SetOf) or spot.slot.members:
        return None
    item = STRING if isinstance(spot.type.item, EnumOf) else spot.type.item
    if spot.slot.field is None:
        return _Spot(slot=replace(spot.slot, many=True), type=item) if not spot.slot.many else None
    return _Spot(slot=replace(spot.slot, members=True), type=item)

"""Macros of a policy file: conditions under a name, written out where they are used, before anything is checked.

`macros.local` stands for its text, `macros.touches(p, "ci")` for its text with the arguments in place of parameters.
INVARIANT: what is written out means the same at every place: names of facts in a macro's text are never taken for
variables of the place, variables of the text never for names in the arguments. Errors inside show both places.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from shield.policy.cel.parser import MAX_NODES, read
from shield.policy.cel.scope import TYPE_NAMES, nearest
from shield.policy.cel.syntax import (
    COMPREHENSIONS,
    Binary,
    Call,
    Choice,
    Entries,
    Index,
    Items,
    Literal,
    Logic,
    Name,
    Node,
    Select,
    Source,
    Unary,
    parts,
    walk,
)

__all__ = ["MACROS", "Macro", "check_uses", "expand", "free_names", "read_macro"]

MACROS = "macros"
MAX_DEEP = 8  # macros that use macros
MAX_USES = 64  # in one condition, those inside others counted
_NAMESPACES = frozenset({*TYPE_NAMES, "google", "net", "strings", "sets", "ip", "lists", MACROS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Macro:
    """One macro of a file. `source` is its text and where that stands."""

    name: str
    params: tuple[str, ...]
    tree: Node
    source: Source


def read_macro(name: str, params: Sequence[str], text: Source, *, proven: bool = False) -> Macro:
    """Parse a macro's text. One that is not `proven` is read by a second parser, too.

    Raises CelLoadError: not CEL, a parameter that is never used, a variable that hides a parameter.
    """
    tree = read(text, proven=proven)
    for node in walk(tree):
        variable = _variable(node)
        if variable is not None and variable.name in params:
            raise text.error(f"the variable `{variable.name}` has the name of a parameter; rename it", variable.pos)
    free = _free(tree, frozenset())
    for param in params:
        if param not in free or free[param].rooted:
            raise text.error(f"the parameter `{param}` of the macro `{name}` is never used; remove it", 0)
    return Macro(name=name, params=tuple(params), tree=tree, source=text)


def free_names(macro: Macro) -> Iterator[Name]:
    """The names in a macro's text that are neither parameters, variables, types nor namespaces."""
    return iter(_free(macro.tree, _NAMESPACES | frozenset(macro.params)).values())


def check_uses(macros: Mapping[str, Macro]) -> None:
    """Whether the macros that macros use are there, do not repeat and are not too deep. Raises CelLoadError."""
    depths: dict[str, int] = {}
    for macro in macros.values():
        _depth(macro, macros, depths, ())


def _depth(macro: Macro, macros: Mapping[str, Macro], depths: dict[str, int], around: tuple[str, ...]) -> int:
    if macro.name in depths:
        return depths[macro.name]
    deepest = 0
    for node in walk(macro.tree):
        name = _use(node)
        if name is None:
            continue
        if name not in macros:
            raise macro.source.error(f"unknown macro `{name}`", node.pos, nearest(name, macros))
        if name == macro.name or name in around:
            raise macro.source.error(f"the macro `{name}` uses itself; write it without", node.pos)
        if len(around) < MAX_DEEP:
            deepest = max(deepest, _depth(macros[name], macros, depths, (*around, macro.name)))
        if deepest == MAX_DEEP or len(around) == MAX_DEEP:
            raise macro.source.error(f"more than {MAX_DEEP} macros inside one another", node.pos)
    depths[macro.name] = deepest + 1
    return deepest + 1


def expand(tree: Node, text: Source, macros: Mapping[str, Macro]) -> tuple[Node, Source]:
    """The tree with every macro written out, and the source that knows the places in them.

    Raises CelLoadError: an unknown macro, a wrong number of arguments, recursion, or too large a result.
    """
    if not any(_use(node) is not None for node in walk(tree)):
        return tree, text
    taken = {node.name for node in walk(tree) if isinstance(node, Name)}
    writer = _Writer(macros=macros, source=text, taken=taken)
    return writer.node(tree, _Place()), writer.source


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a node stands: `base` is added to its position, `names` are what names become, `open` the macros around.

    Inside a macro `rooted` is set: a name that is not among `names` is one of the facts."""

    base: int = 0
    names: Mapping[str, Node] = field(default_factory=dict)
    open: tuple[str, ...] = ()
    rooted: bool = False


@dataclass(slots=True, kw_only=True)
class _Writer:
    macros: Mapping[str, Macro]
    source: Source
    taken: set[str]
    count: int = 0

    def node(self, node: Node, at: _Place) -> Node:
        self.count += 1
        pos = node.pos + at.base
        if self.count > MAX_NODES:
            raise self.source.error("with its macros the condition is too large: split it into several rules", pos)
        used = _use(node)
        if used is not None and MACROS not in at.names:
            return self.macro(node, used, at)
        match node:
            case Literal():
                return replace(node, pos=pos)
            case Name():
                return self.name(node, at)
            case Select():
                return Select(pos, self.node(node.base, at), node.field)
            case Index():
                return Index(pos, self.node(node.base, at), self.node(node.key, at))
            case Call():
                return self.call(node, at)
            case Items():
                return Items(pos, tuple(self.node(item, at) for item in node.items))
            case Entries():
                entries = tuple((self.node(key, at), self.node(value, at)) for key, value in node.entries)
                return Entries(pos, entries)
            case Unary():
                return Unary(pos, node.op, self.node(node.arg, at))
            case Binary():
                return Binary(pos, node.op, self.node(node.left, at), self.node(node.right, at))
            case Logic():
                return Logic(pos, node.op, tuple(self.node(arg, at) for arg in node.args))
            case Choice():
                return Choice(pos, self.node(node.test, at), self.node(node.yes, at), self.node(node.no, at))

    def name(self, node: Name, at: _Place) -> Node:
        pos = node.pos + at.base
        if node.rooted:
            return Name(pos, node.name, True)
        found = at.names.get(node.name)
        if found is None:
            return Name(pos, node.name, at.rooted and node.name not in TYPE_NAMES)
        # an argument is written out anew at every place, and paid for each time
        self.count += sum(1 for _ in walk(found))
        if self.count > MAX_NODES:
            raise self.source.error("with its macros the condition is too large: split it into several rules", pos)
        return found

    def call(self, node: Call, at: _Place) -> Node:
        pos = node.pos + at.base
        variable = _variable(node)
        if node.target is None or variable is None:
            target = None if node.target is None else self.node(node.target, at)
            return Call(pos, node.name, target, tuple(self.node(arg, at) for arg in node.args))
        if variable.name == MACROS:
            raise self.source.error("`macros` names the file's macros; choose another variable", variable.pos + at.base)
        fresh = self.fresh(variable.name) if at.rooted else variable.name
        bound = Name(variable.pos + at.base, fresh, False)
        inside = replace(at, names={**at.names, variable.name: bound})
        rest = tuple(self.node(arg, inside) for arg in node.args[1:])
        return Call(pos, node.name, self.node(node.target, at), (bound, *rest))

    def fresh(self, name: str) -> str:
        number = 1
        while f"{name}_{number}" in self.taken:
            number += 1
        self.taken.add(f"{name}_{number}")
        return f"{name}_{number}"

    def macro(self, node: Node, name: str, at: _Place) -> Node:
        pos = node.pos + at.base
        found = self.macros.get(name)
        if found is None:
            raise self.source.error(f"unknown macro `{name}`", pos, nearest(name, self.macros))
        if name in at.open:
            raise self.source.error(f"the macro `{name}` uses itself", pos)
        if len(at.open) == MAX_DEEP or len(self.source.uses) == MAX_USES:
            raise self.source.error("too many macros are used here: split it into several rules", pos)
        args = node.args if isinstance(node, Call) else ()
        if len(args) != len(found.params) or (isinstance(node, Select) and found.params):
            shown = f"macros.{name}({', '.join(found.params)})" if found.params else f"macros.{name}"
            raise self.source.error(f"the macro `{name}` is written `{shown}`", pos)
        given = {param: self.node(arg, at) for param, arg in zip(found.params, args, strict=True)}
        self.source = self.source.using(name, found.source, pos)
        inside = _Place(base=self.source.base, names=given, open=(*at.open, name), rooted=True)
        return self.node(found.tree, inside)


def _use(node: Node) -> str | None:
    """The macro that `node` stands for, if it is a use of one."""
    if isinstance(node, Select) and _is_macros(node.base):
        return node.field
    if isinstance(node, Call) and node.target is not None and _is_macros(node.target):
        return node.name
    return None


def _is_macros(node: Node) -> bool:
    return isinstance(node, Name) and node.name == MACROS


def _variable(node: Node) -> Name | None:
    """The variable that a comprehension binds."""
    if isinstance(node, Call) and node.target is not None and node.name in COMPREHENSIONS and len(node.args) >= 2:
        first = node.args[0]
        return first if isinstance(first, Name) and not first.rooted else None
    return None


def _free(node: Node, bound: frozenset[str]) -> dict[str, Name]:
    """The free names below `node`, each with its first place."""
    if isinstance(node, Name):
        return {} if node.name in bound and not node.rooted else {node.name: node}
    variable = _variable(node)
    found: dict[str, Name] = {}
    if variable is not None and isinstance(node, Call) and node.target is not None:
        found |= _free(node.target, bound)
        for arg in node.args[1:]:
            found = _free(arg, bound | {variable.name}) | found
        return found
    for part in parts(node):
        found = _free(part, bound) | found
    return found

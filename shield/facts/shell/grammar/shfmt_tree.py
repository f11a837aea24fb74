"""The commands in the typed JSON of `shfmt` as a `Script`.

Words → Conditions → Simples → Commands
"""

from collections.abc import Callable
from typing import Any

from shield.facts.shell.grammar.script import (
    AndOr,
    Arithmetic,
    Case,
    Clause,
    Command,
    Coprocess,
    Counting,
    For,
    Function,
    Group,
    If,
    Loop,
    Pipeline,
    RefusedLineError,
    Script,
    Simple,
    Test,
    literal,
)
from shield.facts.shell.grammar.shfmt_simple import Simples
from shield.facts.shell.grammar.shfmt_words import Node, expect

__all__ = ["script_of"]

_STATEMENT = ("Position", "Semicolon", "Comments")
_COMPOUND = (Group, If, Loop, For, Counting, Case, Test, Arithmetic)


def script_of(text: str, tree: Node, tree_of: Callable[[str], Node | None]) -> Script:
    """The script that `tree` says `text` is. `tree_of` parses another text, None where it is not well-formed.

    Raises:
        RefusedLineError: it holds something that `Script` cannot say.
        KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError: it is no tree of `shfmt`.
    """
    expect(tree, "Stmts", "Last", "Name")
    return _Commands(text, tree_of, 0).script(tree.get("Stmts", []))


class _Commands(Simples):
    def script(self, statements: list[Node]) -> Script:
        return Script(tuple(self.and_or(node) for node in statements))

    def and_or(self, node: Node) -> AndOr:
        background = bool(node.get("Background"))
        rest: list[tuple[str, Node]] = []
        statement = node = _hoisted(node)
        while _joins(statement, "&&", "||") and not statement.get("Negated"):
            expect(statement, *_STATEMENT, "Cmd", "Background")
            command = statement["Cmd"]
            rest.append((command["Op"], command["Y"]))
            statement = command["X"]
        rest.reverse()
        pipelines = [self.pipeline(statement, first=statement is node)]
        pipelines += [self.pipeline(right, first=False) for _, right in rest]
        return AndOr(tuple(pipelines), tuple(operator for operator, _ in rest), background)

    def pipeline(self, node: Node, *, first: bool) -> Pipeline:
        negated = timed = False
        statement = node
        while True:
            known = ("Background",) if statement is node and first else ()
            negated ^= bool(statement.get("Negated"))
            command = statement.get("Cmd") or {}
            if command.get("Type") != "TimeClause":
                break
            expect(statement, *_STATEMENT, "Cmd", "Negated", *known)
            expect(command, "Time", "PosixFormat", "Stmt")
            if timed or "Stmt" not in command:
                raise RefusedLineError("`time` without a command")
            timed = True
            statement = command["Stmt"]
        stages: list[Node] = []
        last = statement
        while _joins(last, "|", "|&"):
            expect(last, *_STATEMENT, "Cmd", *(("Negated", *known) if last is statement else ()))
            stages.append(last["Cmd"]["Y"])
            last = last["Cmd"]["X"]
        stages.append(last)
        stages.reverse()
        if len(stages) == 1:
            return Pipeline((self.command(last, "Negated", *known),), negated, timed)
        return Pipeline(tuple(self.command(stage) for stage in stages), negated, timed)

    def command(self, node: Node, *known: str) -> Command:
        expect(node, *_STATEMENT, "Cmd", "Redirs", *known)
        redirects = tuple(self.redirect(redirect) for redirect in node.get("Redirs", ()))
        command = node.get("Cmd")
        if command is None:
            return Simple((), (), redirects)
        kind = command["Type"]
        read = getattr(self, f"read_{kind.lower()}", None)
        if read is None:
            raise RefusedLineError(f"`{kind}` of the second parser")
        found: Command = read(command)
        if isinstance(found, Function | Coprocess):
            if redirects:
                raise RefusedLineError("redirections outside a definition")
            return found
        return found._replace(redirects=redirects)

    # --- compound commands ------------------------------------------------------------------------------------------

    def some(self, node: Node, key: str) -> Script:
        return self.deeper().script(node.get(key, []))

    def read_block(self, node: Node) -> Group:
        expect(node, "Lbrace", "Rbrace", "Stmts", "Last")
        return Group(self.some(node, "Stmts"))

    def read_subshell(self, node: Node) -> Group:
        expect(node, "Lparen", "Rparen", "Stmts", "Last")
        return Group(self.some(node, "Stmts"), subshell=True)

    def read_ifclause(self, node: Node) -> If:
        branches: list[tuple[Script, Script]] = []
        otherwise = None
        known = ("Position", "ThenPos", "FiPos", "Cond", "CondLast", "Then", "ThenLast", "Else", "Last")
        following: Node | None = node
        while following is not None:
            expect(following, *known)
            if "Cond" not in following:
                otherwise = self.some(following, "Then")
                break
            branches.append((self.some(following, "Cond"), self.some(following, "Then")))
            following = following.get("Else")
        return If(tuple(branches), otherwise)

    def read_whileclause(self, node: Node) -> Loop:
        expect(node, "WhilePos", "DoPos", "DonePos", "Until", "Cond", "CondLast", "Do", "DoLast")
        return Loop(self.some(node, "Cond"), self.some(node, "Do"), until=bool(node.get("Until")))

    def read_forclause(self, node: Node) -> For | Counting:
        expect(node, "ForPos", "DoPos", "DonePos", "Select", "Braces", "Loop", "Do", "DoLast")
        loop, body = node["Loop"], self.some(node, "Do")
        if loop["Type"] == "WordIter":
            expect(loop, "Name", "InPos", "Items")
            words = tuple(self.word(word) for word in loop.get("Items", ())) if "InPos" in loop else None
            return For(loop["Name"]["Value"], words, body, bool(node.get("Select")))
        expect(loop, "Lparen", "Rparen", "Init", "Cond", "Post")
        first, test, step = (self.spanned(loop.get(key)) for key in ("Init", "Cond", "Post"))
        return Counting(first, test, step, body)

    def read_caseclause(self, node: Node) -> Case:
        expect(node, "Case", "In", "Esac", "Word", "Items", "Last")
        return Case(self.word(node["Word"]), tuple(self.clause(item) for item in node.get("Items", ())))

    def clause(self, node: Node) -> Clause:
        expect(node, "Op", "OpPos", "Patterns", "Stmts", "Comments", "Last")
        return Clause(tuple(self.word(word) for word in node["Patterns"]), self.some(node, "Stmts"), node["Op"])

    def read_funcdecl(self, node: Node) -> Function:
        expect(node, "Position", "RsrvWord", "Parens", "Name", "Body")
        body = self.deeper().command(node["Body"])
        if not isinstance(body, _COMPOUND):
            raise RefusedLineError("the body of a function")
        return Function(node["Name"]["Value"], body)

    def read_coprocclause(self, node: Node) -> Coprocess:
        expect(node, "Coproc", "Name", "Stmt")
        name = literal(self.word(node["Name"])) if "Name" in node else None
        body = self.deeper().command(node["Stmt"])
        if isinstance(body, Function | Coprocess) or ("Name" in node and name is None):
            raise RefusedLineError("the body of a coprocess")
        return Coprocess(body, name)

    def read_arithmcmd(self, node: Node) -> Arithmetic:
        expect(node, "Left", "Right", "X")
        return Arithmetic(self.spanned(node.get("X"), node["Left"]["Offset"] + 2, node["Right"]["Offset"]))

    def read_testclause(self, node: Node) -> Test:
        expect(node, "Left", "Right", "X")
        return Test(self.condition(node["X"]))


def _hoisted(node: Node) -> Node:
    """`f() { …; } && b` with the list around the definition: the tree of `shfmt` has it within."""
    definition = node.get("Cmd") or {}
    if definition.get("Type") != "FuncDecl" or not _joins(definition["Body"], "&&", "||", "|", "|&"):
        return node
    path = [definition["Body"]]
    while _joins(path[-1], "&&", "||", "|", "|&"):
        path.append(path[-1]["Cmd"]["X"])
    inner = {"Cmd": definition | {"Body": path.pop()}}
    while path:
        outer = path.pop()
        inner = outer | {"Cmd": outer["Cmd"] | {"X": inner}}
    return node | {"Cmd": inner.pop("Cmd")} | inner


def _joins(node: Node, *operators: str) -> bool:
    command: Any = node.get("Cmd")
    if not command or command["Type"] != "BinaryCmd" or command["Op"] not in operators:
        return False
    expect(command, "OpPos", "Op", "X", "Y")
    return True

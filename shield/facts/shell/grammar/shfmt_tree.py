"""The commands in the typed JSON of `shfmt` as a `Script`."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from shield.facts.shell.grammar.script import (
    LITERAL,
    AndOr,
    Arithmetic,
    Assignment,
    Case,
    Clause,
    Command,
    Condition,
    Coprocess,
    Counting,
    For,
    Function,
    Group,
    If,
    Item,
    Loop,
    Part,
    Pipeline,
    RedirectNode,
    RefusedLineError,
    Script,
    Simple,
    Test,
    Word,
    combined,
    joined,
    literal,
)
from shield.facts.shell.grammar.shfmt_words import Node, Words, expect

__all__ = ["script_of"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
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


def _name(node: Node) -> str:
    """What an assignment sets. Some words that are none, `+1+=[` and `\\;x=[`, are assignments to `shfmt`."""
    name: str = node["Name"]["Value"]
    if not _NAME.fullmatch(name):
        raise RefusedLineError("an assignment to what is no name")
    return name


class _Commands(Words):
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

    # --- simple commands --------------------------------------------------------------------------------------------

    def read_callexpr(self, node: Node) -> Simple:
        expect(node, "Assigns", "Args")
        assignments = tuple(self.assignment(assign) for assign in node.get("Assigns", ()))
        return Simple(assignments, tuple(self.word(word) for word in node.get("Args", ())))

    def read_declclause(self, node: Node) -> Simple:
        expect(node, "Variant", "Args")
        words = [(Part(LITERAL, node["Variant"]["Value"], False),)]
        return Simple((), tuple(words + [self.declared(assign) for assign in node.get("Args", ())]))

    def read_letclause(self, node: Node) -> Simple:
        expect(node, "Let", "Exprs")
        words: list[Word] = [(Part(LITERAL, "let", False),)]
        for expression in node["Exprs"]:
            if expression["Type"] == "Word":
                words.append(self.word(expression))
                continue
            word = self.spanned(expression, quoted=False)
            if any(char in part.text for part in word if not part.quoted for char in " \t\n\\"):
                raise RefusedLineError("`let` with blanks in an expression")
            words.append(word)
        return Simple((), tuple(words))

    def declared(self, node: Node) -> Word:
        expect(node, "Naked", "Name", "Value", "Append")
        if node.get("Naked"):
            return self.word(node["Value"]) if "Value" in node else (Part(LITERAL, node["Name"]["Value"], False),)
        head = _name(node) + ("+=" if node.get("Append") else "=")
        return joined((Part(LITERAL, head, False), *self.word(node.get("Value"))))

    def assignment(self, node: Node) -> Assignment:
        expect(node, "Append", "Name", "Index", "Value", "Array")
        name, append = _name(node), bool(node.get("Append"))
        if "Array" in node:
            expect(node, "Append", "Name", "Array")
            expect(node["Array"], "Lparen", "Rparen", "Elems", "Last")
            items = tuple(self.item(element) for element in node["Array"].get("Elems", ()))
            return Assignment(name, (), append, plain=False, items=items)
        index = self.spanned(node["Index"]) if "Index" in node else None
        return Assignment(name, self.word(node.get("Value")), append, plain=index is None, index=index)

    def item(self, node: Node) -> Item:
        expect(node, "Index", "Value", "Comments")
        return Item(self.word(node.get("Value")), self.spanned(node["Index"]) if "Index" in node else None)

    def redirect(self, node: Node) -> RedirectNode:
        expect(node, "OpPos", "Op", "N", "Word", "Hdoc")
        operator = node["Op"]
        number = node["N"]["Value"] if "N" in node else None
        if number is not None and not (number.isascii() and number.isdigit() and len(number) < 10):
            raise RefusedLineError("named descriptor")
        fd = None if number is None else int(number)
        if operator in ("<<", "<<-"):
            return RedirectNode(operator, fd, self.body(node, tabs=operator == "<<-"))
        word = self.word(node["Word"])
        if operator in (">&", "<&") and literal(word) == "-":
            return RedirectNode(operator + "-", fd, ())
        return RedirectNode(operator, fd, word)

    def body(self, node: Node, *, tabs: bool) -> Word:
        delimiter = self.word(node["Word"])
        parts: list[Part] = [Part(LITERAL, "", True)]
        fresh = True  # the next character begins a line
        for part in node["Hdoc"]["Parts"] if "Hdoc" in node else ():
            if part["Type"] != "Lit":
                fresh = False
                self.quoted(part, parts, "$`\\")
                continue
            lines = part["Value"].split("\n")
            if tabs:
                lines = [line.lstrip("\t") if index or fresh else line for index, line in enumerate(lines)]
            fresh = lines[-1] == ""
            text = {"Type": "Lit", "Value": "\n".join(lines)}
            if any(piece.quoted for piece in delimiter):
                parts.append(Part(LITERAL, text["Value"], True))
            else:
                self.quoted(text, parts, "$`\\")
        return joined(parts)

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

    def condition(self, node: Node) -> Condition:
        # The tree of `shfmt` has `&&`, `||` and `!` of a test all bind alike, to the right (`! a && b || c` is
        # `!(a && (b || c))` in it). Bash has the precedence of the manual, so the tree is made a row of operands and
        # operators again; parentheses are nodes of their own.
        row = list(self.row(node))
        row.reverse()
        condition = _either(row)
        if row:
            raise RefusedLineError("a test of the second parser is out of order")
        return condition

    def row(self, node: Node) -> Iterator[Condition | str]:
        kind = node["Type"]
        if kind == "BinaryTest" and node["Op"] in ("&&", "||"):
            expect(node, "OpPos", "Op", "X", "Y")
            yield from self.row(node["X"])
            yield node["Op"]
            yield from self.row(node["Y"])
        elif kind == "UnaryTest" and node["Op"] == "!":
            expect(node, "OpPos", "Op", "X")
            yield "!"
            yield from self.row(node["X"])
        elif kind == "ParenTest":
            expect(node, "Lparen", "Rparen", "X")
            yield self.condition(node["X"])
        else:
            yield self.operation_of(node)

    def operation_of(self, node: Node) -> Condition:
        if node["Type"] == "Word":
            return Condition("-n", (), (self.word(_only(node, "Parts")),))
        if node["Type"] == "UnaryTest":
            expect(node, "OpPos", "Op", "X")
            at = node["OpPos"]["Offset"]
            return Condition(self.gap(at, at + 2), (), (self.word(_only(node["X"], "Parts")),))
        expect(node, "OpPos", "Op", "X", "Y")
        operator = "==" if node["Op"] == "=" else node["Op"]
        return Condition(operator, (), (self.word(_only(node["X"], "Parts")), self.word(_only(node["Y"], "Parts"))))


def _either(row: list[Condition | str]) -> Condition:
    """The condition at the end of `row`, which is reversed."""
    condition = _both(row)
    while row and row[-1] == "||":
        row.pop()
        condition = combined("||", condition, _both(row))
    return condition


def _both(row: list[Condition | str]) -> Condition:
    condition = _operand(row)
    while row and row[-1] == "&&":
        row.pop()
        condition = combined("&&", condition, _operand(row))
    return condition


def _operand(row: list[Condition | str]) -> Condition:
    first = row.pop()
    if first == "!":
        return Condition("!", (_operand(row),))
    if isinstance(first, str):
        raise RefusedLineError("a test of the second parser is out of order")
    return first


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


def _only(node: Node, key: str) -> Node:
    """`node`, which has to have `key`."""
    if key not in node:
        raise RefusedLineError("a test of something else than words")
    return node

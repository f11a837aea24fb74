"""Simple commands in the typed JSON of `shfmt`: assignments, words and redirections."""

from shield.facts.shell.grammar.script import (
    LITERAL,
    Assignment,
    Item,
    Part,
    RedirectNode,
    RefusedLineError,
    Simple,
    Word,
    joined,
    literal,
)
from shield.facts.shell.grammar.shfmt_conditions import Conditions
from shield.facts.shell.grammar.shfmt_words import Node, expect
from shield.regex import regex

__all__ = ["Simples"]

_NAME = regex(r"[A-Za-z_][A-Za-z0-9_]*")


class Simples(Conditions):
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


def _name(node: Node) -> str:
    """What an assignment sets. Some words that are none, `+1+=[` and `\\;x=[`, are assignments to `shfmt`."""
    name: str = node["Name"]["Value"]
    if not _NAME.fullmatch(name):
        raise RefusedLineError("an assignment to what is no name")
    return name

"""Simple commands of a line as the grammar of tree-sitter-bash sees them: assignments, words and redirections."""

import tree_sitter

from shield.facts.shell.grammar.script import LITERAL, Assignment, Part, PartKind, RedirectNode, Simple, Word, joined
from shield.facts.shell.grammar.tree_words import WORDS, TreeWords

__all__ = ["TreeSimples"]

_SEPARATORS = frozenset({";", "\n", "&", "&&", "||", ";;", "comment", "heredoc_start", "heredoc_end"})


class TreeSimples(TreeWords):
    def simple(self, node: tree_sitter.Node, depth: int) -> Simple:
        assignments: list[Assignment] = []
        words: list[Word] = []
        redirects: list[RedirectNode] = []
        declares = node.type == "declaration_command"
        if node.type == "variable_assignment":
            return Simple((self.assignment(node, depth),))
        for child in node.children:
            kind = child.type
            if kind in WORDS:
                words.append(self.word(child, depth + 1))
            elif kind == "command_name":
                words.append(self.word(child.children[0], depth + 1) if child.child_count else self.word(child, depth))
            elif kind == "variable_assignment" and not declares:
                assignments.append(self.assignment(child, depth + 1))
            elif kind == "variable_assignment":
                words.append(self.declared(child, depth + 1))
            elif kind.endswith("_redirect"):
                self.redirect(child, redirects, words, depth)
            elif kind == "comment":
                continue
            else:
                self.leaves(child, words, depth + 1)
        return Simple(tuple(assignments), tuple(words), tuple(redirects))

    def leaves(self, node: tree_sitter.Node, words: list[Word], depth: int) -> None:
        """The words of a `[ … ]` expression, or of something unknown, flattened."""
        if not self.enter(depth):
            return
        if node.type in WORDS:
            words.append(self.word(node, depth))
        elif not node.children:
            text = self.source(node)
            if node.is_missing or node.type == "ERROR":
                self.complete = False
            words.append((Part(LITERAL, text, False),))
        else:
            if not node.type.endswith("_expression"):
                self.complete = False
            for child in node.children:
                self.leaves(child, words, depth + 1)

    def assignment(self, node: tree_sitter.Node, depth: int) -> Assignment:
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        append = any(child.type == "+=" for child in node.children)
        plain = name is not None and name.type == "variable_name" and (value is None or value.type in WORDS)
        if not plain:
            self.complete = False
            for child in node.children:
                self.extra.extend(self.compound(child, depth + 1))
        word = self.word(value, depth + 1) if value is not None and plain else ()
        return Assignment(self.source(name) if name is not None else "", word, append, plain)

    def declared(self, node: tree_sitter.Node, depth: int) -> Word:
        assignment = self.assignment(node, depth)
        head = assignment.name + ("+=" if assignment.append else "=")
        return joined((Part(LITERAL, head, False), *assignment.value))

    def redirect(self, node: tree_sitter.Node, redirects: list[RedirectNode], words: list[Word], depth: int) -> None:
        """One redirection. The grammar swallows words after its target: they are arguments of the command."""
        fd: int | None = None
        op = ""
        targets: list[Word] = []
        body: list[Part] = []
        for child in node.children:
            kind = child.type
            if kind == "file_descriptor":
                digits = self.source(child)
                fd = int(digits) if digits.isdigit() and len(digits) < 10 else None
                self.complete &= fd is not None
            elif kind in WORDS:
                targets.append(self.word(child, depth + 1))
            elif kind == "heredoc_body":
                before = len(self.extra)
                self.extra.extend(self.compound(child, depth + 1))
                source = self.source(child)
                live = len(self.extra) > before or "$" in source or "`" in source
                body.append(Part(PartKind.UNKNOWN if live else LITERAL, source, True))
            elif not child.is_named and not op:
                op = kind
            elif kind not in _SEPARATORS:
                self.complete = False
                self.extra.extend(self.compound(child, depth + 1))
                if child.type == "file_redirect":
                    self.redirect(child, redirects, words, depth + 1)
        if node.type == "heredoc_redirect":
            self.complete = False
            redirects.append(RedirectNode(op or "<<", fd, tuple(body)))
            words.extend(targets)
            return
        redirects.append(RedirectNode(op, fd, targets[0] if targets else ()))
        words.extend(targets[1:])

"""The line as the grammar of tree-sitter-bash sees it, kept to an allowlist of node types.

The tree is walked for every command in it, also where something beside it was not understood: block rules see whole
lists. `complete` says whether nothing but known nodes stood there; the grammar itself is known to be wrong in places
(a backtick in `"${x:-…}"`, `r\\<newline>m`, CR), so that alone is never consent. It is C in our own process and sees
ASCII alone.
"""

from dataclasses import dataclass

import tree_sitter
import tree_sitter_bash

from shield.facts.shell.grammar.script import AndOr, Command, Pipeline, RedirectNode, Script, Simple, Word
from shield.facts.shell.grammar.tree_simple import TreeSimples
from shield.facts.shell.grammar.tree_words import WORDS

__all__ = ["Tree", "read_tree"]

_LANGUAGE = tree_sitter.Language(tree_sitter_bash.language())
_PLAIN_COMMANDS = frozenset({"command", "declaration_command", "unset_command", "test_command"})
# Its scanner asks isdigit() about whole characters, for which glibc reads up to 2 MB behind a table: `echo {` and one
# rare character ended the process. DEL is as long as the byte that it stands for, and as little special to bash.
_ASCII = bytes(byte if byte < 0x80 else 0x7F for byte in range(256))
# What it cannot read costs it memory with the square of the length, 1 GB for 16 KB of `a|`; where there is none left it
# ends the process. 4 KB take 65 MB.
_MAX_TEXT = 4_096  # bytes
_MAX_AGAIN = 1_024  # bytes that are read a second time


@dataclass(frozen=True, slots=True)
class Tree:
    script: Script
    complete: bool
    functions: frozenset[str]


def read_tree(text: bytes) -> Tree:
    """Parse UTF-8 `text`. Never raises for any bytes; the number of nodes looked at is bounded. A text of more than
    4 KB is not looked at, and not complete."""
    if len(text) > _MAX_TEXT:
        return Tree(Script(()), complete=False, functions=frozenset())
    walker = _Walker(text)
    root = _root(text)
    if root.has_error:
        walker.complete = False
    lists = walker.statements(root, 0)
    return Tree(Script(tuple(lists)), walker.complete, frozenset(walker.functions))


def _root(text: bytes) -> tree_sitter.Node:
    """The tree of a line, read with a newline at its end where that is well-formed.

    Without one the parser goes through its error recovery at the end of every pipeline of three or more commands, only
    to drop what comes of it: most of the time of reading an ordinary line. The newline changes the reading of a last
    backslash alone, which the strict reader refuses.
    """
    text = text.translate(_ASCII)
    root = tree_sitter.Parser(_LANGUAGE).parse(text + b"\n").root_node
    if not root.has_error or len(text) > _MAX_AGAIN:
        return root
    return tree_sitter.Parser(_LANGUAGE).parse(text).root_node


class _Walker(TreeSimples):
    """Of compound statements the commands are listed; what they say as a whole is for the other parsers."""

    def __init__(self, text: bytes) -> None:
        super().__init__(text)
        self.functions: set[str] = set()

    def lists_in(self, text: bytes, depth: int) -> list[AndOr]:
        inner = _Walker(text)
        inner.nodes = self.nodes
        found = inner.statements(_root(text), depth)
        self.nodes = inner.nodes
        return found

    # --- statements -------------------------------------------------------------------------------------------------

    def statements(self, node: tree_sitter.Node, depth: int) -> list[AndOr]:
        """The lists among a node's children, in order, flattened out of compound statements."""
        out: list[AndOr] = []
        if not self.enter(depth):
            return out
        for child in node.children:
            kind = child.type
            if kind == "&":
                if out:
                    last = out[-1]
                    out[-1] = AndOr(last.pipelines, last.operators, background=True)
                continue
            if kind in (";", "\n", "comment"):
                continue
            out.extend(self.statement(child, depth + 1))
        return out

    def statement(self, node: tree_sitter.Node, depth: int) -> list[AndOr]:
        """One statement: its own list, after the lists found inside its words."""
        outer, self.extra = self.extra, []
        kind = node.type
        found: list[AndOr]
        if kind in ("list", "pipeline", "redirected_statement", "variable_assignment", "variable_assignments"):
            found = self.joined_list(node, depth)
        elif kind in _PLAIN_COMMANDS:
            found = [AndOr((Pipeline((self.simple(node, depth),)),))]
        else:
            found = self.compound(node, depth)
        found = self.extra + found
        self.extra = outer
        return found

    def joined_list(self, node: tree_sitter.Node, depth: int) -> list[AndOr]:
        pipelines: list[Pipeline] = []
        operators: list[str] = []
        if self.flatten(node, pipelines, operators, depth) and pipelines:
            return [AndOr(tuple(pipelines), tuple(operators))]
        self.complete = False
        return [AndOr((pipeline,)) for pipeline in pipelines]

    def flatten(self, node: tree_sitter.Node, pipelines: list[Pipeline], operators: list[str], depth: int) -> bool:
        """Add what a list, pipeline or command holds; False where a part of it is a compound statement."""
        if not self.enter(depth):
            return False
        kind = node.type
        if kind == "list":
            whole = True
            for child in node.children:
                if child.type in ("&&", "||"):
                    operators.append(child.type)
                elif child.type != "comment":
                    whole &= self.flatten(child, pipelines, operators, depth + 1)
            return whole
        if kind == "redirected_statement":
            return self.redirected(node, pipelines, operators, depth)
        if kind == "pipeline":
            stages: list[Simple] = []
            whole = True
            for child in node.children:
                kind = child.type
                if kind in ("|", "|&", "comment"):
                    continue
                if kind in _PLAIN_COMMANDS and self.enter(depth + 1):
                    stages.append(self.simple(child, depth + 2))
                    continue
                inner: list[Pipeline] = []
                whole &= self.flatten(child, inner, operators, depth + 1)
                stages.extend(_simple(stage) for pipeline in inner for stage in pipeline.stages)
                whole &= len(inner) == 1
            if stages:
                pipelines.append(Pipeline(tuple(stages)))
            return whole
        if kind in _PLAIN_COMMANDS or kind in ("variable_assignment", "variable_assignments"):
            pipelines.append(Pipeline((self.simple(node, depth + 1),)))
            return True
        for inner_list in self.compound(node, depth + 1):
            pipelines.extend(inner_list.pipelines)
        return False

    def redirected(self, node: tree_sitter.Node, pipelines: list[Pipeline], operators: list[str], depth: int) -> bool:
        """A statement with redirections: the grammar hangs them on the whole list, the shell on its last command."""
        whole = True
        redirects: list[RedirectNode] = []
        words: list[Word] = []
        before = len(pipelines)
        for child in node.children:
            if child.type.endswith("_redirect"):
                self.redirect(child, redirects, words, depth)
            else:
                whole &= self.flatten(child, pipelines, operators, depth + 1)
        if len(pipelines) == before:
            pipelines.append(Pipeline((Simple((), tuple(words), tuple(redirects)),)))
            return whole and not words
        stages = pipelines[-1].stages
        last = _simple(stages[-1])
        last = Simple(last.assignments, (*last.words, *words), (*last.redirects, *redirects))
        pipelines[-1] = Pipeline((*stages[:-1], last))
        return whole

    def compound(self, node: tree_sitter.Node, depth: int) -> list[AndOr]:
        """Anything that is not plain: list every command in it, and say that the line is not complete."""
        self.complete = False
        out: list[AndOr] = []
        if not self.enter(depth):
            return out
        outer, self.extra = self.extra, []
        if node.type == "function_definition":
            name = node.child_by_field_name("name")
            if name is not None:
                self.functions.add(self.source(name))
        for child in node.children:
            kind = child.type
            if (
                kind in _PLAIN_COMMANDS
                or kind in ("list", "pipeline", "redirected_statement")
                or kind.startswith("variable_assignment")
            ):
                out.extend(self.statement(child, depth + 1))
            elif kind in WORDS:
                word = self.word(child, depth + 1)
                out.extend(self.extra)
                self.extra = []
                for part in word:
                    out.extend(part.script.lists if part.script is not None else ())
            elif kind.endswith("_redirect"):
                redirects: list[RedirectNode] = []
                words: list[Word] = []
                self.redirect(child, redirects, words, depth)
                out.extend(self.extra)
                self.extra = []
                out.append(AndOr((Pipeline((Simple((), tuple(words), tuple(redirects)),)),)))
            elif child.child_count:
                out.extend(self.compound(child, depth + 1))
        self.extra = outer
        return out


def _simple(stage: Command) -> Simple:
    # INVARIANT: this walker makes no other commands.
    assert isinstance(stage, Simple)
    return stage

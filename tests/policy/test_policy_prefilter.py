"""The index over rules passes over none that could hold, and none that would have failed."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy_rules import DEFAULTS, TYPES, quoted
from policy_support import NOW, Folder, ask, command, facts, host, path
from scale import scale, seed
from shared_data import shared
from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.facts.compute import compute
from shield.policy.cel import compile_condition, needed
from shield.policy.load import load_text
from shield.policy.prefilter import Prefilter
from shield.policy.roots import environment, schema_for
from shield.policy.rule import Grant
from shield.policy.shelf import shipped_shelf
from shield.policy.slices import LEAST_INDEXED
from shield.policy.world import made_place
from shield.types import SecretFact, TextFact

LISTS = {"tools": ("ls", "rm"), "none": ()}


def keys_of(text, grants=None):
    found = needed(compile_condition(text, schema_for(None, grants, LISTS)))
    return None if found is None else sorted((key.slot.field or "", key.slot.way.value, key.text) for key in found)


KNOWN = [
    ("commands.exists(c, c.name == 'rm')", [("name", "equal", "rm")]),
    ("commands.exists(c, 'rm' == c.name)", [("name", "equal", "rm")]),
    ("commands.exists_one(c, c.name == 'rm')", [("name", "equal", "rm")]),
    ("commands.exists(c, c.name in lists.tools)", [("name", "equal", "ls"), ("name", "equal", "rm")]),
    ("commands.exists(c, c.name in ['a'] && '-x' in c.flags)", [("name", "equal", "a")]),
    ("commands.exists(c, '-x' in c.flags && c.name in ['a'])", None),
    ("commands.exists(c, c.argv.exists(a, a == 'x'))", None),
    ("commands.exists(c, c.name == 'a' && c.argv.exists(a, a == 'x'))", [("name", "equal", "a")]),
    ("commands.exists(c, c.name == 'a' && c.argv.exists(a, a == 'x')) && agent == 'b'", [("name", "equal", "a")]),
    ("agent + 'x' == 'bx' && commands.exists(c, c.name == 'a')", None),
    ("commands.exists(c, c.name in lists.none)", []),
    ("paths.exists(p, 'ci' in p.categories)", [("categories", "equal", "ci")]),
    ("paths.exists(p, sets.intersects(p.categories, ['ci']))", None),  # it may cost too much
    ("malformed && commands.exists(c, c.name == 'rm')", [("name", "equal", "rm")]),
    ("commands.exists(c, c.name == 'a') || agent == 'b'", [("name", "equal", "a"), ("", "equal", "b")]),
    ("commands.exists(c, c.name == 'a') || malformed", None),
    ("paths.exists(p, has(p.resolved) && p.resolved.startsWith('/etc/'))", [("resolved", "prefix", "/etc/")]),
    ("text.exists(t, t.text.matches('^curl.*sh'))", [("text", "part", "curl")]),
    ("text.exists(t, t.text.matches('^curl'))", [("text", "prefix", "curl")]),
    ("text.exists(t, t.text.matches('^curl$'))", [("text", "equal", "curl")]),
    ("text.exists(t, t.text.matches('cu|rl'))", None),
    ("text.exists(t, t.text.contains('ab'))", None),
    ("hosts.exists(h, h.host.endsWith('.evil'))", [("host", "part", ".evil")]),
    ("recipients.exists(r, r == 'a')", [("", "equal", "a")]),
    ("'a' in recipients", [("", "equal", "a")]),
    ("'/x' in session.written", [("written", "equal", "/x")]),
    ("!commands.exists(c, c.name == 'rm')", None),
    ("commands.all(c, c.name == 'rm')", None),
    ("commands.exists(c, c.name != 'rm')", None),
    ("commands.exists(c, c.name == 'rm') == false", None),
    ("commands.exists(c, c.name == 'rm') ? true : malformed", None),
    ("commands.filter(c, c.name == 'rm').size() == 0", None),
    ("commands.exists(c, c.name.lowerAscii() == 'rm')", None),
    ("commands.exists(c, c.name.startsWith(''))", None),
    ("action.type == 'read_file'", None),
    ("hosts.size() == 0", None),
    ("commands.exists(agent, agent.name == 'x')", [("name", "equal", "x")]),
]


@pytest.mark.parametrize(("text", "want"), KNOWN, ids=[row[0] for row in KNOWN])
def test_what_a_condition_waits_for(text, want):
    assert keys_of(text) == (None if want is None else sorted(want))


def test_elements_of_allow_rules():
    assert keys_of("command.name in lists.tools", Grant.COMMAND) == [("name", "equal", "ls"), ("name", "equal", "rm")]
    assert keys_of("recipient == 'a'", Grant.RECIPIENT) == [("", "equal", "a")]
    assert keys_of("path.inside_workspace", Grant.PATH) is None


# --- the law: with and without the index ---

WORDS = ["rm", "ls", "cat", "git"]
PLACES = ["/etc/hosts", "/etc/ssh/key", "/home/user/ws/a", "/home/user/ws/.env"]
TEXTS = ["curl x | sh", "hello", "", "secret17", "a\ud800b"]
NAMES = ["a.example", "evil.test", "10.0.0.1", "deep.evil.test"]
words, places, texts, names = (st.sampled_from(items) for items in (WORDS, PLACES, TEXTS, NAMES))
LEAVES = {
    "commands": ("c", st.one_of(
        words.map(lambda w: f"c.name == '{w}'"), st.just("c.name in lists.tools"), words.map(lambda w: f"'{w}' in c.argv"),
        st.sampled_from(["c.origin == 'system'", "has(c.program) && c.program.startsWith('/usr/bin/r')", "'read' in c.operations",
                         "c.argv.exists(a, a == 'rm')", "c.name.matches('^r.$')", "c.name.matches('i')", "int(c.name) > 3"]))),
    "paths": ("p", st.one_of(
        places.map(lambda w: f"p.raw == '{w}'"), places.map(lambda w: f"p.raw.startsWith('{w[:6]}')"),
        st.sampled_from(["has(p.resolved) && p.resolved.startsWith('/etc/')", "(!has(p.resolved) || p.resolved == '/etc/hosts')",
                         "'ci' in p.categories", "p.exists", "p.raw.contains('ssh')", "p.raw.endsWith('.env')", "p.glob('**/.env')",
                         "p.raw.matches('h[o]sts')", "(has(p.resolved) ? p.resolved.contains('key') : p.raw == '')"]))),
    "hosts": ("h", st.one_of(
        names.map(lambda w: f"h.host == '{w}'"), names.map(lambda w: f"h.host.endsWith('{w[-6:]}')"),
        st.sampled_from(["h.host.matches('^[^/]*evil')", "h.scheme == 'https'", "isIP(h.host) && ip(h.host).isLoopback()"]))),
    "text": ("t", st.one_of(
        texts.filter(str.isascii).map(lambda w: f"t.text == '{w}'"),
        st.sampled_from(["t.text.matches('^secret17')", "t.text.matches('curl.*sh')", "t.text.contains('llo')", "t.role == 'body'",
                         "t.text.matches('ell?')"]))),
}  # fmt: skip


def joined(inner):
    return st.one_of(
        st.tuples(inner, st.sampled_from(["&&", "||"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda text: f"!({text})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} ? {t[1]} : {t[2]})"),
    )


QUANTIFIED = [
    st.tuples(st.sampled_from(["exists", "exists", "all", "exists_one"]), st.recursive(leaf, joined, max_leaves=3)).map(
        lambda t, root=root, name=name: f"{root}.{t[0]}({name}, {t[1]})"
    )
    for root, (name, leaf) in LEAVES.items()
]
SIMPLE = st.sampled_from(
    ["malformed", "'a@b.example' in recipients", "agent == 'agent'", "int(agent) > 3", "int(workspace) > 1 && malformed",
     "secrets.exists(s, s.kind == 'token')", "session.counts['read_file'] > 0"]
)  # fmt: skip
CONDITIONS = st.recursive(st.one_of(*QUANTIFIED, SIMPLE), joined, max_leaves=4)
FACTS = {
    "paths": st.lists(st.builds(path, st.sampled_from([*PLACES, None]), exists=st.booleans(), categories=st.sampled_from([frozenset(), frozenset({"ci"})])), max_size=3),
    "commands": st.lists(st.builds(lambda name, more: command(name, argv=(name, more)), words, words), max_size=3),
    "hosts": st.lists(st.builds(host, names), max_size=2),
    "text": st.lists(st.builds(lambda text: TextFact(role="body", where="/body", layer="raw", text=text), texts), max_size=3),
    "recipients": st.lists(st.sampled_from(["a@b.example", "c@d.test"]), max_size=2),
    "secrets": st.lists(st.just(SecretFact(kind="token", where="/x", start=0, end=3)), max_size=1),
}  # fmt: skip


def values_of(found, kind="read_file"):
    action = make_action(kind, {}, "/home/user/ws")
    return environment(action, lookup(kind), found, agent="agent", workspace="/home/user/ws", now=NOW)


@settings(max_examples=120, deadline=None)
@given(text=CONDITIONS, data=st.data())
def test_what_is_passed_over_is_false_and_no_error(text, data):
    condition = compile_condition(text, schema_for(None, None, LISTS))
    index = Prefilter([condition])
    for _ in range(4):
        found = facts("read_file", **{key: tuple(data.draw(items)) for key, items in FACTS.items()})
        values = values_of(found)
        if index.known and not index.candidates(values):
            # by the exact answer: neither true nor an error
            assert condition.expression.answer(values) is False


@pytest.fixture(scope="module")
def shared_folder():
    with tempfile.TemporaryDirectory(prefix="sh") as name:
        yield Folder(Path(name))


@settings(max_examples=12, deadline=None)
@given(found=st.lists(st.tuples(CONDITIONS, st.sampled_from(["block", "escalate, to: 2", "escalate, to: 3"])), min_size=2, max_size=6),
       default=DEFAULTS, kind=st.sampled_from(TYPES), data=st.data())  # fmt: skip
def test_opinions_are_the_same_with_and_without(shared_folder, found, default, kind, data):
    fill = [
        f"{{id: f{n}, effect: allow, grants: command, when: 'command.name == \"x{n}\"'}}" for n in range(LEAST_INDEXED)
    ]
    fill += [
        f"{{id: g{n}, effect: block, when: 'commands.exists(c, c.name == \"x{n}\")'}}" for n in range(LEAST_INDEXED)
    ]
    own = [f"{{id: r{n}, effect: {effect}, when: {quoted(text)}}}" for n, (text, effect) in enumerate(found)]
    grants = [
        "{id: p, effect: allow, grants: path, when: 'path.exists'}",
        "{id: n, effect: allow, grants: command, when: \"command.name in ['ls', 'x3']\"}",
    ]
    listed = "".join(f"  - {text}\n" for text in [*fill, *own, *grants])
    text = f"version: 1\nname: mine\ndefault: {default}\nlists: {{tools: [ls, rm], none: []}}\nrules:\n{listed}"
    policy = shared_folder.policy(text)
    plain = policy.unindexed()
    for _ in range(4):
        known = facts(kind, **{key: tuple(data.draw(items)) for key, items in FACTS.items()})
        if data.draw(st.booleans()):
            known = replace(known, commands=(*known.commands, command("x3")))
        assert ask(policy, kind, known) == ask(plain, kind, known)


def test_values_of_another_shape_are_asked_of_every_rule():
    conditions = [
        compile_condition(f"commands.exists(c, c.name == 'a{n}')", schema_for(None, None, {})) for n in range(3)
    ]
    index = Prefilter(conditions)
    assert list(index.candidates(values_of(facts("read_file")))) == []
    broken = list(values_of(facts("read_file")))
    broken[2] = None
    assert list(index.candidates(tuple(broken))) == [0, 1, 2]


def test_a_long_text_is_not_searched_at_every_place():
    conditions = [
        compile_condition(f"text.exists(t, t.text.contains('word{n}'))", schema_for(None, None, {})) for n in range(40)
    ]
    index = Prefilter(conditions)

    def candidates(text):
        return list(
            index.candidates(
                values_of(facts("read_file", text=(TextFact(role="b", where="/", layer="raw", text=text),)))
            )
        )

    assert 7 in candidates("a word7")
    assert len(candidates("a word7")) < 40
    assert len(candidates("x" * 100_000)) == 40


def test_prefixes_and_parts_of_any_length_are_found():
    wanted = ["/e", "/etc", "/etc/ssh/key", "/home"]
    texts = [f"paths.exists(p, p.raw.startsWith('{prefix}'))" for prefix in wanted]
    texts += [f"paths.exists(p, p.raw.contains('{part}'))" for part in ("ssh", "tc/s", "h/key", "home")]
    index = Prefilter([compile_condition(text, schema_for(None, None, {})) for text in texts])
    found = set(index.candidates(values_of(facts("read_file", paths=(path("/etc/ssh/key"),)))))
    assert {0, 1, 2, 4, 5, 6} <= found
    assert 3 not in found


PROGRAMS = [
    "awk",
    "cat",
    "chmod",
    "chown",
    "cp",
    "curl",
    "cut",
    "date",
    "dd",
    "df",
    "diff",
    "dig",
    "du",
    "echo",
    "env",
    "file",
    "find",
    "git",
    "grep",
    "gzip",
    "head",
    "kill",
    "ln",
    "ls",
    "make",
    "mkdir",
    "mount",
    "mv",
    "nl",
    "od",
    "paste",
    "ping",
    "printf",
    "ps",
    "python",
    "pwd",
    "readlink",
    "rename",
    "rm",
    "rsync",
    "scp",
    "sed",
    "seq",
    "sort",
    "split",
    "ssh",
    "stat",
    "su",
    "sudo",
    "tail",
    "tar",
    "tee",
    "touch",
    "tr",
    "uniq",
    "wc",
    "which",
    "xargs",
    "zip",
]
SHAPES = (
    "commands.exists(c, c.name == '{0}')",
    "commands.exists(c, c.name in ['{0}', 'x{1}'] && c.argv.exists(a, a.startsWith('-{2}')))",
    "paths.exists(p, has(p.resolved) && p.resolved.startsWith('/{0}/'))",
    "paths.exists(p, p.raw.endsWith('.{0}') || p.raw.contains('{0}{2}'))",
    "text.exists(t, t.text.matches('^{0} .*-{2}'))",
    "text.exists(t, t.text.matches('{0} [^|]*[|] *[a-{2}]'))",
    "commands.exists(c, c.name.matches('^{0}') && 'write' in c.operations)",
)


def test_rules_over_everyday_commands_say_the_same_with_and_without():
    """The shipped policy and hundreds of rules about programs, over lines that people wrote."""
    lines = shared("data/eval/nl2bash.txt").read_text(encoding="utf-8", errors="replace").splitlines()
    start = seed() % len(lines)
    more = [
        f"{{id: m{n}, effect: {('escalate, to: 2', 'escalate, to: 3', 'block')[n % 3]}, "
        f"when: {quoted(SHAPES[n % len(SHAPES)].format(word, n, 'abcdefgh'[n % 8]))}}}"
        for n, word in enumerate(PROGRAMS * 4)
    ]
    grants = [
        f"{{id: g{n}, effect: allow, grants: command, when: \"command.name == '{word}'\"}}"
        for n, word in enumerate(PROGRAMS)
    ]
    listed = "".join(f"  - {text}\n" for text in [*more, *grants])
    text = f"version: 1\nname: mine\nextends: [default]\nrules:\n{listed}"
    policy = load_text(text.encode(), "mine.yaml", shipped_shelf())
    plain = policy.unindexed()
    kind = lookup("execute_command")
    place = made_place()
    answers = set()
    for number in range(scale("prefilter_lines")):
        line = lines[(start + number * 7) % len(lines)]
        action = make_action("execute_command", {"command": line}, "/home/user/ws")
        found = compute(action, kind, place)
        where = {"agent": "agent", "workspace": "/home/user/ws", "now": NOW}
        opinion = policy.judge(action, kind, found, **where)
        assert opinion == plain.judge(action, kind, found, **where), line
        answers.add(opinion.rule)
    assert len(answers) > 20

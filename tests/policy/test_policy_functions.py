"""Functions of conditions in policies: networks, patterns for paths, sets, counts, the clock. Each with how one would
try to get past it."""

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from policy_support import Folder, ask, facts, host, path, rules
from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.errors import PolicyError
from shield.policy.cel import CelError, compile_condition, compile_expression
from shield.policy.roots import environment, schema_for
from shield.policy.rule import Grant
from shield.types import Access, Answer, Operation, SessionFacts

WS = "/home/user/ws"
NOW = datetime(2026, 1, 1, 23, 30, tzinfo=UTC)


def holds(text, *, kind="read_file", lists=None, now=NOW, workspace=WS, **more):
    """A block rule's condition, asked of facts made by hand."""
    condition = compile_condition(text, schema_for(None, None, lists or {}))
    action = make_action(kind, {}, WS)
    return condition.test(
        environment(action, lookup(kind), facts(kind, **more), agent="agent", workspace=workspace, now=now)
    )


def refused(text, part, *, lists=None, grants=None):
    with pytest.raises(PolicyError) as caught:
        compile_condition(text, schema_for(None, grants, lists or {}))
    assert part in caught.value.detail, caught.value.detail


# --- networks ---

PRIVATE = 'hosts.exists(h, isIP(h.host) && cidr("10.0.0.0/8").containsIP(h.host))'


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("10.1.2.3", True),
        ("::ffff:a01:203", True),  # the same address as an IPv6 one
        ("11.1.2.3", False),
        ("10.example", False),  # a name, which nobody looks up
        ("2001:db8::a", False),
        ("010.1.2.3", False),
    ],
)
def test_a_network_is_asked_about_addresses(name, inside):
    assert holds(PRIVATE, kind="http_request", hosts=(host(name),)) is inside


def test_the_spelling_that_the_standard_refuses_is_an_error_and_not_false(tmp_path):
    policy = Folder(tmp_path).policy(rules(f"{{id: r, effect: block, when: '{PRIVATE}'}}"))
    opinion = ask(policy, "http_request", facts("http_request", hosts=(host("::ffff:10.1.2.3"),)))
    assert (opinion.answer, opinion.rule) == (Answer.BLOCK, "r")


def test_an_address_is_asked_for_before_it_is_taken():
    refused('hosts.exists(h, cidr("10.0.0.0/8").containsIP(h.host))', "write `isIP(…) && …`")
    refused("hosts.exists(h, ip(h.host).isLoopback())", "write `isIP(…) && …`")
    refused("hosts.exists(h, isIP(h.url) && ip(h.host).isLoopback())", "write `isIP(…) && …`")
    refused("hosts.exists(h, isIP(h.host) || ip(h.host).isLoopback())", "write `isIP(…) && …`")
    refused("hosts.exists(h, isCIDR(h.host) && ip(h.host).isLoopback())", "write `isIP(…) && …`")
    compile_condition("hosts.all(h, !isIP(h.host) || ip(h.host).isLoopback())", schema_for(None, None, {}))
    compile_condition("hosts.all(h, isIP(h.host) ? ip(h.host).isLoopback() : true)", schema_for(None, None, {}))


def test_constant_networks_are_read_at_load():
    refused('cidr("10.0.0.0/33").prefixLength() == 1', "`10.0.0.0/33` is no network")
    refused('cidr("10.0.0.0").prefixLength() == 1', "is no network")
    refused('ip("localhost").isLoopback()', "`localhost` is no IP address")
    refused('cidr("10.0.0.0/8").containsIP("ten")', "`ten` is no IP address")
    networks = {"nets": ("10.0.0.0/8", "fd00::/8")}
    text = "hosts.exists(h, isIP(h.host) && lists.nets.exists(n, isCIDR(n) && cidr(n).containsIP(h.host)))"
    assert holds(text, lists=networks, kind="http_request", hosts=(host("fd00::1"),))
    assert not holds(text, lists=networks, kind="http_request", hosts=(host("9.9.9.9"),))


def value(text):
    return compile_expression(text, schema_for(None, None, {})).value((None,) * 15)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("ip('169.254.1.1').isLinkLocalUnicast()", True),
        ("ip('ff02::1').isLinkLocalMulticast()", True),
        ("ip('8.8.8.8').isGlobalUnicast()", True),
        ("ip('127.0.0.1').isGlobalUnicast()", False),
        ("ip('0.0.0.0').isUnspecified()", True),
        ("ip('::1').family()", 6),
        ("ip('::ffff:a00:1').family()", 4),
        ("string(cidr('10.1.2.3/8').masked())", "10.0.0.0/8"),
        ("string(cidr('10.1.2.3/8').ip())", "10.1.2.3"),
        ("cidr('10.0.0.0/8').containsCIDR('10.9.0.0/16')", True),
        ("cidr('10.0.0.0/8').containsCIDR('0.0.0.0/0')", False),
        ("cidr('0.0.0.0/0').containsIP('::1')", False),
        ("isIP('1.2.3.4%eth0') || isIP('fe80::1%eth0') || isIP('')", False),
        ("isIP('1' + '0.0.0.0.0.0.0.0')", False),
        ("isCIDR('10.0.0.0/08')", False),
        ("ip.isCanonical('2001:DB8::1')", False),
        ("type(ip('::1')) == net.IP && type(cidr('::/0')) == net.CIDR", True),
        ("strings.quote('a\"b\\n')", '"a\\"b\\n"'),
        ("'%s is %.1f of %d'.format(['x', 2.55, 3])", "x is 2.5 of 3"),
        ("'a%sb%%'.format([[1, null, 'c']])", "a[1, null, c]b%"),
    ],
)
def test_what_the_functions_say(text, want):
    assert value(text) == want


@pytest.mark.parametrize("text", ["'%s %s'.format(['a'])", "'%y'.format([1])", "'%d'.format(['a'])", "'%.999f'.format([1.0])",
                                  "'%'.format([])", "ip('a' + 'b')", "ip('::ffff:10.1.2.' + '3')", "cidr('1/' + '2')"])  # fmt: skip
def test_what_has_no_answer_is_an_error(text):
    with pytest.raises(CelError):
        value(text)


def test_a_format_cannot_make_more_than_it_may():
    roots = schema_for(None, None, {})
    made = compile_expression("'%s%s%s%s'.format([agent, agent, agent, agent]).size()", roots)
    values = dict.fromkeys(roots.roots)
    assert made.value(roots.bind({**values, "agent": "a" * 1_000})) == 4_000
    with pytest.raises(CelError, match="costs too much"):
        made.value(roots.bind({**values, "agent": "a" * 300_000}))


# --- sets ---


def test_sets():
    ops = {"operations": frozenset({Operation.READ, Operation.NETWORK}), "kind": "http_request"}
    assert holds("sets.intersects(action.operations, ['network', 'delete'])", **ops)
    assert not holds("sets.intersects(action.operations, ['delete'])", **ops)
    assert holds("sets.contains(action.operations, ['network', 'read'])", **ops)
    assert not holds("sets.contains(['read'], action.operations)", **ops)
    assert holds("sets.equivalent(action.operations, ['read', 'network', 'read'])", **ops)
    assert holds(
        "sets.contains(['a', 'b'], []) && !sets.intersects([], ['a']) && sets.equivalent([1, 1.0], [1])", **ops
    )
    refused("sets.intersects(action.operations, ['netwrok'])", "did you mean `network`?")
    refused("sets.has(action.operations, ['read'])", "unknown name `sets`")
    refused("sets.contains(paths, ['a'])", "cannot be used as a value")
    refused("sets.contains(['a'])", "takes 2 argument")
    # a variable of that name is a variable
    refused("recipients.exists(sets, sets.contains('a', 'b'))", "takes 1 argument")


# --- counts ---


def test_counts_have_a_value_for_every_type():
    session = SessionFacts(counts=MappingProxyType({"execute_command": 3, "mcp:a/b": 2}))
    assert holds("session.counts['execute_command'] >= 3", session=session)
    assert holds("session.counts.read_file == 0 && session.counts['mcp:a/b'] == 2", session=session)
    assert holds("session.counts[action.type] < 1 && session.counts[dyn('execute_command')] == 3", session=session)
    assert holds("!('read_file' in session.counts)", session=session)
    refused("session.counts['execute_comand'] > 1", "did you mean `execute_command`?")
    refused("session.counts.bash > 1", "unknown key `bash`")
    refused("has(session.counts.read_file)", "every key has a value")


def test_a_rate_limit(tmp_path):
    text = "{id: many, effect: escalate, to: 3, actions: [send_email], when: 'session.counts[\"send_email\"] >= 5'}"
    policy = Folder(tmp_path).policy(rules(text, "{id: mail, effect: allow, grants: recipient, when: 'true'}"))
    for sent, want in ((0, Answer.ALLOW), (4, Answer.ALLOW), (5, Answer.ESCALATE)):
        session = SessionFacts(counts=MappingProxyType({"send_email": sent} if sent else {}))
        found = facts("send_email", recipients=("a@b.example",), session=session)
        assert ask(policy, "send_email", found).answer is want


# --- the clock ---


def test_time_of_day_is_somewhere():
    assert holds("now.getHours() == 23")
    assert holds("now.getHours('Europe/Berlin') == 0 && now.getDate('Europe/Berlin') == 2")
    assert holds("now.getHours('+05:30') == 5")
    # the day on which the clock is put forward has no hour 2
    spring = datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
    assert holds("now.getHours('Europe/Berlin') == 3", now=spring)
    refused("now.getHours('Europe/Berln') == 0", "did you mean `Europe/Berlin`?")
    refused("now.getHours('../etc/passwd') == 0", "unknown time zone")


@pytest.mark.parametrize(
    ("before", "said"),
    [("import shield.policy.cel.grammar\n", "no time zone data"), ("", "the second parser does not start")],
)
def test_without_time_zone_data_that_is_said(before, said):
    script = (
        f"import sys, zoneinfo\n{before}"
        "from shield.policy.cel import TIMESTAMP, Schema, compile_condition\n"
        "sys.modules['tzdata'] = None\n"
        "zoneinfo.reset_tzpath(['/nonexistent'])\n"
        "try: compile_condition('now.getHours(\"Europe/Oslo\") == 1', Schema(roots={'now': TIMESTAMP}))\n"
        "except Exception as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert said in done.stdout, done.stderr


# --- patterns for paths ---

GLOBS = [  # pattern, path below the workspace or absolute, surely, maybe
    ("src/**/*.py", "src/a.py", True, True),
    ("src/**/*.py", "src/x/y/a.py", True, True),
    ("src/**/*.py", "src/x/y/a.pyc", False, False),
    ("src/**/*.py", "lib/src/a.py", False, False),
    ("src/**/*.py", "SRC/a.PY", False, True),
    ("src/*", "src/a/b", False, False),
    ("src/*", "src", False, False),
    ("src/**", "src", True, True),
    ("src/**", "srcs/a", False, False),
    ("*", ".env", True, True),
    ("**/.env", "a/b/.env", True, True),
    ("**/.env", "/etc/.env", True, True),
    ("**/.env", "/etc/.env.d", False, False),
    ("**/.env", "a/.ENV", False, True),
    ("/etc/**", "/etc/ssh/x", True, True),
    ("/etc/**", "/home/etc/x", False, False),
    ("**", "/", True, True),
    ("a?c/[xy].txt", "abc/x.txt", True, True),
    ("a?c/[!xy].txt", "abc/x.txt", False, False),
    ("a?c/[^xy].txt", "abc/z.txt", True, True),
    ("[!A]", "a", True, True),
    ("caf\u00e9", "cafe\u0301", False, True),
    ("a*b*c", "aXbYc", True, True),
    ("x[*]", "x*", True, True),
    ("x[*]", "xy", False, False),
]


@pytest.mark.parametrize(("pattern", "where", "surely", "maybe"), GLOBS)
def test_patterns(pattern, where, surely, maybe):
    item = path(where if where.startswith("/") else f"{WS}/{where}")
    for name, want in (("glob", surely), ("reaches", maybe)):
        assert holds(f"paths.exists(p, p.{name}({pattern!r}))", paths=(item,)) is want, name
        assert holds(f"paths.exists(p, p.{name}(lists.all))", paths=(item,), lists={"all": ("no/x", pattern)}) is want


def test_a_whole_tree_is_taken_for_what_is_in_it():
    def tree(where):
        return path(where, Access.DELETE, recursive=True)

    # to allow it, all that is in it has to match
    assert not holds("paths.all(p, p.glob('build/*'))", paths=(tree(f"{WS}/build/x"),))
    assert not holds("paths.all(p, p.glob('**/*.o'))", paths=(tree(f"{WS}/x.o"),))
    assert holds("paths.all(p, p.glob('build/**'))", paths=(tree(f"{WS}/build/x"),))
    # to stop it, one thing in it is enough
    for where in (f"{WS}/conf", WS, "/home", "/", f"{WS}/conf/keys"):
        assert holds("paths.exists(p, p.reaches('conf/keys/*.pem'))", paths=(tree(where),)), where
        assert holds("paths.exists(p, p.reaches('**/.env'))", paths=(tree(where),)), where
    assert not holds("paths.exists(p, p.reaches('conf/keys/*.pem'))", paths=(tree(f"{WS}/src"),))
    assert not holds("paths.exists(p, p.reaches('conf/keys/*.pem'))", paths=(path(f"{WS}/conf"),))


def test_a_path_that_cannot_be_resolved_matches_nothing_and_is_a_persons(tmp_path):
    assert not holds("paths.exists(p, p.glob('**') || p.reaches('**'))", paths=(path(None),))
    policy = Folder(tmp_path).policy(rules("{id: all, effect: allow, grants: path, when: \"!path.glob('x/**')\"}"))
    opinion = ask(policy, "read_file", paths=(path(None),))
    assert (opinion.answer, int(opinion.need)) == (Answer.ESCALATE, 3)


def test_without_a_workspace_a_relative_pattern_matches_nothing():
    assert not holds("paths.exists(p, p.glob('**/a') == false && p.glob('a'))", paths=(path("/a"),), workspace="")
    assert holds("paths.exists(p, p.glob('**/a'))", paths=(path("/a"),), workspace="")


@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        ("", "1 to 1024 characters"),
        ("x" * 1025, "1 to 1024 characters"),
        ("~/x", "`~` is not known here"),
        ("a/../b", "an empty component"),
        ("a//b", "an empty component"),
        ("./a", "an empty component"),
        ("a/", "an empty component"),
        ("src/**.py", "write `**/*.py`"),
        ("a[bc", "never closed"),
        ("a\\*", "no backslash"),
        ("a/" * 32 + "b", "at most 32 components"),
    ],
)
def test_patterns_are_checked_at_load(pattern, part):
    for name in ("glob", "reaches"):
        refused(f"paths.exists(p, p.{name}({pattern!r}))", part)


def test_patterns_are_constant_and_asked_of_paths():
    refused("paths.exists(p, p.glob(p.raw))", "must be written as a string")
    refused("paths.exists(p, p.glob(lists.none))", "no pattern in the list", lists={"none": ()})
    refused("paths.exists(p, p.glob([1]))", "must be written as a string")
    refused("paths.exists(p, p.glob('a', 'b'))", "takes one pattern")
    refused("paths.exists(p, p.raw.glob('a'))", "it is asked of a path")
    refused("hosts.exists(h, h.glob('a'))", "it is asked of a path")
    compile_condition("path.glob('src/**')", schema_for(None, Grant.PATH, {}))


def test_patterns_take_no_time_to_speak_of():
    stars = "*a" * 200
    name = "a" * 250
    deep = "/".join(["**", "a"] * 15)
    item = path("/" + "/".join(["a"] * 200) + f"/{name}b")
    assert not holds(f"paths.exists(p, p.glob('**/{stars}') || p.glob('{deep}/c'))", paths=(item,))
    # many paths with one another: it is bounded, and what is too much is an error, which blocks
    many = tuple(replace(item, raw=str(n)) for n in range(400))
    with pytest.raises(CelError):
        holds("paths.exists(p, paths.exists(q, q.glob('**/a/**/b')))", paths=many)


NAMES = st.sampled_from(["a", "b", "A", "ab", ".x", "\u00e9", "e\u0301", "\u00df", "SS", "ss", "\u0130", "[", "*"])
PARTS = st.sampled_from(["**", "*", "a", "?", "a*", "*b", "[ab]", "[!a]", "??", "ss", "\u00e9"])


@settings(max_examples=120, deadline=None)
@given(
    names=st.lists(NAMES, max_size=5),
    parts=st.lists(PARTS, min_size=1, max_size=5),
    absolute=st.booleans(),
    whole=st.booleans(),
    below=st.lists(NAMES, max_size=3),
)
def test_what_surely_matches_may_match_and_trees_hold_what_is_in_them(names, parts, absolute, whole, below):
    pattern = ("/" if absolute else "") + "/".join(parts)
    base = "" if absolute else WS
    item = path("/".join([base, *names]) or "/", recursive=whole)
    inner = path("/".join([base, *names, *below]) or "/")
    surely, maybe = (holds(f"paths.exists(p, p.{name}({pattern!r}))", paths=(item,)) for name in ("glob", "reaches"))
    assert maybe or not surely
    if whole:
        inside, possible = (
            holds(f"paths.exists(p, p.{name}({pattern!r}))", paths=(inner,)) for name in ("glob", "reaches")
        )
        assert inside or not surely
        assert maybe or not possible


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(st.sampled_from(["a", "b", "ab", "x.py", ".x"]), min_size=1, max_size=4),
    parts=st.lists(PARTS, min_size=1, max_size=4),
)
def test_bash_agrees(tmp_path_factory, names, parts):
    """`glob` of a file is what bash's globstar finds, dot files included; a last `**` may also stand for nothing."""
    assume(parts[-1] != "**")
    # a pattern that begins so fits anywhere, also with directories above the one that bash looks through
    assume(parts[0] != "**" or sum(part != "**" for part in parts) <= len(names))
    root = tmp_path_factory.mktemp("g")
    file = root.joinpath(*names)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("")
    ours = holds(f"paths.exists(p, p.glob({'/'.join(parts)!r}))", paths=(path(str(file)),), workspace=str(root))
    listed = found_by_bash(root, "/".join(parts))
    assert ours is ("/".join(names) in listed)


def found_by_bash(root: Path, pattern: str) -> set[str]:
    script = f"shopt -s globstar dotglob nullglob; printf '%s\\0' {pattern}"
    done = subprocess.run(["bash", "-c", script], cwd=root, capture_output=True, text=True, check=True, timeout=20)
    return {name.rstrip("/") for name in done.stdout.split("\0") if name}

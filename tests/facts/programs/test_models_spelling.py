"""Laws of spelling: however the options of an invocation are written and ordered, its facts stay the same."""

import shlex

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from model_world import entries, facts
from shield.facts.programs.library import models
from shield.facts.programs.model import ALL_OPERATIONS, Model, Option, Use

# Entries whose options getopt_long(3) would read, and that no reader in code reads anew.
_OWN_WORDS = frozenset(("jq", "ps", "packed", "curl", "netcat", "ssh", "scp", "rsync", "lookup", "socat", "find", "dd"))
_PLAIN = tuple(
    sorted(
        names[0]
        for names in entries().values()
        if (model := models()[names[0]]).options
        and not (model.leading or model.words or model.bundle or model.open or model.params or model.subcommands)
        and model.special not in _OWN_WORDS
        and names[0] != "tree"  # it goes on behind a letter with a value, and takes that from the words after
        and not model.choices
    )
)


def _spelt(options: list[tuple[Option, str | None]]) -> list[str]:
    """Every option a word of its own, every value too."""
    return [word for option, value in options for word in ([option.name] if value is None else [option.name, value])]


@st.composite
def _invocations(draw: st.DrawFn) -> tuple[str, Model, list[tuple[Option, str | None]], list[str]]:
    name = draw(st.sampled_from(_PLAIN))
    model = models()[name]
    usable = [option for option in model.options.values() if option.name.startswith("-") and not option.ends]
    usable = [option for option in usable if not option.joined and option.name not in ("-", "--")]
    chosen = draw(st.lists(st.sampled_from(usable), max_size=4, unique_by=lambda option: option.name)) if usable else []
    # Of directories to start in the last one given counts: their order has a meaning.
    starts = [option for option in chosen if option.value is Use.CHDIR]
    chosen = [option for option in chosen if option.value is not Use.CHDIR or option is starts[0]]
    values = st.sampled_from(["a.txt", "b.txt", "src", "3", "/home/user/x", "/etc/x"])
    given_options = [(option, draw(values) if option.value is not None else None) for option in chosen]
    operands = draw(st.lists(st.sampled_from(["a.txt", "src", "b.txt", "/etc/y"]), max_size=3))
    return name, model, given_options, operands


def _shape(name: str, words: list[str]) -> tuple[object, ...]:
    found = facts(shlex.join([name, *words]))
    command = found.commands[0]
    # Of what may do anything, every word is looked at as it stands: there a path counts where it is a word.
    paths = () if command.operations >= ALL_OPERATIONS else found.paths
    return (
        command.operations,
        command.runs_code,
        command.dynamic,
        frozenset((path.resolved, path.access, path.recursive) for path in paths),
        frozenset(host.url for host in found.hosts),
        frozenset(found.unknown),
        len(found.commands),
    )


@given(invocation=_invocations(), data=st.data())
def test_joined_values_and_clusters_mean_the_same(invocation, data):
    name, _, options, operands = invocation
    words: list[str] = []
    cluster = ""
    for option, value in options:
        short = len(option.name) == 2
        if short and (value is None or data.draw(st.booleans())):
            cluster = (cluster or "-") + option.name[1] + (value or "")
            if value is not None or data.draw(st.booleans()):
                words.append(cluster)
                cluster = ""
            continue
        if cluster:
            words.append(cluster)
            cluster = ""
        joined = value is not None and option.name.startswith("--") and data.draw(st.booleans())
        words += [f"{option.name}={value}"] if joined else _spelt([(option, value)])
    words += [cluster] if cluster else []
    assert _shape(name, [*words, *operands]) == _shape(name, [*_spelt(options), *operands])


@given(invocation=_invocations(), data=st.data())
def test_the_order_of_options_and_operands_does_not_matter(invocation, data):
    name, _, options, operands = invocation
    shuffled = data.draw(st.permutations([_spelt([option]) for option in options]))
    words = [word for words in shuffled for word in words]
    assert _shape(name, [*words, *operands]) == _shape(name, [*_spelt(options), *operands])
    # Operands between options: each option with its value stays together.
    mixed: list[str] = []
    rest = list(operands)
    for group in shuffled:
        while rest and data.draw(st.booleans()):
            mixed.append(rest.pop(0))
        mixed += group
    assert _shape(name, [*mixed, *rest]) == _shape(name, [*words, *operands])


def _asks_of_itself(model: Model, words: list[str]) -> bool:
    """A question that stands alone is nothing but that; with anything behind it, it may be an option among others."""
    return len(words) == 1 and words[0] in model.tells


@given(invocation=_invocations())
def test_two_dashes_before_the_operands_change_nothing(invocation):
    name, model, options, operands = invocation
    assume(not _asks_of_itself(model, [*_spelt(options), *operands]))
    assert _shape(name, [*_spelt(options), "--", *operands]) == _shape(name, [*_spelt(options), *operands])


@given(invocation=_invocations(), data=st.data())
def test_a_further_option_never_makes_the_facts_weaker(invocation, data):
    """Where an option does not say that less is done (`choices`, readers in code), it can only add."""
    name, model, options, operands = invocation
    if model.special is not None or not options or _asks_of_itself(model, [*_spelt(options), *operands]):
        return
    fewer = options[: data.draw(st.integers(0, len(options) - 1))]
    assert (
        any(option.spares_first for option, _ in options)
        or _shape(name, [*_spelt(fewer), *operands])[0] <= (_shape(name, [*_spelt(options), *operands])[0])
    )


_SAME = (
    ("sort -o b.txt a.txt", "sort --output b.txt a.txt", "sort --output=b.txt a.txt", "sort -ob.txt a.txt", "sort a.txt -uo b.txt"),
    ("cp -r src out", "cp --recursive src out", "cp -R src out", "cp src out -r", "cp -rv -- src out"),
    ("grep -rn -e x src", "grep --recursive --regexp=x src", "grep -rne x src", "grep src -r --regexp x -n"),
    ("chmod -R 777 src", "chmod --recursive 777 src", "chmod 777 -R src"),
    ("shuf -o b.txt a.txt", "shuf --output=b.txt a.txt", "shuf a.txt --output b.txt"),
    ("du --files0-from=a.txt", "du --files0-from a.txt", "du -c --files0-from a.txt"),
    ("tar -cf x.tar src", "tar cf x.tar src", "tar -c -f x.tar src", "tar --create --file=x.tar src", "tar -cvf x.tar -- src"),
    ("kubectl get pods --kubeconfig=k", "kubectl --kubeconfig k get pods", "kubectl get --kubeconfig k pods"),
    ("docker run -v /etc:/x i", "docker run --volume=/etc:/x i", "docker run --volume /etc:/x i"),
)  # fmt: skip


def test_an_equals_sign_after_a_short_option_hides_nothing():
    # pflag (docker, kubectl, helm, gh) takes `-v=/etc:/x` for `/etc:/x`.
    for line in (
        "docker run -v=/etc:/x i",
        "kubectl apply -f=/etc/x",
        "docker compose -f=/etc/x ps",
        "sort -o=/etc/x a.txt",
    ):
        assert any(path.resolved in ("/etc", "/etc/x") for path in facts(line).paths), line


@pytest.mark.parametrize("lines", _SAME)
def test_long_and_short_names_are_one_option(lines):
    shapes = []
    for line in lines:
        found = facts(line)
        first = found.commands[0]
        shapes.append(
            (
                first.operations,
                first.runs_code,
                frozenset((path.resolved, path.access, path.recursive) for path in found.paths),
                bool(found.unknown),
            )
        )
    assert len(set(shapes)) == 1, list(zip(lines, shapes, strict=True))

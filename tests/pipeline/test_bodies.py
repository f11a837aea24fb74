"""What a decision's record says of what the action would touch: short, redacted, always a valid record."""

import json

from hypothesis import given
from hypothesis import strategies as st

from audit.entry import Draft, encode
from shield.actions.request import make_action
from shield.pipeline import bodies
from shield.pipeline.redacted import Known
from shield.types import Access, CommandFact, Facts, HostFact, IpClass, PathFact, SecretFact


def touched(facts, payload=None):
    return bodies.touched(facts, Known(make_action("x", payload or {}, None), facts))


SECRET = "ghp_" + "a1B2" * 9
_NAMES = st.text(st.characters(), max_size=300) | st.just(f"/ws/{SECRET}") | st.just("\udcff/x")
_PATHS = st.builds(
    PathFact, raw=_NAMES, resolved=_NAMES | st.none(), access=st.sampled_from(list(Access)), exists=st.booleans()
)


def _host(name):
    return HostFact(url=f"https://{name}/", scheme="https", host=name, port=443, ip_class=IpClass.NAME)


def test_in_few_words():
    facts = Facts(
        paths=(
            PathFact(raw="a", resolved="/ws/a", access=Access.READ),
            PathFact(raw="./a", resolved="/ws/a", access=Access.LIST),
            PathFact(raw="$X", resolved=None, access=Access.WRITE),
            PathFact(raw="b", resolved="/ws/b", access=Access.DELETE),
            PathFact(raw="/bin/ls", resolved="/usr/bin/ls", access=Access.EXECUTE),
        ),
        commands=(CommandFact(name="ls", argv=("ls", SECRET)), CommandFact(name="rm"), CommandFact(name="ls")),
        hosts=(_host("h.example"),),
        recipients=("a@b.example",),
    )
    assert touched(facts) == {
        "deletes": ["/ws/b"],
        "reads": ["/ws/a"],
        "runs": ["ls", "rm"],
        "sends_to": ["h.example:443", "a@b.example"],
        "writes": ["$X"],
    }
    assert touched(Facts()) == {}


def test_what_does_not_fit_is_counted():
    many = touched(Facts(commands=tuple(CommandFact(name=f"p{number}") for number in range(20))))
    assert many == {"runs": [*(f"p{number}" for number in range(8)), "… 12 more"]}
    long = touched(
        Facts(paths=tuple(PathFact(raw=f"{n}{'é' * 190}", resolved=None, access=Access.READ) for n in range(9)))
    )
    assert long["reads"][-1] == "… 6 more"


@given(
    st.lists(_PATHS, max_size=40),
    st.lists(st.builds(CommandFact, name=_NAMES), max_size=20),
    st.lists(st.builds(_host, _NAMES), max_size=20),
    st.lists(_NAMES, max_size=20),
)
def test_whatever_the_facts_are_they_fit_a_record(paths, commands, hosts, recipients):
    shown = touched(
        Facts(paths=tuple(paths), commands=tuple(commands), hosts=tuple(hosts), recipients=tuple(recipients))
    )
    raw = json.dumps(shown, ensure_ascii=False)
    encode(Draft(kind="decision", body=shown), log="x")  # the log takes it
    assert len(json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()) <= 1_500
    assert SECRET not in raw


def test_a_name_that_was_made_of_a_secret_is_not_shown():
    payload = {"command": "curl https://bob:O46ayJKP4GY@Xy7Q.example"}
    secret = SecretFact(kind="basic_auth_url", where="/command", start=17, end=28)
    facts = Facts(
        paths=(PathFact(raw="x", resolved="/ws/https:/bob:O46ayJKP4GY", access=Access.READ),),
        commands=(CommandFact(name="curl"), CommandFact(name="46ayjkp4")),
        hosts=(_host("o46ayjkp4gy"), _host("h.example")),
        secrets=(secret,),
    )
    assert touched(facts, payload) == {
        "reads": ["[redacted]"],
        "runs": ["curl", "[redacted]"],
        "sends_to": ["[redacted]", "h.example:443"],
    }
    many = tuple(SecretFact(kind="x", where=f"/k{index}", start=0, end=9) for index in range(40))
    shown = touched(Facts(commands=(CommandFact(name="ls"),), secrets=many), {f"k{n}": "y" * 9 for n in range(40)})
    assert shown == {"runs": ["[redacted]"]}

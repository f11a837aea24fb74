"""Inline node over JSON: what a file holds may be asked for any property, as long as nothing is put into any value."""

import pytest

from shell_world import reading_policy, text
from shield.facts.programs.javascript.proof import node_proven
from shield.types import Decision

READ = "JSON.parse(fs.readFileSync('a.json', 'utf8'))"


@pytest.mark.parametrize(
    "code",
    ["const d = DATA; console.log(d.foo.bar[0].baz)", "const d = DATA; d.list.forEach(r => console.log(r.file, r.line))", "console.log(DATA.results.filter(r => !r.ok).length)",
     "const d = DATA; for (const x of d.rows) console.log(x.sku)", "const rows = DATA.rows; const one = rows[0].inner;\nconsole.log(one.sku)",
     "Object.entries(DATA.scripts).map(([k, v]) => k + ': ' + v).join('\\n')", "for (const [k, v] of Object.entries(DATA)) console.log(k, v.sku)", "const v = Object.values(DATA.deps); v.map(e => e.sku)",
     "DATA.rows.sort((a, b) => a.sku - b.sku)"],
)  # fmt: skip
@pytest.mark.parametrize("data", ["require('./a.json')", READ])
def test_json_is_data(code, data):
    found = node_proven(code.replace("DATA", data))
    assert found is not None
    assert found.reads + found.requires == ("a.json",) or found.requires == ("./a.json",)


@pytest.mark.parametrize(
    "code",
    ["require('./a.json').x = Object; console.log(require('./a.json').x.getPrototypeOf)", "Object.assign(DATA, {x: Object}); console.log(DATA.x.getPrototypeOf)",
     "const d = DATA; d.l.map = f => f(Object); d.l.map(r => r.getPrototypeOf)", "const d = DATA; d.l.push(Object); d.l.map(r => r.getPrototypeOf)",
     "const d = DATA; d.l['push'](Object); d.l.map(r => r.getPrototypeOf)", "const d = DATA; (o => { o.x = Object })(d); d.x.getPrototypeOf", "const d = DATA; d.x ||= Object; d.x.getPrototypeOf",
     "const d = DATA; d['x'] ||= Object; d.x.getPrototypeOf", "const d = DATA; for (d.x of [Object]) d.x.getPrototypeOf", "const d = DATA; d.l.fill(Object); d.l.map(r => r.getPrototypeOf)",
     "const d = DATA; d.l.splice(0, 1, Object); d.l.map(r => r.getPrototypeOf)"],
)  # fmt: skip
def test_what_is_put_into_it_is_not(code):
    """Of `Object` a property may be taken by a text that is put together, and so whatever makes functions of texts."""
    assert node_proven(code.replace("DATA", "require('./a.json')")) is None


@pytest.mark.parametrize(
    "code",
    ["let d = DATA; d = Object; d.getPrototypeOf", "const d = DATA; d.x.map(r => { r = Object; return r.getPrototypeOf })", "const d = DATA && Object; d.getPrototypeOf", "const d = DATA.x || Object; d.getPrototypeOf",
     "const d = DATA\n?Object:Object; d.getPrototypeOf", "const d = DATA\n.x || Object; d.getPrototypeOf", "const d = DATA.x.concat(Object); d.forEach(r => r.getPrototypeOf)", "const d = [Object, DATA]; d.forEach(r => r.getPrototypeOf)",
     "for (const x of [Object, DATA]) x.getPrototypeOf", "for (const x of DATA.l.concat([Object])) x.getPrototypeOf", "const d = DATA; ((d) => d.getPrototypeOf)(Object)", "const d = DATA, e = Object; e.getPrototypeOf",
     "const d = DATA; d.l.map(r => r.x); [Object].map(r => r.getPrototypeOf)", "Object.entries(Object, DATA).forEach(([k, v]) => v.getPrototypeOf)", "const x = Object.values(DATA).concat(Object); x.getPrototypeOf",
     "Object.entries(DATA).forEach(([k, v]) => v.constructor)", "const j = JSON.parse(fs.readFileSync('a.json'), f); j.foo", "const {getPrototypeOf} = Object", "const [constructor] = [1]", "([a, constructor]) => 1", "([[a], b]) => 1",
     "[a, b] = [1, 2]", "const [a = Object] = []", "[1].map(([a]) => a.getPrototypeOf)", "const fs = DATA; fs.writeFileSync('x', 'y')"],
)  # fmt: skip
def test_what_may_be_another_value_is_not(code):
    assert node_proven(code.replace("DATA", "require('./a.json')")) is None


def test_a_global_that_is_kept_in_a_json_file_makes_no_function_of_a_text():
    made = "require('./a.json').x.getOwnPropertyDescriptor(require('./a.json').x.getPrototypeOf(x => x), 'constr' + 'uctor')"
    line = f"node -e \"Object.assign(require('./a.json'), {{x: Object}}); {made}.value('return 1')()\""
    for confined in (True, False):
        assert reading_policy(line, {"a.json": text("{}")}, confined=confined) is not Decision.ALLOW
    assert (
        reading_policy("node -p \"require('./a.json').x.foo\"", {"a.json": text("{}")}, confined=False)
        is Decision.ALLOW
    )

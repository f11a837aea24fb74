"""What lint calls proven, held against every small world: a claim that one of them contradicts is a false alarm."""

from hypothesis import example, given, settings

from policy_conditions import LISTS, OF_PATH, PATH_LISTS, SCHEMA, answer, bodies, conditions, outcomes, world_of
from scale import scale
from shield.policy.cel import compile_condition
from shield.policy.tools.form import form
from shield.policy.tools.logic import always, implies, never


@settings(max_examples=scale("lint_logic"), deadline=None, database=None)
@given(conditions, conditions)
@example('paths.exists(p, p.access == "read")', 'paths.exists(q, q.access in ["read", "list"])')
@example("malformed && !malformed", "malformed")
@example("!(paths.size() < 2)", "paths.size() > 1")
def test_nothing_that_is_proven_is_wrong(one, other):
    tree, held = outcomes(one)
    tree_other, held_other = outcomes(other)
    if never(form(tree, LISTS)):
        assert True not in held
    if always(tree, LISTS):
        assert False not in held
    if implies(form(tree, LISTS), form(tree_other, LISTS)):
        assert all(after for before, after in zip(held, held_other, strict=True) if before)


@settings(max_examples=scale("lint_logic") // 2, deadline=None, database=None)
@given(bodies("path"), bodies("p"))
@example('path.access == "read" && path.recursive', "p.recursive")
def test_what_holds_for_an_element_holds_for_one_of_the_list(one, body):
    condition = compile_condition(one, OF_PATH)
    other = compile_condition(f"paths.exists(p, {body})", SCHEMA)
    if not implies(form(condition.tree, LISTS, "path"), form(other.tree, LISTS), "paths"):
        return
    for paths in PATH_LISTS:
        world = world_of(paths, False, "one")
        for path in paths:
            assert not answer(condition, (*world, path)) or other.test(world)


def test_it_proves_what_it_should():
    proven = [
        ('paths.exists(p, p.access == "read" && p.recursive)', "paths.exists(x, x.recursive)"),
        ('paths.all(p, p.access == "read")', 'paths.all(p, p.access in ["read", "list"])'),
        ('agent == "one" && malformed', 'agent in ["one", "two"]'),
        ('agent == "one"', 'agent != "two"'),
        ("paths.size() > 5", "paths.size() > 3"),
        ('!(agent in ["one", "two"])', 'agent != "one"'),
        ("malformed || (agent == 'one' && malformed)", "malformed"),
    ]
    for one, other in proven:
        trees = [compile_condition(text, SCHEMA).tree for text in (one, other)]
        assert implies(form(trees[0], LISTS), form(trees[1], LISTS)), one
        assert not implies(form(trees[1], LISTS), form(trees[0], LISTS)) or one.startswith("malformed ||"), other

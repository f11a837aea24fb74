"""Tables that carriers and clean texts are made of: of all shapes, with a place for somebody else's words in one."""

from random import Random

from models.training.table import table


def test_a_slot_stands_once_in_each_table_and_nothing_else_is_like_it():
    rng = Random(1)
    assert all(table(rng, "SLOT").count("SLOT") == 1 for _ in range(3_000))
    assert not any("SLOT" in table(rng) for _ in range(3_000))


def test_the_same_seed_gives_the_same_tables_of_many_shapes():
    def drawn():
        rng = Random(2)
        return [table(rng) for _ in range(200)]

    assert drawn() == drawn()
    shapes = {"| --- |": 0, "<table>": 0, "{": 0, "\t": 0, ";": 0}
    for text in drawn():
        for mark in shapes:
            shapes[mark] += mark in text
    assert all(shapes.values()), shapes

"""The files of program models: a broken entry does not load and is named; the published schema says what loads."""

import json
import re
from dataclasses import fields

import pytest
import yaml

from model_world import MODELS
from shield.facts.programs.library import Library, load_models, models
from shield.facts.programs.model import Model, Use
from shield.facts.programs.special import SPECIALS
from shield.facts.shell.builtins import BUILTIN_SPECIALS
from shield.types import Operation, RunsCode

_BROKEN = {
    "- a": "not a mapping",
    "x: [a]": "`x` has no mapping",
    "on: {does: read}": "`True` has no mapping",
    "x: {frob: 1}": "unknown key `frob`",
    "x: {flags: [-a]}": "the value of `flags` has a wrong type",
    "x: {does: 1}": "the value of `does` has a wrong type",
    "x: {values: -a}": "the value of `values` has a wrong type",
    "x: {values: {-a: 1}}": "the value of `values` has a wrong type",
    "x: {subcommands: ls}": "the value of `subcommands` has a wrong type",
    "x: {mode: frob}": "unknown mode ['frob']",
    "x: {flags: a}": "`a` is no option",
    "x: {values: {a: text}}": "`a` is no option",
    "x: {does: frob}": "'frob' is not a valid Operation",
    "x: {rest: frob}": "'frob' is not a valid Use",
    "x: {first: read frob}": "'frob' is not a valid Use",
    "x: {values: {-a: frob}}": "'frob' is not a valid Use",
    "x: {runs: {-a: frob}}": "'frob' is not a valid RunsCode",
    "x: {adds: {-a: frob}}": "'frob' is not a valid Operation",
    "x: {flags: -a -b -a}": "`-a` is listed twice",
    "x: {flags: -a, values: {-a: read}}": "`-a` is listed twice",
    "x: {values: {-a: read, -b -a: text}}": "`-a` is listed twice",
    "x: {flags: -r, recursive: -r}": "`-r` is listed twice",
    "x y x: {}": "`x` is described twice",
    "x: {same: y}": "`x` is the same as `y`, which is not there",
    "x: {subcommands: {y: {choices: {-a: {frob: z}}}}}": "x.yaml: x: y: -a: unknown key `frob`",
    "x: {subcommands: {y: {}, y z: {}}}": "x.yaml: x: `y` is described twice",
    "x: {": "no YAML",
}


@pytest.mark.parametrize("text", _BROKEN)
def test_a_broken_entry_does_not_load_and_is_named(text):
    with pytest.raises(ValueError, match=re.escape(_BROKEN[text])) as caught:
        load_models(text, "x.yaml")
    assert str(caught.value).startswith("x.yaml: ")
    if text.startswith("x: {") and "YAML" not in _BROKEN[text]:
        assert "x" in str(caught.value).removeprefix("x.yaml: ")


def test_the_published_schema_is_what_loads():
    schema = json.loads((MODELS / "schema.json").read_text("utf-8"))
    definitions = schema["$defs"]
    assert definitions["use"]["enum"] == [use.value for use in Use]
    entry = definitions["entry"]
    assert entry["additionalProperties"] is False
    for key, value in entry["properties"].items():
        # A value of a wrong type is refused for each of these keys, and only an unknown key is called that.
        with pytest.raises(ValueError, match=f"the value of `{key}` has a wrong type"):
            load_models(yaml.dump({"x": {key: 7}}), "x.yaml")
        assert value
    modes = set(re.findall(r"[a-z]+", entry["properties"]["mode"]["pattern"])) - {"s"}
    assert modes == {field.name for field in fields(Model) if field.type in ("bool", bool)}
    assert entry["properties"]["runs_code"]["enum"] == [kind.value for kind in RunsCode]
    assert set(re.findall(r"[a-z]+", entry["properties"]["does"]["pattern"])) - {"s"} == {
        kind.value for kind in Operation
    }


def test_the_schema_knows_every_key_that_is_used():
    allowed = json.loads((MODELS / "schema.json").read_text("utf-8"))["$defs"]["entry"]["properties"].keys()

    def walk(entries: dict[str, dict[str, object] | None]) -> None:
        for entry in entries.values():
            assert (entry or {}).keys() <= allowed
            for key in ("subcommands", "choices"):
                walk((entry or {}).get(key) or {})

    for file in MODELS.glob("*.yaml"):
        walk(yaml.load(file.read_text("utf-8"), Loader=yaml.CSafeLoader))


def _all(found: "dict[str, Model] | object") -> list[Model]:
    below: list[Model] = []
    for model in found.values():  # type: ignore[attr-defined]  # a mapping proxy
        below += [model, *_all(model.subcommands or {}), *_all(model.choices or {})]
    return below


def test_every_reader_that_an_entry_names_exists_at_any_depth():
    named = {model.special for model in _all(models())} - {None}
    assert named <= SPECIALS.keys() | BUILTIN_SPECIALS.keys()


def test_what_an_entry_says_can_come_true():
    for model in _all(models()):
        where = model.name
        # `elsewhere` is about a command, `params` about options.
        assert not model.elsewhere or model.rest is Use.COMMAND, where
        assert model.choices is None or all(name in model.options for name in model.choices), where
        assert all(option.value is not None or not option.spares_first for option in model.options.values()), where
        # What only an option could change is no reason to believe an argument of unknown value.
        harmless = (None, Use.TEXT, Use.LIST, Use.READ, Use.NAMES, Use.WRITE, Use.EDIT, Use.LABEL, Use.MOUNT)
        if model.steady:
            assert all(option.value in harmless for option in model.options.values()), where
            assert all(option.runs is RunsCode.NONE for option in model.options.values()), where


def test_a_steady_program_has_no_option_that_does_more():
    """`cat $X` is only a read, whatever `$X` is: so no option of such a program may write, run, send or delete."""
    for model in _all(models()):
        if model.steady:
            does = model.does
            for option in model.options.values():
                writes = option.value in (Use.WRITE, Use.EDIT) and Operation.WRITE not in does
                assert option.adds <= does, (model.name, option.name)
                assert not writes, (model.name, option.name)


def test_subcommands_by_pattern():
    text = "x: {subcommands: {get-*: {does: read}, get-*-token: {does: write}, '*': {does: delete}, get-a: {does: network}}}"
    found = load_models(text, "x.yaml")["x"]
    does = [str(*(found.sub(name) or found).does) for name in ("get-b", "get-b-token", "put", "get-a")]
    assert does == ["read", "write", "delete", "network"]


def test_an_entry_read_by_itself_is_the_entry_of_its_file():
    whole = {}
    for file in sorted(MODELS.glob("*.yaml")):
        whole |= load_models(file.read_text("utf-8"), file.name)
    found = models()
    assert list(found) == list(whole)
    assert len(found) == len(whole) > 1000
    assert all(found[name] == model and found.get(name) == model for name, model in whole.items())


def test_only_what_is_asked_for_is_read():
    library = Library(
        {"x.yaml": "a:\n  same: b\n\nb c:  # more\n  does: read\n'd': {same: b, does: write}\ne: {does: frob}\n"}
    )
    assert list(library) == ["a", "b", "c", "d", "e"]
    assert library["a"].does == library["b"].does == library["c"].does == {Operation.READ}
    assert library["a"].name == "a"
    assert library["d"].does == {Operation.WRITE}
    text = "a: {does: &seen read}\nb: {subcommands: {c: &verbs {does: *seen}}}\nc: {subcommands: {d: *verbs}}\n"
    assert Library({"x.yaml": text})["c"].sub("d").does == {Operation.READ}
    assert "f" not in library
    assert library.get("f") is None
    with pytest.raises(KeyError):
        library["f"]
    with pytest.raises(ValueError, match=r"x.yaml: e: 'frob'"):
        library["e"]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"x.yaml": "a: {}\nb: {}\n'a': {}\n"}, "x.yaml: `a` is described twice"),
        ({"x.yaml": "a: {}\n", "y.yaml": "c a: {}\n"}, "y.yaml: `a` is described twice"),
        ({"x.yaml": "- a\n"}, "x.yaml: not a mapping"),
        ({"x.yaml": ""}, "x.yaml: not a mapping"),
        ({"x.yaml": "- a\nb: {}\n"}, "x.yaml: not a mapping"),
        ({"x.yaml": "b: {}\n? a\n: {}\n"}, "x.yaml: not a mapping"),
    ],
)
def test_a_library_that_is_none(texts, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        Library(texts)

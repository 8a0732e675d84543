"""Whatever the settings, TOML brings them back; whatever the tree, only a sentence comes of it."""

import copy
import json
import os
import random
import re
import tomllib
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from math import inf
from typing import Annotated, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.config.checks import named_part, number_of
from regard.config.files import FileConfig
from regard.config.model import (
    DECODERS,
    ENCODERS,
    MAX_TABLE_NUMBERS,
    AttentionConfig,
    ConvolutionalEncoderConfig,
    EmbeddingConfig,
    LuongDecoderConfig,
    RecurrentEncoderConfig,
    TransformerConfig,
)
from regard.config.settings import (
    MAX_BEAM_LENGTH,
    MAX_BEAM_LINES,
    MIN_TEMPERATURE,
    SearchConfig,
    Settings,
    TextConfig,
)
from regard.config.toml import (
    differences,
    override,
    read_settings,
    settings_from,
    to_toml,
    to_tree,
)
from regard.errors import ConfigError, DataError

many = settings(max_examples=int(os.environ.get("REGARD_CASES", "500")), deadline=None)
some = settings(max_examples=500, deadline=None)
KINDS = {"encoder": ENCODERS, "decoder": DECODERS}
LARGEST = 2**63 - 1
POSITIVE = ("learning_rate", "top_p")


def value(rng, name, hint):
    """Draw what a field may hold, rules between fields aside; the ends more often than the rest."""
    if name in KINDS:
        return section(rng, rng.choice(list(KINDS[name].values())))
    if is_dataclass(hint):
        return section(rng, hint)
    if get_origin(hint) is tuple:
        names = get_args(get_args(hint)[0])
        return tuple(rng.sample(names, rng.randint(1, len(names))))
    part = named_part(hint)
    if part or get_origin(hint) is Literal:
        return rng.choice(part.own if part else get_args(hint))
    least, largest = 1, LARGEST
    limits = [x.limit for x in (number_of(hint) or (None, ()))[1] if x.words == "at most"]
    if get_origin(hint) is Annotated and get_args(hint)[0] is float:
        ends = [5e-324, 1e-5, 0.1, 1] + ([0, 1e16, 1.7e308] if name not in POSITIVE else [])
        return min(rng.choice([*ends, rng.random() or 1.0]), *limits, inf)
    if get_origin(hint) is Annotated:
        largest = min([LARGEST, *limits])
        hint, least = int, next(x.limit for x in number_of(hint)[1] if x.words == "at least")
    return {
        bool: rng.random() < 0.5,
        int: rng.choice([least, least + 1, largest, rng.randint(least, largest)]),
        float: rng.choice([0, 0.0, 5e-324, 0.1, rng.random()]),
        str: "".join(rng.choices("ab0 '\"\\#=[]\u0303你🙂", k=rng.randint(0, 7))),
    }[hint]


@cache
def types(made):
    return get_type_hints(made, include_extras=True)


def section(rng, made):
    hints = types(made)
    said = {field.name: value(rng, field.name, hints[field.name]) for field in fields(made)}
    return made(**fitting(made, said))


def fitting(made, said):
    """Bend what was drawn to the rules between fields."""
    if made is RecurrentEncoderConfig:
        said["reversed_source"] &= not said["bidirectional"]
    elif made is ConvolutionalEncoderConfig:
        said["kernel_size"] = said["kernel_size"] - 1 | 1
    elif made is AttentionConfig:
        said["coverage"] &= said["score"] == "additive"
    elif made is LuongDecoderConfig:
        said["input_feeding"] &= said["attentional"]
    elif issubclass(made, TransformerConfig):
        said["num_heads"] = said["num_heads"] % 97 + 1
        said["model_size"] = said["num_heads"] * 2 * (said["model_size"] % 307 + 1)
    elif made is FileConfig:
        said["delimiter"] = said["delimiter"][:1].replace('"', "") or "tab"
        said["encoding"] = "cp1250" if said["encoding"] else "auto"
        said |= {name: f"source={len(said[name]) + 1} target=a b" for name in ("columns", "names")}
        said["group_by"] = "1,b" if said["group_by"] else ""
    elif made is TextConfig:
        said |= {
            name: max(5, said[name])
            for name in ("source_vocabulary_size", "target_vocabulary_size")
        }
        signs = (x for x in said["tag_separators"] if not x.isalnum() and not x.isspace())
        said["tag_separators"] = "".join(signs) or ";"
    elif made is EmbeddingConfig and said["positions"] == "sinusoidal":
        said["max_length"] = min(said["max_length"], MAX_TABLE_NUMBERS // said["size"])
    elif made is SearchConfig:
        said["beam_size"] = beam_size = max(said["beam_size"], said["nbest"])
        said["max_length"] = min(said["max_length"], MAX_BEAM_LENGTH // beam_size)
        said["min_length"] = min(said["min_length"], said["max_length"])
        said["batch_size"] = min(said["batch_size"], MAX_BEAM_LINES // beam_size)
        said["temperature"] *= said["temperature"] >= MIN_TEMPERATURE
    return said


def leaves(tree, path=""):
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


# one number decides all of the ninety settings: drawn one by one they would take most of the time
any_settings = st.integers(0, 2**64).map(lambda seed: section(random.Random(seed), Settings))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([2**63, -(2**64)]),
    st.floats(),
    st.text(),
    st.text(st.characters(categories=["Cs", "Cc", "Zl"]), min_size=1),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.sampled_from([*ENCODERS, *DECODERS, "lstm", "additive", "dot", "backward", "context"]),
)
SECTIONS = ["data", "text", "model", "train", "search", "source", "target", "encoder", "decoder"]
names = st.one_of(
    st.sampled_from([*SECTIONS, "readout", "attention", "kind", "score", "coverage", "inputs"]),
    st.sampled_from(["size", "hidden_size", "num_heads", "model_size", "seed", "nbest", "device"]),
    st.text(),
)
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=5),
    max_leaves=10,
)


@many
@given(any_settings, st.booleans())
def test_settings_survive_a_toml_round_trip(made, comments):
    text = to_toml(made, comments=comments)
    tree = tomllib.loads(text.encode().decode())
    assert settings_from(tree) == made
    assert tree == to_tree(made)


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_encoder_and_decoder_survives_a_toml_round_trip(encoder, decoder):
    rng = random.Random(f"{os.environ['REGARD_SEED']} {encoder} {decoder}")
    for _ in range(10):
        tree = to_tree(section(rng, Settings))
        parts = {
            "encoder": section(rng, ENCODERS[encoder]),
            "decoder": section(rng, DECODERS[decoder]),
        }
        tree["model"]["encoder"] = {"kind": encoder, **as_tree(parts["encoder"])}
        tree["model"]["decoder"] = {"kind": decoder, **as_tree(parts["decoder"])}
        made = settings_from(tree)
        assert (made.model.encoder, made.model.decoder) == (parts["encoder"], parts["decoder"])
        assert settings_from(tomllib.loads(to_toml(made))) == made
        assert to_tree(made) == tree


def as_tree(part):
    """Return a part of a model as JSON holds it, by another way than the one that is tested."""
    return json.loads(json.dumps(asdict(part)))


@some
@given(any_settings)
def test_every_setting_can_be_set_by_an_assignment(made):
    tree = to_tree(made)
    said = [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in leaves(tree)]
    assert override({}, said) == tree


@some
@given(any_settings, any_settings)
def test_differences_lead_from_one_settings_object_to_the_other(a, b):
    before, after = dict(leaves(to_tree(a))), dict(leaves(to_tree(b)))
    told = dict(line.split(": ", 1) for line in differences(a, b))
    changed = {name for name in {**before, **after} if before.get(name) != after.get(name)}
    assert told.keys() == changed
    for name, change in told.items():
        sides = [
            json.dumps(side[name], ensure_ascii=False) if name in side else "none"
            for side in (before, after)
        ]
        assert change == " → ".join(sides)
    assert (told == {}) == (a == b)
    assert differences(a, a) == []


def outcome(make, *arguments):
    """Return what is made and the problems, each of them one line that can be printed."""
    try:
        return make(*arguments), ()
    except ConfigError as error:
        problems = error.problems
    assert problems
    for problem in problems:
        assert problem.isprintable()
        assert len(problem) < 400
        facts = ("; it must ", "Unknown ", " is missing. Add ", "Write ", "Set ")
        assert any(fact in problem for fact in facts)
    return None, problems


@many
@given(trees)
def test_any_incomplete_tree_gets_error_messages(tree):
    made, problems = outcome(settings_from, tree)
    assert made is None
    assert problems


@many
@given(any_settings, st.data())
def test_a_single_error_is_reported_with_its_section(made, data):
    tree = to_tree(made)
    inner, path = tree, []
    while True:
        path.append(data.draw(st.sampled_from(sorted(inner)) | names))
        if not isinstance(inner.get(path[-1]), dict) or data.draw(st.booleans()):
            break
        inner = inner[path[-1]]
    inner[path[-1]] = data.draw(trees)
    before = copy.deepcopy(tree)
    again, problems = outcome(settings_from, tree)
    assert tree == before
    section = "".join(f"{name}." for name in path[:-1])
    named = [re.sub("^Unknown (setting|section) ", "", problem) for problem in problems]
    assert all(problem.startswith(section) for problem in named)
    if again is not None:
        told = to_tree(again)
        for name in path[:-1]:
            told = told[name]
        assert told[path[-1]] == inner[path[-1]] or isinstance(inner[path[-1]], dict)


@many
@given(st.text() | any_settings.map(to_toml), st.data())
def test_any_text_yields_a_tree_or_an_error_with_its_line(text, data):
    place = data.draw(st.integers(0, len(text)))
    text = text[:place] + data.draw(st.text(max_size=5)) + text[place:]
    try:
        tree, where = read_settings(text, "run.toml"), None
    except DataError as error:
        tree, where = {}, (error.file, error.line)
    outcome(settings_from, tree)
    assert where is None or where[0] == "run.toml"
    assert where is None or where[1] is None or 1 <= where[1] <= text.count("\n") + 1


# among the names that are drawn are old ones, which are warned of
@pytest.mark.filterwarnings("ignore::regard.config.renamed_settings.RenamedSettingWarning")
@some
@given(st.dictionaries(names, trees, max_size=3), st.lists(names, max_size=3))
def test_any_assignments_yield_a_tree_or_an_error(tree, texts):
    said = [*texts, *(f"{text}.seed={text}" for text in texts), *(f"a.b={text}" for text in texts)]
    before = copy.deepcopy(tree)
    made, problems = outcome(override, tree, said)
    assert isinstance(made, dict) or problems
    assert tree == before

"""Renamed settings: the old name works everywhere, and says what the new one is."""

import json

import pytest

import regard
from regard.config.renamed_settings import (
    RENAMED_SETTINGS,
    RENAMED_VALUES,
    RenamedSettingWarning,
    section_of_old_name,
    with_new_names,
)
from regard.config.settings import Settings
from regard.config.toml import override, read_settings, settings_from, to_tree
from regard.errors import ConfigError
from regard.models import preset
from regard.text.tokenizers import tokenizer_from_json

MODEL = {"embedding_size": 4, "hidden_size": 4, "align_size": 4, "readout_size": 4}


def tree_of(full, value):
    tree = value
    for name in reversed(full.split(".")):
        tree = {name: tree}
    return tree


def has(tree, full):
    for name in full.split("."):
        if not isinstance(tree, dict) or name not in tree:
            return False
        tree = tree[name]
    return True


def today():
    return to_tree(Settings(model=preset("bahdanau2015")(**MODEL)))


@pytest.mark.parametrize(("old", "new"), RENAMED_SETTINGS.items())
def test_an_old_name_of_a_setting_is_replaced_by_the_new_one(old, new):
    assert has(today(), new)
    assert not has(today(), old)
    with pytest.warns(RenamedSettingWarning, match=f"^{old} is now {new}.$"):
        assert override({}, [f"{old}=1"]) == tree_of(new, 1)
    *section, name = old.split(".")
    with pytest.warns(RenamedSettingWarning, match=f"^{old} is now {new}.$"):
        assert read_settings(f"[{'.'.join(section)}]\n{name} = 1", "x.toml") == tree_of(new, 1)


@pytest.mark.parametrize("side", ["text.source", "text.target"])
def test_an_old_name_of_a_tokenizer_is_read(side):
    for old, new in {"symbols": "whitespace", "sounds": "phonemes"}.items():
        assert RENAMED_VALUES[side][old] == new
        with pytest.warns(RenamedSettingWarning, match=f'^{side} = "{old}" is now "{new}".$'):
            assert override({}, [f"{side}={old}"]) == tree_of(side, new)
    assert tokenizer_from_json({"kind": "symbols"}) == tokenizer_from_json({"kind": "whitespace"})
    old, new = ({"kind": kind, "form": "NFD"} for kind in ("sounds", "phonemes"))
    assert tokenizer_from_json(old) == tokenizer_from_json(new)
    assert tokenizer_from_json(old).to_json() == new


def test_a_new_name_gets_no_warning_and_overrides_an_old_one_of_the_file():
    with pytest.warns(RenamedSettingWarning):
        tree = read_settings("[train]\naccumulate = 2\nseed = 3", "x.toml")
    tree = override(tree, ["train.gradient_accumulation_steps=4"])
    assert tree == {"train": {"gradient_accumulation_steps": 4, "seed": 3}}
    with pytest.warns(RenamedSettingWarning):
        assert override(tree, ["train.accumulate=5"])["train"]["gradient_accumulation_steps"] == 5


def test_both_names_at_once_are_refused():
    with pytest.raises(
        ConfigError, match=r"train\.average is now train\.average_checkpoints, but both"
    ):
        with_new_names({"train": {"average": 1, "average_checkpoints": 2}}, warn=False)


def test_an_invalid_tree_stays_as_it_is():
    for tree in ({}, {"train": 3}, {"model": {"decoder": []}}, {"text": {"source": ["symbols"]}}):
        assert with_new_names(tree) == tree
    tree = {"train": {"average": 1}}
    with_new_names(tree, warn=False)
    assert tree == {"train": {"average": 1}}


def test_settings_of_a_model_file_get_no_warning():
    new = today()
    new["text"] |= {"source": "whitespace", "target": "phonemes"}
    text = json.dumps(new)
    for old, name in RENAMED_SETTINGS.items():
        text = text.replace(f'"{name.rpartition(".")[2]}":', f'"{old.rpartition(".")[2]}":')
    text = text.replace('"whitespace"', '"symbols"').replace('"phonemes"', '"sounds"')
    old = json.loads(text)
    assert old != new
    assert to_tree(settings_from(old)) == new


def test_an_old_name_without_a_section_has_its_former_section():
    assert section_of_old_name("average") == "train"
    assert section_of_old_name("tied") == "model"
    assert section_of_old_name("first") is None
    assert section_of_old_name("seed") is None


def test_train_takes_old_names_and_warns():
    pairs = [("ab", "ba"), ("ba", "ab"), ("a", "a"), ("b", "b")]
    options = {"max_steps": 1, "preset": "bahdanau2015", **MODEL, "quiet": True, "dev": pairs}
    with pytest.warns(RenamedSettingWarning) as warned:
        translator = regard.train(pairs, **options, average=1, text={"target": "symbols"})
    assert {str(one.message) for one in warned} == {
        "train.average is now train.average_checkpoints.",
        'text.target = "symbols" is now "whitespace".',
    }
    assert translator.settings.train.average_checkpoints == 1
    assert translator.settings.text.target == "whitespace"

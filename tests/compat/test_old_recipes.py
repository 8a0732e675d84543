"""Recipes of earlier versions: each is accepted, and says what its settings are called today."""

import tomllib
import warnings
from pathlib import Path

import pytest

from regard.config.renamed_settings import RENAMED_SETTINGS, RENAMED_VALUES, SUCCESSOR_VALUES
from regard.config.toml import read_settings

HERE = Path(__file__).parent
RECIPES = sorted((HERE / "recipes-0.1").glob("*.toml"))
TODAY = HERE.parents[1] / "recipes"
RENAMED_FILES = {
    "g2p-after-low": "g2p-fine-tuned-low",
    "g2p-after-medium": "g2p-fine-tuned-medium",
    "g2p-taught": "g2p-distilled",
    "g2p-together": "g2p-multilingual",
    "g2p-together-vaswani2017": "g2p-multilingual-vaswani2017",
    "little": "low-resource",
    "little-started": "low-resource-warm-start",
}


def leaves(tree, path=""):
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_an_old_recipe_prints_its_new_names_and_equals_the_present_one(path):
    text = path.read_text(encoding="utf-8")
    expected = []
    for name, value in leaves(tomllib.loads(text)):
        if name in RENAMED_SETTINGS:
            successor = SUCCESSOR_VALUES.get(name, {}).get(value)
            assignment = f' = "{successor}"' if successor else ""
            expected.append(f"{name} is now {RENAMED_SETTINGS[name]}{assignment}.")
        elif name in RENAMED_VALUES and value in RENAMED_VALUES[name]:
            expected.append(f'{name} = "{value}" is now "{RENAMED_VALUES[name][value]}".')
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        tree = read_settings(text, path.name)
    assert sorted(str(one.message) for one in warned) == sorted(expected)
    today = TODAY / path.name
    if not today.exists():
        today = TODAY / f"{RENAMED_FILES[path.stem]}.toml"
    assert tree == read_settings(today.read_text(encoding="utf-8"), today.name)


def test_there_are_recipes_with_old_names():
    assert len(RECIPES) > 20
    assert sum("average = " in path.read_text(encoding="utf-8") for path in RECIPES) > 10

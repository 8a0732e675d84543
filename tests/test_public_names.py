"""The public names and their arguments: a contract with users' code."""

import importlib
import inspect

import pytest

import regard
from regard.models import PRESETS

NAMES = {
    "regard.nn.scores": {
        "AdditiveScore": ["query_size", "key_size", "align_size", "coverage"],
        "ConcatScore": ["query_size", "key_size", "align_size"],
        "DotScore": [],
        "ScaledDotScore": [],
        "BilinearScore": ["query_size", "key_size"],
        "GaussianScore": ["w", "learned"],
        "LocationScore": ["query_size", "max_length"],
    },
    "regard.extensions": {
        "register_score": ["name"],
        "register_decoder": ["name", "config"],
        "register_tokenizer": ["name"],
        "register_constraint": ["name"],
    },
    "regard.search": {"Constraint": ["target"]},
    "regard.nn.attention": {
        "Attention": ["score", "window", "relative", "dropout"],
        "Memory": ["keys", "values", "mask"],
        "MultiHeadAttention": [
            "sizes",
            "model_size",
            "num_heads",
            "score",
            "positions",
            "dropout",
        ],
        "SelfAttention": ["attention", "size", "sizes"],
        "ManyReads": ["attention", "num_reads", "query_size"],
        "LocalWindow": ["half_width", "query_size"],
    },
    "regard.nn.positions": {
        "SinusoidalPositions": ["size", "max_length"],
        "LearnedPositions": ["size", "max_length"],
        "RotaryPositions": ["size"],
        "RelativePositions": ["size", "max_distance"],
    },
    "regard.nn.cells": {
        "ElmanCell": ["input_size", "hidden_size", "bias"],
        "GRUCell": ["input_size", "hidden_size", "bias", "reset_after"],
        "LSTMCell": ["input_size", "hidden_size", "bias"],
    },
}
PARAMETERS = {
    "AdditiveScore": {"W_q.weight", "W_k.weight", "v"},
    "ConcatScore": {"W.weight", "v"},
    "BilinearScore": {"W.weight"},
}


@pytest.mark.parametrize(
    ("module", "name", "arguments"),
    [(module, name, made) for module, names in NAMES.items() for name, made in names.items()],
)
def test_a_public_name_exists_with_its_signature(module, name, arguments):
    made = getattr(importlib.import_module(module), name)
    names = [a for a in inspect.signature(made).parameters if a not in ("args", "kwargs")]
    assert names == arguments


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_keep_the_papers_letters(name):
    score = getattr(importlib.import_module("regard.nn.scores"), name)
    made = score(*(3, 5, 7)[: len(NAMES["regard.nn.scores"][name]) - (name == "AdditiveScore")])
    assert {name for name, _ in made.named_parameters()} == PARAMETERS[name]


def test_every_score_prepares_and_scores():
    for name in NAMES["regard.nn.scores"]:
        score = getattr(importlib.import_module("regard.nn.scores"), name)
        assert list(inspect.signature(score.prepare).parameters) == ["self", "keys"]
        assert list(inspect.signature(score.forward).parameters)[:3] == ["self", "query", "keys"]


def test_the_presets_are_the_six_papers():
    assert list(PRESETS) == [
        "cho2014",
        "sutskever2014",
        "bahdanau2015",
        "luong2015",
        "gehring2017",
        "vaswani2017",
    ]


def test_the_version_is_a_version():
    assert regard.__version__.split(".")[0].isdigit()


FRONT_DOOR = {
    "train": ["pairs", "source", "target", "settings"],
    "load": ["path", "more", "device"],
    "Translator.translate": [
        *("self", "lines", "prefix", "pin", "banned", "candidates", "tree", "unknown"),
        *("self_attention", "progress", "settings"),
    ],
    "Translator.search_options": ["self", "prefix", "banned", "candidates", "tree", "settings"],
    "Translator.rescore": ["self", "pairs", "self_attention"],
    "Translator.self_attention": ["self", "translation"],
    "Translation.save": ["self", "path"],
    "Translation.plot": ["self", "axes"],
    "Translation.heads": ["self", "which"],
    "Translator.save": ["self", "path"],
}


@pytest.mark.parametrize("name", FRONT_DOOR)
def test_public_functions_accept_the_documented_arguments(name):
    found = regard
    for part in name.split("."):
        found = getattr(found, part)
    assert list(inspect.signature(found).parameters) == FRONT_DOOR[name]


def test_a_translation_has_its_documented_attributes():
    told = ["text", "score", "tokens", "source_tokens", "token_scores", "attention", "layers"]
    told += ["alternatives", "candidates", "tree", "notes", "alignment", "to_json"]
    names = {*dir(regard.Translation), *regard.Translation.__dataclass_fields__}
    assert set(told) <= names


def test_regard_exports_nothing_else():
    with pytest.raises(AttributeError, match="module 'regard' has no attribute 'trane'"):
        _ = regard.trane

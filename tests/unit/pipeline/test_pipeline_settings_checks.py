"""Sections of the settings that do not fit each other."""

import pytest
from pipeline_cases import digits, profile

from regard.config.settings import Settings
from regard.errors import ConfigError
from regard.pipeline.auto_configuration import auto_configure
from regard.pipeline.settings_checks import check_settings


def chosen(pairs, given=None, name=None):
    return auto_configure(profile(pairs), given or {}, name)


def disagreement(given, name=None):
    with pytest.raises(ConfigError) as caught:
        check_settings(chosen(digits(), given, name).settings)
    return str(caught.value)


def test_inconsistent_sections_are_refused_together():
    given = {
        "text": {"shared_vocabulary": True, "target": "words"},
        "model": {"max_length": 20},
        "data": {"max_source_length": 30, "max_target_length": 20},
    }
    assert disagreement(given, "gehring2017").splitlines() == [
        "settings: text.target is words; with text.shared_vocabulary = true it must be "
        "characters, as text.source is. Set text.target = characters.",
        "settings: model.source.max_length is 20; it must be at least 30, since "
        "data.max_source_length is 30. Set model.source.max_length = 30 or "
        "data.max_source_length = 20.",
        "settings: model.target.max_length is 20; it must be at least 21, since "
        "data.max_target_length is 20. Set model.target.max_length = 21 or "
        "data.max_target_length = 19.",
    ]
    assert disagreement(
        {"model": {"tied_embeddings": "all"}, "text": {"shared_vocabulary": False}}, "vaswani2017"
    ) == (
        "settings: text.shared_vocabulary is false; model.tied_embeddings = all needs one "
        "vocabulary. Set text.shared_vocabulary = true or model.tied_embeddings = output."
    )
    assert disagreement({"model": {"score": "location", "max_length": 8}}) == (
        "settings: model.decoder.attention.max_length is 8; it must be at least 32, since "
        "data.max_source_length is 32. Set model.decoder.attention.max_length = 32 or "
        "data.max_source_length = 8."
    )
    once = {"train": {"rdrop_alpha": 2.0}, "model": {"dropout": 0.0}}
    assert disagreement(once) == (
        "settings: train.rdrop_alpha is 2.0; without dropout both passes are equal and it must "
        "be 0. Set train.rdrop_alpha = 0 or model.dropout = 0.3."
    )
    parts = disagreement({"model": {"encoder": {"bidirectional": False}}})
    assert parts.startswith("settings: model: ")
    assert "backward" in parts


def test_a_model_can_be_trained_with_r_drop():
    check_settings(chosen(digits(), {"train": {"rdrop_alpha": 2.0}}).settings)


def test_positions_limit_the_length_only_if_they_are_added():
    settings = chosen(digits(), {"model": {"max_length": 1}}).settings
    check_settings(settings)
    assert isinstance(settings, Settings)

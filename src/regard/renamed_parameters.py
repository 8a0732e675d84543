"""Renamed parameters: tensors in files of earlier versions get today's names."""

import re
from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")

RENAMED_PARAMETERS = (
    (r"decoder\.first\.", "decoder.initial_state."),
    (r"(encoder\.blocks\.\d+)\.attention\.", r"\1.self_attention."),
    (r"(encoder\.blocks\.\d+)\.around_attention\.", r"\1.self_attention_residual."),
    (r"(decoder\.blocks\.\d+)\.words\.", r"\1.self_attention."),
    (r"(decoder\.blocks\.\d+)\.around_words\.", r"\1.self_attention_residual."),
    (r"(decoder\.blocks\.\d+)\.source\.", r"\1.cross_attention."),
    (r"(decoder\.blocks\.\d+)\.around_source\.", r"\1.cross_attention_residual."),
    (r"((en|de)coder\.blocks\.\d+)\.around_feed_forward\.", r"\1.feed_forward_residual."),
)
"""Start of a parameter's name in an earlier version, as a regular expression → its start today."""


def with_new_names(tensors: Mapping[str, T]) -> dict[str, T]:
    """Return tensors under today's names of their parameters."""
    return {_new_name(name): tensor for name, tensor in tensors.items()}


def _new_name(name: str) -> str:
    for old, new in RENAMED_PARAMETERS:
        if match := re.match(old, name):
            return match.expand(new) + name[match.end() :]
    return name

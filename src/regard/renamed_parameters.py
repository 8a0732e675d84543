"""Parameters that have a new name: files of earlier versions are read under the new one."""

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")

RENAMED_PREFIXES = {"decoder.first.": "decoder.initial_state."}
"""Prefix of a parameter's name in an earlier version → its prefix today."""


def with_new_names(tensors: Mapping[str, T]) -> dict[str, T]:
    """Return tensors under today's names of their parameters."""
    return {_new_name(name): tensor for name, tensor in tensors.items()}


def _new_name(name: str) -> str:
    for old, new in RENAMED_PREFIXES.items():
        if name.startswith(old):
            return new + name.removeprefix(old)
    return name

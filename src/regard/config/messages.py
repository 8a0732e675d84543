"""Sentences about settings, each in one place."""

from collections.abc import Iterable

from regard.choices import either


def unknown_setting(name: str, suggestions: Iterable[str] = (), *, noun: str = "setting") -> str:
    """Say that there is no such setting or section, and which ones may be meant."""
    names = list(dict.fromkeys(suggestions))
    return f"Unknown {noun} {name}." + (f" Did you mean {either(names)}?" if names else "")


def setting_of_another_kind(name: str, kind: str, kinds: Iterable[str]) -> str:
    """Say that a section of this kind has no such setting, but that other kinds have it."""
    return f"Unknown setting {name} for kind = {kind}. Only kind = {either(kinds)} has it."


def renamed_setting(old: str, new: str) -> str:
    """Say what a setting is called today."""
    return f"{old} is now {new}."


def renamed_value(setting: str, old: str, new: str) -> str:
    """Say what a value of a setting is called today."""
    return f'{setting} = "{old}" is now "{new}".'


def old_and_new_setting(old: str, new: str) -> str:
    """Say that a setting is given twice, under its old and its new name."""
    return f"{old} is now {new}, but both are given. Remove {old}."

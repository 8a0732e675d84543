"""What any setting must be by its type: choices among their names, counts and sizes at least 1."""

from collections.abc import Iterator
from difflib import get_close_matches
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from regard.errors import ConfigError


def refuse(section: str, problems: Iterator[str]) -> None:
    """Raise everything that is wrong at once, if anything is."""
    if found := list(problems):
        raise ConfigError(section, found)


def field_problems(config: Any) -> Iterator[str]:
    """Name each field whose value its type does not allow."""
    for name, hint in get_type_hints(type(config)).items():
        value = getattr(config, name)
        if choices := _choices(hint):
            for chosen in value if isinstance(value, tuple) else (value,):
                if chosen not in choices:
                    would = _nearest(chosen, choices)
                    yield f"{name} = {chosen}, but it must be {_either(choices)}; {would} would do"
        elif hint is int and not (type(value) is int and value >= 1):
            yield f"{name} = {value}, but it must be a whole number, at least 1"
        elif hint is bool and type(value) is not bool:
            yield f"{name} = {value}, but it must be true or false"
        elif hint is float and not (type(value) in (int, float) and 0 <= value < 1):
            yield f"{name} = {value}, but it must be at least 0 and below 1"
        elif _is_section(hint) and not isinstance(value, hint):
            yield f"{name} = {value}, but it must be a section of its own"


def _choices(hint: Any) -> tuple[str, ...]:
    """The names that a choice, or a tuple of choices, may take."""
    if get_origin(hint) is tuple:
        hint = get_args(hint)[0]
    return get_args(hint) if get_origin(hint) is Literal else ()


def _is_section(hint: Any) -> bool:
    return isinstance(hint, UnionType) or hasattr(hint, "__dataclass_fields__")


def _either(choices: tuple[str, ...]) -> str:
    return f"{', '.join(choices[:-1])} or {choices[-1]}"


def _nearest(value: Any, choices: tuple[str, ...]) -> str:
    return get_close_matches(str(value), choices, n=1, cutoff=0)[0]

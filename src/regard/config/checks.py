"""What any setting must be by its type: choices among their names, counts and sizes at least 1."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from regard.errors import ConfigError


def refuse(section: str, config: Any, rules: Iterable[str] = ()) -> None:
    """Raise everything that is wrong at once: rules between fields first, then each field."""
    hints = get_type_hints(type(config))
    fields = [problem for name in hints for problem in _problems(config, name, hints[name])]
    if found := [*rules, *fields]:
        raise ConfigError(section, found)


def sound(config: Any, *names: str) -> bool:
    """Whether fields are what their types allow, so that a rule between them makes sense."""
    hints = get_type_hints(type(config))
    return not any(list(_problems(config, name, hints[name])) for name in names)


def _problems(config: Any, name: str, hint: Any) -> Iterator[str]:
    value = getattr(config, name)
    if get_origin(hint) is tuple and not isinstance(value, tuple):
        yield f"{name} = {value}, but it must be a list of names"
    elif choices := _choices(hint):
        for chosen in value if isinstance(value, tuple) else (value,):
            if chosen not in choices:
                would = get_close_matches(str(chosen), choices, n=1, cutoff=0)[0]
                either = f"{', '.join(choices[:-1])} or {choices[-1]}"
                yield f"{name} = {chosen}, but it must be {either}; {would} would do"
    elif hint is int and not (type(value) is int and value >= 1):
        yield f"{name} = {value}, but it must be a whole number, at least 1"
    elif hint is bool and type(value) is not bool:
        yield f"{name} = {value}, but it must be true or false"
    elif hint is float and not (type(value) in (int, float) and 0 <= value < 1):
        yield f"{name} = {value}, but it must be at least 0 and below 1"
    elif _is_section(hint) and not isinstance(value, hint):
        yield f"{name} = {value}, but it must be a section of its own"


def _choices(hint: Any) -> tuple[str, ...]:
    """Return the names that a choice, or a tuple of choices, may take."""
    if get_origin(hint) is tuple:
        hint = get_args(hint)[0]
    return get_args(hint) if get_origin(hint) is Literal else ()


def _is_section(hint: Any) -> bool:
    return isinstance(hint, UnionType) or hasattr(hint, "__dataclass_fields__")

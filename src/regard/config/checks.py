"""Checks of settings by their types: names among the choices, numbers within their bounds.

A plain `int` must be at least 1 and a plain `float` at least 0 and below 1; other bounds are in the
type, such as `Annotated[int, at_least(0)]`. The settings themselves are declared elsewhere.
"""

import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from math import inf
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from regard import extensions
from regard.choices import either, printable, unknown_choice, wrong_value
from regard.config.messages import missing_class
from regard.errors import ConfigError


class Bound(NamedTuple):
    """A lower or upper bound of a number, as part of its type."""

    words: str
    holds: Callable[[Any, Any], bool]
    limit: float
    is_ceiling: bool = False
    """Whether it only keeps a hostile number out: no sentence names it until it is exceeded."""

    def __str__(self) -> str:
        return f"{self.words} {self.limit}"


class Names:
    """The kind of part that a setting names, as part of its type; regard's own names come first."""

    def __init__(self, own: tuple[str, ...], kind: extensions.Kind) -> None:
        self.own = own
        self.kind = kind
        extensions.reserve(kind, own)


at_least = partial(Bound, "at least", operator.ge)
above = partial(Bound, "above", operator.gt)
below = partial(Bound, "below", operator.lt)
at_most = partial(Bound, "at most", operator.le)
ceiling = partial(Bound, "at most", operator.le, is_ceiling=True)


def refuse(section: str, config: Any, rules: Iterable[str] = ()) -> None:
    """Raise all problems at once: first those between fields, then those of single fields."""
    types = types_of(type(config))
    fields = [problem for name in types for problem in _problems(config, name, types[name])]
    if problems := [*rules, *fields]:
        raise ConfigError(section, problems)


def are_valid(config: Any, *names: str) -> bool:
    """Whether fields fit their types, so a rule between them can be checked."""
    types = types_of(type(config))
    return not any(list(_problems(config, name, types[name])) for name in names)


def types_of(section: Any) -> dict[str, Any]:
    """Return the type of every setting of a section, with its bounds."""
    return _types_of(section)


def must_be(hint: Any) -> str:
    """Say what a setting of a type must be."""
    if get_origin(hint) is tuple:
        return "a list of names"
    if names := choices(hint):
        return either(names)
    if get_origin(hint) is Annotated:
        kind, *bounds = get_args(hint)
        number = "a whole number" if kind is int else "a number"
        return f"{number}, {' and '.join(str(x) for x in bounds if not x.is_ceiling)}"
    plain = {
        bool: "true or false",
        int: "a whole number, at least 1",
        float: "at least 0 and below 1",
        str: "text on one line",
    }
    return plain.get(hint, "a section")


def number_of(hint: Any) -> tuple[type[int] | type[float], tuple[Bound, ...]] | None:
    """Return the type of a setting that is a number, with its bounds; None for any other."""
    if get_origin(hint) is Annotated and not choices(hint):
        kind, *bounds = get_args(hint)
        return kind, tuple(bounds)
    return {int: (int, (at_least(1),)), float: (float, (at_least(0), below(1)))}.get(hint)


def named_part(hint: Any) -> Names | None:
    """Return which parts a setting may name; None for a setting that names none."""
    last = get_args(hint)[-1] if get_origin(hint) is Annotated else None
    return last if isinstance(last, Names) else None


def choices(hint: Any) -> tuple[str, ...]:
    """Return the names that a choice, or a tuple of choices, may take."""
    if part := named_part(hint):
        return (*part.own, *extensions.names(part.kind))
    if get_origin(hint) is tuple:
        hint = get_args(hint)[0]
    return get_args(hint) if get_origin(hint) is Literal else ()


@cache
def _types_of(section: Any) -> dict[str, Any]:
    return get_type_hints(section, include_extras=True)


def _problems(config: Any, name: str, hint: Any) -> Iterator[str]:
    value = getattr(config, name)
    if names := choices(hint):
        many = get_origin(hint) is tuple
        if many and not isinstance(value, tuple):
            yield wrong_value(name, printable(value), _exceeded(value, hint) or must_be(hint))
        else:
            unknown_names = [
                choice for choice in (value if many else (value,)) if choice not in names
            ]
            yield from (
                _unknown_name(name, choice, hint)
                for choice in unknown_names
                if not _is_class(choice, hint)
            )
    elif not _allowed(value, hint):
        yield wrong_value(name, printable(value), _exceeded(value, hint) or must_be(hint))


def _exceeded(value: Any, hint: Any) -> str | None:
    """Return the ceiling of a number that fits its type otherwise."""
    kind, bounds = number_of(hint) or (None, ())
    if type(value) not in (int, kind) or not all(
        bound.holds(value, bound.limit) for bound in bounds if not bound.is_ceiling
    ):
        return None
    return next((str(bound) for bound in bounds if not bound.holds(value, bound.limit)), None)


def _is_class(value: Any, hint: Any) -> bool:
    """Whether a value names a constraint as `module:Class`, and the module is imported."""
    return _module_of(value, hint) is not None and extensions.find("constraint", value) is not None


def _module_of(value: Any, hint: Any) -> str | None:
    part = named_part(hint)
    if part is None or part.kind != "constraint" or not isinstance(value, str) or ":" not in value:
        return None
    return value.partition(":")[0]


def _unknown_name(name: str, value: Any, hint: Any) -> str:
    module = _module_of(value, hint)
    if module is None:
        return unknown_choice(name, value, choices(hint))
    is_imported = module in sys.modules
    return missing_class(name, printable(value), printable(module), is_imported=is_imported)


def _allowed(value: Any, hint: Any) -> bool:
    """Whether a value that is not a name fits its type; true and false are not numbers."""
    if get_origin(hint) is Annotated:
        kind, *bounds = get_args(hint)
        number = type(value) in (int, kind) and abs(value) < inf
        return number and all(bound.holds(value, bound.limit) for bound in bounds)
    if hint is int:
        return type(value) is int and value >= 1
    if hint is float:
        return type(value) in (int, float) and 0 <= value < 1
    if hint is str:
        return isinstance(value, str) and value.isprintable()
    return isinstance(value, hint)

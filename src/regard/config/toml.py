"""Settings as TOML: read, override, check with all problems at once, write and compare.

A tree holds what TOML and JSON have in common: dicts, lists, text, numbers and Booleans. Files are
opened elsewhere; the settings are declared in `settings.py` and `model.py`.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, final, get_origin

from regard.choices import either, printable, unknown_choice, wrong_value
from regard.config import messages
from regard.config.checks import choices, must_be, types_of
from regard.config.documentation import Place, document, places, summary, toml_literal
from regard.config.renamed_settings import with_new_names
from regard.config.settings import KINDS, Settings
from regard.errors import ConfigError, DataError

Tree = dict[str, Any]


def read_settings(text: str, file: str) -> Tree:
    """Parse the text of a TOML file into a tree, or say on which line it is wrong."""
    try:
        tree = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        problem, _, where = str(error).partition(" (at ")
        place = re.match(r"line (\d+), column (\d+)", where)
        last = text.rstrip("\n").count("\n") + 1
        line, column = (int(place[1]), f"column {place[2]}") if place else (last, "the end")
        problem = messages.not_toml(column, problem[:1].lower() + problem[1:])
        raise DataError(file, line, problem) from None
    except ValueError:
        raise DataError(file, None, messages.HUGE_NUMBER) from None
    except RecursionError:
        raise DataError(file, None, messages.NESTED_TOO_DEEPLY) from None
    return with_new_names(tree)


def override(tree: Tree, assignments: Sequence[str]) -> Tree:
    """Return a tree with settings replaced by assignments such as `section.setting=value`.

    A value that is not TOML is text: `train.optimizer=adamw` needs no quotes.
    """
    problems = []
    for assignment in assignments:
        name, equals, value = (part.strip() for part in assignment.partition("="))
        parts = [part.strip() for part in name.split(".")]
        if not equals or not all(re.fullmatch(r"[A-Za-z0-9_-]+", part) for part in parts):
            problems.append(messages.not_an_assignment(printable(assignment)))
        elif outer := _no_section(tree, parts):
            instead = printable(f"{outer}={value}")
            problems.append(
                messages.not_a_section(printable(assignment), printable(outer), instead)
            )
        else:
            new_parts, new_value = _renamed(parts, _parsed(value))
            tree = _replaced(tree, new_parts, new_value)
    if problems:
        raise ConfigError("--set", problems)
    return tree


def settings_from(tree: Tree) -> Settings:
    """Build settings from a tree, or refuse it with all problems of all sections."""
    tree = with_new_names(tree, warn=False)
    reader = _TreeReader()
    settings: Settings | None = reader.section(Settings, tree, "")
    if settings is None or reader.problems:
        raise ConfigError("settings", reader.problems)
    return settings


def to_tree(settings: Settings) -> Tree:
    """Return all settings as a tree, in order."""
    return _tree(settings)


def merge_trees(tree: Tree, by: Mapping[str, Any]) -> Tree:
    """Merge settings section by section; another `kind` replaces its whole section."""
    merged = dict(tree)
    for key, value in by.items():
        old = merged.get(key)
        same_kind = isinstance(old, dict) and isinstance(value, dict)
        same_kind = same_kind and value.get("kind", old.get("kind")) == old.get("kind")  # type: ignore[union-attr]
        merged[key] = merge_trees(old, value) if same_kind else value  # type: ignore[arg-type]
    return merged


def to_toml(settings: Settings, comments: bool = True) -> str:
    """Write all settings as TOML, each below its description."""
    return "\n".join(_lines(settings, "", comments)).lstrip("\n") + "\n"


def differences(a: Settings, b: Settings) -> list[str]:
    """List the differences between settings, such as `train.seed: 1 → 2`."""
    before, after = dict(_leaves(to_tree(a))), dict(_leaves(to_tree(b)))
    return [
        f"{name}: {_or_none(before, name)} → {_or_none(after, name)}"
        for name in dict.fromkeys([*before, *after])
        if name not in before or name not in after or before[name] != after[name]
    ]


@final
class _TreeReader:
    """Reads a tree in one pass and collects all problems; what is wrong is read as None."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def section(self, hint: Any, tree: Any, path: str) -> Any:
        """Build a section from a tree."""
        if not isinstance(tree, dict):
            name = path or "the tree"
            self.problems.append(wrong_value(name, printable(tree), "a section"))
            return None
        if hint not in KINDS:
            return self.fill(Place(path, None, hint), tree)
        kinds, name = KINDS[hint], _dotted(path, "kind")
        if "kind" not in tree:
            self.problems.append(messages.missing_setting(name, either(kinds)))
        elif tree["kind"] not in list(kinds):
            self.problems.append(unknown_choice(name, tree["kind"], kinds))
        else:
            rest = {name: value for name, value in tree.items() if name != "kind"}
            return self.fill(Place(path, tree["kind"], kinds[tree["kind"]]), rest)
        return None

    def fill(self, place: Place, tree: Tree) -> Any:
        """Build a section of a known class; collect the problems of its own checks too."""
        hints, values = types_of(place.section), {}
        self.problems += [
            _unknown_setting_problem(place, name, tree[name]) for name in tree if name not in hints
        ]
        for field in fields(place.section):
            hint, name = hints[field.name], _dotted(place.path, field.name)
            if field.name in tree:
                values[field.name] = self.value(hint, tree[field.name], name)
            elif field.default is MISSING:
                values[field.name] = self.missing(hint, name)
        # skip problems that only follow from a value that is already reported
        missing = [name for name, value in values.items() if value is None]
        noted = [f"{name} {verb} None" for name in missing for verb in ("is", "=")]
        try:
            return place.section(**values)
        except ConfigError as error:
            self.problems += [
                f"{place.path}.{problem}"
                for problem in error.problems
                if not any(name in problem for name in noted)
            ]
        return None

    def value(self, hint: Any, value: Any, name: str) -> Any:
        """Return the value of one setting; its section checks the bounds."""
        if _is_section(hint):
            return self.section(hint, value, name)
        if get_origin(hint) is tuple and isinstance(value, list):
            value = tuple(value)
        # quote "2" in the message if 2 is meant
        quoted = isinstance(value, str) and hint is not str and not choices(hint)
        # the checks of a section print the value, which huge integers do not survive
        plain = all(_plain(part) for part in (value if isinstance(value, tuple) else (value,)))
        if plain and not quoted:
            return value
        text = printable(toml_literal(value) if quoted else value)
        must = "a number within 64 bits" if type(value) is int else must_be(hint)
        self.problems.append(wrong_value(name, text, must))
        return None

    def missing(self, hint: Any, name: str) -> Any:
        """Report a setting without a default; for a section, report what is missing inside."""
        if not _is_section(hint):
            self.problems.append(messages.missing_setting(name, must_be(hint)))
        elif self.section(hint, {}, name) is not None:
            self.problems.append(messages.missing_section(name))


def _unknown_setting_problem(place: Place, name: str, value: Any) -> str:
    """Say that a setting is unknown, and where one of the same or a similar name is."""
    noun = "section" if isinstance(value, dict) else "setting"
    full_name = _dotted(place.path, name)
    places_of_name = _places_by_name().get(name, [])
    if kinds := [str(other.kind) for other in places_of_name if other.path == place.path]:
        return messages.setting_of_another_kind(full_name, str(place.kind), kinds)
    suggestions = [_dotted(other.path, name) for other in places_of_name]
    if not suggestions:
        own_kind = ["kind"] if place.kind else []
        similar = get_close_matches(str(name), [*types_of(place.section), *own_kind], n=1)
        suggestions = [_dotted(place.path, other) for other in similar]
    return messages.unknown_setting(full_name, suggestions, noun=noun)


@cache
def _places_by_name() -> dict[str, list[Place]]:
    """Return, for the name of each setting, every section that has it."""
    places_by_name: dict[str, list[Place]] = {}
    for place in places():
        for name in [*types_of(place.section), *(["kind"] if place.kind else [])]:
            places_by_name.setdefault(name, []).append(place)
    return places_by_name


def _is_section(hint: Any) -> bool:
    return hint in KINDS or is_dataclass(hint)


def _plain(value: Any) -> bool:
    if type(value) is int:
        return value.bit_length() < 64
    return type(value) in (str, float, bool)


def _dotted(path: str, name: str) -> str:
    """Join a section and a name in it, quoted as in TOML if necessary."""
    name = name if re.fullmatch(r"[A-Za-z0-9_-]{1,80}", str(name)) else printable(repr(name))
    return f"{path}.{name}" if path else name


def _parsed(text: str) -> Any:
    """Parse a value as TOML; if it is not TOML, return it as text."""
    try:
        tree = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return tree["value"] if len(tree) == 1 else text


def _renamed(parts: Sequence[str], value: Any) -> tuple[Sequence[str], Any]:
    """Return an assignment under the new name of the setting."""
    tree = with_new_names(_replaced({}, parts, value))
    names = []
    for _ in parts:
        ((name, tree),) = tree.items()
        names.append(name)
    return names, tree


def _no_section(tree: Tree, parts: Sequence[str]) -> str | None:
    """Return the name that an assignment uses as a section, if it is not one."""
    for depth, part in enumerate(parts[:-1]):
        tree = tree.get(part, {})
        if not isinstance(tree, dict):
            return ".".join(parts[: depth + 1])
    return None


def _replaced(tree: Tree, parts: Sequence[str], value: Any) -> Tree:
    """Return a tree with one value replaced; the argument is not changed."""
    new = inner = dict(tree)
    for part in parts[:-1]:
        inner[part] = dict(inner.get(part, {}))
        inner = inner[part]
    inner[parts[-1]] = value
    return new


def _tree(section: Any) -> Tree:
    kinds = _kinds(section)
    tree: Tree = {"kind": kinds[type(section)]} if kinds else {}
    for field in fields(section):
        value = getattr(section, field.name)
        value = _tree(value) if is_dataclass(value) else value
        tree[field.name] = list(value) if isinstance(value, tuple) else value
    return tree


def _kinds(section: Any) -> dict[type[Any], str]:
    """Return the `kind` of each class that can take the place of a section, if it has kinds."""
    several = [kinds for kinds in KINDS.values() if type(section) in kinds.values()]
    return {section_class: kind for kinds in several for kind, section_class in kinds.items()}


def _lines(section: Any, path: str, comments: bool) -> Iterator[str]:
    if path:
        yield ""
        yield from _comment(summary(type(section)), comments)
        yield f"[{path}]"
    if kinds := _kinds(section):
        yield from _comment(f"Kind of this section. ({either(kinds.values())})", comments)
        yield f"kind = {toml_literal(kinds[type(section)])}"
    subsections = []
    hints = types_of(type(section))
    for entry in document(type(section)):
        value, names = getattr(section, entry.name), choices(hints[entry.name])
        if is_dataclass(value):
            subsections.append((_dotted(path, entry.name), value))
        else:
            text = f"{entry.text} ({either(names)})" if names else entry.text
            yield from _comment(text, comments)
            yield f"{entry.name} = {toml_literal(value)}"
    # TOML assigns what follows a section's header to it, so subsections come last
    for name, value in subsections:
        yield from _lines(value, name, comments)


def _comment(text: str, enabled: bool) -> Iterator[str]:
    if enabled:
        yield f"# {text}"


def _leaves(tree: Tree, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _leaves(value, _dotted(path, name))
        else:
            yield _dotted(path, name), value


def _or_none(leaves: Tree, name: str) -> str:
    return toml_literal(leaves[name]) if name in leaves else "none"

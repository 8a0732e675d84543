"""The error messages and notes of a translator, in one place for translation."""

from collections.abc import Iterable
from typing import Any, Literal

from regard.choices import either


def type_name(thing: Any) -> str:
    """Return the name of a type, as messages show it."""
    return type(thing).__name__


# models


def device_not_available(name: str, available: Iterable[str]) -> str:
    """List the devices of this machine."""
    return f"device is {name}; it must be one of this machine: {either(available)}."


def different_vocabularies(number: int) -> str:
    """Say which models can be an ensemble."""
    return (
        f"Model {number} has other vocabularies than model 1; the models of an ensemble must share "
        "them. Use models trained on the same pairs."
    )


def ensemble_not_saved() -> str:
    """Say how to save an ensemble."""
    return "An ensemble has no file of its own. Save each model."


# lines and pairs


def not_iterable(things: Any, name: Literal["lines", "pairs"]) -> str:
    """Say what lines or pairs must be."""
    expected = {"lines": "text or a list of lines", "pairs": "a list like [(source, target)]"}
    return f"{name} is of type {type_name(things)}; it must be {expected[name]}."


def not_a_pair(name: str, pair: Any, num_parts: int | None) -> str:
    """Say what a pair must be."""
    actual = f"is of type {type_name(pair)}" if num_parts is None else f"has {num_parts} parts"
    return f"{name} {actual}; it must be (source, target)."


def target_not_text(name: str, target: Any) -> str:
    """Say what the target of a pair must be."""
    return f"The target of {name} is of type {type_name(target)}; it must be text or a list."


def not_text(name: str, text: Any) -> str:
    """Say that a line must be text."""
    return f"{name} is of type {type_name(text)}; it must be text."


def blank_source(name: str) -> str:
    """Say that a blank source cannot be scored."""
    return f"{name} is blank; it must contain text. Remove the pair."


def blank_influence() -> str:
    """Say that a blank source has no influence."""
    return "source is blank; it must contain text to have an influence."


def target_too_long(length: int, limit: int) -> str:
    """Say how long a given target may be."""
    return f"A target has {length:,} tokens; the model has positions for {limit:,}. Shorten it."


# options


def unknown_setting(name: str, known: Iterable[str]) -> str:
    """List the settings of a search."""
    return f"Unknown setting {name}. The settings are {', '.join(known)}."


def needs_sampling(name: str, current: Any) -> str:
    """Say that a setting restricts samples, but there are none."""
    return f"{name} is {current}, but temperature is 0, which samples nothing. Use temperature = 1."


def wrong_candidates(candidates: Any) -> str:
    """Say what `candidates` must be."""
    return f"candidates is {candidates!r}; it must be a whole number, at least 0."


def unknown_token(name: str, token: str) -> str:
    """Say that the model can never generate a token."""
    return f"{name} is {token!r}, which is no token of the targets. Use one that is."


def not_a_constraint(name: str) -> str:
    """Say what a constraint must be."""
    return f"constraint is {name}; it must be a class that extends regard.search.Constraint."


def pin_not_mapping(pins: Any) -> str:
    """Say what `pin` must be."""
    return f"pin is of type {type_name(pins)}; it must map steps to source tokens, like {{0: 2}}."


def invalid_pin(step: Any, position: Any, length: int) -> str:
    """Say which steps and source tokens a pin may have."""
    return (
        f"pin is {{{step!r}: {position!r}}}; it must map a step, from 0, to a source token from 0 "
        f"to {length - 1}."
    )


def pin_without_attention() -> str:
    """Say that only attention can be pinned."""
    return "pin needs a model with attention, which this one does not have. Remove pin."


# pictures


def nothing_to_draw(*, blank: bool) -> str:
    """Say why a translation has no picture."""
    if blank:
        return "The source is blank: there is no attention to draw."
    return (
        "The model has no attention to draw. Translator.influence returns what moved each token, "
        "by gradient."
    )


# notes of a translation


def source_truncated(length: int, limit: int) -> str:
    """Note that a source was truncated."""
    return f"The source has {length:,} tokens; only the first {limit:,} were read."


def all_tokens_unknown() -> str:
    """Note that the model knows no token of a source."""
    return "All tokens of the source are unknown to the model; the output is a guess."


def output_truncated(length: int) -> str:
    """Note that an output was truncated."""
    return f"The output was stopped at the maximum length, {length:,} tokens."

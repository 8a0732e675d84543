"""The error messages of a search, in one place for translation."""

from collections.abc import Sequence


def source_too_long(length: int, limit: int) -> str:
    """Say how many tokens of a source the model has positions for."""
    return f"A source has {length:,} tokens; the model has positions for {limit:,}. Shorten it."


def out_of_memory(length: int, beam_size: int) -> str:
    """Say how to make a source fit into memory."""
    remedy = "Use beam_size = 1." if beam_size > 1 else "Shorten it."
    return (
        f"A source has {length:,} tokens and does not fit into memory with "
        f"beam_size = {beam_size}. {remedy}"
    )


def all_tokens_banned(count: int) -> str:
    """Say that no token is left."""
    return f"banned has all {count:,} tokens of the target; it must leave at least one."


def no_output(rules: Sequence[str]) -> str:
    """Say which rules left no output to the search."""
    if len(rules) == 1:
        return f"No output satisfies {rules[0]}. Use a wider beam or another constraint."
    listed = f"{', '.join(rules[:-1])} and {rules[-1]}"
    return f"No output satisfies {listed} together. Leave one of them out, or use a wider beam."


def scores_not_finite() -> str:
    """Say that the model computes NaN."""
    return "The scores of the model are not numbers. Use a model with finite weights."


def invalid_pin(step: int, position: int, length: int) -> str:
    """Say what a pin must be."""
    return (
        f"pins is {{{step}: {position}}}; it must map a step, from 0, to a position below {length}."
    )

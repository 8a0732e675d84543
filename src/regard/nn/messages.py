"""Sentences about layers: refusals, and reasons why a faster implementation does not run."""

WINDOW_OR_RELATIVE = "it has a window or relative positions"
NOT_PLAIN_ATTENTION = "it has a window, relative positions, coverage or dropout"
HEADS = "it has heads"
COPIES = "tokens may be copied"
ALL_LOGITS = "the logits of all tokens exist at once"
RELATIVE_NEED_SCALED_DOT = "Relative positions need scaled dot scores. Use ScaledDotScore."
COVERAGE_NOT_GIVEN = (
    "The score uses coverage, but there are no earlier weights. "
    "Pass past=PastAttention(position, coverage), with zeros at the first step."
)
NO_POINTER_QUERY = "The readout has a pointer-generator. Pass a PointerQuery."
UNEQUAL_RECORDS = "Records can be joined only if all or none of them hold a field."


def score_is(name: str) -> str:
    """Say which score rules out an implementation."""
    return f"its score is {name}"


def model_size_not_divisible(model_size: int, num_heads: int) -> str:
    """Say that heads do not divide the width of a model."""
    nearest = num_heads * max(1, model_size // num_heads)
    return (
        f"model_size is {model_size}; it must be a multiple of num_heads = {num_heads}. "
        f"Set model_size = {nearest}."
    )


def more_queries_than_keys(queries: int, keys: int) -> str:
    """Say that positions inside attention do not fit these queries and keys."""
    return (
        f"There are {queries} queries but only {keys} keys. Positions inside attention take the "
        "queries to be the last of the keys. Add positions to the embeddings instead."
    )


def odd_rotary_size(size: int) -> str:
    """Say that rotary positions need an even size."""
    return f"Rotary positions rotate pairs, but size is {size}. Set size = {size + 1}."


def source_beyond_location_score(length: int, max_length: int) -> str:
    """Say that a location score has no rows for so long a source."""
    return (
        f"The source has {length} positions, but the location score has {max_length} rows. "
        f"Set max_length = {length}."
    )


def sequence_beyond_positions(length: int, max_length: int) -> str:
    """Say that a model has no positions for so long a sequence."""
    return (
        f"The sequence has {length} tokens, but the model has {max_length} positions. "
        f"Set max_length = {length}."
    )

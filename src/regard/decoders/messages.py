"""Sentences about decoders: refusals, and reasons why they unroll step by step."""

NO_ATTENTION_TO_FORCE = (
    "Weights are forced, but this decoder has no attention. "
    "Use a decoder with attention: bahdanau, luong, convolutional or transformer."
)
COVERAGE = "its score uses coverage"
LOCAL_WINDOW = "it has a local window"
DROPPED_WEIGHTS = "its weights are dropped in training"
GATED_CONTEXT = "its reset gate also gates the context"
NOT_ATTENTIONAL = "it feeds a state that is not attentional"
ONE_CALL = "one call for all positions"
EVERY_DECODER = "every decoder can"


def layers(count: int) -> str:
    """Say that a decoder has several layers."""
    return f"it has {count} layers"


def cell_is(name: str) -> str:
    """Say which cell a decoder has."""
    return f"its cell is {name}"


def score_is(name: str) -> str:
    """Say which score a decoder has."""
    return f"its score is {name}"

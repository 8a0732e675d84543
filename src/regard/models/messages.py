"""Sentences about models: settings that do not fit together, and wrong inputs."""

from collections.abc import Iterable, Sequence
from typing import Any

from regard.choices import nearest

SUMMARY_FOR_INITIAL_STATE = (
    "decoder.initial_state is tanh, which maps a summary, but summary is none. Set summary = last."
)
SUMMARY_FOR_CONTEXT = "The decoder's context is a summary, but summary is none. Set summary = last."
NO_BACKWARD_DIRECTION = (
    "summary is backward, but the encoder has no backward direction. Set summary = last."
)
NO_TOKENS = "There are no tokens to feed, but the decoder needs at least one. Begin with BOS."
HOLES_IN_MASK = (
    "source_mask hides a position before a visible one, but padding must be on the right of each "
    "sequence. Use source_mask(lengths, S) of regard.nn.masks."
)


def vocabulary_size(side: str, size: object, special_tokens: int) -> str:
    """Say that a vocabulary has only special tokens, or no valid size."""
    return (
        f"{side}_vocabulary is {size!r}; it must be a whole number above {special_tokens}, because "
        "the ids of PAD, UNKNOWN, BOS and EOS come first."
    )


def one_hot_size(side: str, size: int, vocabulary: int) -> str:
    """Say that one-hot vectors are as wide as the vocabulary."""
    return (
        f"{side}.one_hot is true, which makes vectors as wide as the vocabulary, but {side}.size "
        f"is {size} and the vocabulary has {vocabulary} tokens. Set {side}.size = {vocabulary}."
    )


def tied_vocabularies(source: int, target: int) -> str:
    """Say that tied embeddings need one vocabulary."""
    return (
        f"tied_embeddings is all, which needs one vocabulary, but the source's has {source} tokens "
        f"and the target's {target}. Set tied_embeddings = output."
    )


def unknown_preset(name: str, presets: Iterable[str]) -> str:
    """Say that there is no such preset, and which one may be meant."""
    names = list(presets)
    return (
        f"preset is {name}; it must be one of {', '.join(names)}. "
        f"Did you mean {nearest(name, names)}?"
    )


def transformer_width(part: str, model_size: int, side: str, size: int) -> str:
    """Say that a Transformer and its embedding differ in width."""
    return (
        f"{part}.model_size is {model_size}, but {side}.size is {size}; in a Transformer they must "
        f"be equal. Set {side}.size = {model_size}."
    )


def unused_summary(summary: str) -> str:
    """Say that the decoder does not use the summary."""
    return f"summary is {summary}, but the decoder does not use a summary. Set summary = none."


def nothing_of_the_source(summary: str) -> str:
    """Say that a decoder without attention gets nothing of the source."""
    return (
        "decoder.initial_state is zero, so the decoder gets nothing of the source. "
        f"{_map_the_summary(summary)}"
    )


def no_states_to_copy(summary: str) -> str:
    """Say that the encoder has no states to copy."""
    return (
        "decoder.initial_state is copy, but the encoder has no recurrent states. "
        f"{_map_the_summary(summary)}"
    )


def two_states_to_copy(summary: str) -> str:
    """Say that the encoder has two states per layer."""
    return (
        "decoder.initial_state is copy, which takes one state per layer, but encoder.bidirectional "
        f"is true, which makes two. {_map_the_summary(summary)}"
    )


def other_cells_to_copy(encoder_cell: str, decoder_cell: str, summary: str) -> str:
    """Say that the states of these cells hold different things."""
    return (
        f"decoder.initial_state is copy, but encoder.cell is {encoder_cell} and decoder.cell is "
        f"{decoder_cell}, whose states differ in kind. {_map_the_summary(summary)}"
    )


def other_sizes_to_copy(name: str, encoder_size: int, decoder_size: int, summary: str) -> str:
    """Say that encoder and decoder differ in a size."""
    return (
        f"decoder.initial_state is copy, but encoder.{name} is {encoder_size} and decoder.{name} "
        f"is {decoder_size}; they must be equal. {_map_the_summary(summary)}"
    )


def _map_the_summary(summary: str) -> str:
    """Advise an initial state that is mapped from the summary."""
    and_summary = " and summary = last" if summary == "none" else ""
    return f"Set decoder.initial_state = tanh{and_summary}."


def score_widths(score: str, query_size: int, key_size: int) -> str:
    """Say that a score needs queries and keys of one width."""
    return (
        f"decoder.attention.score is {score}, which needs queries and keys of one width, but "
        f"decoder.hidden_size is {query_size} and the encoder's output is {key_size} wide. "
        "Set decoder.attention.score = bilinear."
    )


def no_such_readout_input(name: str) -> str:
    """Say that a decoder lacks an input of the readout."""
    return (
        f"readout.inputs contains {name}, but this decoder has none. "
        "Set readout.inputs = new_state."
    )


def tied_to_one_hot(tied_embeddings: str, side: str) -> str:
    """Say that a one-hot embedding has no matrix to share."""
    return (
        f"tied_embeddings is {tied_embeddings}, which shares the matrix of the {side} embedding, "
        f"but {side}.one_hot is true and it has none. Set tied_embeddings = none."
    )


def tied_readout_inputs(tied_embeddings: str, inputs: Sequence[str], size: int) -> str:
    """Say that a tied linear readout can have no inputs but the new state."""
    return (
        f"tied_embeddings is {tied_embeddings}, which makes the readout an embedding's matrix, but "
        f"readout.inputs is {list(inputs)}. Set readout.kind = tanh and readout.size = {size}."
    )


def tied_readout_width(tied_embeddings: str, size: int, width: int) -> str:
    """Say that a tied readout must be as wide as the embedding."""
    return (
        f"tied_embeddings is {tied_embeddings}, which needs a readout as wide as target.size = "
        f"{size}, but it is {width} wide. Set target.size = {width}."
    )


def tied_widths(source: int, target: int) -> str:
    """Say that tied embeddings need one width."""
    return (
        f"tied_embeddings is all, which needs embeddings of one width, but source.size is {source} "
        f"and target.size is {target}. Set tied_embeddings = output."
    )


def shape_of_forced_weights(
    shape: Sequence[int], rows: Sequence[int], attention_shape: tuple[int, int]
) -> str:
    """Say which shape forced weights must have."""
    layers, heads = attention_shape
    expected: list[Any] = [*rows, layers, heads, "S"]
    return (
        f"forced_weights has the shape {list(shape)}; it must be "
        f"[{', '.join(map(str, expected))}] for {layers} layers and {heads} heads."
    )

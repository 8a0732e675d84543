"""Which parts can be combined.

Each config checks its own values; this module checks what two parts must agree on. The rules are
tested on the table in `tests/combinations_table.py`.
"""

from collections.abc import Iterator

from regard.config.model import (
    BahdanauDecoderConfig,
    ChoDecoderConfig,
    ConvolutionalDecoderConfig,
    DecoderConfig,
    LuongDecoderConfig,
    ModelConfig,
    PlainDecoderConfig,
    RecurrentDecoderConfig,
    RecurrentEncoderConfig,
    TransformerConfig,
    TransformerDecoderConfig,
    TransformerEncoderConfig,
)
from regard.models import messages


def key_size(config: ModelConfig) -> int:
    """Return the width of the encoder's output."""
    encoder = config.encoder
    if isinstance(encoder, RecurrentEncoderConfig):
        return encoder.hidden_size * (2 if encoder.bidirectional else 1)
    if isinstance(encoder, TransformerEncoderConfig):
        return encoder.model_size
    return config.source.size


def state_size(config: ModelConfig) -> int:
    """Return the width of a decoder's new state."""
    decoder = config.decoder
    if isinstance(decoder, ConvolutionalDecoderConfig):
        return config.target.size
    if isinstance(decoder, TransformerDecoderConfig):
        return decoder.model_size
    # a decoder of an extension may have another name for it; then its embedding must be as wide
    return getattr(decoder, "hidden_size", config.target.size)


def combination_problems(config: ModelConfig) -> Iterator[str]:
    """Yield a sentence for each pair of parts that does not fit."""
    yield from _width_problems(config)
    yield from _summary_problems(config)
    yield from _initial_state_problems(config)
    yield from _score_problems(config)
    yield from _readout_problems(config)


def _width_problems(config: ModelConfig) -> Iterator[str]:
    sides = (("encoder", config.encoder, "source"), ("decoder", config.decoder, "target"))
    for name, part, side in sides:
        size = getattr(config, side).size
        if isinstance(part, TransformerConfig) and size != part.model_size:
            yield messages.transformer_width(name, part.model_size, side, size)


def _feeds_context(decoder: DecoderConfig) -> bool:
    """Return whether a fixed context is fed with every token."""
    if isinstance(decoder, PlainDecoderConfig):
        return decoder.context_every_step
    return isinstance(decoder, ChoDecoderConfig)


def _summary_problems(config: ModelConfig) -> Iterator[str]:
    encoder, decoder = config.encoder, config.decoder
    initial_state = getattr(decoder, "initial_state", None)
    plain = isinstance(decoder, PlainDecoderConfig)
    fixed = _feeds_context(decoder) or (plain and "context" in config.readout.inputs)
    if config.summary == "none":
        if initial_state == "tanh":
            yield messages.SUMMARY_FOR_INITIAL_STATE
        if fixed:
            yield messages.SUMMARY_FOR_CONTEXT
    elif initial_state != "tanh" and not fixed:
        yield messages.unused_summary(config.summary)
    if config.summary == "backward" and not (
        isinstance(encoder, RecurrentEncoderConfig) and encoder.bidirectional
    ):
        yield messages.NO_BACKWARD_DIRECTION


def _initial_state_problems(config: ModelConfig) -> Iterator[str]:
    encoder, decoder = config.encoder, config.decoder
    plain = isinstance(decoder, PlainDecoderConfig)
    if plain and not _feeds_context(decoder) and getattr(decoder, "initial_state", None) == "zero":
        yield messages.nothing_of_the_source(config.summary)
    if not isinstance(decoder, RecurrentDecoderConfig | ChoDecoderConfig):
        return
    if decoder.initial_state != "copy":
        return
    if not isinstance(encoder, RecurrentEncoderConfig):
        yield messages.no_states_to_copy(config.summary)
        return
    if encoder.bidirectional:
        yield messages.two_states_to_copy(config.summary)
    cell = getattr(decoder, "cell", "gru_before")
    if (encoder.cell == "lstm") != (cell == "lstm"):
        yield messages.other_cells_to_copy(encoder.cell, cell, config.summary)
    for name in ("hidden_size", "num_layers"):
        encoder_size, decoder_size = getattr(encoder, name), getattr(decoder, name, 1)
        if encoder_size != decoder_size:
            yield messages.other_sizes_to_copy(name, encoder_size, decoder_size, config.summary)


def _score_problems(config: ModelConfig) -> Iterator[str]:
    decoder = config.decoder
    if not isinstance(decoder, BahdanauDecoderConfig | LuongDecoderConfig):
        return
    score = decoder.attention.score
    same_width = ("dot", "scaled_dot", "gaussian", "gaussian_learned")
    if score in same_width and decoder.hidden_size != key_size(config):
        yield messages.score_widths(score, decoder.hidden_size, key_size(config))


def _readout_problems(config: ModelConfig) -> Iterator[str]:
    readout = config.readout
    if isinstance(config.decoder, ConvolutionalDecoderConfig | TransformerDecoderConfig):
        for name in ("old_state", "context"):
            if name in readout.inputs:
                yield messages.no_such_readout_input(name)
    tied, target_size = config.tied_embeddings, config.target.size
    if tied == "none":
        return
    for name, side in (("source", config.source), ("target", config.target)):
        if side.one_hot and (name == "target" or tied == "all"):
            yield messages.tied_to_one_hot(tied, name)
    width = readout.size if readout.kind != "linear" else state_size(config)
    if readout.kind == "linear" and readout.inputs != ("new_state",):
        yield messages.tied_readout_inputs(tied, readout.inputs, target_size)
    elif width != target_size:
        yield messages.tied_readout_width(tied, target_size, width)
    if tied == "all" and config.source.size != target_size:
        yield messages.tied_widths(config.source.size, target_size)

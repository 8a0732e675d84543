"""Which parts go together: the rules, each with its sentence.

A part that is wrong by itself is refused by its own config; here, what two parts must agree on.
The table that these rules are tested on is `tests/combinations_table.py`.
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


def key_size(config: ModelConfig) -> int:
    """Width of what the encoder shows."""
    encoder = config.encoder
    if isinstance(encoder, RecurrentEncoderConfig):
        return encoder.hidden_size * (2 if encoder.bidirectional else 1)
    if isinstance(encoder, TransformerEncoderConfig):
        return encoder.model_size
    return config.source.size


def state_size(config: ModelConfig) -> int:
    """Width of what a decoder's step shows as its new state."""
    decoder = config.decoder
    if isinstance(decoder, ConvolutionalDecoderConfig):
        return config.target.size
    if isinstance(decoder, TransformerDecoderConfig):
        return decoder.model_size
    # a decoder of one's own may call it something else; then its target embedding must be as wide
    return getattr(decoder, "hidden_size", config.target.size)


def problems(config: ModelConfig) -> Iterator[str]:
    """Say of each pair of parts that does not fit what would do."""
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
            yield (
                f"{name}.model_size = {part.model_size} is not {side}.size = {size}, but a "
                f"Transformer adds to its input; {side}.size = {part.model_size} would do"
            )


def _every_step(decoder: DecoderConfig) -> bool:
    """Whether a fixed context is fed with every word."""
    if isinstance(decoder, PlainDecoderConfig):
        return decoder.context_every_step
    return isinstance(decoder, ChoDecoderConfig)


def _summary_problems(config: ModelConfig) -> Iterator[str]:
    encoder, decoder = config.encoder, config.decoder
    initial_state = getattr(decoder, "initial_state", None)
    plain = isinstance(decoder, PlainDecoderConfig)
    fixed = _every_step(decoder) or (plain and "context" in config.readout.inputs)
    if config.summary == "none":
        if initial_state == "tanh":
            yield (
                "decoder.initial_state = tanh maps a summary, but summary = none; "
                "summary = last would do"
            )
        if fixed:
            yield "the decoder's context is a summary, but summary = none; summary = last would do"
    elif initial_state != "tanh" and not fixed:
        yield (
            f"summary = {config.summary}, but nothing in the decoder asks for one; "
            "summary = none would do"
        )
    if config.summary == "backward" and not (
        isinstance(encoder, RecurrentEncoderConfig) and encoder.bidirectional
    ):
        yield (
            "summary = backward is the backward direction's state, but the encoder has none; "
            "summary = last would do"
        )


def _mapped(config: ModelConfig) -> str:
    """Advise an initial state that is mapped from the summary."""
    summary = " and summary = last" if config.summary == "none" else ""
    return f"decoder.initial_state = tanh{summary} would do"


def _initial_state_problems(config: ModelConfig) -> Iterator[str]:
    encoder, decoder = config.encoder, config.decoder
    plain = isinstance(decoder, PlainDecoderConfig)
    if plain and not _every_step(decoder) and getattr(decoder, "initial_state", None) == "zero":
        yield (
            "decoder.initial_state = zero tells the decoder nothing of the source; "
            f"{_mapped(config)}"
        )
    if not isinstance(decoder, RecurrentDecoderConfig | ChoDecoderConfig):
        return
    if decoder.initial_state != "copy":
        return
    if not isinstance(encoder, RecurrentEncoderConfig):
        yield (
            "decoder.initial_state = copy, but the encoder has no states to copy; "
            f"{_mapped(config)}"
        )
        return
    if encoder.bidirectional:
        yield (
            "decoder.initial_state = copy takes one state a layer, but encoder.bidirectional = "
            f"true makes two; {_mapped(config)}"
        )
    cell = getattr(decoder, "cell", "gru_before")
    if (encoder.cell == "lstm") != (cell == "lstm"):
        yield (
            f"decoder.initial_state = copy, but encoder.cell = {encoder.cell} and decoder.cell = "
            f"{cell} do not carry the same things; {_mapped(config)}"
        )
    for name in ("hidden_size", "num_layers"):
        theirs, ours = getattr(encoder, name), getattr(decoder, name, 1)
        if theirs != ours:
            yield (
                f"decoder.initial_state = copy, but encoder.{name} = {theirs} and decoder.{name} "
                f"= {ours}; "
                f"{_mapped(config)}"
            )


def _score_problems(config: ModelConfig) -> Iterator[str]:
    decoder = config.decoder
    if not isinstance(decoder, BahdanauDecoderConfig | LuongDecoderConfig):
        return
    score = decoder.attention.score
    same_width = ("dot", "scaled_dot", "gaussian", "gaussian_learned")
    if score in same_width and decoder.hidden_size != key_size(config):
        yield (
            f"decoder.attention.score = {score} needs queries and keys of one width, but "
            f"decoder.hidden_size = {decoder.hidden_size} and the encoder shows "
            f"{key_size(config)}; decoder.attention.score = bilinear would do"
        )


def _readout_problems(config: ModelConfig) -> Iterator[str]:
    readout = config.readout
    if isinstance(config.decoder, ConvolutionalDecoderConfig | TransformerDecoderConfig):
        for name in ("old_state", "context"):
            if name in readout.inputs:
                yield (
                    f"readout.inputs = {name}, but this decoder has none to show; "
                    "readout.inputs = new_state would do"
                )
    if config.tied_embeddings == "none":
        return
    for name, side in (("source", config.source), ("target", config.target)):
        if side.one_hot and (name == "target" or config.tied_embeddings == "all"):
            yield (
                f"tied_embeddings = {config.tied_embeddings} shares the {name} embedding's "
                f"matrix, but {name}.one_hot = true has none; tied_embeddings = none would do"
            )
    width = readout.size if readout.kind != "linear" else state_size(config)
    if readout.kind == "linear" and readout.inputs != ("new_state",):
        yield (
            f"tied_embeddings = {config.tied_embeddings} makes the readout an embedding's matrix, "
            "but it has "
            f"inputs = {list(readout.inputs)}; readout.kind = tanh and readout.size = "
            f"{config.target.size} would do"
        )
    elif width != config.target.size:
        yield (
            f"tied_embeddings = {config.tied_embeddings} needs a readout as wide as target.size = "
            f"{config.target.size}, but it is {width} wide; target.size = {width} would do"
        )
    if config.tied_embeddings == "all" and config.source.size != config.target.size:
        yield (
            f"tied_embeddings = all needs one width, but source.size = {config.source.size} and "
            f"target.size = {config.target.size}; tied_embeddings = output would do"
        )

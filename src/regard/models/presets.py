"""The classic models by name. A preset is its paper's wiring; the caller gives the sizes.

The parts have the equations and their sources; a preset says which parts it joins, and how.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from regard.config.model import (
    AttentionConfig,
    BahdanauDecoderConfig,
    Cell,
    ChoDecoderConfig,
    ConvolutionalDecoderConfig,
    ConvolutionalEncoderConfig,
    DecoderConfig,
    EmbeddingConfig,
    LuongDecoderConfig,
    ModelConfig,
    PlainDecoderConfig,
    ReadoutConfig,
    RecurrentEncoderConfig,
    TiedEmbeddings,
    TransformerDecoderConfig,
    TransformerEncoderConfig,
    WindowName,
)
from regard.config.names import ScoreSetting
from regard.errors import ConfigError
from regard.models import messages


def cho2014(
    *,
    embedding_size: int,
    hidden_size: int,
    readout_size: int,
    cell: Cell = "gru_before",
    num_layers: int = 1,
    bidirectional: bool = False,
    dropout: float = 0.0,
) -> ModelConfig:
    """RNN encoder–decoder: one vector for the source, an input of every step and of the readout.

    (Cho et al. 2014, "Learning Phrase Representations using RNN Encoder–Decoder".) The paper's
    decoder is a GRU of its own; with another cell or depth the context is joined to the embedding.
    """
    layer_settings: dict[str, Any] = {"hidden_size": hidden_size}
    decoder: DecoderConfig = ChoDecoderConfig(**layer_settings)
    layer_settings |= {"cell": cell, "num_layers": num_layers, "dropout": dropout}
    if (cell, num_layers) != ("gru_before", 1):
        decoder = PlainDecoderConfig(context_every_step=True, **layer_settings)
    return ModelConfig(
        source=EmbeddingConfig(size=embedding_size, dropout=dropout),
        target=EmbeddingConfig(size=embedding_size, dropout=dropout, zero_bos=True),
        encoder=RecurrentEncoderConfig(bidirectional=bidirectional, **layer_settings),
        summary="tanh",
        decoder=decoder,
        readout=ReadoutConfig(
            kind="maxout",
            inputs=("new_state", "previous", "context"),
            size=readout_size,
            dropout=dropout,
        ),
    )


def sutskever2014(
    *,
    embedding_size: int,
    hidden_size: int,
    num_layers: int,
    cell: Cell = "lstm",
    bidirectional: bool = False,
    dropout: float = 0.0,
) -> ModelConfig:
    """Deep LSTMs, the source reversed, its last states the decoder's first; no biases.

    (Sutskever et al. 2014, "Sequence to Sequence Learning with Neural Networks".) Two directions
    have no single state to copy, so their summary is mapped.
    """
    layer_settings: dict[str, Any] = {
        "cell": cell,
        "hidden_size": hidden_size,
        "num_layers": num_layers,
        "bias": False,
        "dropout": dropout,
    }
    return ModelConfig(
        source=EmbeddingConfig(size=embedding_size, dropout=dropout),
        target=EmbeddingConfig(size=embedding_size, dropout=dropout),
        encoder=RecurrentEncoderConfig(
            bidirectional=bidirectional, reversed_source=not bidirectional, **layer_settings
        ),
        summary="last" if bidirectional else "none",
        decoder=PlainDecoderConfig(
            initial_state="tanh" if bidirectional else "copy", **layer_settings
        ),
        readout=ReadoutConfig(bias=False, dropout=dropout),
    )


def bahdanau2015(
    *,
    embedding_size: int,
    hidden_size: int,
    align_size: int,
    readout_size: int,
    cell: Cell = "gru_before",
    num_layers: int = 1,
    bidirectional: bool = True,
    score: ScoreSetting = "additive",
    max_length: int = 128,
    dropout: float = 0.0,
) -> ModelConfig:
    """RNNsearch: the query is the old state, which also enters the readout; the context is fed.

    (Bahdanau et al. 2015, "Neural Machine Translation by Jointly Learning to Align and Translate".)
    """
    layer_settings: dict[str, Any] = {"cell": cell, "hidden_size": hidden_size, "dropout": dropout}
    return ModelConfig(
        source=EmbeddingConfig(size=embedding_size, dropout=dropout),
        target=EmbeddingConfig(size=embedding_size, dropout=dropout),
        encoder=RecurrentEncoderConfig(
            bidirectional=bidirectional, num_layers=num_layers, **layer_settings
        ),
        summary="backward" if bidirectional else "last",
        decoder=BahdanauDecoderConfig(
            attention=AttentionConfig(score=score, align_size=align_size, max_length=max_length),
            num_layers=num_layers,
            **layer_settings,
        ),
        readout=ReadoutConfig(
            kind="maxout",
            inputs=("old_state", "previous", "context"),
            size=readout_size,
            dropout=dropout,
        ),
    )


def luong2015(
    *,
    embedding_size: int,
    hidden_size: int,
    num_layers: int,
    cell: Cell = "lstm",
    bidirectional: bool = False,
    score: ScoreSetting = "bilinear",
    window: WindowName = "global",
    half_width: int = 10,
    max_length: int = 128,
    input_feeding: bool = True,
    dropout: float = 0.0,
) -> ModelConfig:
    """Stacked LSTMs; the query is the new state; h̃ = tanh(W_c[c; h]) is read out and fed back.

    (Luong et al. 2015, "Effective Approaches to Attention-based Neural Machine Translation".) Two
    directions have no single state to copy, so their summary is mapped.
    """
    layer_settings: dict[str, Any] = {
        "cell": cell,
        "hidden_size": hidden_size,
        "num_layers": num_layers,
        "dropout": dropout,
    }
    attention = AttentionConfig(
        score=score,
        align_size=hidden_size,
        max_length=max_length,
        window=window,
        half_width=half_width,
    )
    return ModelConfig(
        source=EmbeddingConfig(size=embedding_size, dropout=dropout),
        target=EmbeddingConfig(size=embedding_size, dropout=dropout),
        encoder=RecurrentEncoderConfig(bidirectional=bidirectional, **layer_settings),
        summary="last" if bidirectional else "none",
        decoder=LuongDecoderConfig(
            initial_state="tanh" if bidirectional else "copy",
            attention=attention,
            input_feeding=input_feeding,
            **layer_settings,
        ),
        readout=ReadoutConfig(bias=False, dropout=dropout),
    )


def gehring2017(
    *,
    embedding_size: int,
    hidden_size: int,
    num_layers: int,
    kernel_size: int = 3,
    max_length: int = 1024,
    dropout: float = 0.0,
) -> ModelConfig:
    """ConvS2S: gated convolutions on both sides, with cross-attention in every layer.

    (Gehring et al. 2017, "Convolutional Sequence to Sequence Learning".)
    """
    embedding = EmbeddingConfig(
        size=embedding_size, positions="learned", max_length=max_length, dropout=dropout
    )
    layer_settings: dict[str, Any] = {
        "hidden_size": hidden_size,
        "num_layers": num_layers,
        "kernel_size": kernel_size,
        "dropout": dropout,
    }
    return ModelConfig(
        source=embedding,
        target=embedding,
        encoder=ConvolutionalEncoderConfig(**layer_settings),
        decoder=ConvolutionalDecoderConfig(**layer_settings),
        readout=ReadoutConfig(dropout=dropout),
    )


def vaswani2017(
    *,
    model_size: int,
    feed_forward_size: int,
    num_heads: int,
    num_layers: int,
    pre_norm: bool = False,
    tied_embeddings: TiedEmbeddings = "all",
    max_length: int = 1024,
    dropout: float = 0.0,
) -> ModelConfig:
    """The Transformer: three tied matrices, sinusoidal positions, norms after each sublayer.

    (Vaswani et al. 2017, "Attention Is All You Need".)
    """
    embedding = EmbeddingConfig(
        size=model_size,
        positions="sinusoidal",
        scaled=True,
        max_length=max_length,
        dropout=dropout,
    )
    layer_settings: dict[str, Any] = {
        "model_size": model_size,
        "feed_forward_size": feed_forward_size,
        "num_heads": num_heads,
        "num_layers": num_layers,
        "pre_norm": pre_norm,
        "dropout": dropout,
    }
    return ModelConfig(
        source=embedding,
        target=embedding,
        encoder=TransformerEncoderConfig(**layer_settings),
        decoder=TransformerDecoderConfig(**layer_settings),
        readout=ReadoutConfig(bias=False),
        tied_embeddings=tied_embeddings,
    )


PRESETS: dict[str, Callable[..., ModelConfig]] = {
    preset.__name__: preset
    for preset in (cho2014, sutskever2014, bahdanau2015, luong2015, gehring2017, vaswani2017)
}


class PaperSizes(NamedTuple):
    """The sizes in a paper: the preset's arguments, and both vocabulary sizes."""

    sizes: dict[str, int]
    source_vocabulary: int
    target_vocabulary: int


_PAPER_SIZES = {
    "cho2014": PaperSizes(
        {"embedding_size": 500, "hidden_size": 1000, "readout_size": 500}, 15_000, 15_000
    ),
    "sutskever2014": PaperSizes(
        {"embedding_size": 1000, "hidden_size": 1000, "num_layers": 4}, 160_000, 80_000
    ),
    "bahdanau2015": PaperSizes(
        {"embedding_size": 620, "hidden_size": 1000, "align_size": 1000, "readout_size": 500},
        30_000,
        30_000,
    ),
    "luong2015": PaperSizes(
        {"embedding_size": 1000, "hidden_size": 1000, "num_layers": 4, "half_width": 10},
        50_000,
        50_000,
    ),
    "gehring2017": PaperSizes(
        {"embedding_size": 512, "hidden_size": 512, "num_layers": 20, "kernel_size": 3},
        40_000,
        40_000,
    ),
    "vaswani2017": PaperSizes(
        {"model_size": 512, "feed_forward_size": 2048, "num_heads": 8, "num_layers": 6},
        37_000,
        37_000,
    ),
}


def preset(name: str) -> Callable[..., ModelConfig]:
    """Return a preset by its name, or list the valid names."""
    if name not in PRESETS:
        raise ConfigError("model", [messages.unknown_preset(name, PRESETS)])
    return PRESETS[name]


def paper_sizes(name: str) -> PaperSizes:
    """Return the sizes of a preset's paper."""
    return _PAPER_SIZES[preset(name).__name__]

"""Build a model from its config: one builder for each type of config."""

from functools import partial
from typing import Any

from torch import nn

from regard import extensions
from regard.config.model import (
    AttentionConfig,
    BahdanauDecoderConfig,
    ChoDecoderConfig,
    ConvolutionalDecoderConfig,
    ConvolutionalEncoderConfig,
    EmbeddingConfig,
    LuongDecoderConfig,
    ModelConfig,
    PlainDecoderConfig,
    RecurrentDecoderConfig,
    RecurrentEncoderConfig,
    TransformerConfig,
    TransformerDecoderConfig,
    TransformerEncoderConfig,
)
from regard.decoders.bahdanau import BahdanauDecoder
from regard.decoders.base import Decoder
from regard.decoders.convolutional import ConvolutionalDecoder
from regard.decoders.initial_state import (
    CopiedInitialState,
    InitialState,
    TanhInitialState,
    ZeroInitialState,
)
from regard.decoders.luong import LuongDecoder
from regard.decoders.plain import ChoDecoder, PlainDecoder
from regard.decoders.transformer import TransformerDecoder, TransformerDecoderBlock
from regard.encoders.base import Encoder
from regard.encoders.convolutional import ConvolutionalEncoder
from regard.encoders.recurrent import RecurrentEncoder
from regard.encoders.summary import SUMMARIES
from regard.encoders.transformer import TransformerEncoder, TransformerEncoderBlock
from regard.errors import ConfigError
from regard.models import messages
from regard.models.combinations import combination_problems
from regard.models.seq2seq import Seq2Seq
from regard.nn import positions
from regard.nn.attention import Attention, LocalWindow, MultiHeadAttention
from regard.nn.cells import Cell, ElmanCell, GRUCell, LSTMCell
from regard.nn.embedding import Embedding
from regard.nn.initialization import normal_parameter
from regard.nn.pointer_generator import PointerGenerator
from regard.nn.readouts import LinearLayer, MaxoutLayer, Readout, ReadoutLayer, TanhLayer
from regard.nn.recurrent_stack import RecurrentStack
from regard.nn.scores import (
    AdditiveScore,
    BilinearScore,
    ConcatScore,
    DotScore,
    GaussianScore,
    LocationScore,
    ScaledDotScore,
    ScoreFunction,
)
from regard.nn.transformer_sublayers import FeedForward, Residual
from regard.special_tokens import EOS


def build(config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> Seq2Seq:
    """Build a model for vocabularies of these sizes, or report everything that does not fit."""
    problems = list(combination_problems(config))
    for name, size in (("source", source_vocabulary), ("target", target_vocabulary)):
        if type(size) is not int or size <= EOS + 1:
            problems.append(messages.vocabulary_size(name, size, EOS + 1))
        side = config.source if name == "source" else config.target
        if side.one_hot and side.size != size:
            problems.append(messages.one_hot_size(name, side.size, size))
    if config.tied_embeddings == "all" and source_vocabulary != target_vocabulary:
        problems.append(messages.tied_vocabularies(source_vocabulary, target_vocabulary))
    if problems:
        raise ConfigError("model", problems)
    source = _embedding(config.source, source_vocabulary)
    target = _embedding(config.target, target_vocabulary)
    if config.tied_embeddings == "all":
        source.weight = target.weight
    encoder = _encoder(config)
    summary = None
    if config.summary != "none":
        summary = SUMMARIES[config.summary](encoder.key_size)
    summary_size = None if summary is None else summary.output_size
    decoder = _decoder(config, encoder, summary_size)
    pointer = None
    if config.readout.pointer_generator:
        sizes = decoder.state_size, encoder.key_size, _readout_inputs(config, decoder)
        pointer = PointerGenerator(*sizes, source_vocabulary)
    readout = _readout(config, decoder, target, pointer)
    return Seq2Seq((source, target), encoder, summary, decoder, readout, config.readout.inputs)


def _embedding(config: EmbeddingConfig, vocabulary_size: int) -> Embedding:
    embedding_positions: positions.SinusoidalPositions | positions.LearnedPositions | None = None
    if config.positions == "sinusoidal":
        embedding_positions = positions.SinusoidalPositions(config.size, config.max_length)
    elif config.positions == "learned":
        embedding_positions = positions.LearnedPositions(config.size, config.max_length)
    return Embedding(
        vocabulary_size,
        None if config.one_hot else config.size,
        scale=config.size**0.5 if config.scaled else 1.0,
        positions=embedding_positions,
        zero_bos=config.zero_bos,
        dropout=config.dropout,
    )


def _cell(config: RecurrentEncoderConfig | RecurrentDecoderConfig, input_size: int) -> Cell:
    if config.cell == "elman":
        return ElmanCell(input_size, config.hidden_size, config.bias)
    if config.cell == "lstm":
        return LSTMCell(input_size, config.hidden_size, config.bias)
    after = config.cell == "gru_after"
    return GRUCell(input_size, config.hidden_size, config.bias, reset_after=after)


def _stack(
    config: RecurrentEncoderConfig | RecurrentDecoderConfig, input_size: int
) -> RecurrentStack:
    return RecurrentStack(
        partial(_cell, config),
        input_size,
        config.num_layers,
        bidirectional=getattr(config, "bidirectional", False),
        residual=config.residual,
        dropout=config.dropout,
    )


def _encoder(config: ModelConfig) -> Encoder:
    encoder, size = config.encoder, config.source.size
    if isinstance(encoder, RecurrentEncoderConfig):
        stack = _stack(encoder, size)
        return RecurrentEncoder(stack, reversed_source=encoder.reversed_source)
    if isinstance(encoder, ConvolutionalEncoderConfig):
        layers, width = encoder.num_layers, encoder.kernel_size
        return ConvolutionalEncoder(size, encoder.hidden_size, layers, width, encoder.dropout)
    block = partial(_transformer_encoder_block, encoder)
    return TransformerEncoder(size, encoder.num_layers, block, pre_norm=encoder.pre_norm)


def _multi_head_attention(
    config: TransformerConfig, memory_sizes: tuple[int, int], *, self_attention: bool
) -> MultiHeadAttention:
    attention_positions: positions.RotaryPositions | positions.RelativePositions | None = None
    width = config.model_size // config.num_heads
    if self_attention and config.attention_positions == "rotary":
        attention_positions = positions.RotaryPositions(width)
    elif self_attention and config.attention_positions == "relative":
        attention_positions = positions.RelativePositions(width, config.max_distance)
    return MultiHeadAttention(
        (config.model_size, *memory_sizes),
        config.model_size,
        config.num_heads,
        positions=attention_positions,
        dropout=config.dropout,
    )


def _transformer_encoder_block(config: TransformerEncoderConfig) -> TransformerEncoderBlock:
    size = config.model_size
    return TransformerEncoderBlock(
        _multi_head_attention(config, (size, size), self_attention=True),
        FeedForward(size, config.feed_forward_size, config.dropout),
        partial(Residual, size, pre_norm=config.pre_norm, dropout=config.dropout),
    )


def _transformer_decoder_block(
    config: TransformerDecoderConfig, memory_sizes: tuple[int, int]
) -> TransformerDecoderBlock:
    size = config.model_size
    return TransformerDecoderBlock(
        _multi_head_attention(config, (size, size), self_attention=True),
        _multi_head_attention(config, memory_sizes, self_attention=False),
        FeedForward(size, config.feed_forward_size, config.dropout),
        partial(Residual, size, pre_norm=config.pre_norm, dropout=config.dropout),
    )


def _score(config: AttentionConfig, query_size: int, key_size: int) -> ScoreFunction:
    constructors: dict[str, Any] = {
        "additive": lambda: AdditiveScore(
            query_size, key_size, config.align_size, coverage=config.coverage
        ),
        "concat": lambda: ConcatScore(query_size, key_size, config.align_size),
        "dot": DotScore,
        "scaled_dot": ScaledDotScore,
        "bilinear": lambda: BilinearScore(query_size, key_size),
        "gaussian": GaussianScore,
        "gaussian_learned": lambda: GaussianScore(learned=True),
        "location": lambda: LocationScore(query_size, config.max_length),
    }
    if config.score in constructors:
        return constructors[config.score]()
    extension = extensions.find("score", config.score)
    assert extension is not None  # noqa: S101 (the config has checked it)
    return extension.cls(query_size, key_size, config.align_size)


def _attention(config: AttentionConfig, query_size: int, key_size: int) -> Attention:
    window = None
    if config.window != "global":
        predicted = query_size if config.window == "local_p" else None
        window = LocalWindow(config.half_width, predicted)
    score = _score(config, query_size, key_size)
    return Attention(score, window=window, dropout=config.dropout)


def _initial_state(
    name: str, summary_size: int | None, hidden_size: int, num_layers: int = 1
) -> InitialState:
    if name == "tanh":
        assert summary_size is not None  # noqa: S101
        return TanhInitialState(summary_size, hidden_size, num_layers)
    return CopiedInitialState() if name == "copy" else ZeroInitialState()


def _plain(
    model: ModelConfig, config: PlainDecoderConfig, encoder: Encoder, summary_size: int | None
) -> PlainDecoder:
    context_size = summary_size or 0 if config.context_every_step else 0
    return PlainDecoder(
        _stack(config, model.target.size + context_size),
        _initial_state(config.initial_state, summary_size, config.hidden_size, config.num_layers),
        context_size=summary_size,
        context_every_step=config.context_every_step,
    )


def _cho(
    model: ModelConfig, config: ChoDecoderConfig, encoder: Encoder, summary_size: int
) -> ChoDecoder:
    return ChoDecoder(
        GRUCell(model.target.size, config.hidden_size, config.bias, reset_after=True),
        _initial_state(config.initial_state, summary_size, config.hidden_size),
        context_size=summary_size,
    )


def _bahdanau(
    model: ModelConfig, config: BahdanauDecoderConfig, encoder: Encoder, summary_size: int | None
) -> BahdanauDecoder:
    return BahdanauDecoder(
        _stack(config, model.target.size + encoder.value_size),
        _attention(config.attention, config.hidden_size, encoder.key_size),
        _initial_state(config.initial_state, summary_size, config.hidden_size, config.num_layers),
        context_size=encoder.value_size,
    )


def _luong(
    model: ModelConfig, config: LuongDecoderConfig, encoder: Encoder, summary_size: int | None
) -> LuongDecoder:
    input_feeding_size = config.hidden_size if config.input_feeding else 0
    W_c = None
    if config.attentional:
        size = config.hidden_size
        W_c = nn.Linear(encoder.value_size + size, size, bias=config.bias)
    return LuongDecoder(
        _stack(config, model.target.size + input_feeding_size),
        _attention(config.attention, config.hidden_size, encoder.key_size),
        _initial_state(config.initial_state, summary_size, config.hidden_size, config.num_layers),
        context_size=encoder.value_size,
        W_c=W_c,
        input_feeding=config.input_feeding,
    )


def _convolutional(
    model: ModelConfig,
    config: ConvolutionalDecoderConfig,
    encoder: Encoder,
    summary_size: int | None,
) -> ConvolutionalDecoder:
    return ConvolutionalDecoder(
        model.target.size,
        config.hidden_size,
        config.num_layers,
        config.kernel_size,
        (encoder.key_size, encoder.value_size),
        config.dropout,
    )


def _transformer(
    model: ModelConfig,
    config: TransformerDecoderConfig,
    encoder: Encoder,
    summary_size: int | None,
) -> TransformerDecoder:
    sizes = (encoder.key_size, encoder.value_size)
    block = partial(_transformer_decoder_block, config, sizes)
    counts = config.num_layers, config.num_heads
    return TransformerDecoder(config.model_size, *counts, block, pre_norm=config.pre_norm)


_DECODERS: dict[type, Any] = {
    PlainDecoderConfig: _plain,
    ChoDecoderConfig: _cho,
    BahdanauDecoderConfig: _bahdanau,
    LuongDecoderConfig: _luong,
    ConvolutionalDecoderConfig: _convolutional,
    TransformerDecoderConfig: _transformer,
}


def _decoder(config: ModelConfig, encoder: Encoder, summary_size: int | None) -> Decoder[Any, Any]:
    if (extension := extensions.decoder_of(config.decoder)) is not None:
        size = config.target.size
        return extension.cls.from_config(config.decoder, size, encoder, summary_size)
    return _DECODERS[type(config.decoder)](config, config.decoder, encoder, summary_size)


def _readout_inputs(config: ModelConfig, decoder: Decoder[Any, Any]) -> int:
    sizes = {
        "old_state": decoder.state_size,
        "new_state": decoder.state_size,
        "context": decoder.context_size,
        "previous": config.target.size,
    }
    return sum(sizes[name] or 0 for name in config.readout.inputs)


def _readout(
    config: ModelConfig,
    decoder: Decoder[Any, Any],
    target: Embedding,
    pointer: PointerGenerator | None,
) -> Readout:
    readout = config.readout
    size = _readout_inputs(config, decoder)
    layer: ReadoutLayer = LinearLayer(size)
    if readout.kind == "tanh":
        layer = TanhLayer(size, readout.size, readout.bias)
    elif readout.kind == "maxout":
        layer = MaxoutLayer(size, readout.size, readout.bias)
    weight = target.weight
    if config.tied_embeddings == "none":
        weight = normal_parameter(target.weight.shape[0], layer.output_size)
    assert isinstance(weight, nn.Parameter)  # noqa: S101
    bias = readout.bias and readout.kind == "linear"
    return Readout(layer, weight, bias=bias, dropout=readout.dropout, pointer=pointer)

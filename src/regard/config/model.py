"""The `[model]` settings: parts and sizes; `models/combinations.py` checks their combinations."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from regard.config import messages
from regard.config.checks import are_valid, at_least, ceiling, refuse
from regard.config.names import CustomDecoderConfig, ScoreSetting

Cell = Literal["elman", "gru_before", "gru_after", "lstm"]
WindowName = Literal["global", "local_m", "local_p"]
SummaryName = Literal["none", "last", "backward", "mean", "max", "tanh"]
InitialStateName = Literal["zero", "copy", "tanh"]
TiedEmbeddings = Literal["none", "output", "all"]
ReadoutInput = Literal["old_state", "new_state", "context", "previous"]
Width = Annotated[int, at_least(1), ceiling(65_536)]
Length = Annotated[int, at_least(1), ceiling(65_536)]
Layers = Annotated[int, at_least(1), ceiling(1_000)]

MAX_TABLE_NUMBERS = 1 << 24
"""Maximum size of a table of sinusoidal positions, which is not in the model file: 128 MiB."""


@dataclass(frozen=True, kw_only=True)
class EmbeddingConfig:
    """Token embedding and position embedding."""

    size: Width
    """Width E of an embedding."""

    one_hot: bool = False
    """Feed one-hot vectors instead of learned embeddings; size must be the vocabulary's."""

    positions: Literal["none", "sinusoidal", "learned"] = "none"
    """Position embedding added to the token embedding."""

    max_length: Length = 1024
    """Maximum number of positions. Longer lines are refused. Used only with positions."""

    scaled: bool = False
    """Multiply token embeddings by √E before positions are added."""

    zero_bos: bool = False
    """Feed a zero vector as BOS, not a learned embedding (target side)."""

    dropout: float = 0.0
    """Dropout on the sum of token and position embedding. 0 disables it."""

    def __post_init__(self) -> None:
        refuse("model.embedding", self, self._problems())

    def _problems(self) -> Iterator[str]:
        if self.positions != "sinusoidal" or not are_valid(self, "size", "max_length"):
            return
        if self.max_length > (limit := MAX_TABLE_NUMBERS // self.size):
            yield messages.too_many_positions(self.max_length, limit, self.size)


@dataclass(frozen=True, kw_only=True)
class RecurrentEncoderConfig:
    """A recurrent encoder."""

    hidden_size: Width
    """Width of the hidden state, per direction."""

    cell: Cell = "gru_before"
    """Recurrent cell. gru_before resets the state before the product (as published), gru_after
    after."""

    num_layers: Layers = 1
    """Number of layers."""

    bidirectional: bool = False
    """Read the source in both directions and concatenate the states."""

    reversed_source: bool = False
    """Read the source in reverse order."""

    residual: bool = False
    """Residual connections from the second layer on."""

    bias: bool = True
    """One bias per gate and candidate."""

    dropout: float = 0.0
    """Dropout between layers."""

    def __post_init__(self) -> None:
        refuse("model.encoder", self, self._problems())

    def _problems(self) -> Iterator[str]:
        if self.bidirectional and self.reversed_source:
            yield messages.reversed_and_bidirectional()


@dataclass(frozen=True, kw_only=True)
class ConvolutionalEncoderConfig:
    """An encoder of gated convolutions (Gehring et al. 2017)."""

    hidden_size: Width
    """Channels D of each block."""

    num_layers: Layers
    """Number of blocks."""

    kernel_size: Length = 3
    """Kernel size in tokens, an odd number."""

    dropout: float = 0.0
    """Dropout on the input of each block."""

    def __post_init__(self) -> None:
        refuse("model.encoder", self, self._problems())

    def _problems(self) -> Iterator[str]:
        if are_valid(self, "kernel_size") and self.kernel_size % 2 == 0:
            yield messages.even_kernel_size(self.kernel_size)


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Settings shared by Transformer encoder and decoder (Vaswani et al. 2017)."""

    model_size: Width
    """Width D of the input and output of each block."""

    feed_forward_size: Width
    """Width F inside the feed-forward layers."""

    num_heads: Width = 4
    """Number of attention heads H; each has width D / H."""

    num_layers: Layers = 3
    """Number of blocks."""

    pre_norm: bool = False
    """Layer normalization before each sublayer and at the end, not after each as published."""

    attention_positions: Literal["none", "rotary", "relative"] = "none"
    """Positions inside self-attention, in addition to position embeddings."""

    max_distance: Length = 16
    """Distance at which relative positions are clipped."""

    dropout: float = 0.0
    """Dropout on sublayer outputs, inside feed-forward layers and on attention weights."""

    def __post_init__(self) -> None:
        refuse("model", self, self._problems())

    def _problems(self) -> Iterator[str]:
        if not are_valid(self, "num_heads", "model_size"):
            return
        heads, size = self.num_heads, self.model_size
        if size % heads:
            yield messages.heads_do_not_divide(heads, size)
        elif self.attention_positions == "rotary" and size // heads % 2:
            yield messages.odd_head_of_rotary(heads, size)


@dataclass(frozen=True, kw_only=True)
class TransformerEncoderConfig(TransformerConfig):
    """A Transformer encoder: self-attention and feed-forward layers."""


@dataclass(frozen=True, kw_only=True)
class AttentionConfig:
    """Attention of a recurrent decoder to the source."""

    score: ScoreSetting = "additive"
    """Score function between query and key."""

    align_size: Width = 128
    """Width A of the alignment layer of additive and concat scores."""

    max_length: Length = 128
    """Maximum source length of the location score. Longer sources are refused."""

    window: WindowName = "global"
    """Global attention, or local with a monotonic (local_m) or predicted (local_p) window."""

    half_width: Length = 10
    """Half-width δ of the local window."""

    coverage: bool = False
    """Coverage: the additive score sees the sum of the attention weights so far."""

    dropout: float = 0.0
    """Dropout on attention weights."""

    def __post_init__(self) -> None:
        refuse("model.decoder.attention", self, self._problems())

    def _problems(self) -> Iterator[str]:
        if self.coverage and self.score != "additive":
            yield messages.coverage_of_another_score(self.score)


@dataclass(frozen=True, kw_only=True)
class RecurrentDecoderConfig:
    """Settings shared by recurrent decoders."""

    hidden_size: Width
    """Width D of the hidden state."""

    cell: Cell = "gru_before"
    """Recurrent cell."""

    num_layers: Layers = 1
    """Number of layers."""

    initial_state: InitialStateName = "tanh"
    """Zero, a copy of the encoder's last states, or tanh of a map of the source summary."""

    residual: bool = False
    """Residual connections from the second layer on."""

    bias: bool = True
    """One bias per gate and candidate."""

    dropout: float = 0.0
    """Dropout between layers."""

    def __post_init__(self) -> None:
        refuse("model.decoder", self)


@dataclass(frozen=True, kw_only=True)
class PlainDecoderConfig(RecurrentDecoderConfig):
    """A recurrent decoder without attention."""

    context_every_step: bool = False
    """Feed the source summary at every step, not only through the initial state."""


@dataclass(frozen=True, kw_only=True)
class ChoDecoderConfig:
    """The decoder of Cho et al. 2014: one GRU whose reset gate also gates the context."""

    hidden_size: Width
    """Width D of the hidden state."""

    initial_state: InitialStateName = "tanh"
    """Zero, a copy of the encoder's last state, or tanh of a map of the source summary."""

    bias: bool = True
    """One bias per gate and candidate."""

    def __post_init__(self) -> None:
        refuse("model.decoder", self)


@dataclass(frozen=True, kw_only=True)
class BahdanauDecoderConfig(RecurrentDecoderConfig):
    """The decoder of Bahdanau et al. 2015: the previous state is the query."""

    attention: AttentionConfig = AttentionConfig()
    """Attention to the source."""


@dataclass(frozen=True, kw_only=True)
class LuongDecoderConfig(RecurrentDecoderConfig):
    """The decoder of Luong et al. 2015: the new state is the query."""

    attention: AttentionConfig = AttentionConfig()
    """Attention to the source."""

    attentional: bool = True
    """Output h̃ = tanh(W_c [c; h]) instead of the state h."""

    input_feeding: bool = True
    """Input feeding: h̃ is an input of the next step."""

    def __post_init__(self) -> None:
        refuse("model.decoder", self, self._problems())

    def _problems(self) -> Iterator[str]:
        if self.input_feeding and not self.attentional:
            yield messages.nothing_to_feed()


@dataclass(frozen=True, kw_only=True)
class ConvolutionalDecoderConfig:
    """A decoder of causal convolutions with attention in every layer (Gehring et al. 2017)."""

    hidden_size: Width
    """Channels D of each block."""

    num_layers: Layers
    """Number of blocks."""

    kernel_size: Length = 3
    """Kernel size in tokens: the current one and those before it."""

    dropout: float = 0.0
    """Dropout on the input of each block."""

    def __post_init__(self) -> None:
        refuse("model.decoder", self)


@dataclass(frozen=True, kw_only=True)
class TransformerDecoderConfig(TransformerConfig):
    """A Transformer decoder: causal self-attention, cross-attention, feed-forward layers."""


@dataclass(frozen=True, kw_only=True)
class ReadoutConfig:
    """The readout: from the decoder's output to a logit per token."""

    inputs: tuple[ReadoutInput, ...] = ("new_state",)
    """Inputs of the readout, concatenated in this order."""

    kind: Literal["linear", "tanh", "maxout"] = "linear"
    """Layer before the output projection."""

    size: Width = 128
    """Width of the tanh or maxout layer; linear has none."""

    bias: bool = True
    """One bias: on the logits of a linear readout, otherwise in its layer."""

    dropout: float = 0.0
    """Dropout before the output projection."""

    pointer_generator: bool = False
    """Pointer-generator: a second attention can copy tokens from the source (See et al. 2017)."""

    def __post_init__(self) -> None:
        if isinstance(self.inputs, list):
            object.__setattr__(self, "inputs", tuple(self.inputs))
        refuse("model.readout", self, self._problems())

    def _problems(self) -> Iterator[str]:
        if are_valid(self, "inputs") and len(set(self.inputs)) != max(1, len(self.inputs)):
            yield messages.wrong_inputs(list(self.inputs))


EncoderConfig = RecurrentEncoderConfig | ConvolutionalEncoderConfig | TransformerEncoderConfig
RecurrentDecoder = (
    PlainDecoderConfig | ChoDecoderConfig | BahdanauDecoderConfig | LuongDecoderConfig
)
DecoderConfig = (
    RecurrentDecoder | ConvolutionalDecoderConfig | TransformerDecoderConfig | CustomDecoderConfig
)
ENCODERS: dict[str, type[EncoderConfig]] = {
    "recurrent": RecurrentEncoderConfig,
    "convolutional": ConvolutionalEncoderConfig,
    "transformer": TransformerEncoderConfig,
}
DECODERS: dict[str, type[DecoderConfig]] = {
    "plain": PlainDecoderConfig,
    "cho": ChoDecoderConfig,
    "bahdanau": BahdanauDecoderConfig,
    "luong": LuongDecoderConfig,
    "convolutional": ConvolutionalDecoderConfig,
    "transformer": TransformerDecoderConfig,
}


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """A whole model: its parts, and how they are connected."""

    source: EmbeddingConfig
    """Source embedding."""

    target: EmbeddingConfig
    """Target embedding."""

    encoder: EncoderConfig
    """Encoder."""

    summary: SummaryName = "none"
    """The source in one vector, for an initial state or a fixed context."""

    decoder: DecoderConfig
    """Decoder."""

    readout: ReadoutConfig
    """From the decoder's output to logits."""

    tied_embeddings: TiedEmbeddings = "none"
    """Share the target embedding with the output projection, or also with the source embedding."""

    def __post_init__(self) -> None:
        refuse("model", self)

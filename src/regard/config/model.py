"""The `[model]` settings: which parts, and how wide. Whether parts fit together is `models/`' part.

The widths of states have no defaults: they come from the caller, from the data, or from a paper.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from regard.config.checks import refuse, sound
from regard.config.names import CustomDecoderConfig, ScoreSetting

Cell = Literal["elman", "gru_before", "gru_after", "lstm"]
WindowName = Literal["global", "local_m", "local_p"]
SummaryName = Literal["none", "last", "backward", "mean", "max", "tanh"]
FirstName = Literal["zero", "copy", "tanh"]
Tied = Literal["none", "output", "all"]
ReadoutInput = Literal["old_state", "new_state", "context", "previous"]


@dataclass(frozen=True, kw_only=True)
class EmbeddingConfig:
    """How words, and their places, become vectors."""

    size: int
    """Width E of a word's vector."""

    one_hot: bool = False
    """Feed a one at the word's id, zeros elsewhere, nothing learned; size is the vocabulary's."""

    positions: Literal["none", "sinusoidal", "learned"] = "none"
    """What is added to a word for where it stands."""

    max_length: int = 1024
    """Positions there are; a longer line is refused. Counts only where positions are added."""

    scaled: bool = False
    """Multiply a word's vector by √E before the position is added."""

    zero_start: bool = False
    """Feed the zero vector before the first word, not a learned one (target side)."""

    dropout: float = 0.0
    """Share of the sum's numbers dropped in training, 0 for none."""

    def __post_init__(self) -> None:
        refuse("model.embedding", self)


@dataclass(frozen=True, kw_only=True)
class RecurrentEncoderConfig:
    """An encoder that reads word by word."""

    hidden_size: int
    """Width of a state, in each direction."""

    cell: Cell = "gru_before"
    """What moves the state; a GRU resets before its product as published, after as in libraries."""

    num_layers: int = 1
    """Layers, each reading what the one below shows."""

    bidirectional: bool = False
    """Read from both ends and show both states side by side."""

    reversed_source: bool = False
    """Read the source back to front."""

    residual: bool = False
    """Add a layer's input to what it shows, from the second layer on."""

    bias: bool = True
    """One bias per gate and candidate."""

    dropout: float = 0.0
    """Share of activations dropped between layers in training."""

    def __post_init__(self) -> None:
        refuse("model.encoder", self, self._problems())

    def _problems(self) -> Iterator[str]:
        if self.bidirectional and self.reversed_source:
            yield (
                "reversed_source = true turns round a source that bidirectional = true reads "
                "from both ends anyway; reversed_source = false would do"
            )


@dataclass(frozen=True, kw_only=True)
class ConvolutionalEncoderConfig:
    """An encoder of gated convolutions (Gehring et al. 2017)."""

    hidden_size: int
    """Channels D of every block."""

    num_layers: int
    """Blocks."""

    kernel_size: int = 3
    """Words that a convolution sees at once, an odd number."""

    dropout: float = 0.0
    """Share of a block's inputs dropped in training."""

    def __post_init__(self) -> None:
        refuse("model.encoder", self, self._problems())

    def _problems(self) -> Iterator[str]:
        if sound(self, "kernel_size") and self.kernel_size % 2 == 0:
            yield (
                f"kernel_size = {self.kernel_size}, but it must be odd to have a middle; "
                f"{self.kernel_size + 1} would do"
            )


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """What a Transformer's encoder and decoder have in common (Vaswani et al. 2017)."""

    model_size: int
    """Width D of every block's input and output."""

    feed_forward_size: int
    """Width F inside the feed-forward layers."""

    num_heads: int = 4
    """Heads H that share the width: each sees D / H of it."""

    num_layers: int = 3
    """Blocks."""

    pre_norm: bool = False
    """Norm before each sublayer and once at the end, not after each as published."""

    attention_positions: Literal["none", "rotary", "relative"] = "none"
    """Positions that self-attention sees, besides those added to the words."""

    max_distance: int = 16
    """Distance at which relative positions are clipped."""

    dropout: float = 0.0
    """Share of activations dropped in training: sublayers, feed-forward and attention weights."""

    def __post_init__(self) -> None:
        refuse("model", self, self._problems())

    def _problems(self) -> Iterator[str]:
        if not sound(self, "num_heads", "model_size"):
            return
        heads, size = self.num_heads, self.model_size
        if size % heads:
            yield (
                f"num_heads = {heads} does not divide model_size = {size}; "
                f"model_size = {heads * max(1, size // heads)} would do"
            )
        elif self.attention_positions == "rotary" and size // heads % 2:
            yield (
                f"attention_positions = rotary turns pairs, but a head of model_size / num_heads = "
                f"{size // heads} has an odd width; model_size = {size + heads} would do"
            )


@dataclass(frozen=True, kw_only=True)
class TransformerEncoderConfig(TransformerConfig):
    """An encoder of self-attention."""


@dataclass(frozen=True, kw_only=True)
class AttentionConfig:
    """How a recurrent decoder looks at the source."""

    score: ScoreSetting = "additive"
    """How a query is matched with a key."""

    align_size: int = 128
    """Width A in which additive and concat scores compare."""

    max_length: int = 128
    """Source positions of the location score; a longer source is refused."""

    window: WindowName = "global"
    """See the whole source, or a window that moves along (local_m) or is predicted (local_p)."""

    half_width: int = 10
    """Positions δ that a window reaches to either side."""

    coverage: bool = False
    """Let the additive score see how much weight each position has had so far."""

    dropout: float = 0.0
    """Share of weights dropped in training."""

    def __post_init__(self) -> None:
        refuse("model.decoder.attention", self, self._problems())

    def _problems(self) -> Iterator[str]:
        if self.coverage and self.score != "additive":
            yield (
                f"coverage = true is a term of the additive score, but score = {self.score}; "
                "score = additive would do"
            )


@dataclass(frozen=True, kw_only=True)
class RecurrentDecoderConfig:
    """What recurrent decoders have in common."""

    hidden_size: int
    """Width D of a state."""

    cell: Cell = "gru_before"
    """What moves the state."""

    num_layers: int = 1
    """Layers, each reading what the one below shows."""

    first: FirstName = "tanh"
    """States before the first word: zero, the encoder's last, or tanh of a map of the summary."""

    residual: bool = False
    """Add a layer's input to what it shows, from the second layer on."""

    bias: bool = True
    """One bias per gate and candidate."""

    dropout: float = 0.0
    """Share of activations dropped between layers in training."""

    def __post_init__(self) -> None:
        refuse("model.decoder", self)


@dataclass(frozen=True, kw_only=True)
class PlainDecoderConfig(RecurrentDecoderConfig):
    """A decoder without attention."""

    context_every_step: bool = False
    """Feed the source's summary with every word, not through the first state alone."""


@dataclass(frozen=True, kw_only=True)
class ChoDecoderConfig:
    """Cho's own decoder: one GRU whose reset gate also gates the context."""

    hidden_size: int
    """Width D of the state."""

    first: FirstName = "tanh"
    """State before the first word: zero, the encoder's last, or tanh of a map of the summary."""

    bias: bool = True
    """One bias per gate and candidate."""

    def __post_init__(self) -> None:
        refuse("model.decoder", self)


@dataclass(frozen=True, kw_only=True)
class BahdanauDecoderConfig(RecurrentDecoderConfig):
    """A decoder whose old state asks, and whose input is the word and the context."""

    attention: AttentionConfig = AttentionConfig()
    """How it looks."""


@dataclass(frozen=True, kw_only=True)
class LuongDecoderConfig(RecurrentDecoderConfig):
    """A decoder whose new state asks."""

    attention: AttentionConfig = AttentionConfig()
    """How it looks."""

    attentional: bool = True
    """Show h̃ = tanh(W_c [c; h]), not the state itself."""

    input_feeding: bool = True
    """Give h̃ to the next step with its word."""

    def __post_init__(self) -> None:
        refuse("model.decoder", self, self._problems())

    def _problems(self) -> Iterator[str]:
        if self.input_feeding and not self.attentional:
            yield (
                "input_feeding = true feeds h̃, but attentional = false makes none; "
                "attentional = true would do"
            )


@dataclass(frozen=True, kw_only=True)
class ConvolutionalDecoderConfig:
    """A decoder of causal gated convolutions that looks in every layer (Gehring et al. 2017)."""

    hidden_size: int
    """Channels D of every block."""

    num_layers: int
    """Blocks."""

    kernel_size: int = 3
    """Words that a convolution sees at once: the last one and those before it."""

    dropout: float = 0.0
    """Share of a block's inputs dropped in training."""

    def __post_init__(self) -> None:
        refuse("model.decoder", self)


@dataclass(frozen=True, kw_only=True)
class TransformerDecoderConfig(TransformerConfig):
    """A decoder of self-attention and attention to the source."""


@dataclass(frozen=True, kw_only=True)
class ReadoutConfig:
    """From what a step yields to a score for every word."""

    inputs: tuple[ReadoutInput, ...] = ("new_state",)
    """What it sees, joined in this order."""

    kind: Literal["linear", "tanh", "maxout"] = "linear"
    """What comes before the vocabulary's matrix."""

    size: int = 128
    """Width after tanh or maxout; a linear readout has none."""

    bias: bool = True
    """One bias, at the first map: a linear readout's logits, the others' layer."""

    dropout: float = 0.0
    """Share of activations dropped before the vocabulary's matrix in training."""

    copies: bool = False
    """Let a word of the source be written as it stands, found by an attention that points."""

    def __post_init__(self) -> None:
        if isinstance(self.inputs, list):
            object.__setattr__(self, "inputs", tuple(self.inputs))
        refuse("model.readout", self, self._problems())

    def _problems(self) -> Iterator[str]:
        if sound(self, "inputs") and len(set(self.inputs)) != max(1, len(self.inputs)):
            yield f"inputs = {list(self.inputs)}, but it must name at least one thing, each once"


EncoderConfig = RecurrentEncoderConfig | ConvolutionalEncoderConfig | TransformerEncoderConfig
LoopedDecoder = PlainDecoderConfig | ChoDecoderConfig | BahdanauDecoderConfig | LuongDecoderConfig
DecoderConfig = (
    LoopedDecoder | ConvolutionalDecoderConfig | TransformerDecoderConfig | CustomDecoderConfig
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
    """A whole model: its parts, and how they are joined."""

    source: EmbeddingConfig
    """The source's words."""

    target: EmbeddingConfig
    """The target's words."""

    encoder: EncoderConfig
    """What reads the source."""

    summary: SummaryName = "none"
    """The source in one vector, for a first state or a fixed context."""

    decoder: DecoderConfig
    """What writes the target."""

    readout: ReadoutConfig
    """What scores the words."""

    tied: Tied = "none"
    """Share the target embedding's matrix with the readout, or all three matrices."""

    def __post_init__(self) -> None:
        refuse("model", self)

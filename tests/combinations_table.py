"""The combinations tested for models: cell × layers × directions × encoder × decoder × score.

Every entry either builds or is refused by `combinations.py`; an axis that a part does not have is
not repeated for it.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple, get_args

from regard.config.model import (
    AttentionConfig,
    BahdanauDecoderConfig,
    Cell,
    ChoDecoderConfig,
    ConvolutionalDecoderConfig,
    ConvolutionalEncoderConfig,
    DecoderConfig,
    EmbeddingConfig,
    EncoderConfig,
    InitialStateName,
    LuongDecoderConfig,
    ModelConfig,
    PlainDecoderConfig,
    ReadoutConfig,
    RecurrentEncoderConfig,
    TransformerDecoderConfig,
    TransformerEncoderConfig,
    WindowName,
)
from regard.config.names import ScoreName


class Combination(NamedTuple):
    """One entry; `sizes` are for all alike."""

    encoder: str
    decoder: str
    cell: Cell
    num_layers: int
    directions: str
    first: InitialStateName
    score: ScoreName
    window: WindowName

    def config(
        self, *, hidden_size: int, embedding_size: int, head_size: int, num_heads: int
    ) -> ModelConfig:
        """Return the entry at given widths; a Transformer takes its words as wide as itself."""
        wide = head_size * num_heads
        source = wide if self.encoder == "transformer" else embedding_size
        target = wide if self.decoder == "transformer" else embedding_size
        heads: dict[str, Any] = {
            "model_size": wide,
            "num_heads": num_heads,
            "feed_forward_size": hidden_size,
            "num_layers": self.num_layers,
        }
        asks = self.decoder == "cho" or self.decoder == "plain_every_step" or self.first == "tanh"
        looped = self.decoder not in ("convolutional", "transformer")
        return ModelConfig(
            source=EmbeddingConfig(size=source),
            target=EmbeddingConfig(size=target),
            encoder=self._encoder(hidden_size, heads),
            summary="last" if asks and looped else "none",
            decoder=self._decoder(hidden_size, heads),
            readout=ReadoutConfig(),
        )

    def _encoder(self, hidden_size: int, heads: dict[str, Any]) -> EncoderConfig:
        if self.encoder == "convolutional":
            return ConvolutionalEncoderConfig(hidden_size=hidden_size, num_layers=self.num_layers)
        if self.encoder == "transformer":
            return TransformerEncoderConfig(**heads)
        return RecurrentEncoderConfig(
            cell=self.cell,
            hidden_size=hidden_size,
            num_layers=self.num_layers,
            bidirectional=self.directions == "two",
            reversed_source=self.directions == "reversed",
        )

    def _decoder(self, hidden_size: int, heads: dict[str, Any]) -> DecoderConfig:
        if self.decoder == "convolutional":
            return ConvolutionalDecoderConfig(hidden_size=hidden_size, num_layers=self.num_layers)
        if self.decoder == "transformer":
            return TransformerDecoderConfig(**heads)
        if self.decoder == "cho":
            return ChoDecoderConfig(hidden_size=hidden_size, initial_state=self.first)
        part: dict[str, Any] = {
            "cell": self.cell,
            "hidden_size": hidden_size,
            "num_layers": self.num_layers,
            "initial_state": self.first,
        }
        if self.decoder in ("plain", "plain_every_step"):
            return PlainDecoderConfig(context_every_step=self.decoder != "plain", **part)
        part["attention"] = AttentionConfig(score=self.score, window=self.window, half_width=2)
        if self.decoder == "bahdanau":
            return BahdanauDecoderConfig(**part)
        return LuongDecoderConfig(input_feeding=self.decoder == "luong_fed", **part)


_ENCODERS = ("recurrent", "convolutional", "transformer")
_DECODERS = (
    "plain",
    "plain_every_step",
    "cho",
    "bahdanau",
    "luong",
    "luong_fed",
    "convolutional",
    "transformer",
)


def combinations() -> Iterator[Combination]:
    """Yield every entry of the table, in a fixed order."""
    cells, scores = get_args(Cell), get_args(ScoreName)
    firsts, windows = get_args(InitialStateName), get_args(WindowName)
    for encoder, decoder, num_layers in product(_ENCODERS, _DECODERS, (1, 2)):
        looks = decoder in ("bahdanau", "luong", "luong_fed")
        loops = decoder not in ("convolutional", "transformer")
        for axes in product(
            cells if encoder == "recurrent" or loops else cells[:1],
            (num_layers,),
            ("one", "reversed", "two") if encoder == "recurrent" else ("one",),
            firsts if loops else firsts[:1],
            scores if looks else scores[:1],
            windows if decoder == "luong_fed" else windows[:1],
        ):
            yield Combination(encoder, decoder, *axes)

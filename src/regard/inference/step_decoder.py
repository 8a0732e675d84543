"""The step decoder: all that search needs of a model. The reference is the model itself.

Faster ones (`fused_recurrent.py`, `fused_transformer.py`) compute the same in another order.
"""

from abc import ABC, abstractmethod
from typing import Any, final

from jaxtyping import Bool, Float, Int
from torch import Tensor
from typing_extensions import override

from regard.inference.fixed_row_matmul import FixedRowMatmul, tile_rows
from regard.inference.table_encoder import TableEncoder
from regard.models.seq2seq import ModelOutput, Seq2Seq, nonempty_source
from regard.nn.encoder_output import EncoderOutput


class StepDecoder(ABC):
    """Encodes a batch of sources, then scores the next token of every row, step by step.

    Rows come in whole tiles (`fixed_row_matmul.py`), and no row depends on any other.
    """

    def __init__(self, model: Seq2Seq, table_encoder: TableEncoder | None = None) -> None:
        self.model, self.table_encoder = model, table_encoder
        self.device = model.device
        # the number of layers that attend and of heads in each; None without attention
        self.attention_shape = model.attention_shape
        self.max_source_length = model.max_source_length
        self.max_target_length = model.max_target_length

    @property
    def tile_rows(self) -> int:
        """The number of rows of a tile."""
        return tile_rows(self.device)

    def rows_per_call(self, num_rows: int) -> int:
        """Return how many of so many rows `step` takes at once, filled up to whole tiles."""
        return self.tile_rows

    def encode(self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]) -> EncoderOutput:
        """Encode a batch of sources: what `Seq2Seq.encode` returns."""
        if self.table_encoder is None:
            return self.model.encode(source, source_mask)
        return self.model.summarize(self.table_encoder(*nonempty_source(source, source_mask)))

    @abstractmethod
    def start(self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]) -> Any:
        """Encode a batch of sources; return its memory and the state before the first token."""

    @abstractmethod
    def step(
        self,
        state: Any,
        tokens: Int[Tensor, "B"],
        memory: Any,
        *,
        forced_weights: Float[Tensor, "B L H S"] | None = None,
    ) -> tuple[Any, ModelOutput]:
        """Feed the last token of each row, BOS at first; return the state and the next scores."""


@final
class ReferenceStepDecoder(StepDecoder):
    """The steps of the model itself, one tile a call."""

    @override
    def start(self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]) -> Any:
        return self.model.start_decoder(self.encode(source, source_mask), source)

    @override
    def step(
        self,
        state: Any,
        tokens: Int[Tensor, "B"],
        memory: Any,
        *,
        forced_weights: Float[Tensor, "B L H S"] | None = None,
    ) -> tuple[Any, ModelOutput]:
        return self.model.step(state, tokens, memory, forced_weights=forced_weights)


class FusedStepDecoder(StepDecoder):
    """What the fast step decoders have in common: they take all rows in one call."""

    def __init__(self, model: Seq2Seq, table_encoder: TableEncoder | None = None) -> None:
        super().__init__(model, table_encoder)
        self.logits_matmul = FixedRowMatmul(model.readout.weight)
        self.logits_bias = model.readout.bias

    @staticmethod
    @abstractmethod
    def why_not(model: Seq2Seq) -> str | None:
        """Say why this step cannot run for a model; None if it can."""

    @override
    def rows_per_call(self, num_rows: int) -> int:
        return self.tile_rows * -(-num_rows // self.tile_rows)

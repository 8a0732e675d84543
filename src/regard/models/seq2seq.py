"""The whole model: p(y | x) = Π_t p(y_t | y_<t, x), from token ids to logits and to the loss.

Padding is on the right of each sequence and hidden by the mask. Search is in `regard.search`.
"""

from dataclasses import dataclass, replace
from typing import Any, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.decoders.base import Decoder, DecoderState, DecoderStep
from regard.encoders.base import Encoder
from regard.encoders.summary import Summary
from regard.errors import InputError
from regard.models import messages
from regard.nn.cross_entropy import rdrop_loss
from regard.nn.embedding import Embedding
from regard.nn.encoder_output import EncoderOutput
from regard.nn.pointer_generator import PointerMemory, PointerQuery
from regard.nn.readouts import Readout
from regard.nn.scores import LocationScore
from regard.nn.tensor_record import TensorRecord
from regard.special_tokens import PAD


@dataclass(frozen=True)
class ModelOutput(TensorRecord):
    """The logits of each next token, and the attention weights if they are needed."""

    logits: Float[Tensor, "B *T V"]
    weights: Float[Tensor, "B *T L H S"] | None


@final
class Seq2Seq(nn.Module):
    """Embeddings, encoder, summary, decoder and readout, joined."""

    def __init__(
        self,
        embeddings: tuple[Embedding, Embedding],
        encoder: Encoder,
        summary: Summary | None,
        decoder: Decoder[Any, Any],
        readout: Readout,
        readout_inputs: tuple[str, ...],
    ) -> None:
        super().__init__()
        self.source_embedding, self.target_embedding = embeddings
        self.encoder = encoder
        self.summary = summary
        self.decoder = decoder
        self.readout = readout
        self.readout_inputs = readout_inputs

    @property
    def device(self) -> torch.device:
        """The device of the parameters; token ids must be on it too."""
        return self.target_embedding.weight.device

    @property
    def attention_shape(self) -> tuple[int, int] | None:
        """The number of layers that attend, and of their heads; None without attention."""
        return self.decoder.attention_shape

    @property
    def max_source_length(self) -> int | None:
        """The longest source that the model has positions for; None if there is no limit."""
        score = getattr(getattr(self.decoder, "attention", None), "score", None)
        rows = score.W.out_features if isinstance(score, LocationScore) else None
        limits = [rows, _max_positions(self.source_embedding)]
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def max_target_length(self) -> int | None:
        """The most tokens that can be fed, including BOS; None if there is no limit."""
        return _max_positions(self.target_embedding)

    def encode(self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]) -> EncoderOutput:
        """Encode a batch of sources; a batch without positions gets a hidden one."""
        source, source_mask = nonempty_source(source, source_mask)
        return self.summarize(self.encoder(self.source_embedding(source), source_mask))

    def summarize(self, encoded: EncoderOutput) -> EncoderOutput:
        """Add the summary, if the model has one, to the encoder's output."""
        return encoded if self.summary is None else replace(encoded, summary=self.summary(encoded))

    def start(
        self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]
    ) -> tuple[TensorRecord, DecoderState]:
        """Encode a batch of sources; return its memory and the state before the first token."""
        return self.start_decoder(self.encode(source, source_mask), source)

    def start_decoder(
        self, encoded: EncoderOutput, source: Int[Tensor, "B S"]
    ) -> tuple[TensorRecord, DecoderState]:
        """Return the memory of encoded sources and the state before the first token."""
        memory, state = self.decoder.start(encoded)
        if self.readout.pointer is not None:
            memory = self.readout.pointer.start(memory, encoded, source)
        return memory, state

    def step(
        self,
        state: DecoderState,
        tokens: Int[Tensor, "B"],
        memory: TensorRecord,
        *,
        forced_weights: Float[Tensor, "B L H S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[DecoderState, ModelOutput]:
        """Feed the previous tokens, BOS at first, and score the next ones.

        `forced_weights` replace the model's attention weights; NaN leaves the model's own.
        """
        self._check_shape(forced_weights, (tokens.shape[0],))
        previous = self.target_embedding(tokens[:, None], state.position)[:, 0]
        state, step = self.decoder.step(
            state,
            previous,
            _decoder_memory(memory),
            forced_weights=forced_weights,
            need_weights=need_weights,
        )
        logits = self.readout(self._readout_input(step, previous), _pointer_query(step, memory))
        return state, ModelOutput(logits, step.weights)

    def unroll(
        self,
        state: DecoderState,
        tokens: Int[Tensor, "B T"],
        memory: TensorRecord,
        *,
        forced_weights: Float[Tensor, "B T L H S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[DecoderState, ModelOutput]:
        """Feed given tokens and score the token after each of them."""
        if tokens.shape[1] == 0:
            raise InputError(messages.NO_TOKENS)
        self._check_shape(forced_weights, tuple(tokens.shape))
        previous = self.target_embedding(tokens, state.position)
        state, steps = self.decoder.unroll(
            state,
            previous,
            _decoder_memory(memory),
            forced_weights=forced_weights,
            need_weights=need_weights,
        )
        logits = self.readout(self._readout_input(steps, previous), _pointer_query(steps, memory))
        return state, ModelOutput(logits, steps.weights)

    def forward(
        self,
        source: Int[Tensor, "B S"],
        source_mask: Bool[Tensor, "B S"],
        tokens: Int[Tensor, "B T"],
        *,
        need_weights: bool = False,
    ) -> ModelOutput:
        """Score given targets (teacher forcing); `tokens` begin with BOS."""
        memory, state = self.start(source, source_mask)
        return self.unroll(state, tokens, memory, need_weights=need_weights)[1]

    def loss(  # noqa: PLR0913 (a batch alone is five)
        self,
        source: Int[Tensor, "B S"],
        source_mask: Bool[Tensor, "B S"],
        tokens: Int[Tensor, "B T"],
        target: Int[Tensor, "B T"],
        target_mask: Bool[Tensor, "B T"],
        smoothing: float = 0.0,
        *,
        rdrop_alpha: float = 0.0,
    ) -> Float[Tensor, ""]:
        """Return −Σ log p(y_t | y_<t, x) over visible tokens: the loss of the logits of `forward`.

        With R-Drop (`rdrop_alpha`) every sequence is encoded twice, with different dropout.
        """
        if rdrop_alpha:
            repeated = (torch.cat([x, x]) for x in (source, source_mask, tokens))
            logits = self(*repeated).logits
            return rdrop_loss(logits, target, target_mask, smoothing, rdrop_alpha)
        memory, state = self.start(source, source_mask)
        previous = self.target_embedding(tokens, state.position)
        _, steps = self.decoder.unroll(state, previous, _decoder_memory(memory), need_weights=False)
        x, pointer_query = self._readout_input(steps, previous), _pointer_query(steps, memory)
        return self.readout.loss(x, target, target_mask, smoothing, pointer_query)

    def _check_shape(self, forced_weights: Tensor | None, rows: tuple[int, ...]) -> None:
        if forced_weights is None or self.attention_shape is None:
            return
        shape = forced_weights.shape
        if shape[:-1] != (*rows, *self.attention_shape):
            raise InputError(messages.shape_of_forced_weights(shape, rows, self.attention_shape))

    def _readout_input(
        self, step: DecoderStep, previous: Float[Tensor, "B *T E"]
    ) -> Float[Tensor, "B *T X"]:
        """Join the inputs of the readout."""
        parts = [
            previous if name == "previous" else getattr(step, name) for name in self.readout_inputs
        ]
        return torch.cat(parts, dim=-1)


def nonempty_source(
    source: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"]
) -> tuple[Int[Tensor, "B S1"], Bool[Tensor, "B S1"]]:
    """Return the source and its mask, with one hidden position if there is none."""
    _check_padding(mask)
    if source.shape[1]:
        return source, mask
    source = source.new_full((source.shape[0], 1), PAD)
    return source, torch.zeros_like(source, dtype=torch.bool)


def _decoder_memory(memory: TensorRecord) -> TensorRecord:
    """Return the memory of the decoder, without that of the pointer."""
    return memory.decoder_memory if isinstance(memory, PointerMemory) else memory


def _pointer_query(step: DecoderStep, memory: TensorRecord) -> PointerQuery | None:
    return PointerQuery(step.new_state, memory) if isinstance(memory, PointerMemory) else None


def _max_positions(embedding: Embedding) -> int | None:
    return None if embedding.positions is None else embedding.positions.max_length


def _check_padding(mask: Bool[Tensor, "B S"]) -> None:
    # on a GPU this would wait for the device
    if mask.device.type == "cpu" and bool((mask[:, 1:] & ~mask[:, :-1]).any()):
        raise InputError(messages.HOLES_IN_MASK)

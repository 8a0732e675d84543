"""The whole model: p(y | x) = Π_t p(y_t | y_<t, x), from token ids to logits and to the loss.

Padding is right of each line and hidden by the mask. Search is in `regard.search`.
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
    """The logits of each next word, and the weights that led to them where asked for."""

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
        """Where the words are to be."""
        return self.target_embedding.weight.device

    @property
    def attention_shape(self) -> tuple[int, int] | None:
        """How many layers attend, and with how many heads; None without attention."""
        return self.decoder.attention_shape

    @property
    def max_source_length(self) -> int | None:
        """The longest source that has positions everywhere; None if any length will do."""
        score = getattr(getattr(self.decoder, "attention", None), "score", None)
        rows = score.W.out_features if isinstance(score, LocationScore) else None
        limits = [rows, _places(self.source_embedding)]
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def max_target_length(self) -> int | None:
        """The most words that can be fed, BOS among them; None if there is no limit."""
        return _places(self.target_embedding)

    def encode(self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]) -> EncoderOutput:
        """Encode a batch of sources; one hidden position stands for a batch with none at all."""
        source, source_mask = nonempty_source(source, source_mask)
        return self.summarize(self.encoder(self.source_embedding(source), source_mask))

    def summarize(self, encoded: EncoderOutput) -> EncoderOutput:
        """Add the summary, if the model has one, to what the encoder returns."""
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
        words: Int[Tensor, "B"],
        memory: TensorRecord,
        *,
        forced_weights: Float[Tensor, "B L H S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[DecoderState, ModelOutput]:
        """Feed the words just written, BOS at first, and score the next ones.

        Imposed weights are used as they are given; NaN leaves the model's own.
        """
        self._refuse_other_shapes(forced_weights, (words.shape[0],))
        previous = self.target_embedding(words[:, None], state.position)[:, 0]
        state, step = self.decoder.step(
            state,
            previous,
            _looked_at(memory),
            forced_weights=forced_weights,
            need_weights=need_weights,
        )
        logits = self.readout(self._join(step, previous), _pointing(step, memory))
        return state, ModelOutput(logits, step.weights)

    def unroll(
        self,
        state: DecoderState,
        words: Int[Tensor, "B T"],
        memory: TensorRecord,
        *,
        forced_weights: Float[Tensor, "B T L H S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[DecoderState, ModelOutput]:
        """Feed given words and score what follows each of them."""
        if words.shape[1] == 0:
            raise InputError("no words were fed, but a decoder needs one; BOS would do")
        self._refuse_other_shapes(forced_weights, tuple(words.shape))
        previous = self.target_embedding(words, state.position)
        state, steps = self.decoder.unroll(
            state,
            previous,
            _looked_at(memory),
            forced_weights=forced_weights,
            need_weights=need_weights,
        )
        logits = self.readout(self._join(steps, previous), _pointing(steps, memory))
        return state, ModelOutput(logits, steps.weights)

    def forward(
        self,
        source: Int[Tensor, "B S"],
        source_mask: Bool[Tensor, "B S"],
        words: Int[Tensor, "B T"],
        *,
        need_weights: bool = False,
    ) -> ModelOutput:
        """Score given targets word by word (teacher forcing); `words` begin with BOS."""
        memory, state = self.start(source, source_mask)
        return self.unroll(state, words, memory, need_weights=need_weights)[1]

    def loss(  # noqa: PLR0913 (a batch alone is five)
        self,
        source: Int[Tensor, "B S"],
        source_mask: Bool[Tensor, "B S"],
        words: Int[Tensor, "B T"],
        target: Int[Tensor, "B T"],
        target_mask: Bool[Tensor, "B T"],
        smoothing: float = 0.0,
        *,
        rdrop_alpha: float = 0.0,
    ) -> Float[Tensor, ""]:
        """−Σ log p(y_t | y_<t, x), summed over visible tokens: what the logits of `forward` give.

        With R-Drop (`rdrop_alpha`) every line is encoded twice, with different dropout.
        """
        if rdrop_alpha:
            twice = (torch.cat([x, x]) for x in (source, source_mask, words))
            logits = self(*twice).logits
            return rdrop_loss(logits, target, target_mask, smoothing, rdrop_alpha)
        memory, state = self.start(source, source_mask)
        previous = self.target_embedding(words, state.position)
        _, steps = self.decoder.unroll(state, previous, _looked_at(memory), need_weights=False)
        given = self._join(steps, previous), target, target_mask, smoothing
        return self.readout.loss(*given, _pointing(steps, memory))

    def _refuse_other_shapes(self, forced_weights: Tensor | None, rows: tuple[int, ...]) -> None:
        looks = self.decoder.attention_shape
        if forced_weights is None or looks is None or forced_weights.shape[:-1] == (*rows, *looks):
            return
        raise InputError(
            f"forced_weights has the shape {list(forced_weights.shape)}; it must have one row for "
            f"each of {looks[0]} layers and {looks[1]} heads; "
            f"[{', '.join(map(str, (*rows, *looks)))}, S] would do"
        )

    def _join(
        self, step: DecoderStep, previous: Float[Tensor, "B *T E"]
    ) -> Float[Tensor, "B *T X"]:
        """Lay what the readout reads side by side."""
        parts = [
            previous if name == "previous" else getattr(step, name) for name in self.readout_inputs
        ]
        return torch.cat(parts, dim=-1)


def nonempty_source(
    source: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"]
) -> tuple[Int[Tensor, "B S1"], Bool[Tensor, "B S1"]]:
    """Return the source and its mask, with one hidden position if there is none at all."""
    _refuse_holes(mask)
    if source.shape[1]:
        return source, mask
    source = source.new_full((source.shape[0], 1), PAD)
    return source, torch.zeros_like(source, dtype=torch.bool)


def _looked_at(memory: TensorRecord) -> TensorRecord:
    """Return what the decoder itself looks at."""
    return memory.memory if isinstance(memory, PointerMemory) else memory


def _pointing(step: DecoderStep, memory: TensorRecord) -> PointerQuery | None:
    return PointerQuery(step.new_state, memory) if isinstance(memory, PointerMemory) else None


def _places(embedding: Embedding) -> int | None:
    return None if embedding.positions is None else embedding.positions.max_length


def _refuse_holes(mask: Bool[Tensor, "B S"]) -> None:
    # elsewhere this would wait for the device
    if mask.device.type == "cpu" and bool((mask[:, 1:] & ~mask[:, :-1]).any()):
        raise InputError(
            "source_mask shows a position behind a hidden one, but padding must stand to the right "
            "of each line; source_mask(lengths, S) of regard.nn.masks would do"
        )

"""Writing what stands in the source: a second attention that points at words to copy.

The decoder's own attention finds what to think of; this one finds what to write as it stands, so
that it works with every decoder and leaves the decoder's fast paths alone.
"""

from dataclasses import dataclass
from typing import NamedTuple, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.nn.encoder_output import EncoderOutput
from regard.nn.masks import masked_softmax
from regard.nn.scores import BilinearScore
from regard.nn.tensor_record import TensorRecord
from regard.special_tokens import PAD


@dataclass(frozen=True)
class PointerMemory(TensorRecord):
    """A decoder's memory, and beside it the source as words of the target."""

    memory: TensorRecord
    keys: Float[Tensor, "B S A"]
    words: Int[Tensor, "B S"]
    mask: Bool[Tensor, "B S"]


class PointerQuery(NamedTuple):
    """Who asks, and what may be copied."""

    query: Float[Tensor, "B *T D"]
    seen: PointerMemory


@final
class PointerGenerator(nn.Module):
    """A word is written from the vocabulary or copied (See et al. 2017, eq. 8 and 9).

    p(w) = g p_vocabulary(w) + (1 − g) Σ_{i: x_i = w} α_i
    α = softmax_i(sᵀ W h_i)      g = σ(w_g · [inputs of the readout] + b_g)

    s is the new state, h_i what the encoder shows, and x_i the source's word as one of the target,
    where it has one; other positions are not pointed at, and where there are no others, g = 1.
    """

    words: Tensor

    def __init__(self, state_size: int, key_size: int, input_size: int, source_size: int) -> None:
        super().__init__()
        self.score = BilinearScore(state_size, key_size)
        self.gate = nn.Linear(input_size, 1)
        # the target's id of every source word, PAD for those that the target does not have; known
        # from the vocabularies, so that a file need not hold it
        nothing = torch.full((source_size,), PAD, dtype=torch.int64)
        self.register_buffer("words", nothing, persistent=False)

    def start(
        self, memory: TensorRecord, encoded: EncoderOutput, source: Int[Tensor, "B S"]
    ) -> PointerMemory:
        """Prepare a source once."""
        words = nn.functional.pad(
            self.words[source], (0, encoded.mask.shape[1] - source.shape[1]), value=PAD
        )
        return PointerMemory(
            memory, self.score.prepare(encoded.keys), words, encoded.mask & (words != PAD)
        )

    def forward(
        self, logits: Float[Tensor, "B *T V"], x: Float[Tensor, "B *T X"], pointing: PointerQuery
    ) -> Float[Tensor, "B *T V"]:
        """Return log p of every word."""
        query, seen = pointing
        scores = self.score(query if query.dim() == 3 else query[:, None], seen.keys)
        wide = torch.promote_types(scores.dtype, torch.float32)
        # at least in single precision, whatever the rest of the model is computed in
        with torch.autocast(logits.device.type, enabled=False):
            weights = masked_softmax(scores.to(wide), seen.mask[:, None])
            # a product, not sums scattered over the words: a GPU adds those up in any order
            spelled = nn.functional.one_hot(seen.words, logits.shape[-1]).to(wide)
            copied = (weights @ spelled).view(logits.shape)
            share = torch.sigmoid(self.gate(x).to(wide))
            nothing = ~seen.mask.any(dim=1).view(-1, *[1] * (share.dim() - 1))
            share = share.masked_fill(nothing, 1.0)
            written = logits.to(wide).softmax(dim=-1)
            p = share * written + (1 - share) * copied
            return p.clamp_min(torch.finfo(wide).tiny).log()

"""The pointer-generator: a second attention that copies tokens of the source.

It is separate from the decoder's own attention. Therefore it works with every decoder, and the
decoder's fast implementations still run.
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
    """A decoder's memory, with the keys and the target ids of the tokens that may be copied."""

    decoder_memory: TensorRecord
    keys: Float[Tensor, "B S A"]
    target_ids: Int[Tensor, "B S"]
    mask: Bool[Tensor, "B S"]


class PointerQuery(NamedTuple):
    """The query of the pointer, and the memory that it attends to."""

    query: Float[Tensor, "B *T D"]
    memory: PointerMemory


@final
class PointerGenerator(nn.Module):
    """A token is generated from the vocabulary or copied (See et al. 2017, eq. 8 and 9).

    p(w) = g p_vocabulary(w) + (1 − g) Σ_{i: x_i = w} α_i
    α = softmax_i(sᵀ W h_i)      g = σ(w_g · [inputs of the readout] + b_g)

    s is the new state, h_i the encoder's output, and x_i the source token as a token of the target.
    Source tokens that the target vocabulary lacks are masked; if all are, g = 1.
    """

    target_ids: Tensor

    def __init__(self, state_size: int, key_size: int, input_size: int, source_size: int) -> None:
        super().__init__()
        self.score = BilinearScore(state_size, key_size)
        self.gate = nn.Linear(input_size, 1)
        # target id of every source token, PAD if the target has no such token; not saved, because
        # the vocabularies determine it
        padding = torch.full((source_size,), PAD, dtype=torch.int64)
        self.register_buffer("target_ids", padding, persistent=False)

    def start(
        self, memory: TensorRecord, encoded: EncoderOutput, source: Int[Tensor, "B S"]
    ) -> PointerMemory:
        """Prepare a source, once per batch."""
        padding = 0, encoded.mask.shape[1] - source.shape[1]
        target_ids = nn.functional.pad(self.target_ids[source], padding, value=PAD)
        mask = encoded.mask & (target_ids != PAD)
        return PointerMemory(memory, self.score.prepare(encoded.keys), target_ids, mask)

    def forward(
        self,
        logits: Float[Tensor, "B *T V"],
        x: Float[Tensor, "B *T X"],
        pointer_query: PointerQuery,
    ) -> Float[Tensor, "B *T V"]:
        """Return log p of every token."""
        query, memory = pointer_query
        scores = self.score(query if query.dim() == 3 else query[:, None], memory.keys)
        wide = torch.promote_types(scores.dtype, torch.float32)
        # at least in single precision, whatever the rest of the model is computed in
        with torch.autocast(logits.device.type, enabled=False):
            weights = masked_softmax(scores.to(wide), memory.mask[:, None])
            # a product, not scatter_add: a GPU adds up scattered numbers in any order
            one_hot = nn.functional.one_hot(memory.target_ids, logits.shape[-1]).to(wide)
            p_copy = (weights @ one_hot).view(logits.shape)
            g = torch.sigmoid(self.gate(x).to(wide))
            nothing_to_copy = ~memory.mask.any(dim=1).view(-1, *[1] * (g.dim() - 1))
            g = g.masked_fill(nothing_to_copy, 1.0)
            p_vocabulary = logits.to(wide).softmax(dim=-1)
            p = g * p_vocabulary + (1 - g) * p_copy
            return p.clamp_min(torch.finfo(wide).tiny).log()

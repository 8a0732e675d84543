"""Self-attention of encoder and decoder: the weights of every layer and head, along given tokens.

A search does not keep these weights, and the encoder never forms them. They are computed
afterwards, by a copy of the model with hooks: whoever does not ask for them pays nothing.
"""

import copy
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.models.seq2seq import Seq2Seq
from regard.nn.attention import MultiHeadAttention
from regard.special_tokens import BOS

NAME = "self_attention"
"""The attribute of a block that holds its self-attention."""

Weights = Float[np.ndarray, "Q L H Q"]


class SelfAttentionWeights(NamedTuple):
    """Who looked at whom on one side, laid out as query, layer, head, key.

    The encoder's queries and keys are the source tokens. Query t of the decoder is the step that
    writes token t, the last one EOS; its keys are the tokens fed so far: BOS first, then token 0.
    None for a side without self-attention.
    """

    encoder: Weights | None
    decoder: Weights | None


class SelfAttentionShapes(NamedTuple):
    """The numbers of layers and heads of each side's self-attention; None without it."""

    encoder: tuple[int, int] | None
    decoder: tuple[int, int] | None


def self_attention_shapes(model: Seq2Seq) -> SelfAttentionShapes:
    """Return which sides of a model have self-attention, and how much."""

    def shape(part: nn.Module) -> tuple[int, int] | None:
        layers = _self_attentions(part)
        return (len(layers), layers[0].num_heads) if layers else None

    return SelfAttentionShapes(shape(model.encoder), shape(model.decoder))


@torch.inference_mode()
def self_attention(
    model: Seq2Seq,
    source: Sequence[int],
    token_ids: Sequence[int],
    attention: Float[np.ndarray, "T L H S"] | None = None,
) -> SelfAttentionWeights:
    """Return the self-attention along a source and its target, which need not end in EOS.

    `attention` is what the decoder paid to the source: it is forced, so that a pinned translation
    has the self-attention that it was made with.
    """
    shapes = self_attention_shapes(model)
    if shapes == (None, None):
        return SelfAttentionWeights(None, None)
    tensors: list[Any] = [*model.parameters(), *model.buffers()]
    # its hooks see no call of another thread
    recorder = copy.deepcopy(model, {id(tensor): tensor for tensor in tensors})
    encoder_weights, decoder_weights = (
        _record(part) for part in (recorder.encoder, recorder.decoder)
    )
    ids = torch.tensor([list(source)], device=model.device)
    memory, state = recorder.start(ids, torch.ones_like(ids, dtype=torch.bool))
    if shapes.decoder is not None:
        previous = torch.tensor([[BOS, *token_ids]], device=model.device)
        forced = None if attention is None else torch.tensor(attention, device=model.device)[None]
        recorder.unroll(state, previous, memory, forced_weights=forced)
    return SelfAttentionWeights(_stack(encoder_weights), _stack(decoder_weights))


def _self_attentions(part: nn.Module) -> list[MultiHeadAttention]:
    """Return the self-attentions of an encoder or decoder, in the order of its layers."""
    return [
        module
        for name, module in part.named_modules()
        if name.rpartition(".")[2] == NAME and isinstance(module, MultiHeadAttention)
    ]


def _record(part: nn.Module) -> list[Float[Tensor, "B H Q Q"]]:
    """Make every self-attention compute its weights, and return the list that will hold them."""
    recorded: list[Float[Tensor, "B H Q Q"]] = []
    for module in _self_attentions(part):
        module.register_forward_pre_hook(_need_weights, with_kwargs=True)
        module.register_forward_hook(partial(_append_weights, recorded))
    return recorded


def _need_weights(
    module: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return arguments, keywords | {"need_weights": True}


def _append_weights(
    recorded: list[Tensor], module: nn.Module, arguments: object, output: tuple[Tensor, Tensor]
) -> None:
    recorded.append(output[1])


def _stack(layers: list[Float[Tensor, "1 H Q Q"]]) -> Weights | None:
    if not layers:
        return None
    weights = torch.cat(layers).float().permute(2, 0, 1, 3)
    return weights.contiguous().cpu().numpy()

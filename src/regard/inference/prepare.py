"""Prepare a model for inference: select the fastest step decoder that computes the same.

A product of few rows with a matrix of many is faster by a third or more if the matrix is
column-major: W x then reads it in the order in which it is stored. The layout also changes how a
product rounds, so every search uses such a copy, whatever else the model is used for.
"""

import copy
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from torch import nn

from regard.decoders.bahdanau import BahdanauDecoder
from regard.decoders.luong import LuongDecoder
from regard.decoders.transformer import TransformerDecoder
from regard.inference.fused_recurrent import FusedBahdanauStep, FusedLuongStep
from regard.inference.fused_transformer import FusedTransformerStep
from regard.inference.parallel import single_thread
from regard.inference.step_decoder import FusedStepDecoder, ReferenceStepDecoder, StepDecoder
from regard.inference.table_encoder import MAX_TABLE_TOKENS, TableEncoder
from regard.kernels import Decision
from regard.models.seq2seq import Seq2Seq

FUSED_STEPS: dict[type, type[FusedStepDecoder]] = {
    BahdanauDecoder: FusedBahdanauStep,
    LuongDecoder: FusedLuongStep,
    TransformerDecoder: FusedTransformerStep,
}


class PreparedModel(NamedTuple):
    """What decodes a model: step by step in a search, or along given tokens.

    Without a faster one, `decoder` is `reference`.
    """

    decoder: StepDecoder
    reference: ReferenceStepDecoder

    @property
    def model(self) -> Seq2Seq:
        """The copy of the model whose weights are laid out for decoding."""
        return self.reference.model


_prepared: WeakKeyDictionary[Seq2Seq, tuple[Any, PreparedModel]] = WeakKeyDictionary()


def prepare_for_inference(model: Seq2Seq) -> PreparedModel:
    """Return the model prepared: same weights, matrices of decoder and readout column-major.

    All other weights are shared with the model. If no weight needs a gradient, the prepared model
    is cached until one changes. If one does, the model is prepared at each call, since not every
    optimizer counts what it changes. A GPU chooses layouts itself.
    """
    if model.device.type != "cpu":
        reference = ReferenceStepDecoder(model)
        return PreparedModel(reference, reference)
    weights = list(model.parameters())
    if any(weight.requires_grad for weight in weights):
        return _prepare(model)
    version = model.training, [(weight.data_ptr(), _version(weight)) for weight in weights]
    if model not in _prepared or _prepared[model][0] != version:
        _prepared[model] = version, _prepare(model)
    return _prepared[model][1]


def explain_decoding(model: Seq2Seq, device: str) -> dict[str, Decision]:
    """Return what runs for each part of a model on a device, and why; prepare nothing."""
    if device != "cpu":
        reason = f"faster ones are for a CPU, but the model is on {device}"
        return {
            "source encoder": Decision("the model's own", reason),
            "decoder step": Decision("reference", reason),
            "decoder matrices": Decision("as they are", "a GPU chooses layouts itself"),
        }
    encoder = Decision("table lookup", "one recurrent layer, few tokens")
    if why_not := TableEncoder.why_not(model):
        encoder = Decision("the model's own", why_not)
    fused, reason = choose_step(model)
    name = "reference" if fused is None else fused.__name__
    decisions = {"source encoder": encoder, "decoder step": Decision(name, reason)}
    if fused in (FusedBahdanauStep, FusedLuongStep):
        num_tokens = len(model.target_embedding.weight)
        few = num_tokens <= MAX_TABLE_TOKENS
        how = "table lookup" if few else "a product each step"
        limit = f"{num_tokens:,} tokens, at most {MAX_TABLE_TOKENS:,} have a table"
        decisions["token projections"] = Decision(how, limit)
    layout = Decision("column-major copy", "products of few rows read them in order")
    return {**decisions, "decoder matrices": layout}


def choose_step(model: Seq2Seq) -> tuple[type[FusedStepDecoder] | None, str]:
    """Return the fused step of a model, None for the reference, and why."""
    if model.training:
        return None, "the model is in training mode"
    if model.readout.pointer is not None:
        return None, "its readout copies tokens of the source"
    fused = FUSED_STEPS.get(type(model.decoder))
    if fused is None:
        return None, f"{type(model.decoder).__name__} has no fused step"
    why_not = fused.why_not(model)
    return (fused, "precomputed and joined products") if why_not is None else (None, why_not)


def _prepare(model: Seq2Seq) -> PreparedModel:
    weights_and_buffers: list[Any] = [*model.parameters(), *model.buffers()]
    column_major = copy.deepcopy(model, {id(tensor): tensor for tensor in weights_and_buffers})
    for part in (column_major.decoder, column_major.readout):
        for module in part.modules():
            for name, weight in module.named_parameters(recurse=False):
                if weight.dim() == 2:
                    # its shape stays, and with it whatever a module derives from it
                    columns = weight.detach().t().contiguous().t()
                    setattr(module, name, nn.Parameter(columns, requires_grad=False))
    # products are precomputed here, and those of several threads round differently
    with single_thread(model.device):
        table = TableEncoder(column_major) if TableEncoder.why_not(column_major) is None else None
        reference = ReferenceStepDecoder(column_major, table)
        fused, _ = choose_step(column_major)
        decoder = reference if fused is None else fused(column_major, table)
        return PreparedModel(decoder, reference)


def _version(weight: nn.Parameter) -> int:
    # tensors created in inference mode count no changes
    return 0 if weight.is_inference() else weight._version

"""A model as it is decoded: products done ahead, and matrices as decoding likes them to lie.

A product of few rows with a matrix of many is faster by a third or more where the matrix lies
column by column: W x is then read in the order in which it is stored. How it lies also changes
how a product rounds, so that every search uses such a copy, whatever the model is otherwise for.
"""

import copy
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from torch import nn

from regard.models.ahead import ahead
from regard.models.reader import reader
from regard.models.seq2seq import Seq2Seq
from regard.models.stepping import Ahead
from regard.search.threads import one_thread


class Laid(NamedTuple):
    """A copy of a model, and what takes its steps in a search: the copy, or something faster."""

    model: Seq2Seq
    steps: Seq2Seq | Ahead


_laid: WeakKeyDictionary[Seq2Seq, tuple[Any, Laid]] = WeakKeyDictionary()


def laid_out(model: Seq2Seq) -> Laid:
    """Return the model to decode with: same weights, those of the decoder's products laid anew.

    Everything else is the model's own, not a copy. Of a model whose weights need no gradients it is
    kept; one that may still learn is laid anew each time, since not every optimizer tells of what
    it changes. A GPU lays things as it likes itself.
    """
    if model.device.type != "cpu":
        return Laid(model, model)
    weights = list(model.parameters())
    if any(weight.requires_grad for weight in weights):
        return _copy(model)
    state = model.training, [(weight.data_ptr(), _version(weight)) for weight in weights]
    if model not in _laid or _laid[model][0] != state:
        _laid[model] = state, _copy(model)
    return _laid[model][1]


def _copy(model: Seq2Seq) -> Laid:
    own: list[Any] = [*model.parameters(), *model.buffers()]
    laid = copy.deepcopy(model, {id(tensor): tensor for tensor in own})
    for part in (laid.decoder, laid.readout):
        for module in part.modules():
            for name, weight in module.named_parameters(recurse=False):
                if weight.dim() == 2:
                    # its shape stays, and with it what every module makes of it
                    columns = weight.detach().t().contiguous().t()
                    setattr(module, name, nn.Parameter(columns, requires_grad=False))
    # products are done ahead here, and those of several threads round in another way
    with one_thread(model.device):
        laid.reader = reader(laid.encoder, laid.source_embedding)
        return Laid(laid, ahead(laid) or laid)


def _version(weight: nn.Parameter) -> int:
    # what was made for inference alone counts no changes
    return 0 if weight.is_inference() else weight._version

"""Initial weights of embeddings and other matrices of rows."""

import torch
from torch import nn


def normal_parameter(*shape: int) -> nn.Parameter:
    """Return a parameter of normal numbers with variance 1 / width: rows of length 1 on average.

    On the meta device there are no numbers, and `normal_` would load all of torch's compiler: a
    second more before any model file is read.
    """
    weight = torch.empty(shape)
    if not weight.is_meta:
        weight.normal_().mul_(shape[-1] ** -0.5)
    return nn.Parameter(weight)

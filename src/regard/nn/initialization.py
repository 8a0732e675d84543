"""First weights of what is looked up row by row."""

import torch
from torch import nn


def normal_parameter(*shape: int) -> nn.Parameter:
    """Draw rows whose length is 1 on average, each number with the variance 1 / width.

    On the meta device there is nothing to draw, and trying would load all of torch's compiler: a
    second more before any model file is read.
    """
    numbers = torch.empty(shape)
    if not numbers.is_meta:
        numbers.normal_().mul_(shape[-1] ** -0.5)
    return nn.Parameter(numbers)

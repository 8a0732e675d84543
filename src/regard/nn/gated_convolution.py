"""The gated convolution (GLU) of ConvS2S, and the projection between two widths."""

from typing import final

from jaxtyping import Float
from torch import Tensor, nn

from regard.nn.dropout import Dropout


@final
class GatedConvolution(nn.Module):
    """(GLU(conv_k h) + h)·√½, GLU(a, b) = a∘σ(b) (Gehring et al. 2017, §3.2).

    The caller pads the input.
    """

    def __init__(self, size: int, kernel_size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.convolution = nn.Conv1d(size, 2 * size, kernel_size)
        self.dropout = Dropout(dropout)

    def forward(
        self, padded: Float[Tensor, "B P D"], h: Float[Tensor, "B T D"]
    ) -> Float[Tensor, "B T D"]:
        """Convolve a padded line, k − 1 longer than h, and add h."""
        gated = self.convolution(self.dropout(padded).mT)
        return (nn.functional.glu(gated, dim=1).mT + h) * 0.5**0.5


def projection_or_identity(input_size: int, output_size: int) -> nn.Module:
    """Return a linear projection if the sizes differ, otherwise the identity."""
    if input_size == output_size:
        return nn.Identity()
    return nn.Linear(input_size, output_size, bias=False)

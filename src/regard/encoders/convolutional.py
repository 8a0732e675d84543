"""The encoder of gated convolutions (Gehring et al. 2017)."""

from typing import final

from jaxtyping import Bool, Float
from torch import Tensor, nn
from typing_extensions import override

from regard.encoders.base import Encoder
from regard.nn.encoder_output import EncoderOutput
from regard.nn.gated_convolution import GatedConvolution, projection_or_identity
from regard.nn.masks import last_visible


@final
class ConvolutionalEncoder(Encoder):
    """z^l = (GLU(conv_k z^{l−1}) + z^{l−1})·√½, z^0 = e; keys z, values z + e (§3.2, §3.3).

    If the widths of e and z differ, linear maps connect them, as in the paper.
    """

    def __init__(
        self,
        embedding_size: int,
        hidden_size: int,
        num_layers: int,
        kernel_size: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.key_size = self.value_size = embedding_size
        self.enter = projection_or_identity(embedding_size, hidden_size)
        self.blocks = nn.ModuleList(
            GatedConvolution(hidden_size, kernel_size, dropout) for _ in range(num_layers)
        )
        self.leave = projection_or_identity(hidden_size, embedding_size)
        self.padding = (kernel_size - 1) // 2

    @override
    def forward(self, embedded: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> EncoderOutput:
        z = self.enter(embedded)
        for block in self.blocks:
            # hidden positions must be zero, like the padding of the convolution
            z = z.masked_fill(~mask[..., None], 0.0)
            z = block(nn.functional.pad(z, (0, 0, self.padding, self.padding)), z)
        z = self.leave(z).masked_fill(~mask[..., None], 0.0)
        values = (z + embedded).masked_fill(~mask[..., None], 0.0)
        return EncoderOutput(z, values, mask, last_visible(z, mask, z.new_zeros(z[:, 0].shape)))

"""The Transformer encoder: every token attends to every other (Vaswani et al. 2017)."""

from collections.abc import Callable
from typing import cast, final

from jaxtyping import Bool, Float
from torch import Tensor, nn
from typing_extensions import override

from regard.encoders.base import Encoder
from regard.kernels import Call, Decision
from regard.nn.attention import MultiHeadAttention
from regard.nn.encoder_output import EncoderOutput
from regard.nn.masks import last_visible
from regard.nn.transformer_sublayers import FeedForward, Residual


@final
class TransformerEncoderBlock(nn.Module):
    """Self-attention, then feed-forward, each in its residual (§3.1)."""

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        feed_forward: FeedForward,
        make_residual: Callable[[], Residual],
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.self_attention_residual = make_residual()
        self.feed_forward = feed_forward
        self.feed_forward_residual = make_residual()

    def forward(
        self, x: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]
    ) -> Float[Tensor, "B S D"]:
        """Transform a batch of sequences."""

        def attend(x: Float[Tensor, "B S D"]) -> Float[Tensor, "B S D"]:
            return self.self_attention(
                x, self.self_attention.remember(x, x, mask), need_weights=False
            )[0]

        return self.feed_forward_residual(
            self.self_attention_residual(x, attend), self.feed_forward
        )


@final
class TransformerEncoder(Encoder):
    """A stack of blocks, with a final norm if the blocks are pre-norm."""

    def __init__(
        self,
        model_size: int,
        num_layers: int,
        make_block: Callable[[], TransformerEncoderBlock],
        *,
        pre_norm: bool = False,
    ) -> None:
        super().__init__()
        self.key_size = self.value_size = model_size
        self.blocks = nn.ModuleList(make_block() for _ in range(num_layers))
        self.norm = nn.LayerNorm(model_size) if pre_norm else nn.Identity()

    @override
    def forward(self, embedded: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> EncoderOutput:
        x = embedded
        for block in self.blocks:
            x = block(x, mask)
        x = self.norm(x).masked_fill(~mask[..., None], 0.0)
        return EncoderOutput(x, x, mask, last_visible(x, mask, x.new_zeros(x[:, 0].shape)))

    @override
    def explain(self, call: Call) -> dict[str, Decision]:
        block = cast(TransformerEncoderBlock, self.blocks[0])
        return {"encoder self-attention": block.self_attention.explain(call)}

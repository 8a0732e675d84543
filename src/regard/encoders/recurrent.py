"""The recurrent encoder (Cho, Sutskever, Bahdanau, Luong)."""

from typing import final

from jaxtyping import Bool, Float
from torch import Tensor
from typing_extensions import override

from regard.encoders.base import Encoder
from regard.kernels import Call, Decision
from regard.nn.encoder_output import EncoderOutput
from regard.nn.masks import reverse
from regard.nn.recurrent_stack import RecurrentStack


@final
class RecurrentEncoder(Encoder):
    """h_j = f(x_j, h_{j−1}) from h_0 = 0; with two directions h_j = [→h_j; ←h_j].

    A reversed source is read back to front (Sutskever et al. 2014, §3.3); its states are returned
    in the order of the source.
    """

    def __init__(self, stack: RecurrentStack, *, reversed_source: bool = False) -> None:
        super().__init__()
        self.stack = stack
        self.reversed_source = reversed_source
        self.key_size = self.value_size = stack.output_size

    @override
    def forward(self, embedded: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> EncoderOutput:
        zero = embedded.new_zeros(embedded.shape[0], self.stack.hidden_size)
        x = reverse(embedded, mask) if self.reversed_source else embedded
        initial_state = tuple(cell.state_with_output(zero) for cell in self.stack.layers)
        h, states = self.stack.scan(x, initial_state, mask)
        h = reverse(h, mask) if self.reversed_source else h
        return EncoderOutput(h, h, mask, states[-1].h, states)

    @override
    def explain(self, call: Call) -> dict[str, Decision]:
        return {"encoder": self.stack.explain(call)}

"""Arguments and outputs of ops: a cell's weights, a score's parameters, a recurrence's output."""

from typing import Literal, NamedTuple

from jaxtyping import Float
from torch import Tensor

CellName = Literal["gru_before", "gru_after", "lstm"]


class CellWeights(NamedTuple):
    """The parameters of a cell: input weights, recurrent weights and a bias."""

    W: Float[Tensor, "G I"]
    U: Float[Tensor, "G D"]
    b: Float[Tensor, "G"] | None


class ScoreParameters(NamedTuple):
    """How a state s is scored against a key: vᵀ tanh(W s + key), or s · key without W and v."""

    W: Float[Tensor, "A D"] | None
    v: Float[Tensor, "A"] | None


class RecurrentAttentionOutput(NamedTuple):
    """Outputs and weights of every step of a recurrence with attention, and the last h and c."""

    outputs: Float[Tensor, "B T O"]
    weights: Float[Tensor, "B T S"]
    h: Float[Tensor, "B D"]
    c: Float[Tensor, "B D"] | None

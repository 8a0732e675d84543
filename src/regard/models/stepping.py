"""What takes the steps of a search in a model's place, faster."""

from abc import ABC, abstractmethod
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.models.seq2seq import Scored, Seq2Seq
from regard.models.tiled import Tiled


class Ahead(ABC):
    """What search needs of a model: `Seq2Seq` computes the same, in another order.

    A step takes any whole number of tiles, and no row depends on how many.
    """

    def __init__(self, model: Seq2Seq) -> None:
        self.model = model
        self.device, self.looks = model.device, model.looks
        self.max_source_length = model.max_source_length
        self.max_target_length = model.max_target_length
        self.vocabulary, self.bias = Tiled(model.readout.weight), model.readout.bias

    @abstractmethod
    def start(self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]) -> Any:
        """Read a batch of sources and stand before the first word."""

    @abstractmethod
    def step(
        self,
        state: Any,
        words: Int[Tensor, "B"],
        memory: Any,
        *,
        imposed: Float[Tensor, "B L H S"] | None = None,
    ) -> tuple[Any, Scored]:
        """Feed the words just written and score the next ones."""

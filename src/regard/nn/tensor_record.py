"""Records of tensors that share their first axis: what search moves without looking inside."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import torch
from jaxtyping import Int
from torch import Tensor

# not Self: the shape checker of the test run looks at each method by itself
TensorRecordT = TypeVar("TensorRecordT", bound="TensorRecord")


@dataclass(frozen=True)
class TensorRecord:
    """A record whose tensors all have one row per sentence; None, tuples and records may nest."""

    def gather(self: TensorRecordT, index: Int[Tensor, "R"]) -> TensorRecordT:
        """Return the rows that index names, in its order; a row may be taken more than once."""
        return map_tensors(lambda part: part.index_select(0, index), self)

    def split(self: TensorRecordT, sizes: Sequence[int]) -> list[TensorRecordT]:
        """Cut into records of so many rows each."""
        ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
        return [
            map_tensors(lambda part, end=end, size=size: part[end - size : end], self)
            for end, size in zip(ends, sizes, strict=True)
        ]

    def whole(self: TensorRecordT) -> TensorRecordT:
        """Return the record with each tensor in one block of memory, none a view of a larger."""
        return map_tensors(lambda part: part.contiguous(), self)

    def put(
        self: TensorRecordT,
        places: Int[Tensor, "R"],
        others: TensorRecordT,
        index: Int[Tensor, "R"],
    ) -> TensorRecordT:
        """Write other rows over these, in place."""
        return map_tensors(
            lambda own, other: own.index_copy_(0, places, other.index_select(0, index)),
            self,
            others,
        )

    @classmethod
    def join(cls: type[TensorRecordT], parts: Sequence[TensorRecordT]) -> TensorRecordT:
        """Lay records under each other: the opposite of `split`."""
        return map_tensors(lambda *rows: torch.cat(rows), *parts)


def map_tensors(function: Callable[..., Tensor], *values: Any) -> Any:
    """Apply a function to the tensors that stand at the same place in each record."""
    first = values[0]
    if first is None:
        if any(value is not None for value in values):
            raise ValueError("records cannot be joined where only some hold a part")
        return None
    if isinstance(first, Tensor):
        return function(*values)
    if isinstance(first, tuple):
        return tuple(map_tensors(function, *parts) for parts in zip(*values, strict=True))
    names = [field.name for field in fields(first)]
    return type(first)(
        *(map_tensors(function, *(getattr(v, name) for v in values)) for name in names)
    )

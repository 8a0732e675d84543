"""Records of tensors that share their first axis, which search reorders as a whole."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import torch
from jaxtyping import Int
from torch import Tensor

from regard.nn import messages

# not Self: the shape checker of the test run checks each method by itself
TensorRecordT = TypeVar("TensorRecordT", bound="TensorRecord")


@dataclass(frozen=True)
class TensorRecord:
    """A record whose tensors all have one row per sentence; None, tuples and records may nest."""

    def gather(self: TensorRecordT, index: Int[Tensor, "R"]) -> TensorRecordT:
        """Return the rows that index names, in its order; a row may occur more than once."""
        return map_tensors(lambda part: part.index_select(0, index), self)

    def split(self: TensorRecordT, sizes: Sequence[int]) -> list[TensorRecordT]:
        """Split into records of these numbers of rows."""
        ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
        return [
            map_tensors(lambda part, end=end, size=size: part[end - size : end], self)
            for end, size in zip(ends, sizes, strict=True)
        ]

    def contiguous(self: TensorRecordT) -> TensorRecordT:
        """Return the record with contiguous tensors."""
        return map_tensors(lambda part: part.contiguous(), self)

    def put(
        self: TensorRecordT,
        rows: Int[Tensor, "R"],
        others: TensorRecordT,
        index: Int[Tensor, "R"],
    ) -> TensorRecordT:
        """Overwrite these rows by the rows of others that index names, in place."""
        return map_tensors(
            lambda own, other: own.index_copy_(0, rows, other.index_select(0, index)),
            self,
            others,
        )

    @classmethod
    def join(cls: type[TensorRecordT], parts: Sequence[TensorRecordT]) -> TensorRecordT:
        """Join records along the first axis: the opposite of `split`."""
        return map_tensors(lambda *rows: torch.cat(rows), *parts)


def map_tensors(function: Callable[..., Tensor], *records: Any) -> Any:
    """Apply a function to the tensors of the same field in each record."""
    first = records[0]
    if first is None:
        if any(record is not None for record in records):
            raise ValueError(messages.UNEQUAL_RECORDS)
        return None
    if isinstance(first, Tensor):
        return function(*records)
    if isinstance(first, tuple):
        return tuple(map_tensors(function, *parts) for parts in zip(*records, strict=True))
    names = [field.name for field in fields(first)]
    return type(first)(
        *(map_tensors(function, *(getattr(record, name) for record in records)) for name in names)
    )

"""Rows of a corpus as padded tensors. No other module of this package needs torch."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Bool, Int64
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from regard.data.corpus import Corpus
from regard.special_tokens import BOS, EOS, PAD


@final
@dataclass(frozen=True, eq=False)
class Batch:
    """Lines of a batch, padded on the right; masks are True except at padding.

    fed = BOS y_1 … y_n      target = y_1 … y_n EOS
    """

    source: Int64[Tensor, "B S"]
    source_mask: Bool[Tensor, "B S"]
    fed: Int64[Tensor, "B T"]
    target: Int64[Tensor, "B T"]
    target_mask: Bool[Tensor, "B T"]

    @property
    def num_tokens(self) -> int:
        """Count the target tokens, EOS included; for a batch on a device, this waits for it."""
        return int(self.target_mask.sum())

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of rows, source length and target length, padding included."""
        return *self.source.shape, self.target.shape[1]

    def padded_to(self, rows: int, source: int, target: int) -> "Batch":
        """Return the batch padded to a larger shape; the masks hide the padding."""
        B, S, T = self.shape
        to_source, to_target = (0, source - S, 0, rows - B), (0, target - T, 0, rows - B)
        return Batch(
            pad(self.source, to_source, value=PAD),
            pad(self.source_mask, to_source),
            pad(self.fed, to_target, value=PAD),
            pad(self.target, to_target, value=PAD),
            pad(self.target_mask, to_target),
        )

    def to(self, device: torch.device | str) -> "Batch":
        """Return the batch on a device."""
        return Batch(*(getattr(self, field.name).to(device) for field in fields(self)))


def make_batch(corpus: Corpus, indexes: Sequence[int] | NDArray[Any]) -> Batch:
    """Read rows of a corpus and pad them to tensors."""
    rows = np.asarray(indexes)
    sources, targets = corpus.read(rows)
    source, source_mask = _pad(sources, corpus.source_lengths[rows])
    lengths = corpus.target_lengths[rows]
    target, target_mask = _pad(np.insert(targets, np.cumsum(lengths), EOS), lengths + 1)
    fed = torch.full_like(target, BOS)
    # after the last token comes PAD, not EOS
    fed[:, 1:] = target[:, :-1].masked_fill(~target_mask[:, 1:], PAD)
    return Batch(source, source_mask, fed, target, target_mask)


def _pad(
    lines: NDArray[Any], lengths: NDArray[Any]
) -> tuple[Int64[Tensor, "B S"], Bool[Tensor, "B S"]]:
    """Pad lines to a tensor and its mask; an empty line still has one position."""
    mask = np.arange(max(1, lengths.max())) < lengths[:, None]
    ids = np.full(mask.shape, PAD, dtype=np.int64)
    ids[mask] = lines
    return torch.from_numpy(ids), torch.from_numpy(mask)

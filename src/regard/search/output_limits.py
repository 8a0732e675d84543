"""What the lines of a batch may write: prefix, lengths, banned words, constraint.

The end is forced where a line has reached its greatest length.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.search.options import SearchOptions
from regard.search.ranking import NEVER
from regard.search.request import Request
from regard.special_tokens import BOS, EOS, PAD

FREE = -1
"""The exact length of a line that may have any."""


class OutputLimits:
    """Lengths, prefixes and the constraint of every line, side by side."""

    def __init__(
        self,
        requests: Sequence[Request],
        options: SearchOptions,
        max_positions: int | None,
        device: torch.device,
    ) -> None:
        """Read the requests; `max_positions` is the most words the models have positions for."""
        config, self.constraint = options.config, options.constraint
        self.requests = requests
        self.prefixes = np.array([len(request.prefix) for request in requests])
        self.exact = np.array(
            [self._exact_length(request, config.same_length) for request in requests]
        )
        longest = np.where(self.exact == FREE, config.max_length, self.exact)
        longest = np.maximum(longest, self.prefixes)
        self.longest = longest if max_positions is None else np.minimum(longest, max_positions)
        self.shortest = np.where(self.exact == FREE, config.min_length, self.exact)
        self.never = torch.tensor([PAD, BOS, *sorted(options.banned)], device=device)

    def _exact_length(self, request: Request, same_length: bool) -> int:
        length = None if self.constraint is None else self.constraint.length(request)
        if length is None:
            return len(request.source) if same_length else FREE
        return length

    def apply(
        self,
        scores: Float[Tensor, "B W V"],
        lines: Int[np.ndarray, "B"],
        position: int,
        written: Int[np.ndarray, "B W T"],
    ) -> Float[Tensor, "B W V"]:
        """Make impossible, in place, whatever may not stand at a position of these lines.

        `written` are the words so far, of every slot, where there is a constraint.
        """
        at_end = position >= self.longest[lines]
        forced = at_end | (position < self.prefixes[lines])
        constrained = self._forced_words(lines, position, forced)
        forced[list(constrained)] = True
        here = only = scores_of_forced = None
        if forced.any():
            places = forced.nonzero()[0]
            words = [
                EOS if at_end[p] else self._due(lines[p], position, constrained.get(p))
                for p in places.tolist()
            ]
            here = torch.from_numpy(places).to(scores.device)
            only = torch.tensor(words, device=scores.device)
            # what must be written may be banned elsewhere
            scores_of_forced = scores[here, :, only]
        scores.index_fill_(-1, self.never, NEVER)
        if scores_of_forced is not None:
            scores[here] = NEVER
            scores[here, :, only] = scores_of_forced
        early = (~forced & (position < self.shortest[lines])).nonzero()[0]
        if len(early):
            scores[torch.from_numpy(early).to(scores.device), :, EOS] = NEVER
        if self.constraint is not None:
            self._restrict(scores, lines, position, written, (~forced).nonzero()[0])
        return scores

    def _forced_words(
        self, lines: Int[np.ndarray, "B"], position: int, forced: Bool[np.ndarray, "B"]
    ) -> dict[int, int]:
        """Return the words that the constraint forces, by the place of their line."""
        if self.constraint is None:
            return {}
        words = {
            place: self.constraint.forced_word(self.requests[lines[place]], position)
            for place in (~forced).nonzero()[0].tolist()
        }
        return {place: word for place, word in words.items() if word is not None}

    def _due(self, line: int, position: int, constrained: int | None) -> int:
        """Return the word that the constraint forces, or else the prefix has there."""
        return self.requests[line].prefix[position] if constrained is None else constrained

    def _restrict(
        self,
        scores: Float[Tensor, "B W V"],
        lines: Int[np.ndarray, "B"],
        position: int,
        written: Int[np.ndarray, "B W T"],
        places: Int[np.ndarray, "F"],
    ) -> None:
        """Let the constraint restrict the lines whose word is not forced."""
        if self.constraint is None or not len(places):
            return
        here = torch.from_numpy(places).to(scores.device)
        requests = [self.requests[line] for line in lines[places]]
        free = scores[here]
        self.constraint.restrict(free, requests, position, written[places])
        scores[here] = free

    def cut(
        self,
        log_probs: Float[Tensor, "B W V"],
        lines: Int[np.ndarray, "B"],
        position: int,
    ) -> Bool[np.ndarray, "B W"]:
        """Whether an end there is forced: the model would rather have gone on, or had to."""
        cut = np.zeros(log_probs.shape[:2], dtype=bool)
        whole = position == self.exact[lines]
        places = ((position >= self.longest[lines]) & ~whole).nonzero()[0]
        if not len(places):
            return cut
        # what may not be written in any case is nothing to go on with
        here = torch.from_numpy(places).to(log_probs.device)
        writable = log_probs[here].index_fill_(-1, self.never, NEVER)
        rather = (writable > writable[..., EOS, None]).any(dim=-1).cpu().numpy()
        due = np.maximum(self.shortest, self.prefixes)[lines[places]]
        cut[places] = rather | (position < due)[:, None]
        return cut

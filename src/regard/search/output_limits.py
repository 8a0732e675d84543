"""Limits on the output of each line: prefix, lengths, banned tokens, constraint.

The end is forced when a line has reached its maximum length.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.search.options import SearchOptions
from regard.search.request import SearchRequest
from regard.search.top_k import NEG_INF
from regard.special_tokens import BOS, EOS, PAD

ANY_LENGTH = -1
"""The exact length of a line without one."""


class OutputLimits:
    """Lengths, prefixes and the constraint of every line."""

    def __init__(
        self,
        requests: Sequence[SearchRequest],
        options: SearchOptions,
        max_positions: int | None,
        device: torch.device,
    ) -> None:
        """Read the requests; `max_positions` is the maximum length that the models support."""
        config, self.constraint = options.config, options.constraint
        self.requests = requests
        self.prefix_lengths = np.array([len(request.prefix) for request in requests])
        self.exact_lengths = np.array(
            [self._exact_length(request, config.same_length) for request in requests]
        )
        any_length = self.exact_lengths == ANY_LENGTH
        max_lengths = np.where(any_length, config.max_length, self.exact_lengths)
        max_lengths = np.maximum(max_lengths, self.prefix_lengths)
        self.max_lengths = (
            max_lengths if max_positions is None else np.minimum(max_lengths, max_positions)
        )
        self.min_lengths = np.where(any_length, config.min_length, self.exact_lengths)
        self.forbidden = torch.tensor([PAD, BOS, *sorted(options.banned)], device=device)

    def _exact_length(self, request: SearchRequest, same_length: bool) -> int:
        length = None if self.constraint is None else self.constraint.length(request)
        if length is None:
            return len(request.source) if same_length else ANY_LENGTH
        return length

    def apply(
        self,
        scores: Float[Tensor, "B W V"],
        lines: Int[np.ndarray, "B"],
        position: int,
        generated: Int[np.ndarray, "B W T"],
    ) -> Float[Tensor, "B W V"]:
        """Set to −∞, in place, whatever may not be at a position of these lines.

        `generated` has the tokens of every slot so far, if there is a constraint.
        """
        at_end = position >= self.max_lengths[lines]
        forced = at_end | (position < self.prefix_lengths[lines])
        constrained = self._forced_tokens(lines, position, forced)
        forced[list(constrained)] = True
        indices = token_ids = forced_scores = None
        if forced.any():
            forced_lines = forced.nonzero()[0]
            forced_ids = [
                EOS if at_end[i] else self._required_token(lines[i], position, constrained.get(i))
                for i in forced_lines.tolist()
            ]
            indices = torch.from_numpy(forced_lines).to(scores.device)
            token_ids = torch.tensor(forced_ids, device=scores.device)
            # a forced token may be banned elsewhere
            forced_scores = scores[indices, :, token_ids]
        scores.index_fill_(-1, self.forbidden, NEG_INF)
        if forced_scores is not None:
            scores[indices] = NEG_INF
            scores[indices, :, token_ids] = forced_scores
        too_short = (~forced & (position < self.min_lengths[lines])).nonzero()[0]
        if len(too_short):
            scores[torch.from_numpy(too_short).to(scores.device), :, EOS] = NEG_INF
        if self.constraint is not None:
            self._restrict(scores, lines, position, generated, (~forced).nonzero()[0])
        return scores

    def _forced_tokens(
        self, lines: Int[np.ndarray, "B"], position: int, forced: Bool[np.ndarray, "B"]
    ) -> dict[int, int]:
        """Return the tokens that the constraint forces, by the index of their line."""
        if self.constraint is None:
            return {}
        token_ids = {
            i: self.constraint.forced_token(self.requests[lines[i]], position)
            for i in (~forced).nonzero()[0].tolist()
        }
        return {i: token_id for i, token_id in token_ids.items() if token_id is not None}

    def _required_token(self, line: int, position: int, constrained: int | None) -> int:
        """Return the token that the constraint forces, or else that of the prefix."""
        return self.requests[line].prefix[position] if constrained is None else constrained

    def _restrict(
        self,
        scores: Float[Tensor, "B W V"],
        lines: Int[np.ndarray, "B"],
        position: int,
        generated: Int[np.ndarray, "B W T"],
        free_lines: Int[np.ndarray, "F"],
    ) -> None:
        """Let the constraint restrict the lines whose token is not forced."""
        if self.constraint is None or not len(free_lines):
            return
        indices = torch.from_numpy(free_lines).to(scores.device)
        requests = [self.requests[line] for line in lines[free_lines]]
        restricted = scores[indices]
        self.constraint.restrict(restricted, requests, position, generated[free_lines])
        scores[indices] = restricted

    def truncated(
        self,
        log_probs: Float[Tensor, "B W V"],
        lines: Int[np.ndarray, "B"],
        position: int,
    ) -> Bool[np.ndarray, "B W"]:
        """Whether an end there is forced: another token was likelier, or required."""
        truncated = np.zeros(log_probs.shape[:2], dtype=bool)
        has_exact_length = position == self.exact_lengths[lines]
        ending = ((position >= self.max_lengths[lines]) & ~has_exact_length).nonzero()[0]
        if not len(ending):
            return truncated
        # a token that is always forbidden cannot continue a target
        indices = torch.from_numpy(ending).to(log_probs.device)
        allowed = log_probs[indices].index_fill_(-1, self.forbidden, NEG_INF)
        continues = (allowed > allowed[..., EOS, None]).any(dim=-1).cpu().numpy()
        required = np.maximum(self.min_lengths, self.prefix_lengths)[lines[ending]]
        truncated[ending] = continues | (position < required)[:, None]
        return truncated

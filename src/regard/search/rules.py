"""What the lines of a batch may write: a prefix, so many words, none that is banned."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.search.ranking import NEVER
from regard.search.request import Request, SearchOptions
from regard.symbols import BOS, EOS, PAD


class Rules:
    """Lengths and prefixes of every line, side by side."""

    def __init__(
        self,
        requests: Sequence[Request],
        options: SearchOptions,
        limit: int | None,
        device: torch.device,
    ) -> None:
        """Read the requests; `limit` is the most words the models have places for."""
        self.same_length = options.config.same_length or options.config.same_pattern
        self.same_pattern = options.config.same_pattern
        self.requests = requests
        self.sources = np.array([len(request.source) for request in requests])
        self.wanted = [request.prefix for request in requests]
        self.prefixes = np.array([len(prefix) for prefix in self.wanted])
        alike = np.ones_like(self.sources)
        longest = self.sources if self.same_length else options.config.max_length * alike
        longest = np.maximum(longest, self.prefixes)
        self.longest = longest if limit is None else np.minimum(longest, limit)
        self.shortest = self.sources if self.same_length else options.config.min_length * alike
        self.never = torch.tensor([PAD, BOS, *sorted(options.banned)], device=device)

    def apply(
        self,
        scores: Float[Tensor, "B W V"],
        lines: Int[np.ndarray, "B"],
        position: int,
        written: Int[np.ndarray, "B W T"],
    ) -> Float[Tensor, "B W V"]:
        """Make impossible, in place, whatever may not stand at a position of these lines.

        `written` are the words so far, of every slot, where they count.
        """
        at_end = position >= self.longest[lines]
        forced = at_end | (position < self.prefixes[lines])
        if self.same_pattern:
            forced |= np.array([position in self.requests[line].fixed for line in lines])
        here = only = kept = None
        if forced.any():
            places = forced.nonzero()[0]
            words = [EOS if at_end[at] else self._due(lines[at], position) for at in places]
            here = torch.from_numpy(places).to(scores.device)
            only = torch.tensor(words, device=scores.device)
            # what must be written may be banned elsewhere
            kept = scores[here, :, only]
        scores.index_fill_(-1, self.never, NEVER)
        if kept is not None:
            scores[here] = NEVER
            scores[here, :, only] = kept
        early = (~forced & (position < self.shortest[lines])).nonzero()[0]
        if len(early):
            scores[torch.from_numpy(early).to(scores.device), :, EOS] = NEVER
        if self.same_pattern:
            for place in (~forced).nonzero()[0]:
                request = self.requests[lines[place]]
                self._follow(scores[place], request, position, written[place])
        return scores

    def _due(self, line: int, position: int) -> int:
        """Return the word that a prefix has there, or that is fixed."""
        if position < self.prefixes[line]:
            return self.wanted[line][position]
        return self.requests[line].fixed[position]

    @staticmethod
    def _follow(
        scores: Float[Tensor, "W V"],
        request: Request,
        position: int,
        written: Int[np.ndarray, "W T"],
    ) -> None:
        """Leave the word that stood where the symbol stood before; of a new symbol, new words."""
        earlier = request.repeats[position]
        if earlier < 0:
            scores[:, sorted(request.barred)] = NEVER
        for row, words in zip(scores, written, strict=True):
            if earlier < 0:
                row[words.tolist()] = NEVER
                continue
            word = int(words[earlier])
            kept = row[word].clone()
            row.fill_(NEVER)
            row[word] = kept

    def cut(
        self,
        log_probs: Float[Tensor, "B W V"],
        lines: Int[np.ndarray, "B"],
        position: int,
    ) -> Bool[np.ndarray, "B W"]:
        """Whether an end there is forced: the model would rather have gone on, or had to."""
        cut = np.zeros(log_probs.shape[:2], dtype=bool)
        whole = position == self.sources[lines] if self.same_length else False
        places = ((position >= self.longest[lines]) & ~np.asarray(whole)).nonzero()[0]
        if not len(places):
            return cut
        # what may not be written in any case is nothing to go on with
        here = torch.from_numpy(places).to(log_probs.device)
        writable = log_probs[here].index_fill_(-1, self.never, NEVER)
        rather = (writable > writable[..., EOS, None]).any(dim=-1).cpu().numpy()
        due = np.maximum(self.shortest, self.prefixes)[lines[places]]
        cut[places] = rather | (position < due)[:, None]
        return cut

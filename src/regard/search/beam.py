"""The search itself: one loop for greedy, beam and sampling, over lines of one padded length.

Rows are sentence-major: row b·W + w is hypothesis w of line b. Lines that are done leave.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import InputError
from regard.models.seq2seq import Seq2Seq
from regard.search.line import Line
from regard.search.ranking import NEVER, best, draw
from regard.search.request import Hypothesis, Options, Request
from regard.search.tiles import Tiles, span
from regard.symbols import BOS, EOS, PAD


def search(
    models: Sequence[Seq2Seq],
    requests: Sequence[Request],
    options: Options,
    *,
    batch_size: int = 32,
    progress: Callable[[int], None] | None = None,
) -> list[list[Hypothesis]]:
    """Return the best hypotheses of each line, best first, in the order of the requests."""
    _refuse(models, requests, options)
    groups = defaultdict(list)
    for number, request in enumerate(requests):
        groups[span(len(request.source))].append(number)
    found: list[list[Hypothesis]] = [[] for _ in requests]
    for numbers in groups.values():
        for first in range(0, len(numbers), batch_size):
            chosen = numbers[first : first + batch_size]
            answers = _fitting(models, [requests[number] for number in chosen], options)
            for number, answer in zip(chosen, answers, strict=True):
                found[number] = answer
            if progress is not None:
                progress(len(chosen))
    return found


def _refuse(models: Sequence[Seq2Seq], requests: Sequence[Request], options: Options) -> None:
    limits = [model.max_source_length for model in models]
    limit = min((limit for limit in limits if limit is not None), default=None)
    longest = max((len(request.source) for request in requests), default=0)
    if limit is not None and longest > limit:
        raise InputError(
            f"a source has {longest:,} symbols, but the model has positions for {limit:,}; "
            f"its first {limit:,} would do"
        )
    words = set(range(models[0].readout.weight.shape[0])) - {PAD, BOS, EOS}
    if words <= options.banned:
        raise InputError(
            f"banned holds all {len(words):,} words that the model can write, but one must be left"
        )


def _fitting(
    models: Sequence[Seq2Seq], requests: list[Request], options: Options
) -> list[list[Hypothesis]]:
    """Search a batch, in halves where it does not fit into memory."""
    try:
        with torch.inference_mode():
            return _Search(models, requests, options).run()
    except (MemoryError, RuntimeError) as error:
        if not _no_room(error):
            raise
    # not within `except`, where the error would hold on to what did not fit
    if len(requests) == 1:
        raise InputError(
            f"a source has {len(requests[0].source):,} symbols, but with beam_size = "
            f"{options.beam_size} it must fit into memory; "
            f"{'beam_size = 1' if options.beam_size > 1 else 'a shorter one'} would do"
        )
    half = len(requests) // 2
    first, second = requests[:half], requests[half:]
    return _fitting(models, first, options) + _fitting(models, second, options)


def _no_room(error: Exception) -> bool:
    # on a CPU torch says so in words alone
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "DefaultCPUAllocator" in str(
        error
    )


class _Continuation(NamedTuple):
    """A hypothesis of a line, a word that may follow, and their score together."""

    row: int
    word: int
    total: float


class _Search:
    """Lines of one span on their way, and the rows of their live hypotheses."""

    def __init__(
        self, models: Sequence[Seq2Seq], requests: list[Request], options: Options
    ) -> None:
        self.options = options
        self.W = options.beam_size
        limits = [model.max_target_length for model in models]
        limit = min((limit - 1 for limit in limits if limit is not None), default=None)
        self.lines = [Line.begin(request, options, limit) for request in requests]
        self.active = self.lines
        self.device = models[0].target_embedding.weight.device
        each = torch.arange(len(requests), device=self.device).repeat_interleave(self.W)
        sources = [request.source for request in requests]
        self.tiles = [Tiles.start(model, sources).gather(each) for model in models]
        self.never = torch.tensor([PAD, BOS, *sorted(options.banned)], device=self.device)
        self.num_steps = 0

    def run(self) -> list[list[Hypothesis]]:
        """Step until every line is done; return each line's best."""
        while self.active:
            log_probs, weights = self._step()
            allowed = self._allow(log_probs)
            chosen = self._sampled(allowed) if self.options.temperature > 0 else self._best(allowed)
            shown = None if weights is None else weights.float().cpu().numpy()
            scores = log_probs.cpu()
            for number, (line, continuations) in enumerate(zip(self.active, chosen, strict=True)):
                rows = slice(number * self.W, (number + 1) * self.W)
                line.move(continuations, scores[rows], None if shown is None else shown[rows])
            self.num_steps += 1
            self._advance()
        return [line.answer() for line in self.lines]

    def _step(self) -> tuple[Float[Tensor, "R V"], Float[Tensor, "R L H S"] | None]:
        """Ask every model; an ensemble's probability is the mean of its members'."""
        words = [node.word if node else BOS for line in self.active for node in line.hypotheses]
        fed = torch.tensor(words, device=self.device)
        scored, shown = [], None
        for number, tiles in enumerate(self.tiles):
            self.tiles[number], log_probs, weights = tiles.step(fed, self._pins(tiles))
            scored.append(log_probs)
            shown = weights if number == 0 else shown
        if len(scored) == 1:
            return scored[0], shown
        return torch.stack(scored).logsumexp(dim=0) - float(np.log(len(scored))), shown

    def _pins(self, tiles: Tiles) -> Float[Tensor, "R L H S"] | None:
        """Weights imposed at this step: all on one source position, NaN where none is pinned."""
        looks = tiles.model.decoder.looks
        pinned = {
            number: line.request.pins[self.num_steps]
            for number, line in enumerate(self.active)
            if self.num_steps in line.request.pins
        }
        if not pinned or looks is None:
            return None
        S = span(len(self.active[0].request.source), tiles.model.max_source_length)
        imposed = torch.full((len(self.active), self.W, *looks, S), torch.nan, device=self.device)
        for number, position in pinned.items():
            imposed[number] = 0.0
            imposed[number, ..., position] = 1.0
        return imposed.flatten(0, 1)

    def _allow(self, log_probs: Float[Tensor, "R V"]) -> Float[Tensor, "B W V"]:
        """Leave only words that may come next: a prefix, a length, a ban."""
        kept = log_probs.reshape(len(self.active), self.W, -1)
        allowed = kept.clone()
        allowed[..., self.never] = NEVER
        for number, line in enumerate(self.active):
            word = line.must_write(self.num_steps)
            if word is not None:
                allowed[number] = NEVER
                allowed[number, :, word] = kept[number, :, word]
            elif self.num_steps < line.shortest:
                allowed[number, :, EOS] = NEVER
        return allowed

    def _best(self, allowed: Float[Tensor, "B W V"]) -> Iterator[list[_Continuation]]:
        """Yield each line's likeliest continuations, best first, equals by the lower id."""
        totals = torch.tensor([line.totals for line in self.active], device=self.device)
        together = (totals[..., None] + allowed).flatten(1)
        V = allowed.shape[-1]
        # twice as many as are kept: at most half of them can end in EOS
        for ranked in best(together, 2 * self.W):
            yield [_Continuation(i // V, i % V, total) for i, total in ranked]

    def _sampled(self, allowed: Float[Tensor, "B W V"]) -> Iterator[list[_Continuation]]:
        """Yield a word for each live hypothesis, drawn by its line's own generator."""
        for line, rows in zip(self.active, allowed.double().cpu().numpy(), strict=True):
            yield [
                _Continuation(w, word, total + float(rows[w][word]))
                for w, total in enumerate(line.totals)
                if total > NEVER
                for word in [draw(rows[w], self.options, line.generator)]
            ]

    def _advance(self) -> None:
        """Drop the lines that are done, and bring each row's state to its new hypothesis."""
        kept = [number for number, line in enumerate(self.active) if not line.done]
        parents = [
            number * self.W + parent for number in kept for parent in self.active[number].parents
        ]
        unchanged = len(kept) == len(self.active)
        self.active = [self.active[number] for number in kept]
        if self.active:
            rows = torch.tensor(parents, device=self.device)
            self.tiles = [tiles.gather(rows, same_sources=unchanged) for tiles in self.tiles]

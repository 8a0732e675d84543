"""The search itself: one loop for greedy, beam and sampling, over lines of one padded length."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import InputError
from regard.inference.batch_invariance import TiledBatch, padded_length
from regard.inference.parallel import batches_by_length, run_on_all_cores
from regard.inference.prepare import prepare_for_inference
from regard.inference.step_decoder import StepDecoder
from regard.models.seq2seq import Seq2Seq
from regard.search.history import GONE, Candidates, Ends, History, Seen, Slots
from regard.search.options import SearchOptions
from regard.search.output_limits import OutputLimits
from regard.search.ranking import NEVER, best, draw, generator, ranked
from regard.search.request import Hypothesis, Request
from regard.special_tokens import BOS, EOS, PAD


def search(
    models: Sequence[Seq2Seq],
    requests: Sequence[Request],
    options: SearchOptions,
    *,
    progress: Callable[[int], None] | None = None,
) -> list[list[Hypothesis]]:
    """Return the best hypotheses of each line, best first, in the order of the requests."""
    _refuse(models, requests, options)
    decoders = [prepare_for_inference(model).decoder for model in models]
    lengths = [len(request.source) for request in requests]
    device = decoders[0].device
    # fewer lines than fill a tile are not worth a core of their own
    min_lines = max(1, decoders[0].tile_rows // options.config.beam_size)

    def work(numbers: list[int]) -> list[list[Hypothesis]]:
        return _fitting(decoders, [requests[number] for number in numbers], options)

    hypotheses: list[list[Hypothesis]] = [[] for _ in requests]
    batches = batches_by_length(lengths, options.config.batch_size, min_lines, device)
    for numbers, answers in run_on_all_cores(work, batches, device):
        for number, answer in zip(numbers, answers, strict=True):
            hypotheses[number] = answer
        if progress is not None:
            progress(len(numbers))
    return hypotheses


def _refuse(models: Sequence[Seq2Seq], requests: Sequence[Request], options: SearchOptions) -> None:
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
    decoders: Sequence[StepDecoder], requests: list[Request], options: SearchOptions
) -> list[list[Hypothesis]]:
    """Search a batch, in halves where it does not fit into memory."""
    try:
        with torch.inference_mode():
            return _Search(decoders, requests, options).run()
    except (MemoryError, RuntimeError) as error:
        if not _no_room(error):
            raise
    # not within `except`, where the error would hold on to what did not fit
    if len(requests) == 1:
        raise InputError(
            f"a source has {len(requests[0].source):,} symbols, but with beam_size = "
            f"{options.config.beam_size} it must fit into memory; "
            f"{'beam_size = 1' if options.config.beam_size > 1 else 'a shorter one'} would do"
        )
    half = len(requests) // 2
    first, second = requests[:half], requests[half:]
    return _fitting(decoders, first, options) + _fitting(decoders, second, options)


def _no_room(error: Exception) -> bool:
    # on a CPU torch says so in words alone
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "DefaultCPUAllocator" in str(
        error
    )


class _Chosen(NamedTuple):
    """Continuations of each line, best first: after which slot, by which word, with which total.

    What is impossible has the total −∞.
    """

    slots: Int[np.ndarray, "B k"]
    words: Int[np.ndarray, "B k"]
    totals: Float[np.ndarray, "B k"]


class _Search:
    """Lines of one padded length on their way, and the rows of their live hypotheses.

    Rows are line-major: with w slots a line, row b·w + s is slot s of the b-th of `active`. A line
    that is done stays among them, its slots unused, until a whole tile can go.
    """

    def __init__(
        self, decoders: Sequence[StepDecoder], requests: list[Request], options: SearchOptions
    ) -> None:
        self.requests = requests
        self.options = options
        self.config = options.config
        self.W = self.config.beam_size
        self.sampling = self.config.temperature > 0
        limits = [decoder.max_target_length for decoder in decoders]
        limit = min((limit - 1 for limit in limits if limit is not None), default=None)
        self.device = decoders[0].device
        self.limits = OutputLimits(requests, options, limit, self.device)
        self.history = History()
        sources = [request.source for request in requests]
        B = len(requests)
        # without sampling all hypotheses are the same one at first: one slot will do
        first_slots = self.W if self.sampling else 1
        each = np.repeat(np.arange(B), first_slots)
        self.tiles = [TiledBatch.start(decoder, sources).gather(each) for decoder in decoders]
        self.active = np.arange(B)
        self.num_ends = np.zeros(B, dtype=np.int64)
        # totals of the likeliest that have ended, the least of them first
        self.ended = np.full((B, self.config.nbest), NEVER)
        self.words = np.full((B, first_slots), BOS)
        self.totals = np.zeros((B, first_slots))
        self.written = np.zeros((B, first_slots, 0), dtype=np.int64)
        self.generators = [generator(r, self.config) for r in requests] if self.sampling else []
        self.num_steps = 0

    def run(self) -> list[list[Hypothesis]]:
        """Step until every line is done; return each line's best."""
        while len(self.active):
            log_probs, weights = self._step()
            by_line = log_probs.reshape(*self.words.shape, -1)
            chosen = self._sampled(by_line) if self.sampling else self._best(by_line)
            slots, ends = self._move(chosen, by_line)
            places = np.full(len(self.requests), GONE)
            places[self.active] = np.arange(len(self.active))
            shown = None if weights is None else weights.float().cpu().numpy()
            seen = Seen(places, self.words.shape[1], shown, self._candidates(log_probs))
            self.history.add(slots, ends, seen)
            self._advance(slots)
            self.num_steps += 1
        return self.history.answers(self.requests, self.options)

    def _step(self) -> tuple[Float[Tensor, "R V"], Float[Tensor, "R L H S"] | None]:
        """Ask every model; an ensemble's probability is the mean of its members'."""
        fed = torch.from_numpy(self.words.ravel()).to(self.device)
        scored, shown = [], None
        for number, tiles in enumerate(self.tiles):
            self.tiles[number], log_probs, weights = tiles.step(fed, self._pins(tiles))
            scored.append(log_probs)
            shown = weights if number == 0 else shown
        if len(scored) == 1:
            return scored[0], shown
        return torch.stack(scored).logsumexp(dim=0) - float(np.log(len(scored))), shown

    def _pins(self, tiles: TiledBatch) -> Float[Tensor, "R L H S"] | None:
        """Weights forced at this step: all on one source position, NaN where none is pinned."""
        attention_shape = tiles.decoder.attention_shape
        pinned = {
            place: pins[self.num_steps]
            for place, line in enumerate(self.active)
            if self.num_steps in (pins := self.requests[line].pins)
        }
        if not pinned or attention_shape is None:
            return None
        S = padded_length(len(self.requests[0].source), tiles.decoder.max_source_length)
        shape = *self.words.shape, *attention_shape, S
        forced_weights = torch.full(shape, torch.nan, device=self.device)
        for place, position in pinned.items():
            forced_weights[place] = 0.0
            forced_weights[place, ..., position] = 1.0
        return forced_weights.flatten(0, 1)

    def _ruled(self, scores: Float[Tensor, "B w V"]) -> Float[Tensor, "B w V"]:
        return self.limits.apply(scores, self.active, self.num_steps, self.written)

    def _best(self, log_probs: Float[Tensor, "B w V"]) -> _Chosen:
        """Return each line's likeliest continuations, equals by the lower id."""
        totals = torch.from_numpy(self.totals.astype(np.float32)).to(self.device)
        together = self._ruled(totals[..., None] + log_probs)
        # twice as many as are kept: at most half of them can end in EOS
        values, ids = ranked(together.flatten(1), 2 * self.W)
        slots, words = np.divmod(ids, log_probs.shape[-1])
        return _Chosen(slots, words, values.astype(np.float64))

    def _sampled(self, log_probs: Float[Tensor, "B w V"]) -> _Chosen:
        """Return a word for each live hypothesis, drawn by its line's own generator."""
        allowed = self._ruled(log_probs.clone())
        rows = allowed.double().cpu().numpy()
        words, totals = np.full_like(self.words, EOS), self.totals.copy()
        for place, slot in np.argwhere(self.totals > NEVER):
            drawn = self.generators[self.active[place]]
            word = draw(rows[place, slot], self.config, drawn)
            words[place, slot] = word
            totals[place, slot] += rows[place, slot, word]
        slots = np.broadcast_to(np.arange(self.W), words.shape)
        return _Chosen(slots, words, totals)

    def _candidates(self, log_probs: Float[Tensor, "R V"]) -> list[Candidates]:
        """Return what each row would like to write next, whatever it may."""
        if not self.options.num_candidates:
            return []
        writable = log_probs.clone()
        writable[:, [PAD, BOS]] = NEVER
        return [tuple(row) for row in best(writable, self.options.num_candidates)]

    def _move(self, chosen: _Chosen, log_probs: Float[Tensor, "B w V"]) -> tuple[Slots, Ends]:
        """Take the best continuations: those that end are finished, the others live on."""
        W, together = self.W, log_probs.flatten(1)
        possible = chosen.totals > NEVER
        ends = possible & (chosen.words == EOS)
        going = possible & ~ends
        if not self.sampling:
            ends[:, W:] = False
        self.num_ends[self.active] += ends.sum(axis=1)
        num_live = going.sum(axis=1).clip(max=W)
        if not self.sampling:
            num_live[self._settled(chosen.totals, ends, going)] = 0

        # those that live on, best first; then copies of the first, which are not in use
        order = np.argsort(~going, axis=1, kind="stable")
        used = np.arange(W) < num_live[:, None]
        taken = np.where(used, order[:, np.arange(W) % order.shape[1]], order[:, :1])
        ids = torch.from_numpy(chosen.slots * log_probs.shape[-1] + chosen.words)
        scores = together.gather(1, ids.to(self.device)).cpu().numpy()
        parents, words, gained, totals = (
            np.take_along_axis(part, taken, axis=1)
            for part in (chosen.slots, chosen.words, scores, chosen.totals)
        )
        live = Slots(parents, words, gained, np.where(used, totals, NEVER))
        places, _ = at = ends.nonzero()
        cut = self.limits.cut(log_probs, self.active, self.num_steps)[places, chosen.slots[at]]
        each = chosen.slots[at], scores[at], chosen.totals[at], cut
        return live, Ends(self.active[places], *each)

    def _settled(
        self,
        totals: Float[np.ndarray, "B k"],
        ends: Bool[np.ndarray, "B k"],
        going: Bool[np.ndarray, "B k"],
    ) -> Bool[np.ndarray, "B"]:
        """Whether W have ended, and as many as are wanted are no less likely than what goes on.

        W ends alone may leave a likelier one on its way: where endings are cheap, they come early.
        """
        full = self.num_ends[self.active] >= self.W
        if self.config.stop == "full":
            return full
        both = np.concatenate([self.ended[self.active], np.where(ends, totals, NEVER)], axis=1)
        self.ended[self.active] = np.sort(both, axis=1)[:, -self.config.nbest :]
        return full & (self.ended[self.active, 0] >= np.where(going, totals, NEVER).max(axis=1))

    def _advance(self, live: Slots) -> None:
        """Bring each row to its new hypothesis; lines that are done leave in whole tiles."""
        done = live.totals[:, 0] == NEVER
        num_rows = self.W * int(np.count_nonzero(~done))
        leave = -(-num_rows // self.tiles[0].decoder.tile_rows) < self.tiles[0].num_tiles
        kept = _packed(~done) if leave else np.arange(len(done))
        num_slots = self.words.shape[1]
        # a line that is done need not move
        own = np.arange(self.W) % num_slots
        parents = np.where(done[:, None], own, live.parents)
        rows = (num_slots * kept[:, None] + parents[kept]).ravel()
        self.active = self.active[kept]
        self.words, self.totals = live.words[kept], live.totals[kept]
        if self.options.constraint is not None:
            before = np.take_along_axis(self.written[kept], parents[kept, :, None], axis=1)
            self.written = np.concatenate([before, self.words[..., None]], axis=2)
        if num_rows:
            self.tiles = [tiles.gather(rows) for tiles in self.tiles]


def _packed(live: Bool[np.ndarray, "B"]) -> Int[np.ndarray, "L"]:
    """Return which lines stay, the last in the places of those that leave: few need to move."""
    number = int(np.count_nonzero(live))
    places = np.arange(number)
    places[~live[:number]] = number + live[number:].nonzero()[0]
    return places

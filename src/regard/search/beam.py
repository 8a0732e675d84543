"""Beam search: one loop for greedy search, beam search and sampling, over a batch of lines."""

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
from regard.search import messages
from regard.search.beam_history import (
    INACTIVE,
    BeamHistory,
    BeamSlots,
    Candidates,
    FinishedHypotheses,
    StepRecord,
)
from regard.search.hypothesis import Hypothesis
from regard.search.options import SearchOptions
from regard.search.output_limits import OutputLimits
from regard.search.request import SearchRequest
from regard.search.sampling import line_generator, sample_token
from regard.search.top_k import NEG_INF, top_k, top_k_pairs
from regard.special_tokens import BOS, EOS, PAD


def search(
    models: Sequence[Seq2Seq],
    requests: Sequence[SearchRequest],
    options: SearchOptions,
    *,
    progress: Callable[[int], None] | None = None,
) -> list[list[Hypothesis]]:
    """Return the best hypotheses of each line, best first, in the order of the requests."""
    _check(models, requests, options)
    step_decoders = [prepare_for_inference(model).decoder for model in models]
    lengths = [len(request.source) for request in requests]
    device = step_decoders[0].device
    # lines that do not fill a tile are not worth a core
    min_lines = max(1, step_decoders[0].tile_rows // options.config.beam_size)

    def search_batch(numbers: list[int]) -> list[list[Hypothesis]]:
        return _search_in_memory(step_decoders, [requests[number] for number in numbers], options)

    hypotheses: list[list[Hypothesis]] = [[] for _ in requests]
    batches = batches_by_length(lengths, options.config.batch_size, min_lines, device)
    for numbers, batch_hypotheses in run_on_all_cores(search_batch, batches, device):
        for number, nbest in zip(numbers, batch_hypotheses, strict=True):
            hypotheses[number] = nbest
        if progress is not None:
            progress(len(numbers))
    return hypotheses


def _check(
    models: Sequence[Seq2Seq], requests: Sequence[SearchRequest], options: SearchOptions
) -> None:
    max_lengths = [model.max_source_length for model in models]
    limit = min((limit for limit in max_lengths if limit is not None), default=None)
    longest = max((len(request.source) for request in requests), default=0)
    if limit is not None and longest > limit:
        raise InputError(messages.source_too_long(longest, limit))
    token_ids = set(range(models[0].readout.weight.shape[0])) - {PAD, BOS, EOS}
    if token_ids <= options.banned:
        raise InputError(messages.all_tokens_banned(len(token_ids)))


def _search_in_memory(
    step_decoders: Sequence[StepDecoder], requests: list[SearchRequest], options: SearchOptions
) -> list[list[Hypothesis]]:
    """Search a batch; divide it in halves if it does not fit into memory."""
    try:
        with torch.inference_mode():
            return _BeamSearch(step_decoders, requests, options).run()
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
    # not inside `except`: there the error would keep the tensors alive
    if len(requests) == 1:
        length, beam_size = len(requests[0].source), options.config.beam_size
        raise InputError(messages.out_of_memory(length, beam_size))
    half = len(requests) // 2
    first, second = requests[:half], requests[half:]
    return _search_in_memory(step_decoders, first, options) + _search_in_memory(
        step_decoders, second, options
    )


def _is_out_of_memory(error: Exception) -> bool:
    # on a CPU only the text of the error says so
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "DefaultCPUAllocator" in str(
        error
    )


class _Continuations(NamedTuple):
    """Continuations of each line, best first: parent slot, token and total; −∞ is impossible."""

    slots: Int[np.ndarray, "B k"]
    token_ids: Int[np.ndarray, "B k"]
    totals: Float[np.ndarray, "B k"]


class _BeamSearch:
    """Lines of one padded length, and the rows of their live hypotheses.

    Rows are line-major: with w slots a line, row b·w + s is slot s of the b-th line of `active`. A
    line that is done stays in the batch, its slots unused, until a whole tile can be freed.
    """

    def __init__(
        self,
        step_decoders: Sequence[StepDecoder],
        requests: list[SearchRequest],
        options: SearchOptions,
    ) -> None:
        self.requests = requests
        self.options = options
        self.config = options.config
        self.W = self.config.beam_size
        self.sampling = self.config.temperature > 0
        max_lengths = [decoder.max_target_length for decoder in step_decoders]
        limit = min((limit - 1 for limit in max_lengths if limit is not None), default=None)
        self.device = step_decoders[0].device
        self.limits = OutputLimits(requests, options, limit, self.device)
        self.history = BeamHistory()
        sources = [request.source for request in requests]
        B = len(requests)
        # without sampling all hypotheses have the same beginning: one slot is enough
        num_slots = self.W if self.sampling else 1
        rows = np.repeat(np.arange(B), num_slots)
        self.tiles = [TiledBatch.start(decoder, sources).gather(rows) for decoder in step_decoders]
        self.active = np.arange(B)
        self.num_finished = np.zeros(B, dtype=np.int64)
        # totals of the best finished hypotheses, in ascending order
        self.finished_totals = np.full((B, self.config.nbest), NEG_INF)
        self.token_ids = np.full((B, num_slots), BOS)
        self.totals = np.zeros((B, num_slots))
        self.generated = np.zeros((B, num_slots, 0), dtype=np.int64)
        self.generators = (
            [line_generator(r, self.config) for r in requests] if self.sampling else []
        )
        self.num_steps = 0

    def run(self) -> list[list[Hypothesis]]:
        """Step until every line is done; return the best hypotheses of each line."""
        while len(self.active):
            log_probs, weights = self._step()
            by_line = log_probs.reshape(*self.token_ids.shape, -1)
            continuations = (
                self._sampled_continuations(by_line)
                if self.sampling
                else self._top_continuations(by_line)
            )
            live_slots, finished = self._split_finished(continuations, by_line)
            self.history.add(live_slots, finished, self._record(log_probs, weights))
            self._advance(live_slots)
            self.num_steps += 1
        return self.history.best_hypotheses(self.requests, self.options)

    def _record(
        self, log_probs: Float[Tensor, "R V"], weights: Float[Tensor, "R L H S"] | None
    ) -> StepRecord:
        """Return weights and candidates of this step, and the batch index of each line."""
        batch_indices = np.full(len(self.requests), INACTIVE)
        batch_indices[self.active] = np.arange(len(self.active))
        weights_array = None if weights is None else weights.float().cpu().numpy()
        num_slots = self.token_ids.shape[1]
        return StepRecord(batch_indices, num_slots, weights_array, self._candidates(log_probs))

    def _step(self) -> tuple[Float[Tensor, "R V"], Float[Tensor, "R L H S"] | None]:
        """Run every model; the probability of an ensemble is the mean of its members'."""
        previous = torch.from_numpy(self.token_ids.ravel()).to(self.device)
        member_log_probs, first_weights = [], None
        for number, tiles in enumerate(self.tiles):
            self.tiles[number], log_probs, weights = tiles.step(
                previous, self._forced_weights(tiles)
            )
            member_log_probs.append(log_probs)
            first_weights = weights if number == 0 else first_weights
        if len(member_log_probs) == 1:
            return member_log_probs[0], first_weights
        mean = torch.stack(member_log_probs).logsumexp(dim=0) - float(np.log(len(member_log_probs)))
        return mean, first_weights

    def _forced_weights(self, tiles: TiledBatch) -> Float[Tensor, "R L H S"] | None:
        """Return the forced attention of this step: all on one source position; NaN means free."""
        attention_shape = tiles.decoder.attention_shape
        pinned = {
            index: pins[self.num_steps]
            for index, line in enumerate(self.active)
            if self.num_steps in (pins := self.requests[line].pins)
        }
        if not pinned or attention_shape is None:
            return None
        S = padded_length(len(self.requests[0].source), tiles.decoder.max_source_length)
        shape = *self.token_ids.shape, *attention_shape, S
        forced_weights = torch.full(shape, torch.nan, device=self.device)
        for index, position in pinned.items():
            forced_weights[index] = 0.0
            forced_weights[index, ..., position] = 1.0
        return forced_weights.flatten(0, 1)

    def _apply_limits(self, scores: Float[Tensor, "B w V"]) -> Float[Tensor, "B w V"]:
        return self.limits.apply(scores, self.active, self.num_steps, self.generated)

    def _top_continuations(self, log_probs: Float[Tensor, "B w V"]) -> _Continuations:
        """Return the likeliest continuations of each line; of equal ones the lower id first."""
        totals = torch.from_numpy(self.totals.astype(np.float32)).to(self.device)
        scores = self._apply_limits(totals[..., None] + log_probs)
        # twice the beam size: at most half of them can end in EOS
        values, ids = top_k(scores.flatten(1), 2 * self.W)
        slots, token_ids = np.divmod(ids, log_probs.shape[-1])
        return _Continuations(slots, token_ids, values.astype(np.float64))

    def _sampled_continuations(self, log_probs: Float[Tensor, "B w V"]) -> _Continuations:
        """Sample a token for each live hypothesis, with the generator of its line."""
        allowed = self._apply_limits(log_probs.clone())
        rows = allowed.double().cpu().numpy()
        token_ids, totals = np.full_like(self.token_ids, EOS), self.totals.copy()
        for index, slot in np.argwhere(self.totals > NEG_INF):
            generator = self.generators[self.active[index]]
            if not np.isfinite(rows[index, slot].max()):
                # nothing is left to sample from
                totals[index, slot] = NEG_INF
                continue
            token_id = sample_token(rows[index, slot], self.config, generator)
            token_ids[index, slot] = token_id
            totals[index, slot] += rows[index, slot, token_id]
        slots = np.broadcast_to(np.arange(self.W), token_ids.shape)
        return _Continuations(slots, token_ids, totals)

    def _candidates(self, log_probs: Float[Tensor, "R V"]) -> list[Candidates]:
        """Return the likeliest next tokens of each row, also those that are not allowed."""
        if not self.options.num_candidates:
            return []
        masked_log_probs = log_probs.clone()
        masked_log_probs[:, [PAD, BOS]] = NEG_INF
        return [tuple(row) for row in top_k_pairs(masked_log_probs, self.options.num_candidates)]

    def _split_finished(
        self, continuations: _Continuations, log_probs: Float[Tensor, "B w V"]
    ) -> tuple[BeamSlots, FinishedHypotheses]:
        """Split the best continuations into live and finished hypotheses."""
        W = self.W
        possible = continuations.totals > NEG_INF
        was_live = (self.totals > NEG_INF).any(axis=1)
        self._record_nan(log_probs, was_live & ~np.asarray(possible.any(axis=1)))
        is_finished = possible & (continuations.token_ids == EOS)
        is_live = possible & ~is_finished
        if not self.sampling:
            is_finished[:, W:] = False
        self.num_finished[self.active] += is_finished.sum(axis=1)
        num_live = is_live.sum(axis=1).clip(max=W)
        if not self.sampling:
            num_live[self._line_is_done(continuations.totals, is_finished, is_live)] = 0

        # live ones, best first; then copies of the first, which are unused
        order = np.argsort(~is_live, axis=1, kind="stable")
        used = np.arange(W) < num_live[:, None]
        ranks = np.where(used, order[:, np.arange(W) % order.shape[1]], order[:, :1])
        ids = torch.from_numpy(continuations.slots * log_probs.shape[-1] + continuations.token_ids)
        scores = log_probs.flatten(1).gather(1, ids.to(self.device)).cpu().numpy()
        slots, token_ids, _ = continuations
        parents, live_ids, live_scores, totals = (
            np.take_along_axis(part, ranks, axis=1)
            for part in (slots, token_ids, scores, continuations.totals)
        )
        live_slots = BeamSlots(parents, live_ids, live_scores, np.where(used, totals, NEG_INF))
        truncated = self.limits.truncated(log_probs, self.active, self.num_steps)
        lines, end_ranks = is_finished.nonzero()
        end_parents = slots[lines, end_ranks]
        finished = FinishedHypotheses(
            self.active[lines],
            end_parents,
            scores[lines, end_ranks],
            continuations.totals[lines, end_ranks],
            truncated[lines, end_parents],
        )
        return live_slots, finished

    def _record_nan(self, log_probs: Float[Tensor, "B w V"], stuck: Bool[np.ndarray, "B"]) -> None:
        """Note which lines without a continuation have scores that are not numbers."""
        for index in stuck.nonzero()[0]:
            if bool(log_probs[index].isnan().any()):
                self.history.lines_with_nan.add(int(self.active[index]))

    def _line_is_done(
        self,
        totals: Float[np.ndarray, "B k"],
        is_finished: Bool[np.ndarray, "B k"],
        is_live: Bool[np.ndarray, "B k"],
    ) -> Bool[np.ndarray, "B"]:
        """Whether W hypotheses are finished, and the n best are no less likely than live ones.

        The first condition alone is not enough: a live hypothesis may still be likelier.
        """
        has_full_beam = self.num_finished[self.active] >= self.W
        if self.config.stop == "full":
            return has_full_beam
        new_totals = np.where(is_finished, totals, NEG_INF)
        all_totals = np.concatenate([self.finished_totals[self.active], new_totals], axis=1)
        self.finished_totals[self.active] = np.sort(all_totals, axis=1)[:, -self.config.nbest :]
        best_live = np.where(is_live, totals, NEG_INF).max(axis=1)
        return has_full_beam & (self.finished_totals[self.active, 0] >= best_live)

    def _advance(self, live_slots: BeamSlots) -> None:
        """Move each row to its new hypothesis; lines that are done leave in whole tiles."""
        is_done = live_slots.totals[:, 0] == NEG_INF
        num_rows = self.W * int(np.count_nonzero(~is_done))
        can_shrink = -(-num_rows // self.tiles[0].decoder.tile_rows) < self.tiles[0].num_tiles
        remaining_lines = _compacted_indices(~is_done) if can_shrink else np.arange(len(is_done))
        num_slots = self.token_ids.shape[1]
        # a line that is done stays where it is
        own_slots = np.arange(self.W) % num_slots
        parents = np.where(is_done[:, None], own_slots, live_slots.parents)
        rows = (num_slots * remaining_lines[:, None] + parents[remaining_lines]).ravel()
        self.active = self.active[remaining_lines]
        self.token_ids, self.totals = (
            live_slots.token_ids[remaining_lines],
            live_slots.totals[remaining_lines],
        )
        if self.options.constraint is not None:
            generated, slots = self.generated[remaining_lines], parents[remaining_lines]
            prefixes = np.take_along_axis(generated, slots[..., None], axis=1)
            self.generated = np.concatenate([prefixes, self.token_ids[..., None]], axis=2)
        if num_rows:
            self.tiles = [tiles.gather(rows) for tiles in self.tiles]


def _compacted_indices(live: Bool[np.ndarray, "B"]) -> Int[np.ndarray, "L"]:
    """Return the lines that stay; the last ones fill the gaps, which moves few rows."""
    num_live = int(np.count_nonzero(live))
    indices = np.arange(num_live)
    indices[~live[:num_live]] = num_live + live[num_live:].nonzero()[0]
    return indices

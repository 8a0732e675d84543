"""The history of a batch: the hypotheses of each step, and the way back from finished ones.

A line has W slots. The token that a step put into a slot follows the token that the previous step
has in the parent slot. A hypothesis is therefore a chain of slots, read from its end.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from regard.errors import InputError
from regard.search import messages
from regard.search.hypothesis import Hypothesis, TreeNode
from regard.search.options import SearchOptions
from regard.search.request import SearchRequest
from regard.search.top_k import NEG_INF
from regard.special_tokens import EOS

INACTIVE = -1
"""The batch index of a line that has left the batch."""

Candidates = tuple[tuple[int, float], ...]


class BeamSlots(NamedTuple):
    """The live hypotheses of a step, by line and slot; an unused slot has the total −∞."""

    parents: Int[np.ndarray, "B W"]
    token_ids: Int[np.ndarray, "B W"]
    scores: Float[np.ndarray, "B W"]
    totals: Float[np.ndarray, "B W"]


class FinishedHypotheses(NamedTuple):
    """Hypotheses that end at a step, with their line and parent slot."""

    lines: Int[np.ndarray, "F"]
    parents: Int[np.ndarray, "F"]
    scores: Float[np.ndarray, "F"]
    totals: Float[np.ndarray, "F"]
    truncated: Bool[np.ndarray, "F"]


class StepRecord(NamedTuple):
    """The batch index of each line at a step, and the weights and candidates of each row."""

    batch_indices: Int[np.ndarray, "B"]
    num_slots: int
    weights: Float[np.ndarray, "R L H S"] | None
    candidates: list[Candidates]

    def row(self, line: int, slot: int) -> int:
        """Return the row of a line's slot."""
        return int(self.batch_indices[line]) * self.num_slots + slot


class _FinishedPath(NamedTuple):
    """A finished hypothesis, the step and number of its end, and its slot before each step."""

    hypothesis: Hypothesis
    end: tuple[int, int]
    slots: list[int]


class BeamHistory:
    """All steps of a batch so far."""

    def __init__(self) -> None:
        self.slots: list[BeamSlots] = []
        self.finished: list[FinishedHypotheses] = []
        self.records: list[StepRecord] = []
        self.lines_with_nan: set[int] = set()

    def add(self, slots: BeamSlots, finished: FinishedHypotheses, record: StepRecord) -> None:
        """Record a step."""
        self.slots.append(slots)
        self.finished.append(finished)
        self.records.append(record)

    def best_hypotheses(
        self, requests: Sequence[SearchRequest], options: SearchOptions
    ) -> list[list[Hypothesis]]:
        """Return the best finished hypotheses of each line, best first."""
        paths = self._backtrack()
        hypotheses = []
        for line, request in enumerate(requests):
            if not paths[line] and line in self.lines_with_nan:
                raise InputError(messages.scores_not_finite())
            if not paths[line]:
                raise InputError(messages.no_output(_rules(request, options)))
            alpha = options.config.length_penalty
            paths[line].sort(key=lambda path: -path.hypothesis.normalized_score(alpha))
            nbest = paths[line][: options.config.nbest]
            best, *others = (self._with_weights(line, path, request) for path in nbest)
            if options.keep_tree:
                best = replace(best, tree=self._tree(line, nbest))
            hypotheses.append([best, *others])
        return hypotheses

    def _backtrack(self) -> dict[int, list[_FinishedPath]]:
        """Follow the parents of all finished hypotheses at once, step by step."""
        steps = np.concatenate(
            [np.full(len(step.lines), t) for t, step in enumerate(self.finished)]
        )
        lines, slots, scores, _, truncated = (
            np.concatenate(part) for part in zip(*self.finished, strict=True)
        )
        shape = len(steps), len(self.slots)
        slot_path = np.zeros(shape, dtype=np.int64)
        token_ids = np.full(shape, EOS)
        token_scores = np.repeat(scores[:, None], shape[1], axis=1)
        for t in reversed(range(shape[1])):
            longer = (steps > t).nonzero()[0]
            index = self.records[t].batch_indices[lines[longer]], slots[longer]
            token_ids[longer, t] = self.slots[t].token_ids[index]
            token_scores[longer, t] = self.slots[t].scores[index]
            slots[longer] = self.slots[t].parents[index]
            slot_path[:, t] = slots
        paths = defaultdict(list)
        rows = zip(slot_path.tolist(), token_ids.tolist(), token_scores.tolist(), strict=True)
        for number, (path, ids, path_scores) in enumerate(rows):
            t = int(steps[number])
            hypothesis = Hypothesis(
                tuple(ids[:t]),
                tuple(path_scores[: t + 1]),
                weights=None,
                truncated=bool(truncated[number]),
            )
            finished_path = _FinishedPath(hypothesis, (t, number), path[: t + 1])
            paths[int(lines[number])].append(finished_path)
        return paths

    def _with_weights(self, line: int, path: _FinishedPath, request: SearchRequest) -> Hypothesis:
        """Add the attention weights and the candidates of each step."""
        steps = [
            (record, record.row(line, slot))
            for record, slot in zip(self.records, path.slots, strict=False)
        ]
        weights = [
            record.weights[row, ..., : len(request.source)]
            for record, row in steps
            if record.weights is not None
        ]
        candidates = tuple(record.candidates[row] for record, row in steps if record.candidates)
        # `stack` copies: the weights of all other rows can be freed
        stacked = np.stack(weights) if weights else None
        return replace(path.hypothesis, weights=stacked, candidates=candidates)

    def _tree(self, line: int, nbest: list[_FinishedPath]) -> tuple[TreeNode, ...]:
        """Return all hypotheses that were in the beam; those left at the end never were."""
        nbest_ends = {path.end for path in nbest}
        # the parent slot of a step was filled by the previous step
        nbest_slots = {(t, slot) for path in nbest for t, slot in enumerate(path.slots[1:])}
        indices: dict[tuple[int, int], int] = {}
        nodes: list[TreeNode] = []

        def add(
            t: int, parent: int, token_id: int, score: float, total: float, in_nbest: bool
        ) -> None:
            parent_index = indices[t - 1, parent] if t else None
            finished = token_id == EOS
            nodes.append(TreeNode(parent_index, t, token_id, score, total, finished, in_nbest))

        first = 0
        for t, (slots, finished) in enumerate(zip(self.slots, self.finished, strict=True)):
            index = self.records[t].batch_indices[line]
            if index == INACTIVE:
                break
            for slot in (slots.totals[index] > NEG_INF).nonzero()[0].tolist():
                indices[t, slot] = len(nodes)
                parent, token_id, score, total = (part[index, slot].item() for part in slots)
                add(t, parent, token_id, score, total, (t, slot) in nbest_slots)
            for number in (finished.lines == line).nonzero()[0].tolist():
                _, parent, score, total, _ = (part[number].item() for part in finished)
                add(t, parent, EOS, score, total, (t, first + number) in nbest_ends)
            first += len(finished.lines)
        return tuple(nodes)


def _rules(request: SearchRequest, options: SearchOptions) -> list[str]:
    """Return the rules for the output of a line, as a sentence names them."""
    config, rules = options.config, []
    if options.constraint is not None:
        rules.append(f"search.constraint = {config.constraint}")
    if request.prefix:
        rules.append("the prefix")
    if options.banned:
        rules.append(f"{len(options.banned):,} banned token{'s' * (len(options.banned) != 1)}")
    if config.min_length:
        rules.append(f"search.min_length = {config.min_length}")
    if config.same_length:
        rules.append("search.same_length")
    return [*rules, f"search.max_length = {config.max_length}"] if len(rules) != 1 else rules

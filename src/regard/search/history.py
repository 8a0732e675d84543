"""What a batch of lines has written: each step's choices, and the way back from every end.

A line has W slots. What a step put into a slot follows what the step before had in the slot's
parent, so that a hypothesis is a chain of slots, read from its end.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from regard.errors import InputError
from regard.search.options import SearchOptions
from regard.search.ranking import NEVER
from regard.search.request import Hypothesis, Request, TreeNode
from regard.special_tokens import EOS

GONE = -1
"""The place of a line that is no longer there."""

Candidates = tuple[tuple[int, float], ...]


class Slots(NamedTuple):
    """What a step put into each slot of each line; a slot that is not in use has the total −∞."""

    parents: Int[np.ndarray, "B W"]
    words: Int[np.ndarray, "B W"]
    scores: Float[np.ndarray, "B W"]
    totals: Float[np.ndarray, "B W"]


class Ends(NamedTuple):
    """Hypotheses that ended at a step: of which line, after which slot, and whether by force."""

    lines: Int[np.ndarray, "F"]
    parents: Int[np.ndarray, "F"]
    scores: Float[np.ndarray, "F"]
    totals: Float[np.ndarray, "F"]
    cut: Bool[np.ndarray, "F"]


class Seen(NamedTuple):
    """Where each line stood at a step, with how many rows, and what the models showed in these."""

    places: Int[np.ndarray, "B"]
    num_slots: int
    weights: Float[np.ndarray, "R L H S"] | None
    candidates: list[Candidates]

    def row(self, line: int, slot: int) -> int:
        """Return the row of a line's slot."""
        return int(self.places[line]) * self.num_slots + slot


class _Found(NamedTuple):
    """A hypothesis, the step and number of its end, and the slot it was in before each step."""

    hypothesis: Hypothesis
    end: tuple[int, int]
    slots: list[int]


class History:
    """All steps of a batch so far."""

    def __init__(self) -> None:
        self.slots: list[Slots] = []
        self.ends: list[Ends] = []
        self.seen: list[Seen] = []

    def add(self, slots: Slots, ends: Ends, seen: Seen) -> None:
        """Take down a step."""
        self.slots.append(slots)
        self.ends.append(ends)
        self.seen.append(seen)

    def answers(
        self, requests: Sequence[Request], options: SearchOptions
    ) -> list[list[Hypothesis]]:
        """Return the best finished hypotheses of each line, best first."""
        finished = self._finished()
        answers = []
        for line, request in enumerate(requests):
            if not finished[line] and options.constraint is not None:
                raise InputError(
                    f"no output satisfies search.constraint = {options.config.constraint}; "
                    "use a wider beam, or another constraint"
                )
            if not finished[line]:
                raise InputError(
                    "the model's scores are not numbers, but they must be; sound weights would do"
                )
            penalty = options.config.length_penalty
            finished[line].sort(key=lambda found: -found.hypothesis.normalized(penalty))
            ends = finished[line][: options.config.nbest]
            best_one, *others = (self._shown(line, found, request) for found in ends)
            if options.keep_tree:
                best_one = replace(best_one, tree=self._tree(line, ends))
            answers.append([best_one, *others])
        return answers

    def _finished(self) -> dict[int, list[_Found]]:
        """Walk back from all ends at once, step by step."""
        steps = np.concatenate([np.full(len(e.lines), t) for t, e in enumerate(self.ends)])
        lines, at, scores, _, cut = (np.concatenate(part) for part in zip(*self.ends, strict=True))
        shape = len(steps), len(self.slots)
        way = np.zeros(shape, dtype=np.int64)
        words = np.full(shape, EOS)
        gained = np.repeat(scores[:, None], shape[1], axis=1)
        for t in reversed(range(shape[1])):
            before = (steps > t).nonzero()[0]
            here = self.seen[t].places[lines[before]], at[before]
            words[before, t] = self.slots[t].words[here]
            gained[before, t] = self.slots[t].scores[here]
            at[before] = self.slots[t].parents[here]
            way[:, t] = at
        found = defaultdict(list)
        rows = zip(way.tolist(), words.tolist(), gained.tolist(), strict=True)
        for number, (slots, written, each) in enumerate(rows):
            t = int(steps[number])
            parts = tuple(written[:t]), tuple(each[: t + 1])
            whole = Hypothesis(*parts, weights=None, cut=bool(cut[number]))
            found[int(lines[number])].append(_Found(whole, (t, number), slots[: t + 1]))
        return found

    def _shown(self, line: int, found: _Found, request: Request) -> Hypothesis:
        """Add where it looked, and what else it would have liked to write."""
        steps = [
            (seen, seen.row(line, slot)) for seen, slot in zip(self.seen, found.slots, strict=False)
        ]
        weights = [
            seen.weights[row, ..., : len(request.source)]
            for seen, row in steps
            if seen.weights is not None
        ]
        candidates = tuple(seen.candidates[row] for seen, row in steps if seen.candidates)
        # stacked, they are copies, so that the weights of all other rows can go
        shown = np.stack(weights) if weights else None
        return replace(found.hypothesis, weights=shown, candidates=candidates)

    def _tree(self, line: int, answered: list[_Found]) -> tuple[TreeNode, ...]:
        """Return what was ever in the beam; what the end of a search leaves behind never was."""
        ends = {found.end for found in answered}
        # what is a parent at one step was put there by the step before
        in_nbest = {(t, slot) for found in answered for t, slot in enumerate(found.slots[1:])}
        places: dict[tuple[int, int], int] = {}
        nodes: list[TreeNode] = []

        def grow(t: int, parent: int, word: int, score: float, total: float, is_kept: bool) -> None:
            before = places[t - 1, parent] if t else None
            nodes.append(TreeNode(before, t, word, score, total, word == EOS, is_kept))

        first = 0
        for t, (slots, ended) in enumerate(zip(self.slots, self.ends, strict=True)):
            place = self.seen[t].places[line]
            if place == GONE:
                break
            for slot in (slots.totals[place] > NEVER).nonzero()[0].tolist():
                places[t, slot] = len(nodes)
                parent, word, score, total = (part[place, slot].item() for part in slots)
                grow(t, parent, word, score, total, (t, slot) in in_nbest)
            for at in (ended.lines == line).nonzero()[0].tolist():
                _, parent, score, total, _ = (part[at].item() for part in ended)
                grow(t, parent, EOS, score, total, (t, first + at) in ends)
            first += len(ended.lines)
        return tuple(nodes)

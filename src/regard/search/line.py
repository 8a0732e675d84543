"""One line of a search: its live hypotheses, each a chain of words, and those that are finished."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float
from torch import Tensor

from regard.errors import InputError
from regard.search.ranking import NEVER, best
from regard.search.request import Hypothesis, Options, Request, TreeNode
from regard.symbols import BOS, EOS, PAD


@dataclass(frozen=True, eq=False)
class Node:
    """A word of a hypothesis, and what stood before it; `total` is its score with theirs.

    Of an EOS, `cut` says that it was forced.
    """

    before: "Node | None"
    word: int
    score: float
    total: float
    weights: Float[np.ndarray, "L H S"] | None
    candidates: tuple[tuple[int, float], ...]
    cut: bool = False

    @property
    def position(self) -> int:
        """How many words stand before it."""
        return len(self.chain()) - 1

    def chain(self) -> list["Node"]:
        """Return the hypothesis from its first word to this one."""
        nodes: list[Node] = []
        node: Node | None = self
        while node is not None:
            nodes.append(node)
            node = node.before
        return nodes[::-1]


@dataclass
class Line:
    """What one line may write, what it has in hand, and what it has finished."""

    request: Request
    options: Options
    shortest: int
    longest: int
    generator: np.random.Generator
    hypotheses: list[Node | None]
    totals: list[float]
    parents: list[int] = field(default_factory=list)
    finished: list[Node] = field(default_factory=list)
    grown: list[Node] = field(default_factory=list)
    done: bool = False

    @classmethod
    def begin(cls, request: Request, options: Options, limit: int | None) -> "Line":
        """Stand before the first word; `limit` is the most words the models have places for."""
        W, length = options.beam_size, len(request.source)
        longest = length if options.same_length else options.max_length
        longest = max(longest, len(request.prefix))
        longest = longest if limit is None else min(longest, limit)
        shortest = length if options.same_length else options.min_length
        digest = hashlib.sha256(repr((options.seed, request.source)).encode()).digest()
        sampling = options.temperature > 0
        return cls(
            request=request,
            options=options,
            shortest=shortest,
            longest=longest,
            generator=np.random.default_rng(int.from_bytes(digest[:8], "big")),
            hypotheses=[None] * W,
            # without sampling all hypotheses are the same one at first: only one may go on
            totals=[0.0 if sampling or w == 0 else NEVER for w in range(W)],
        )

    def must_write(self, position: int) -> int | None:
        """Return the only word that may stand at a position, if there is only one."""
        if position < min(len(self.request.prefix), self.longest):
            return self.request.prefix[position]
        return EOS if position >= self.longest else None

    def move(
        self,
        continuations: Sequence[tuple[int, int, float]],
        log_probs: Float[Tensor, "W V"],
        weights: Float[np.ndarray, "W L H S"] | None,
    ) -> None:
        """Take the best continuations: those that end are finished, the others live on."""
        W, sampling = self.options.beam_size, self.options.temperature > 0
        length = len(self.request.source)
        candidates = self._candidates(log_probs)
        live: list[tuple[int, Node]] = []
        ended: list[Node] = []
        for rank, (row, word, total) in enumerate(continuations):
            ends = word == EOS
            if (ends and rank >= W and not sampling) or (not ends and len(live) == W):
                continue
            node = Node(
                before=self.hypotheses[row],
                word=word,
                score=float(log_probs[row, word]),
                total=total,
                # a copy, so that the weights of all other rows can go
                weights=None if weights is None else weights[row, ..., :length].copy(),
                candidates=candidates[row],
                cut=ends and self._cut(self.hypotheses[row], log_probs[row]),
            )
            if ends:
                ended.append(node)
            else:
                live.append((row, node))
        self.finished += ended
        self.done = not live or (len(self.finished) >= W and not sampling)
        if self.options.tree:
            # what the end of the search leaves behind was never part of the beam
            self.grown += ended if self.done else [*(node for _, node in live), *ended]
        if self.done:
            return
        missing = W - len(live)
        self.parents = [row for row, _ in live] + [live[0][0]] * missing
        self.hypotheses = [*(node for _, node in live), *[live[0][1]] * missing]
        self.totals = [node.total for _, node in live] + [NEVER] * missing

    def answer(self) -> list[Hypothesis]:
        """Return the best finished hypotheses, best first."""
        if not self.finished:
            raise InputError(
                "the model's scores are not numbers, but they must be; sound weights would do"
            )
        penalty = self.options.length_penalty
        ends = [(node, self._hypothesis(node)) for node in self.finished]
        ends.sort(key=lambda pair: -pair[1].normalized(penalty))
        ends = ends[: self.options.nbest]
        best_one, *others = (hypothesis for _, hypothesis in ends)
        if self.options.tree:
            best_one = replace(best_one, tree=self._tree([node for node, _ in ends]))
        return [best_one, *others]

    def _cut(self, last: Node | None, log_probs: Float[Tensor, "V"]) -> bool:
        """Whether this end was forced: the model would rather have gone on, or had to."""
        length = 0 if last is None else last.position + 1
        if length < self.longest or (
            self.options.same_length and length == len(self.request.source)
        ):
            return False
        if length < max(self.shortest, len(self.request.prefix)):
            return True
        # what may not be written in any case is nothing to go on with
        writable = log_probs.clone()
        writable[[PAD, BOS, *self.options.banned]] = NEVER
        return bool((writable > writable[EOS]).any())

    def _candidates(self, log_probs: Float[Tensor, "W V"]) -> list[tuple[tuple[int, float], ...]]:
        """Return what each row would like to write next, whatever it may."""
        if not self.options.num_candidates:
            return [()] * self.options.beam_size
        writable = log_probs.clone()
        writable[:, [PAD, BOS]] = NEVER
        return [tuple(pairs) for pairs in best(writable, self.options.num_candidates)]

    def _hypothesis(self, end: Node) -> Hypothesis:
        nodes = end.chain()
        weights = None
        if end.weights is not None:
            weights = np.stack([node.weights for node in nodes if node.weights is not None])
        return Hypothesis(
            words=tuple(node.word for node in nodes[:-1]),
            scores=tuple(node.score for node in nodes),
            weights=weights,
            cut=end.cut,
            candidates=tuple(node.candidates for node in nodes) if end.candidates else (),
        )

    def _tree(self, answered: list[Node]) -> tuple[TreeNode, ...]:
        kept = {node for end in answered for node in end.chain()}
        places = {node: place for place, node in enumerate(self.grown)}
        return tuple(
            TreeNode(
                parent=None if node.before is None else places[node.before],
                position=node.position,
                word=node.word,
                score=node.score,
                total=node.total,
                finished=node.word == EOS,
                kept=node in kept,
            )
            for node in self.grown
        )

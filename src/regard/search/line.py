"""One line of a search: its live hypotheses, each a chain of words, and those that are finished."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from torch import Tensor

from regard.search.request import Hypothesis, Options, Request
from regard.symbols import EOS

NEVER = float("-inf")


@dataclass(frozen=True)
class Node:
    """A word of a hypothesis, and what stood before it."""

    before: "Node | None"
    word: int
    score: float
    weights: Float[np.ndarray, "L H S"] | None
    candidates: tuple[tuple[int, float], ...]

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
    finished: list[Hypothesis] = field(default_factory=list)
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
            shortest=min(shortest, longest),
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
        live: list[tuple[int, Node, float]] = []
        for rank, (row, word, total) in enumerate(continuations):
            if word == EOS and (rank < W or sampling):
                node = self._node(row, word, log_probs, weights)
                self.finished.append(self._hypothesis(node))
            elif word != EOS and len(live) < W:
                live.append((row, self._node(row, word, log_probs, weights), total))
        self.done = not live or (len(self.finished) >= W and not sampling)
        if self.done:
            return
        missing = W - len(live)
        self.parents = [row for row, _, _ in live] + [live[0][0]] * missing
        self.hypotheses = [*(node for _, node, _ in live), *[live[0][1]] * missing]
        self.totals = [total for _, _, total in live] + [NEVER] * missing

    def answer(self) -> list[Hypothesis]:
        """Return the best finished hypotheses, best first."""
        penalty = self.options.length_penalty
        ranked = sorted(self.finished, key=lambda h: -h.normalized(penalty))
        return ranked[: self.options.nbest]

    def _node(
        self,
        row: int,
        word: int,
        log_probs: Float[Tensor, "W V"],
        weights: Float[np.ndarray, "W L H S"] | None,
    ) -> Node:
        candidates: tuple[tuple[int, float], ...] = ()
        if self.options.num_candidates:
            count = min(self.options.num_candidates, log_probs.shape[1])
            values, words = log_probs[row].topk(count)
            candidates = tuple(zip(words.tolist(), values.tolist(), strict=True))
        seen = None if weights is None else weights[row, ..., : len(self.request.source)]
        score = float(log_probs[row, word])
        return Node(self.hypotheses[row], word, score, seen, candidates)

    def _hypothesis(self, end: Node) -> Hypothesis:
        nodes = end.chain()
        weights = None
        if end.weights is not None:
            weights = np.stack([node.weights for node in nodes if node.weights is not None])
        words = tuple(node.word for node in nodes[:-1])
        return Hypothesis(
            words=words,
            scores=tuple(node.score for node in nodes),
            weights=weights,
            cut=len(words) >= self.longest and not self.options.same_length,
            candidates=tuple(node.candidates for node in nodes) if end.candidates else (),
        )

"""Small models, lines to search, and a slow beam search that removes no rows."""

import numpy as np
import torch
from torch import nn

import presets as small
from regard.models import build, preset
from regard.search import SearchRequest
from regard.special_tokens import BOS, EOS, PAD

WITHOUT = ("cho2014", "sutskever2014")

# leaves EOS and four tokens: a model of random weights then ends some lines sooner than others
FEW = frozenset({1, *range(8, small.V_Y)})


def lines(count, seed=0, longest=9):
    rng = np.random.default_rng(seed)
    return [
        SearchRequest(tuple(map(int, rng.integers(4, small.V_X, rng.integers(0, longest)))))
        for _ in range(count)
    ]


def model(name, seed=1, **options):
    """Build a preset with large random weights: its outputs depend on the source."""
    sizes = {**small.SIZES[name], **options}
    if name in ("gehring2017", "vaswani2017"):
        sizes = {**sizes, "max_length": options.get("max_length", 71)}
    if name == "vaswani2017":
        # with tied embeddings it would repeat one token
        sizes["tied_embeddings"] = "none"
    torch.manual_seed(seed)
    built = build(preset(name)(**sizes), small.V_X, small.V_Y).eval()
    for parameter in built.parameters():
        if parameter.dim() > 1:
            # convolutions multiply what they are given, and logits of 40 have few digits left
            nn.init.normal_(parameter, std=0.4 if name == "gehring2017" else 0.7)
    return built


def forced(built, request, token_ids):
    """Score given words and EOS through `unroll`: log-probabilities [T,V], weights [T,L,H,S]."""
    source = torch.tensor([request.source or (PAD,)])
    mask = torch.full(source.shape, bool(request.source))
    previous_ids = torch.tensor([[BOS, *token_ids]])
    with torch.no_grad():
        scored = built(source, mask, previous_ids, need_weights=True)
    log_probs = scored.logits[0].log_softmax(dim=-1)
    return log_probs, None if scored.weights is None else scored.weights[0]


class SlowBeam:
    """Beam search by its definition: each step computes every row anew, from BOS.

    `finished` has the targets of each line with their totals, `beam` every hypothesis ever kept.
    """

    def __init__(
        self,
        built,
        requests,
        *,
        beam_size,
        max_length,
        banned=frozenset(),
        length_penalty=1.0,
        nbest=1,
        stop="full",
    ):
        self.built, self.requests = built, requests
        self.length_penalty, self.nbest, self.stop = length_penalty, nbest, stop
        self.W, self.max_length = beam_size, max_length
        self.never = {PAD, BOS, *banned}
        self.live = [[((), 0.0)] for _ in requests]
        self.finished = [[] for _ in requests]
        self.beam = [[] for _ in requests]
        self.done = [False] * len(requests)
        while not all(self.done):
            self.step()

    def step(self):
        """Advance every line; rows of finished ones stay in the batch."""
        for number, scored in enumerate(self.scored()):
            if not self.done[number]:
                self.move(number, scored)

    def scored(self):
        """Return the log-probabilities that follow each live hypothesis of each line."""
        rows = [
            (request, token_ids)
            for request, live in zip(self.requests, self.live, strict=True)
            for token_ids, _ in live
        ]
        S, T = max(1, *(len(r.source) for r, _ in rows)), max(len(w) for _, w in rows) + 1
        source = torch.tensor([[*r.source, *[PAD] * (S - len(r.source))] for r, _ in rows])
        mask = torch.arange(S) < torch.tensor([len(r.source) for r, _ in rows])[:, None]
        previous_ids = torch.tensor(
            [[BOS, *token_ids, *[PAD] * (T - len(token_ids) - 1)] for _, token_ids in rows]
        )
        with torch.no_grad():
            log_probs = self.built(source, mask, previous_ids).logits.log_softmax(dim=-1)
        last = [
            log_probs[i, len(token_ids)].double().numpy() for i, (_, token_ids) in enumerate(rows)
        ]
        ends = np.cumsum([len(live) for live in self.live])
        return [last[end - len(live) : end] for end, live in zip(ends, self.live, strict=True)]

    def move(self, number, scored):
        """Take the likeliest: EOS among the first W ends a target, W others live on."""
        continuations = [
            (total + row[token_id], (*token_ids, token_id))
            for (token_ids, total), row in zip(self.live[number], scored, strict=True)
            for token_id in range(len(row))
            if token_id not in self.never and (len(token_ids) < self.max_length or token_id == EOS)
        ]
        # stable: the first of equals, by hypothesis and then by id
        continuations = sorted(continuations, key=lambda pair: -pair[0])[: 2 * self.W]
        ended = [pair for pair in continuations[: self.W] if pair[1][-1] == EOS]
        live = [(token_ids, total) for total, token_ids in continuations if token_ids[-1] != EOS][
            : self.W
        ]
        self.finished[number] += [(token_ids[:-1], total) for total, token_ids in ended]
        self.beam[number] += [token_ids for _, token_ids in ended]
        self.done[number] = not live or self.settled(number, live)
        if not self.done[number]:
            self.live[number] = live
            self.beam[number] += [token_ids for token_ids, _ in live]

    def settled(self, number, live):
        """Whether W have ended, and by `likeliest` n of them are no less likely than what lives."""
        totals = sorted(total for _, total in self.finished[number])
        if len(totals) < self.W:
            return False
        return self.stop == "full" or totals[-self.nbest] >= live[0][1]

    def answers(self):
        """Return the finished targets of each line, best first."""
        return [
            sorted(finished, key=lambda pair: -pair[1] / (len(pair[0]) + 1) ** self.length_penalty)
            for finished in self.finished
        ]

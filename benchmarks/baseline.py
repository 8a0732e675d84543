"""Plain eager PyTorch, straightforward code: the baseline of every ratio.

Nothing of regard is imported. Batches are consecutive lines of a shuffled file or, `bucketed`,
lines of similar length. A program of its own: `python -m benchmarks.baseline train …` prints a
line of JSON every few updates, `… decode …` one with its figures.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.datasets import BenchmarkDataset

PAD, BOS, EOS, UNKNOWN = range(4)
DROPOUT = 0.1
Ids = list[list[int]]


class RecurrentBaseline(nn.Module):
    """A bidirectional GRU, and a GRU with input feeding whose new state attends."""

    def __init__(self, sizes: tuple[int, int], score: str, embedding: int = 256, hidden: int = 512):
        super().__init__()
        self.source = nn.Embedding(sizes[0], embedding, PAD)
        self.target = nn.Embedding(sizes[1], embedding, PAD)
        self.encoder = nn.GRU(embedding, hidden // 2, bidirectional=True, batch_first=True)
        self.initial = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden, bias=False)
        self.query = nn.Linear(hidden, hidden, bias=False) if score == "additive" else None
        self.v = nn.Linear(hidden, 1, bias=False) if score == "additive" else None
        self.cell = nn.GRUCell(embedding + hidden, hidden)
        self.join = nn.Linear(2 * hidden, hidden, bias=False)
        self.out = nn.Linear(hidden, sizes[1], bias=False)
        self.drop = nn.Dropout(DROPOUT)

    def start(self, source: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Encode the sources; return the memory and the initial state."""
        mask = source != PAD
        lengths = mask.sum(1)
        embedded = self.drop(self.source(source))
        packed = pack_padded_sequence(
            embedded, lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        memory, _ = pad_packed_sequence(self.encoder(packed)[0], batch_first=True)
        state = torch.tanh(self.initial(memory.sum(1) / lengths[:, None]))
        return (memory, self.key(memory), mask), (state, torch.zeros_like(state))

    def advance(
        self, memory: tuple[Tensor, ...], state: tuple[Tensor, ...], embedded: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Step the cell, attend, and return the new state and the attentional output."""
        values, keys, mask = memory
        h = self.cell(torch.cat([embedded, state[1]], 1), state[0])
        if self.query is None or self.v is None:
            scores = torch.bmm(keys, h[:, :, None]).squeeze(2)
        else:
            scores = self.v(torch.tanh(keys + self.query(h)[:, None])).squeeze(2)
        weights = scores.masked_fill(~mask, -1e9).softmax(1)
        context = torch.bmm(weights[:, None], values).squeeze(1)
        return h, torch.tanh(self.join(torch.cat([h, context], 1)))

    def step(
        self, memory: tuple[Tensor, ...], state: tuple[Tensor, ...], tokens: Tensor
    ) -> tuple[tuple[Tensor, ...], Tensor]:
        """Return the next state and logits."""
        state = self.advance(memory, state, self.target(tokens))
        return state, self.out(state[1])

    def forward(self, source: Tensor, fed: Tensor) -> Tensor:
        """Return the logits of every position."""
        memory, state = self.start(source)
        outputs = []
        for embedded in self.drop(self.target(fed)).unbind(1):
            state = self.advance(memory, state, embedded)
            outputs.append(state[1])
        return self.out(self.drop(torch.stack(outputs, 1)))


class TransformerBaseline(nn.Module):
    """`nn.Transformer` between two embeddings and an output layer."""

    def __init__(self, sizes: tuple[int, int], layers: int = 3, width: int = 256):
        super().__init__()
        self.source = nn.Embedding(sizes[0], width, PAD)
        self.target = nn.Embedding(sizes[1], width, PAD)
        layer = nn.TransformerEncoderLayer(
            width, 4, 4 * width, DROPOUT, norm_first=True, batch_first=True
        )
        # nn.Transformer would build an encoder that warns of unused nested tensors
        encoder = nn.TransformerEncoder(
            layer, layers, nn.LayerNorm(width), enable_nested_tensor=False
        )
        self.model = nn.Transformer(
            width,
            4,
            num_decoder_layers=layers,
            dim_feedforward=4 * width,
            dropout=DROPOUT,
            custom_encoder=encoder,
            norm_first=True,
            batch_first=True,
        )
        self.out = nn.Linear(width, sizes[1], bias=False)
        self.drop = nn.Dropout(DROPOUT)
        angle = torch.arange(1024)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
        self.register_buffer("positions", torch.stack([angle.sin(), angle.cos()], 2).flatten(1))

    def embed(self, embedding: nn.Embedding, tokens: Tensor) -> Tensor:
        """Embed tokens and add their positions."""
        scaled = embedding(tokens) * embedding.embedding_dim**0.5
        return self.drop(scaled + self.get_buffer("positions")[: tokens.shape[1]])

    def start(self, source: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Encode the sources; return the memory and the initial state."""
        padding_mask = source == PAD
        memory = self.model.encoder(
            self.embed(self.source, source), src_key_padding_mask=padding_mask
        )
        return (memory, padding_mask), (source.new_empty(source.shape[0], 0),)

    def decode(self, memory: tuple[Tensor, ...], fed: Tensor) -> Tensor:
        """Return the decoder's output for every position."""
        causal = torch.ones(fed.shape[1], fed.shape[1], device=fed.device).triu(1).bool()
        return self.model.decoder(
            self.embed(self.target, fed),
            memory[0],
            tgt_mask=causal,
            memory_key_padding_mask=memory[1],
            tgt_is_causal=True,
        )

    def step(
        self, memory: tuple[Tensor, ...], state: tuple[Tensor, ...], tokens: Tensor
    ) -> tuple[tuple[Tensor, ...], Tensor]:
        """Decode all tokens so far again: `nn.Transformer` has no cache."""
        fed = torch.cat([state[0], tokens[:, None]], 1)
        return (fed,), self.out(self.decode(memory, fed)[:, -1])

    def forward(self, source: Tensor, fed: Tensor) -> Tensor:
        """Return the logits of every position."""
        memory, _ = self.start(source)
        return self.out(self.decode(memory, fed))


BaselineModel = RecurrentBaseline | TransformerBaseline


def build_baseline(kind: str, sizes: tuple[int, int], layers: int = 3) -> BaselineModel:
    """Build a model of a kind: additive, bilinear or transformer."""
    if kind == "transformer":
        return TransformerBaseline(sizes, layers)
    return RecurrentBaseline(sizes, kind)


def encode_lines(dataset: BenchmarkDataset, split: str, side: str) -> Ids:
    """Return lines as token ids, each with EOS."""
    ids = {token: number + 4 for number, token in enumerate(dataset.vocabulary(side))}
    lines = (line.split() for line in dataset.lines(split, side))
    return [[*(ids.get(token, UNKNOWN) for token in line), EOS] for line in lines]


def pad(lines: Ids) -> Tensor:
    """Pad lines to a matrix of token ids."""
    longest = max(map(len, lines))
    return torch.tensor([line + [PAD] * (longest - len(line)) for line in lines])


def batches(
    pairs: list[tuple[list[int], list[int]]], rows: int, bucketed: bool
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches of sources and targets without end."""
    rng = random.Random(1)
    while True:
        rng.shuffle(pairs)
        if bucketed:
            pairs.sort(key=lambda pair: (len(pair[1]), len(pair[0])))
        groups = [pairs[start : start + rows] for start in range(0, len(pairs), rows)]
        if bucketed:
            rng.shuffle(groups)
        for group in groups:
            yield pad([source for source, _ in group]), pad([target for _, target in group])


@dataclass(frozen=True)
class TrainingPlan:
    """The number of updates, the batches and the learning rate."""

    updates: int
    rows: int = 64
    report_every: int = 10
    bucketed: bool = False
    learning_rate: float = 1e-3
    autocast: bool = False


def train(model: nn.Module, pairs: list[tuple[list[int], list[int]]], plan: TrainingPlan) -> None:
    """Train, and print every few updates how many tokens there have been."""
    device = next(model.parameters()).device
    optimizer = torch.optim.Adam(model.parameters(), plan.learning_rate)
    tokens = 0
    stream = batches(pairs, plan.rows, plan.bucketed)
    for update in range(1, plan.updates + 1):
        source, target = (part.to(device) for part in next(stream))
        fed = torch.cat([torch.full_like(target[:, :1], BOS), target[:, :-1]], 1)
        with torch.autocast(device.type, torch.bfloat16, enabled=plan.autocast):
            logits = model(source, fed)
            loss = functional.cross_entropy(
                logits.flatten(0, 1), target.flatten(), ignore_index=PAD
            )
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        tokens += int((target != PAD).sum())
        if update % plan.report_every == 0:
            print_json(step=update, tokens=tokens, loss=round(float(loss.detach()), 3))


def print_json(**figures: Any) -> None:
    """Print a line of JSON."""
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.stdout.flush()


def decode(
    model: BaselineModel, dataset: BenchmarkDataset, sizes: tuple[int, ...], rounds: int
) -> None:
    """Print words per second for each beam size, the median of some rounds."""
    from statistics import median

    from benchmarks.baseline_search import search

    sources = encode_lines(dataset, "dev", "source")
    groups = [pad(sources[start : start + 32]) for start in range(0, len(sources), 32)]
    for size in sizes:
        search(model, groups[0], size, dataset.max_length)
        seconds, num_tokens = [], 0
        for _ in range(rounds):
            start = time.perf_counter()
            outputs = [search(model, group, size, dataset.max_length) for group in groups]
            seconds.append(time.perf_counter() - start)
            num_tokens = sum(len(line) for lines in outputs for line in lines)
        print_json(
            beam=size,
            words_per_second=len(sources) / median(seconds),
            tokens=num_tokens / len(sources),
        )


def main() -> None:
    """Train a model, or decode with a trained one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.baseline")
    parser.add_argument("action", choices=["train", "decode"])
    parser.add_argument("kind", choices=["additive", "bilinear", "transformer"])
    parser.add_argument("folder", type=Path, help="the folder of a data set")
    parser.add_argument("--max-length", type=int, default=40)
    parser.add_argument("--updates", type=int, default=50)
    parser.add_argument("--bucketed", action="store_true")
    parser.add_argument("--file", type=Path, help="the model, to write or to read")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--autocast", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(1)
    dataset = BenchmarkDataset(options.folder.name, options.folder, options.max_length)
    sizes = tuple(len(dataset.vocabulary(side)) + 4 for side in ("source", "target"))
    model = build_baseline(options.kind, (sizes[0], sizes[1]), options.layers).to(options.device)
    if options.action == "decode":
        model.load_state_dict(torch.load(options.file, weights_only=True))
        decode(model.eval(), dataset, (1, 5), options.rounds)
        return
    sides = (encode_lines(dataset, "train", side) for side in ("source", "target"))
    learning_rate = 5e-4 if options.kind == "transformer" else 1e-3
    plan = TrainingPlan(
        options.updates,
        rows=options.rows,
        bucketed=options.bucketed,
        learning_rate=learning_rate,
        autocast=options.autocast,
    )
    train(model, list(zip(*sides, strict=True)), plan)
    if options.file is not None:
        torch.save(model.state_dict(), options.file)


if __name__ == "__main__":
    main()

"""Plain eager PyTorch, as anybody would write it: the reference that every ratio refers to.

Nothing of regard is imported. Batches are what comes next in a shuffled file, or, `bucketed`, lines
of like length. A program of its own: `python -m benchmarks.plain train …` prints a line of JSON
every few updates, `… decode …` one with its figures.
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

from benchmarks.tasks import Task

PAD, BOS, EOS, UNKNOWN = range(4)
DROPOUT = 0.1
Ids = list[list[int]]


class Recurrent(nn.Module):
    """A bidirectional GRU, and a GRU whose new state looks back; what it finds is fed again."""

    def __init__(self, sizes: tuple[int, int], score: str, embedding: int = 256, hidden: int = 512):
        super().__init__()
        self.source = nn.Embedding(sizes[0], embedding, PAD)
        self.target = nn.Embedding(sizes[1], embedding, PAD)
        self.encoder = nn.GRU(embedding, hidden // 2, bidirectional=True, batch_first=True)
        self.first = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden, bias=False)
        self.query = nn.Linear(hidden, hidden, bias=False) if score == "additive" else None
        self.v = nn.Linear(hidden, 1, bias=False) if score == "additive" else None
        self.cell = nn.GRUCell(embedding + hidden, hidden)
        self.join = nn.Linear(2 * hidden, hidden, bias=False)
        self.out = nn.Linear(hidden, sizes[1], bias=False)
        self.drop = nn.Dropout(DROPOUT)

    def start(self, source: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Read the sources."""
        mask = source != PAD
        lengths = mask.sum(1)
        embedded = self.drop(self.source(source))
        packed = pack_padded_sequence(
            embedded, lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        memory, _ = pad_packed_sequence(self.encoder(packed)[0], batch_first=True)
        state = torch.tanh(self.first(memory.sum(1) / lengths[:, None]))
        return (memory, self.key(memory), mask), (state, torch.zeros_like(state))

    def move(
        self, memory: tuple[Tensor, ...], state: tuple[Tensor, ...], embedded: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Move by a word, look back, and return the new state and what is shown."""
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
        self, memory: tuple[Tensor, ...], state: tuple[Tensor, ...], words: Tensor
    ) -> tuple[tuple[Tensor, ...], Tensor]:
        """Return the next state and logits."""
        state = self.move(memory, state, self.target(words))
        return state, self.out(state[1])

    def forward(self, source: Tensor, fed: Tensor) -> Tensor:
        """Return the logits of every word."""
        memory, state = self.start(source)
        shown = []
        for embedded in self.drop(self.target(fed)).unbind(1):
            state = self.move(memory, state, embedded)
            shown.append(state[1])
        return self.out(self.drop(torch.stack(shown, 1)))


class Transformer(nn.Module):
    """`nn.Transformer` between two embeddings and a readout."""

    def __init__(self, sizes: tuple[int, int], layers: int = 3, width: int = 256):
        super().__init__()
        self.source = nn.Embedding(sizes[0], width, PAD)
        self.target = nn.Embedding(sizes[1], width, PAD)
        layer = nn.TransformerEncoderLayer(
            width, 4, 4 * width, DROPOUT, norm_first=True, batch_first=True
        )
        # its own encoder, which it would make too, warns of what it does not do here
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
        place = torch.arange(1024)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
        self.register_buffer("places", torch.stack([place.sin(), place.cos()], 2).flatten(1))

    def embed(self, embedding: nn.Embedding, words: Tensor) -> Tensor:
        """Words and where they stand."""
        scaled = embedding(words) * embedding.embedding_dim**0.5
        return self.drop(scaled + self.get_buffer("places")[: words.shape[1]])

    def start(self, source: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Read the sources."""
        hidden = source == PAD
        memory = self.model.encoder(self.embed(self.source, source), src_key_padding_mask=hidden)
        return (memory, hidden), (source.new_empty(source.shape[0], 0),)

    def decode(self, memory: tuple[Tensor, ...], fed: Tensor) -> Tensor:
        """Return what the decoder shows for every word."""
        causal = torch.ones(fed.shape[1], fed.shape[1], device=fed.device).triu(1).bool()
        return self.model.decoder(
            self.embed(self.target, fed),
            memory[0],
            tgt_mask=causal,
            memory_key_padding_mask=memory[1],
            tgt_is_causal=True,
        )

    def step(
        self, memory: tuple[Tensor, ...], state: tuple[Tensor, ...], words: Tensor
    ) -> tuple[tuple[Tensor, ...], Tensor]:
        """Decode all words so far again, as `nn.Transformer` knows no other way."""
        fed = torch.cat([state[0], words[:, None]], 1)
        return (fed,), self.out(self.decode(memory, fed)[:, -1])

    def forward(self, source: Tensor, fed: Tensor) -> Tensor:
        """Return the logits of every word."""
        memory, _ = self.start(source)
        return self.out(self.decode(memory, fed))


def make(kind: str, sizes: tuple[int, int], layers: int = 3) -> Recurrent | Transformer:
    """Make a model of a kind: additive, bilinear or transformer."""
    return Transformer(sizes, layers) if kind == "transformer" else Recurrent(sizes, kind)


def numbered(task: Task, part: str, side: str) -> Ids:
    """Return lines as ids, each with its end."""
    ids = {symbol: number + 4 for number, symbol in enumerate(task.vocabulary(side))}
    lines = (line.split() for line in task.lines(part, side))
    return [[*(ids.get(symbol, UNKNOWN) for symbol in line), EOS] for line in lines]


def padded(lines: Ids) -> Tensor:
    """Lay lines side by side."""
    longest = max(map(len, lines))
    return torch.tensor([line + [PAD] * (longest - len(line)) for line in lines])


def batches(
    pairs: list[tuple[list[int], list[int]]], rows: int, bucketed: bool
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield sources and targets without end."""
    drawn = random.Random(1)
    while True:
        drawn.shuffle(pairs)
        if bucketed:
            pairs.sort(key=lambda pair: (len(pair[1]), len(pair[0])))
        groups = [pairs[start : start + rows] for start in range(0, len(pairs), rows)]
        if bucketed:
            drawn.shuffle(groups)
        for group in groups:
            yield padded([source for source, _ in group]), padded([target for _, target in group])


@dataclass(frozen=True)
class Plan:
    """How long to train, and how."""

    updates: int
    rows: int = 64
    every: int = 10
    bucketed: bool = False
    rate: float = 1e-3
    autocast: bool = False


def train(model: nn.Module, pairs: list[tuple[list[int], list[int]]], plan: Plan) -> None:
    """Update and update, printing how many tokens there have been."""
    device = next(model.parameters()).device
    optimizer = torch.optim.Adam(model.parameters(), plan.rate)
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
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        tokens += int((target != PAD).sum())
        if update % plan.every == 0:
            say(step=update, tokens=tokens, loss=round(float(loss.detach()), 3))


def say(**figures: Any) -> None:
    """Print a line of JSON."""
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.stdout.flush()


def decode(model: Recurrent | Transformer, task: Task, sizes: tuple[int, ...], rounds: int) -> None:
    """Print words a second for each width of the beam, the median of some rounds."""
    from statistics import median

    from benchmarks.plain_search import search

    sources = numbered(task, "dev", "source")
    groups = [padded(sources[start : start + 32]) for start in range(0, len(sources), 32)]
    for size in sizes:
        search(model, groups[0], size, task.max_length)
        took, written = [], 0
        for _ in range(rounds):
            start = time.perf_counter()
            found = [search(model, group, size, task.max_length) for group in groups]
            took.append(time.perf_counter() - start)
            written = sum(len(line) for lines in found for line in lines)
        say(
            beam=size,
            words_per_second=len(sources) / median(took),
            symbols=written / len(sources),
        )


def main() -> None:
    """Train, or decode with what was trained."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plain")
    parser.add_argument("act", choices=["train", "decode"])
    parser.add_argument("kind", choices=["additive", "bilinear", "transformer"])
    parser.add_argument("folder", type=Path, help="a task's folder")
    parser.add_argument("--max-length", type=int, default=40)
    parser.add_argument("--updates", type=int, default=50)
    parser.add_argument("--bucketed", action="store_true")
    parser.add_argument("--file", type=Path, help="the model, to write or to read")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--autocast", action="store_true")
    given = parser.parse_args()
    torch.manual_seed(1)
    task = Task(given.folder.name, given.folder, given.max_length)
    sizes = tuple(len(task.vocabulary(side)) + 4 for side in ("source", "target"))
    model = make(given.kind, (sizes[0], sizes[1]), given.layers).to(given.device)
    if given.act == "decode":
        model.load_state_dict(torch.load(given.file, weights_only=True))
        decode(model.eval(), task, (1, 5), given.rounds)
        return
    sides = (numbered(task, "train", side) for side in ("source", "target"))
    rate = 5e-4 if given.kind == "transformer" else 1e-3
    plan = Plan(
        given.updates,
        rows=given.rows,
        bucketed=given.bucketed,
        rate=rate,
        autocast=given.autocast,
    )
    train(model, list(zip(*sides, strict=True)), plan)
    if given.file is not None:
        torch.save(model.state_dict(), given.file)


if __name__ == "__main__":
    main()

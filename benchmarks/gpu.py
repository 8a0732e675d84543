"""Kernels on a GPU, timed alone: `python -m benchmarks.gpu WHO WHAT` prints a line of JSON.

WHO is plain or ours, WHAT decoder, attention-512, attention-2048 or rnnsearch (plain only: ours is
timed as it trains). Works on a CPU too, slowly, so that it can be tried there.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

SIZES = {
    "attention-512": {"B": 16, "T": 512, "S": 512, "A": 512, "N": 512},
    "attention-2048": {"B": 4, "T": 2048, "S": 2048, "A": 256, "N": 256},
    "decoder": {"B": 64, "T": 30, "S": 30, "D": 512},
    "rnnsearch": {"B": 80, "T": 50, "S": 50, "D": 1000, "E": 620, "V": 30_000},
}
Work = Callable[[], None]


def drawn(*shape: int, device: str, scale: float = 1.0) -> Tensor:
    """Return random numbers that want a gradient."""
    return (torch.randn(*shape, device=device) * scale).requires_grad_()


def attention(who: str, device: str, sizes: dict[str, int]) -> Work:
    """Additive attention for many queries, forward and backward."""
    B, T, S, A, N = (sizes[letter] for letter in "BTSAN")
    q, k, values = (drawn(B, *rest, device=device) for rest in ((T, A), (S, A), (S, N)))
    v = drawn(A, device=device, scale=A**-0.5)
    grad = torch.randn(B, T, N, device=device)
    mask = torch.ones(B, S, dtype=torch.bool, device=device)

    def work() -> None:
        if who == "ours":
            from regard import kernels

            context = kernels.additive_attention(q, k, values, v=v, mask=mask)[0]
        else:
            context = (torch.tanh(q[:, :, None] + k[:, None]) @ v).softmax(-1) @ values
        torch.autograd.grad(context, (q, k, v, values), grad)

    return work


def decoder(who: str, device: str, sizes: dict[str, int]) -> Work:
    """A GRU that asks with its old state, over a whole line, forward and backward."""
    B, T, S, D = (sizes[letter] for letter in "BTSD")
    words, memory = drawn(B, T, D, device=device), drawn(B, S, 2 * D, device=device)
    grad = torch.randn(B, T, D, device=device)
    model = _ours_decoder(D) if who == "ours" else PlainDecoder(D, 2 * D, D)
    model = model.to(device)
    parts = [words, memory, *(p for p in model.parameters() if p.requires_grad)]

    def work() -> None:
        shown = model(words, memory)
        torch.autograd.grad(shown, parts, grad, allow_unused=True)

    return work


class PlainDecoder(nn.Module):
    """The loop as anybody would write it."""

    def __init__(self, hidden: int, memory: int, embedding: int) -> None:
        super().__init__()
        self.first = nn.Linear(memory, hidden)
        self.key = nn.Linear(memory, hidden, bias=False)
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.v = nn.Linear(hidden, 1, bias=False)
        self.cell = nn.GRUCell(embedding + memory, hidden)

    def forward(self, words: Tensor, memory: Tensor) -> Tensor:
        """Return every state."""
        return self.looked(words, memory)[0]

    def looked(self, words: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return every new state, every old one, and what was found."""
        keys, state = self.key(memory), torch.tanh(self.first(memory[:, 0]))
        new, old, contexts = [], [], []
        for word in words.unbind(1):
            scores = self.v(torch.tanh(keys + self.query(state)[:, None])).squeeze(2)
            context = torch.bmm(scores.softmax(1)[:, None], memory).squeeze(1)
            old.append(state)
            state = self.cell(torch.cat([word, context], 1), state)
            new.append(state)
            contexts.append(context)
        return torch.stack(new, 1), torch.stack(old, 1), torch.stack(contexts, 1)


def _ours_decoder(D: int) -> nn.Module:
    from regard.models import preset
    from regard.models.build import build
    from regard.nn.encoded import Encoded

    sizes = {"embedding_size": D, "hidden_size": D, "align_size": D, "readout_size": D}
    whole = build(preset("bahdanau2015")(**sizes, cell="gru_after"), 8, 8)

    class Alone(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.decoder = whole.decoder

        def forward(self, words: Tensor, memory: Tensor) -> Tensor:
            mask = torch.ones(memory.shape[:2], dtype=torch.bool, device=memory.device)
            first = memory[:, 0, : memory.shape[2] // 2]
            read = Encoded(memory, memory, mask, memory[:, -1], summary=first)
            start, state = self.decoder.start(read)
            return self.decoder.unroll(state, words, start, need_weights=False)[1].new_state

    return Alone()


class PlainRNNsearch(nn.Module):
    """RNNsearch at the paper's sizes, with the library's GRU."""

    def __init__(self, D: int, E: int, V: int) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(V, E), nn.Embedding(V, E)
        self.encoder = nn.GRU(E, D, bidirectional=True, batch_first=True)
        self.decoder = PlainDecoder(D, 2 * D, E)
        self.read = nn.Linear(D + E + 2 * D, D)
        self.out = nn.Linear(D // 2, V)

    def forward(self, source: Tensor, fed: Tensor) -> Tensor:
        """Return the logits of every word."""
        memory, words = self.encoder(self.source(source))[0], self.target(fed)
        _, old, contexts = self.decoder.looked(words, memory)
        maxout = self.read(torch.cat([old, words, contexts], -1)).unflatten(-1, (-1, 2)).amax(-1)
        return self.out(maxout)


def rnnsearch(who: str, device: str, sizes: dict[str, int]) -> Work:
    """One update: loss, gradients, clipping, Adadelta."""
    if who == "ours":
        raise SystemExit("ours is timed as it trains; python -m benchmarks.run rnnsearch would do")
    B, T, S, D, E, V = (sizes[letter] for letter in "BTSDEV")
    model = PlainRNNsearch(D, E, V).to(device)
    optimizer = torch.optim.Adadelta(model.parameters(), rho=0.95, eps=1e-6)
    source, fed, target = (torch.randint(V, (B, n), device=device) for n in (S, T, T))

    def work() -> None:
        logits = model(source, fed)
        loss = functional.cross_entropy(logits.flatten(0, 1).float(), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return work


def timed(work: Work, device: str, rounds: int) -> dict[str, float]:
    """Return milliseconds, the median of some calls, and the peak of memory."""
    for _ in range(3):
        work()
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated() if device == "cuda" else 0
    took = [_once(work, device) for _ in range(rounds)]
    peak = torch.cuda.max_memory_allocated() - before if device == "cuda" else 0
    return {"milliseconds": 1000 * median(took), "gibibytes": peak / 2**30}


def _once(work: Work, device: str) -> float:
    start = time.perf_counter()
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def replayed(work: Work) -> Work:
    """Record what a call does on the GPU, and return what does it again."""
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def main() -> None:
    """Time one thing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu")
    parser.add_argument("who", choices=["plain", "ours"])
    parser.add_argument("what", choices=[*SIZES])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", choices=["float32", "tf32", "bfloat16"], default="float32")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--sizes", default="{}", help="other sizes, as JSON")
    given = parser.parse_args()
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high" if given.precision == "tf32" else "highest")
    makers: dict[str, Any] = {"decoder": decoder, "rnnsearch": rnnsearch}
    sizes = SIZES[given.what] | json.loads(given.sizes)
    work = makers.get(given.what, attention)(given.who, given.device, sizes)
    with torch.autocast(given.device, torch.bfloat16, enabled=given.precision == "bfloat16"):
        figures = {"called": timed(work, given.device, given.rounds)}
        if given.device == "cuda" and given.what != "rnnsearch":
            figures["replayed"] = timed(replayed(work), given.device, given.rounds)
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()

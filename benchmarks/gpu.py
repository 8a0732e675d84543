"""Parts of a model on a GPU: `python -m benchmarks.gpu CONTENDER PART` prints a line of JSON.

CONTENDER is baseline or regard. PART is decoder, attention-512, attention-2048 or rnnsearch (only
the baseline: regard is timed while it trains). Runs on a CPU too, slowly, for tests.
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
Workload = Callable[[], None]


def random_tensor(*shape: int, device: str, scale: float = 1.0) -> Tensor:
    """Return random numbers that require a gradient."""
    return (torch.randn(*shape, device=device) * scale).requires_grad_()


def attention_workload(contender: str, device: str, sizes: dict[str, int]) -> Workload:
    """Return additive attention for many queries, forward and backward."""
    B, T, S, A, N = (sizes[letter] for letter in "BTSAN")
    q, k, values = (random_tensor(B, *rest, device=device) for rest in ((T, A), (S, A), (S, N)))
    v = random_tensor(A, device=device, scale=A**-0.5)
    grad = torch.randn(B, T, N, device=device)
    mask = torch.ones(B, S, dtype=torch.bool, device=device)

    def workload() -> None:
        if contender == "regard":
            from regard import kernels

            context = kernels.additive_attention(q, k, values, v=v, mask=mask)[0]
        else:
            context = (torch.tanh(q[:, :, None] + k[:, None]) @ v).softmax(-1) @ values
        torch.autograd.grad(context, (q, k, v, values), grad)

    return workload


def decoder_workload(contender: str, device: str, sizes: dict[str, int]) -> Workload:
    """Return a GRU whose old state is the query, over a whole line, forward and backward."""
    B, T, S, D = (sizes[letter] for letter in "BTSD")
    embeddings = random_tensor(B, T, D, device=device)
    memory = random_tensor(B, S, 2 * D, device=device)
    grad = torch.randn(B, T, D, device=device)
    model = _regard_decoder(D) if contender == "regard" else BaselineDecoder(D, 2 * D, D)
    model = model.to(device)
    parts = [embeddings, memory, *(p for p in model.parameters() if p.requires_grad)]

    def workload() -> None:
        outputs = model(embeddings, memory)
        torch.autograd.grad(outputs, parts, grad, allow_unused=True)

    return workload


class BaselineDecoder(nn.Module):
    """The straightforward loop over steps."""

    def __init__(self, hidden: int, memory: int, embedding: int) -> None:
        super().__init__()
        self.initial = nn.Linear(memory, hidden)
        self.key = nn.Linear(memory, hidden, bias=False)
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.v = nn.Linear(hidden, 1, bias=False)
        self.cell = nn.GRUCell(embedding + memory, hidden)

    def forward(self, embeddings: Tensor, memory: Tensor) -> Tensor:
        """Return every state."""
        return self.unroll(embeddings, memory)[0]

    def unroll(self, embeddings: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return every new state, every old state and every context."""
        keys, state = self.key(memory), torch.tanh(self.initial(memory[:, 0]))
        new, old, contexts = [], [], []
        for word in embeddings.unbind(1):
            scores = self.v(torch.tanh(keys + self.query(state)[:, None])).squeeze(2)
            context = torch.bmm(scores.softmax(1)[:, None], memory).squeeze(1)
            old.append(state)
            state = self.cell(torch.cat([word, context], 1), state)
            new.append(state)
            contexts.append(context)
        return torch.stack(new, 1), torch.stack(old, 1), torch.stack(contexts, 1)


def _regard_decoder(D: int) -> nn.Module:
    from regard.models import preset
    from regard.models.build import build
    from regard.nn.encoder_output import EncoderOutput

    sizes = {"embedding_size": D, "hidden_size": D, "align_size": D, "readout_size": D}
    model = build(preset("bahdanau2015")(**sizes, cell="gru_after"), 8, 8)

    class StandaloneDecoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.decoder = model.decoder

        def forward(self, embeddings: Tensor, memory: Tensor) -> Tensor:
            mask = torch.ones(memory.shape[:2], dtype=torch.bool, device=memory.device)
            first = memory[:, 0, : memory.shape[2] // 2]
            encoder_output = EncoderOutput(memory, memory, mask, memory[:, -1], summary=first)
            start, state = self.decoder.start(encoder_output)
            return self.decoder.unroll(state, embeddings, start, need_weights=False)[1].new_state

    return StandaloneDecoder()


class BaselineRNNsearch(nn.Module):
    """RNNsearch at the paper's sizes, with the library's GRU."""

    def __init__(self, D: int, E: int, V: int) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(V, E), nn.Embedding(V, E)
        self.encoder = nn.GRU(E, D, bidirectional=True, batch_first=True)
        self.decoder = BaselineDecoder(D, 2 * D, E)
        self.readout = nn.Linear(D + E + 2 * D, D)
        self.out = nn.Linear(D // 2, V)

    def forward(self, source: Tensor, fed: Tensor) -> Tensor:
        """Return the logits of every position."""
        memory, embeddings = self.encoder(self.source(source))[0], self.target(fed)
        _, old, contexts = self.decoder.unroll(embeddings, memory)
        maxout = (
            self.readout(torch.cat([old, embeddings, contexts], -1)).unflatten(-1, (-1, 2)).amax(-1)
        )
        return self.out(maxout)


def rnnsearch_workload(contender: str, device: str, sizes: dict[str, int]) -> Workload:
    """Return one update: loss, gradients, clipping, Adadelta."""
    if contender == "regard":
        raise SystemExit(
            "regard is timed while it trains; run python -m benchmarks.run rnnsearch instead"
        )
    B, T, S, D, E, V = (sizes[letter] for letter in "BTSDEV")
    model = BaselineRNNsearch(D, E, V).to(device)
    optimizer = torch.optim.Adadelta(model.parameters(), rho=0.95, eps=1e-6)
    source, fed, target = (torch.randint(V, (B, n), device=device) for n in (S, T, T))

    def workload() -> None:
        logits = model(source, fed)
        loss = functional.cross_entropy(logits.flatten(0, 1).float(), target.flatten())
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return workload


def time_workload(workload: Workload, device: str, rounds: int) -> dict[str, float]:
    """Return the median time of some calls in milliseconds, and the peak memory."""
    for _ in range(3):
        workload()
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    start_bytes = torch.cuda.memory_allocated() if device == "cuda" else 0
    seconds = [_time_call(workload, device) for _ in range(rounds)]
    peak = torch.cuda.max_memory_allocated() - start_bytes if device == "cuda" else 0
    return {"milliseconds": 1000 * median(seconds), "gibibytes": peak / 2**30}


def _time_call(workload: Workload, device: str) -> float:
    start = time.perf_counter()
    workload()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def capture(workload: Workload) -> Workload:
    """Capture a call as a CUDA graph; return the function that replays it."""
    stream: torch.cuda.Stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            workload()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        workload()
    return graph.replay


def main() -> None:
    """Time one part."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu")
    parser.add_argument("contender", choices=["baseline", "regard"])
    parser.add_argument("part", choices=[*SIZES])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", choices=["float32", "tf32", "bfloat16"], default="float32")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--sizes", default="{}", help="sizes that differ, as JSON")
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high" if options.precision == "tf32" else "highest")
    workloads: dict[str, Any] = {"decoder": decoder_workload, "rnnsearch": rnnsearch_workload}
    sizes = SIZES[options.part] | json.loads(options.sizes)
    workload = workloads.get(options.part, attention_workload)(
        options.contender, options.device, sizes
    )
    with torch.autocast(options.device, torch.bfloat16, enabled=options.precision == "bfloat16"):
        figures = {"eager": time_workload(workload, options.device, options.rounds)}
        if options.device == "cuda" and options.part != "rnnsearch":
            figures["cuda_graph"] = time_workload(capture(workload), options.device, options.rounds)
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()

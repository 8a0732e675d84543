"""`python -m benchmarks.decoding MODEL FILE…`: lines per second, greedy and with a beam.

Each line of the files is translated by the library, batched, and by a plain loop that asks the
model for one line after the other, step by step: what decoding is by definition. Both in turn,
several rounds; a ratio is taken within a round. Prints a table, and writes JSON with --out.
"""

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch

import regard
from regard.special_tokens import BOS, EOS, PAD
from regard.translator import Translation, Translator

Words = tuple[int, ...]


class Plain:
    """Beam search by its definition: one line's hypotheses are one batch, as large as they are."""

    def __init__(self, translator: Translator, beam_size: int, max_length: int) -> None:
        self.model = translator.models[0]
        self.penalty = translator.settings.search.length_penalty
        self.W, self.max_length = beam_size, max_length

    @torch.inference_mode()
    def search(self, source: Sequence[int]) -> Words:
        """Return the best words of one line."""
        ids = torch.tensor([source])
        memory, state = self.model.start(ids, torch.ones_like(ids, dtype=torch.bool))
        live: list[tuple[Words, float]] = [((), 0.0)]
        finished: list[tuple[Words, float]] = []
        while live and len(finished) < self.W:
            fed = torch.tensor([words[-1] if words else BOS for words, _ in live])
            state, scored = self.model.step(state, fed, memory)
            ranked = self._ranked(live, scored.logits.float().log_softmax(dim=-1))
            ended = [(live[row][0], total) for row, word, total in ranked[: self.W] if word == EOS]
            finished += [
                (words, total / (len(words) + 1) ** self.penalty) for words, total in ended
            ]
            going = [one for one in ranked if one[1] != EOS][: self.W]
            live = [((*live[row][0], word), total) for row, word, total in going]
            rows = torch.tensor([row for row, _, _ in going], dtype=torch.long)
            state, memory = state.gather(rows), memory.gather(rows)
        return max(finished, key=lambda pair: pair[1])[0]

    def _ranked(
        self, live: list[tuple[Words, float]], log_probs: torch.Tensor
    ) -> list[tuple[int, int, float]]:
        """Return the likeliest continuations: which hypothesis, which word, their total."""
        V = log_probs.shape[1]
        log_probs[:, [PAD, BOS]] = -torch.inf
        if len(live[0][0]) == self.max_length:
            log_probs[:, [word for word in range(V) if word != EOS]] = -torch.inf
        totals = log_probs + torch.tensor([total for _, total in live])[:, None]
        values, places = totals.flatten().topk(min(2 * self.W, totals.numel()))
        pairs = zip(values.tolist(), places.tolist(), strict=True)
        return [(i // V, i % V, total) for total, i in pairs if total > -torch.inf]


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long it took, and what came of it."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def measure(
    translator: Translator, lines: list[str], beam_size: int, batch_size: int, rounds: int
) -> dict[str, Any]:
    """Let both translate all lines, in turn; return their paces, and how many lines agree."""
    options: dict[str, Any] = {"beam_size": beam_size, "nbest": 1, "batch_size": batch_size}
    prepared = translator.prepare(lines, **options)
    loop = Plain(translator, beam_size, prepared[0].options.config.max_length)
    sources = [one.request.source for one in prepared if one.request is not None]
    translator.translate(lines[:batch_size], **options)
    loop.search(sources[0])
    ours, plain = [], []
    found: list[Translation] = []
    expected: list[Words] = []
    for _ in range(rounds):
        taken, found = seconds(lambda: translator.translate(lines, **options))
        ours.append(len(lines) / taken)
        taken, expected = seconds(lambda: [loop.search(source) for source in sources])
        plain.append(len(lines) / taken)
    tokens = translator.target.vocabulary
    texts = [translator.target.line(tokens.tokens(words)) for words in expected]
    return {
        "beam_size": beam_size,
        "lines": len(lines),
        "batch_size": batch_size,
        "words_a_line": sum(len(one.tokens) for one in found) / len(found),
        "lines/s": _spread(ours),
        "plain lines/s": _spread(plain),
        "ratio": _spread([a / b for a, b in zip(ours, plain, strict=True)]),
        # rounding alone may part them, and an unknown symbol that is copied
        "alike": sum(a.text == b for a, b in zip(found, texts, strict=True)),
    }


def _spread(values: list[float]) -> dict[str, float]:
    return {"median": median(values), "least": min(values), "most": max(values)}


def machine() -> dict[str, Any]:
    """Return what the figures depend on besides the model."""
    return {
        "processor": platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "regard": regard.__version__,
    }


def main() -> None:
    """Print a row for each beam."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decoding")
    parser.add_argument("model", type=Path)
    parser.add_argument("lines", type=Path, nargs="+", help="files of source lines")
    parser.add_argument("--beam-sizes", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, help="cores to use, all by default")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    translator = regard.load(given.model, device="cpu")
    texts = [path.read_text(encoding="utf-8").splitlines() for path in given.lines]
    lines = [line for text in texts for line in text if line.strip()]
    names = ("beam", "lines", "lines/s", "plain", "ratio", "from", "to", "alike")
    sys.stdout.write("".join(f"{name:>9}" for name in names) + "\n")
    rows = []
    for beam_size in given.beam_sizes:
        row = measure(translator, lines, beam_size, given.batch_size, given.rounds)
        rows.append(row)
        ratio = row["ratio"]
        cells = [str(beam_size), str(row["lines"])]
        cells += [f"{row[name]['median']:.1f}" for name in ("lines/s", "plain lines/s")]
        cells += [f"{ratio[name]:.2f}" for name in ("median", "least", "most")]
        cells += [f"{row['alike'] / row['lines']:.1%}"]
        sys.stdout.write("".join(f"{cell:>9}" for cell in cells) + "\n")
        sys.stdout.flush()
    if given.out:
        report = {"machine": machine(), "model": given.model.name, "rows": rows}
        given.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

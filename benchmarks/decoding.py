"""`python -m benchmarks.decoding MODEL FILE…`: lines per second, greedy and with beam search.

The library translates the lines in batches. A reference loop translates them one by one, step by
step, by the definition of beam search. Both take turns; a ratio compares speeds of one round.
Prints a table; --out also writes JSON.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

import regard
from benchmarks.machine import machine
from benchmarks.throughput import MedianRange
from regard.special_tokens import BOS, EOS, PAD
from regard.translator import Translation, Translator

TokenIds = tuple[int, ...]


class ReferenceBeamSearch:
    """Beam search by its definition: the hypotheses of one line are one batch."""

    def __init__(self, translator: Translator, beam_size: int, max_length: int) -> None:
        self.model = translator.models[0]
        self.penalty = translator.settings.search.length_penalty
        self.W, self.max_length = beam_size, max_length

    @torch.inference_mode()
    def search(self, source: Sequence[int]) -> TokenIds:
        """Return the best output of one line."""
        ids = torch.tensor([source])
        memory, state = self.model.start(ids, torch.ones_like(ids, dtype=torch.bool))
        hypotheses: list[tuple[TokenIds, float]] = [((), 0.0)]
        finished: list[tuple[TokenIds, float]] = []
        while hypotheses and len(finished) < self.W:
            fed = torch.tensor([words[-1] if words else BOS for words, _ in hypotheses])
            state, readout = self.model.step(state, fed, memory)
            ranked = self._ranked(hypotheses, readout.logits.float().log_softmax(dim=-1))
            ended = [
                (hypotheses[row][0], total) for row, word, total in ranked[: self.W] if word == EOS
            ]
            finished += [
                (words, total / (len(words) + 1) ** self.penalty) for words, total in ended
            ]
            continuations = [continuation for continuation in ranked if continuation[1] != EOS][
                : self.W
            ]
            hypotheses = [
                ((*hypotheses[row][0], word), total) for row, word, total in continuations
            ]
            rows = torch.tensor([row for row, _, _ in continuations], dtype=torch.long)
            state, memory = state.gather(rows), memory.gather(rows)
        return max(finished, key=lambda pair: pair[1])[0]

    def _ranked(
        self, hypotheses: list[tuple[TokenIds, float]], log_probs: torch.Tensor
    ) -> list[tuple[int, int, float]]:
        """Return the likeliest continuations: index of the hypothesis, token id, total score."""
        V = log_probs.shape[1]
        log_probs[:, [PAD, BOS]] = -torch.inf
        if len(hypotheses[0][0]) == self.max_length:
            log_probs[:, [word for word in range(V) if word != EOS]] = -torch.inf
        totals = log_probs + torch.tensor([total for _, total in hypotheses])[:, None]
        best_totals, indices = totals.flatten().topk(min(2 * self.W, totals.numel()))
        pairs = zip(best_totals.tolist(), indices.tolist(), strict=True)
        return [(i // V, i % V, total) for total, i in pairs if total > -torch.inf]


def time_call(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that a call takes, and what it returns."""
    start = time.perf_counter()
    output = function()
    return time.perf_counter() - start, output


def measure(
    translator: Translator, lines: list[str], beam_size: int, batch_size: int, rounds: int
) -> dict[str, Any]:
    """Translate all lines with both, in turn; return their speeds, and how many outputs agree."""
    options: dict[str, Any] = {"beam_size": beam_size, "nbest": 1, "batch_size": batch_size}
    prepared_lines = translator.prepare(lines, **options)
    max_length = prepared_lines[0].options.config.max_length
    reference_search = ReferenceBeamSearch(translator, beam_size, max_length)
    sources = [one.request.source for one in prepared_lines if one.request is not None]
    translator.translate(lines[:batch_size], **options)
    reference_search.search(sources[0])
    batched_speeds, reference_speeds = [], []
    translations: list[Translation] = []
    expected: list[TokenIds] = []
    for _ in range(rounds):
        seconds, translations = time_call(lambda: translator.translate(lines, **options))
        batched_speeds.append(len(lines) / seconds)
        seconds, expected = time_call(
            lambda: [reference_search.search(source) for source in sources]
        )
        reference_speeds.append(len(lines) / seconds)
    vocabulary = translator.target.vocabulary
    texts = [translator.target.detokenize(vocabulary.decode(ids)) for ids in expected]
    return {
        "beam_size": beam_size,
        "lines": len(lines),
        "batch_size": batch_size,
        "tokens_per_line": sum(len(one.tokens) for one in translations) / len(translations),
        "lines/s": _median_range(batched_speeds),
        "reference lines/s": _median_range(reference_speeds),
        "ratio": _median_range(
            [a / b for a, b in zip(batched_speeds, reference_speeds, strict=True)]
        ),
        # they may differ by rounding, and by an unknown token that is copied
        "identical": sum(a.text == b for a, b in zip(translations, texts, strict=True)),
    }


def _median_range(figures: list[float]) -> dict[str, float]:
    return MedianRange.of(figures)._asdict()


def main() -> None:
    """Print a row for each beam size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decoding")
    parser.add_argument("model", type=Path)
    parser.add_argument("lines", type=Path, nargs="+", help="files of source lines")
    parser.add_argument("--beam-sizes", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, help="cores to use, all by default")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    translator = regard.load(options.model, device="cpu")
    texts = [path.read_text(encoding="utf-8").splitlines() for path in options.lines]
    lines = [line for text in texts for line in text if line.strip()]
    names = ("beam", "lines", "lines/s", "reference", "ratio", "from", "to", "identical")
    sys.stdout.write("".join(f"{name:>11}" for name in names) + "\n")
    rows = []
    for beam_size in options.beam_sizes:
        row = measure(translator, lines, beam_size, options.batch_size, options.rounds)
        rows.append(row)
        ratio = row["ratio"]
        cells = [str(beam_size), str(row["lines"])]
        cells += [f"{row[name]['median']:.1f}" for name in ("lines/s", "reference lines/s")]
        cells += [f"{ratio[name]:.2f}" for name in ("median", "least", "most")]
        cells += [f"{row['identical'] / row['lines']:.1%}"]
        sys.stdout.write("".join(f"{cell:>11}" for cell in cells) + "\n")
        sys.stdout.flush()
    if options.out:
        report = {
            "machine": machine(torch.get_num_threads()),
            "model": options.model.name,
            "rows": rows,
        }
        options.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

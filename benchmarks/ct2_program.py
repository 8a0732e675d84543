"""Run by the Python of a competitor: CTranslate2, with a Transformer that OpenNMT-py trained.

`python ct2_program.py CHECKPOINT FOLDER LINES MAX_LENGTH ROUNDS` converts the checkpoint unless
FOLDER holds it already, and prints words per second as JSON. Imports nothing of this project.
"""

import json
import os
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any


def convert(checkpoint: str, folder: str) -> None:
    """Convert a checkpoint, without two settings that the converter refuses."""
    import argparse

    import torch
    from ctranslate2.converters import OpenNMTPyConverter

    saved = torch.load(checkpoint, weights_only=False)
    # another name of the same attention
    saved["opt"].self_attn_type = "scaled-dot"
    cleaned_checkpoint = folder + ".pt"
    torch.save(saved, cleaned_checkpoint)
    # the checkpoint holds a namespace, which torch refuses to load by default
    torch.serialization.add_safe_globals([argparse.Namespace])
    OpenNMTPyConverter(cleaned_checkpoint).convert(folder, force=True)


def measure(
    translator: Any, lines: list[list[str]], beam: int, max_length: int, rounds: int
) -> tuple[float, float]:
    """Return words per second and tokens per word."""

    def translate(batch: list[list[str]]) -> Any:
        return translator.translate_batch(
            batch,
            beam_size=beam,
            max_batch_size=32,
            batch_type="examples",
            max_decoding_length=max_length,
        )

    translate(lines[:32])
    seconds, outputs = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        outputs = translate(lines)
        seconds.append(time.perf_counter() - start)
    tokens = sum(len(one.hypotheses[0]) for one in outputs) / len(lines)
    return len(lines) / median(seconds), tokens


def main() -> None:
    """Print a line for each number format, thread count and beam size."""
    checkpoint, folder, file, max_length, rounds = sys.argv[1:]
    if not os.path.exists(os.path.join(folder, "model.bin")):
        convert(checkpoint, folder)
    import ctranslate2

    lines = [line.split() for line in Path(file).read_text(encoding="utf-8").splitlines()]
    for numbers in ("float32", "int8"):
        for threads in (1, 2):
            options = {"compute_type": numbers, "inter_threads": 1, "intra_threads": threads}
            translator = ctranslate2.Translator(folder, device="cpu", **options)
            for beam in (1, 5):
                speed, tokens = measure(translator, lines, beam, int(max_length), int(rounds))
                figures: dict[str, Any] = {"numbers": numbers, "threads": threads, "beam": beam}
                figures |= {"words_per_second": speed, "tokens": tokens}
                sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()

"""Run by the Python of a peer: CTranslate2, on a Transformer that OpenNMT-py has trained.

`python ct2_program.py CHECKPOINT FOLDER LINES MAX_LENGTH ROUNDS` converts it where FOLDER does not
hold it yet, and prints words a second as JSON. Imports nothing of this project.
"""

import json
import os
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any


def convert(checkpoint: str, folder: str) -> None:
    """Convert a checkpoint; two of its settings are in the converter's way, and mean nothing."""
    import argparse

    import torch
    from ctranslate2.converters import OpenNMTPyConverter

    saved = torch.load(checkpoint, weights_only=False)
    # another name for the same mathematics
    saved["opt"].self_attn_type = "scaled-dot"
    plain = folder + ".pt"
    torch.save(saved, plain)
    # the checkpoint holds a namespace, which torch would not load for the converter
    torch.serialization.add_safe_globals([argparse.Namespace])
    OpenNMTPyConverter(plain).convert(folder, force=True)


def timed(translator: Any, lines: list[list[str]], beam: int, most: int, rounds: int) -> Any:
    """Return words a second and symbols a word."""

    def run(some: list[list[str]]) -> Any:
        return translator.translate_batch(
            some,
            beam_size=beam,
            max_batch_size=32,
            batch_type="examples",
            max_decoding_length=most,
        )

    run(lines[:32])
    took, found = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        found = run(lines)
        took.append(time.perf_counter() - start)
    symbols = sum(len(one.hypotheses[0]) for one in found) / len(lines)
    return len(lines) / median(took), symbols


def main() -> None:
    """Print a line for each kind of number, count of threads and width of the beam."""
    checkpoint, folder, file, most, rounds = sys.argv[1:]
    if not os.path.exists(os.path.join(folder, "model.bin")):
        convert(checkpoint, folder)
    import ctranslate2

    lines = [line.split() for line in Path(file).read_text(encoding="utf-8").splitlines()]
    for numbers in ("float32", "int8"):
        for threads in (1, 2):
            options = {"compute_type": numbers, "inter_threads": 1, "intra_threads": threads}
            translator = ctranslate2.Translator(folder, device="cpu", **options)
            for beam in (1, 5):
                speed, symbols = timed(translator, lines, beam, int(most), int(rounds))
                figures = {"numbers": numbers, "threads": threads, "beam": beam}
                figures |= {"words_per_second": speed, "symbols": symbols}
                sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()

"""CTranslate2: decodes a model of OpenNMT-py; the faster thread count of each search counts."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.competitors import CTRANSLATE2, CompetitorSetup
from benchmarks.programs import follow
from benchmarks.rows import Measurement
from benchmarks.throughput import search_name

PROGRAM = Path(__file__).with_name("ct2_program.py")
ROUNDS = 3


def decode(setup: CompetitorSetup, checkpoint: Path) -> Measurement:
    """Return arguments per second in float32, and those in int8 under names of their own."""
    dataset = setup.dataset
    setup.folder.parent.mkdir(parents=True, exist_ok=True)
    arguments = [checkpoint, setup.folder, dataset.file("dev", "source"), str(dataset.max_length)]
    # -P: the files beside it must not shadow packages of the same name
    command = [CTRANSLATE2.python(setup.competitors), "-P", PROGRAM, *arguments, str(ROUNDS)]
    program = follow(command, threads=setup.threads).check(CTRANSLATE2.name)
    entries = [json.loads(line) for _, line in program.lines if line.startswith('{"numbers"')]
    return Measurement(best_figures(entries), program.other_cores, program.peak_bytes)


def best_figures(entries: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Return the figures of the faster thread count for each search."""
    figures: dict[str, float] = {}
    for entry in entries:
        kind = search_name(entry["beam"]) + ("" if entry["numbers"] == "float32" else ", int8")
        if entry["words_per_second"] > figures.get(kind, 0.0):
            figures[kind] = entry["words_per_second"]
            figures[f"threads, {kind}"] = entry["threads"]
            figures[f"tokens, {kind}"] = entry["tokens"]
    return figures

"""CTranslate2: it only decodes, by what OpenNMT-py has trained; of its thread counts the better."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.paces import name
from benchmarks.peers import CTRANSLATE2, Setup
from benchmarks.programs import follow
from benchmarks.rows import Measured

PROGRAM = Path(__file__).with_name("ct2_program.py")
ROUNDS = 3


def decode(setup: Setup, checkpoint: Path) -> Measured:
    """Return words a second in float32, and beside them those in int8."""
    task = setup.task
    setup.folder.parent.mkdir(parents=True, exist_ok=True)
    words = [checkpoint, setup.folder, task.file("dev", "source"), str(task.max_length)]
    # -P: the files beside it are not to be taken for packages of the same name
    command = [CTRANSLATE2.python(setup.peers), "-P", PROGRAM, *words, str(ROUNDS)]
    ran = follow(command, threads=setup.threads).expected(CTRANSLATE2.name)
    said = [json.loads(line) for _, line in ran.lines if line.startswith('{"numbers"')]
    return Measured(best(said), ran.others, ran.peak)


def best(said: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Take the faster count of threads of each search; int8 under a name of its own."""
    figures: dict[str, float] = {}
    for one in said:
        kind = name(one["beam"]) + ("" if one["numbers"] == "float32" else ", int8")
        if one["words_per_second"] > figures.get(kind, 0.0):
            figures[kind] = one["words_per_second"]
            figures[f"threads, {kind}"] = one["threads"]
            figures[f"symbols, {kind}"] = one["symbols"]
    return figures

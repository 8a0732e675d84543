"""How long `regard train` takes until its first update, compared with an older checkout.

    python -m benchmarks.time_to_first_update --old ../older/checkout --repetitions 3

Trains on 1,000,000 generated pairs of words (characters to symbols) and of sentences (subwords).
Stops at the first update of the real loop; the updates that estimate the training time count too.
The checkouts take turns, each in a process and a folder of its own. Writes wall-clock and CPU
seconds, peak resident memory, and the ratios of new to old to
benchmarks/results/time_to_first_update.json.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "time_to_first_update.json"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
MEASURES = ("seconds", "cpu_seconds", "peak_mib")

PROGRAM = """
import json, os, resource, sys, time
start = time.perf_counter()
import regard.training.estimate
from regard.training import loop

def first_update(*_):
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({
        "seconds": time.perf_counter() - start,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_mib": usage.ru_maxrss / 1024,
    }), flush=True)
    os._exit(0)

# regard.training.estimate has already imported the original
loop.update = first_update
from regard.cli import main
main(["train", sys.argv[1], "--max-steps", "1", "--out", sys.argv[2]])
"""

Measurement = dict[str, float]


def main() -> None:
    """Measure both checkouts in turn, and write a report."""
    arguments = _arguments()
    runs: dict[str, list[dict[str, Measurement]]] = {}
    with tempfile.TemporaryDirectory() as name:
        for task, lines in (("words", _words), ("sentences", _sentences)):
            pairs = Path(name) / f"{task}.tsv"
            with open(pairs, "w", encoding="utf-8") as file:
                file.writelines(lines(arguments.pairs))
            runs[task] = []
            for repetition in range(arguments.repetitions):
                checkouts = {"old": arguments.old, "new": ROOT}
                # neither checkout is always first
                order = sorted(checkouts, reverse=bool(repetition % 2))
                measured = {one: first_update(checkouts[one], pairs) for one in order}
                runs[task].append(measured)
                sys.stdout.write(f"{task} {json.dumps(measured)}\n")
                sys.stdout.flush()
    report = {"pairs": arguments.pairs, "threads": os.environ.get("OMP_NUM_THREADS"), "tasks": {}}
    report["tasks"] = {task: {"runs": x, "new_to_old": ratios(x)} for task, x in runs.items()}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(report, indent=2) + "\n")
    for task, measured_runs in runs.items():
        sys.stdout.write(f"{task} {json.dumps(ratios(measured_runs))}\n")


def first_update(checkout: Path, pairs: Path) -> Measurement:
    """Train with a checkout until its first update."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(pairs), str(Path(folder) / "model.regard")],
            env={**os.environ, "PYTHONPATH": str(Path(checkout).absolute() / "src")},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
        )
    measurement: Measurement = json.loads(run.stdout)
    return measurement


def ratios(runs: list[dict[str, Measurement]]) -> Measurement:
    """Return the median ratio of new to old in each measure."""
    return {
        name: statistics.median(run["new"][name] / run["old"][name] for run in runs)
        for name in MEASURES
    }


def _words(count: int) -> Iterator[str]:
    """Yield random words; a target is the word in capitals, reversed and spaced."""
    rng = random.Random(1)
    for _ in range(count):
        word = _word(rng, 4, 12)
        yield f"{word}\t{' '.join(word[::-1].upper())}\n"


def _sentences(count: int) -> Iterator[str]:
    """Yield sentences from 20,000 words; a target reverses the sentence and each word."""
    rng = random.Random(2)
    words = [_word(rng, 2, 9) for _ in range(20_000)]
    weights = list(accumulate(1 / (rank + 10) for rank in range(len(words))))
    for _ in range(count):
        sentence = rng.choices(words, cum_weights=weights, k=rng.randint(4, 14))
        yield f"{' '.join(sentence)}\t{' '.join(word[::-1] for word in sentence[::-1])}\n"


def _word(rng: random.Random, shortest: int, longest: int) -> str:
    return "".join(rng.choice(LETTERS) for _ in range(rng.randint(shortest, longest)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time to the first update, new against old.")
    parser.add_argument("--old", type=Path, required=True, help="an older checkout")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    return parser.parse_args()


if __name__ == "__main__":
    main()

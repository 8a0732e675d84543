"""`python -m benchmarks.profiles ROW WORK DATA UPDATES`: the ops that regard spends its time in."""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.environment import BenchmarkEnvironment
from benchmarks.machine import ROOT
from benchmarks.programs import follow

UPDATES = 12
NUM_OPS = 8


def profile_ops(row: str, env: BenchmarkEnvironment) -> dict[str, Any] | None:
    """Return the time share of each of the largest ops; None for rows that are not profiled."""
    if not row.startswith(("train-", "decode-")):
        return None
    arguments = [row, env.work, env.data, str(env.decoder_updates)]
    command = [sys.executable, "-m", "benchmarks.profiles", *arguments]
    program = follow(command, threads=env.threads, folder=ROOT).check("benchmarks.profiles")
    profile: dict[str, Any] = json.loads(program.lines[-1][1])
    return profile


def _workload(row: str, env: BenchmarkEnvironment) -> Any:
    """Return a function to profile, with its prerequisites prepared."""
    import torch

    import regard
    from benchmarks.cpu_rows import trained_model
    from benchmarks.regard import training_settings

    action, _, kind = row.partition("-")
    kind = {"recurrent": "additive"}.get(kind, kind)
    dataset = env.dataset("mt" if row == "train-transformer" else "g2p")
    if action == "decode":
        translator = regard.load(trained_model(env, kind, dataset), device="cpu")
        lines = dataset.lines("dev", "source")
        # the profiler does not see worker processes
        torch.set_num_threads(1)
        return lambda: translator.translate(lines, beam_size=5, batch_size=32)
    from regard.config.toml import to_tree

    tree = to_tree(training_settings(kind, dataset, UPDATES))
    files = {"pairs": str(dataset.pairs("train")), "dev": str(dataset.pairs("one"))}
    return lambda: regard.train(**files, **tree, quiet=True)


def main() -> None:
    """Print the shares as JSON."""
    from torch.profiler import ProfilerActivity, profile

    row, work, data, updates = sys.argv[1:]
    env = BenchmarkEnvironment(Path(data), Path(), Path(work), decoder_updates=int(updates))
    workload = _workload(row, env)
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        workload()
    times = {op.key: op.self_cpu_time_total for op in profiler.key_averages()}
    total = sum(times.values())
    largest = sorted(times, key=lambda name: -times[name])[:NUM_OPS]
    shares = {name.removeprefix("aten::"): times[name] / total for name in largest}
    sys.stdout.write(json.dumps({"microseconds": total, "shares": shares}) + "\n")


if __name__ == "__main__":
    main()

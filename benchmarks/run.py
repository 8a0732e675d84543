"""`python -m benchmarks.run [ROW …]`: regard compared with plain PyTorch and its competitors.

Same data, same model, same batch size, in turns. Writes JSON and a picture, and prints the table.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.cpu_rows import decoding_row, startup_row, training_row
from benchmarks.environment import BenchmarkEnvironment
from benchmarks.gpu_rows import attention_row, decoder_row, rnnsearch_row, transformer_row
from benchmarks.machine import ROOT, gpu, machine
from benchmarks.programs import MAX_OTHER_CORES, exit_on_sigterm
from benchmarks.rows import BenchmarkRow, Trial, format_number, measure, to_json
from benchmarks.table import draw, table

CPU: dict[str, Callable[[BenchmarkEnvironment], BenchmarkRow]] = {
    "train-additive": lambda env: training_row(env, "additive"),
    "train-bilinear": lambda env: training_row(env, "bilinear"),
    "train-transformer": lambda env: training_row(env, "transformer"),
    "decode-recurrent": lambda env: decoding_row(env, "additive"),
    "decode-transformer": lambda env: decoding_row(env, "transformer"),
    "start": startup_row,
}
GPU: dict[str, Callable[[BenchmarkEnvironment], BenchmarkRow]] = {
    "rnnsearch": rnnsearch_row,
    "decoder": decoder_row,
    "attention-512": lambda env: attention_row(env, 512),
    "attention-2048": lambda env: attention_row(env, 2048),
    "transformer-g2p": transformer_row,
}


def main() -> None:
    """Measure the named rows, or all that this machine can measure."""
    options = _parser().parse_args()
    exit_on_sigterm()
    env = BenchmarkEnvironment(
        options.data.resolve(),
        options.competitors.resolve(),
        options.work.resolve(),
        options.threads,
        options.updates,
        options.decoder_updates,
        options.rounds,
    )
    device = gpu()
    names = _select_rows(options.rows, device)
    report: dict[str, Any] = {"machine": machine(options.threads), "rows": []}
    tests_pass: bool | None = None
    for name in names:
        row = (CPU | GPU)[name](env)
        if row.kernels and tests_pass is None:
            tests_pass = kernel_tests_pass(device is not None)
        report["rows"].append(_measure_row(row, tests_pass is not False, env, options.profile))
        _write(options.out, report)
    sys.stdout.write("\n" + _describe(report["machine"]) + table(report["rows"]))
    draw(report["rows"], options.out.with_suffix(".png"))
    sys.stdout.write(f"\nwritten: {options.out}, {options.out.with_suffix('.png').name}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(CPU | GPU))
    parser.add_argument(
        "--data", type=Path, required=True, help="the folder of cmudict-g2p and multi30k"
    )
    parser.add_argument(
        "--competitors",
        "--peers",
        type=Path,
        default=Path("competitors"),
        help="the folder of their virtual environments",
    )
    parser.add_argument(
        "--work", type=Path, default=Path("out/benchmarks"), help="for data sets and models"
    )
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks.json"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--updates", type=int, help="counted updates of a training")
    parser.add_argument(
        "--decoder-updates",
        "--trained",
        type=int,
        default=300,
        help="training updates of the models that decode",
    )
    parser.add_argument("--rounds", type=int, help="rounds of all contenders")
    parser.add_argument("--profile", action="store_true", help="also profile regard")
    return parser


def _select_rows(rows: list[str], device: str | None) -> list[str]:
    known = CPU | GPU
    for name in rows:
        if name not in known:
            raise SystemExit(f"Unknown row {name}; the rows are {', '.join(known)}.")
        if name in GPU and device is None:
            raise SystemExit(f"Row {name} needs a GPU; without one: {', '.join(CPU)}.")
    return rows or [*CPU, *(GPU if device else {})]


def kernel_tests_pass(on_gpu: bool) -> bool:
    """Run the kernels' tests: a wrong kernel is not worth timing."""
    sys.stdout.write("running the kernels' tests first\n")
    sys.stdout.flush()
    marker = "not slow" if on_gpu else "not slow and not gpu"
    options = ["-q", "-p", "no:cacheprovider", "-m", marker, "tests/unit/kernels"]
    completed = subprocess.run([sys.executable, "-m", "pytest", *options], cwd=ROOT)
    return completed.returncode == 0


def _measure_row(
    row: BenchmarkRow, tests_pass: bool, env: BenchmarkEnvironment, profile: bool
) -> dict[str, Any]:
    if row.kernels and not tests_pass:
        refused = "not timed: a test in tests/unit/kernels fails; fix the kernel first"
        return {"row": row.name, "workload": row.workload, "refused": refused}
    sys.stdout.write(f"\n{row.name}: {row.workload}\n")

    def report(trial: Trial) -> None:
        figures = trial.measurement.figures
        parts = (f"{name} {format_number(figures[name])}" for name in row.targets)
        cores = trial.measurement.other_cores
        busy = f" (other programs used {cores:.1f} cores)" if cores > MAX_OTHER_CORES else ""
        sys.stdout.write(f"  {trial.contender:<28}{', '.join(parts)} {row.unit}{busy}\n")
        sys.stdout.flush()

    summary = to_json(row, measure(row, report))
    return summary | _explain(summary, env, profile)


def _explain(row: dict[str, Any], env: BenchmarkEnvironment, profile: bool) -> dict[str, Any]:
    """Return the roofline, for rows that have one, and a profile, if wanted."""
    from benchmarks.profiles import profile_ops
    from benchmarks.roofline import roofline

    bounds = roofline(row, env)
    explanation: dict[str, Any] = {} if bounds is None else {"roofline": bounds}
    if profile and (shares := profile_ops(row["row"], env)) is not None:
        explanation["profile"] = shares
    return explanation


def _describe(machine: dict[str, Any]) -> str:
    commit = f"{(machine['commit'] or '')[:12]}{' with changes' if machine['dirty'] else ''}"
    device = f", {machine['gpu']}" if machine["gpu"] else ""
    return (
        f"{machine['cores']} cores ({machine['processor']}), {machine['threads']} threads{device}; "
        f"Python {machine['python']}, torch {machine['torch']}, "
        f"regard {machine['regard']} at {commit}\n"
    )


def _write(path: Path, report: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

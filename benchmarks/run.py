"""`python -m benchmarks.run [ROW …]`: regard beside plain PyTorch and beside its peers.

Same data, same model, same batch, in turns. Writes JSON, a picture beside it, and prints the table.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.cpu_rows import decoding, starting, training
from benchmarks.gpu_rows import attention, decoder, rnnsearch, transformer_g2p
from benchmarks.machine import ROOT, gpu, machine
from benchmarks.programs import end_with_us
from benchmarks.rows import Row, Run, measure, number, to_json
from benchmarks.sites import Site
from benchmarks.table import picture, table

CPU: dict[str, Callable[[Site], Row]] = {
    "train-additive": lambda site: training(site, "additive"),
    "train-bilinear": lambda site: training(site, "bilinear"),
    "train-transformer": lambda site: training(site, "transformer"),
    "decode-recurrent": lambda site: decoding(site, "additive"),
    "decode-transformer": lambda site: decoding(site, "transformer"),
    "start": starting,
}
GPU: dict[str, Callable[[Site], Row]] = {
    "rnnsearch": rnnsearch,
    "decoder": decoder,
    "attention-512": lambda site: attention(site, 512),
    "attention-2048": lambda site: attention(site, 2048),
    "transformer-g2p": transformer_g2p,
}


def main() -> None:
    """Measure the rows that were named, or all that this machine can."""
    given = _parser().parse_args()
    end_with_us()
    site = Site(
        given.data.resolve(),
        given.peers.resolve(),
        given.work.resolve(),
        given.threads,
        given.updates,
        given.trained,
        given.rounds,
    )
    there = gpu()
    chosen = _chosen(given.rows, there)
    report: dict[str, Any] = {"machine": machine(given.threads), "rows": []}
    green: bool | None = None
    for name in chosen:
        row = (CPU | GPU)[name](site)
        if row.kernels and green is None:
            green = kernels_are_green(there is not None)
        report["rows"].append(_measured(row, green is not False, site, given.profile))
        _write(given.out, report)
    sys.stdout.write("\n" + _about(report["machine"]) + table(report["rows"]))
    picture(report["rows"], given.out.with_suffix(".png"))
    sys.stdout.write(f"\n{given.out} and {given.out.with_suffix('.png').name} hold it all\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(CPU | GPU))
    parser.add_argument("--data", type=Path, required=True, help="cmudict-g2p and multi30k in it")
    parser.add_argument("--peers", type=Path, default=Path("peers"), help="their environments")
    parser.add_argument("--work", type=Path, default=Path("out/benchmarks"), help="what is made")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks.json"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--updates", type=int, help="updates that are counted")
    parser.add_argument("--trained", type=int, default=300, help="updates of what decodes")
    parser.add_argument("--rounds", type=int, help="turns of everybody")
    parser.add_argument("--profile", action="store_true", help="also where our time goes")
    return parser


def _chosen(rows: list[str], there: str | None) -> list[str]:
    known = CPU | GPU
    for name in rows:
        if name not in known:
            names = f"{', '.join(known)}; {next(iter(known))}"
            raise SystemExit(f"row = {name}, but it must be one of {names} would do")
        if name in GPU and there is None:
            raise SystemExit(f"row = {name}, but it must have a GPU; {', '.join(CPU)} would do")
    return rows or [*CPU, *(GPU if there else {})]


def kernels_are_green(on_gpu: bool) -> bool:
    """Run the kernels' tests: what computes the wrong thing is not worth timing."""
    sys.stdout.write("the kernels' tests come first\n")
    sys.stdout.flush()
    wanted = "not slow" if on_gpu else "not slow and not gpu"
    options = ["-q", "-p", "no:cacheprovider", "-m", wanted, "tests/unit/kernels"]
    ran = subprocess.run([sys.executable, "-m", "pytest", *options], cwd=ROOT)
    return ran.returncode == 0


def _measured(row: Row, green: bool, site: Site, profile: bool) -> dict[str, Any]:
    if row.kernels and not green:
        refused = "not timed: a test in tests/unit/kernels fails; kernels that pass it would do"
        return {"row": row.name, "work": row.work, "refused": refused}
    sys.stdout.write(f"\n{row.name}: {row.work}\n")

    def tell(run: Run) -> None:
        shown = (f"{name} {number(run.measured.figures[name])}" for name in row.targets)
        others = run.measured.others
        busy = f" (others used {others:.1f} cores)" if others > 0.1 else ""
        sys.stdout.write(f"  {run.contender:<28}{', '.join(shown)} {row.unit}{busy}\n")
        sys.stdout.flush()

    found = to_json(row, measure(row, tell))
    return found | _explained(row, found, site, profile)


def _explained(row: Row, found: dict[str, Any], site: Site, profile: bool) -> dict[str, Any]:
    """Add how far the floor is, where it can be counted, and where the time goes, if asked."""
    from benchmarks.floors import floor
    from benchmarks.profiles import profiled

    said = floor(row.name, found, site)
    explained: dict[str, Any] = {} if said is None else {"floor": said}
    if profile and (shares := profiled(row.name, site)) is not None:
        explained["profile"] = shares
    return explained


def _about(where: dict[str, Any]) -> str:
    commit = f"{(where['commit'] or '')[:12]}{' with changes' if where['dirty'] else ''}"
    gpu_ = f", {where['gpu']}" if where["gpu"] else ""
    return (
        f"{where['cores']} cores ({where['processor']}), {where['threads']} threads{gpu_}; "
        f"Python {where['python']}, torch {where['torch']}, regard {where['regard']} at {commit}\n"
    )


def _write(path: Path, report: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

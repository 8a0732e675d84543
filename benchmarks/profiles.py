"""`python -m benchmarks.profiles ROW WORK DATA`: which ops our time goes to, by their own time."""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.machine import ROOT
from benchmarks.programs import follow
from benchmarks.sites import Site

UPDATES = 12
SHOWN = 8


def profiled(row: str, site: Site) -> dict[str, Any] | None:
    """Return the share of each of the largest ops; None for rows that cannot be profiled."""
    if not row.startswith(("train-", "decode-")):
        return None
    words = [row, site.work, site.data, str(site.trained)]
    command = [sys.executable, "-m", "benchmarks.profiles", *words]
    ran = follow(command, threads=site.threads, folder=ROOT).expected("benchmarks.profiles")
    return json.loads(ran.lines[-1][1])


def _work(row: str, site: Site) -> Any:
    """Return something to call, with all that it needs made before."""
    import torch

    import regard
    from benchmarks import ours
    from benchmarks.cpu_rows import trained

    act, _, kind = row.partition("-")
    kind = {"recurrent": "additive"}.get(kind, kind)
    task = site.task("mt" if row == "train-transformer" else "g2p")
    if act == "decode":
        translator = regard.load(trained(site, kind, task), device="cpu")
        lines = task.lines("dev", "source")
        # what is done by other processes is not seen here
        torch.set_num_threads(1)
        return lambda: translator.translate(lines, beam_size=5, batch_size=32)
    from regard.config.toml import to_tree

    tree = to_tree(ours.settings(kind, task, UPDATES))
    files = {"pairs": str(task.pairs("train")), "dev": str(task.pairs("one"))}
    return lambda: regard.train(**files, **tree, quiet=True)


def main() -> None:
    """Print the shares as JSON."""
    from torch.profiler import ProfilerActivity, profile

    row, work, data, updates = sys.argv[1:]
    site = Site(Path(data), Path(), Path(work), trained=int(updates))
    call = _work(row, site)
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        call()
    own = {one.key: one.self_cpu_time_total for one in seen.key_averages()}
    total = sum(own.values())
    largest = sorted(own, key=lambda name: -own[name])[:SHOWN]
    shares = {name.removeprefix("aten::"): own[name] / total for name in largest}
    sys.stdout.write(json.dumps({"microseconds": total, "shares": shares}) + "\n")


if __name__ == "__main__":
    main()

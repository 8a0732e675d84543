"""`python -m recipes.results`: the logs as tables in Markdown and as pictures.

Several seeds appear as their mean, with the lowest and the highest score in brackets.
"""

import argparse
import json
import math
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from recipes.experiments import HERE
from recipes.published import PUBLISHED, WER_TASKS
from recipes.tables import (
    Log,
    Logs,
    auto_configuration_table,
    g2p_by_language,
    markdown,
    mean,
    scores_of,
)

HEAD = ["task", "variant", "metric", "models", "dev", "test", "published, dev", "published, test"]
HEAD += ["parameters", "training time"]

PICTURES = {"papers-captions": "BLEU", "papers-sounds": "exact matches, in percent"}
FIXED_CONTEXT = ("cho2014", "sutskever2014")
"""Models that encode a source as one vector; their lines are dashed."""
MIN_LINES = 20
"""Buckets with fewer lines are not drawn."""
MIN_VARIANTS = 10
"""Tasks with at least this many variants of a kind have a row for their mean."""


def read_logs(folder: Path) -> Logs:
    """Return the logs by task and variant, ordered by seed; an ensemble is one log."""
    logs_by_task: dict[str, dict[str, list[Log]]] = defaultdict(lambda: defaultdict(list))
    logs = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    for log in sorted(logs, key=lambda log: log.get("seed", math.inf)):
        ensemble_text = f", ensemble of {log['models']}" if "models" in log else ""
        logs_by_task[log["task"]][log["variant"] + ensemble_text].append(log)
    return logs_by_task


def format_spread(scores: list[float]) -> str:
    """Format one score, or the mean of several with the lowest and the highest."""
    text = f"{mean(scores):.2f}"
    return text if len(scores) == 1 else f"{text} ({min(scores):.2f} to {max(scores):.2f})"


def rows(logs: Logs) -> list[list[str]]:
    """Return a row for each variant of a task, and one for the mean of many of a kind."""
    table = []
    for task, variants in logs.items():
        kinds: dict[str, dict[str, list[Log]]] = defaultdict(dict)
        for variant, runs in variants.items():
            table.append(_row(task, variant, runs))
            if "seed" in runs[0]:
                kinds[variant.partition("-")[2]][variant] = runs
        for kind, single in kinds.items():
            if len(single) >= MIN_VARIANTS:
                table.append(_mean_row(task, kind, single))
    return table


def _row(task: str, variant: str, logs: list[Log]) -> list[str]:
    row = [task, variant, _metric(task, logs), str(sum(log.get("models", 1) for log in logs))]
    for split in ("dev", "test"):
        scores = scores_of(logs, split, task)
        row.append(format_spread(scores) if scores else "")
    row += list(PUBLISHED.get(task, {}).get(variant, ("", "")))
    size = logs[0].get("parameters")
    times = [log["seconds"] for log in logs if "seconds" in log]
    num_concurrent = max((log.get("concurrent_runs", 0) for log in logs), default=0)
    concurrency_text = f", up to {num_concurrent + 1} at once" if num_concurrent else ""
    duration_text = f"{round(mean(times))} s{concurrency_text}" if times else ""
    return [*row, "" if size is None else f"{size:,}", duration_text]


def _mean_row(task: str, kind: str, variants: dict[str, list[Log]]) -> list[str]:
    """Return the mean score of variants of a kind, and the mean of their published scores."""
    # a variant counts once, however many seeds it has
    scores = [mean(scores_of(logs, "dev", task)) for logs in variants.values()]
    name = f"mean of {len(variants)}" + (f", {kind}" if kind else "")
    row = [task, name, _metric(task, next(iter(variants.values()))), ""]
    row += [f"{mean(scores):.2f}", ""]
    published = PUBLISHED.get(task, {})
    for column in zip(*(published.get(variant, ("", "")) for variant in variants), strict=True):
        row.append(f"{mean(map(float, column)):.2f}" if all(column) else "")
    return [*row, "", ""]


def _metric(task: str, logs: list[Log]) -> str:
    name: str = logs[0]["dev"]["scores"][0]["name"]
    return "WER" if task in WER_TASKS else name


def draw(variants: Mapping[str, list[Log]], label: str, out: Path) -> None:
    """Plot each model's score against the length of the source."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    for name, logs in variants.items():
        buckets = [bucket for bucket in logs[0]["dev"]["by length"] if bucket["lines"] >= MIN_LINES]
        if not buckets:
            continue
        metric = next(key for key in buckets[0] if key not in ("mean length", "lines"))
        x = [bucket["mean length"] for bucket in buckets]
        style = "--" if name in FIXED_CONTEXT else "-"
        axes.plot(x, [bucket[metric] for bucket in buckets], style, marker="o", label=name)
    axes.set_xlabel("source length in tokens")
    axes.set_ylabel(label)
    axes.grid(alpha=0.3)
    if axes.lines:
        axes.legend()
    figure.savefig(out, dpi=150)
    pyplot.close(figure)


def main() -> None:
    """Print the tables and, if asked, draw the pictures."""
    parser = argparse.ArgumentParser(prog="python -m recipes.results", description=__doc__)
    parser.add_argument("--logs", type=Path, default=HERE / "logs")
    parser.add_argument("--pictures", type=Path, default=None, help="a folder for the pictures")
    options = parser.parse_args()
    logs = read_logs(options.logs)
    if not logs:
        parser.error(
            f"{options.logs} has no logs; --logs must name a folder that python -m recipes.run "
            "wrote"
        )
    tables = [(HEAD, rows(logs)), *(g2p_by_language(logs, low_resource=x) for x in (True, False))]
    tables.append(auto_configuration_table(logs))
    sys.stdout.write("\n".join(markdown(*table) for table in tables if table[1]))
    for task, label in PICTURES.items() if options.pictures else ():
        if task in logs:
            options.pictures.mkdir(parents=True, exist_ok=True)
            draw(logs[task], label, options.pictures / f"{task}.png")


if __name__ == "__main__":
    main()

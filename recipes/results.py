"""`python -m recipes.results`: what the logs say, as a table in Markdown and as pictures.

Of several seeds it gives the mean, and the lowest and the highest in brackets.
"""

import argparse
import json
import math
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from recipes.parts import HERE
from recipes.published import PUBLISHED, WORD_ERRORS
from recipes.tables import Log, Logs, languages, markdown, mean, scores_of, without_settings

HEAD = ["task", "part", "score", "models", "dev", "test", "published, dev", "published, test"]
HEAD += ["parameters", "time to train"]

PICTURES = {"papers-captions": "BLEU", "papers-sounds": "words that are right, in percent"}
FIXED = ("cho2014", "sutskever2014")
"""Models that read a source into one vector, drawn with broken lines."""
FEW = 20
"""Of fewer lines no score is drawn."""
MANY = 10
"""Of so many parts the mean is given."""


def read(folder: Path) -> Logs:
    """Return the logs by task and part, in the order of their seeds; models together are one."""
    found: dict[str, dict[str, list[Log]]] = defaultdict(lambda: defaultdict(list))
    logs = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    for log in sorted(logs, key=lambda log: log.get("seed", math.inf)):
        together = f", ensemble of {log['models']}" if "models" in log else ""
        found[log["task"]][log["part"] + together].append(log)
    return found


def spread(values: list[float]) -> str:
    """Write a value, or the mean of several with the lowest and the highest."""
    text = f"{mean(values):.2f}"
    return text if len(values) == 1 else f"{text} ({min(values):.2f} to {max(values):.2f})"


def rows(found: Logs) -> list[list[str]]:
    """Return a row for every part of a task, and of many of a kind one for their mean."""
    table = []
    for task, parts in found.items():
        kinds: dict[str, dict[str, list[Log]]] = defaultdict(dict)
        for part, logs in parts.items():
            table.append(_row(task, part, logs))
            if "seed" in logs[0]:
                kinds[part.partition("-")[2]][part] = logs
        for kind, single in kinds.items():
            if len(single) >= MANY:
                table.append(_mean(task, kind, single))
    return table


def _row(task: str, part: str, logs: list[Log]) -> list[str]:
    row = [task, part, _metric(task, logs), str(sum(log.get("models", 1) for log in logs))]
    for split in ("dev", "test"):
        scores = scores_of(logs, split, task)
        row.append(spread(scores) if scores else "")
    row += list(PUBLISHED.get(task, {}).get(part, ("", "")))
    size = logs[0].get("parameters")
    times = [log["seconds"] for log in logs if "seconds" in log]
    beside = max((log.get("beside", 0) for log in logs), default=0)
    at_once = f", up to {beside + 1} at once" if beside else ""
    took = f"{round(mean(times))} s{at_once}" if times else ""
    return [*row, "" if size is None else f"{size:,}", took]


def _mean(task: str, kind: str, parts: dict[str, list[Log]]) -> list[str]:
    """Return the row of a mean over parts of a kind, with that of what was published for them."""
    # each part counts once, however many seeds it has
    scores = [mean(scores_of(logs, "dev", task)) for logs in parts.values()]
    name = f"mean of {len(parts)}" + (f", {kind}" if kind else "")
    row = [task, name, _metric(task, next(iter(parts.values()))), ""]
    row += [f"{mean(scores):.2f}", ""]
    for column in zip(
        *(PUBLISHED.get(task, {}).get(part, ("", "")) for part in parts), strict=True
    ):
        row.append(f"{mean(map(float, column)):.2f}" if all(column) else "")
    return [*row, "", ""]


def _metric(task: str, logs: list[Log]) -> str:
    name: str = logs[0]["dev"]["scores"][0]["name"]
    return "WER" if task in WORD_ERRORS else name


def draw(parts: Mapping[str, list[Log]], what: str, out: Path) -> None:
    """Draw each model's score against the length of the source."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    for name, logs in parts.items():
        classes = [one for one in logs[0]["dev"]["by length"] if one["lines"] >= FEW]
        if not classes:
            continue
        metric = next(key for key in classes[0] if key not in ("mean length", "lines"))
        x = [one["mean length"] for one in classes]
        style = "--" if name in FIXED else "-"
        axes.plot(x, [one[metric] for one in classes], style, marker="o", label=name)
    axes.set_xlabel("symbols of the source")
    axes.set_ylabel(what)
    axes.grid(alpha=0.3)
    if axes.lines:
        axes.legend()
    figure.savefig(out, dpi=150)
    pyplot.close(figure)


def main() -> None:
    """Print the table, and draw what is to be drawn."""
    parser = argparse.ArgumentParser(prog="python -m recipes.results", description=__doc__)
    parser.add_argument("--logs", type=Path, default=HERE / "logs")
    parser.add_argument("--pictures", type=Path, default=None, help="a folder for the pictures")
    given = parser.parse_args()
    found = read(given.logs)
    if not found:
        parser.error(
            f"{given.logs} has no logs; a folder that python -m recipes.run wrote would do"
        )
    tables = [(HEAD, rows(found)), *(languages(found, scarce=x) for x in (True, False))]
    tables.append(without_settings(found))
    sys.stdout.write("\n".join(markdown(*table) for table in tables if table[1]))
    for task, what in PICTURES.items() if given.pictures else ():
        if task in found:
            given.pictures.mkdir(parents=True, exist_ok=True)
            draw(found[task], what, given.pictures / f"{task}.png")


if __name__ == "__main__":
    main()

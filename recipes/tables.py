"""Tables that set models of one kind beside others: of each language, and without settings."""

from collections.abc import Iterable, Mapping
from typing import Any

from recipes.published import PUBLISHED, WORD_ERRORS
from recipes.tasks import AUTOMATIC

Log = dict[str, Any]
Logs = Mapping[str, Mapping[str, list[Log]]]
"""Logs by task and part, in the order of their seeds."""

SCARCE = ("ady", "gre", "ice", "ita", "khm", "lav", "mlt_latn", "rum", "slv", "wel_sw")
"""Languages of 800 words, as the data names them; the others have 8,000 or more."""

TOGETHER, TEACHERS = "g2p-together", "teachers"

SOUNDS = {
    "by itself": ("g2p-languages", ""),
    "taught by three of these": ("g2p-taught-alone", ""),
    "all in one, `bahdanau2015`": (TOGETHER, "all"),
    "all in one, Transformer": (TOGETHER, "all-vaswani2017"),
    "from `bahdanau2015` on": ("g2p-after", ""),
    "from the Transformer on": ("g2p-after", "-vaswani2017"),
    "these two as one, the teachers": (TEACHERS, ""),
    "taught, from `bahdanau2015`": ("g2p-taught", ""),
    "taught, from the Transformer": ("g2p-taught", "-vaswani2017"),
}
"""What the rows are called, and whose logs they are of: a task, and what its parts end in."""


def scores_of(logs: Iterable[Log], split: str, task: str) -> list[float]:
    """Return the first score of each log; of words to sounds the share of wrong ones."""
    values = [log[split]["scores"][0]["value"] for log in logs if split in log]
    return [100 - value for value in values] if task in WORD_ERRORS else values


def mean(values: Iterable[float]) -> float:
    """Return the mean of what there is, of which there must be something."""
    found = [*values]
    return sum(found) / len(found)


def markdown(head: list[str], table: list[list[str]]) -> str:
    """Write a table."""
    lines = [head, ["---"] * len(head), *table]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def languages(found: Logs, *, scarce: bool) -> tuple[list[str], list[list[str]]]:
    """Return word error rates on dev, a column for each language, bold where below the baseline.

    What is counted for a language is the best row of single models, which the teachers are not.
    """
    names = sorted(name for name in PUBLISHED["g2p-languages"] if (name in SCARCE) == scarce)
    baseline = {name: float(PUBLISHED["g2p-languages"][name][0]) for name in names}
    table, counted, lowest = [], dict.fromkeys(names, 100.0), dict.fromkeys(names, 100.0)
    for title, (task, end) in SOUNDS.items():
        errors = {name: seeds for name in names if (seeds := _errors(found, task, name, end))}
        if not errors:
            continue
        means = {name: mean(seeds) for name, seeds in errors.items()}
        table.append(_row(title, names, means, baseline))
        if task != TEACHERS:
            counted |= {name: min(counted[name], value) for name, value in means.items()}
            lowest |= {name: min(lowest[name], *seeds) for name, seeds in errors.items()}
    table.append(_row("counted: the best of these rows", names, counted, baseline))
    table.append(_row("the best seed of any row", names, lowest, baseline))
    table.append(_row("baseline", names, baseline, {}))
    return ["", *(name[:3] for name in names)], table


def _errors(found: Logs, task: str, name: str, end: str) -> list[float]:
    """Return the word error rates of a language, one for each seed."""
    if task == TOGETHER:
        tags = [log["dev"]["exact by tag"] for log in found.get(task, {}).get(end, [])]
        return [100 - tag[name] for tag in tags if name in tag]
    if task == TEACHERS:
        logs = found.get("g2p-taught", {}).get(name, [])
        return [100 - log["teachers"]["scores"][0]["value"] for log in logs]
    return scores_of(found.get(task, {}).get(name + end, []), "dev", task)


def _row(
    title: str, names: list[str], values: Mapping[str, float], baseline: Mapping[str, float]
) -> list[str]:
    row = [title]
    for name in names:
        text = f"{values[name]:.1f}".removesuffix(".0") if name in values else ""
        # to the last digit that was published: sums of floats are not exact
        below = name in values and round(values[name], 6) < baseline.get(name, 0.0)
        row.append(f"**{text}**" if below else text)
    return row


def without_settings(found: Logs) -> tuple[list[str], list[list[str]]]:
    """Return how automatic settings score beside the recipe that has the same pairs, on dev.

    The last column is by how much their errors are more than the recipe's: 100 less a score that
    is better when higher.
    """
    head = ["task", "part", "automatic", "recipe", "errors, automatic over recipe"]
    table = []
    for task, recipe in AUTOMATIC.items():
        parts = {
            part: (mean(_scores(logs)), mean(_scores(found[recipe][part])))
            for part, logs in found.get(task, {}).items()
            if found.get(recipe, {}).get(part)
        }
        if len(parts) > 1:
            parts[f"mean of {len(parts)}"] = (
                mean(ours for ours, _ in parts.values()),
                mean(theirs for _, theirs in parts.values()),
            )
        for part, (ours, theirs) in parts.items():
            more = f"{100 * ((100 - ours) / (100 - theirs) - 1):+.0f} %" if theirs < 100 else ""
            table.append([task, part, f"{ours:.2f}", f"{theirs:.2f}", more])
    return head, table


def _scores(logs: list[Log]) -> list[float]:
    return [log["dev"]["scores"][0]["value"] for log in logs]

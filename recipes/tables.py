"""Comparison tables: word error rates of each language, and auto-configuration against recipes."""

from collections.abc import Iterable, Mapping
from typing import Any

from recipes.published import PUBLISHED, WER_TASKS
from recipes.tasks import AUTO_CONFIGURED

Log = dict[str, Any]
Logs = Mapping[str, Mapping[str, list[Log]]]
"""Logs by task and variant, in the order of their seeds."""

LOW_RESOURCE = ("ady", "gre", "ice", "ita", "khm", "lav", "mlt_latn", "rum", "slv", "wel_sw")
"""Languages of 800 words, as the data set names them; the others have 8,000 or more."""

MULTILINGUAL, TEACHERS = "g2p-multilingual", "teachers"

G2P_ROWS = {
    "monolingual": ("g2p-monolingual", ""),
    "distilled from three monolingual models": ("g2p-distilled-monolingual", ""),
    "multilingual, `bahdanau2015`": (MULTILINGUAL, "all"),
    "multilingual, Transformer": (MULTILINGUAL, "all-vaswani2017"),
    "fine-tuned, `bahdanau2015`": ("g2p-fine-tuned", ""),
    "fine-tuned, Transformer": ("g2p-fine-tuned", "-vaswani2017"),
    "ensemble of these two: the teachers": (TEACHERS, ""),
    "distilled, `bahdanau2015`": ("g2p-distilled", ""),
    "distilled, Transformer": ("g2p-distilled", "-vaswani2017"),
}
"""The title of each row with the task of its logs and the ending of its variants' names."""


def scores_of(logs: Iterable[Log], split: str, task: str) -> list[float]:
    """Return the first score of each log, as word error rate for tasks in `WER_TASKS`."""
    scores = [log[split]["scores"][0]["value"] for log in logs if split in log]
    return [100 - score for score in scores] if task in WER_TASKS else scores


def mean(numbers: Iterable[float]) -> float:
    """Return the arithmetic mean of at least one number."""
    summands = [*numbers]
    return sum(summands) / len(summands)


def markdown(head: list[str], table: list[list[str]]) -> str:
    """Format a table as Markdown."""
    lines = [head, ["---"] * len(head), *table]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def g2p_by_language(logs: Logs, *, low_resource: bool) -> tuple[list[str], list[list[str]]]:
    """Return dev word error rates with one column per language, bold if below the baseline.

    The best row of a language is a single model: the ensemble of teachers does not count.
    """
    monolingual = PUBLISHED["g2p-monolingual"]
    names = sorted(name for name in monolingual if (name in LOW_RESOURCE) == low_resource)
    baseline = {name: float(monolingual[name][0]) for name in names}
    table = []
    lowest_row_error, lowest_seed_error = (dict.fromkeys(names, 100.0) for _ in range(2))
    for title, (task, suffix) in G2P_ROWS.items():
        errors = {
            name: seed_errors
            for name in names
            if (seed_errors := _errors(logs, task, name, suffix))
        }
        if not errors:
            continue
        means = {name: mean(seed_errors) for name, seed_errors in errors.items()}
        table.append(_row(title, names, means, baseline))
        if task != TEACHERS:
            lowest_row_error |= {
                name: min(lowest_row_error[name], error) for name, error in means.items()
            }
            lowest_seed_error |= {
                name: min(lowest_seed_error[name], *seed_errors)
                for name, seed_errors in errors.items()
            }
    table.append(_row("best single-model row", names, lowest_row_error, baseline))
    table.append(_row("best seed of any row", names, lowest_seed_error, baseline))
    table.append(_row("baseline", names, baseline, {}))
    return ["", *(name[:3] for name in names)], table


def _errors(logs: Logs, task: str, name: str, suffix: str) -> list[float]:
    """Return the word error rates of a language, one for each seed."""
    if task == MULTILINGUAL:
        tags = [log["dev"]["exact by tag"] for log in logs.get(task, {}).get(suffix, [])]
        return [100 - tag[name] for tag in tags if name in tag]
    if task == TEACHERS:
        student_logs = logs.get("g2p-distilled", {}).get(name, [])
        return [100 - log["teachers"]["scores"][0]["value"] for log in student_logs]
    return scores_of(logs.get(task, {}).get(name + suffix, []), "dev", task)


def _row(
    title: str, names: list[str], errors: Mapping[str, float], baseline: Mapping[str, float]
) -> list[str]:
    row = [title]
    for name in names:
        text = f"{errors[name]:.1f}".removesuffix(".0") if name in errors else ""
        # rounded as published scores are: sums of floats are not exact
        below = name in errors and round(errors[name], 6) < baseline.get(name, 0.0)
        row.append(f"**{text}**" if below else text)
    return row


def auto_configuration_table(logs: Logs) -> tuple[list[str], list[list[str]]]:
    """Compare dev scores of auto-configuration with those of the recipe with the same pairs.

    The last column is the relative difference of errors; an error is 100 minus the score.
    """
    head = ["task", "variant", "auto-configured", "recipe", "errors relative to the recipe"]
    table = []
    for task, recipe in AUTO_CONFIGURED.items():
        variants = {
            variant: (mean(_dev_scores(runs)), mean(_dev_scores(logs[recipe][variant])))
            for variant, runs in logs.get(task, {}).items()
            if logs.get(recipe, {}).get(variant)
        }
        if len(variants) > 1:
            variants[f"mean of {len(variants)}"] = (
                mean(auto_configured_mean for auto_configured_mean, _ in variants.values()),
                mean(recipe_mean for _, recipe_mean in variants.values()),
            )
        for variant, (auto_configured_mean, recipe_mean) in variants.items():
            more = (
                f"{100 * ((100 - auto_configured_mean) / (100 - recipe_mean) - 1):+.0f} %"
                if recipe_mean < 100
                else ""
            )
            table.append([task, variant, f"{auto_configured_mean:.2f}", f"{recipe_mean:.2f}", more])
    return head, table


def _dev_scores(logs: list[Log]) -> list[float]:
    return [log["dev"]["scores"][0]["value"] for log in logs]

"""The report of a run: one self-contained page made from its run folder."""

from collections.abc import Iterator
from math import inf
from typing import Any

from regard.metrics.tasks import label, meaning
from regard.viz.html_page import document
from regard.viz.report_charts import Chart, draw_chart
from regard.viz.report_samples import (
    errors_by_length,
    fixed_line,
    sample_lines,
    table,
    text,
    worst_lines,
)
from regard.viz.run_data import RunData

STYLE = """
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: 1rem 0; }
dl.facts dt { color: var(--soft); } dl.facts dd { margin: 0; overflow-wrap: anywhere; }
.curves { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
figure { margin: 0; padding: .75rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .5rem; min-width: 0; }
figcaption { font-weight: 600; margin-bottom: .25rem; overflow-wrap: anywhere; }
.curves svg { display: block; width: 100%; max-width: 34rem; height: auto; }
.curves text { font-size: 12px; fill: var(--soft); }
.grid { stroke: var(--line); } .curve { fill: none; stroke: var(--accent); stroke-width: 1.5; }
.dot { fill: var(--accent); } .hit { fill: transparent; }
.point:hover .dot { r: 5px; }
.moments { display: flex; flex-wrap: wrap; gap: 1rem; align-items: start; }
.moments .wide { max-height: 24rem; overflow: auto; } .moments figure { max-width: 100%; }
.moments figcaption { max-width: 22rem; } .moments figcaption span { font-weight: normal; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: start; color: var(--soft); padding-bottom: .25rem; }
th, td { text-align: start; vertical-align: top; padding: .3rem .6rem;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
thead th { white-space: nowrap; } .number { text-align: end; white-space: nowrap; }
td span[dir] { display: block; min-width: 8rem; overflow-wrap: break-word; }
mark { background: var(--mark); color: inherit; border-radius: 2px; }
.bar { display: block; height: 1em; background: var(--bar); margin-top: .25em; }
summary { cursor: pointer; color: var(--accent); }
@media (max-width: 40rem) { dl.facts { grid-template-columns: 1fr; gap: 0; }
  dl.facts dd { margin-bottom: .4rem; } body { padding: .75rem; } }
""".lstrip()

PERCENTAGES = ("accuracy", "exact", "bleu", "chrf")
"""Scores of at most 100; error rates have no upper bound."""


def to_report(run: RunData) -> str:
    """Return the report of a run as HTML."""
    sections = (
        _head(run),
        _charts_section(run),
        fixed_line(run),
        errors_by_length(run),
        worst_lines(run),
        sample_lines(run),
        _scores_section(run),
        _data_section(run),
        _settings_section(run),
    )
    return document(f"{run.name}: training report", "\n".join(filter(None, sections)), STYLE)


def _head(run: RunData) -> str:
    rows = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in _facts(run))
    problems = "".join(f"<li>{text(problem)}</li>" for problem in run.problems)
    damage = f"<p>What could not be read:</p><ul>{problems}</ul>" if problems else ""
    return f'<h1>Training report: {text(run.name)}</h1>{damage}<dl class="facts">{rows}</dl>'


def _facts(run: RunData) -> Iterator[tuple[str, str]]:
    train = run.settings.get("train")
    max_steps = train.get("max_steps") if isinstance(train, dict) else None
    max_steps_text = f" of at most {max_steps:,}" if isinstance(max_steps, int) else ""
    if run.finished:
        yield "state", f"finished after {run.step:,} updates{max_steps_text}"
    elif run.step:
        yield "state", f"not finished: update {run.step:,}{max_steps_text}"
    else:
        yield "state", "no update is logged yet"
    if run.validations:
        best = run.validations[-1]["best"]
        best_step = next((x["step"] for x in run.validations if x["score"] == best), None)
        when = "" if best_step is None else f" at update {best_step:,}"
        yield (
            f"best {text(label(_metric(run)))}",
            f"{best:.4g}{when}, of {len(run.validations):,} validations",
        )
        if signature := run.validations[-1].get("signature"):
            words = meaning(_metric(run), str(signature))
            note = f"{text(words)}; decoded greedily" if words else "decoded greedily"
            yield "signature", f"<code>{text(str(signature))}</code>, {note}"
    else:
        yield "validations", "none yet"
    if run.throughput:
        yield "time", _format_clock_time(run.throughput[-1]["seconds"])
    if isinstance(count := run.summary.get("train_pairs"), int):
        dev = run.summary.get("dev_sources")
        sources = f"{text(str(dev))} source{'s' * (dev != 1)}"
        fingerprints = _fingerprints(run)
        same = " (the same pairs)" * (fingerprints.get("pairs", 0) == fingerprints.get("dev"))
        yield "pairs", f"{count:,} for training, {sources} for validation{same}"


def _fingerprints(run: RunData) -> dict[str, Any]:
    """Return the fingerprints of a run's pairs, from its summary or its recipe."""
    recorded = {**run.recipe, **run.summary}
    return {name: recorded[name] for name in ("pairs", "dev") if name in recorded}


def _metric(run: RunData) -> str:
    return str(run.validations[-1].get("metric", "score")) if run.validations else "score"


def _charts_section(run: RunData) -> str:
    losses = [(x["step"], x["loss"]) for x in run.updates]
    rates = [(x["step"], x["rate"]) for x in run.updates]
    scores = [(x["step"], x["score"]) for x in run.validations]
    speeds = [(x["step"], x["tokens_per_second"]) for x in run.throughput]
    charts = (
        Chart("Training loss per token", losses, "{:.3f}".format),
        Chart(
            f"{label(_metric(run))} on the validation set",
            scores,
            "{:.2f}".format,
            lower_bound=0.0,
            upper_bound=100.0 if _metric(run) in PERCENTAGES else inf,
        ),
        Chart("Learning rate", rates, from_zero=True),
        Chart("Tokens per second", speeds, "{:,.0f}".format, from_zero=True),
    )
    html = "".join(map(draw_chart, charts))
    return f'<section><h2>Curves</h2><div class="curves">{html}</div></section>'


def _scores_section(run: RunData) -> str:
    scores = run.summary.get("scores")
    if not isinstance(scores, list):
        return ""
    rows = [
        (
            f"{x['value']:.2f}",
            text(label(str(x["name"]))),
            text(meaning(str(x["name"]), str(x["signature"]))),
            f"<code>{text(str(x['signature']))}</code>",
        )
        for x in scores
        if isinstance(x, dict) and {"name", "value", "signature"} <= x.keys()
        if isinstance(x["value"], int | float)
    ]
    caption = "The finished model on the validation set, as it is used."
    html = table(caption, ("value", "score", "what it is", "signature"), rows, range(1))
    return f"<section><h2>Scores</h2>{html}</section>"


def _data_section(run: RunData) -> str:
    fingerprints = _fingerprints(run)
    names = {"pairs": "fingerprint of the pairs", "dev": "fingerprint of the validation pairs"}
    rows = [
        (label, f"<code>{text(str(fingerprints[name] or 'held out from the pairs'))}</code>")
        for name, label in names.items()
        if name in fingerprints
    ]
    environment = run.recipe.get("environment")
    if isinstance(environment, dict):
        rows += [(text(str(k)), text(str(v))) for k, v in environment.items()]
    if not rows:
        return ""
    html = table("What the result depends on, besides the settings.", ("what", "value"), rows)
    return f"<section><h2>Data and machine</h2>{html}</section>"


def _settings_section(run: RunData) -> str:
    rows = [
        (text(name), f"<code>{text(str(value))}</code>") for name, value in _flatten(run.settings)
    ]
    if not rows:
        return ""
    html = table("Every setting of the run.", ("setting", "value"), rows)
    return (
        f"<section><h2>Settings</h2><details><summary>all {len(rows)} of them</summary>"
        f"{html}</details></section>"
    )


def _flatten(tree: dict[str, Any], under: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{under}{name}.")
        else:
            yield f"{under}{name}", value


def _format_clock_time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

"""An error analysis as a page: groups, confusions, and all lines, which a reader can filter.

It is self-contained. The script and the data are in the page; texts become nodes, never HTML.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from regard.terminal_text import escape_invisible, visible_token
from regard.viz.html_page import document
from regard.viz.report_samples import table, text

SCRIPT = Path(__file__).with_name("error_page.js")
MAX_CONFUSIONS, MAX_GROUPS = 40, 200

STYLE = """
table { border-collapse: collapse; }
caption { text-align: start; font-weight: 600; padding-bottom: .25rem; }
th, td { text-align: start; vertical-align: top; padding: .25rem .6rem;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
thead th { white-space: nowrap; color: var(--soft); font-weight: normal; }
td.number { text-align: end; white-space: nowrap; font-variant-numeric: tabular-nums; }
.groups { display: grid; gap: 1.5rem 2rem; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); }
.groups .wide { max-height: 22rem; overflow: auto; }
button, select, input { font: inherit; color: var(--ink); background: var(--paper);
  border: 1px solid var(--line); border-radius: .4rem; padding: .3rem .5rem; max-width: 100%; }
button { cursor: pointer; } button:hover { border-color: var(--accent); }
button.link { border: 0; padding: 0; background: none; color: var(--accent); text-align: start;
  text-decoration: underline; min-height: 1.5rem; }
#filters { display: flex; flex-wrap: wrap; gap: .5rem .75rem; align-items: end; margin: .75rem 0; }
#filters label { display: grid; font-size: .875rem; color: var(--soft); max-width: 100%; }
mark { background: var(--mark); color: inherit; border-radius: 2px; }
ol.lines { list-style: none; margin: 0; padding: 0; }
ol.lines > li { padding: .5rem 0; border-bottom: 1px solid var(--line); display: grid; gap: 0 1rem;
  grid-template-columns: 3.5rem minmax(0, 2fr) minmax(0, 3fr); overflow-wrap: anywhere; }
ol.lines .rows { display: grid; grid-template-columns: max-content minmax(0, 1fr) max-content;
  gap: 0 .75rem; }
.ok { color: var(--soft); }
@media (max-width: 40rem) { ol.lines > li { grid-template-columns: 2.5rem minmax(0, 1fr); }
  ol.lines .rows { grid-column: 1 / -1; } body { padding: .75rem; } }
""".lstrip()


def to_error_page(analysis: dict[str, Any], name: str) -> str:
    """Return the page of an analysis, given as its JSON, on a test set of a name."""
    title = f"Errors: {Path(name).name}"
    notes = "".join(f'<p class="soft">{text(note)}</p>' for note in analysis["notes"])
    parts = (
        f"<h1>{text(title)}</h1>",
        _totals(analysis),
        notes,
        f"<h2>By group</h2>{_groups(analysis)}",
        f"<h2>What was written for what</h2>{_confusions(analysis)}",
        _lines(analysis),
    )
    # `<` could end the element
    data = json.dumps(_data(analysis), ensure_ascii=False, separators=(",", ":"))
    data = data.replace("<", "\\u003c")
    body = "\n".join((*parts, f'<script type="application/json" id="data">{data}</script>'))
    return document(title, body, STYLE, SCRIPT.read_text(encoding="utf-8"))


def _labels(analysis: dict[str, Any]) -> list[str]:
    """Return what tells the models apart."""
    return [""] if len(analysis["models"]) == 1 else ["A", "B"]


def _totals(analysis: dict[str, Any]) -> str:
    total, unit = analysis["total"], analysis["unit"]
    rows = [
        (
            f"<strong>{label}</strong> {text(model)}",
            f"{total['exact'][n]:,} of {total['lines']:,}",
            f"{total['accuracy'][n]:.1f} %",
            f"{total['edits'][n]:,}",
            f"{total['error_rate'][n]:.1f} %",
        )
        for n, (label, model) in enumerate(zip(_labels(analysis), analysis["models"], strict=True))
    ]
    heads = ("model", "exact sources", "exact", "edits", f"edits per {unit}")
    verdicts = [
        (_filter_button("verdict", name, name), f"{count:,}")
        for name, count in analysis["verdicts"].items()
    ]
    both = (
        "" if len(analysis["models"]) == 1 else table("exact", ("model", "sources"), verdicts, [1])
    )
    return table("total", heads, rows, range(1, 5)) + both


def _groups(analysis: dict[str, Any]) -> str:
    labels = _labels(analysis)
    tables = []
    for factor, groups in analysis["groups"].items():
        if len(groups) == 1:
            continue
        heads = [f"{what} {label}".strip() for what in ("exact", "edits") for label in labels]
        rows = [
            (
                _filter_button(factor, name, name),
                f"{totals['lines']:,}",
                *(f"{share:.1f} %" for share in (*totals["accuracy"], *totals["error_rate"])),
            )
            for name, totals in list(groups.items())[:MAX_GROUPS]
        ]
        tables.append(table(factor, ("group", "sources", *heads), rows, range(1, 10)))
    same = "".join(f'<p class="soft">{text(line)}</p>' for line in analysis["common"])
    return f'<div class="groups">{"".join(tables)}</div>{same}'


def _confusions(analysis: dict[str, Any]) -> str:
    tables = []
    for label, confusions in zip(_labels(analysis), analysis["confusions"], strict=True):
        rows = [
            (
                _filter_button(f"edit {label}".strip(), one["label"], one["label"]),
                f"{one['count']:,}",
                f"{100 * one['count'] / one['occurrences']:.1f} %" if one["occurrences"] else "–",
                _example(one["examples"][0]),
            )
            for one in confusions[:MAX_CONFUSIONS]
        ]
        unit = analysis["unit"]
        heads = ("expected → output", "count", f"of this {unit}", "for example")
        caption = f"{len(confusions):,} different edits {label}".strip()
        tables.append(table(caption, heads, rows, (1, 2)))
    return "".join(tables)


def _example(example: dict[str, Any]) -> str:
    source, output, reference = (
        f"<bdi>{text(example[name], 60)}</bdi>" for name in ("source", "output", "reference")
    )
    return f"{source} → {output}, not {reference}"


def _filter_button(factor: str, value: str, label: str) -> str:
    return (
        f'<button type="button" class="link" data-factor="{escape(factor)}" '
        f'data-value="{escape(value)}"><bdi>{text(label)}</bdi></button>'
    )


def _lines(analysis: dict[str, Any]) -> str:
    """Return the controls, which the script fills, and the list of lines."""
    return (
        '<h2 id="lines">Lines</h2>'
        "<noscript><p>The list of lines needs JavaScript. The tables above do not; "
        "--out with .tsv, .csv or .json has every line.</p></noscript>"
        '<form id="filters" role="search" aria-label="filter the lines"></form>'
        '<p id="count" role="status"></p><ol class="lines" id="list"></ol>'
        '<p><button type="button" id="more" hidden>Show more</button></p>'
    )


def _data(analysis: dict[str, Any]) -> dict[str, Any]:
    """Return what the script needs: texts as they are shown, and their groups."""
    labels = _labels(analysis)
    rows = []
    for line in analysis["lines"]:
        groups = {**line["groups"], "verdict": [line["verdict"]]}
        for label, output in zip(labels, line["outputs"], strict=True):
            groups[f"edit {label}".strip()] = [
                f"{visible_token(edit['expected'])} → {visible_token(edit['output'])}"
                for edit in output["edits"]
            ]
        rows.append(
            {
                "pair": line["pair"],
                "source": escape_invisible(line["source"]),
                "others": max(0, len(line["references"]) - 1),
                "groups": groups,
                "outputs": [
                    {
                        "exact": one["exact"],
                        "score": one["score"],
                        "edits": len(one["edits"]),
                        "parts": list(_parts(one, analysis["unit"])),
                    }
                    for one in line["outputs"]
                ],
            }
        )
    choices = {"verdict": list(analysis["verdicts"])}
    choices |= {factor: list(groups) for factor, groups in analysis["groups"].items()}
    space = "" if analysis["unit"] == "character" else " "
    return {"labels": labels, "choices": choices, "rows": rows, "space": space}


def _parts(output: dict[str, Any], unit: str) -> Iterator[list[str]]:
    """Yield the runs of reference and output: [text] if they are equal, else [expected, output]."""
    reference = output["reference"]
    units = list(reference) if unit == "character" else reference.split()
    changes: dict[int, str] = {}
    insertions: dict[int, list[str]] = defaultdict(list)
    for edit in output["edits"]:
        at = edit["position"] - 1
        if edit["expected"]:
            changes[at] = edit["output"]
        else:
            insertions[at].append(edit["output"])
    runs: list[tuple[bool, str, str]] = []
    for at in range(len(units) + 1):
        runs += [(True, "", inserted) for inserted in insertions[at]]
        if at < len(units):
            written = changes.get(at, units[at])
            runs.append((at in changes, units[at], written))
    # between words, a space is not part of an edit
    space, show = ("", visible_token) if unit == "character" else (" ", escape_invisible)
    for changed, run in groupby(runs, key=lambda one: one[0]):
        pairs = list(run)
        expected, written = (
            space.join(part for part in side if part)
            for side in zip(*((x[1], x[2]) for x in pairs), strict=True)
        )
        if changed:
            yield [show(part) if part else "" for part in (expected, written)]
        else:
            yield [escape_invisible(expected)]

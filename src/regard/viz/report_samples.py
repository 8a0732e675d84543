"""Lines of a run for its report: the fixed line, the samples, the worst, errors by length."""

from collections.abc import Collection, Iterator, Sequence
from difflib import SequenceMatcher
from html import escape

from regard.terminal_text import escape_invisible
from regard.viz.alignment import Alignment
from regard.viz.run_data import Entry, RunData, attention_of, sample_of
from regard.viz.svg_thumbnail import thumbnail

MAX_VALIDATIONS, MAX_SAMPLES, MAX_WORST = 8, 30, 20
"""Maximum numbers of pictures of the fixed line, of samples, and of worst lines."""

MAX_CHARACTERS = 300
"""Maximum number of characters of a line."""

LENGTH_BOUNDS = (5, 10, 20, 40, 80)
"""The longest sources of each group but the last."""


def fixed_line(run: RunData) -> str:
    """Draw one line at several validations, to show how its attention develops."""
    validations = [x for x in run.validations if sample_of(x, "watched")]
    if not validations:
        return ""
    first = validations[0]["watched"]
    figures = "".join(
        _validation_figure(entry) for entry in select_evenly_spaced(validations, MAX_VALIDATIONS)
    )
    return (
        "<section><h2>One line during training</h2>"
        f'<p dir="auto">{text(first["source"])}</p>'
        f'<p dir="auto" class="soft">right: {text(first["target"])}</p>'
        f'<div class="moments">{figures}</div></section>'
    )


def _validation_figure(entry: Entry) -> str:
    sample = entry["watched"]
    alignment = attention_of(sample)
    name = f"line, update {entry['step']:,}"
    picture = "" if alignment is None else _scrollable_picture(alignment, name)
    sign = " ✓" if sample["output"] == sample["target"] else ""
    return (
        f'<figure><figcaption>update {entry["step"]:,}{sign}<br><span dir="auto">'
        f"{text(sample['output'], 100)}</span></figcaption>{picture}</figure>"
    )


def select_evenly_spaced(entries: Sequence[Entry], most: int) -> list[Entry]:
    """Select at most so many entries at equal distances, including the first and the last."""
    if len(entries) <= most:
        return list(entries)
    return [entries[round(n * (len(entries) - 1) / (most - 1))] for n in range(most)]


def sample_lines(run: RunData) -> str:
    """Show the samples of the validations, the last first."""
    validations = [x for x in run.validations if sample_of(x, "sample")]
    if not validations:
        return ""
    latest = validations[: -MAX_SAMPLES - 1 : -1]
    caption = "A line of the validation set after each validation, the last first"
    caption += (
        f"; the last {MAX_SAMPLES} of {len(validations):,}."
        if len(validations) > MAX_SAMPLES
        else "."
    )
    rows = [
        (
            f"{x['step']:,}",
            *_mark_differences(x["sample"]["source"], [x["sample"]["target"]], x["sample"]),
        )
        for x in latest
    ]
    pictures = [_foldable_attention(x) for x in latest]
    cells = [(*row[:3], row[3] + picture) for row, picture in zip(rows, pictures, strict=True)]
    heads = ("update", "source", "right", "output")
    return f"<section><h2>Samples</h2>{table(caption, heads, cells)}</section>"


def _foldable_attention(entry: Entry) -> str:
    alignment = attention_of(entry["sample"])
    if alignment is None:
        return ""
    drawing = _scrollable_picture(alignment, f"sample, update {entry['step']:,}")
    return f"<details><summary>attention</summary>{drawing}</details>"


def _scrollable_picture(alignment: Alignment, name: str) -> str:
    """Draw a picture that scrolls if it is wider than the screen, also by keyboard."""
    attributes = f'class="wide" role="region" aria-label="{name}" tabindex="0"'
    return f"<div {attributes}>{thumbnail(alignment)}</div>"


def errors_by_length(run: RunData) -> str:
    """Group the validation lines by source length, and count the errors."""
    if not run.lines:
        return ""
    caption = (
        "The finished model on the validation lines, by source tokens; errors are edits in percent "
        "of the characters of the best target."
    )
    heads = ("tokens", "lines", "exactly right", "errors")
    rows = list(_length_groups(run.lines))
    return f"<section><h2>Errors by length</h2>{table(caption, heads, rows, range(3))}</section>"


def _length_groups(lines: Sequence[Entry]) -> Iterator[tuple[str, ...]]:
    for low, high in zip((0, *LENGTH_BOUNDS), (*LENGTH_BOUNDS, None), strict=True):
        group = [
            x
            for x in lines
            if x["source_length"] > low and (high is None or x["source_length"] <= high)
        ]
        if not group:
            continue
        correct = 100 * sum(x["edits"] == 0 for x in group) / len(group)
        error_rate = 100 * sum(x["edits"] for x in group) / max(1, sum(x["length"] for x in group))
        bar = f'<span class="bar" style="width:{min(100, error_rate):.1f}%"></span>'
        length_range = f"{low + 1}–{high}" if high is not None else f"{low + 1} and more"
        yield length_range, f"{len(group):,}", f"{correct:.1f} %", f"{error_rate:.1f} % {bar}"


def worst_lines(run: RunData) -> str:
    """Show the lines with the most edits relative to their length."""
    lines_with_errors = [x for x in run.lines if x["edits"] > 0]
    if not run.lines:
        return ""
    if not lines_with_errors:
        return "<section><h2>Worst lines</h2><p>Every line is right.</p></section>"
    # sorted is stable
    lines_with_errors = sorted(
        lines_with_errors, key=lambda x: (-x["edits"] / max(1, x["length"]), -x["edits"])
    )
    caption = (
        f"{min(MAX_WORST, len(lines_with_errors))} of {len(lines_with_errors):,} lines with errors"
    )
    rows = [
        (
            *_mark_differences(x["source"], x["targets"], x),
            f"{x['edits']:,} of {x['length']:,}",
        )
        for x in lines_with_errors[:MAX_WORST]
    ]
    heads = ("source", "right", "output", "edits, characters")
    html = table(f"{caption}, the worst first.", heads, rows)
    return f"<section><h2>Worst lines</h2>{html}</section>"


def _mark_differences(source: str, targets: Sequence[str], entry: Entry) -> tuple[str, str, str]:
    """Return source, target and output, the latter two with their differences marked."""
    target, output = targets[0][:MAX_CHARACTERS], entry["output"][:MAX_CHARACTERS]
    if output in targets:
        target = output
    marked = ["", ""]
    for what, a, b, c, d in SequenceMatcher(None, target, output, autojunk=False).get_opcodes():
        for n, part in enumerate((target[a:b], output[c:d])):
            marked_text = text(part)
            marked[n] += (
                marked_text if what == "equal" or not part else f"<mark>{marked_text}</mark>"
            )
    others = len(targets) - 1
    more = f' <span class="soft">or {others} other{"s" * (others > 1)}</span>' if others else ""
    cells = text(source), marked[0] + more, marked[1] or '<span class="soft">(nothing)</span>'
    return tuple(f'<span dir="auto">{cell}</span>' for cell in cells)  # type: ignore[return-value]


def text(line: str, max_characters: int = MAX_CHARACTERS) -> str:
    """Escape a line, and make invisible characters visible."""
    cut = line[:max_characters] + "…" if len(line) > max_characters else line
    return escape(escape_invisible(cut))


def table(
    caption: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Collection[int] = (),
) -> str:
    """Lay out rows of HTML under their heads; `numbers` are the columns that hold numbers."""
    style = [' class="number"' if n in numbers else "" for n in range(len(heads))]
    top = "".join(f'<th scope="col"{s}>{h}</th>' for h, s in zip(heads, style, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{s}>{c}</td>" for c, s in zip(row, style, strict=True)) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide" role="region" aria-label="{escape(caption)}" tabindex="0">'
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )

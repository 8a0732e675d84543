"""Throughput: from progress marks to tokens per second, and to a speedup over the baseline."""

import json
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.programs import CompletedProgram


class ProgressMark(NamedTuple):
    """The tokens trained on after an update, and the second at which that was printed."""

    step: int
    seconds: float
    tokens: float


def sort_marks(marks: Iterable[tuple[int, float, float]]) -> list[ProgressMark]:
    """Return the marks in the order of their updates."""
    return sorted(ProgressMark(*mark) for mark in marks)


def tokens_per_second(marks: Sequence[ProgressMark], warmup: int) -> float:
    """Return the throughput after the warm-up updates, which do not count."""
    counted = [mark for mark in marks if mark.step >= warmup]
    if len(counted) < 2:
        raise SystemExit(
            f"{len(marks)} progress marks are too few: at least two must come after update "
            f"{warmup}; use more --updates"
        )
    first, last = counted[0], counted[-1]
    return (last.tokens - first.tokens) / (last.seconds - first.seconds)


def read_json_marks(program: CompletedProgram) -> list[ProgressMark]:
    """Read the marks of a program that prints its steps and tokens as JSON."""
    lines = [(when, line) for when, line in program.lines if line.startswith('{"step"')]
    entries = ((when, json.loads(line)) for when, line in lines)
    return sort_marks((entry["step"], when, entry["tokens"]) for when, entry in entries)


def read_json_figures(program: CompletedProgram) -> dict[str, float]:
    """Read the figures that a decoding program prints as JSON for each beam size."""
    entries = [json.loads(line) for _, line in program.lines if line.startswith('{"beam"')]
    figures = {search_name(entry["beam"]): entry["words_per_second"] for entry in entries}
    lengths = {f"tokens, {search_name(entry['beam'])}": entry["tokens"] for entry in entries}
    return figures | lengths


def search_name(beam: int) -> str:
    """Name a search by its beam size."""
    return "greedy" if beam == 1 else f"beam {beam}"


def speedup(figure: float, before: float, after: float, *, higher_is_better: bool) -> float:
    """Return how many times better a figure is than the mean of the baseline around it."""
    baseline = (before + after) / 2
    return figure / baseline if higher_is_better else baseline / figure


class MedianRange(NamedTuple):
    """The median of some figures, with the least and the greatest of them."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> "MedianRange":
        """Summarize figures."""
        return cls(median(figures), min(figures), max(figures))

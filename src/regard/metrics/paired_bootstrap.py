"""Is one model better than another, or is it chance? Paired bootstrap (Koehn 2004).

Both models are scored on the same lines, resampled with replacement. The test says nothing about
other training seeds or other kinds of text.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from regard.errors import ConfigError
from regard.metrics import line_statistics, messages
from regard.metrics.corpus_scores import (
    LOWER_IS_BETTER,
    check_names,
    display_name,
    statistics,
)
from regard.metrics.line_statistics import Outputs, References, Statistics

ROUNDING = 1e-9
"""Scores this close are equal: they differ only by the order of summation."""


@dataclass(frozen=True)
class Comparison:
    """Two scores on the same lines; a difference is always the second minus the first.

    p = (1 + #{i : |dᵢ − d| ≥ |d|}) / (1 + samples), with d the difference on the original
    lines and dᵢ that on the i-th sample: how often resampling alone moves the difference by at
    least |d| in either direction. For two equal outputs it is 1.
    """

    name: str
    value_a: float
    value_b: float
    mean_difference: float
    interval: tuple[float, float]
    """The 2.5th and the 97.5th percentile of the samples' differences."""

    p_value: float
    seed: int
    samples: int
    signature: str
    higher_is_better: bool

    def to_json(self) -> dict[str, Any]:
        """Return what `json.dumps` takes."""
        return {**asdict(self), "interval": list(self.interval)}


def paired_bootstrap(
    outputs_a: Outputs,
    outputs_b: Outputs,
    references: References,
    name: str,
    samples: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Compare two models on the same lines, under one metric."""
    import numpy as np

    _check(name, samples, seed)
    line_statistics.check(outputs_a, references, "outputs_a")
    line_statistics.check(outputs_b, references, "outputs_b")
    a = statistics(name, outputs_a, references)
    b = statistics(name, outputs_b, references)
    value_a, value_b = a.value(), b.value()

    differences = np.array(list(_differences(a, b, samples, seed)))
    low, high = np.percentile(differences, [2.5, 97.5])
    observed = value_b - value_a
    as_extreme = np.abs(differences - observed) >= abs(observed) - ROUNDING
    return Comparison(
        name=display_name(name),
        value_a=value_a,
        value_b=value_b,
        mean_difference=float(differences.mean()),
        interval=(float(low), float(high)),
        p_value=(1 + int(as_extreme.sum())) / (1 + samples),
        seed=seed,
        samples=samples,
        signature=f"{a.signature}|bs:{samples}|seed:{seed}|rng:numpy-{np.__version__}",
        higher_is_better=name not in LOWER_IS_BETTER,
    )


def _differences(a: Statistics, b: Statistics, samples: int, seed: int) -> Iterator[float]:
    """Yield the difference of the scores on each sample of the lines."""
    import numpy as np

    rows_a, rows_b = (np.array(part.rows, dtype=np.float64) for part in (a, b))
    rng = np.random.default_rng(seed)
    for _ in range(samples):
        sample_indices = rng.integers(len(rows_a), size=len(rows_a))
        # how often each line was drawn: the sums are then one matrix product
        draw_counts = np.bincount(sample_indices, minlength=len(rows_a)).astype(np.float64)
        yield b.formula((draw_counts @ rows_b).tolist()) - a.formula(
            (draw_counts @ rows_a).tolist()
        )


def _check(name: str, samples: int, seed: int) -> None:
    check_names([name])
    problems = [
        messages.not_a_whole_number(setting, value, minimum)
        for setting, value, minimum in (("samples", samples, 1), ("seed", seed, 0))
        if type(value) is not int or value < minimum
    ]
    if problems:
        raise ConfigError("metrics", problems)

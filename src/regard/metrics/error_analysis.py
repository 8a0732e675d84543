"""Error analysis: every output with its edit operations, and what they add up to.

One model, or two side by side on the same lines.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from regard.metrics.edit_operations import (
    EditOperation,
    Unit,
    best_reference,
    split_units,
)
from regard.metrics.line_groups import TAG, group_order
from regard.terminal_text import visible_token

MAX_EXAMPLES = 3
"""Examples of a confusion."""


@dataclass(frozen=True)
class AnalyzedOutput:
    """An output, the reference that is nearest to it, and how they differ."""

    text: str
    exact: bool
    reference: str
    operations: tuple[EditOperation, ...]
    length: int
    score: float

    @classmethod
    def of(cls, text: str, references: Sequence[str], unit: Unit, score: float) -> "AnalyzedOutput":
        """Compare an output with the nearest of its references."""
        reference, operations = best_reference(references, text, unit)
        length = len(split_units(reference, unit))
        return cls(text, text in references, reference, operations, length, score)


@dataclass(frozen=True)
class AnalyzedLine:
    """A source, its references, its groups by factor, and one output of each model.

    `number` is that of the first pair with this source.
    """

    number: int
    source: str
    references: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]]
    outputs: tuple[AnalyzedOutput, ...]

    @property
    def exact(self) -> tuple[bool, ...]:
        """Whether each model's output equals a reference."""
        return tuple(output.exact for output in self.outputs)


@dataclass(frozen=True)
class Totals:
    """How many lines a group has, and for each model how many are exact, and the edits."""

    lines: int
    exact: tuple[int, ...]
    edits: tuple[int, ...]
    length: tuple[int, ...]

    @classmethod
    def of(cls, lines: Sequence[AnalyzedLine]) -> "Totals":
        """Add up lines."""
        outputs = list(zip(*(line.outputs for line in lines), strict=True))
        return cls(
            len(lines),
            tuple(sum(one.exact for one in model) for model in outputs),
            tuple(sum(len(one.operations) for one in model) for model in outputs),
            tuple(sum(one.length for one in model) for model in outputs),
        )

    def accuracy(self, model: int = 0) -> float:
        """Return the exact outputs in percent."""
        return 100 * self.exact[model] / self.lines

    def error_rate(self, model: int = 0) -> float:
        """Return the edits in percent of the units of the references."""
        return 100 * self.edits[model] / max(1, self.length[model])

    def to_json(self) -> dict[str, Any]:
        """Return what `json.dumps` takes."""
        models = range(len(self.exact))
        return {
            "lines": self.lines,
            "exact": list(self.exact),
            "accuracy": [self.accuracy(model) for model in models],
            "edits": list(self.edits),
            "error_rate": [self.error_rate(model) for model in models],
        }


@dataclass
class Confusion:
    """What a model wrote for what was expected: how often, of how many, and in which lines."""

    expected: str
    output: str
    count: int = 0
    occurrences: int = 0
    lines: list[int] = field(default_factory=list)


@dataclass(frozen=True, repr=False)
class ErrorAnalysis:
    """The errors of one model, or of two, on a test set."""

    models: tuple[str, ...]
    unit: Unit
    lines: Sequence[AnalyzedLine]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        accuracies = (
            f"{name} {self.totals.accuracy(n):.1f} % exact" for n, name in enumerate(self.models)
        )
        return f"ErrorAnalysis({len(self.lines):,} sources, {', '.join(accuracies)})"

    @property
    def labels(self) -> tuple[str, ...]:
        """What tells two models apart: A and B."""
        return ("",) if len(self.models) == 1 else ("A", "B")

    @cached_property
    def totals(self) -> Totals:
        """Add up all lines."""
        return Totals.of(self.lines)

    @cached_property
    def groups(self) -> dict[str, dict[str, Totals]]:
        """Add up the lines of each group of each factor; tags with the most errors come first."""
        members: dict[str, dict[str, list[AnalyzedLine]]] = defaultdict(lambda: defaultdict(list))
        for line in self.lines:
            for factor, names in line.groups.items():
                for name in names:
                    members[factor][name].append(line)
        groups = {
            factor: {name: Totals.of(lines) for name, lines in by_name.items()}
            for factor, by_name in members.items()
        }
        return {
            factor: dict(sorted(totals.items(), key=lambda entry: _order(factor, *entry)))
            for factor, totals in groups.items()
        }

    @property
    def common(self) -> list[str]:
        """Say which factors are the same for all lines."""
        return [
            f"{factor} of all lines: {name}"
            for factor, groups in self.groups.items()
            if len(groups) == 1
            for name in groups
        ]

    def confusions(self, model: int = 0) -> list[Confusion]:
        """Return what was written for what, the most frequent first."""
        confusions: dict[tuple[str, str], Confusion] = {}
        occurrences: Counter[str] = Counter()
        for index, line in enumerate(self.lines):
            output = line.outputs[model]
            occurrences.update(split_units(output.reference, self.unit))
            for _, expected, written in output.operations:
                one = confusions.setdefault((expected, written), Confusion(expected, written))
                one.count += 1
                one.lines.append(index)
        for one in confusions.values():
            # an edit is plainest in a line with few others
            examples = sorted(set(one.lines), key=lambda x: (self._num_edits(x, model), x))
            one.lines = examples[:MAX_EXAMPLES]
            one.occurrences = occurrences[one.expected] if one.expected else 0
        return sorted(confusions.values(), key=lambda x: (-x.count, x.expected, x.output))

    def _num_edits(self, index: int, model: int) -> int:
        return len(self.lines[index].outputs[model].operations)

    @property
    def verdicts(self) -> dict[str, int]:
        """Count the lines that both models have right, only one of them, or none."""
        counts = Counter(self.verdict(line) for line in self.lines)
        return {name: counts[name] for name in self._verdict_names.values()}

    def verdict(self, line: AnalyzedLine) -> str:
        """Say which of the models has a line right."""
        return self._verdict_names[line.exact]

    @property
    def _verdict_names(self) -> dict[tuple[bool, ...], str]:
        if len(self.models) == 1:
            return {(True,): "exact", (False,): "wrong"}
        return {
            (True, True): "both",
            (True, False): "only A",
            (False, True): "only B",
            (False, False): "neither",
        }

    def to_json(self) -> dict[str, Any]:
        """Return everything, as `json.dumps` takes it."""
        return {
            "models": list(self.models),
            "unit": self.unit,
            "notes": list(self.notes),
            "total": self.totals.to_json(),
            "verdicts": self.verdicts,
            "common": self.common,
            "groups": {
                factor: {name: totals.to_json() for name, totals in groups.items()}
                for factor, groups in self.groups.items()
            },
            "confusions": [
                [_confusion_json(one, self.lines, model) for one in self.confusions(model)]
                for model in range(len(self.models))
            ],
            "lines": [self._line_json(line) for line in self.lines],
        }

    def _line_json(self, line: AnalyzedLine) -> dict[str, Any]:
        return {
            "pair": line.number,
            "source": line.source,
            "references": list(line.references),
            "groups": {factor: list(names) for factor, names in line.groups.items()},
            "verdict": self.verdict(line),
            "outputs": [
                {
                    "text": one.text,
                    "exact": one.exact,
                    "reference": one.reference,
                    "edits": [
                        {"position": at + 1, "expected": expected, "output": output}
                        for at, expected, output in one.operations
                    ],
                    "length": one.length,
                    "score": one.score,
                }
                for one in line.outputs
            ],
        }


def _order(factor: str, name: str, totals: Totals) -> tuple[int, str]:
    if factor == TAG:
        return sum(totals.exact) - totals.lines * len(totals.exact), name
    return group_order(factor, name)


def _confusion_json(
    confusion: Confusion, lines: Sequence[AnalyzedLine], model: int
) -> dict[str, Any]:
    return {
        "expected": confusion.expected,
        "output": confusion.output,
        "label": f"{visible_token(confusion.expected)} → {visible_token(confusion.output)}",
        "count": confusion.count,
        "occurrences": confusion.occurrences,
        "examples": [
            {
                "pair": lines[index].number,
                "source": lines[index].source,
                "reference": lines[index].outputs[model].reference,
                "output": lines[index].outputs[model].text,
            }
            for index in confusion.lines
        ],
    }

"""Progress reports: what the training loop reports to the terminal, log files and TensorBoard.

No report influences the run.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple, Protocol, Self, final


class ValidationSample(NamedTuple):
    """One line of the validation set: its source, its target and the output.

    With attention, also the tokens of source and output, and the weights of each output token over
    the source (the last row is that of EOS).
    """

    source: str
    target: str
    output: str
    source_tokens: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()
    weights: tuple[tuple[float, ...], ...] = ()


class ValidationResult(NamedTuple):
    """A score with its signature, and two sample lines: a new one each time, and a fixed one."""

    score: float
    sample: ValidationSample | None = None
    fixed_sample: ValidationSample | None = None
    signature: str = ""


class ProgressReport(Protocol):
    """Receives what happens in the training loop."""

    def start(self, step: int) -> None:
        """Before the first update; `step` counts those of earlier parts of the run."""

    def update(self, step: int, loss: float, learning_rate: float, tokens: int) -> None:
        """After an update; `loss` is the mean per token."""

    def begin_validation(self, step: int) -> None:
        """Before a validation, which may take a while."""

    def end_validation(self, step: int, validation: ValidationResult, best: float) -> None:
        """After a validation; `best` is the best score so far, this one included."""


class ClosableReport(ProgressReport, Protocol):
    """A report that must be closed: `with report: train(job, report)`."""

    def __enter__(self) -> Self:
        """Open the report."""

    def __exit__(self, *error: object) -> None:
        """Finish the output of the report."""


@final
class SilentReport:
    """Reports nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def start(self, step: int) -> None:
        """Report nothing."""

    def update(self, step: int, loss: float, learning_rate: float, tokens: int) -> None:
        """Report nothing."""

    def begin_validation(self, step: int) -> None:
        """Report nothing."""

    def end_validation(self, step: int, validation: ValidationResult, best: float) -> None:
        """Report nothing."""


@final
class CompositeReport:
    """Passes everything on to several reports, in their order."""

    def __init__(self, reports: Sequence[ClosableReport]) -> None:
        self.reports = tuple(reports)
        self.stack = ExitStack()

    def __enter__(self) -> Self:
        for report in self.reports:
            self.stack.enter_context(report)
        return self

    def __exit__(self, *error: object) -> None:
        self.stack.close()

    def start(self, step: int) -> None:
        """Pass on."""
        for report in self.reports:
            report.start(step)

    def update(self, step: int, loss: float, learning_rate: float, tokens: int) -> None:
        """Pass on."""
        for report in self.reports:
            report.update(step, loss, learning_rate, tokens)

    def begin_validation(self, step: int) -> None:
        """Pass on."""
        for report in self.reports:
            report.begin_validation(step)

    def end_validation(self, step: int, validation: ValidationResult, best: float) -> None:
        """Pass on."""
        for report in self.reports:
            report.end_validation(step, validation, best)

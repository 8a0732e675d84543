"""Training in a notebook: a progress bar with curves, which stay, and the messages folded away.

It needs nothing but IPython, which every notebook has.
"""

from collections.abc import Callable
from html import escape
from time import monotonic
from typing import Any, Final, final

from typing_extensions import override

from regard.config.settings import TrainConfig
from regard.terminal_text import escape_invisible
from regard.training.log_lines import format_score, join_nonempty
from regard.training.progress_report import ValidationResult, ValidationSample
from regard.training.throughput import TimedReport, format_clock_time
from regard.training.validation_sample import sample_line
from regard.viz.report_charts import Chart, draw_chart

SECONDS_BETWEEN_DRAWINGS = 0.5
SAMPLE_WIDTH = 120

STYLE = """<style>
.regard-run { font-family: system-ui, sans-serif; max-width: 60rem; }
.regard-run progress { width: min(24rem, 50%); vertical-align: middle; margin-inline: .5rem; }
.regard-run .curves { display: flex; flex-wrap: wrap; gap: 1rem; }
.regard-run figure { margin: .5rem 0; flex: 1 1 20rem; max-width: 28rem; }
.regard-run svg { width: 100%; height: auto; } .regard-run text { font-size: 12px;
  fill: currentColor; opacity: .75; } .regard-run .grid { stroke: currentColor; opacity: .2; }
.regard-run .curve { fill: none; stroke: #4a78d6; stroke-width: 1.5; }
.regard-run .dot { fill: #4a78d6; } .regard-run .hit { fill: transparent; }
</style>"""


class _Display:
    """A place below the cell whose content can be replaced."""

    def __init__(self) -> None:
        self.handle: Any = None

    def show(self, html: str, text: str) -> None:
        """Show HTML, and text where HTML cannot be shown."""
        from IPython import display as ipython

        bundle = {"text/html": html, "text/plain": text}
        if self.handle is None:
            # typed as Any: IPython has no types
            display: Any = ipython.display
            self.handle = display(bundle, raw=True, display_id=True)
        else:
            self.handle.update(bundle, raw=True)


@final
class NotebookLog:
    """Messages of a run: the last one is shown, the others unfold."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.display = _Display()

    def __call__(self, line: str) -> None:
        """Add a message."""
        self.lines.append(line)
        lines = [escape(escape_invisible(one)) for one in self.lines]
        everything = "\n".join(lines)
        html = f"<details><summary>{lines[-1].strip()}</summary><pre>{everything}</pre></details>"
        self.display.show(html, line)


@final
class NotebookReport(TimedReport):
    """A bar with the remaining time; then curves, the best score and the time it took."""

    def __init__(
        self, config: TrainConfig, metric: str, clock: Callable[[], float] = monotonic
    ) -> None:
        super().__init__(config, clock)
        self.metric: Final = metric
        self.display = _Display()
        self.losses: list[tuple[int, float]] = []
        self.scores: list[tuple[int, float]] = []
        self.score = ""
        self.sample: ValidationSample | None = None
        self.ended = False
        self.last_drawing = -SECONDS_BETWEEN_DRAWINGS

    @override
    def __exit__(self, *error: object) -> None:
        self.ended = True
        self._draw(now=True)

    @override
    def start(self, step: int) -> None:
        """Start the clock and show the bar."""
        super().start(step)
        self._draw(now=True)

    @override
    def update(self, step: int, loss: float, learning_rate: float, tokens: int) -> None:
        """Move the bar, at most twice a second."""
        super().update(step, loss, learning_rate, tokens)
        self.losses.append((step, loss))
        self._draw()

    @override
    def begin_validation(self, step: int) -> None:
        """Say that a validation runs."""
        super().begin_validation(step)
        self._draw(now=True)

    @override
    def end_validation(self, step: int, validation: ValidationResult, best: float) -> None:
        """Show the score and the sample until the next validation."""
        super().end_validation(step, validation, best)
        self.scores.append((step, validation.score))
        self.score = format_score(self.metric, validation.score, best)
        self.sample = validation.sample
        self._draw(now=True)

    def _draw(self, *, now: bool = False) -> None:
        time = self.throughput.clock()
        if now or time - self.last_drawing >= SECONDS_BETWEEN_DRAWINGS:
            self.last_drawing = time
            self.display.show(self.to_html(), self._status())

    def _status(self) -> str:
        meter = self.throughput
        if self.ended:
            took = f"took {format_clock_time(meter.elapsed())}"
            return join_nonempty(meter.steps_text(), took, self.score)
        validating = "validating" * meter.is_validating
        speed = meter.speed_text()
        return join_nonempty(
            meter.steps_text(), validating, meter.remaining_text(), speed, self.score
        )

    def to_html(self) -> str:
        """Return what is shown now."""
        meter = self.throughput
        bar = f'<progress max="{meter.config.max_steps}" value="{meter.step}"></progress>'
        parts = [f"<p>{'' if self.ended else bar}{escape(self._status())}</p>"]
        if self.sample is not None:
            line = sample_line(self.sample, SAMPLE_WIDTH)
            parts.append(f'<p dir="auto"><small>{escape(line)}</small></p>')
        if self.scores:
            name = "dev loss" if self.metric == "loss" else self.metric
            charts = (
                Chart("Training loss per token", self.losses, "{:.3f}".format),
                Chart(f"{name} on the validation set", self.scores, "{:.2f}".format),
            )
            parts.append(f'<div class="curves">{"".join(map(draw_chart, charts))}</div>')
        return f'{STYLE}<div class="regard-run">{"".join(parts)}</div>'

"""Training in a notebook: what the bar, the curves and the messages show; once in a real kernel."""

import re

import pytest

from regard.config.settings import TrainConfig
from regard.training import notebook_report, progress_bar
from regard.training.notebook_report import NotebookLog, NotebookReport
from regard.training.progress_report import ValidationResult, ValidationSample

CONFIG = TrainConfig(max_steps=100, validate_every=50)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def shown(monkeypatch):
    """Collect what is displayed; the kernel's own display is tried below."""
    bundles = []
    monkeypatch.setattr(
        notebook_report._Display, "show", lambda self, *bundle: bundles.append((self, *bundle))
    )
    return bundles


def test_the_bar_moves_and_gives_way_to_curves_and_the_best_score(shown):
    clock = Clock()
    with NotebookReport(CONFIG, "exact", clock) as report:
        report.start(0)
        for step in range(1, 101):
            clock.now += 1
            report.update(step, 3 - step / 50, 0.1, 10)
            if step % 50 == 0:
                report.begin_validation(step)
                sample = ValidationSample("<a>", "A", "B")
                report.end_validation(step, ValidationResult(step / 2, sample), 50.0)
    htmls = [html for _, html, _ in shown]
    assert '<progress max="100" value="0">' in htmls[0]
    assert "<svg" not in htmls[0]
    assert any('value="49"' in html for html in htmls)
    assert any("validating" in text for *_, text in shown)
    assert "<progress" not in htmls[-1]
    assert htmls[-1].count("<svg") == 2
    assert "took 1:40" in htmls[-1]
    assert "exact 50.0 (best 50.0)" in htmls[-1]
    assert "update 100: 50.00" in htmls[-1]
    assert "&lt;a&gt;" in htmls[-1]
    assert "<a>" not in htmls[-1]


def test_it_is_drawn_twice_a_second_at_most(shown):
    clock = Clock()
    report = NotebookReport(CONFIG, "loss", clock)
    report.start(0)
    for step in range(1, 101):
        clock.now += 0.01
        report.update(step, 1.0, 0.1, 10)
    assert 2 <= len(shown) <= 3


def test_messages_unfold_and_the_last_one_is_shown(shown):
    log = NotebookLog()
    log("automatic settings:")
    log("  <b> = 3")
    place, html, text = shown[-1]
    assert place is shown[0][0]
    assert text == "  <b> = 3"
    assert "<summary>&lt;b&gt; = 3</summary>" in html
    assert "automatic settings:\n  &lt;b&gt; = 3" in html


def test_a_notebook_gets_its_own_report_and_a_file_does_not(monkeypatch, tmp_path):
    assert not progress_bar.in_notebook()
    monkeypatch.setattr(progress_bar, "in_notebook", lambda: True)
    chosen = progress_bar.make_report(CONFIG, "exact", quiet=False)
    assert type(chosen) is NotebookReport
    quiet = progress_bar.make_report(CONFIG, "exact", quiet=True)
    assert type(quiet) is progress_bar.SilentReport
    with (tmp_path / "log").open("w") as file:
        lines = progress_bar.make_report(CONFIG, "exact", quiet=False, file=file)
        assert type(lines) is progress_bar.LogLines


CELLS = [
    """
import regard
pairs = [(c, c.upper()) for c in "abcdefgh"]
sizes = dict(hidden_size=8, embedding_size=8, align_size=8, readout_size=8)
steps = dict(max_steps=4, validate_every=2)
model = regard.train(pairs, dev=pairs, preset="bahdanau2015", **steps, **sizes)
""",
    "model",
    "model.translate(['ab', 'c'])",
    "model.translate('ab')",
]


@pytest.mark.slow
def test_a_real_kernel_shows_curves_tables_and_heatmaps(tmp_path):
    nbformat = pytest.importorskip("nbformat", reason="pip install nbclient ipykernel")
    nbclient = pytest.importorskip("nbclient", reason="pip install nbclient ipykernel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(x) for x in CELLS])
    nbclient.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": tmp_path}}
    ).execute()
    training, model, table, line = (list(cell.outputs) for cell in notebook.cells)
    # two places: the messages and the curves; nothing on stderr
    assert [output.output_type for output in training] == ["display_data"] * 2
    messages, curves = (output.data["text/html"] for output in training)
    assert re.search("<summary>validation sources 8: exact [0-9.]+", messages)
    assert "automatic settings" in messages
    assert curves.count("<svg") == 2
    assert "step 4/4" in curves
    assert "<progress" not in curves
    assert model[0].data["text/plain"].startswith("Translator(recurrent encoder of size 8, ")
    assert table[0].data["text/html"].count("<details>") == 2
    assert "data-weight" in line[0].data["text/html"]

"""What a run leaves behind for its report: its pace in a file of its own, samples in the log."""

import json

from regard.config.settings import TrainConfig
from regard.training.loop import train
from regard.training.progress_report import ValidationResult, ValidationSample
from regard.training.run_folder import RunFolder
from regard.training.throughput_log import ThroughputLog
from training_job import job

SAMPLE = ValidationSample("ab", "A B", "A", ("a", "b"), ("A",), ((0.75, 0.25), (0.5, 0.5)))


class Clock:
    """A clock that is turned by hand."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def told(folder, first, last):
    """Make updates of half a second and 100 words; a validation of four follows every fifth."""
    clock = Clock()
    config = TrainConfig(max_steps=100, report_every=4)
    with ThroughputLog(RunFolder(folder), config, clock) as report:
        report.start(first)
        for step in range(first + 1, last + 1):
            clock.now += 0.5
            report.update(step, 1.0, 0.1, 100)
            if step % 5 == 0:
                report.begin_validation(step)
                clock.now += 4
                report.end_validation(step, ValidationResult(1.0), 1.0)


def written(folder):
    return [json.loads(line) for line in (folder / "throughput.jsonl").read_text().splitlines()]


def test_throughput_is_logged_periodically_without_validation_time(tmp_path):
    told(tmp_path, 0, 9)
    assert written(tmp_path) == [
        {"step": 4, "seconds": 2.0, "tokens_per_second": 200.0},
        # eight updates and one validation
        {"step": 8, "seconds": 8.0, "tokens_per_second": 200.0},
    ]


def test_a_resumed_run_drops_repeated_log_entries_and_counts_on(tmp_path):
    told(tmp_path, 0, 9)
    # killed in the middle of a line, saved at update 6
    with open(tmp_path / "throughput.jsonl", "a") as file:
        file.write('{"step": 12, "sec')
    told(tmp_path, 6, 12)
    assert written(tmp_path) == [
        {"step": 4, "seconds": 2.0, "tokens_per_second": 200.0},
        # from two seconds on: two updates; then six, and a validation
        {"step": 8, "seconds": 3.0, "tokens_per_second": 200.0},
        {"step": 12, "seconds": 9.0, "tokens_per_second": 200.0},
    ]


def test_a_new_run_has_no_earlier_throughput(tmp_path):
    told(tmp_path, 0, 9)
    told(tmp_path, 0, 4)
    assert written(tmp_path) == [{"step": 4, "seconds": 2.0, "tokens_per_second": 200.0}]


def test_the_log_has_samples_with_weights_and_the_score_signature(tmp_path):
    made, _, _ = job(tmp_path, max_steps=2, validate_every=2, report_every=1, batch_tokens=100)
    found = ValidationResult(50.0, SAMPLE, SAMPLE._replace(output="B"), "exact|nrefs:1")
    made = type(made)(**{**vars(made), "validate": lambda model: found})
    with ThroughputLog(made.folder, made.config) as report:
        train(made, report)
    entries = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    shown = {
        "source": "ab",
        "target": "A B",
        "output": "A",
        "source_tokens": ["a", "b"],
        "tokens": ["A"],
        "weights": [[0.75, 0.25], [0.5, 0.5]],
    }
    assert entries[-1] == {
        "step": 2,
        "score": 50.0,
        "best": 50.0,
        "metric": made.config.metric,
        "signature": "exact|nrefs:1",
        "sample": shown,
        "watched": {**shown, "output": "B"},
    }
    # the clock is nowhere in it
    assert set(entries[0]) == {"step", "loss", "rate", "tokens"}
    assert [entry["step"] for entry in written(tmp_path)] == [1, 2]


def test_a_reset_log_leaves_nothing_for_a_report(tmp_path):
    names = ("log.jsonl", "throughput.jsonl", "dev.jsonl", "summary.json", "state.safetensors")
    for name in (*names, "settings.toml"):
        (tmp_path / name).write_text("")
    RunFolder(tmp_path).clear()
    assert [path.name for path in tmp_path.iterdir()] == ["settings.toml"]


def test_a_log_of_an_earlier_version_is_continued(tmp_path):
    lines = [{"step": step, "tokens_per_second": 10.0, "seconds": 2.0 * step} for step in (1, 2, 3)]
    (tmp_path / "pace.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    clock = Clock()
    report = ThroughputLog(RunFolder(tmp_path), TrainConfig(report_every=1), clock)
    report.start(2)
    clock.now += 1
    report.update(3, 1.0, 0.1, 5)
    assert not (tmp_path / "pace.jsonl").exists()
    log = [json.loads(x) for x in (tmp_path / "throughput.jsonl").read_text().splitlines()]
    assert [(x["step"], x["seconds"]) for x in log] == [(1, 2.0), (2, 4.0), (3, 5.0)]

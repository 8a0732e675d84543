"""`regard train`: from any form of pairs to a model file; what interrupts it loses nothing."""

import gzip
import json
import os
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from shutil import which
from signal import raise_signal

import pytest

from regard.saved_model import load_model
from regard.training.progress_report import SilentReport
from regard.training.run_folder import RunFolder
from regard.translator import Translator

SMALL = [f"--set=model.{name}_size=8" for name in ("hidden", "embedding", "align", "readout")]
SHORT = ["--max-steps", "2", *SMALL]
STEPS = ["--max-steps", "6", *SMALL, "--quiet"]
STEPS += [f"--set=train.{name}_every={n}" for name, n in (("save", 2), ("validate", 2))]
STEPS += ["--set=train.report_every=1000"]
COMMAND = Path(sys.executable).with_name("regard")


@pytest.fixture
def uninterrupted(run, pairs, tmp_path):
    """Train without any trouble, and return the model file's bytes."""
    assert run("train", pairs, *STEPS, "--out", "whole.regard").code == 0
    return (tmp_path / "whole.regard").read_bytes()


def test_training_needs_a_file_alone_and_reports_everything(run, pairs, tmp_path):
    answer = run("train", pairs, *SHORT)
    assert (answer.code, answer.out) == (0, "")
    told = answer.err.splitlines()
    assert told[0] == "automatic settings:"
    assert any(line.startswith("  text.source = characters: ") for line in told)
    assert "model file capitals.regard, everything else in capitals.run/" in answer.err
    assert any(line.startswith("step 2/2 · ") for line in told)
    assert any(line.startswith("saved capitals.regard; ") for line in told)
    assert told[-1] == "Next: regard translate capitals.regard"
    assert (tmp_path / "capitals.regard").is_file()
    assert (tmp_path / "capitals.run" / "settings.toml").is_file()


def test_quiet_prints_nothing(run, pairs):
    assert run("train", pairs, *SHORT, "--quiet") == (0, "", "")


def summary(path):
    """Return what a model was trained on."""
    found = load_model(Path(path)).summary
    return found["pairs"], found["train_pairs"], found["dev_sources"]


def test_the_same_pairs_in_any_form_are_the_same_pairs(run, pairs, tmp_path):
    rows = [line.split("\t") for line in pairs.read_text().splitlines()]
    (tmp_path / "wide.tsv").write_text("".join(f"{t}\t-\t{s}\n" for s, t in rows))
    (tmp_path / "s").write_text("".join(f"{s}\n" for s, _ in rows))
    (tmp_path / "t.gz").write_bytes(gzip.compress("".join(f"{t}\n" for _, t in rows).encode()))
    objects = [json.dumps({"source": s, "target": t}) + "\n" for s, t in rows]
    (tmp_path / "pairs.jsonl").write_text("".join(objects))
    (tmp_path / "packed.tsv.gz").write_bytes(gzip.compress(pairs.read_bytes()))
    forms = {
        "capitals": [pairs],
        "wide": ["wide.tsv", "--columns", "source=3", "target=1"],
        "s": ["--source", "s", "--target", "t.gz"],
        "pairs": ["pairs.jsonl"],
        "packed": ["packed.tsv.gz"],
        "model": ["-"],
    }
    for name, words in forms.items():
        stdin = pairs.read_bytes() if name == "model" else b""
        answer = run("train", *words, "--max-steps", 1, *SMALL, "--quiet", stdin=stdin)
        assert answer == (0, "", "")
    found = {summary(tmp_path / f"{name}.regard") for name in forms}
    assert len(found) == 1
    # one of twelve sources is held out
    assert found.pop()[1:] == (11, 1)


def test_several_columns_are_joined_by_a_space(run, tmp_path):
    (tmp_path / "tags.tsv").write_text("go\twent\tPST\nsee\tsaw\tPST\nbe\twas\tPST\n")
    words = ["tags.tsv", "--columns", "source=1,3", "target=2", *SHORT]
    assert run("train", *words, "--set", "text.source=words").code == 0
    known = load_model(tmp_path / "tags.regard").source.vocabulary
    assert "PST" in [known.decode([word])[0] for word in range(len(known))]


def test_a_resumed_run_that_is_finished_does_nothing(run, pairs, tmp_path):
    run("train", pairs, *SHORT, "--quiet")
    before = (tmp_path / "capitals.regard").read_bytes()
    answer = run("train", pairs, *SHORT, "--resume")
    assert answer.code == 0
    assert "capitals.regard: the run is finished; there is nothing left to do\n" in answer.err
    assert (tmp_path / "capitals.regard").read_bytes() == before


def test_a_run_that_was_stopped_before_its_model_was_saved_saves_it(
    run, pairs, tmp_path, monkeypatch
):
    out = tmp_path / "capitals.regard"
    run("train", pairs, "--max-steps", "3", *SMALL, "--quiet")
    older = out.read_bytes()
    words = ["train", pairs, *SHORT, "--quiet"]

    def interrupted(*_):
        # a shell has what it runs in the background ignore the signal
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            raise_signal(signal.SIGINT)
        finally:
            signal.signal(signal.SIGINT, before)

    with monkeypatch.context() as patch:
        patch.setattr(Translator, "save", interrupted)
        patch.setattr("regard.training.stop_signals.SIGNALS", ())
        assert run(*words, "--overwrite").code == 130
    assert out.read_bytes() == older
    assert run(*words, "--resume") == (0, "", "")
    assert "steps           2\n" in run("info", out).out
    out.write_bytes(older[:100])
    assert run(*words, "--resume") == (0, "", "")
    assert "steps           2\n" in run("info", out).out


def test_a_finished_run_continues_only_on_request(run, refused, pairs):
    run("train", pairs, *SHORT, "--quiet")
    longer = ["train", pairs, "--max-steps", "4", *SMALL, "--quiet", "--resume"]
    said = refused(*longer)
    change = "train.max_steps: 2 → 4; the run began with the former. Pass --allow-changes"
    assert f"regard: capitals.run: {change}" in said
    assert run(*longer, "--allow-changes").code == 0
    assert "steps           4\n" in run("info", "capitals.regard").out


OFTEN = ["--set", "train.report_every=1", "--max-steps", "60000", *SMALL]
WAIT = "Stopping after this update and saving. Once more stops at once."


def test_sigterm_saves_and_prints_how_to_resume(pairs, tmp_path):
    command = [COMMAND, "train", "capitals.tsv", "--out", "my model", "--overwrite", *OFTEN]
    path = f"{COMMAND.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PATH": path}
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment
    ) as process:
        for line in process.stderr:
            if line.startswith("step 3/"):
                process.send_signal(signal.SIGTERM)
                break
        said = process.stderr.read().splitlines()
    assert process.returncode == 143
    assert WAIT in said
    again = f"regard train capitals.tsv --out 'my model' {' '.join(OFTEN)} --resume"
    assert said[-2:] == ["To use it: regard translate 'my model'", f"To go on: {again}"]
    assert any(line.endswith(" of 60,000 updates") for line in said)
    assert (tmp_path / "my model.run" / "state.safetensors").is_file()
    assert load_model(tmp_path / "my model").summary["unfinished"]


def test_ctrl_c_saves_and_the_suggested_command_resumes_exactly(
    run, pairs, tmp_path, monkeypatch, uninterrupted
):
    words = ["train", pairs, *STEPS, "--out", "m.regard"]
    with monkeypatch.context() as patch:
        patch.setattr(
            SilentReport, "update", lambda *how: how[1] == 3 and raise_signal(signal.SIGINT)
        )
        answer = run(*words)
    hint = f"regard {shlex.join(map(str, words))} --resume"
    use = "To use it: regard translate m.regard"
    assert answer == (130, "", f"{WAIT}\n{use}\nTo go on: {hint}\n")
    assert run("translate", "m.regard", stdin=b"ab\n").code == 0
    assert run(*shlex.split(hint)[1:]) == (0, "", "")
    assert (tmp_path / "m.regard").read_bytes() == uninterrupted


def test_an_interrupt_before_the_first_update_prints_how_to_resume(run, pairs, monkeypatch):
    def interrupted(request, started):
        raise KeyboardInterrupt

    run("train", pairs, *SHORT, "--quiet")
    monkeypatch.setattr("regard.pipeline.run", interrupted)
    answer = run("train", pairs, "--max-steps", 2, "--resume")
    assert answer == (130, "", f"To go on: regard train {pairs} --max-steps 2 --resume\n")
    # of the run that was to be written over, nothing is to be gone on with
    answer = run("train", pairs, "--max-steps", 2, "--overwrite")
    assert answer == (130, "", f"To go on: regard train {pairs} --max-steps 2 --overwrite\n")


def test_a_time_limit_names_the_command_for_more_time(run, pairs):
    limit = ["--set", "train.batch_tokens=16", "--max-minutes=0.001"]
    answer = run("train", pairs, *SMALL, "--max-steps", "9000", *limit)
    assert answer.code == 0
    assert "planned for 0.001 minutes: 1 of 9,000 updates" in answer.err
    command = shlex.join(["train", str(pairs), *SMALL, "--max-steps", "9000", *limit[:2]])
    more = f"regard {command} --resume --max-minutes 0.002"
    assert answer.err.splitlines()[-1] == f"To go on: {more}"
    assert run(*shlex.split(more)[1:], "--quiet") == (0, "", "")


def test_the_hint_repeats_the_original_command(pairs, tmp_path):
    for path, program in ((os.environ["PATH"], str(COMMAND)), (str(COMMAND.parent), "regard")):
        environment = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"}
        answer = subprocess.run(
            [COMMAND, "check", pairs], env=environment, capture_output=True, text=True, check=True
        )
        assert answer.stderr == f"Next: {program} train {pairs}\n"


QUOTA_AFTER_THE_FIRST_SAVE = """
import resource, sys
from regard.cli import main
from regard.training.run_folder import RunFolder
from regard.translator import Translator
save = RunFolder.save

def saved(self, *rest):
    save(self, *rest)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, resource.RLIM_INFINITY))

RunFolder.save = saved
sys.exit(main(sys.argv[1:]))
"""


def test_an_exceeded_quota_loses_nothing(run, in_a_process, pairs, tmp_path, uninterrupted):
    words = ["train", pairs, *STEPS, "--out", "m.regard"]
    answer = in_a_process(QUOTA_AFTER_THE_FIRST_SAVE, *words)
    sentence = (
        "m.run/step-00000004.safetensors: it cannot be written (File too large). Choose a "
        "folder with free space."
    )
    assert answer == (2, "", f"regard: {sentence}\n")
    assert not (tmp_path / "m.regard").exists()
    assert not list(tmp_path.rglob("*.unfinished"))
    assert run(*words, "--resume") == (0, "", "")
    assert (tmp_path / "m.regard").read_bytes() == uninterrupted


@pytest.fixture
def disk(tmp_path):
    """Mount a disk of one megabyte, where that is permitted."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", path]
    if which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a small disk")
    yield path
    subprocess.run(["umount", path], check=True)


def test_a_full_disk_loses_nothing(run, monkeypatch, pairs, disk, uninterrupted):
    words = ["train", pairs, *STEPS, "--out", "disk/m.regard"]
    save = RunFolder.save

    def and_fill(self, *rest):
        save(self, *rest)
        with open(disk / "ballast", "wb", buffering=0) as ballast, suppress(OSError):
            while ballast.write(bytes(4096)) == 4096:
                pass

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "save", and_fill)
        answer = run(*words)
    sentence = (
        "disk/m.run/step-00000004.safetensors: it cannot be written (No space left on device). "
        "Choose a folder with free space."
    )
    assert answer == (2, "", f"regard: {sentence}\n")
    assert not list(disk.rglob("*.unfinished"))
    (disk / "ballast").unlink()
    assert run(*words, "--resume") == (0, "", "")
    assert (disk / "m.regard").read_bytes() == uninterrupted


def test_the_new_name_of_a_setting_is_printed_once_on_stderr(run, pairs, tmp_path):
    (tmp_path / "old.toml").write_text("[train]\naverage = 1\n")
    words = ["--set", "train.agreement=0.0", "--set", "train.average=2", "--config", "old.toml"]
    answer = run("train", pairs, *SHORT, *words)
    assert (answer.code, answer.out) == (0, "")
    for sentence in (
        "agreement is now train.rdrop_alpha",
        "average is now train.average_checkpoints",
    ):
        assert answer.err.count(f"train.{sentence}.\n") == 1
    settings = (tmp_path / "capitals.run" / "settings.toml").read_text()
    assert "\naverage_checkpoints = 2\n" in settings
    assert run("train", pairs, *SHORT, *words, "--overwrite", "--quiet") == (0, "", "")

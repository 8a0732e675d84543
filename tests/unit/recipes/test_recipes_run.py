"""The runner of recipes: the order of steps, what is done only once, and the logs."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import torch
from recipes_data import PAIRS, write

from recipes import scheduler, steps
from recipes.experiments import HERE, RecipeRun, SeedEnsemble
from recipes.run import argument_parser, select_steps
from recipes.scheduler import dependency_graph, run_steps
from recipes.steps import score_by_length
from recipes.tasks import RENAMED_TASKS, RENAMED_VARIANTS, TASKS

ROOT = Path(__file__).parents[3]
SMALL = [f"--set=model.{name}_size=8" for name in ("hidden", "embedding", "align", "readout")]


def run(*words):
    command = [sys.executable, "-m", "recipes.run", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


class FakeStep(NamedTuple):
    """A step with a name, and its prerequisites."""

    name: str
    before: tuple["FakeStep", ...] = ()

    def prerequisites(self):
        return self.before


def test_each_step_starts_as_soon_as_its_prerequisites_are_done():
    first, other = FakeStep("first"), FakeStep("other")
    second = FakeStep("second", (first,))
    gate, finished = threading.Event(), []

    def run_step(step):
        # the other one ends only after the second
        if step is other:
            assert gate.wait(60)
        finished.append(step.name)
        if step is second:
            gate.set()

    assert run_steps([other, second], run_step, 2) == []
    assert finished == ["first", "second", "other"]


def test_a_failed_step_fails_only_the_steps_that_depend_on_it():
    first, other = FakeStep("first"), FakeStep("other")
    second = FakeStep("second", (first,))
    finished = []

    def run_step(step):
        if step is first:
            raise SystemExit(2)
        finished.append(step)

    assert run_steps([second, other], run_step, 1) == [second, first]
    assert finished == [other]


@pytest.mark.parametrize("wrong", [ValueError, KeyboardInterrupt])
def test_after_an_unforeseen_error_no_step_starts(wrong, monkeypatch):
    monkeypatch.setattr(scheduler, "STOPPING", threading.Event())
    started = []

    def run_step(step):
        started.append(step.name)
        raise wrong

    with pytest.raises(wrong):
        run_steps([FakeStep(str(n)) for n in range(50)], run_step, 1)
    # one more may have started before the error of the first arrived
    assert len(started) <= 2
    # and a running step starts no further command
    with pytest.raises(SystemExit, match="130"):
        steps.run_regard("info", "no.regard")


def test_pseudo_labels_are_written_once_and_again_for_other_teachers(data, tmp_path, monkeypatch):
    (student,) = TASKS["g2p-distilled-monolingual"].variants(data, tmp_path)
    commands = []

    def translate(*words, lines):
        commands.append(words[0])
        return lines.upper()

    monkeypatch.setattr(steps, "run_regard", translate)
    options = SimpleNamespace(work=tmp_path, device="cpu")
    for teacher in student.synthetic.teachers:
        teacher.model(tmp_path).touch()
    for _ in range(2):
        steps.pseudo_label(student.synthetic, options)
        assert commands == ["translate"]
    # modification times do not matter: they are lost when a folder is copied
    os.utime(student.synthetic.file(tmp_path), ns=(1, 1))
    steps.pseudo_label(student.synthetic, options)
    assert commands == ["translate"]
    teacher.model(tmp_path).write_text("another")
    for _ in range(2):
        steps.pseudo_label(student.synthetic, options)
        assert commands == ["translate"] * 2


def test_a_student_is_trained_on_pseudo_words_that_an_ensemble_labeled(data, tmp_path):
    work = tmp_path / "work"
    words = ("--data", data, "--work", work, "--logs", tmp_path / "logs", "--device", "cpu")
    words += ("--seeds", 1)
    completed = run(
        "g2p-multilingual", *words, "--variants", "all", "--train-args", "--max-steps", 1, *SMALL
    )
    assert completed.returncode == 0, completed.stderr
    small = work / "g2p-multilingual-all-1.regard"
    variant, *_ = TASKS["g2p-distilled"].variants(data, work)
    student = RecipeRun("g2p-distilled", variant, 1)
    missing, *teachers = (teacher.model(work) for teacher in variant.synthetic.teachers)
    for step in dependency_graph([student]):
        if step != student and isinstance(step, RecipeRun) and not step.model(work).exists():
            shutil.copy(small, step.model(work))
    missing.unlink()
    more = ("--jobs", 2, "--train-args", "--max-steps", 1)
    completed = run("g2p-distilled", *words, "--variants", "xyz", *more)
    assert completed.returncode == 0, completed.stderr
    # the missing teacher was trained by its own recipe, to the end
    assert json.loads(steps.provenance(missing).read_text())["concurrent_runs"] == 1
    unlabeled = variant.synthetic.unlabeled.read_text()
    outputs = steps.run_regard("translate", missing, *teachers, lines=unlabeled).splitlines()
    pairs = zip(unlabeled.splitlines(), outputs, strict=True)
    labeled = "".join(f"{line}\t{output}\n" for line, output in pairs if output)
    synthetic = work / "xyz.pseudo-words.distilled.tsv"
    assert synthetic.read_text() == 3 * PAIRS.replace("\t", " xyz\t") + labeled
    log = json.loads((tmp_path / "logs" / "g2p-distilled-xyz-1.json").read_text())
    assert log["train_options"][:2] == ["--start-from", "g2p-multilingual-all-1.regard"]
    assert log["digests"]["pairs"] == hashlib.sha256(synthetic.read_bytes()).hexdigest()[:16]
    assert log["teachers"]["model"].count("g2p-fine-tuned-xyz-vaswani2017") == 1


def test_lines_are_scored_by_their_length(tmp_path):
    lines = [("ab", "A B", "A B"), ("abc", "A B C", "A B"), ("a" * 30, "A", "A")]
    rows = [
        {"source_length": len(source), "targets": [target], "output": output}
        for source, target, output in lines
    ]
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert score_by_length(tmp_path, "exact") == [
        {"mean length": 2.5, "lines": 2, "exact": 50.0},
        {"mean length": 30.0, "lines": 1, "exact": 100.0},
    ]


def test_a_task_goes_from_the_data_to_a_log(data, tmp_path):
    folders = ("--work", tmp_path / "work", "--logs", tmp_path / "logs")
    words = ("g2p-monolingual", "--data", data, *folders, "--device", "cpu", "--seeds", 1)
    more = ("--train-args", "--max-steps", 2, *SMALL, "--set=train.validate_every=1")
    completed = run(*words, "--test", *more)
    assert completed.returncode == 0, completed.stderr
    assert [line.split(":")[0] for line in completed.stdout.splitlines()] == [
        "g2p-monolingual, xyz 1, dev",
        "g2p-monolingual, xyz 1, test",
    ]
    path = tmp_path / "logs" / "g2p-monolingual-xyz-1.json"
    log = json.loads(path.read_text())
    assert (log["task"], log["variant"], log["seed"], log["concurrent_runs"]) == (
        "g2p-monolingual",
        "xyz",
        1,
        0,
    )
    assert log["parameters"] > 0
    assert log["seconds"] > 0
    # the training pairs
    assert log["digests"]["pairs"] == hashlib.sha256(PAIRS.encode()).hexdigest()[:16]
    assert log["digests"]["settings"] != log["digests"]["pairs"]
    assert [score["name"] for score in log["test"]["scores"]] == ["exact", "per"]
    # again: nothing is trained, no score is lost and no test is scored a second time
    again = run(*words, "--test", *more)
    assert "nothing left to do" in again.stderr
    assert json.loads(path.read_text()) == log
    (line,) = (path.parent / "tests.jsonl").read_text().splitlines()
    exact = round(log["test"]["scores"][0]["value"], 2)
    record = {"model": "g2p-monolingual-xyz-1", "models": 1, "exact": exact}
    record["digest"] = log["digests"]["model"]
    assert record.items() <= json.loads(line).items()
    # nor if the log was lost
    path.unlink()
    again = run(*words, "--test", *more)
    assert "g2p-monolingual-xyz-1: its public test was scored before, see " in again.stderr
    assert len((path.parent / "tests.jsonl").read_text().splitlines()) == 1
    assert json.loads(path.read_text()) == {x: log[x] for x in log if x != "test"}
    # another model of the same name: nothing is known of it yet
    model = tmp_path / "work" / "g2p-monolingual-xyz-1.regard"
    model.unlink()
    shutil.rmtree(model.with_suffix(".run"))
    completed = run(*words, "--train-args", "--max-steps", 1, *SMALL)
    assert completed.returncode == 0, completed.stderr
    other = json.loads(path.read_text())
    assert "test" not in other
    assert other["machine"]["torch"] == torch.__version__
    assert other["digests"]["model"] != log["digests"]["model"]


def test_a_public_test_is_scored_after_all_else(data, tmp_path):
    words = ("--data", data, "--work", tmp_path / "work", "--logs", tmp_path / "logs")
    words += ("--device", "cpu", "--test", "--train-args", "--max-steps", 1, *SMALL)
    # the file of alignments is missing
    completed = run("chinese-bahdanau2015", *words)
    assert completed.returncode == 2
    assert "chinese-bahdanau2015-zh-en-1 failed, see above\n" in completed.stderr
    assert "not done: chinese-bahdanau2015-zh-en-1\n" in completed.stderr
    assert not (tmp_path / "logs" / "tests.jsonl").exists()
    gold = "天\t地\t1-1\n"
    write(data / "word-alignment" / "zhen.dev.tsv", gold, packed=False)
    completed = run("chinese-bahdanau2015", *words)
    assert completed.returncode == 0, completed.stderr
    log = json.loads((tmp_path / "logs" / "chinese-bahdanau2015-zh-en-1.json").read_text())
    # the training is that of the first command
    assert log["machine"]["torch"] == torch.__version__
    assert len((tmp_path / "logs" / "tests.jsonl").read_text().splitlines()) == 1


def test_ctrl_c_ends_in_a_sentence_and_the_same_command_resumes(data, tmp_path):
    work = tmp_path / "work"
    words = ["g2p-monolingual", "--data", data, "--work", work, "--logs", tmp_path / "logs"]
    words += ["--device", "cpu", "--seeds", 1, "--test", "--train-args", "--max-steps", 300, *SMALL]
    words += ["--set=train.report_every=1", "--set=train.validate_every=300"]
    command = [sys.executable, "-m", "recipes.run", *map(str, words)]
    with subprocess.Popen(
        command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        log = work / "g2p-monolingual-xyz-1.run" / "log.jsonl"
        while running.poll() is None and not (log.exists() and log.stat().st_size):
            time.sleep(0.01)
        # as a terminal does: to all its processes
        os.killpg(running.pid, signal.SIGINT)
        _, stderr = running.communicate(timeout=120)
    assert running.returncode == 130
    assert "stopped; the same command resumes" in stderr
    assert "Traceback" not in stderr
    assert [*(tmp_path / "logs").iterdir()] == []
    completed = run(*words)
    assert completed.returncode == 0, completed.stderr
    log = json.loads((tmp_path / "logs" / "g2p-monolingual-xyz-1.json").read_text())
    # the time of an interrupted training is unknown
    assert "seconds" not in log
    assert log["machine"]["torch"] == torch.__version__


def test_a_preparation_command_runs_once(data, tmp_path):
    words = ("--data", data, "--work", tmp_path / "work", "--logs", tmp_path / "logs")
    words += ("--device", "cpu", "--variants", "1000-embeddings", "10000-embeddings", "--jobs", 2)
    completed = run("low-resource", *words, "--train-args", "--max-steps", 1, *SMALL[:1])
    assert completed.returncode == 0, completed.stderr
    assert completed.stderr.count("low-resource.vectors") == 1
    assert (tmp_path / "work" / "low-resource.vectors").exists()
    assert len(list((tmp_path / "logs").iterdir())) == 2


def test_seeds_are_scored_as_an_ensemble_too(data, tmp_path):
    folders = ("--work", tmp_path / "work", "--logs", tmp_path / "logs")
    words = ("g2p-monolingual", "--data", data, *folders, "--device", "cpu", "--seeds", 2)
    completed = run(*words, "--ensemble", "--train-args", "--max-steps", 1, *SMALL)
    assert completed.returncode == 0, completed.stderr
    assert [line.split(":")[0] for line in completed.stdout.splitlines()] == [
        "g2p-monolingual, xyz 1, dev",
        "g2p-monolingual, xyz 2, dev",
        "g2p-monolingual, xyz, ensemble of 2, dev",
    ]
    log = json.loads((tmp_path / "logs" / "g2p-monolingual-xyz-ensemble-of-2.json").read_text())
    assert (log["models"], log["dev"]["stop"]) == (2, "likeliest")
    settings = (HERE / "g2p-low.toml").read_bytes()
    models = [tmp_path / "work" / f"g2p-monolingual-xyz-{seed}.regard" for seed in (1, 2)]
    contents = b"".join(model.read_bytes() for model in models)
    # the test of either model and of their ensemble, and none of them twice
    for _ in range(2):
        again = run(*words, "--ensemble", "--test", "--train-args", "--max-steps", 1, *SMALL)
        assert again.returncode == 0, again.stderr
        lines = (tmp_path / "logs" / "tests.jsonl").read_text().splitlines()
        assert [json.loads(line)["models"] for line in lines] == [1, 1, 2]
    assert log["digests"] == {
        name: hashlib.sha256(content).hexdigest()[:16]
        for name, content in (("settings", settings), ("model", contents))
    }
    assert log["machine"]["torch"] == torch.__version__
    assert "1.regard + " in log["dev"]["model"]


def test_missing_files_and_unknown_names_are_refused_in_a_sentence(data, tmp_path):
    for words, sentence in [
        (
            ("g2p-monolingual", "--data", tmp_path / "no"),
            "has no files for g2p-monolingual; --data must name the folder of the data sets",
        ),
        (
            ("g2p-fine-tuned", "--data", tmp_path / "no"),
            "has no files for g2p-fine-tuned; --data must name the folder of the data sets",
        ),
        (("histnorm", "--data", tmp_path / "no"), "--data must name a folder that has it"),
        (
            ("g2p-monolingual", "--data", data, "--variants", "abc"),
            "unknown variant abc; the variants are xyz",
        ),
        (("g2p-monolingual", "--data", data, "--seeds", 0), "0; it must be at least 1"),
        (
            ("histnorm", "--data", data, "--ensemble"),
            "--ensemble needs several seeds, but histnorm has one; add --seeds 5",
        ),
        (
            ("g2p-english", "--data", tmp_path / "no"),
            "g014b2b/train.tsv.gz: No such file or directory; --data must name a folder",
        ),
        (
            ("histnorm", "g2p-monolingual", "--data", data, "--variants", "xyz"),
            "histnorm has none of these variants; leave the task out",
        ),
        (("g2p-monolingual", "--data", data, "--variants"), "expected at least one argument"),
        (
            ("g2p-monolingual", "--data", data, "--logs", Path(__file__)),
            "test_recipes_run.py: File exists; name another folder",
        ),
    ]:
        completed = run(*words, "--work", tmp_path / "work")
        assert completed.returncode == 2
        assert sentence in completed.stderr
        assert "Traceback" not in completed.stderr


def test_several_tasks_run_in_one_command_each_with_its_seeds(data, tmp_path):
    parser = argument_parser()
    options = parser.parse_args(["g2p-english", "histnorm", "--data", str(data)])
    options.work = tmp_path
    runs = select_steps(options, parser)
    assert [(run.task, run.variant.name, run.seed) for run in runs] == [
        *(("g2p-english", "english", seed) for seed in range(1, 6)),
        ("histnorm", "german-ridges", 1),
    ]
    options.tasks, options.ensemble = ["g2p-english"], True
    *runs, ensemble = select_steps(options, parser)
    assert ensemble == SeedEnsemble(tuple(runs))


def test_former_names_are_accepted_and_replaced_by_the_present_ones(data, capsys):
    assert set(RENAMED_TASKS.values()) <= set(TASKS)
    former = ["g2p-taught", "little", "--data", str(data), "--parts", "1000-alone", "ady"]
    options = argument_parser().parse_args(
        [*former, "--at-once", "3", "--more", "--max-steps", "9"]
    )
    assert options.tasks == ["g2p-distilled", "low-resource"]
    assert options.variants == ["1000-scratch", "ady"]
    assert (options.jobs, options.train_args) == (3, ["--max-steps", "9"])
    assert capsys.readouterr().err.splitlines() == [
        "g2p-taught is now called g2p-distilled",
        "little is now called low-resource",
        "1000-alone is now called 1000-scratch",
    ]


def test_former_names_of_variants_lead_to_present_ones(data, tmp_path):
    names = {variant.name for variant in TASKS["low-resource"].variants(data, tmp_path)}
    assert set(RENAMED_VARIANTS.values()) == names

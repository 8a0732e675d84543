"""The runner of recipes: in what order, what is done once, and what is written down."""

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
from recipes_data import PAIRS, written

from recipes import run as runner
from recipes.parts import HERE, AsOne, Job
from recipes.run import arguments, by_length, graph, side_by_side, wishes
from recipes.tasks import TASKS

ROOT = Path(__file__).parents[3]
SMALL = [f"--set=model.{name}_size=8" for name in ("hidden", "embedding", "align", "readout")]


def run(*words):
    command = [sys.executable, "-m", "recipes.run", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


class Node(NamedTuple):
    """Something to do, after something else."""

    name: str
    after: tuple["Node", ...] = ()

    def needs(self):
        return self.after


def test_each_is_done_as_soon_as_what_it_needs_is_there():
    first, other = Node("first"), Node("other")
    second = Node("second", (first,))
    gate, done = threading.Event(), []

    def do(node):
        # the other one ends after the second alone
        if node is other:
            assert gate.wait(60)
        done.append(node.name)
        if node is second:
            gate.set()

    assert side_by_side([other, second], do, 2) == []
    assert done == ["first", "second", "other"]


def test_what_fails_takes_along_what_needs_it_alone():
    first, other = Node("first"), Node("other")
    second = Node("second", (first,))
    done = []

    def do(node):
        if node is first:
            raise SystemExit(2)
        done.append(node)

    assert side_by_side([second, other], do, 1) == [second, first]
    assert done == [other]


@pytest.mark.parametrize("wrong", [ValueError, KeyboardInterrupt])
def test_after_what_nobody_foresaw_nothing_more_is_begun(wrong, monkeypatch):
    monkeypatch.setattr(runner, "STOPPING", threading.Event())
    begun = []

    def do(node):
        begun.append(node.name)
        raise wrong

    with pytest.raises(wrong):
        side_by_side([Node(str(n)) for n in range(50)], do, 1)
    # one more may have begun before the first was heard of
    assert len(begun) <= 2
    # and what runs yet gets no further
    with pytest.raises(SystemExit, match="130"):
        runner.regard("info", "no.regard")


def test_lessons_are_made_once_and_again_by_other_teachers(data, tmp_path, monkeypatch):
    (part,) = TASKS["g2p-taught-alone"].parts(data, tmp_path)
    said = []

    def translated(*words, lines):
        said.append(words[0])
        return lines.upper()

    monkeypatch.setattr(runner, "regard", translated)
    given = SimpleNamespace(work=tmp_path, device="cpu")
    for teacher in part.lessons.teachers:
        teacher.model(tmp_path).touch()
    for _ in range(2):
        runner.taught(part.lessons, given)
        assert said == ["translate"]
    # times say nothing: they are lost where a folder is copied
    os.utime(part.lessons.file(tmp_path), ns=(1, 1))
    runner.taught(part.lessons, given)
    assert said == ["translate"]
    teacher.model(tmp_path).write_text("another")
    for _ in range(2):
        runner.taught(part.lessons, given)
        assert said == ["translate"] * 2


def test_a_model_learns_what_several_say_of_invented_words(data, tmp_path):
    work = tmp_path / "work"
    words = ("--data", data, "--work", work, "--logs", tmp_path / "logs", "--device", "cpu")
    words += ("--seeds", 1)
    done = run("g2p-together", *words, "--parts", "all", "--more", "--max-steps", 1, *SMALL)
    assert done.returncode == 0, done.stderr
    small = work / "g2p-together-all-1.regard"
    parts = list(TASKS["g2p-taught"].parts(data, work))
    wanted = Job("g2p-taught", parts[0], 1)
    missing, *teachers = (teacher.model(work) for teacher in parts[0].lessons.teachers)
    for need in graph([wanted]):
        if need != wanted and isinstance(need, Job) and not need.model(work).exists():
            shutil.copy(small, need.model(work))
    missing.unlink()
    more = ("--at-once", 2, "--more", "--max-steps", 1)
    done = run("g2p-taught", *words, "--parts", "xyz", *more)
    assert done.returncode == 0, done.stderr
    # one teacher was not there, and has learned what its own recipe says, to the end
    assert json.loads(missing.with_suffix(".run").joinpath("made.json").read_text())["beside"] == 1
    unknown = parts[0].lessons.unknown.read_text()
    answers = runner.regard("translate", missing, *teachers, lines=unknown).splitlines()
    pairs = zip(unknown.splitlines(), answers, strict=True)
    said = "".join(f"{line}\t{answer}\n" for line, answer in pairs if answer)
    lessons = work / "xyz.invented.taught.tsv"
    assert lessons.read_text() == 3 * PAIRS.replace("\t", " xyz\t") + said
    log = json.loads((tmp_path / "logs" / "g2p-taught-xyz-1.json").read_text())
    assert log["more"][:2] == ["--start-from", "g2p-together-all-1.regard"]
    assert log["digests"]["pairs"] == hashlib.sha256(lessons.read_bytes()).hexdigest()[:16]
    assert log["teachers"]["model"].count("g2p-after-xyz-vaswani2017") == 1


def test_lines_are_scored_by_their_length(tmp_path):
    lines = [("ab", "A B", "A B"), ("abc", "A B C", "A B"), ("a" * 30, "A", "A")]
    rows = [
        {"source_length": len(source), "targets": [target], "output": output}
        for source, target, output in lines
    ]
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert by_length(tmp_path, "exact") == [
        {"mean length": 2.5, "lines": 2, "exact": 50.0},
        {"mean length": 30.0, "lines": 1, "exact": 100.0},
    ]


def test_a_task_goes_from_the_data_to_a_log(data, tmp_path):
    folders = ("--work", tmp_path / "work", "--logs", tmp_path / "logs")
    words = ("g2p-languages", "--data", data, *folders, "--device", "cpu", "--seeds", 1)
    more = ("--more", "--max-steps", 2, *SMALL, "--set=train.validate_every=1")
    done = run(*words, "--test", *more)
    assert done.returncode == 0, done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == [
        "g2p-languages, xyz 1, dev",
        "g2p-languages, xyz 1, test",
    ]
    path = tmp_path / "logs" / "g2p-languages-xyz-1.json"
    log = json.loads(path.read_text())
    assert (log["task"], log["part"], log["seed"], log["beside"]) == ("g2p-languages", "xyz", 1, 0)
    assert log["parameters"] > 0
    assert log["seconds"] > 0
    # of what it learned from
    assert log["digests"]["pairs"] == hashlib.sha256(PAIRS.encode()).hexdigest()[:16]
    assert log["digests"]["settings"] != log["digests"]["pairs"]
    assert [score["name"] for score in log["test"]["scores"]] == ["exact", "per"]
    # again: nothing is trained, nothing that was found is forgotten, no test is scored once more
    again = run(*words, "--test", *more)
    assert "nothing left to do" in again.stderr
    assert json.loads(path.read_text()) == log
    (line,) = (path.parent / "tests.jsonl").read_text().splitlines()
    exact = round(log["test"]["scores"][0]["value"], 2)
    told = {"model": "g2p-languages-xyz-1", "models": 1, "exact": exact}
    told["digest"] = log["digests"]["model"]
    assert told.items() <= json.loads(line).items()
    # nor where the log was lost
    path.unlink()
    again = run(*words, "--test", *more)
    assert "g2p-languages-xyz-1: its public test was scored before, see " in again.stderr
    assert len((path.parent / "tests.jsonl").read_text().splitlines()) == 1
    assert json.loads(path.read_text()) == {x: log[x] for x in log if x != "test"}
    # another model of the same name: of this one nothing is known yet
    model = tmp_path / "work" / "g2p-languages-xyz-1.regard"
    model.unlink()
    shutil.rmtree(model.with_suffix(".run"))
    done = run(*words, "--more", "--max-steps", 1, *SMALL)
    assert done.returncode == 0, done.stderr
    other = json.loads(path.read_text())
    assert "test" not in other
    assert other["machine"]["torch"] == torch.__version__
    assert other["digests"]["model"] != log["digests"]["model"]


def test_a_public_test_is_not_scored_before_all_else_is_known(data, tmp_path):
    words = ("--data", data, "--work", tmp_path / "work", "--logs", tmp_path / "logs")
    words += ("--device", "cpu", "--test", "--more", "--max-steps", 1, *SMALL)
    # the alignments, which it is to be compared with, are not there
    done = run("chinese-bahdanau2015", *words)
    assert done.returncode == 2
    assert "chinese-bahdanau2015-zh-en-1 failed, see above\n" in done.stderr
    assert "not done: chinese-bahdanau2015-zh-en-1\n" in done.stderr
    assert not (tmp_path / "logs" / "tests.jsonl").exists()
    gold = "天\t地\t1-1\n"
    written(data / "word-alignment" / "zhen.dev.tsv", gold, packed=False)
    done = run("chinese-bahdanau2015", *words)
    assert done.returncode == 0, done.stderr
    log = json.loads((tmp_path / "logs" / "chinese-bahdanau2015-zh-en-1.json").read_text())
    # the training that was there before
    assert log["machine"]["torch"] == torch.__version__
    assert len((tmp_path / "logs" / "tests.jsonl").read_text().splitlines()) == 1


def test_ctrl_c_ends_in_a_sentence_and_the_same_command_goes_on(data, tmp_path):
    work = tmp_path / "work"
    words = ["g2p-languages", "--data", data, "--work", work, "--logs", tmp_path / "logs"]
    words += ["--device", "cpu", "--seeds", 1, "--test", "--more", "--max-steps", 300, *SMALL]
    words += ["--set=train.report_every=1", "--set=train.validate_every=300"]
    command = [sys.executable, "-m", "recipes.run", *map(str, words)]
    with subprocess.Popen(
        command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        log = work / "g2p-languages-xyz-1.run" / "log.jsonl"
        while running.poll() is None and not (log.exists() and log.stat().st_size):
            time.sleep(0.01)
        # as a terminal does: to all that it runs
        os.killpg(running.pid, signal.SIGINT)
        _, told = running.communicate(timeout=120)
    assert running.returncode == 130
    assert "stopped; the same command goes on" in told
    assert "Traceback" not in told
    assert [*(tmp_path / "logs").iterdir()] == []
    done = run(*words)
    assert done.returncode == 0, done.stderr
    log = json.loads((tmp_path / "logs" / "g2p-languages-xyz-1.json").read_text())
    # of what was interrupted it is not known how long it took
    assert "seconds" not in log
    assert log["machine"]["torch"] == torch.__version__


def test_what_a_model_needs_that_is_no_model_is_made_once(data, tmp_path):
    words = ("--data", data, "--work", tmp_path / "work", "--logs", tmp_path / "logs")
    words += ("--device", "cpu", "--parts", "1000-vectors", "10000-vectors", "--at-once", 2)
    done = run("little", *words, "--more", "--max-steps", 1, *SMALL[:1])
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("little.vectors") == 1
    assert (tmp_path / "work" / "little.vectors").exists()
    assert len(list((tmp_path / "logs").iterdir())) == 2


def test_seeds_are_scored_as_one_too(data, tmp_path):
    folders = ("--work", tmp_path / "work", "--logs", tmp_path / "logs")
    words = ("g2p-languages", "--data", data, *folders, "--device", "cpu", "--seeds", 2)
    done = run(*words, "--ensemble", "--more", "--max-steps", 1, *SMALL)
    assert done.returncode == 0, done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == [
        "g2p-languages, xyz 1, dev",
        "g2p-languages, xyz 2, dev",
        "g2p-languages, xyz, ensemble of 2, dev",
    ]
    log = json.loads((tmp_path / "logs" / "g2p-languages-xyz-ensemble-of-2.json").read_text())
    assert (log["models"], log["dev"]["stop"]) == (2, "likeliest")
    settings = (HERE / "g2p-low.toml").read_bytes()
    models = [tmp_path / "work" / f"g2p-languages-xyz-{seed}.regard" for seed in (1, 2)]
    together = b"".join(model.read_bytes() for model in models)
    # the test of either model and of both as one, and none of them twice
    for _ in range(2):
        again = run(*words, "--ensemble", "--test", "--more", "--max-steps", 1, *SMALL)
        assert again.returncode == 0, again.stderr
        lines = (tmp_path / "logs" / "tests.jsonl").read_text().splitlines()
        assert [json.loads(line)["models"] for line in lines] == [1, 1, 2]
    assert log["digests"] == {
        name: hashlib.sha256(held).hexdigest()[:16]
        for name, held in (("settings", settings), ("model", together))
    }
    assert log["machine"]["torch"] == torch.__version__
    assert "1.regard + " in log["dev"]["model"]


def test_what_is_not_there_is_refused_in_a_sentence(data, tmp_path):
    for words, sentence in [
        (
            ("g2p-languages", "--data", tmp_path / "no"),
            "has nothing for g2p-languages; another --data would do",
        ),
        (
            ("g2p-after", "--data", tmp_path / "no"),
            "has nothing for g2p-after; another --data would do",
        ),
        (("histnorm", "--data", tmp_path / "no"), "--data must name a folder that has it"),
        (("g2p-languages", "--data", data, "--parts", "abc"), "there is no part abc; xyz would do"),
        (("g2p-languages", "--data", data, "--seeds", 0), "0, but it must be at least 1"),
        (
            ("histnorm", "--data", data, "--ensemble"),
            "--ensemble joins seeds, but there is one of histnorm; --seeds 5 would do",
        ),
        (
            ("g2p-english", "--data", tmp_path / "no"),
            "g014b2b/train.tsv.gz: No such file or directory; --data must name a folder",
        ),
        (
            ("histnorm", "g2p-languages", "--data", data, "--parts", "xyz"),
            "histnorm has none of these parts; leaving it out would do",
        ),
        (("g2p-languages", "--data", data, "--parts"), "expected at least one argument"),
        (
            ("g2p-languages", "--data", data, "--logs", Path(__file__)),
            "test_recipes_run.py: File exists; another folder would do",
        ),
    ]:
        done = run(*words, "--work", tmp_path / "work")
        assert done.returncode == 2
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr


def test_several_tasks_run_in_one_command_each_with_its_seeds(data, tmp_path):
    given = arguments().parse_args(["g2p-english", "histnorm", "--data", str(data)])
    given.work = tmp_path
    jobs = wishes(given, arguments())
    assert [(job.task, job.part.name, job.seed) for job in jobs] == [
        *(("g2p-english", "english", seed) for seed in range(1, 6)),
        ("histnorm", "german-ridges", 1),
    ]
    given.tasks, given.ensemble = ["g2p-english"], True
    *jobs, together = wishes(given, arguments())
    assert together == AsOne(tuple(jobs))

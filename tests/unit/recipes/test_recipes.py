"""Recipes: their files are found, their settings are taken, and a task runs from data to a log."""

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import torch

import regard
from recipes import run as runner
from recipes.couplets import copied, looked_at, pattern
from recipes.files import written as write
from recipes.run import arguments, by_length, graph, newer, side_by_side, wishes
from recipes.tags import by_tag
from recipes.tasks import HERE, TASKS, AsOne, Job, Lessons
from recipes.teach import invented
from regard.api.automatic import choose
from regard.api.look import Look
from regard.config.toml import override
from regard.models.build import build

ROOT = Path(__file__).parents[3]
PAIRS = "ab\tA B\nba\tB A\nabc\tA B C\nca\tC A\ncab\tC A B\nbb\tB B\n"
SMALL = [f"--set=model.{name}_size=8" for name in ("hidden", "embedding", "align", "readout")]


def written(path, text, packed=True):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())


@pytest.fixture
def data(tmp_path):
    """A folder with a few lines in the place of every data set."""
    for split in ("train", "dev"):
        written(tmp_path / "cmudict-g2p" / "g014b2b" / f"{split}.tsv.gz", PAIRS)
        written(tmp_path / "sigmorphon2021-g2p" / "low" / f"xyz_{split}.tsv", PAIRS, packed=False)
    written(tmp_path / "sigmorphon2021-g2p" / "low" / "xyz_test.tsv", PAIRS, packed=False)
    for split in ("train", "val", "test_2016_flickr"):
        for language, words in (("de", "ein haus\nein hund\n"), ("en", "a house\na dog\n")):
            written(tmp_path / "multi30k" / "tok" / f"{split}.lc.norm.tok.{language}.gz", words)
    for split in ("train", "dev", "test"):
        written(tmp_path / "histnorm" / f"german-ridges.{split}.tsv.gz", "vnd\tund\nseyn\tsein\n")
    forms = tmp_path / "sigmorphon2022-inflection"
    written(forms / "xyz_large.train.gz", "walk\twalked\tV;PST\n")
    written(forms / "xyz.dev", "walk\twalked\tV;PST\n", packed=False)
    for folder in ("couplets", "poem-couplets", "tatoeba/eng-cmn", "tatoeba/eng-deu"):
        written(tmp_path / folder / "train.tsv.gz", "天\t地\n")
        for split in ("dev", "test"):
            written(tmp_path / folder / f"{split}.tsv", "天\t地\n", packed=False)
    return tmp_path


def run(*words):
    command = [sys.executable, "-m", "recipes.run", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", TASKS)
def test_every_recipe_has_its_files_and_settings_that_are_taken(name, data, tmp_path):
    parts = list(TASKS[name].parts(data, tmp_path))
    assert parts
    jobs = [node for node in graph([Job(name, part, 1) for part in parts]) if type(node) is Job]
    for part in dict.fromkeys(job.part for job in jobs):
        assert part.pairs.exists()
        assert part.dev.exists()
        assert_taken(part)


def assert_taken(part):
    """A part's settings are taken, and say themselves how long it learns."""
    tree = tomllib.loads((HERE / f"{part.config}.toml").read_text())
    pairs = [line.split("\t") for line in PAIRS.splitlines()]
    said = [part.more[n + 1] for n, word in enumerate(part.more) if word == "--set"]
    tree = override(tree, said)
    preset = part.more[1] if part.more[:1] == ("--preset",) else None
    settings = choose(Look(pairs, "NFC"), tree, preset).settings
    assert build(settings.model, 30, 30).readout is not None
    assert settings.train.max_steps == tree["train"]["max_steps"]


def test_sides_are_laid_side_by_side_and_words_stand_between_their_neighbours(data, tmp_path):
    captions = next(TASKS["multi30k-vaswani2017"].parts(data, tmp_path))
    assert captions.pairs.read_text() == "a house\tein haus\na dog\tein hund\n"
    words = next(TASKS["histnorm"].parts(data, tmp_path))
    assert words.dev.read_text() == "<vnd> seyn\tund\nvnd <seyn>\tsein\n"


def test_languages_are_named_and_the_scarce_are_read_more_often(data, tmp_path):
    together, _ = TASKS["g2p-together"].parts(data, tmp_path)
    assert together.pairs.read_text() == 4 * PAIRS.replace("\t", " xyz\t")
    assert together.dev.read_text() == PAIRS.replace("\t", " xyz\t")
    after, other = TASKS["g2p-after"].parts(data, tmp_path)
    assert after.pairs.read_text() == together.dev.read_text()
    assert (after.name, other.name) == ("xyz", "xyz-vaswani2017")
    assert Job("g2p-after", after, 2).needs() == (Job("g2p-together", together, 2),)


def test_a_language_of_thousands_goes_on_from_one_model_and_is_not_taught(data, tmp_path):
    for size, name in (("medium", "fre"), ("high", "eng")):
        for split in ("train", "dev"):
            path = data / "sigmorphon2021-g2p" / size / f"{name}_{split}.tsv"
            written(path, PAIRS, packed=False)
    parts = [*TASKS["g2p-languages"].parts(data, tmp_path)]
    assert [part.name for part in parts] == ["xyz", "fre", "eng"]
    after = [*TASKS["g2p-after"].parts(data, tmp_path)]
    assert [part.name for part in after] == ["xyz", "xyz-vaswani2017", "fre"]
    assert [part.more for part in after] == [(), (), ("--set", "train.agreement=1")]
    for part in parts + after:
        assert_taken(part)
    for task in ("g2p-taught", "g2p-taught-alone"):
        assert {part.name[:3] for part in TASKS[task].parts(data, tmp_path)} == {"xyz"}
    together, _ = TASKS["g2p-together"].parts(data, tmp_path)
    tagged = (PAIRS.replace("\t", f" {name}\t") for name in ("xyz", "fre"))
    assert together.pairs.read_text() == 4 * next(tagged) + next(tagged)


def test_what_a_model_needs_is_known_with_all_that_this_needs(data, tmp_path):
    together = list(TASKS["g2p-together"].parts(data, tmp_path))
    after = list(TASKS["g2p-after"].parts(data, tmp_path))
    parts = list(TASKS["g2p-taught"].parts(data, tmp_path))
    jobs = [Job("g2p-taught", part, 1) for part in parts]
    found = graph(jobs)
    teachers = tuple(Job("g2p-after", part, 1) for part in after)
    # either kind learns the same lessons
    (lessons,) = {node for node in found if isinstance(node, Lessons)}
    assert found[lessons] == lessons.teachers == teachers
    first = [Job("g2p-together", part, 1) for part in together]
    assert [found[job] for job in jobs] == [(start, lessons) for start in first]
    assert [found[teacher] for teacher in teachers] == [(start,) for start in first]
    assert len(found) == 2 + 1 + 2 + 2


def test_models_of_one_language_teach_another_of_it(data, tmp_path):
    (part,) = TASKS["g2p-taught-alone"].parts(data, tmp_path)
    (alone,) = TASKS["g2p-languages"].parts(data, tmp_path)
    assert (part.name, part.config) == ("xyz", "g2p-low") == (alone.name, alone.config)
    assert part.lessons.teachers == tuple(Job("g2p-languages", alone, n) for n in (1, 2, 3))
    assert part.pairs.read_text() == 3 * PAIRS
    words = [line.split("\t")[0] for line in PAIRS.splitlines()]
    assert part.lessons.unknown.read_text().splitlines() == invented(words, 4000)


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
def test_after_what_nobody_foresaw_nothing_more_is_begun(wrong):
    begun = []

    def do(node):
        begun.append(node.name)
        raise wrong

    with pytest.raises(wrong):
        side_by_side([Node(str(n)) for n in range(50)], do, 1)
    # one more may have begun before the first was heard of
    assert len(begun) <= 2


def test_invented_words_are_new_and_of_known_pieces():
    words = ["banana", "bandana", "canal"]
    found = invented(words, 20)
    assert found == invented(words, 20)
    assert len(found) == len(set(found)) > 3
    assert not set(found) & set(words)
    pairs = {word[n : n + 2] for word in words for n in range(len(word) - 1)}
    assert {word[n : n + 2] for word in found for n in range(len(word) - 1)} <= pairs
    assert max(map(len, found)) <= 7
    assert {word[0] for word in found} <= {"b", "c"}
    assert {word[-1] for word in found} <= {"a", "l"}


def test_what_was_made_of_something_newer_is_made_again(tmp_path):
    made, source = tmp_path / "made", tmp_path / "source"
    written(source, "a", packed=False)
    assert not newer(made, [source])
    written(made, "b", packed=False)
    for at, expected in ((5, True), (10, True), (11, False)):
        os.utime(made, ns=(10, 10))
        os.utime(source, ns=(at, at))
        assert newer(made, [source]) == expected


def test_lessons_are_made_once_after_new_teachers_though_they_say_the_same(
    data, tmp_path, monkeypatch
):
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
    # the teachers are newer
    os.utime(part.lessons.file(tmp_path), ns=(1, 1))
    for _ in range(2):
        runner.taught(part.lessons, given)
        assert said == ["translate"] * 2


def test_a_file_that_holds_the_same_is_left_alone(tmp_path):
    path = write(tmp_path / "a.tsv", "a\n")
    os.utime(path, ns=(10, 10))
    write(path, "a\n")
    assert path.stat().st_mtime_ns == 10
    write(path, "b\n")
    assert path.stat().st_mtime_ns != 10
    assert path.read_text() == "b\n"
    assert [*tmp_path.iterdir()] == [path]


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


def test_a_lemma_with_an_unknown_tag_stays_as_it_is(data, tmp_path):
    (part,) = TASKS["inflection"].parts(data, tmp_path)
    assert part.pairs.read_text() == "walk\twalked\tV;PST\nwalk\twalk\t?0\n"


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


def test_couplets_are_looked_at(tmp_path):
    assert pattern("天天向上") == (0, 0, 2, 3)
    assert copied("天,地", "人,天")
    assert not copied("天,地", "人,山")
    written(tmp_path / "dev.tsv", "2016\t6102\n11\t22\n2016\t2016\n", packed=False)
    model = ROOT / "tests" / "compat" / "bahdanau2015.regard"
    found = looked_at(model, tmp_path / "dev.tsv", "cpu")
    answers = regard.load(model).translate(["2016", "11"])
    texts = [answer.text for answer in answers]
    assert found["shown"] == [["2016", texts[0]], ["11", texts[1]]]
    alike = [len(text) == size for text, size in zip(texts, (4, 2), strict=True)]
    assert found["couplets"]["right length"] == 50 * sum(alike)
    both = zip(("6102", "22"), texts, strict=True)
    right = [a == b for x, text in both for a, b in zip(x, text, strict=False)]
    assert found["couplets"]["character as in the reference"] == 100 * sum(right) / len(right)
    own = [
        row.argmax() == place
        for answer in answers
        for place, row in enumerate(answer.attention[: len(answer.tokens)])
    ]
    share = found["couplets"]["largest weight on its own position"]
    assert share == pytest.approx(100 * sum(own) / len(own))
    assert 0 < share < 100


def test_each_tag_is_scored_by_itself(tmp_path):
    model = ROOT / "tests" / "compat" / "bahdanau2015.regard"
    sources = ["12 1", "13 1", "14 2"]
    texts = [answer.text for answer in regard.load(model).translate(sources)]
    lines = [f"{source}\t{text}" for source, text in zip(sources, texts, strict=True)]
    lines[0] += "0"
    written(tmp_path / "dev.tsv", "\n".join(lines) + "\n", packed=False)
    assert by_tag(model, tmp_path / "dev.tsv", "cpu") == {"exact by tag": {"1": 50.0, "2": 100.0}}


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
    assert "not done, see above: chinese-bahdanau2015-zh-en-1" in done.stderr
    assert not (tmp_path / "logs" / "tests.jsonl").exists()
    gold = "天\t地\t1-1\n"
    written(data / "word-alignment" / "zhen.dev.tsv", gold, packed=False)
    done = run("chinese-bahdanau2015", *words)
    assert done.returncode == 0, done.stderr
    log = json.loads((tmp_path / "logs" / "chinese-bahdanau2015-zh-en-1.json").read_text())
    # the training that was there before
    assert log["machine"]["torch"] == torch.__version__
    assert len((tmp_path / "logs" / "tests.jsonl").read_text().splitlines()) == 1


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
            "--ensemble joins seeds, but histnorm has one; --seeds 5 would do",
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

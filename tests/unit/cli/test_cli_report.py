"""`regard report`: a run's page from what training left in its folder, and what is refused."""

import json
import re
import shutil

import pytest

import regard


@pytest.fixture
def finished(capitals, tmp_path):
    """Copy the folder of a finished run."""
    folder = tmp_path / "capitals.run"
    shutil.copytree(capitals.with_suffix(".run"), folder)
    return folder


def entries(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_training_saves_the_final_output_for_each_dev_line(capitals):
    folder = capitals.with_suffix(".run")
    translator = regard.load(capitals)
    lines = entries(folder / "dev.jsonl")
    assert len(lines) == 12
    answers = translator.translate([line["source"] for line in lines])
    assert [line["output"] for line in lines] == [answer.text for answer in answers]
    ab = next(line for line in lines if line["source"] == "ab")
    assert ab == {
        "source": "ab",
        "source_length": 2,
        "targets": ["AB"],
        "output": "AB",
        "edits": 0,
        "length": 2,
        "score": 0.0,
    }
    assert json.loads((folder / "summary.json").read_text()) == translator.summary


def test_edits_are_counted_by_the_length_of_the_reference(beginner):
    from rapidfuzz.distance import Levenshtein

    lines = entries(beginner.with_suffix(".run") / "dev.jsonl")
    for line in lines:
        assert line["edits"] == Levenshtein.distance(line["output"], line["targets"][0])
        assert line["length"] == len(line["targets"][0])
        assert line["score"] == line["edits"] / line["length"]
    assert any(line["edits"] for line in lines)


def test_the_log_has_attention_of_a_fixed_and_a_changing_line(capitals):
    log = entries(capitals.with_suffix(".run") / "log.jsonl")
    (validation,) = [entry for entry in log if "score" in entry]
    assert validation["signature"].startswith("accuracy|nrefs:1|")
    for name in ("sample", "watched"):
        shown = validation[name]
        forced = regard.load(capitals).rescore([(shown["source"], shown["output"])])[0]
        assert shown["source_tokens"] == list(shown["source"])
        assert shown["tokens"] == list(shown["output"])
        # the run keeps its last weights, and four digits are written
        assert abs(forced.attention - shown["weights"]).max() <= 0.51e-4
    # of twelve sources by length, the seventh is of one letter
    assert len(validation["watched"]["source"]) == 1


def test_the_throughput_is_logged_separately_from_the_log(capitals):
    folder = capitals.with_suffix(".run")
    steps = [entry["step"] for entry in entries(folder / "throughput.jsonl")]
    logged = [entry["step"] for entry in entries(folder / "log.jsonl") if "loss" in entry]
    assert steps == logged
    assert "seconds" not in (folder / "log.jsonl").read_text()


def test_a_run_becomes_a_page_in_its_folder(run, finished):
    answer = run("report", finished)
    assert answer.code == 0
    page = finished / "report.html"
    assert answer.out == f"{page}: 60 updates, 1 validation, finished\n"
    text = page.read_text()
    assert "finished after 60 updates of at most 60" in text
    assert "Every line is right." in text
    last = [entry for entry in entries(finished / "log.jsonl") if "loss" in entry][-1]
    assert f"<title>update {last['step']}: {last['loss']:.3f}</title>" in text
    # again, over the old one
    assert run("report", finished).code == 0
    assert page.read_text() == text


def test_the_hint_of_a_finished_run_is_its_model(run, capitals, finished, tmp_path):
    assert run("report", finished).err == f"Next: regard report {finished}\n"
    shutil.copy(capitals, tmp_path)
    assert run("report", finished).err == f"Next: regard info {tmp_path / 'capitals.regard'}\n"


def test_another_file_is_overwritten_only_on_request(run, refused, finished, tmp_path):
    assert run("report", finished, "--out", "x.html").out.startswith("x.html: 60 updates")
    assert not (finished / "report.html").exists()
    said = refused("report", finished, "--out", "x.html")
    assert said == ("regard: x.html: It already exists. Use --overwrite or another --out.\n")
    assert run("report", finished, "--out", "x.html", "--overwrite").code == 0


def test_invalid_run_folders_and_output_names_are_refused(refused, capitals, finished):
    said = refused("report", "nowhere")
    assert said == (
        "regard: nowhere: There is no such folder. Use a folder that regard train wrote, such as "
        "model.run.\n"
    )
    said = refused("report", capitals)
    folder = capitals.with_suffix(".run")
    problem = "It is a file; it must be the folder of a run."
    assert said == f"regard: {capitals}: {problem} Use {folder}.\n"
    said = refused("report", finished, "--out", "x.pdf")
    assert said == "regard: report: out is x.pdf; it must end in .html.\n"


def test_a_damaged_run_is_reported_with_its_reason(run, finished):
    (finished / "state.safetensors").write_bytes(b"x")
    (finished / "log.jsonl").write_text("half a li\n{}\n")
    answer = run("report", finished)
    assert answer.code == 0
    assert answer.out.splitlines() == [
        f"{finished / 'report.html'}: 0 updates, 0 validations, not finished",
        "log.jsonl: 1 line cannot be read, and left out",
        "state.safetensors: it is damaged; the progress of the run is unknown",
    ]


def test_a_report_needs_no_torch(in_a_process, finished):
    script = (
        "import sys\nfrom regard.cli import main\nassert main(['report', sys.argv[1]]) == 0\n"
        "print('torch' in sys.modules, 'matplotlib' in sys.modules)"
    )
    answer = in_a_process(script, finished)
    assert re.search(r"\nFalse False\n$", answer.out), answer.err

"""Unknown source tokens at the command line: one warning with characters, lines and remedy."""

import json

import pytest

from regard.saved_model import save_model
from small_models import saved

KNOWN = "The model knows a, but not A. Write it so, or train with --set data.source_case=lower, "
KNOWN += "which reads both alike."


@pytest.fixture
def model(tmp_path):
    """Write a model that has seen the letters a to j."""
    save_model(tmp_path / "m.regard", saved())
    return "m.regard"


def warning_of(answer):
    """Return the lines of the warning, without notes of other kinds."""
    return [x for x in answer.err.splitlines() if "The model knows" in x or "not know" in x]


def test_unknown_tokens_are_counted_with_their_lines_in_one_warning(run, model):
    answer = run("translate", model, stdin="Abc\nabc\nAxa\n\nAb\nAA\n\x1bA\n")
    assert answer.code == 0
    assert len(answer.out.splitlines()) == 7
    assert warning_of(answer) == [
        "5 of 7 lines have tokens that the model does not know: A (lines 1, 3, 5 and 2 more), "
        "x (line 3), ␛ (line 7).",
        KNOWN,
    ]


def test_known_tokens_give_no_warning(run, model):
    assert warning_of(run("translate", model, stdin="abc\n")) == []


def test_a_single_text_needs_no_line_numbers(run, model):
    for command in (["translate", model, "--text=Ab"], ["show", model, "Ab"]):
        warning = "The model does not know these tokens of the source: A."
        assert warning_of(run(*command)) == [warning, KNOWN]


def test_many_unknown_tokens_are_cut(run, model):
    answer = run("translate", model, "--text", "klmnopqrstuvwxyza")
    assert "t, and 6 more.\n" in answer.err


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("\uff41b", "data.normalization=NFKC"),
        ("\uff21b", "data.normalization=NFKC --set data.source_case=lower"),
        ("Ab", "data.source_case=lower"),
    ],
)
def test_training_with_the_setting_of_the_hint_reads_both_alike(
    run, model, tmp_path, text, setting
):
    assert f"--set {setting}," in run("translate", model, "--text", text).err
    (tmp_path / "p.tsv").write_text("ab\tkl\nba\tlk\nabB\tkm\n")
    sizes = [f"--set=model.{name}_size=4" for name in ("hidden", "embedding", "align", "readout")]
    steps = ("--max-steps", 1, "--quiet", "--dev=p.tsv")
    assert run("train", "p.tsv", "--set", *setting.split(), *steps, *sizes).code == 0
    row = json.loads(run("translate", "p.regard", "--text", text, "--format=jsonl").out)
    assert "unknown_source" not in row
    assert "does not know" not in run("evaluate", "p.regard", "p.tsv").err


def test_check_and_train_warn_if_dev_differs_in_case_or_width(run, tmp_path):
    (tmp_path / "train.tsv").write_text("aB\tx\nba\ty\ncc\tz\n")
    (tmp_path / "dev.tsv").write_text("Aba\tX\nCa\tx\n\uff43\tx\n")
    sentences = [
        "dev.tsv: source characters that training has only in another case: A, C (2 times). "
        "Set data.source_case = lower to read both alike.",
        "dev.tsv: source characters that training has only in another width (fullwidth or "
        "halfwidth): \uff43 (1 time). Set data.normalization = NFKC to read both alike.",
        "dev.tsv: target characters that training has only in another case: X (1 time). "
        "No output can have them. Bring both files to one case.",
    ]
    answer = run("check", "train.tsv", "--dev", "dev.tsv")
    assert [x[13:] for x in answer.out.splitlines() if x.startswith("warning ")] == sentences
    report = json.loads(run("check", "train.tsv", "--dev", "dev.tsv", "--format=json").out)
    assert report["warnings"] == sentences
    sizes = [f"--set=model.{name}_size=4" for name in ("hidden", "embedding", "align", "readout")]
    log = run("train", "train.tsv", "--dev", "dev.tsv", "--max-steps", 1, *sizes).err
    assert [x[9:] for x in log.splitlines() if x.startswith("warning: ")] == sentences
    alike = ("--set", "data.source_case=lower", "--set", "data.normalization=NFKC")
    arguments = ("--dev", "dev.tsv", "--max-steps", 1, "--overwrite", *alike, *sizes)
    log = run("train", "train.tsv", *arguments).err
    assert [x[9:] for x in log.splitlines() if x.startswith("warning: ")] == sentences[2:]


def test_sources_of_one_case_are_read_in_any_case(run, tmp_path):
    (tmp_path / "p.tsv").write_text("ab\tKl\nba\tlK\n")
    sizes = [f"--set=model.{name}_size=4" for name in ("hidden", "embedding", "align", "readout")]
    arguments = ("--dev=p.tsv", "--max-steps", 1, *sizes)
    log = run("train", "p.tsv", *arguments).err
    assert "data.source_case = lower: the sources have lower-case letters only" in log
    lower, upper = (
        json.loads(run("translate", "p.regard", "--text", text, "--format=jsonl").out)
        for text in ("ab", "AB")
    )
    assert upper["token_scores"] == lower["token_scores"]
    assert upper["source_tokens"] == ["A", "B"]
    assert "unknown_source" not in upper

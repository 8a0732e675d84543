"""A model's attention beside lines that people have aligned."""

import json
from pathlib import Path

import pytest
from pipeline_cases import digits, quick

import regard
from regard.cli import main
from regard.errors import ConfigError, DataError
from regard.pipeline.alignment_evaluation import evaluate_alignments, read_gold_alignments

COMPAT = Path(__file__).parents[2] / "compat"


def gold(tmp_path, text):
    path = tmp_path / "gold.tsv"
    path.write_text(text, encoding="utf-8")
    return path


def test_lines_of_three_columns_are_read_and_links_past_the_end_are_counted(tmp_path):
    golds, beyond = read_gold_alignments(gold(tmp_path, "a b\tx y z\t1-1 2p3 3-1 1-4\nc\tw\t1-1\n"))
    assert golds[0].source == ("a", "b")
    assert golds[0].sure == {(0, 0)}
    assert golds[0].possible == {(0, 0), (1, 2)}
    assert len(golds) == 2
    assert beyond == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a\tb\n", "line 1: it has 2 columns; it must have three"),
        ("a\tb\t1-1\nc\td\t1:1\n", "line 2: 1:1 is not a link; it must name two words"),
        ("\tb\t\n", "line 1: a side is blank; it must contain words"),
    ],
)
def test_an_invalid_alignment_is_named(tmp_path, text, problem):
    with pytest.raises(DataError) as caught:
        read_gold_alignments(gold(tmp_path, text))
    assert problem in str(caught.value)


def test_the_links_are_those_of_the_attention_of_a_forced_target(tmp_path):
    translator = regard.load(COMPAT / "bahdanau2015.regard")
    source, target = "2016", "6102"
    (answer,) = translator.rescore([(source, target)])
    best = answer.attention[:-1].argmax(axis=1)
    true = " ".join(f"{i + 1}-{j + 1}" for j, i in enumerate(best))
    spaced = f"{' '.join(source)}\t{' '.join(target)}\t"
    # the model has no symbol for a space, so that there is none between the words
    assert " " not in translator.source.vocabulary
    golds, _ = read_gold_alignments(path := gold(tmp_path, spaced + true))
    assert evaluate_alignments(translator, golds, path).value == 0
    wrong = " ".join(f"{(i + 1) % 4 + 1}-{j + 1}" for j, i in enumerate(best))
    golds, _ = read_gold_alignments(path := gold(tmp_path, spaced + wrong))
    assert evaluate_alignments(translator, golds, path).value == 100


def test_a_truncated_line_is_reported_as_too_long(tmp_path):
    translator = regard.load(COMPAT / "bahdanau2015.regard")
    words = " ".join("1" * (translator.max_source_length + 1))
    golds, _ = read_gold_alignments(path := gold(tmp_path, f"{words}\t1\t1-1\n"))
    with pytest.raises(DataError, match=r"line 1: The source has .* tokens; only the first"):
        evaluate_alignments(translator, golds, path)


def test_a_model_without_attention_says_so(tmp_path):
    golds, _ = read_gold_alignments(path := gold(tmp_path, "1\t1\t1-1\n"))
    with pytest.raises(ConfigError, match="the model has no attention"):
        evaluate_alignments(regard.load(COMPAT / "cho2014.regard"), golds, path)


def test_the_command_prints_the_error_rate_with_its_signature(tmp_path, capsys):
    out = tmp_path / "m.regard"
    quick(digits(), out=out)
    path = gold(tmp_path, "1 2\t2 1\t1-2 2-1 3-1\n")
    assert main(["evaluate", str(out), "--alignments", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "aer" in printed
    assert "1 lines, 1 links past the end of a line skipped" in printed
    assert main(["evaluate", str(out), "--alignments", str(path), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["scores"][0]["name"] == "aer"
    assert 0 <= told["scores"][0]["value"] <= 100
    assert main(["evaluate", str(out), str(out), "--alignments", str(path)]) == 2
    assert "there must be one model" in capsys.readouterr().err

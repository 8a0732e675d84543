"""`regard evaluate`: scores with their recipe, for people and for programs, of one model or two."""

import hashlib
import json
import sys
import unicodedata
import weakref

import pytest

from regard.metrics.paired_bootstrap import paired_bootstrap
from regard.translator import Translator


def sha256(pairs):
    """Return the fingerprint of pairs, computed from what it is."""
    return hashlib.sha256("".join(f"{s}\t{t}\n" for s, t in pairs).encode()).hexdigest()


def test_the_table_has_each_score_with_its_signature(run, capitals, tmp_path):
    # two of three are right; of 4 characters in the references one is wrong
    (tmp_path / "test.tsv").write_text("a\tA\nab\tAB\nc\tX\n")
    answer = run("evaluate", capitals, "test.tsv", "--metrics", "accuracy,cer")
    assert answer.code == 0
    table, recipe = answer.out.split("\n\n")
    assert table.splitlines() == [
        "metric    capitals.regard  better is  what it is",
        "accuracy            66.67  higher     outputs equal to a target, in percent",
        "CER                 25.00  lower      "
        "edits of characters, in percent of the target's characters",
    ]
    rows = recipe.splitlines()
    fingerprint = sha256([("a", "A"), ("ab", "AB"), ("c", "X")])[:16]
    searched = "beam size 5, length penalty 1.0, stop likeliest"
    assert rows[0] == f"3 sources, {searched}, pairs {fingerprint}, NFC, task other"
    assert rows[1].startswith("accuracy: accuracy|nrefs:1|refs:any|")
    assert rows[2].startswith("cer: cer|nrefs:1|refs:best|unit:character|")
    assert answer.err == f"Next: regard show {capitals} a\n"


def test_json_holds_the_same_for_programs(run, capitals, pairs):
    answer = run("evaluate", capitals, pairs, "--format", "json", "--beam-size", "2")
    found = json.loads(answer.out)
    assert answer.err == ""
    names = ("model", "beam_size", "length_penalty", "stop", "lines", "normalization")
    assert {name: found[name] for name in names} == {
        "model": "capitals.regard",
        "beam_size": 2,
        "length_penalty": 1.0,
        "stop": "likeliest",
        "lines": 12,
        "normalization": "NFC",
    }
    scores = {score["name"]: score["value"] for score in found["scores"]}
    # those of the task; the others are hidden
    assert found["task"] == "other"
    assert scores == {"accuracy": 100.0, "cer": 0.0}
    assert all(score["signature"] for score in found["scores"])


def test_all_targets_of_a_source_are_its_references(run, capitals, tmp_path):
    (tmp_path / "test.tsv").write_text("a\tX\nb\tB\na\tA\nb\tB\n")
    answer = run("evaluate", capitals, "test.tsv", "--metrics=exact", "--format=json")
    found = json.loads(answer.out)
    assert (found["lines"], found["scores"][0]["value"]) == (2, 100.0)
    assert "|nrefs:var|" in found["scores"][0]["signature"]


def test_a_duplicated_pair_is_one_reference(run, capitals, tmp_path):
    (tmp_path / "test.tsv").write_text("a\tA\nb\tB\na\tA\n")
    found = json.loads(run("evaluate", capitals, "test.tsv", "--format=json").out)
    assert "|nrefs:1|" in found["scores"][0]["signature"]


def test_references_are_read_in_the_form_that_the_model_writes(run, capitals, tmp_path):
    composed = [("é", "É"), ("a", "A")]
    apart = [[unicodedata.normalize("NFD", side) for side in pair] for pair in composed]
    for name, pairs in (("one.tsv", composed), ("other.tsv", apart)):
        (tmp_path / name).write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    words = ("--metrics=exact,cer", "--format=json")
    one, other = (run("evaluate", capitals, name, *words).out for name in ("one.tsv", "other.tsv"))
    assert one == other
    assert json.loads(one)["pairs"] == sha256(composed)


def test_only_the_text_of_translations_stays_in_memory(run, capitals, pairs, monkeypatch):
    """However many lines there are, only those of one part have their attention in memory."""
    monkeypatch.setattr(sys.modules["regard.cli.evaluate"], "CHUNK", 5)
    parts, made = [], []
    translate = Translator.translate

    def watched(self, lines, **options):
        assert not [one for one in made if one() is not None]
        found = translate(self, lines, **options)
        parts.append(len(lines))
        made.extend(map(weakref.ref, found))
        return found

    monkeypatch.setattr(Translator, "translate", watched)
    answer = run("evaluate", capitals, pairs, "--metrics=exact", "--format=json")
    assert json.loads(answer.out)["scores"][0]["value"] == 100.0
    assert parts == [5, 5, 2]


def test_the_reported_beam_size_is_the_one_in_use(run, pairs):
    small = [f"--set=model.{name}_size=8" for name in ("hidden", "embedding", "align", "readout")]
    words = ["--set", "search.temperature=1.0", "--max-steps", 1, "--quiet", *small]
    assert run("train", pairs, "--out", "warm.regard", *words).code == 0
    found = json.loads(run("evaluate", "warm.regard", pairs, "--format=json").out)
    assert found["beam_size"] == 1


def test_two_models_are_compared_on_the_same_lines(run, capitals, beginner, pairs):
    words = ("evaluate", beginner, capitals, pairs, "--metrics=exact", "--samples=50", "--seed=7")
    answer = run(*words)
    assert answer.code == 0
    head, row = answer.out.split("\n\n")[0].splitlines()
    assert head.split("  ")[:3] == ["metric", "beginner.regard", "capitals.regard"]
    # each of twelve lines is wrong in the one and right in the other, however they are drawn
    shown = ("exact", "0.00", "100.00", "+100.00", "+100.00", "…", "+100.00", "0.020", "higher")
    assert tuple(row.split()[:9]) == shown
    assert "|bs:50|seed:7|" in answer.out
    found = json.loads(run(*words, "--format", "json").out)
    assert found["models"] == ["beginner.regard", "capitals.regard"]
    assert found["beam_sizes"] == [5, 5]
    assert found["stops"] == ["likeliest"] * 2
    right = [line.split("\t")[1] for line in pairs.read_text().splitlines()]
    references = [[target] for target in right]
    expected = paired_bootstrap([""] * 12, right, references, "exact", 50, 7)
    assert found["comparisons"] == [expected.to_json()]


def test_parallel_files_replace_the_pairs(run, capitals, tmp_path):
    (tmp_path / "s").write_text("a\nb\n")
    (tmp_path / "t").write_text("A\nX\n")
    words = ("--source", "s", "--target", "t", "--metrics=exact", "--format=json")
    found = json.loads(run("evaluate", capitals, *words).out)
    assert (found["lines"], found["scores"][0]["value"]) == (2, 50.0)


def test_the_hint_quotes_a_source_that_looks_like_an_option(run, capitals, tmp_path):
    (tmp_path / "test.tsv").write_text("-a\tA\n")
    hint = run("evaluate", capitals, "test.tsv", "--metrics=exact").err.splitlines()[-1]
    assert hint == f"Next: regard show {capitals} -- -a"
    assert run("show", capitals, "--", "-a").out.startswith("-a → ")


def test_too_few_or_too_many_models_are_refused(refused, capitals, pairs):
    must = "models; there must be one or two, and then the pairs."
    would = "Use regard evaluate MODEL PAIRS."
    assert refused("evaluate", pairs) == f"regard: evaluate: There are 0 {must} {would}\n"
    assert (
        refused("evaluate", pairs, "--ensemble")
        == f"regard: evaluate: There are 0 {must} {would}\n"
    )
    three = [capitals] * 3
    would = "Use --ensemble for more."
    assert refused("evaluate", *three, pairs) == f"regard: evaluate: There are 3 {must} {would}\n"


def test_unknown_metrics_are_refused_all_at_once(refused, capitals, pairs):
    said = refused("evaluate", capitals, pairs, "--metrics", "blue,exact,foo")
    names = (
        "it must be bleu, chrf, ter, accuracy, exact, cer, wer, per, levenshtein, cer:spaced, "
        "wer:line, bleu:none, bleu:char, bleu:zh or bleu:intl"
    )
    assert said == (
        f"regard: metrics: name is blue; {names}. Did you mean bleu?\n"
        f"regard: metrics: name is foo; {names}.\n"
    )


def test_models_with_different_normalizations_cannot_be_compared(
    run, refused, capitals, pairs, tmp_path
):
    small = [f"--set=model.{name}_size=8" for name in ("hidden", "embedding", "align", "readout")]
    words = ["--set", "data.normalization=none", "--max-steps", 1, "--quiet", *small]
    assert run("train", pairs, "--out", "raw.regard", *words).code == 0
    said = refused("evaluate", capitals, "raw.regard", pairs)
    assert said == (
        f"regard: evaluate: The Unicode form of {capitals} is NFC, that of raw.regard is none; "
        "they must be equal. Use models trained with the same data.normalization.\n"
    )


@pytest.mark.parametrize("text", ["", "a\t\n"])
def test_bad_pairs_are_refused(refused, capitals, tmp_path, text):
    (tmp_path / "bad.tsv").write_text(text)
    assert refused("evaluate", capitals, "bad.tsv").startswith("regard: bad.tsv")


def test_every_line_counts_with_each_line(run, capitals, tmp_path):
    (tmp_path / "test.tsv").write_text("a\tX\nb\tB\na\tA\nb\tB\n")
    words = ("evaluate", capitals, "test.tsv", "--metrics=exact", "--format=json")
    found = json.loads(run(*words, "--each-line").out)
    assert (found["lines"], found["scores"][0]["value"]) == (4, 75.0)
    assert found["each_line"]
    assert "4 lines, beam" in run(*words[:-1], "--each-line").out
    assert "|nrefs:1|" in found["scores"][0]["signature"]


def test_models_may_be_evaluated_as_an_ensemble(run, capitals, beginner, pairs):
    # one that has learned nothing is overruled, wherever it stands
    for models in ((capitals, beginner), (beginner, capitals, beginner)):
        words = ("evaluate", *models, pairs, "--metrics=exact", "--format=json")
        found = json.loads(run(*words, "--ensemble").out)
        assert found["model"] == " + ".join(model.name for model in models)
        assert found["scores"][0]["value"] == 100.0
    alone = json.loads(run("evaluate", beginner, pairs, "--metrics=exact", "--format=json").out)
    assert alone["scores"][0]["value"] == 0.0


def test_alignments_of_one_model_are_scored_line_by_line(refused, capitals, pairs):
    for flag in ("--ensemble", "--each-line"):
        said = refused("evaluate", capitals, "--alignments", pairs, flag)
        assert "Remove --ensemble and --each-line." in said


def test_bleu_accepts_another_tokenizer(run, capitals, pairs):
    words = "evaluate", capitals, pairs, "--metrics=bleu:char,bleu:none", "--format=json"
    char, none = json.loads(run(*words).out)["scores"]
    assert (char["name"], none["name"]) == ("bleu:char", "bleu:none")
    assert "|tok:char|" in char["signature"]
    assert "|tok:none|" in none["signature"]

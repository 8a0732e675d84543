"""Metrics by the names of their field: chosen by task, and what each of them means."""

from typing import get_args

import pytest

from regard.choices import TaskName
from regard.metrics.corpus_scores import evaluate
from regard.metrics.tasks import METRICS_OF_TASK, label, meaning, metrics_of, with_task

OUTPUTS = ["k æ t", "d ɒ g", "f ɪ ʃ", "b ɜː d"]
PHONES = [["k æ t"], ["d ɔ g"], ["f ɪ ʃ", "f iː ʃ"], ["b ɜː d z"]]


def scores(task, outputs, references):
    return evaluate(outputs, references, metrics_of(task, references))


def test_the_word_error_rate_of_g2p_is_100_minus_accuracy():
    wer, per = scores("g2p", OUTPUTS, PHONES)
    (accuracy,) = evaluate(OUTPUTS, PHONES, ["accuracy"])
    assert (wer.name, wer.value) == ("wer", 50.0) == ("wer", 100 - accuracy.value)
    # one phone is wrong and one is missing, of 3 + 3 + 3 + 4
    assert (per.name, per.value) == ("per", pytest.approx(100 * 2 / 13))
    assert not wer.higher_is_better
    assert "|unit:line|" in wer.signature
    assert meaning(wer.name, wer.signature) == "words with any error, in percent: 100 − accuracy"


def test_the_word_error_rate_of_other_tasks_counts_edits_of_words():
    cer, wer = scores("transcription", ["the cat sat"], [["the cat sat down"]])
    assert (cer.name, cer.value) == ("cer", pytest.approx(100 * 5 / 16))
    assert (wer.name, wer.value) == ("wer", 25.0)
    assert meaning(wer.name, wer.signature).startswith("edits of words")
    assert with_task("wer", "auto") == with_task("wer", "transcription") == "wer"


def test_inflection_has_accuracy_and_the_mean_levenshtein_distance():
    accuracy, distance = scores(
        "inflection", ["went", "goed", "sees"], [["went"], ["went"], ["saw"]]
    )
    assert (accuracy.name, accuracy.value) == ("accuracy", pytest.approx(100 / 3))
    # go → we: 2 and e → n, d → t: in all 4; sees → saw: 3
    assert (distance.name, distance.value) == ("levenshtein", pytest.approx(7 / 3))
    assert not distance.higher_is_better
    assert label(distance.name) == "Levenshtein distance"


@pytest.mark.parametrize(
    ("line", "bleu"),
    [("the cat sat", "bleu"), ("猫坐在垫子上。", "bleu:zh"), ("ネコがいる。", "bleu:char")],
)
def test_bleu_has_the_tokenizer_that_the_targets_need(line, bleu):
    assert metrics_of("translation", [[line]] * 30) == [bleu, "chrf", "ter"]
    assert scores("translation", [line], [[line]])[1].value == pytest.approx(100)


def test_spaces_between_characters_do_not_lower_the_character_error_rate():
    outputs, references = ["a b c d"], [["a b c x"]]
    _, cer = scores("transliteration", outputs, references)
    assert (cer.name, cer.value) == ("cer", 25.0)
    assert "|unit:spaced.character|" in cer.signature
    _, closed = scores("transliteration", ["abcd"], [["abcx"]])
    assert closed.value == 25.0


def test_every_task_has_metrics_with_a_label_and_a_meaning():
    assert METRICS_OF_TASK.keys() == set(get_args(TaskName))
    for task in METRICS_OF_TASK:
        for score in scores(task, ["a b"], [["a b"]]):
            assert meaning(score.name, score.signature), score
    assert [label(name) for name in ("bleu:zh", "chrf", "loss", "unknown")] == [
        "BLEU (zh)",
        "chrF2",
        "dev loss",
        "unknown",
    ]

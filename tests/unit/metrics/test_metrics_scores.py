"""Scores against sacrebleu's command line, hand counts and a plain edit distance."""

import json
import os
import random
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import rapidfuzz
from hypothesis import given, settings
from hypothesis import strategies as st

import regard
from regard.errors import ConfigError, InputError
from regard.metrics.corpus_scores import (
    METRICS,
    MetricScore,
    bleu,
    character_error_rate,
    chrf,
    evaluate,
    exact_match,
    phone_error_rate,
    ter,
    word_error_rate,
)

CASES = settings(max_examples=int(os.environ.get("REGARD_CASES", "500")), deadline=None)
VERSIONS = f"rapidfuzz:{rapidfuzz.__version__}|version:regard-{regard.__version__}"

line = st.text(st.sampled_from("ab c.é我\u0301\u2028\t"), max_size=9)
corpus = st.lists(st.tuples(line, st.lists(line, min_size=1, max_size=3)), min_size=1, max_size=4)


def by_command(folder, outputs, streams):
    """Run the installed sacrebleu on files; return its scores with all digits, and signatures."""
    beside = Path(sys.executable).with_name("sacrebleu")
    command = [str(beside)] if beside.exists() else [sys.executable, "-m", "sacrebleu"]
    for name, texts in [
        ("outputs", outputs),
        *((f"{i}", texts) for i, texts in enumerate(streams)),
    ]:
        (folder / name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    command += [*(f"{i}" for i in range(len(streams))), "-i", "outputs"]
    command += ["-m", "bleu", "chrf", "ter", "--format", "json", "--width", "17"]
    run = subprocess.run(
        command,
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "SACREBLEU_FORMAT"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    found = json.loads(run.stdout)
    return [(entry["score"], f"{entry['name']}|{entry['signature']}") for entry in found]


WORDS = ["the", "a", "cat,", "sat", "on", "mat.", "don't", "3.14", "$5", "(hi)", "été"]
WORDS += ["苹果", "我爱", "&amp;", "THE", "Cat"]
ODD = ["", "  the  cat\u00a0sat ", "the\u2028cat\tsat\u0085on ."]


def sentences(count, seed):
    """Make lines with punctuation, Chinese and capitals, and a few with odd spaces or nothing."""
    draw = random.Random(seed)
    lines = [" ".join(draw.choices(WORDS, k=draw.randint(1, 13))) for _ in range(count - len(ODD))]
    return [*lines, *draw.sample(ODD, len(ODD))]


def copies(lines, seed):
    """Copy lines with some words changed and some moved."""
    draw = random.Random(seed)
    for line in lines:
        words = [draw.choice(WORDS) if draw.random() < 0.3 else word for word in line.split(" ")]
        yield " ".join(words[1:] + words[:1] if draw.random() < 0.3 else words)


def test_scores_are_the_command_lines_with_one_reference(tmp_path):
    references = sentences(97, 1)
    outputs = list(copies(references, 2))
    expected = by_command(tmp_path, outputs, [references])
    ours = evaluate(outputs, [[text] for text in references], ("bleu", "chrf", "ter"))
    assert [(score.value, score.signature) for score in ours] == expected
    assert all(0 < score.value < 100 for score in ours)


def test_scores_are_the_command_lines_with_several_references(tmp_path):
    outputs = sentences(89, 3)
    streams = [list(copies(outputs, 4)), sentences(89, 5), list(copies(outputs, 6))]
    expected = by_command(tmp_path, outputs, streams)
    references = [list(texts) for texts in zip(*streams, strict=True)]
    ours = evaluate(outputs, references, ("bleu", "chrf", "ter"))
    assert [(score.value, score.signature) for score in ours] == expected


def test_lines_with_fewer_references_count_only_their_own(tmp_path):
    # the command line wants as many for each: the same one twice is neither a better match, nor a
    # nearer length, nor another mean length
    outputs = sentences(83, 7)
    first, second = list(copies(outputs, 8)), sentences(83, 9)
    references = [
        [a, b] if n % 3 else [a] for n, (a, b) in enumerate(zip(first, second, strict=True))
    ]
    expected = by_command(tmp_path, outputs, [first, [texts[-1] for texts in references]])
    ours = evaluate(outputs, references, ("bleu", "chrf", "ter"))
    assert [score.value for score in ours] == [value for value, _ in expected]
    assert [score.signature for score in ours] == [
        signature.replace("nrefs:2", "nrefs:var") for _, signature in expected
    ]


def test_exact_match_is_the_share_of_outputs_equal_to_any_reference():
    score = exact_match(["a", "b", "c", ""], [["a"], ["x", "b"], ["C", "c "], [""]])
    signature = f"exact|nrefs:var|refs:any|version:regard-{regard.__version__}"
    assert score == MetricScore("exact", 75.0, signature, higher_is_better=True)


def test_the_character_error_rate_is_edits_by_reference_characters():
    # kitten → sitting: three edits, seven characters; 我爱 → 我爱你: one, three
    score = character_error_rate(["kitten", "我爱"], [["sitting"], ["我爱你"]])
    signature = f"cer|nrefs:1|refs:best|unit:character|{VERSIONS}"
    assert score == MetricScore("cer", 100 * 4 / 10, signature, higher_is_better=False)


def test_the_word_error_rate_is_edits_by_reference_words():
    # one word changed, one left out; spaces may repeat, and only spaces separate
    score = word_error_rate(["the  cat sat ", "a\u00a0b"], [["the dog sat down"], ["a\u00a0b"]])
    signature = f"wer|nrefs:1|refs:best|unit:word|{VERSIONS}"
    assert score == MetricScore("wer", 100 * 2 / 5, signature, higher_is_better=False)


def test_the_phone_error_rate_splits_phones_at_spaces():
    score = phone_error_rate(["tʃ a p"], [["ʃ a p", "tʃ a p s"]])
    signature = f"per|nrefs:2|refs:best|unit:phone|{VERSIONS}"
    assert score == MetricScore("per", 100 * 1 / 4, signature, higher_is_better=False)


@pytest.mark.parametrize("references", [["abc", "a"], ["a", "abc"], ["abcdefg", "abc", "bb"]])
def test_the_best_reference_has_the_fewest_edits_and_then_the_most_characters(references):
    # one edit to abc, to a and to bb; abc is the longest of them
    assert character_error_rate(["ab"], [references]).value == 100 * 1 / 3


@pytest.mark.parametrize("rate", [character_error_rate, word_error_rate, phone_error_rate, ter])
def test_empty_lines_have_a_rate(rate):
    assert rate([""], [["ab cd"]]).value == 100
    assert rate(["ab cd"], [[""]]).value == 100
    assert rate([""], [[""]]).value == 0


@pytest.mark.parametrize("score", [bleu, chrf])
def test_empty_lines_have_zero_bleu_and_chrf(score):
    assert score([""], [["ab cd"]]).value == 0
    assert score([""], [[""]]).value == 0


def plain_distance(a, b):
    """Levenshtein's recursion as it is written."""

    @cache
    def rest(i, j):
        if i == len(a) or j == len(b):
            return len(a) - i + len(b) - j
        return min(rest(i + 1, j) + 1, rest(i, j + 1) + 1, rest(i + 1, j + 1) + (a[i] != b[j]))

    return rest(0, 0)


def plain_rate(pairs, split):
    edits = length = 0
    for output, texts in pairs:
        counts = [(plain_distance(split(output), split(x)), len(split(x))) for x in texts]
        fewest = min(count for count, _ in counts)
        edits += fewest
        length += max(size for count, size in counts if count == fewest)
    return 100 * edits / length if length else 100 * (edits > 0)


@CASES
@given(corpus)
def test_error_rates_are_those_of_the_plain_recursion(pairs):
    outputs, references = [output for output, _ in pairs], [texts for _, texts in pairs]
    by_character = plain_rate(pairs, tuple)
    by_word = plain_rate(pairs, lambda text: tuple(w for w in text.split(" ") if w != ""))
    assert character_error_rate(outputs, references).value == by_character
    assert word_error_rate(outputs, references).value == by_word
    assert phone_error_rate(outputs, references).value == by_word


@CASES
@given(corpus)
def test_no_line_is_refused_and_a_copied_reference_has_no_errors(pairs):
    outputs, references = [output for output, _ in pairs], [texts for _, texts in pairs]
    perfect = [texts[0] for texts in references]
    before = evaluate(outputs, references, tuple(METRICS))
    after = evaluate(perfect, references, tuple(METRICS))
    for was, now in zip(before, after, strict=True):
        if was.name in ("exact", "cer", "wer", "per", "ter"):
            assert now.value == (100 if now.higher_is_better else 0)
        assert was.value >= 0
        assert was.signature == now.signature


def test_the_table_names_each_score():
    names = list(METRICS)
    errors = ["cer", "wer", "per", "levenshtein"]
    assert names == ["bleu", "chrf", "ter", "accuracy", "exact", *errors]
    scores = evaluate(["the cat sat on it"], [["a cat sat on it"]], names)
    assert [score.name for score in scores] == names
    assert [score.name for score in scores if not score.higher_is_better] == ["ter", *errors]
    default = [score.name for score in evaluate(["a"], [["a"]])]
    assert default == ["bleu", "chrf", "ter", "exact", "cer", "wer"]
    assert evaluate(["a"], [["a"]], "cer") == [character_error_rate(["a"], [["a"]])]


def test_a_score_is_json_with_its_signature():
    score = exact_match(["a"], [["a"]])
    assert json.loads(json.dumps(score.to_json())) == {
        "name": "exact",
        "value": 100.0,
        "signature": f"exact|nrefs:1|refs:any|version:regard-{regard.__version__}",
        "higher_is_better": True,
    }


def test_unknown_names_are_refused_together():
    choices = (
        "bleu, chrf, ter, accuracy, exact, cer, wer, per, levenshtein, cer:spaced, wer:line, "
        "bleu:none, bleu:char, bleu:zh or bleu:intl"
    )
    with pytest.raises(ConfigError) as refused:
        evaluate(["a"], [["a"]], ("BLEU", "cer", "exact_match"))
    assert str(refused.value) == (
        f"metrics: name is BLEU; it must be {choices}. Did you mean bleu?\n"
        f"metrics: name is exact_match; it must be {choices}. Did you mean exact?"
    )


@pytest.mark.parametrize(
    ("outputs", "references", "sentence"),
    [
        (
            ["a", "b"],
            [["a"], ["b"], ["c"]],
            "the number of lines of outputs is 2; it must be 3, the number of lists of references.",
        ),
        ([], [], "the number of lines of outputs is 0; it must be at least 1."),
        (
            ["a", "b"],
            [["a"], []],
            "references of line 2 is []; it must be a list of at least one text.",
        ),
        (
            ["a"],
            ["abc"],
            "references of line 1 is 'abc'; it must be a list of texts. Write ['abc'].",
        ),
    ],
)
@pytest.mark.parametrize("name", METRICS)
def test_outputs_and_references_of_different_lengths_are_refused(
    name, outputs, references, sentence
):
    with pytest.raises(InputError) as refused:
        evaluate(outputs, references, (name,))
    assert str(refused.value) == sentence


def test_tokenized_lines_are_scored_without_a_warning(caplog):
    assert bleu(["a cat sat ."] * 101, [["a cat sat ."]] * 101).value == pytest.approx(100)
    assert caplog.records == []


def test_importing_the_package_imports_no_numpy():
    script = (
        "import sys, regard.metrics.corpus_scores, regard.metrics.paired_bootstrap\n"
        "print(sorted({'torch', 'numpy', 'sacrebleu', 'rapidfuzz'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"

"""Errors of outputs: edit operations against a slow definition, groups, confusions, two models."""

import csv
import io
import random

import pytest

from regard.metrics.edit_operations import (
    EditOperation,
    best_reference,
    edit_operations,
    split_units,
)
from regard.metrics.error_analysis import AnalyzedLine, AnalyzedOutput, ErrorAnalysis, Totals
from regard.metrics.error_table import to_table
from regard.metrics.line_groups import (
    COUNT_BOUNDS,
    IN_TRAINING,
    LENGTH_BOUNDS,
    PARTS_SEEN,
    RAREST,
    TAG,
    TrainingCounts,
    certainty_group,
    number_group,
    split_tags,
)


def distance(one, other):
    """The definition of Levenshtein's distance."""
    if not one or not other:
        return len(one) + len(other)
    changed = distance(one[1:], other[1:]) + (one[0] != other[0])
    return min(changed, distance(one[1:], other) + 1, distance(one, other[1:]) + 1)


def apply(reference, operations):
    """Carry out operations from the right, where they move nothing else."""
    units = list(reference)
    for at, expected, output in reversed(operations):
        if expected:
            assert units[at] == expected
            units[at : at + 1] = [output] if output else []
        else:
            units[at:at] = [output]
    return units


def test_operations_turn_the_reference_into_the_output_and_are_the_fewest():
    rng = random.Random(5)
    for _ in range(200):
        one, other = ("".join(rng.choices("abc", k=rng.randrange(6))) for _ in range(2))
        operations = edit_operations(one, other)
        assert apply(one, operations) == list(other)
        assert len(operations) == distance(one, other)


def test_an_operation_says_from_what_to_what_at_which_unit():
    (changed,) = edit_operations("cat", "cut")
    assert changed == EditOperation(1, "a", "u")
    assert str(changed) == "2:a→u"
    assert [str(x) for x in edit_operations("ab", "a b")] == ["2:∅→␣"]
    assert [str(x) for x in edit_operations(["the", "cat"], ["cat"])] == ["1:the→∅"]


def test_the_best_reference_has_the_fewest_edits_and_of_equals_the_longest():
    assert best_reference(["xyz", "abx", "ab"], "abc", "character")[0] == "abx"
    text, operations = best_reference(["a b c", "a c"], "a c", "word")
    assert (text, operations) == ("a c", ())


def test_words_are_separated_by_any_white_space():
    assert split_units(" a  b\u3000c ", "word") == ["a", "b", "c"]
    assert split_units("a b", "character") == ["a", " ", "b"]


def test_numbers_fall_into_their_groups():
    names = [number_group(n, LENGTH_BOUNDS, 1) for n in (1, 3, 4, 80, 81)]
    assert names == ["1–3", "1–3", "4–5", "61–80", "81 and more"]
    assert [number_group(n, COUNT_BOUNDS) for n in (0, 1, 2, 101)] == [
        "0",
        "1",
        "2–5",
        "101 and more",
    ]


def test_certainty_is_the_mean_probability_of_a_token():
    # three tokens of 0.8 each, and two of 0.3 and 0.5
    assert certainty_group(-0.6694, 3) == "50–90 %"
    assert certainty_group(-1.8971, 2) == "below 50 %"
    assert certainty_group(0.0, 2) == "above 99 %"


def test_tags_are_split_from_the_letters():
    assert split_tags([*"walk", " V", ";PST"]) == ("walk", ("V", "PST"))
    assert split_tags([*"à la", " N", ";ACC(PL)"]) == ("à la", ("N", "ACC(PL)"))


def test_training_counts_tell_seen_from_unseen():
    counts = TrainingCounts()
    for source in ("walk V;PST", "go V;PRS"):
        counts.add(source, tagged(source))
    for source, seen, parts in (
        ("walk V;PST", "seen", "lemma and tags seen"),
        ("walk V;PRS", "unseen", "lemma and tags seen"),
        ("run V;PST", "unseen", "only tags seen"),
        ("go V;FUT", "unseen", "only lemma seen"),
        ("run V;FUT", "unseen", "neither seen"),
    ):
        assert counts.groups(source, tagged(source)) == {IN_TRAINING: seen, PARTS_SEEN: parts}


def test_the_rarest_word_of_a_sentence_counts():
    counts = TrainingCounts()
    counts.add("the cat", None)
    counts.add("the dog", None)
    assert counts.groups("the dog", None) == {IN_TRAINING: "seen", RAREST: "1 times"}
    assert counts.groups("the emu", None)[RAREST] == "0 times"
    assert counts.groups("the the", None)[RAREST] == "2–5 times"
    # of a single word, seen or unseen says it all
    assert counts.groups("emu", None) == {IN_TRAINING: "unseen"}


def tagged(source):
    lemma, tags = source.split()
    first, *others = tags.split(";")
    return [*lemma, f" {first}", *(f";{tag}" for tag in others)]


def line(number, source, references, *outputs, tags=()):
    analyzed = [AnalyzedOutput.of(text, references, "character", -1.0) for text in outputs]
    groups = {TAG: tags, IN_TRAINING: ("seen" if number % 2 else "unseen",)}
    return AnalyzedLine(number, source, tuple(references), groups, tuple(analyzed))


@pytest.fixture
def alone():
    lines = [
        line(1, "s1", ["cat"], "cut", tags=("N",)),
        line(2, "s2", ["bad"], "bad", tags=("N", "V")),
        line(3, "s3", ["pan", "pans"], "puns", tags=("V",)),
        line(4, "s4", ["ha"], "ha", tags=("P",)),
    ]
    return ErrorAnalysis(("m",), "character", lines)


def test_totals_count_exact_outputs_and_edits(alone):
    assert alone.totals == Totals(4, (2,), (2,), (12,))
    assert alone.totals.accuracy() == 50
    assert alone.totals.error_rate() == pytest.approx(100 * 2 / 12)


def test_groups_add_up_and_the_worst_tag_is_first(alone):
    assert list(alone.groups[TAG]) == ["N", "V", "P"]
    assert alone.groups[TAG]["V"] == Totals(2, (1,), (1,), (7,))
    assert list(alone.groups[IN_TRAINING]) == ["seen", "unseen"]
    assert alone.groups[IN_TRAINING]["unseen"].exact == (2,)


def test_confusions_have_counts_occurrences_and_examples(alone):
    (one,) = alone.confusions()
    assert (one.expected, one.output, one.count) == ("a", "u", 2)
    # in cat, bad, pans and ha
    assert one.occurrences == 4
    assert one.lines == [0, 2]


def test_two_models_are_told_apart():
    right, wrong = "ab", "xx"
    lines = [
        line(1, "1", ["ab"], right, right),
        line(2, "2", ["ab"], right, wrong),
        line(3, "3", ["ab"], right, "ax"),
        line(4, "4", ["ab"], wrong, right),
        line(5, "5", ["ab"], wrong, wrong),
    ]
    analysis = ErrorAnalysis(("one", "other"), "character", lines)
    assert analysis.verdicts == {"both": 1, "only A": 2, "only B": 1, "neither": 1}
    assert [(x.expected, x.count) for x in analysis.confusions(1)] == [("b", 3), ("a", 2)]
    assert analysis.totals.edits == (4, 5)
    found = analysis.to_json()
    assert [x["verdict"] for x in found["lines"]] == [
        "both",
        "only A",
        "only A",
        "only B",
        "neither",
    ]


def test_a_tsv_has_a_row_for_each_line(alone):
    head, *rows = to_table(alone, "tsv").decode().splitlines()
    assert len(rows) == 4
    row = dict(zip(head.split("\t"), rows[2].split("\t"), strict=True))
    assert row["reference"] == "pan | pans"
    assert (row["output"], row["exact"], row["edits"], row["operations"]) == (
        "puns",
        "0",
        "1",
        "2:a→u",
    )
    assert (row["verdict"], row["tag"], row["pair"]) == ("wrong", "V", "3")


def test_a_table_survives_tabs_quotes_and_line_ends():
    odd = 'a\t"b"\nc, d'
    analysis = ErrorAnalysis(("m",), "character", [line(1, odd, ["x"], "x")])
    assert to_table(analysis, "tsv").decode().splitlines()[1].split("\t")[1] == 'a "b" c, d'
    content = to_table(analysis, "csv")
    # Excel reads UTF-8 only with this mark
    assert content.startswith(b"\xef\xbb\xbf")
    rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))
    assert rows[1][1] == odd

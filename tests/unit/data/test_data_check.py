"""What the checker finds, by hand-made files whose counts can be checked by eye."""

import json

import pytest

from regard.data.corpus_check import Occurrences, Overlap, check, render
from regard.data.pairs import Pair, problems, scan
from regard.data.reading_notes import ReadingNotes
from regard.errors import DataError


def pairs(*sides, file="train.tsv"):
    return [Pair(source, target, file, line) for line, (source, target) in enumerate(sides, 1)]


def lines_of(length, count=1):
    return [("a" * length, "b" * length)] * count


def test_duplicates_and_several_targets_are_distinguished():
    found = check(pairs(("a", "x"), ("b", "y"), ("a", "z"), ("a", "x"), ("b", "y"), ("a", "x")))
    assert found.pairs == 6
    assert found.sources == 2
    assert found.sources_with_several_targets == 1
    assert found.duplicates == Occurrences(
        3,
        (
            "train.tsv, line 4: as train.tsv, line 1",
            "train.tsv, line 5: as train.tsv, line 2",
            "train.tsv, line 6: as train.tsv, line 1",
        ),
    )


def test_pairs_with_equal_concatenations_are_distinguished():
    found = check(pairs(("ab", "c"), ("a", "bc"), ("a", "b\tc"), ("a\tb", "c")))
    assert found.duplicates.count == 0


def test_only_the_first_five_are_listed():
    found = check(pairs(*[("a", "x")] * 9))
    assert found.duplicates.count == 8
    assert len(found.duplicates.examples) == 5


def test_the_overlap_with_dev_counts_pairs_and_sources():
    train = pairs(("a", "x"), ("b", "y"), ("c", "z"))
    dev = pairs(("a", "x"), ("b", "other"), ("new", "z"), ("a", "x"), file="dev.tsv")
    assert check(train, [], dev).overlap == Overlap(dev_pairs=4, same_pairs=2, same_sources=3)
    assert check(train).overlap is None
    assert check([], [], dev).overlap == Overlap(4, 0, 0)


def test_bad_lines_are_counted_and_the_first_five_quoted(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("a\tb\n\n\t\nc\t\n\td\nno tab\nx\ty\n1\n2\n3\n")
    notes = ReadingNotes()
    found = check(scan(path, notes=notes), notes=notes)
    good = [item for item in scan(path) if isinstance(item, Pair)]
    assert found == check(good, problems(path), notes=notes)
    assert found.pairs == 2
    assert found.bad_lines.count == 6
    assert [sentence.split(": ")[0] for sentence in found.bad_lines.examples] == [
        f"{path}, line {line}" for line in (4, 5, 6, 8, 9)
    ]
    assert (found.blank_lines, found.one_sided_lines) == (2, 2)
    assert "  and 1 more: --all lists them, --out FILE.tsv writes them to a table\n" in render(
        found
    )
    every = check(scan(path), all_bad_lines=True)
    assert [int(x.split(": ")[0].split()[-1]) for x in every.bad_lines.examples] == [
        4,
        5,
        6,
        8,
        9,
        10,
    ]
    assert "--all" not in render(every)


def test_lengths_are_those_of_the_characters():
    found = check(pairs(*(("é" * n, "我" * (2 * n)) for n in range(1, 21))))
    assert (found.source.minimum, found.source.maximum) == (1, 20)
    assert found.source.quartiles == (5, 10, 15)
    assert found.target.quartiles == (10, 20, 30)
    assert (found.source.alphabet_size, found.target.alphabet_size) == (1, 1)


def test_nine_bins_cover_nearly_all_lines_and_the_tenth_the_rest():
    # 99 of 100 have at most 18 characters: nine bins of two
    found = check(pairs(*lines_of(1, 50), *lines_of(2, 10), *lines_of(18, 39), *lines_of(5000, 1)))
    assert found.source.starts == (1, 3, 5, 7, 9, 11, 13, 15, 17, 19)
    assert found.source.counts == (60, 0, 0, 0, 0, 0, 0, 0, 39, 1)
    assert found.source.maximum == 5000


def test_lines_of_one_length_make_one_bin():
    found = check(pairs(*lines_of(7, 3)))
    assert found.source.starts[0] == 7
    assert found.source.counts == (3, *[0] * 9)


def test_only_inner_spaces_count_for_lines_with_spaces():
    found = check(pairs(("a b", "x"), ("c", " y "), ("d e f", "z"), ("g", "w v")))
    assert found.source.with_spaces == 0.5
    assert found.target.with_spaces == 0.25


def test_a_ratio_is_an_outlier_beyond_three_times_the_usual_and_ten_characters():
    usual = [("a" * 10, "b" * 20)] * 9
    # usual is 2: of 10 characters, 20 are expected; 3 x 20 + 10 = 70 is the most
    # and of 10 target characters at most 3 x 10 + 10 = 40 expected, from 20 of the source
    found = check(
        pairs(
            *usual,
            ("a" * 10, "b" * 70),
            ("a" * 10, "b" * 71),
            ("a" * 20, "b" * 10),
            ("a" * 21, "b" * 10),
        )
    )
    assert found.usual_ratio == 2.0
    assert found.ratio_outliers == Occurrences(
        2,
        (
            "train.tsv, line 11: 10 characters against 71",
            "train.tsv, line 13: 21 characters against 10",
        ),
    )


def test_a_line_counts_once_for_each_unusual_kind():
    found = check(pairs(("a\x01", "b\x02"), ("a\ue000\x01", "b"), ("e\u0301", "c\u0430t")))
    assert found.unusual["control"] == Occurrences(
        2, ("train.tsv, line 1: U+0001", "train.tsv, line 2: U+0001")
    )
    assert found.unusual["private"] == Occurrences(1, ("train.tsv, line 2: U+E000",))
    assert found.unusual["mixed"] == Occurrences(1, ("train.tsv, line 3: c\u0430t",))
    assert found.unusual["not_nfc"].count == 1
    assert found.unusual["unassigned"] == Occurrences(0, ())


def test_places_name_the_file_of_a_pair():
    both = pairs(("a", "b"), file="one.tsv") + pairs(("c", "d"), ("a", "b"), file="two.tsv")
    assert check(both).duplicates.examples == ("two.tsv, line 2: as one.tsv, line 1",)


def test_empty_data_can_be_checked():
    found = check([], [DataError("x.tsv", None, "it is empty")])
    assert (found.pairs, found.source, found.target, found.usual_ratio) == (0, None, None, None)
    assert render(found) == (
        "pairs        0\n"
        "sources      0 different, 0 with several targets\n"
        "bad lines    1 (0 with one side blank)\n"
        "  x.tsv: it is empty\n"
        "duplicates   0\n"
    )


def test_findings_are_plain_json():
    found = check(pairs(("a b", "x\x01"), ("c", "y")), [], pairs(("c", "y")))
    plain = found.to_json()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["pairs"] == 2
    assert plain["overlap"] == {"dev_pairs": 1, "same_pairs": 1, "same_sources": 1}
    assert plain["source"]["quartiles"] == [1, 1, 3]
    assert plain["unusual"]["control"] == {"count": 1, "examples": ["train.tsv, line 1: U+0001"]}


def test_the_report_prints_the_findings():
    found = check(
        pairs(("aa", "x y"), ("aa", "x\x01"), ("b", "yyy"), ("aa", "x y"), ("cccc", "z")),
        [DataError("train.tsv", 6, "the line has no tab")],
        pairs(("b", "yyy"), ("b", "new"), file="dev.tsv"),
    )
    # a third of 40 characters is 107 eighths, to the nearest: 13 characters and 3 eighths
    full = "█" * 40
    assert render(found).splitlines() == [
        "pairs        5",
        "sources      3 different, 1 with several targets",
        "dev          2 pairs: 1 are also in this set, 2 share a source with it",
        "bad lines    1 (0 with one side blank)",
        "  train.tsv, line 6: the line has no tab",
        "duplicates   1",
        "  train.tsv, line 4: as train.tsv, line 1",
        "source       1 to 4 characters, quartiles 2, 2, 2; 3 different characters; "
        "spaces in 0% of lines",
        f"        1–1         {'█' * 13}▍                           1",
        f"        2–2         {full} 3",
        f"        3–3         {'':40} 0",
        f"        4–4         {'█' * 13}▍                           1",
        "target       1 to 3 characters, quartiles 2, 3, 3; 5 different characters; "
        "spaces in 40% of lines",
        f"        1–1         {'█' * 13}▍                           1",
        f"        2–2         {'█' * 13}▍                           1",
        f"        3–3         {full} 3",
        "outliers     0 (usually 1.50 target characters per source character)",
        "unusual      control characters: 1",
        "  train.tsv, line 2: U+0001",
    ]


@pytest.mark.parametrize(("count", "bar"), [(1, "▏"), (160, "█" * 20), (3, "▍"), (320, "█" * 40)])
def test_a_bar_is_drawn_in_eighths_of_a_character(count, bar):
    # the longest bar has 40 characters, 320 eighths
    found = check(pairs(*lines_of(1, 320), *lines_of(2, count)))
    assert render(found).splitlines()[-2].split()[1] == bar

"""Pairs that cannot be used: one sentence, exit code 2, nothing written."""

import gzip
import json
import os
import re
import tempfile
from pathlib import Path

import pytest

SMALL = [f"--set=model.{name}_size=8" for name in ("hidden", "embedding", "align", "readout")]
ONE_BLANK = "is blank. Fill it in or remove the line."
NO_FILE = "there is no such file. Check the path."
TOO_LONG = "the line is longer than 1,000,000 characters. Split it into several lines."
BAD = [
    ("a\tb\n\tc\n", f"bad.tsv, line 2: the source {ONE_BLANK}"),
    ("a\tb\nc\t \n", f"bad.tsv, line 2: the target {ONE_BLANK}"),
    (
        "a\tb\nc\td\0\n",
        "bad.tsv, line 2: character 4 of the line is NUL. Remove it.",
    ),
    (
        b"a\tb\ncaf\xe9\td\n",
        "bad.tsv, line 2: byte 4 of the line is 0xe9, not UTF-8. Save the file as UTF-8, or pass "
        "its --encoding, such as cp1252 (Western), cp1250 (Central European), cp1251 (Cyrillic) or "
        "cp1255 (Hebrew).",
    ),
    (
        "a\tb\nc d\n",
        "bad.tsv, line 2: the line has no tab. Separate source and target by a tab.",
    ),
    (
        "a\tb\tc\n",
        "bad.tsv: it has 3 columns. Say which to learn from, such as --columns source=1,2 "
        "target=3.",
    ),
    (
        "a\tb\nc\td\ne\tf\tg\n",
        "bad.tsv, line 3: the line has 3 columns; it must have 2. Name columns: --columns source=1 "
        "target=2.",
    ),
    ("a\tb\n" + "x" * 1_000_001 + "\tc\n", f"bad.tsv, line 2: {TOO_LONG}"),
    ("", "bad.tsv: it is empty; it must hold at least one line of text."),
    (
        "a\tb\n",
        "bad.tsv: it contains 1 pair with 1 different source; one source must be held out for "
        "validation. Add pairs, or pass --dev with a file of others.",
    ),
    (
        gzip.compress(b"".join(b"%d\t%d\n" % (n**5, n) for n in range(1, 99)))[:-40],
        # it is unpacked in pieces larger than this file
        "bad.tsv, line 1: the gzip data ends too early. Download or compress the file again.",
    ),
]


@pytest.mark.parametrize(("data", "sentence"), BAD, ids=[s[:50] for _, s in BAD])
def test_a_bad_file_is_refused_before_training(refused, tmp_path, data, sentence):
    (tmp_path / "bad.tsv").write_bytes(data if isinstance(data, bytes) else data.encode())
    assert refused("train", "bad.tsv", "--quiet") == f"regard: {sentence}\n"


def test_the_same_on_standard_input(refused):
    assert refused("train", "-", stdin="a\tb\nno tab\n").startswith(
        "regard: standard input, line 2: the line has no tab. "
    )
    assert refused("train", "-", stdin='{"source": "a"}\n') == (
        'regard: standard input, line 1: "target" is missing or not a string. '
        'Write the line as {"source": "a", "target": "b"}.\n'
    )
    assert refused("train", "-", stdin="") == (
        "regard: standard input: it is empty; it must hold at least one line of text.\n"
    )


def test_a_bad_validation_file_is_refused_by_training_and_by_the_check(refused, pairs, tmp_path):
    (tmp_path / "dev.tsv").write_text("x\ty\n\tz\n")
    sentence = f"regard: dev.tsv, line 2: the source {ONE_BLANK}\n"
    assert refused("train", pairs, "--dev", "dev.tsv") == sentence
    assert refused("check", pairs, "--dev", "dev.tsv") == sentence
    assert refused("check", pairs, "--dev", "no.tsv") == f"regard: no.tsv: {NO_FILE}\n"


def test_parallel_files_of_different_lengths_are_refused_with_both_counts(refused, tmp_path):
    (tmp_path / "s").write_text("a\nb\n")
    (tmp_path / "t").write_text("A\nB\nC\n")
    words = ("--source", "s", "--target", "t")
    sentence = "s: it has 2 lines, but t has 3. Parallel files must have equally many lines."
    assert refused("train", *words) == f"regard: {sentence}\n"
    (tmp_path / "t").write_text("A\n \n")
    assert refused("train", *words) == f"regard: t, line 2: the target {ONE_BLANK}\n"


def test_missing_files_and_folders_are_named_by_every_command(refused, capitals, tmp_path):
    (tmp_path / "folder").mkdir()
    folder = "folder: it is a folder, not a file. Name a file inside it."
    for command in (["train"], ["check"], ["evaluate", capitals]):
        assert refused(*command, "no.tsv") == f"regard: no.tsv: {NO_FILE}\n"
        assert refused(*command, "folder") == f"regard: {folder}\n"


def test_missing_pairs_are_reported_with_a_remedy(refused, pairs):
    sentence = (
        "regard: data: There are no pairs. Pass a file of pairs, - for standard input, or "
        "--source and --target.\n"
    )
    assert refused("train") == refused("check") == sentence
    assert refused("train", "--source", pairs) == (
        f"regard: data: source is {pairs} and target is None; both must be files. Give one file "
        f"of pairs, or two parallel files.\n"
    )
    assert refused("train", pairs, "--source", "s") == (
        f"regard: data: pairs is {pairs}, but source or target is given too. Give one or the "
        f"other.\n"
    )
    assert refused("train", "--source", "-", "--target", "-") == (
        "regard: data: source and target are both -; one of them must be a file. Or give pairs "
        "= -.\n"
    )


def test_missing_columns_are_refused(refused, pairs):
    assert refused("train", pairs, "--columns", "source=1", "target=0") == (
        "regard: data.file: columns is source=1 target=0; it must be columns of both sides, by "
        "number or name. Write source=1,3 target=2.\n"
    )
    assert refused("train", pairs, "--columns", "source=1", "target=3") == (
        f"regard: {pairs}, line 1: the line has 2 columns, but column 3 is needed. Fill it in, or "
        "name other --columns.\n"
    )


def test_both_columns_may_stand_in_one_quoted_word(run, tmp_path):
    (tmp_path / "tags.tsv").write_text("a\tA\tx\nb\tB\ty\n")
    # as JSON, without the measured training time
    check = ["check", "tags.tsv", "--format", "json"]
    apart = run(*check, "--columns", "source=1,3", "target=2")
    assert apart.code == 0
    assert "columns 1 + 3" in apart.out
    assert run("check", "--columns", "source=1,3 target=2", *check[1:]) == apart
    assert run(*check, "--columns", "source=1,3 target=2") == apart


def test_u_2028_and_u_0085_stay_inside_their_line(run, tmp_path):
    (tmp_path / "odd.tsv").write_text("a\u2028b\tA\nb\u0085b\tB\n", encoding="utf-8")
    answer = run("check", "odd.tsv", "--format", "json")
    found = json.loads(answer.out)
    assert (answer.code, found["pairs"], found["bad_lines"]["count"]) == (0, 2, 0)
    assert found["source"]["maximum"] == 3
    letters = "--set=text.source=characters"
    answer = run("train", "odd.tsv", "--dev", "odd.tsv", "--max-steps", 1, letters, *SMALL)
    assert answer.code == 0, answer.err
    # a, U+2028, b, U+0085 and the four that every vocabulary begins with
    told = "2 training pairs, 2 sources for validation (the same pairs); 8 source and 6 target "
    assert f"{told}tokens\n" in answer.err


def test_a_line_of_a_million_characters_is_read_and_dropped(run, pairs):
    with open(pairs, "a") as file:
        file.write("z" * 999_998 + "\tZ\n")
    answer = run("train", pairs, "--dev", pairs, "--max-steps", 1, *SMALL)
    assert answer.code == 0, answer.err
    assert "left out 1 pair: longer than " in answer.err


def test_bad_lines_are_skipped_and_named_on_request(run, pairs):
    with open(pairs, "a") as file:
        file.write("no tab\nx\t\n")
    words = ("train", pairs, "--skip-bad-lines", "--max-steps", 1, *SMALL)
    answer = run(*words)
    assert answer.code == 0, answer.err
    assert f"skipped: {pairs}, line 13: the line has no tab. " in answer.err
    assert f"skipped: {pairs}, line 14: the target {ONE_BLANK}\n" in answer.err
    assert "skipped 2 bad lines\n" in answer.err


def test_a_truncated_file_is_not_a_bad_line(refused, tmp_path):
    whole = gzip.compress(b"".join(b"%d\t%d\n" % (n**5, n) for n in range(1, 9999)), mtime=0)
    (tmp_path / "cut.tsv.gz").write_bytes(whole[:-9000])
    said = refused("train", "cut.tsv.gz", "--skip-bad-lines")
    assert re.fullmatch(
        r"regard: cut\.tsv\.gz, line \d+: the gzip data ends too early\. .*\n", said
    )


def test_the_check_of_a_truncated_file_does_not_suggest_skipping(run, tmp_path):
    (tmp_path / "s").write_text("a\nb\n")
    (tmp_path / "t").write_text("A\nB\nC\n")
    answer = run("check", "--source", "s", "--target", "t")
    assert (answer.code, answer.err) == (2, "")
    assert (
        "  s: it has 2 lines, but t has 3. Parallel files must have equally many lines.\n"
        in answer.out
    )


def test_the_check_of_bad_lines_counts_them_and_ends_with_two(run, tmp_path):
    (tmp_path / "bad.tsv").write_text("a\tb\n \nno tab\nc\t\nd\te\n")
    answer = run("check", "bad.tsv")
    assert answer.code == 2
    assert "pairs        2\n" in answer.out
    assert "file         bad.tsv: skipped 1 blank line\n" in answer.out
    assert "bad lines    2 (1 with one side blank)\n" in answer.out
    assert f"  bad.tsv, line 4: the target {ONE_BLANK}\n" in answer.out
    assert answer.err == "Next: regard train bad.tsv --skip-bad-lines\n"
    found = json.loads(run("check", "bad.tsv", "--format", "json").out)
    assert (found["pairs"], found["bad_lines"]["count"]) == (2, 2)


def test_the_check_of_a_file_without_pairs_prints_the_reason(run, tmp_path):
    (tmp_path / "bad.tsv").write_text("no tab\nnone either\n")
    answer = run("check", "bad.tsv")
    assert answer.code == 2
    assert "pairs        0\n" in answer.out
    assert "automatic settings" not in answer.out
    assert "Next" not in answer.err


ONE_SOURCE = (
    "one source must be held out for validation. Add pairs, or pass --dev with a file of others."
)


@pytest.mark.parametrize(
    ("data", "count"),
    [
        ("a\tb\n", "1 pair with 1 different source"),
        ("a\tb\na\tc\n", "2 pairs with 1 different source"),
        ("e\u0301\tb\n\u00e9\tc\n", "2 pairs with 1 different source"),
    ],
)
def test_the_check_refuses_too_few_pairs_as_training_does(run, refused, tmp_path, data, count):
    (tmp_path / "few.tsv").write_text(data, encoding="utf-8")
    sentence = f"regard: few.tsv: it contains {count}; {ONE_SOURCE}\n"
    assert refused("train", "few.tsv", "--quiet") == sentence
    answer = run("check", "few.tsv")
    assert (answer.code, answer.err) == (2, sentence)
    assert answer.out.startswith("pairs        ")
    assert "automatic settings" not in answer.out
    answer = run("check", "few.tsv", "--format", "json")
    assert (answer.code, answer.err) == (2, sentence)
    assert json.loads(answer.out)["chosen"] == {}


def test_a_single_pair_is_enough_with_a_validation_file(run, pairs, tmp_path):
    (tmp_path / "one.tsv").write_text("a\tb\n")
    answer = run("check", "one.tsv", "--dev", pairs)
    assert (answer.code, answer.err) == (0, f"Next: regard train one.tsv --dev {pairs}\n")


def test_the_check_of_one_good_line_among_bad_ones_promises_nothing(run, tmp_path):
    (tmp_path / "bad.tsv").write_text("no tab\na\tb\n")
    answer = run("check", "bad.tsv")
    assert answer.code == 2
    assert answer.err.startswith("regard: bad.tsv: it contains 1 pair with 1 different source; ")
    assert "Next" not in answer.err


AS_AN_ORDINARY_USER = """
import os, sys
from regard.cli import main
secret, pairs, out, closed = sys.argv[1:]
# what is imported later may be root's alone
main(["train", "no such file"])
if os.getuid() == 0:
    try:
        os.setuid(65534)
    except OSError:
        sys.exit(77)
print(main(["train", secret, "--out", out]), main(["train", pairs, "--out", closed]))
"""


def test_missing_permissions_are_reported_with_the_path(in_a_process):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        secret, pairs, closed = folder / "secret.tsv", folder / "pairs.tsv", folder / "closed"
        for path in (secret, pairs):
            path.write_text("a\tb\nc\td\n")
        secret.chmod(0)
        closed.mkdir(0o555)
        words = (secret, pairs, folder / "m.regard", closed / "m.regard")
        answer = in_a_process(AS_AN_ORDINARY_USER, *words)
        there = sorted(os.listdir(folder)) + os.listdir(closed)
        closed.chmod(0o755)
    if answer.code == 77:
        pytest.skip("root may not become another user here")
    assert (answer.code, answer.out) == (0, "2 2\n")
    assert answer.err.splitlines() == [
        f"regard: no such file: {NO_FILE}",
        f"regard: {secret}: this user may not read it. Run chmod +r {secret}.",
        f"regard: {closed}/m.regard: this user cannot write to {closed}. "
        "Pass --out in another folder.",
    ]
    assert there == ["closed", "pairs.tsv", "secret.tsv"]


def test_a_file_where_a_folder_must_be_is_refused_before_training(refused, pairs):
    assert refused("train", pairs, "--out", "capitals.tsv/m.regard") == (
        f"regard: capitals.tsv/m.regard: this user cannot write to {pairs}. "
        "Pass --out in another folder.\n"
    )


def test_a_folder_where_the_model_must_be_is_refused_before_training(refused, pairs, tmp_path):
    (tmp_path / "models").mkdir()
    assert refused("train", pairs, "--out", "models") == (
        "regard: models: it is a folder; it must be a file. Pass --out models/model.regard.\n"
    )


def test_an_existing_model_is_not_overwritten(refused, pairs, tmp_path):
    (tmp_path / "capitals.regard").write_text("hours of work")
    assert refused("train", pairs) == (
        "regard: capitals.regard: it exists and must not be lost. Pass --resume to continue its "
        "run, --overwrite to begin anew, or another --out.\n"
    )

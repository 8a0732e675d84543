"""Files as people have them, from the command line: what training read, every command reads."""

import json

import openpyxl
import pytest

from regard.saved_model import load_model

SMALL = [f"--set=model.{name}_size=8" for name in ("hidden", "embedding", "align", "readout")]
SHORT = ["--max-steps", "2", *SMALL, "--quiet"]
ROWS = [(f"{a}{b}", tag, f"{a}{b}{tag.lower()}") for a in "abc" for b in "de" for tag in ("V", "N")]


@pytest.fixture
def table(tmp_path):
    """Write a messy CSV: a header, semicolons, a blank line, spaces at the edges."""
    lines = [f" {lemma};{tag};{form}" for lemma, tag, form in ROWS]
    text = "\n".join(["Form of it;Tag", *lines])
    (tmp_path / "words.csv").write_text("Lemma;Tag;Form\n\n" + text.partition("\n")[2] + "\n")
    return tmp_path / "words.csv"


COLUMNS = ("--columns", "source=Lemma,Tag", "target=Form")


def outputs(run, *words, stdin=b""):
    answer = run("translate", "words.regard", *words, stdin=stdin)
    assert answer.code == 0, answer.err
    return answer.out.splitlines()


def test_the_columns_of_training_are_remembered_by_every_command(run, table, tmp_path):
    assert run("train", table, *COLUMNS, *SHORT).code == 0
    data = load_model(tmp_path / "words.regard").settings.data
    assert (data.trim, data.file.columns) == (True, "source=1,2 target=3")
    assert data.file.names == "source=Lemma,Tag target=Form"
    joined = outputs(run, stdin="".join(f"{row[0]} {row[1]}\n" for row in ROWS))
    # a tab between the columns, whole rows, a table in another order, a workbook
    assert outputs(run, stdin="".join(f"{row[0]} \t{row[1]}\n" for row in ROWS)) == joined
    assert outputs(run, stdin="".join("\t".join(row) + "\n" for row in ROWS)) == joined
    book = openpyxl.Workbook()
    for row in [("Form", "Tag", "Lemma"), *(row[::-1] for row in ROWS)]:
        book.active.append(row)
    book.save(tmp_path / "test.xlsx")
    assert outputs(run, "--input", "test.xlsx") == joined
    assert outputs(run, "--input", table)[1:] == joined
    (tmp_path / "two.tsv").write_text("".join(f"{row[1]}\t{row[0]}\n" for row in ROWS))
    assert outputs(run, "--input", "two.tsv", "--columns", "source=2,1") == joined
    fingerprints = {
        json.loads(run("evaluate", "words.regard", path, "--format", "json").out)["pairs"]
        for path in ("words.csv", "test.xlsx")
    }
    assert len(fingerprints) == 1
    seen = run("show", "words.regard", "ad\tV", "--out", "x.svg")
    assert seen.code == 0
    assert "<svg" in (tmp_path / "x.svg").read_text()


def test_a_tab_that_is_no_column_is_told_from_one_that_is(run, tmp_path):
    pairs = "".join(f"{lemma}\t{form}\n" for lemma, _, form in ROWS)
    (tmp_path / "words.tsv").write_text(pairs)
    assert run("train", "words.tsv", *SHORT).code == 0
    plain = outputs(run, stdin="".join(f"{row[0]}\n" for row in ROWS))
    assert outputs(run, stdin=pairs) == plain
    assert outputs(run, "--input", "words.tsv") == plain


def test_what_was_detected_is_reported_in_a_line_each(run, table):
    answer = run("train", table, *COLUMNS, *SHORT[:-1])
    assert answer.err.splitlines()[:3] == [
        f"{table}: read as CSV separated by semicolons, with a header line: source = columns 1 + 2 "
        "(Lemma + Tag), target = column 3 (Form)",
        f"{table}: skipped 1 blank line",
        f"{table}: trimmed white space at the edges in 12 lines",
    ]


def test_trimming_can_be_switched_off(run, table, tmp_path):
    assert run("train", table, *COLUMNS, *SHORT, "--set", "data.trim=false").code == 0
    assert load_model(tmp_path / "words.regard").settings.data.trim is False


def test_a_legacy_encoding_is_remembered_for_files_that_are_not_utf_8(run, tmp_path):
    text = "".join(f"š{lemma}\t{form}\n" for lemma, _, form in ROWS)
    (tmp_path / "words.tsv").write_bytes(text.encode("cp1250"))
    assert run("train", "words.tsv", "--encoding", "cp1250", *SHORT).code == 0
    (tmp_path / "utf8.tsv").write_text(text)
    scores = [run("evaluate", "words.regard", name) for name in ("words.tsv", "utf8.tsv")]
    assert scores[0].code == 0, scores[0].err
    assert scores[0].out == scores[1].out


def test_all_bad_lines_are_listed_written_and_skipped(run, tmp_path):
    good = "".join(f"{lemma}{tag}\t{form}\n" for lemma, tag, form in ROWS)
    (tmp_path / "bad.tsv").write_text(good + "no tab\n" * 7 + "a\t\n")
    listed = run("check", "bad.tsv")
    assert listed.out.count(": the line has no tab. ") == 5
    assert "  and 3 more: --all lists them, --out FILE.tsv writes them to a table\n" in listed.out
    listed = run("check", "bad.tsv", "--all", "--out", "bad-lines.tsv")
    assert listed.out.count(": the line has no tab. ") == 7
    report = json.loads(run("check", "bad.tsv", "--format", "json").out)
    assert len(report["bad_lines"]["examples"]) == 8
    assert run("train", "bad.tsv", "--skip-bad-lines", *SHORT, "--out", "words.regard").code == 0
    skipped = (tmp_path / "words.run" / "skipped.tsv").read_text()
    assert skipped == (tmp_path / "bad-lines.tsv").read_text()
    rows = [line.split("\t") for line in skipped.splitlines()]
    assert rows[0] == ["file", "line", "problem"]
    assert [row[1] for row in rows[1:]] == [str(number) for number in range(13, 21)]
    assert run("evaluate", "words.regard", "bad.tsv").code == 2
    answer = run("evaluate", "words.regard", "bad.tsv", "--skip-bad-lines")
    assert (answer.code, answer.err.count("skipped: ")) == (0, 5)
    assert "skipped 8 bad lines\nNext: regard check bad.tsv --all\n" in answer.err


def test_repeated_notes_are_counted(run, capitals):
    answer = run("translate", capitals, "--max-length", 1, stdin="π\n" * 100)
    assert answer.err.count("standard input, line ") == 3
    assert answer.err.splitlines()[-1].startswith("97 more lines with a note like this: ")


def test_options_of_files_need_a_file(refused, capitals):
    said = refused("translate", capitals, "--delimiter", ";", stdin="a\n")
    assert said == (
        "regard: translate: --delimiter is for files. Pass the file by --input; - is standard "
        "input.\n"
    )
    said = refused("translate", capitals, "--text", "a", "--input", "x")
    assert "Both --text and --input are given. Give one of them." in said


def test_wrong_settings_of_files_are_refused(refused, pairs):
    for option, value, requirement in (
        ("--delimiter", ";;", "it must be tab, or one character such as ;."),
        ("--encoding", "klingon", "it must be the name of an encoding, such as utf-8"),
        ("--encoding", "base64", "it must be the name of an encoding, such as utf-8"),
        ("--header", "perhaps", "it must be auto, yes or no."),
    ):
        for command in ("train", "check"):
            said = refused(command, pairs, option, value)
            assert said.startswith(f"regard: data.file: {option[2:]} is {value}; {requirement}")


def test_the_library_reads_the_same_files(run, table, tmp_path):
    from regard import train

    options = {"out": "words.regard", "max_steps": 2, "hidden_size": 8, "quiet": True}
    columns = "source=1,2 target=3"
    model = train(table, columns=columns, group_by="Lemma", header="yes", **options)
    assert model.settings.data.file.names == "source=Lemma,Tag target=Form"
    assert model.settings.data.file.group_by == "Lemma"
    assert model.translate("ad\tV").source_tokens == model.translate("ad V").source_tokens

"""`regard errors`: where a model errs on held-out pairs, and how two models differ."""

import csv
import io
import json
from pathlib import Path

import pytest

PAIRS = "ab\tAB\nabc\tABX\nba\tBA\nba\tB\nzz\tZZ\nba\tBA\n"


@pytest.fixture
def test_pairs(tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text(PAIRS)
    return path


def test_the_summary_is_in_the_terminal(run, capitals, test_pairs):
    answer = run("errors", capitals, test_pairs)
    assert answer.code == 0
    # of 4 sources, ab and ba are exact; X is one edit, ZZ at least two
    first = answer.out.splitlines()[0]
    assert first.startswith("capitals.regard on ")
    assert "2 of 4 sources exact (50.0 %)" in first
    assert "in 9 characters" in first
    assert "some unknown to the model        1      0.0" in answer.out
    row = next(x for x in answer.out.splitlines() if x.startswith("X → C"))
    assert row.split(maxsplit=5)[3:] == ["1", "100.0", "abc → ABC, not ABX"]
    assert "does not hold its training pairs. Use --train PAIRS" in answer.out
    assert answer.err == f"Next: regard errors {capitals} {test_pairs} --out errors.html\n"
    suggested = answer.err.split()[2:]
    assert run(*suggested).code == 0


def test_training_pairs_tell_seen_from_unseen(run, capitals, pairs, test_pairs):
    answer = run("errors", capitals, test_pairs, "--train", pairs)
    seen, unseen = (
        next(x.split() for x in answer.out.splitlines() if x.startswith(name))
        for name in ("seen", "unseen")
    )
    assert seen[:3] == ["seen", "3", "66.7"]
    assert unseen[:3] == ["unseen", "1", "0.0"]
    assert "was not trained on" not in answer.out
    other = run("errors", capitals, test_pairs, "--train", test_pairs)
    assert f"The model was not trained on {test_pairs} as it is" in other.out


def test_two_models_side_by_side(run, capitals, beginner, test_pairs):
    answer = run("errors", capitals, beginner, test_pairs, "--out", "e.json")
    assert answer.code == 0
    found = json.loads(Path("e.json").read_text())
    assert found["models"] == ["capitals.regard", "beginner.regard"]
    right = [one["exact"] for line in found["lines"] for one in line["outputs"]]
    only_a = sum(a and not b for a, b in zip(right[::2], right[1::2], strict=True))
    assert found["verdicts"]["only A"] == only_a == 2
    assert ["only", "A", "2"] in [row.split() for row in answer.out.splitlines()]
    assert "exact % A  exact % B" in answer.out


def test_every_output_is_in_the_table(run, capitals, test_pairs):
    for ending, delimiter in (("tsv", "\t"), ("csv", ",")):
        assert run("errors", capitals, test_pairs, "--out", f"e.{ending}").code == 0
        text = Path(f"e.{ending}").read_text(encoding="utf-8-sig")
        rows = list(csv.DictReader(io.StringIO(text), delimiter=delimiter))
        assert [row["source"] for row in rows] == ["ab", "abc", "ba", "zz"]
        assert [row["pair"] for row in rows] == ["1", "2", "3", "5"]
        assert rows[1]["operations"] == "3:X→C"
        assert rows[2]["reference"] == "BA | B"
        assert rows[2]["exact"] == "1"


def test_the_page_holds_the_lines_and_allows_its_own_script_only(run, capitals, tmp_path):
    path = tmp_path / "odd.tsv"
    path.write_text("ab\t</script><img src=x onerror=alert(1)>\n")
    assert run("errors", capitals, path, "--out", "e.html").code == 0
    page = Path("e.html").read_text(encoding="utf-8")
    assert page.count("<img") == 0
    assert page.count("</script>") == 2
    assert "script-src 'sha256-" in page
    assert "http" not in page.replace("http-equiv", "")


def test_the_unit_can_be_chosen(run, capitals, test_pairs):
    answer = run("errors", capitals, test_pairs, "--unit", "word")
    assert "in 4 words" in answer.out.splitlines()[0]


def test_three_models_are_refused(refused, capitals, test_pairs):
    said = refused("errors", capitals, capitals, capitals, test_pairs)
    assert said.startswith("regard: errors: There are 3 models; there must be one or two")


def test_the_output_file_is_checked_before_a_model_is_loaded(refused, test_pairs):
    said = refused("errors", "missing.regard", test_pairs, "--out", "e.xlsx")
    assert "out is e.xlsx; it must end in .html, .tsv, .csv or .json." in said

"""`regard translate`: as many lines out as in, in a pipe, at a terminal and from an option."""

import io
import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from regard.cli import main

COMMAND = Path(sys.executable).with_name("regard")
GUESS = "All tokens of the source are unknown to the model; the output is a guess."


def test_translate_prints_one_line_per_input_line_and_nothing_else(run, capitals):
    lines = ["a", "", "abc", "   ", "h", "ba"]
    answer = run("translate", capitals, stdin="\n".join(lines) + "\n")
    assert answer == (0, "A\n\nABC\n\nH\nBA\n", "")


def test_many_lines_stay_in_order(run, capitals, monkeypatch):
    monkeypatch.setattr(sys.modules["regard.cli.translate"], "CHUNK", 7)
    lines = ["abcdefgh"[number % 8] for number in range(31)]
    answer = run("translate", capitals, "--format=jsonl", stdin="".join(f"{x}\n" for x in lines))
    found = [(row["line"], row["text"]) for row in map(json.loads, answer.out.splitlines())]
    assert found == [(number, line.upper()) for number, line in enumerate(lines, 1)]


@pytest.mark.parametrize("stdin", [b"\xef\xbb\xbfa\r\nb", b"a\nb\n", b"a\nb"])
def test_line_ends_of_any_kind_are_read(run, capitals, stdin):
    assert run("translate", capitals, stdin=stdin) == (0, "A\nB\n", "")


def test_empty_input_gives_empty_output(run, capitals):
    assert run("translate", capitals, stdin="") == (0, "", "")


def test_a_line_of_unknown_tokens_is_translated_and_reported(run, capitals):
    answer = run("translate", capitals, "--max-length", 3, stdin="a\nπλ\nb\n")
    assert answer.code == 0
    assert [line for line in answer.err.splitlines() if GUESS in line] == [
        f"standard input, line 2: {GUESS}"
    ]
    found = answer.out.splitlines()
    assert (len(found), found[0], found[2]) == (3, "A", "B")


def test_a_line_that_is_too_long_is_truncated_and_reported(run, capitals):
    answer = run("translate", capitals, "--max-length", 2, stdin="a\n" + "b" * 40 + "\n")
    assert answer.code == 0
    assert len(answer.out.splitlines()) == 2
    assert answer.err.startswith(
        "standard input, line 2: The source has 40 tokens; only the first 32 "
    )


def test_an_output_is_called_truncated_only_if_it_would_continue(run, capitals):
    assert run("translate", capitals, "--max-length", 3, stdin="abc\n") == (0, "ABC\n", "")
    note = "The output was stopped at the maximum length, 2 tokens."
    stopped = (0, "AB\n", f"standard input, line 1: {note}\n")
    assert run("translate", capitals, "--max-length", 2, stdin="abc\n") == stopped


def test_a_bad_line_is_refused_before_any_is_translated(refused, capitals):
    said = refused("translate", capitals, stdin=b"a\n\xff\n")
    assert said.startswith(
        "regard: standard input, line 2: byte 1 of the line is 0xff, not UTF-8. Save the file "
        "as UTF-8, or pass its --encoding, such as "
    )


def test_one_text_can_be_given_as_an_option(run, capitals):
    assert run("translate", capitals, "--text", "cab") == (0, "CAB\n", "")
    assert run("translate", capitals, "--text", "") == (0, "\n", "")
    answer = run("translate", capitals, "--text", "π", "--max-length", 1)
    assert answer.err.startswith(f"--text: {GUESS}\n")


def test_json_has_all_fields_of_a_translation(run, capitals):
    answer = run("translate", capitals, "--format", "jsonl", stdin="ab\n\n")
    first, second = map(json.loads, answer.out.splitlines())
    assert (first["line"], first["source"], first["text"]) == (1, "ab", "AB")
    assert (first["source_tokens"], first["tokens"]) == (["a", "b"], ["A", "B"])
    assert [len(row) for row in first["attention"]] == [2, 2, 2]
    assert [sum(row) for row in first["attention"]] == pytest.approx([1, 1, 1], abs=1e-5)
    assert first["score"] == pytest.approx(sum(first["token_scores"]))
    assert (second["line"], second["text"], second["tokens"]) == (2, "", [])


def test_pharaoh_links_each_token_to_its_largest_weight(run, capitals):
    lines = "abc\n\ncab\n"
    found = run("translate", capitals, "--format", "jsonl", stdin=lines).out.splitlines()
    answer = run("translate", capitals, "--format", "pharaoh", stdin=lines)
    assert answer.code == 0
    expected = []
    for shown in map(json.loads, found):
        rows = (shown["attention"] or [])[: len(shown["tokens"])]
        places = (f"{row.index(max(row))}-{number}" for number, row in enumerate(rows))
        expected.append(" ".join(places))
    assert answer.out.splitlines() == expected
    assert expected[1] == ""


def test_a_model_without_attention_writes_text_but_no_pharaoh(run, refused, blind):
    assert run("translate", blind, stdin="a\nb\n") == (0, "A\nB\n", "")
    said = f"format is pharaoh, but {blind} has no attention. Use text or jsonl."
    assert refused("translate", blind, "--format", "pharaoh") == f"regard: translate: {said}\n"


def test_n_best_rows_carry_line_and_score_best_first(run, capitals):
    answer = run("translate", capitals, "--nbest", 3, stdin="ab\n\nc\n")
    rows = [row.split("\t") for row in answer.out.splitlines()]
    assert [row[0] for row in rows] == ["1", "1", "1", "2", "3", "3", "3"]
    assert [rows[0][2], rows[4][2]] == ["AB", "C"]
    assert rows[3] == ["2", "0.0000", ""]
    assert len({row[2] for row in rows[:3]}) == 3
    best = json.loads(run("translate", capitals, "--format=jsonl", "--text=ab").out)
    # two letters and the end; the penalty is 1
    assert float(rows[0][1]) == pytest.approx(sum(best["token_scores"]) / 3, abs=1e-4)


def test_n_best_rows_print_the_length_normalized_score_that_ranks_them(run, capitals):
    words = ("translate", capitals, "--nbest", 9, "--length-penalty", 1)
    rows = run(*words, stdin="abc\ncab\na\n").out.splitlines()
    shown = run(*words, "--format=jsonl", stdin="abc\ncab\na\n").out.splitlines()
    found = [json.loads(line)["alternatives"] for line in shown]
    ranks = [[sum(x["token_scores"]) / len(x["token_scores"]) for x in line] for line in found]
    assert [row.split("\t")[1] for row in rows] == [f"{x:.4f}" for line in ranks for x in line]
    assert all(line == sorted(line, reverse=True) for line in ranks)
    sums = [[x["score"] for x in line] for line in found]
    assert any(line != sorted(line, reverse=True) for line in sums)
    for one in (one for line in found for one in line):
        assert len(one["token_scores"]) == len(one["tokens"]) + 1
        assert one["text"] == "".join(one["tokens"])


def test_pharaoh_prints_the_best_output_alone(refused, capitals, blind):
    said = refused("translate", capitals, "--format", "pharaoh", "--nbest", 3)
    problem = "format is pharaoh, which has one row per line, but nbest is 3. Use nbest = 1."
    assert said == f"regard: translate: {problem}\n"
    none = f"format is pharaoh, but {blind} has no attention. Use text or jsonl."
    assert refused("translate", blind, "--format", "pharaoh", "--nbest", 3) == (
        f"regard: translate: {none}\nregard: translate: {problem}\n"
    )
    # what is no number is told as that
    assert refused("translate", capitals, "--format", "pharaoh", "--nbest", 0) == (
        "regard: search: nbest is 0; it must be a whole number, at least 1.\n"
    )


def test_options_of_the_search_reach_it(run, capitals):
    def text(*words):
        return run("translate", capitals, "--text", "abc", *words).out.rstrip("\n")

    assert text("--beam-size", 1) == "ABC"
    assert text("--max-length", 2) == "AB"
    assert text("--prefix", "H").startswith("H")
    assert "A" not in text("--ban", "A", "--max-length", 4)
    assert len(text("--same-length")) == 3
    assert text("--same-length", "--max-length", 2) == "ABC"
    assert len(text("--min-length", 5, "--max-length", 5)) == 5
    drawn = [text("--temperature", 9, "--beam-size", 1, "--seed", seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert text("--temperature", "9", "--top-k", "1", "--beam-size", "1") == "ABC"
    # a sample is one draw, though the model keeps five hypotheses where nothing is drawn
    alone = text("--temperature", 9, "--seed", 2)
    assert alone == drawn[2] != text("--temperature", 9, "--beam-size", 5, "--seed", 2)


def test_top_k_and_top_p_require_sampling(refused, capitals):
    would = "but temperature is 0, which samples nothing. Use temperature = 1."
    assert refused("translate", capitals, "--top-k", 5, "--top-p", 0.5) == (
        f"regard: search: top_k is 5, {would}\nregard: search: top_p is 0.5, {would}\n"
    )


def test_unknown_tokens_are_copied_or_marked(run, tmp_path):
    small = [f"--set=model.{name}_size=8" for name in ("hidden", "embedding", "align", "readout")]
    (tmp_path / "few.tsv").write_text("a\tb\nc\td\n")
    # one symbol of each side is known, so that the other can be written only as unknown
    words = [
        "--set",
        "text.target_vocabulary_size=5",
        "--max-steps",
        1,
        "--dev",
        "few.tsv",
        "--quiet",
    ]
    assert run("train", "few.tsv", *words, *small).code == 0
    search = ["--text", "a", "--min-length", 1, "--max-length", 1]
    known = json.loads(run("translate", "few.regard", *search, "--format=jsonl").out)["tokens"]
    other = run("translate", "few.regard", *search, "--nbest", 2, "--unknown", "mark").out
    marked = [row.split("\t")[2] for row in other.splitlines()]
    copied = run("translate", "few.regard", *search, "--nbest", 2, "--unknown", "copy").out
    copied = [row.split("\t")[2] for row in copied.splitlines()]
    assert known[0] in copied
    assert [row.replace("�", "a") for row in marked] == copied
    assert "�" in marked


def test_several_models_are_an_ensemble(run, capitals, beginner):
    answer = run("translate", capitals, beginner, stdin="a\nb\n")
    assert (answer.code, len(answer.out.splitlines())) == (0, 2)
    alone, both = (
        json.loads(run("translate", *models, "--text=a", "--format=jsonl").out)
        for models in ([capitals], [capitals, capitals])
    )
    assert both["text"] == alone["text"]
    assert both["score"] == pytest.approx(alone["score"], abs=1e-5)


def test_at_a_terminal_it_prompts_and_hints(capitals):
    outer, inner = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, "translate", capitals],
        **dict.fromkeys(("stdin", "stdout", "stderr"), inner),
        env={**os.environ, "OMP_NUM_THREADS": "1", "TERM": "dumb"},
    )
    os.close(inner)
    os.write(outer, b"ab\n\nc\n\x04")
    seen = b""
    # reading fails when the other end is closed
    with suppress(OSError):
        while part := os.read(outer, 4096):
            seen += part
    os.close(outer)
    assert process.wait() == 0
    said = seen.decode().replace("\r\n", "\n")
    assert "Type a line and press Enter to translate it; Ctrl-D quits.\n" in said
    assert "AB\n" in said
    assert said.endswith(f"regard show {capitals} TEXT\n")


class Terminal(io.StringIO):
    """What somebody types."""

    def isatty(self):
        return True


def test_lines_typed_for_a_file_are_prompted_for_on_the_terminal(capitals, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", Terminal("ab\nc\n"))
    assert main(["translate", str(capitals)]) == 0
    assert capsys.readouterr() == (
        "AB\nC\n",
        "Type a line and press Enter to translate it; Ctrl-D quits.\n> > > \n",
    )


def test_an_invalid_line_does_not_end_an_interactive_session(capitals, monkeypatch, capsys):
    class Typed(Terminal):
        lines = iter(("ab", b"\xff", "c"))

        def readline(self, size=-1):
            line = next(self.lines, "")
            return f"{line.decode() if isinstance(line, bytes) else line}\n" if line else ""

    monkeypatch.setattr(sys, "stdin", Typed())
    assert main(["translate", str(capitals)]) == 0
    out, err = capsys.readouterr()
    assert out == "AB\nC\n"
    assert "> The line is not UTF-8. Type it again.\n> " in err


def test_a_terminal_gets_a_progress_bar(run, capitals, monkeypatch):
    shown = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", shown)
    answer = run("translate", capitals, stdin="a\n\nb\n")
    assert answer.out == "A\n\nB\n"
    assert "3/3" in shown.getvalue()


RULES = """
from regard.search import NEG_INF, Constraint

class Short(Constraint):
    def length(self, request):
        return 2

    def restrict(self, log_probs, requests, position, written):
        log_probs[..., self.target.encode("A")] = NEG_INF
"""


def test_a_custom_constraint_is_imported_from_the_working_folder(run, refused, capitals):
    Path("my_rules.py").write_text(RULES)
    answer = run("translate", capitals, "--constraint", "my_rules:Short", "--text", "abc")
    assert (answer.code, len(answer.out.strip())) == (0, 2)
    assert "A" not in answer.out
    again = run("translate", capitals, "--import", "my_rules", "--text=abc")
    assert again.out == "ABC\n"
    for words, module in (
        (("--constraint", "my_missing:Short"), "my_missing"),
        (("--import", "my_missing"), "my_missing"),
    ):
        said = refused("translate", capitals, *words, "--text", "abc")
        assert said == (
            f"regard: --import: {module} cannot be imported (No module named '{module}'). "
            "Check its name and the working directory.\n"
        )
    said = refused("translate", capitals, "--constraint", "my_rules:Long", "--text", "abc")
    problem = "constraint is my_rules:Long, but the module my_rules has no such class."
    assert said == f"regard: search: {problem}\n"


def test_an_option_that_was_renamed_is_accepted_and_names_the_new_one(run, capitals):
    found = run("translate", capitals, "--constraint=repetition_pattern", "--text=abcab")
    old = run("translate", capitals, "--same-pattern", "--text=abcab")
    assert old.out == found.out
    assert len(old.out.strip()) == 5
    assert old.err == "--same-pattern is now --constraint repetition_pattern\n" + found.err
    assert "--same-pattern" not in run("translate", "--help").out

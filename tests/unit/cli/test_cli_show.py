"""`regard show`, `info` and `check`: where a model looked, what it holds, what it would read."""

import json
import re
from pathlib import Path

import pytest

import regard

SMALL = [f"--set=model.{name}_size=8" for name in ("hidden", "embedding", "align", "readout")]


def test_show_draws_a_row_for_each_token_and_one_for_eos(run, capitals):
    answer = run("show", capitals, "cab")
    assert answer.code == 0
    rows = answer.out.splitlines()
    assert rows[0].startswith("cab → CAB   (log-probability -0.")
    assert rows[2].split() == ["c", "a", "b"]
    assert [row[0] for row in rows[3:7]] == ["C", "A", "B", "■"]
    assert "\x1b" not in answer.out
    assert answer.err == f"Next: regard translate {capitals} --format jsonl --text=cab\n"


def test_the_command_that_show_suggests_runs(run, capitals):
    hint = run("show", capitals, "--", "-a b").err.splitlines()[-1]
    assert hint == f"Next: regard translate {capitals} --format jsonl '--text=-a b'"
    assert run("translate", capitals, "--format", "jsonl", "--text=-a b").code == 0


def test_show_accepts_a_forced_target(run, capitals):
    answer = run("show", capitals, "ab", "--target", "HE")
    rows = answer.out.splitlines()
    assert rows[0].startswith("ab → HE   (log-probability -")
    assert [row[0] for row in rows[3:6]] == ["H", "E", "■"]


def test_show_uses_the_given_width(run, capitals):
    answer = run("show", capitals, "abcdefghabcdefgh", "--width", "24")
    assert max(map(len, answer.out.splitlines()[2:])) <= 24
    assert "more columns" in answer.out


def test_show_prints_notes_of_the_model(run, capitals):
    answer = run("show", capitals, "π")
    assert answer.err.startswith("All tokens of the source are unknown to the model; ")


@pytest.mark.parametrize("text", ["", "  "])
def test_show_needs_text(refused, capitals, text):
    said = refused("show", capitals, text)
    assert said == "regard: TEXT: It is blank; it must contain text.\n"


def test_info_describes_a_model(run, capitals):
    answer = run("info", capitals)
    assert answer.code == 0
    lines = answer.out.splitlines()
    rows = {line[:16].strip().replace(" s", "_s"): line[16:] for line in lines if line[0] != " "}
    assert (rows["encoder"], rows["decoder"]) == ("recurrent", "bahdanau")
    # eight letters and the four symbols that every vocabulary begins with
    assert (rows["source_symbols"], rows["target_symbols"]) == ("12", "12")
    assert (rows["normalization"], rows["seed"], rows["steps"]) == ("NFC", "1", "60")
    assert rows["task"] == "other"
    assert rows["accuracy"] == "100.00  outputs equal to a target, in percent"
    assert lines[-3].strip().startswith("accuracy|nrefs:1|")
    assert [line.split()[0] for line in lines[-4::2]] == ["accuracy", "CER"]
    assert answer.err == f"Next: regard translate {capitals}\n"


def test_info_for_programs_holds_settings_and_summary(run, capitals):
    answer = run("info", capitals, "--format", "json")
    found = json.loads(answer.out)
    assert answer.err == ""
    assert (found["source"], found["source_symbols"]) == ("characters", 12)
    assert found["settings"]["train"]["max_steps"] == 60
    assert found["summary"]["steps"] == 60


def test_settings_printed_by_info_can_be_read_back(run, capitals, pairs, tmp_path):
    answer = run("info", capitals, "--settings")
    assert (answer.code, answer.err) == (0, "")
    (tmp_path / "my.toml").write_text(answer.out)
    words = ["--config", "my.toml", "--dev", pairs, "--out", "again.regard", "--quiet"]
    assert run("train", pairs, *words) == (0, "", "")
    assert run("info", "again.regard", "--settings").out == answer.out
    # the same pairs, settings and seed are the same model
    assert (tmp_path / "again.regard").read_bytes() == capitals.read_bytes()


def test_check_counts_pairs_and_prints_automatic_settings(run, pairs):
    answer = run("check", pairs)
    assert answer.code == 0
    assert answer.out.startswith("pairs        12\nsources      12 different, 0 with several")
    assert (
        "source       1 to 3 characters, quartiles 1, 1, 2; 8 different characters; " in answer.out
    )
    assert "\nautomatic settings:\n  text.source = characters: " in answer.out
    assert answer.err == f"Next: regard train {pairs}\n"


def test_check_chooses_what_training_chooses(run, pairs):
    chosen = json.loads(run("check", pairs, "--format", "json").out)["chosen"]
    told = run("train", pairs, "--max-steps", 1, *SMALL).err
    for name in ("text.source", "data.max_source_length", "model.preset", "search.beam_size"):
        assert f"  {name} = {chosen[name]}: " in told


def test_check_reads_standard_input_once(run, pairs):
    found = [
        run("check", *words, "--format", "json", stdin=pairs.read_bytes()).out
        for words in ([pairs], ["-"])
    ]
    assert found[0] == found[1]
    assert json.loads(found[0])["pairs"] == 12


def test_check_counts_the_validation_set_too(run, pairs, tmp_path):
    (tmp_path / "dev.tsv").write_text("a\tA\nb\tX\nx\tY\n")
    found = json.loads(run("check", pairs, "--dev", "dev.tsv", "--format", "json").out)
    assert found["overlap"] == {"dev_pairs": 3, "same_pairs": 1, "same_sources": 2}


def test_the_hint_of_check_names_the_pairs(run, tmp_path):
    (tmp_path / "s").write_text("a\nb\n")
    (tmp_path / "t").write_text("A\nB\n")
    answer = run("check", "--source", "s", "--target", "t")
    assert answer.err == "Next: regard train --source s --target t\n"
    (tmp_path / "my pairs").write_text("a\tA\tx\nb\tB\ty\n")
    answer = run("check", "my pairs", "--columns", "source=1,3", "target=2")
    assert answer.err == "Next: regard train 'my pairs' --columns source=1,3 target=2\n"


def test_info_verifies_a_file_by_its_digest(run, capitals, tmp_path):
    path = tmp_path / "copy.regard"
    path.write_bytes(capitals.read_bytes())
    answer = run("info", path, "--verify")
    assert re.fullmatch(rf"{re.escape(str(path))}: undamaged, SHA-256 [0-9a-f]{{64}}\n", answer.out)
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    assert run("info", path).code == 0
    answer = run("info", path, "--verify")
    assert answer.code == 2
    assert f"{path}: Its content does not match its digest" in answer.err


def test_info_says_how_to_add_a_digest_to_an_older_file(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    old = Path(__file__).parents[2] / "compat" / "luong2015.regard"
    Path("old.regard").write_bytes(old.read_bytes())
    answer = run("info", "old.regard", "--verify")
    assert answer.code == 2
    advice = re.search(r"in Python: (.*)\.$", answer.err.splitlines()[0])[1]
    exec(advice, {"regard": regard})
    assert run("info", "old-new.regard", "--verify").code == 0

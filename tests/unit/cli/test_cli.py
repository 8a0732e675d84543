"""The command line answers, quickly, and in one sentence where it is misused."""

import io
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import regard
from regard.cli import COMMANDS, main
from regard.config.documentation import document
from regard.config.settings import SearchConfig

COMMAND = Path(sys.executable).with_name("regard")

HELP_OF_EVERY_COMMAND = """
import sys
from regard.cli import COMMANDS, main
codes = [main([*words, "--help"]) for words in ([], *([name] for name in COMMANDS))]
print(codes, sorted({"torch", "numpy", "pydantic", "rich"} & sys.modules.keys()))
"""


def test_the_installed_command_tells_its_version():
    answer = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout) == (0, f"regard {regard.__version__}\n")


def test_help_imports_neither_torch_nor_numpy():
    command = [sys.executable, "-c", HELP_OF_EVERY_COMMAND]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines()[-1] == f"{[0] * (len(COMMANDS) + 1)} []"
    assert answer.stderr == ""


def test_help_names_each_command_and_what_it_is_for_on_one_line(run):
    answer = run("--help")
    assert (answer.code, answer.err) == (0, "")
    shown = answer.out.split("Commands:\n")[1]
    assert [line.split()[0] for line in shown.splitlines()] == list(COMMANDS)
    assert "  train      Train a model on pairs of lines.\n" in shown


def test_an_empty_command_line_prints_help(run):
    assert run() == run("--help")


def test_every_search_setting_is_an_option_and_booleans_are_flags(run):
    shown = " ".join(run("translate", "--help").out.split())
    for entry in document(SearchConfig):
        option = f"--{entry.name.replace('_', '-')}"
        metavar = "" if entry.default in ("true", "false") else r" \S+"
        assert re.search(rf"{option}{metavar} {re.escape(entry.text)}", shown), option
    for command in ("evaluate", "show"):
        assert "--beam-size N" in run(command, "--help").out
        assert "--nbest" not in run(command, "--help").out


def test_the_help_of_a_setting_is_its_documentation(run):
    shown = " ".join(run("translate", "--help").out.split())
    assert "--top-k N Sample from this many likeliest tokens. 0 means all." in shown
    shown = " ".join(run("train", "--help").out.split())
    assert "--max-minutes M Time for the whole run in minutes: " in shown


@pytest.mark.parametrize(
    ("words", "sentence", "command"),
    [
        (["translte"], "No such command 'translte'. Did you mean 'translate', 'train'?", "regard"),
        (["--foo"], "No such option: --foo", "regard"),
        (["translate"], "Missing argument 'MODEL'.", "regard translate"),
        (["train", "x", "--columns", "source=1"], "Option '--columns' requires 2 arguments.", None),
        (["info", "--setting"], "No such option: --setting (Possible options: --settings)", None),
        (["check", "a", "b"], "Got unexpected extra argument(s) (b)", "regard check"),
    ],
)
def test_invalid_command_lines_are_refused(refused, words, sentence, command):
    command = command or f"regard {words[0]}"
    assert refused(*words) == f"regard: {sentence}\nNext: {command} --help\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["translate", "m", "--format", "josnl"],
            "translate: format is josnl; it must be text, jsonl or pharaoh. Did you mean jsonl?",
        ),
        (
            ["translate", "m", "--unknown", "cpy"],
            "translate: unknown is cpy; it must be copy or mark. Did you mean copy?",
        ),
        (
            ["evaluate", "m", "p", "--format", "text"],
            "evaluate: format is text; it must be table or json.",
        ),
        (
            ["check", "p", "--format", "table"],
            "check: format is table; it must be text or json.",
        ),
        (
            ["info", "m", "--format", "jsonl"],
            "info: format is jsonl; it must be text or json. Did you mean json?",
        ),
        (
            ["show", "m", "x", "--width", "wide"],
            "show: width is wide; it must be a whole number, at least 1.",
        ),
        (
            ["evaluate", "m", "p", "--samples", "0"],
            "evaluate: samples is 0; it must be a whole number, at least 1.",
        ),
        (
            ["evaluate", "m", "p", "--seed", "1.5"],
            "evaluate: seed is 1.5; it must be a whole number, at least 0.",
        ),
    ],
)
def test_an_option_with_fixed_choices_names_them(refused, words, sentence):
    assert refused(*words) == f"regard: {sentence}\n"


def test_a_closed_pipe_ends_the_command(pairs, monkeypatch, capsys):
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as nobody:
        monkeypatch.setattr(sys, "stdout", nobody)
        assert main(["check", str(pairs), "--format", "json"]) == 141
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
def test_output_that_cannot_be_written_is_an_error(pairs, monkeypatch, capsys):
    full = open("/dev/full", "w")  # noqa: SIM115 (closing it fails too)
    monkeypatch.setattr(sys, "stdout", full)
    assert main(["check", str(pairs), "--format", "json"]) == 2
    assert capsys.readouterr().err == "regard: standard output: No space left on device\n"
    with suppress(OSError):
        full.close()


def test_output_is_utf_8_whatever_the_locale(pairs, monkeypatch, tmp_path):
    path = tmp_path / "naïve.tsv"
    path.write_text("a\tb\n", encoding="utf-8")
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert main(["check", "--source", str(path), "--target", str(pairs)]) == 2
    assert "naïve.tsv: it has 1 lines" in written.getvalue().decode("utf-8")


def test_the_doctor_names_every_op_and_confirms_batch_invariance(run):
    from regard.kernels import OPS, Call, bfloat16_instructions

    answer = run("doctor")
    assert answer.code == 0
    assert answer.out.startswith(f"regard {regard.__version__}, torch ")
    chip = ", ".join(bfloat16_instructions()) or "none; float32 is used"
    assert f"\nbfloat16 of the CPU: {chip}\n" in answer.out
    rows = [re.split("  +", line) for line in answer.out.splitlines()]
    for name, op in OPS.items():
        assert [name, *op.explain(Call("cpu"))] in rows
    at_once = ["at once", "one call for all positions"]
    assert ["bahdanau2015", *at_once] in rows
    assert ["luong2015, cell = gru_after", *at_once] in rows
    why = "at once: its score is LocationScore; every decoder can"
    assert ["luong2015, score = location", "step by step", why] in rows
    for preset in ("bahdanau2015", "vaswani2017"):
        same = f"{preset}: a line decoded alone and in a batch of 41 is the same to the last bit\n"
        assert same in answer.out
    assert answer.err == "Next: regard demo dates\n"


def test_the_doctor_lists_what_runs_for_each_part_of_a_model(run):
    from regard.inference import explain_decoding
    from regard.saved_model import load_model
    from regard.training.explain import explain_training

    path = Path(__file__).parents[2] / "compat" / "bahdanau2015.regard"
    answer = run("doctor", path)
    assert answer.code == 0
    rows = [re.split("  +", line) for line in answer.out.splitlines()]
    saved = load_model(path)
    for device in ("cpu", "cuda"):
        for work, decisions in (
            ("training", explain_training(saved.model, saved.settings.train, device)),
            ("decoding", explain_decoding(saved.model, device)),
        ):
            assert [f"{work} on {device}", "runs as", "because"] in rows
            for part, decision in decisions.items():
                assert [part, *decision] in rows
    assert ["decoder step", "FusedBahdanauStep", "precomputed and joined products"] in rows
    assert answer.err == f"Next: regard info {path}\n"


def test_the_doctor_refuses_a_file_that_is_not_a_model(refused, pairs):
    assert str(pairs) in refused("doctor", pairs)


def test_the_doctor_fails_without_batch_invariance_and_names_missing_packages(run, monkeypatch):
    doctor = sys.modules["regard.cli.doctor"]
    monkeypatch.setattr(doctor, "_invariance", lambda: {"bahdanau2015": True, "cho2014": False})
    monkeypatch.setattr(doctor, "EXTRAS", {"no-such-package": "pip install it"})
    answer = run("doctor")
    assert answer.code == 1
    assert "no-such-package: not installed; install it with: pip install it\n" in answer.out
    assert "cho2014: a line decoded alone and in a batch of 41 is NOT the same: " in answer.out

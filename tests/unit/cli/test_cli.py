"""The command line answers, and the doctor says what runs."""

import os
import subprocess
import sys
from pathlib import Path

import regard
from regard.kernels import CHOICES

COMMAND = Path(sys.executable).with_name("regard")


def run(*arguments):
    environment = {**os.environ, "COLUMNS": "120"}
    return subprocess.run(
        [COMMAND, *arguments], capture_output=True, text=True, env=environment, check=False
    )


def test_the_installed_command_tells_its_version():
    answer = run("--version")
    assert (answer.returncode, answer.stdout) == (0, f"regard {regard.__version__}\n")


def test_help_lists_the_commands():
    answer = run("--help")
    assert answer.returncode == 0
    assert "doctor" in answer.stdout


def test_an_unknown_command_exits_with_two():
    answer = run("translte")
    assert answer.returncode == 2
    assert "No such command 'translte'" in answer.stderr


def test_the_doctor_names_every_op_and_what_runs_it():
    answer = run("doctor")
    assert answer.returncode == 0, answer.stderr
    for name in CHOICES:
        assert name in answer.stdout
    assert "resets after" in answer.stdout
    assert answer.stdout.rstrip().endswith("Next: regard --help")

"""A line budget: 400 lines a file, 60 a function; the total is printed at the end of each run."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILE_LINES, FUNCTION_LINES = 400, 60
FILES = [
    path
    for folder in ("src", "tests", "examples", "dev")
    for path in sorted((ROOT / folder).rglob("*.py"))
]


def too_long(text):
    """Return the parts of a file that exceed the budget."""
    lines = text.count("\n")
    problems = [f"{lines} lines"] if lines > FILE_LINES else []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                problems.append(f"{node.name} has {length} lines")
    return problems


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES])
def test_files_and_functions_stay_within_their_line_limits(path):
    assert too_long(path.read_text()) == []


def test_a_file_or_function_that_is_too_long_is_noticed():
    assert too_long("x = 1\n" * 401) == ["401 lines"]
    assert too_long("def f():\n" + "    x = 1\n" * 60) == ["f has 61 lines"]
    assert too_long("def f():\n" + "    x = 1\n" * 59) == []

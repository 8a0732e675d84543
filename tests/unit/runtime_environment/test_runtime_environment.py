"""Importing regard prepares the process as its command does; if torch came first, it says so."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src"
NAMES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "ONEDNN_PRIMITIVE_CACHE_CAPACITY")
SHOW = """
import json, os, sys, warnings
{first}
import regard
from regard import runtime_environment
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    runtime_environment.warn_if_threads_spin(1)
    warned = [len(caught)]
    for _ in range(2):
        runtime_environment.warn_if_threads_spin(2)
assert warned == [0]
print(json.dumps([dict(os.environ), [str(warning.message) for warning in caught]]))
"""
# as if torch were loaded: the real one takes seconds
TORCH = "sys.modules['torch'] = sys"


def prepared(first="", **variables):
    """Return the environment of a process that imports regard, and its warnings."""
    environment = {name: text for name, text in os.environ.items() if name not in NAMES}
    run = subprocess.run(
        [sys.executable, "-c", SHOW.format(first=first)],
        env={**environment, **variables, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)


def test_importing_the_library_limits_spinning_and_caches():
    environment, warnings = prepared()
    assert environment["GOMP_SPINCOUNT"] == "4000"
    assert environment["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "64"
    assert warnings == []


@pytest.mark.parametrize("variables", [{"GOMP_SPINCOUNT": "7"}, {"OMP_WAIT_POLICY": "passive"}])
@pytest.mark.parametrize("first", ["", TORCH])
def test_variables_that_the_user_has_set_stay_and_nothing_is_said(variables, first):
    environment, warnings = prepared(first, **variables)
    assert {name: environment.get(name) for name in NAMES[:2]} == {
        name: variables.get(name) for name in NAMES[:2]
    }
    assert warnings == []


@pytest.mark.skipif(sys.platform != "linux", reason="threads spin in libgomp")
def test_torch_imported_first_is_warned_about_once():
    _, warnings = prepared(TORCH)
    assert len(warnings) == 1
    assert "Import regard first, or set the environment variable GOMP_SPINCOUNT=4000" in warnings[0]

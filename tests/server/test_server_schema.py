"""The OpenAPI document against the app, by requests that schemathesis makes up from it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = 200
COMMAND = Path(sys.executable).with_name("schemathesis")

# what the document allows may still be what a model cannot do: a token that it never writes
SETTINGS = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 422]

# too many lines are too much, and 413 is not among what it takes for a refusal
[checks.negative_data_rejection]
expected-statuses = [405, 413, 415, 422]
"""


@pytest.mark.slow
@pytest.mark.skipif(not COMMAND.exists(), reason="pip install schemathesis would do")
def test_every_response_conforms_to_the_openapi_document(
    serve, translators, tmp_path, record_property
):
    models = {name: translators[name] for name in ("vaswani2017", "cho2014")}
    client = serve(models, lines=20)
    (tmp_path / "schemathesis.toml").write_text(SETTINGS)
    options = [
        "--request-timeout",
        "60",
        "--checks",
        "all",
        "--max-examples",
        str(EXAMPLES),
        "--continue-on-failure",
    ]
    address = "http://{}:{}/openapi.json".format(*client.address)
    run = subprocess.run(
        [str(COMMAND), "run", address, *options, "--no-color"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    # what it found stands above a request that may be long
    output = [line[:500] for line in (run.stdout + run.stderr).splitlines()]
    assert run.returncode == 0, "\n".join(output)
    counted = re.search(r"(\d+) generated, (\d+) passed", run.stdout)
    assert counted is not None, run.stdout[-2000:]
    assert counted[1] == counted[2]
    record_property("requests made up from the document", int(counted[1]))

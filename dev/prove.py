"""`make prove`: the promises of `make test` with full counts, as a table and as a file.

Runs the fast tests, the slow ones, property tests with very many cases and every mutation. After
each of these parts it writes `dev/proof.json`: the counts, the commit and the machine.
`python -m dev.prove mutations` runs one part and leaves the others as they are;
`python -m dev.prove slow=dates` runs only those tests of a part whose names match.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def command_output(*command: str) -> str:
    """Return the output of a command."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def machine() -> dict[str, Any]:
    """Describe the machine, without its name."""
    import numpy
    import torch

    return {
        "cores": os.cpu_count(),
        "processor": platform.machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
    }


def run_tests(*options: str, **variables: str) -> list[dict[str, Any]]:
    """Run tests in two processes; return each with its verdict and its counts."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = ["-m", "pytest", "--numprocesses", "2", f"--junitxml={report}", *options]
        environment = {**os.environ, **variables}
        subprocess.run([sys.executable, *command], cwd=ROOT, check=False, env=environment)
        cases = ElementTree.parse(report).iter("testcase")
        return [
            {
                "proof": case.get("name"),
                "passed": all(case.find(x) is None for x in ("failure", "error", "skipped")),
                "counted": {p.get("name"): p.get("value") for p in case.iter("property")},
                "seconds": round(float(case.get("time") or 0)),
            }
            for case in cases
        ]


# generated cases per test, at least 100,000 for each file
PROPERTIES = {
    "tests/unit/data/test_data_readers_property.py": 20_000,
    "tests/unit/text/test_text_tokenizers.py": 35_000,
    "tests/unit/config/test_config_properties.py": 25_000,
    "tests/unit/model_file/test_model_file.py": 100_000,
}


def property_tests(keywords: str) -> list[dict[str, Any]]:
    """Run the property tests with very many generated cases."""
    return [
        proof | {"counted": proof["counted"] | {"cases": cases}}
        for path, cases in PROPERTIES.items()
        for proof in run_tests(
            path, "-k", keywords, "-m", "hypothesis and not slow", REGARD_CASES=str(cases)
        )
    ]


def run_mutations(keywords: str) -> list[dict[str, Any]]:
    """Run every mutation; return the verdict and its last line."""
    start = time.monotonic()
    command = [sys.executable, "-m", "dev.mutate", keywords]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
        lines = []
        for line in run.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    counted = [line for line in lines if "mutations were noticed" in line]
    return [
        {
            "proof": " of ".join(filter(None, ["mutations", keywords])),
            "passed": run.returncode == 0,
            "counted": {"noticed": counted[-1].split(" mutations")[0] if counted else "none"},
            "seconds": round(time.monotonic() - start),
        }
    ]


def slow_tests(keywords: str) -> list[dict[str, Any]]:
    """Run the slow tests."""
    return run_tests("-k", keywords, "-m", "slow and not gpu")


def fast_tests(keywords: str) -> list[dict[str, Any]]:
    """Run the fast tests: a mutation is noticed only by tests that pass without it."""
    proofs = run_tests("-k", keywords, "-m", "not slow and not gpu")
    failed = [proof for proof in proofs if not proof["passed"]]
    counted = {"tests": len(proofs), "failed": len(failed)}
    seconds = sum(proof["seconds"] for proof in proofs)
    summary = {"proof": "fast", "passed": not failed, "counted": counted, "seconds": seconds}
    return [summary, *failed]


PARTS = {
    "fast": fast_tests,
    "slow": slow_tests,
    "properties": property_tests,
    "mutations": run_mutations,
}


def main() -> None:
    """Run the parts, print the table and write the file."""
    path = ROOT / "dev" / "proof.json"
    record = json.loads(path.read_text()) if path.exists() else {}
    record = {name: record[name] for name in PARTS if name in record}
    failed = []
    for argument in sys.argv[1:] or PARTS:
        part, _, keywords = argument.partition("=")
        commit = command_output("git", "rev-parse", "HEAD")
        changed = command_output("git", "status", "--porcelain")
        # an earlier part may have changed this file
        clean = changed in ("", "M dev/proof.json")
        proofs = [proof | {"commit": commit, "clean": clean} for proof in PARTS[part](keywords)]
        for proof in proofs:
            verdict = "passed" if proof["passed"] else "FAILED"
            counted = ", ".join(f"{name} {count}" for name, count in proof["counted"].items())
            print(f"{verdict}  {proof['seconds']:5d} s  {proof['proof']}: {counted}", flush=True)
        repeated_names = {proof["proof"] for proof in proofs}
        earlier_proofs = record.get(part, {}).get("proofs", []) if keywords else []
        merged_proofs = [
            proof for proof in earlier_proofs if proof["proof"] not in repeated_names
        ] + proofs
        record[part] = {"machine": machine(), "proofs": merged_proofs}
        path.write_text(json.dumps(record, indent=2) + "\n")
        failed += [] if proofs and all(proof["passed"] for proof in proofs) else [part]
    if failed:
        raise SystemExit(f"not proven: {', '.join(failed)}")


if __name__ == "__main__":
    main()

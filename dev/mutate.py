"""`make mutate`: break the code on purpose, and fail if the tests do not notice.

Each mutation is one small wrong patch, applied alone to a copy of the repository. The fast tests
run there and must fail: first the test that killed it last time (`dev/killers.json`), then those of
its package, and at the end, for survivors, all tests. This proves nothing if the tests fail without
a patch; therefore `make mutate` and `make prove` run them too. `python -m dev.mutate WORD` runs the
mutations whose text contains the word.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
KILLERS = ROOT / "dev" / "killers.json"
MIN_MUTATIONS, MIN_PER_PACKAGE = 25, 4


class Mutation(NamedTuple):
    """A wrong patch; `old` occurs exactly once in its file."""

    path: str
    why: str
    old: str
    new: str

    @property
    def package(self) -> str:
        """Return the package of regard that it is in."""
        return self.path.split("/")[0].removesuffix(".py")

    @property
    def key(self) -> str:
        """Return its key in `dev/killers.json`."""
        return f"{self.path}: {self.why}"


MUTATIONS = [
    Mutation(**entry)
    for path in sorted((ROOT / "dev" / "mutations").glob("*.toml"))
    for entry in tomllib.loads(path.read_text())["mutation"]
]


def apply(mutation: Mutation, folder: Path) -> None:
    """Patch the one place that the mutation names."""
    path = folder / "src" / "regard" / mutation.path
    text = path.read_text()
    if text.count(mutation.old) != 1:
        raise SystemExit(
            f"{mutation.path}: occurs {text.count(mutation.old)} times, not once: {mutation.old}"
        )
    path.write_text(text.replace(mutation.old, mutation.new))


def first_failure(folder: Path, *tests: str) -> str | None:
    """Run the fast tests in a folder; return the first failure, or None."""
    # test_mutations would fail on every patch
    options = ["-x", "-q", "-p", "no:cacheprovider", "--ignore", "tests/test_mutations.py"]
    if not tests:
        options += ["--numprocesses", "2"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *tests, *options, "-m", "not slow and not gpu"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    # 4 and 5: the test no longer exists
    if run.returncode in (4, 5) and tests and "::" in tests[0]:
        return None
    if run.returncode not in (0, 1, 2):
        raise SystemExit(f"the tests did not run: {run.stdout[-500:]}{run.stderr[-500:]}")
    if run.returncode == 0:
        return None
    lines = [x for x in run.stdout.splitlines() if x.startswith(("FAILED", "ERROR"))]
    if not lines:
        raise SystemExit(f"the tests did not run: {run.stdout[-500:]}{run.stderr[-500:]}")
    return lines[0]


def nearest_tests(mutation: Mutation) -> str:
    """Return the folder of the tests that should fail first."""
    if mutation.path.startswith("server/page/"):
        return "tests/page"
    package = mutation.package
    folder = {"errors": "config", "saved_model": "model_file"}.get(package, package)
    return "tests/server" if folder == "server" else f"tests/unit/{folder}"


@contextmanager
def temporary_copy() -> Iterator[Path]:
    """Yield a copy of the repository that may be patched."""
    ignored = shutil.ignore_patterns(".git", ".venv", "out", "__pycache__", ".*_cache")
    with tempfile.TemporaryDirectory() as folder:
        yield shutil.copytree(ROOT, Path(folder) / "copy", ignore=ignored)


class MutationRunner:
    """Tries mutations, and records which test killed each."""

    def __init__(self) -> None:
        self.killers: dict[str, str] = json.loads(KILLERS.read_text()) if KILLERS.exists() else {}
        self.lock = Lock()

    def is_killed(self, mutation: Mutation, *selections: tuple[str, ...]) -> bool:
        """Try a mutation in a copy of its own, with several selections of tests in this order."""
        start = time.monotonic()
        with temporary_copy() as folder:
            apply(mutation, folder)
            failures = (first_failure(folder, *tests) for tests in selections)
            failure = next(filter(None, failures), None)
        verdict = "survived" if failure is None else f"killed by {failure[:110]}"
        print(f"{time.monotonic() - start:5.1f} s  {mutation.key}: {verdict}", flush=True)
        if failure is not None:
            # without parameters, which may change
            test = re.sub(r"\[.*", "", failure.split(" ", 1)[1].split(" - ")[0])
            with self.lock:
                self.killers[mutation.key] = test
                keys = {one.key for one in MUTATIONS}
                present = {k: t for k, t in sorted(self.killers.items()) if k in keys}
                KILLERS.write_text(json.dumps(present, indent=2, ensure_ascii=False) + "\n")
        return failure is not None

    def is_killed_nearby(self, mutation: Mutation) -> bool:
        """Try the test that killed it last time, then those of its package."""
        killer = self.killers.get(mutation.key)
        first = [(killer,)] if killer else []
        return self.is_killed(mutation, *first, (nearest_tests(mutation),))


def main() -> None:
    """Try every mutation, and report the survivors."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    counts = dict(sorted(Counter(one.package for one in MUTATIONS).items()))
    print(", ".join(f"{name} {count}" for name, count in counts.items()))
    if len(MUTATIONS) < MIN_MUTATIONS or min(counts.values()) < MIN_PER_PACKAGE:
        raise SystemExit(
            f"there must be at least {MIN_MUTATIONS} mutations, {MIN_PER_PACKAGE} per package"
        )
    selected_mutations = [m for m in MUTATIONS if word in f"{m.path} {m.why}"]
    runner = MutationRunner()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = list(pool.map(runner.is_killed_nearby, selected_mutations))
    left = [
        mutation
        for mutation, killed in zip(selected_mutations, verdicts, strict=True)
        if not killed
    ]
    # sequentially: a run of all tests uses every core
    survivors = [mutation for mutation in left if not runner.is_killed(mutation, ())]
    num_noticed = len(selected_mutations) - len(survivors)
    print(f"{num_noticed} of {len(selected_mutations)} mutations were noticed")
    if survivors:
        raise SystemExit("not noticed: " + "; ".join(one.key for one in survivors))


if __name__ == "__main__":
    main()

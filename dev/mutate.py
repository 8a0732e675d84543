"""`make mutate`: break the code on purpose, and fail if the tests do not notice.

Each mutation is one small wrong patch, applied alone to a copy of the repository; the fast tests
then run there and must fail. `python -m dev.mutate WORD` runs those whose text holds the word.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
AT_LEAST, AT_LEAST_A_ROOM = 25, 4


class Mutation(NamedTuple):
    """One wrong patch; `old` stands exactly once in its file."""

    path: str
    why: str
    old: str
    new: str


MUTATIONS = [
    Mutation(**entry)
    for path in sorted((ROOT / "dev" / "mutations").glob("*.toml"))
    for entry in tomllib.loads(path.read_text())["mutation"]
]


def room(mutation: Mutation) -> str:
    """Return the room that a mutation is in."""
    return mutation.path.split("/")[0].removesuffix(".py")


def apply(mutation: Mutation, folder: Path) -> None:
    """Patch the one place that the mutation names."""
    path = folder / "src" / "regard" / mutation.path
    text = path.read_text()
    if text.count(mutation.old) != 1:
        raise SystemExit(
            f"{mutation.path}: stands {text.count(mutation.old)} times: {mutation.old}"
        )
    path.write_text(text.replace(mutation.old, mutation.new))


def failure(folder: Path, *where: str) -> str | None:
    """Run the fast tests in a folder; return the first that failed, or None."""
    # that a patch still fits is no test of what the code does
    options = ["-x", "-q", "-p", "no:cacheprovider", "--ignore", "tests/test_mutations.py"]
    if not where:
        options += ["--numprocesses", "2"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *where, *options, "-m", "not slow and not gpu"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    if run.returncode not in (0, 1, 2):
        raise SystemExit(f"the tests did not run: {run.stdout[-500:]}{run.stderr[-500:]}")
    if run.returncode == 0:
        return None
    lines = [x for x in run.stdout.splitlines() if x.startswith(("FAILED", "ERROR"))]
    if not lines:
        raise SystemExit(f"the tests did not run: {run.stdout[-500:]}{run.stderr[-500:]}")
    return lines[0]


def nearest(mutation: Mutation) -> str:
    """Return the folder of the tests that should notice first."""
    near = {"errors": "config", "kernels": "nn"}.get(room(mutation), room(mutation))
    return "tests/server" if near == "server" else f"tests/unit/{near}"


@contextmanager
def copy() -> Iterator[Path]:
    """Lay out a copy of the repository that may be broken."""
    ignored = shutil.ignore_patterns(".git", ".venv", "out", "__pycache__", ".*_cache")
    with tempfile.TemporaryDirectory() as name:
        yield shutil.copytree(ROOT, Path(name) / "copy", ignore=ignored)


def survives(mutation: Mutation) -> bool:
    """Try one mutation in a copy of its own."""
    with copy() as folder:
        apply(mutation, folder)
        start = time.monotonic()
        found = failure(folder, nearest(mutation)) or failure(folder)
    verdict = "SURVIVED" if found is None else f"killed by {found[:110]}"
    seconds = time.monotonic() - start
    print(f"{seconds:5.1f} s  {mutation.path}: {mutation.why}: {verdict}", flush=True)
    return found is None


def main() -> None:
    """Try every mutation, and say which the tests did not notice."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    counts = {r: sum(room(m) == r for m in MUTATIONS) for r in sorted(set(map(room, MUTATIONS)))}
    print(", ".join(f"{name} {count}" for name, count in counts.items()))
    if len(MUTATIONS) < AT_LEAST or min(counts.values()) < AT_LEAST_A_ROOM:
        raise SystemExit(f"at least {AT_LEAST} mutations, {AT_LEAST_A_ROOM} a room, would do")
    with copy() as folder:
        if found := failure(folder):
            raise SystemExit(f"the tests are red before any mutation: {found}")
    chosen = [m for m in MUTATIONS if word in f"{m.path} {m.why}"]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = list(pool.map(survives, chosen))
    alive = [mutation for mutation, survived in zip(chosen, verdicts, strict=True) if survived]
    print(f"{len(chosen) - len(alive)} of {len(chosen)} mutations were noticed")
    if alive:
        raise SystemExit("not noticed: " + "; ".join(f"{m.path}: {m.why}" for m in alive))


if __name__ == "__main__":
    main()

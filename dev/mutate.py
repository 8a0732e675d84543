"""`make mutate`: break the code on purpose, and fail if the tests do not notice.

Each mutation is one small wrong patch, applied alone to a copy of the repository; the fast tests
then run there and must fail. First the test that noticed last time (`dev/killers.json`), then those
of the room, and at the end, for what nobody has noticed, all. It means nothing where the tests are
red without any patch, so `make mutate` and `make prove` run them too. `python -m dev.mutate WORD`
runs the mutations whose text holds the word.
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
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
KILLERS = ROOT / "dev" / "killers.json"
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


def name(mutation: Mutation) -> str:
    """Return what a mutation is called."""
    return f"{mutation.path}: {mutation.why}"


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
    # 4 and 5: there is no such test any more
    if run.returncode in (4, 5) and where and "::" in where[0]:
        return None
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
    if mutation.path.startswith("server/page/"):
        return "tests/page"
    near = {"errors": "config", "saved_model": "model_file"}.get(room(mutation), room(mutation))
    return "tests/server" if near == "server" else f"tests/unit/{near}"


@contextmanager
def copy() -> Iterator[Path]:
    """Lay out a copy of the repository that may be broken."""
    ignored = shutil.ignore_patterns(".git", ".venv", "out", "__pycache__", ".*_cache")
    with tempfile.TemporaryDirectory() as name:
        yield shutil.copytree(ROOT, Path(name) / "copy", ignore=ignored)


class Hunt:
    """Tries mutations, and remembers which test noticed each."""

    def __init__(self) -> None:
        self.killers: dict[str, str] = json.loads(KILLERS.read_text()) if KILLERS.exists() else {}
        self.lock = Lock()

    def noticed(self, mutation: Mutation, *wheres: tuple[str, ...]) -> bool:
        """Try one mutation in a copy of its own, with tests from here and there, in this order."""
        start = time.monotonic()
        with copy() as folder:
            apply(mutation, folder)
            found = next(filter(None, (failure(folder, *where) for where in wheres)), None)
        verdict = "not noticed" if found is None else f"killed by {found[:110]}"
        print(f"{time.monotonic() - start:5.1f} s  {name(mutation)}: {verdict}", flush=True)
        if found is not None:
            # whatever the parameters: those of a test come and go
            test = re.sub(r"\[.*", "", found.split(" ", 1)[1].split(" - ")[0])
            with self.lock:
                self.killers[name(mutation)] = test
                names = set(map(name, MUTATIONS))
                known = {n: t for n, t in sorted(self.killers.items()) if n in names}
                KILLERS.write_text(json.dumps(known, indent=2, ensure_ascii=False) + "\n")
        return found is not None

    def near(self, mutation: Mutation) -> bool:
        """Try the test that noticed last time, then the room's."""
        known = self.killers.get(name(mutation))
        return self.noticed(mutation, *([(known,)] if known else []), (nearest(mutation),))


def main() -> None:
    """Try every mutation, and say which the tests did not notice."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    counts = {r: sum(room(m) == r for m in MUTATIONS) for r in sorted(set(map(room, MUTATIONS)))}
    print(", ".join(f"{name} {count}" for name, count in counts.items()))
    if len(MUTATIONS) < AT_LEAST or min(counts.values()) < AT_LEAST_A_ROOM:
        raise SystemExit(f"at least {AT_LEAST} mutations, {AT_LEAST_A_ROOM} a room, would do")
    chosen = [m for m in MUTATIONS if word in f"{m.path} {m.why}"]
    hunt = Hunt()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = list(pool.map(hunt.near, chosen))
    left = [mutation for mutation, seen in zip(chosen, verdicts, strict=True) if not seen]
    # all tests take both cores, so one after another
    alive = [mutation for mutation in left if not hunt.noticed(mutation, ())]
    print(f"{len(chosen) - len(alive)} of {len(chosen)} mutations were noticed")
    if alive:
        raise SystemExit("not noticed: " + "; ".join(map(name, alive)))


if __name__ == "__main__":
    main()

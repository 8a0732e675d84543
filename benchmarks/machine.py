"""Describe the machine and the versions: only figures of the same ones may be compared."""

import os
import platform
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def machine(threads: int) -> dict[str, Any]:
    """Describe the machine, the versions and the commit, without names of hosts or folders."""
    return {
        "cores": os.cpu_count(),
        "threads": threads,
        "processor": _processor(),
        "gpu": gpu(),
        "python": platform.python_version(),
        "torch": package_version("torch"),
        "numpy": package_version("numpy"),
        "regard": package_version("regard"),
        "commit": _git("rev-parse", "HEAD"),
        # logs of recipes do not change what is run
        "dirty": bool(_git("status", "--porcelain", "--", ".", ":!recipes/logs")),
    }


def package_version(package: str) -> str | None:
    """Return the version of a package of this Python."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def installed_version(python: Path, package: str) -> str | None:
    """Return the version of a package in another virtual environment; None if it is missing."""
    if not python.exists():
        return None
    code = f"from importlib.metadata import version; print(version({package!r}))"
    completed = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return completed.stdout.strip() or None


@cache
def gpu() -> str | None:
    """Return the name of the first GPU, queried in a process of its own, which then releases it."""
    code = "import torch; print(torch.cuda.get_device_name() if torch.cuda.is_available() else '')"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return completed.stdout.strip() or None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _git(*words: str) -> str | None:
    completed = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return completed.stdout.strip() if completed.returncode == 0 else None

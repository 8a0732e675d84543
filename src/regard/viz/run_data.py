"""Reads a run folder for its report: everything intact, and a message for the rest.

A run may still be writing the files. Nothing here needs torch.
"""

import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.errors import DataError, InputError, ModelFileError
from regard.safetensors_files import read_metadata
from regard.viz import messages
from regard.viz.alignment import Alignment

END = "■"
MAX_NUMBER = 1e300
Entry = dict[str, Any]


@dataclass(frozen=True)
class RunData:
    """A run: its settings, its logs, its progress, and what could not be read."""

    name: str
    settings: Entry
    updates: list[Entry]
    validations: list[Entry]
    throughput: list[Entry]
    lines: list[Entry]
    recipe: Entry
    progress: Entry
    summary: Entry
    problems: list[str] = field(default_factory=list)

    @property
    def finished(self) -> bool:
        """Whether the run has finished."""
        return self.progress.get("finished") is True

    @property
    def step(self) -> int:
        """The last known update."""
        logged = [entry["step"] for entry in (*self.updates, *self.validations)]
        return max([*logged, self.progress.get("step", 0)])


def read_run(folder: Path) -> RunData:
    """Read a run folder, even if the run is not finished or files are damaged."""
    if not (folder / "settings.toml").exists() and not (folder / "log.jsonl").exists():
        raise DataError(str(folder), None, _why_no_run(folder))
    problems: list[str] = []
    log = _entries(folder / "log.jsonl", problems)
    metadata = _metadata(folder / "state.safetensors", problems)
    recipe = _dict_in(metadata, "recipe") or _dict_in(_json(folder / "prepared.json", []), "recipe")
    progress = _dict_in(metadata, "progress")
    finished = progress.get("finished") is True
    # if a finished run continues with other settings, these lines are outdated
    lines = _entries(folder / "dev.jsonl", problems) if finished else []
    return RunData(
        name=folder.absolute().name,
        settings=_toml(folder / "settings.toml", problems),
        updates=_sort_by_step(log, "loss", "rate", "tokens"),
        validations=_sort_by_step(log, "score", "best"),
        throughput=_sort_by_step(
            _entries(_throughput_log(folder), problems), "tokens_per_second", "seconds"
        ),
        lines=[
            x
            for x in lines
            if _has_numbers(x, "source_length", "edits", "length") and _has_texts(x)
        ],
        recipe=recipe,
        progress=progress if _has_numbers(progress, "step") else {},
        summary=_json(folder / "summary.json", problems) if finished else {},
        problems=problems,
    )


def attention_of(sample: Any) -> Alignment | None:
    """Return the attention of a sample; None if it is missing or invalid."""
    if not isinstance(sample, dict) or not sample.get("weights"):
        return None
    try:
        return Alignment(sample["source_tokens"], (*sample["tokens"], END), sample["weights"])
    except (InputError, KeyError, TypeError, ValueError):
        return None


def sample_of(entry: Entry, name: str) -> Entry | None:
    """Return a sample of a validation, if it is valid."""
    sample = entry.get(name)
    parts = ("source", "target", "output")
    whole = isinstance(sample, dict) and all(isinstance(sample.get(x), str) for x in parts)
    return sample if whole else None


def _throughput_log(folder: Path) -> Path:
    """Return the throughput log, which has another name in folders of regard 0.1."""
    log, old_log = folder / "throughput.jsonl", folder / "pace.jsonl"
    return old_log if old_log.exists() and not log.exists() else log


def _why_no_run(folder: Path) -> str:
    run_folder = folder.with_name(folder.name.removesuffix(".regard") + ".run")
    if folder.is_file():
        return messages.run_is_file(str(run_folder) if run_folder.is_dir() else None)
    if not folder.exists():
        return messages.no_run_folder()
    return messages.empty_run_folder()


def _entries(path: Path, problems: list[str]) -> list[Entry]:
    """Read JSON lines; the last may be incomplete, other invalid ones are counted."""
    entries, bad = [], 0
    lines = _text(path, problems).split("\n")
    for line in lines:
        try:
            entry = json.loads(line) if line else None
        except (ValueError, RecursionError):
            # an unterminated last line is still being written
            bad += line is not lines[-1]
            continue
        if isinstance(entry, dict):
            entries.append(entry)
    if bad:
        problems.append(f"{path.name}: {bad:,} line{'s' * (bad > 1)} cannot be read, and left out")
    return entries


def _json(path: Path, problems: list[str]) -> Entry:
    return _parse(path, problems, json.loads)


def _toml(path: Path, problems: list[str]) -> Entry:
    return _parse(path, problems, tomllib.loads)


def _parse(path: Path, problems: list[str], parse: Callable[[str], Any]) -> Entry:
    text = _text(path, problems)
    try:
        tree = parse(text) if text else {}
    except (ValueError, RecursionError):
        tree = None
    if not isinstance(tree, dict):
        problems.append(f"{path.name}: it is damaged, and left out")
        return {}
    return tree


def _text(path: Path, problems: list[str]) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        problems.append(f"{path.name}: it cannot be read ({error.strerror or error})")
        return ""


def _metadata(path: Path, problems: list[str]) -> Entry:
    """Read the metadata of a state file, without its tensors."""
    if not path.exists():
        return {}
    try:
        return read_metadata(path)
    except ModelFileError:
        problems.append(f"{path.name}: it is damaged; the progress of the run is unknown")
        return {}


def _dict_in(tree: Entry, name: str) -> Entry:
    part = tree.get(name)
    return part if isinstance(part, dict) else {}


def _sort_by_step(entries: list[Entry], *names: str) -> list[Entry]:
    """Return the entries that have these numbers, in the order of updates."""
    whole = [x for x in entries if _has_numbers(x, "step", *names) and x["step"] >= 1]
    return sorted(whole, key=lambda entry: entry["step"])


def _has_numbers(entry: Entry, *names: str) -> bool:
    # this also excludes NaN, and integers beyond any float
    return all(
        isinstance(number := entry.get(name), int | float) and -MAX_NUMBER < number < MAX_NUMBER
        for name in names
    )


def _has_texts(entry: Entry) -> bool:
    """Whether a line of the validation set has its texts."""
    targets = entry.get("targets")
    whole = isinstance(targets, list) and targets and all(isinstance(x, str) for x in targets)
    return bool(whole) and all(isinstance(entry.get(x), str) for x in ("source", "output"))

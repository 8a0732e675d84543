"""The exception tree: what regard raises on purpose, with messages that say what to do.

RegardError
├── ConfigError    invalid settings, or settings that exclude each other: all of them at once
├── DataError      a data file that cannot be used, or one line of it
├── InputError     a line or a sequence that the model cannot process
└── ModelFileError a file that is not a model, or not one that this version can load
"""

from collections.abc import Sequence


class RegardError(Exception):
    """The base of all errors that regard raises; the command line prints it and exits with 2."""


class ConfigError(RegardError):
    """Invalid settings: one problem per line, each with its section."""

    def __init__(self, section: str, problems: Sequence[str]) -> None:
        super().__init__("\n".join(f"{section}: {problem}" for problem in problems))
        self.section = section
        self.problems = tuple(problems)


class InputError(RegardError):
    """A sequence that the model cannot process."""


class DataError(RegardError):
    """A data file that cannot be used, or one line of it; the message names both."""

    ends_reading = False
    """Whether nothing after this line can be read; skipping the line would not help."""

    def __init__(self, file: str, line: int | None, problem: str) -> None:
        where = file if line is None else f"{file}, line {line}"
        super().__init__(f"{where}: {problem}")
        self.file = file
        self.line = line
        self.problem = problem


class ModelFileError(RegardError):
    """A file that is not a model, or not one that this version can load."""

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(f"{file}: {problem}")
        self.file = file
        self.problem = problem


def unreadable(error: OSError, file: str) -> str:
    """Say why a file cannot be read, and what to do."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "there is no such file. Check the path."
    if isinstance(error, IsADirectoryError):
        return "it is a folder, not a file. Name a file inside it."
    if isinstance(error, PermissionError):
        return f"this user may not read it. Run chmod +r {file}."
    return f"it cannot be read ({error.strerror or error}). Copy it to another disk."


def unwritable(error: OSError, remedy: str = "Choose a folder with free space.") -> str:
    """Say why a file cannot be written, and what to do."""
    return f"it cannot be written ({error.strerror or error}). {remedy}"

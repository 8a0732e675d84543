"""The exception tree: what regard raises on purpose, each message a sentence to act on.

RegardError
├── ConfigError    settings that cannot be, or not together: all of them at once
└── InputError     a line or a sequence that the model cannot take
"""

from collections.abc import Sequence


class RegardError(Exception):
    """Whatever regard refuses; the command line prints it and exits with 2."""


class ConfigError(RegardError):
    """Settings that cannot be: each problem on a line of its own, under its section."""

    def __init__(self, section: str, problems: Sequence[str]) -> None:
        super().__init__("\n".join(f"{section}: {problem}" for problem in problems))
        self.section = section
        self.problems = tuple(problems)


class InputError(RegardError):
    """A sequence that the model cannot take."""

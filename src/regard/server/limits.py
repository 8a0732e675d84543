"""What a server takes on, and no more: every limit once, with its default."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import final

from regard.errors import ConfigError


@final
@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much one request may ask for, how much may wait, and how much is answered together."""

    bytes: int = 1_048_576
    """Most bytes of a request's body."""

    lines: int = 256
    """Most lines, or pairs, of a request."""

    characters: int = 4_000
    """Most characters of a line."""

    seconds: float = 30.0
    """Longest time for a request: reading it, waiting and computing."""

    queue_lines: int = 1024
    """Most lines that wait; whoever comes later is asked to come again."""

    batch_lines: int = 32
    """Most lines that are answered together, whoever asked; 1 takes each alone."""

    beam_size: int = 20
    """Largest beam_size that may be asked for, if the model's own is no larger."""

    length: int = 512
    """Most symbols of a target, asked for or given, if the model's own max_length is no larger."""

    answer_bytes: int = 67_108_864
    """Most bytes of an answer: the weights of many long lines are many numbers."""

    stall_seconds: float = 20.0
    """Longest time in which a client takes nothing of its answer; then it is let go."""

    def __post_init__(self) -> None:
        if problems := list(self._problems()):
            raise ConfigError("serve", problems)

    def _problems(self) -> Iterator[str]:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.endswith("seconds"):
                if type(value) not in (int, float) or not 0 < value < 1e6:
                    must = "it must be a number, above 0 and below 1000000"
                    yield f"{field.name} = {value}, but {must}"
            elif type(value) is not int or value < 1:
                yield f"{field.name} = {value}, but it must be a whole number, at least 1"
        sizes = (self.lines, self.queue_lines)
        if all(type(size) is int and size >= 1 for size in sizes) and sizes[0] > sizes[1]:
            yield (
                f"lines = {self.lines}, but it must be at most queue_lines = {self.queue_lines}; "
                f"queue_lines = {self.lines} would do"
            )

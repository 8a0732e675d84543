"""Limits of the server, with their defaults."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, final

from regard.config.checks import above, are_valid, below, refuse

Seconds = Annotated[float, above(0), below(1_000_000)]


@final
@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits on requests, on the queue and on batches."""

    bytes: int = 1_048_576
    """Maximum size of a request body in bytes."""

    lines: int = 256
    """Maximum number of lines, or pairs, in a request."""

    characters: int = 4_000
    """Maximum number of characters in a line."""

    seconds: Seconds = 30.0
    """Maximum time of a request: reading, waiting and computing."""

    queue_lines: int = 1024
    """Maximum number of lines in the queue; more requests must retry later."""

    batch_lines: int = 32
    """Maximum number of lines in a batch, from any requests. 1 disables batching."""

    beam_size: int = 20
    """Maximum beam_size of a request. A larger one of the model is allowed."""

    length: int = 512
    """Maximum length of a target in tokens. A larger max_length of the model is allowed."""

    answer_bytes: int = 67_108_864
    """Maximum size of a response in bytes. The attention of many long lines is large."""

    stall_seconds: Seconds = 20.0
    """Maximum time for which a client may read nothing; then it is disconnected."""

    def __post_init__(self) -> None:
        refuse("serve", self, self._problems())

    def _problems(self) -> Iterator[str]:
        if are_valid(self, "lines", "queue_lines") and self.lines > self.queue_lines:
            yield (
                f"lines is {self.lines}; it must be at most queue_lines = {self.queue_lines}. "
                f"Set queue_lines = {self.lines}."
            )

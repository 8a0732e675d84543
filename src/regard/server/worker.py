"""One bounded queue and one thread that answers what waits in it.

Two threads that search at once would only share the same cores. What comes of a line does not
depend on its company, so that lines of anybody are taken together.
"""

import asyncio
import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import ceil
from typing import Any, final

from regard.errors import RegardError
from regard.server.answers import AnswerOptions, line_json
from regard.server.limits import Limits
from regard.server.problems import BROKEN, Refused
from regard.translator import PreparedLine, Translation, Translator

Forced = tuple[str, str | Sequence[str | None]]
"""A source and the target that is forced through the model."""

log = logging.getLogger("regard.server")


@final
class Job:
    """A request's lines on their way; its `answers` are told to the loop that made it."""

    def __init__(
        self, translator: Translator, lines: Sequence[PreparedLine | Forced], options: AnswerOptions
    ) -> None:
        self.translator = translator
        self.lines = lines
        self.options = options
        self.waiting = deque(range(len(lines)))
        self.written = [b""] * len(lines)
        self.missing = len(lines)
        self.bytes = 0
        self.loop = asyncio.get_running_loop()
        self.answers: asyncio.Future[list[bytes]] = self.loop.create_future()

    def done(self, place: int, written: bytes) -> None:
        """Keep what came of a line; with the last one, the request is answered."""
        self.written[place] = written
        self.missing -= 1
        if not self.missing:
            self._tell(lambda: self.answers.set_result(self.written))

    def fail(self, error: Exception) -> None:
        """Answer the whole request with what went wrong in one of its lines."""
        self._tell(lambda: self.answers.set_exception(error))

    def _tell(self, tell: Callable[[], None]) -> None:
        def unless_it_is_over() -> None:
            if not self.answers.done():
                tell()

        # a loop that is closed has nobody who waits
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(unless_it_is_over)


Place = tuple[Job, int]
"""One line of a job."""


@final
class Worker:
    """Takes lines of all jobs in turn, so that a short request need not wait for a long one."""

    def __init__(self, limits: Limits, on_batch: Callable[[int, float], None]) -> None:
        self.limits = limits
        self.on_batch = on_batch
        self.waiting = 0
        self.pace = 0.0
        self._jobs: deque[Job] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closing = False

    def submit(self, job: Job) -> None:
        """Let a job wait for its turn, or refuse it where too much waits already."""
        with self._changed:
            if self.waiting + len(job.lines) > self.limits.queue_lines:
                raise Refused(
                    429,
                    f"{self.waiting:,} lines wait already, but at most "
                    f"{self.limits.queue_lines:,} may; asking again later would do",
                    {"Retry-After": str(self._seconds())},
                )
            self._jobs.append(job)
            self.waiting += len(job.lines)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="answers", daemon=True)
                self._thread.start()
            self._changed.notify()

    def drop(self, job: Job) -> None:
        """Forget the lines of a job that still wait: nobody wants them any more."""
        with self._changed:
            if job in self._jobs:
                self._jobs.remove(job)
                self.waiting -= len(job.waiting)

    def close(self) -> None:
        """Answer what waits, then end; a job that comes later begins anew."""
        with self._changed:
            thread, self._closing = self._thread, True
            self._changed.notify()
        if thread is not None:
            thread.join()
        self._thread, self._closing = None, False

    def _seconds(self) -> int:
        """Estimate when what waits now will be done, from how fast the last lines were."""
        longest = ceil(self.limits.seconds)
        return min(max(1, ceil(self.waiting / self.pace) if self.pace else 1), longest)

    def _work(self) -> None:
        # in a function of its own, so that nothing of a batch is kept while nobody asks
        while self._turn():
            pass

    def _turn(self) -> bool:
        """Answer what waits, once; return whether there was anything."""
        batch = self._take()
        if not batch:
            return False
        start = time.perf_counter()
        self._answer(batch)
        seconds = time.perf_counter() - start
        pace = len(batch) / max(seconds, 1e-6)
        # a mean that forgets: the last batches say most about the next
        self.pace = 0.8 * self.pace + 0.2 * pace if self.pace else pace
        self.on_batch(len(batch), seconds)
        return True

    def _take(self) -> list[Place]:
        """Wait for lines, and take one of each job in turn until there are enough."""
        batch: list[Place] = []
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._closing)
            while self._jobs and len(batch) < self.limits.batch_lines:
                job = self._jobs.popleft()
                batch.append((job, job.waiting.popleft()))
                if job.waiting:
                    self._jobs.append(job)
            self.waiting -= len(batch)
        return batch

    def _answer(self, batch: Sequence[Place]) -> None:
        """Answer each line; those with equal options together, so that none waits for others."""
        groups: dict[Any, list[tuple[Place, PreparedLine]]] = defaultdict(list)
        for job, place in batch:
            line = job.lines[place]
            if isinstance(line, PreparedLine):
                groups[job.translator, line.options].append(((job, place), line))
            else:
                self._force(job, place, line)
        for (translator, _), lines in groups.items():
            self._search(translator, lines)

    def _force(self, job: Job, place: int, pair: Forced) -> None:
        try:
            answer = job.translator.rescore([pair])[0]
        except Exception as error:
            self._fail(job, error)
        else:
            self._write(job, place, answer)

    def _search(self, translator: Translator, lines: list[tuple[Place, PreparedLine]]) -> None:
        """Answer lines together; if one cannot be, each alone: nobody pays for a neighbour."""
        try:
            answers = translator.translate_prepared([line for _, line in lines])
        except Exception as error:
            if len(lines) == 1:
                self._fail(lines[0][0][0], error)
            else:
                for line in lines:
                    self._search(translator, [line])
            return
        for ((job, place), _), answer in zip(lines, answers, strict=True):
            self._write(job, place, answer)

    def _write(self, job: Job, place: int, answer: Translation) -> None:
        """Write an answer here, not in the loop, which has all other clients to listen to."""
        if job.answers.done():
            return
        room = self.limits.answer_bytes - job.bytes
        try:
            written = line_json(job.translator, answer, job.options, room)
        except Exception as error:
            self._fail(job, error)
            return
        if written is None:
            self._fail(job, self._too_large(job))
            return
        job.bytes += len(written)
        job.done(place, written)

    def _too_large(self, job: Job) -> Refused:
        """Say what would do: of a line that fills an answer alone, not fewer lines."""
        would = "fewer lines at a time"
        if not job.bytes:
            without = f", or one without {heaviest}," if (heaviest := job.options.heaviest) else ""
            would = f"a shorter line{without}"
        most = f"{self.limits.answer_bytes:,}"
        return Refused(413, f"the answer has more than {most} bytes; {would} would do")

    def _fail(self, job: Job, error: Exception) -> None:
        """Refuse a request for what one of its lines is; what else goes wrong is for the log."""
        self.drop(job)
        if isinstance(error, RegardError):
            error = Refused(422, str(error))
        elif not isinstance(error, Refused):
            log.error("a line could not be answered", exc_info=error)
            error = Refused(500, BROKEN)
        job.fail(error)

"""Dynamic batching: one bounded queue, and one thread that translates batches from it.

A second thread would only compete for the same cores. A translation does not depend on the rest of
its batch, so a batch mixes lines of different clients.
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
from regard.server import messages
from regard.server.limits import Limits
from regard.server.problem_details import ProblemError
from regard.server.response_json import ResponseFields, translation_json
from regard.translator import PreparedLine, Translation, Translator

ForcedPair = tuple[str, str | Sequence[str | None]]
"""A source, and the target to score."""

log = logging.getLogger("regard.server")


@final
class TranslationJob:
    """The lines of one request.

    The future `encoded_translations` belongs to the caller's event loop.
    """

    def __init__(
        self,
        translator: Translator,
        lines: Sequence[PreparedLine | ForcedPair],
        sources: Sequence[PreparedLine],
        response_fields: ResponseFields,
    ) -> None:
        self.translator = translator
        self.lines = lines
        self.response_fields = response_fields
        self.request_id = ""
        self.sources = [one.line.text for one in sources]
        self.source_tokens = sum(len(one.line.tokens) for one in sources)
        self.output_tokens = 0
        self.outputs: list[str] = [""] * len(lines)
        self.queued_indices = deque(range(len(lines)))
        self.num_unfinished = len(lines)
        self.bytes = 0
        self.loop = asyncio.get_running_loop()
        self.encoded_translations: asyncio.Future[list[bytes]] = self.loop.create_future()
        self._by_line = [b""] * len(lines)

    def finish_line(self, index: int, encoded_translation: bytes) -> None:
        """Store the JSON of a line; the last one completes the request."""
        self._by_line[index] = encoded_translation
        self.num_unfinished -= 1
        if not self.num_unfinished:
            self._call_in_loop(lambda: self.encoded_translations.set_result(self._by_line))

    def fail(self, error: Exception) -> None:
        """Fail the whole request with the error of one of its lines."""
        self._call_in_loop(lambda: self.encoded_translations.set_exception(error))

    def _call_in_loop(self, complete: Callable[[], None]) -> None:
        def complete_unless_done() -> None:
            if not self.encoded_translations.done():
                complete()

        # a closed loop has no client that waits
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(complete_unless_done)


JobLine = tuple[TranslationJob, int]
"""A job and the index of one of its lines."""


@final
class BatchWorker:
    """Fills batches from all jobs in round robin, so a short request need not wait for a long one.

    `num_queued_lines` is the length of the queue, `throughput` the recent lines per second.
    """

    def __init__(self, limits: Limits, record_batch: Callable[[int, float], None]) -> None:
        self.limits = limits
        self.record_batch = record_batch
        self.num_queued_lines = 0
        self.throughput = 0.0
        self._jobs: deque[TranslationJob] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closing = False

    def submit(self, job: TranslationJob) -> None:
        """Queue a job, or refuse it if the queue is full."""
        with self._changed:
            if self.num_queued_lines + len(job.lines) > self.limits.queue_lines:
                raise ProblemError(
                    429,
                    messages.queue_full(
                        self.num_queued_lines, len(job.lines), self.limits.queue_lines
                    ),
                    {"Retry-After": str(self._retry_after())},
                )
            self._jobs.append(job)
            self.num_queued_lines += len(job.lines)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="batch-worker", daemon=True)
                self._thread.start()
            self._changed.notify()

    def drop(self, job: TranslationJob) -> None:
        """Remove the queued lines of a job that nobody waits for."""
        with self._changed:
            if job in self._jobs:
                self._jobs.remove(job)
                self.num_queued_lines -= len(job.queued_indices)

    def close(self) -> None:
        """Finish the queue and end the thread; a later job starts a new one."""
        with self._changed:
            thread, self._closing = self._thread, True
            self._changed.notify()
        if thread is not None:
            thread.join()
        self._thread, self._closing = None, False

    def _retry_after(self) -> int:
        """Estimate the seconds until the queue is empty, from the recent throughput."""
        longest = ceil(self.limits.seconds)
        seconds = ceil(self.num_queued_lines / self.throughput) if self.throughput else 1
        return min(max(1, seconds), longest)

    def _run(self) -> None:
        # one call per batch: an idle worker keeps no references to its last batch
        while self._process_batch():
            pass

    def _process_batch(self) -> bool:
        """Process one batch; return False when the worker closes."""
        batch = self._take_batch()
        if not batch:
            return False
        start = time.perf_counter()
        self._translate(batch)
        seconds = time.perf_counter() - start
        throughput = len(batch) / max(seconds, 1e-6)
        # an exponential moving average
        self.throughput = (
            0.8 * self.throughput + 0.2 * throughput if self.throughput else throughput
        )
        self.record_batch(len(batch), seconds)
        return True

    def _take_batch(self) -> list[JobLine]:
        """Wait for lines, then take one of each job in turn until the batch is full."""
        batch: list[JobLine] = []
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._closing)
            while self._jobs and len(batch) < self.limits.batch_lines:
                job = self._jobs.popleft()
                batch.append((job, job.queued_indices.popleft()))
                if job.queued_indices:
                    self._jobs.append(job)
            self.num_queued_lines -= len(batch)
        return batch

    def _translate(self, batch: Sequence[JobLine]) -> None:
        """Search lines of equal model and options together; score forced pairs one by one."""
        groups: dict[Any, list[tuple[JobLine, PreparedLine]]] = defaultdict(list)
        for job, index in batch:
            line = job.lines[index]
            if isinstance(line, PreparedLine):
                groups[job.translator, line.options].append(((job, index), line))
            else:
                self._rescore(job, index, line)
        for (translator, _), lines in groups.items():
            self._search(translator, lines)

    def _rescore(self, job: TranslationJob, index: int, pair: ForcedPair) -> None:
        try:
            translation = job.translator.rescore([pair])[0]
        except Exception as error:
            self._fail(job, error)
        else:
            self._finish_line(job, index, translation)

    def _search(self, translator: Translator, lines: list[tuple[JobLine, PreparedLine]]) -> None:
        """Translate lines together; if that fails, each alone, so that one cannot fail others."""
        try:
            translations = translator.translate_prepared([line for _, line in lines])
        except Exception as error:
            if len(lines) == 1:
                self._fail(lines[0][0][0], error)
            else:
                for line in lines:
                    self._search(translator, [line])
            return
        for ((job, index), _), translation in zip(lines, translations, strict=True):
            self._finish_line(job, index, translation)

    def _finish_line(self, job: TranslationJob, index: int, translation: Translation) -> None:
        """Encode a translation here, not in the event loop, which serves all other clients."""
        if job.encoded_translations.done():
            return
        limit = self.limits.answer_bytes
        try:
            encoded_translation = translation_json(
                job.translator, translation, job.response_fields, limit - job.bytes
            )
        except Exception as error:
            self._fail(job, error)
            return
        if encoded_translation is None:
            # fewer lines do not help if this line alone is too large
            only_line = not job.bytes
            detail = messages.response_too_large(limit, only_line, job.response_fields.largest)
            self._fail(job, ProblemError(413, detail))
            return
        job.bytes += len(encoded_translation)
        job.output_tokens += len(translation.tokens)
        job.outputs[index] = translation.text
        job.finish_line(index, encoded_translation)

    def _fail(self, job: TranslationJob, error: Exception) -> None:
        """Fail a request: the client gets errors of its input, the log gets everything else."""
        self.drop(job)
        if isinstance(error, RegardError):
            error = ProblemError(422, str(error))
        elif not isinstance(error, ProblemError):
            fields = {"request_id": job.request_id}
            log.error(messages.LOG_LINE_FAILED, exc_info=error, extra={"fields": fields})
            error = ProblemError(500, messages.INTERNAL_ERROR)
        job.fail(error)

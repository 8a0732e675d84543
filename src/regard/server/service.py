"""The handlers of the app's routes: from a request body to a response."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar, final

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from regard.config.settings import MIN_TEMPERATURE
from regard.errors import RegardError
from regard.server import messages
from regard.server.batch_worker import BatchWorker, TranslationJob
from regard.server.limits import Limits
from regard.server.problem_details import ProblemError
from regard.server.prometheus_metrics import ServerMetrics
from regard.server.request_body import client_disconnected, read_body, wait_for_disconnect
from regard.server.response_json import ResponseFields, encode_json
from regard.server.schemas import RescoreRequest, TranslateRequest
from regard.server.validation_errors import validation_message
from regard.translator import PreparedLine, Translator

LINES_PER_TURN = 16
"""Number of lines prepared before other requests get a turn."""

Body = TypeVar("Body", TranslateRequest, RescoreRequest)


@final
class Service:
    """Models by name, and the one worker that runs them."""

    def __init__(self, translators: Mapping[str, Translator], limits: Limits) -> None:
        self.translators = dict(translators)
        self.limits = limits
        self.metrics = ServerMetrics()
        self.worker = BatchWorker(limits, self.metrics.record_batch)
        self.metrics.queued_lines.set_function(lambda: self.worker.queued_lines)
        self.stopping = False
        self.open = 0

    async def translate(self, request: Request) -> Response:
        """Answer `POST /v1/translate`."""
        return await self._respond(request, TranslateRequest, self._translation_job)

    async def rescore(self, request: Request) -> Response:
        """Answer `POST /v1/rescore`."""
        return await self._respond(request, RescoreRequest, self._rescoring_job)

    async def _respond(
        self,
        request: Request,
        schema: type[Body],
        read: Callable[[Translator, Body], Awaitable[TranslationJob]],
    ) -> Response:
        """Read, wait, compute and write, all before the deadline."""
        if self.stopping:
            raise ProblemError(
                503, messages.STOPPING_NO_REQUESTS, {"Retry-After": "5", "Connection": "close"}
            )
        if self.open >= self.limits.queue_lines:
            # the bodies of open requests are in memory, even if their clients are slow
            detail = messages.too_many_open_requests(self.open)
            raise ProblemError(429, detail, {"Retry-After": "1", "Connection": "close"})
        self.open += 1
        try:
            async with asyncio.timeout(self.limits.seconds):
                fields = _parse(schema, await read_body(request, self.limits.bytes))
                name, translator = self._model(fields.model)
                job = await read(translator, fields)
                answers = await self._wait(request, job, name) if job.lines else []
        except TimeoutError:
            detail = messages.deadline_exceeded(self.limits.seconds)
            raise ProblemError(504, detail, {"Connection": "close"}) from None
        finally:
            self.open -= 1
        head = encode_json({"model": name, "translations": []})[:-2]
        return Response(b"".join((head, b",".join(answers), b"]}")), 200, None, "application/json")

    async def _wait(self, request: Request, job: TranslationJob, name: str) -> list[bytes]:
        """Wait for the worker; drop the lines if the client disconnects or the deadline passes."""
        self.worker.submit(job)
        self.metrics.lines.labels(name).inc(len(job.lines))
        disconnect = asyncio.ensure_future(wait_for_disconnect(request))
        either: set[asyncio.Future[Any]] = {disconnect, job.responses}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not job.responses.done():
                raise client_disconnected()
            return job.responses.result()
        finally:
            disconnect.cancel()
            job.responses.cancel()
            self.worker.drop(job)

    async def _translation_job(
        self, translator: Translator, fields: TranslateRequest
    ) -> TranslationJob:
        lines = [fields.text] if isinstance(fields.text, str) else fields.text
        self._refuse_many("lines", len(lines))
        self._refuse_long("line", *lines)
        self._refuse_long("prefix", _join(fields.prefix))
        self._refuse_long("list of banned tokens", "".join(fields.banned))
        self._check_tokens(translator, "The prefix", fields.prefix)
        settings = fields.search_settings()
        self._refuse_search(translator, settings)
        prepared = await _prepare(translator, lines, settings | fields.call_options())
        return TranslationJob(translator, prepared, _response_fields(fields))

    async def _rescoring_job(
        self, translator: Translator, fields: RescoreRequest
    ) -> TranslationJob:
        sources = [pair.source for pair in fields.pairs]
        self._refuse_many("pairs", len(sources))
        self._refuse_long("source", *sources)
        self._refuse_long("target", *(_join(pair.target) for pair in fields.pairs))
        for number, pair in enumerate(fields.pairs, start=1):
            where = messages.numbered("target", number, len(fields.pairs))
            self._check_tokens(translator, where, pair.target)
            if number % LINES_PER_TURN == 0:
                await asyncio.sleep(0)
        for number, line in enumerate(await _prepare(translator, sources, {}), start=1):
            if line.request is None:
                raise ProblemError(422, messages.blank_source(number))
        pairs = [(pair.source, pair.target) for pair in fields.pairs]
        return TranslationJob(translator, pairs, _response_fields(fields))

    def _model(self, name: str | None) -> tuple[str, Translator]:
        if name is None:
            return next(iter(self.translators.items()))
        if name not in self.translators:
            raise ProblemError(422, messages.unknown_model(name, self.translators))
        return name, self.translators[name]

    def _refuse_many(self, name: str, count: int) -> None:
        if count > self.limits.lines:
            raise ProblemError(413, messages.too_many(name, count, self.limits.lines))

    def _refuse_long(self, name: str, *texts: str) -> None:
        limit = self.limits.characters
        for number, text in enumerate(texts, start=1):
            if len(text) > limit:
                where = messages.numbered(name, number, len(texts))
                raise ProblemError(422, messages.too_long(where, len(text), "characters", limit))

    def _check_tokens(
        self, translator: Translator, where: str, target: str | Sequence[str | None]
    ) -> None:
        """Refuse a target or prefix that is longer than the search could generate."""
        tokens = translator.target.tokenize(target) if isinstance(target, str) else target
        limit = self._max_target_length(translator)
        if len(tokens) > limit:
            raise ProblemError(422, messages.too_long(where, len(tokens), "tokens", limit))
        if "" in tokens and "" not in translator.target.vocabulary:
            raise ProblemError(422, messages.empty_token(where))

    def _max_target_length(self, translator: Translator) -> int:
        """Return the maximum length of a target in tokens."""
        return max(self.limits.length, translator.settings.search.max_length)

    def _refuse_search(self, translator: Translator, settings: Mapping[str, Any]) -> None:
        """Refuse search settings that would block the worker for long."""
        own = translator.settings.search
        beam, length = (
            max(self.limits.beam_size, own.beam_size),
            self._max_target_length(translator),
        )
        limits = {"beam_size": beam, "nbest": beam, "max_length": length, "min_length": length}
        for name, limit in limits.items():
            number = settings.get(name, 0)
            if number > limit:
                raise ProblemError(422, messages.above_limit(name, number, limit))
        temperature = settings.get("temperature", 0)
        if 0 < temperature < MIN_TEMPERATURE:
            raise ProblemError(422, messages.temperature_too_low(temperature, MIN_TEMPERATURE))


def describe_model(name: str, translator: Translator) -> dict[str, Any]:
    """Describe a model for `GET /v1/models`."""
    attention_shape = translator.models[0].decoder.attention_shape
    sides = {"source": translator.source, "target": translator.target}
    return {
        "name": name,
        "attention": None
        if attention_shape is None
        else {"layers": attention_shape[0], "heads": attention_shape[1]},
        **{
            name: {"tokenizer": side.tokenizer.kind, "symbols": len(side.vocabulary)}
            for name, side in sides.items()
        },
        "parameters": sum(p.numel() for m in translator.models for p in m.parameters()),
        "max_source_length": translator.max_source_length,
        "search": asdict(translator.settings.search),
        # the summary of a foreign file may hold NaN, which JSON does not know
        "summary": json.loads(json.dumps(translator.summary), parse_constant=lambda _: None),
    }


def _response_fields(fields: TranslateRequest | RescoreRequest) -> ResponseFields:
    """Return the fields of the response; `layers` includes the attention."""
    return ResponseFields(fields.attention or fields.layers, fields.influence, fields.layers)


def _join(text: str | Sequence[str | None]) -> str:
    return text if isinstance(text, str) else "".join(token or "" for token in text)


def _parse(schema: type[Body], content: bytes) -> Body:
    try:
        return schema.model_validate_json(content)
    except ValidationError as error:
        raise ProblemError(422, validation_message(error, schema.model_fields)) from None


async def _prepare(
    translator: Translator, lines: Sequence[str], options: Mapping[str, Any]
) -> list[PreparedLine]:
    """Tokenize lines, a few at a time; refuse what the model cannot translate."""
    prepared: list[PreparedLine] = []
    try:
        if not lines:
            # refuse wrong options even without lines
            checked = options.keys() - {"pin", "unknown"}
            translator.search_options(**{name: options[name] for name in checked})
        for first in range(0, len(lines), LINES_PER_TURN):
            prepared += translator.prepare(lines[first : first + LINES_PER_TURN], **options)
            await asyncio.sleep(0)
    except RegardError as error:
        raise ProblemError(422, str(error)) from None
    return prepared

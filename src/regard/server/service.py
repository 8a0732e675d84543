"""The handlers of the app's routes: from a request body to a response."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar, final

import anyio.to_thread
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from regard.config.settings import MIN_TEMPERATURE
from regard.errors import RegardError
from regard.server import messages
from regard.server.batch_worker import BatchWorker, TranslationJob
from regard.server.limits import Limits
from regard.server.logs import record_of
from regard.server.model_registry import ModelRegistry, ModelSource, ServedModel
from regard.server.problem_details import ProblemError
from regard.server.prometheus_metrics import ServerMetrics
from regard.server.request_body import client_disconnected, read_body, wait_for_disconnect
from regard.server.response_json import ResponseFields, encode_json
from regard.server.schemas import RescoreRequest, TranslateRequest
from regard.server.validation_errors import validation_message
from regard.translator import PreparedLine, Translator

LINES_PER_YIELD = 16
"""Number of lines prepared before other requests get a turn."""

RequestBody = TypeVar("RequestBody", TranslateRequest, RescoreRequest)

log = logging.getLogger("regard.server")


@final
class Service:
    """Models by name, and the one worker that runs them."""

    def __init__(
        self,
        models: Mapping[str, ModelSource],
        limits: Limits,
        *,
        device: str = "auto",
        log_texts: bool = False,
    ) -> None:
        self.registry = ModelRegistry(models, device)
        self.limits = limits
        self.log_texts = log_texts
        self.metrics = ServerMetrics()
        self.worker = BatchWorker(limits, self.metrics.record_batch)
        self.metrics.queued_lines.set_function(lambda: self.worker.num_queued_lines)
        self.stopping = False
        self.open = 0
        self._reload_requested = False
        self._reloading = False

    async def reload(self) -> None:
        """Load changed model files beside the old models, then swap them; log what happened.

        A running request keeps its model. A call during a reload makes it start once more.
        """
        self._reload_requested = True
        if self._reloading:
            return
        self._reloading = True
        try:
            while self._reload_requested:
                self._reload_requested = False
                await anyio.to_thread.run_sync(self._reload, abandon_on_cancel=True)
        finally:
            self._reloading = False

    def _reload(self) -> None:
        try:
            names = self.registry.reload()
        except Exception as error:
            reason = messages.one_line(str(error))
            internal = None if isinstance(error, RegardError) else error
            log.error(messages.LOG_RELOAD_FAILED.format(reason=reason), exc_info=internal)
            return
        for name in names:
            fields = {"model": name, "version": self.registry.models[name].version}
            log.info(messages.LOG_RELOADED, extra={"fields": fields})
        if not names:
            log.info(messages.LOG_NOTHING_TO_RELOAD)

    def describe_models(self) -> list[dict[str, Any]]:
        """Describe every model for `GET /v1/models`."""
        return [describe_model(name, model) for name, model in self.registry.models.items()]

    async def translate(self, request: Request) -> Response:
        """Answer `POST /v1/translate`."""
        return await self._respond(request, TranslateRequest, self._translation_job)

    async def rescore(self, request: Request) -> Response:
        """Answer `POST /v1/rescore`."""
        return await self._respond(request, RescoreRequest, self._rescoring_job)

    async def _respond(
        self,
        request: Request,
        schema: type[RequestBody],
        read: Callable[[Translator, RequestBody], Awaitable[TranslationJob]],
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
                body = _parse(schema, await read_body(request, self.limits.bytes))
                name, model = self._model(body.model)
                job = await read(model.translator, body)
                job.request_id = record_of(request.scope).request_id
                try:
                    encoded_translations = await self._wait(request, job, name) if job.lines else []
                finally:
                    self._record(request, job, name, model)
        except TimeoutError:
            detail = messages.deadline_exceeded(self.limits.seconds)
            raise ProblemError(504, detail, {"Connection": "close"}) from None
        finally:
            self.open -= 1
        version = {} if model.version is None else {"version": model.version}
        head = encode_json({"model": name, **version, "translations": []})[:-2]
        return Response(
            b"".join((head, b",".join(encoded_translations), b"]}")), 200, None, "application/json"
        )

    def _record(self, request: Request, job: TranslationJob, name: str, model: ServedModel) -> None:
        """Write into the log entry of a request what it asked for and got."""
        fields = record_of(request.scope).fields
        fields["model"] = name
        if model.version is not None:
            fields["version"] = model.version
        fields["lines"] = len(job.lines)
        fields["source_tokens"] = job.source_tokens
        fields["tokens"] = job.output_tokens
        if self.log_texts:
            fields["sources"], fields["outputs"] = job.sources, job.outputs

    async def _wait(self, request: Request, job: TranslationJob, name: str) -> list[bytes]:
        """Wait for the worker; drop the lines if the client disconnects or the deadline passes."""
        self.worker.submit(job)
        self.metrics.lines.labels(name).inc(len(job.lines))
        disconnect = asyncio.ensure_future(wait_for_disconnect(request))
        either: set[asyncio.Future[Any]] = {disconnect, job.encoded_translations}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not job.encoded_translations.done():
                raise client_disconnected()
            return job.encoded_translations.result()
        finally:
            disconnect.cancel()
            job.encoded_translations.cancel()
            self.worker.drop(job)

    async def _translation_job(
        self, translator: Translator, body: TranslateRequest
    ) -> TranslationJob:
        lines = [body.text] if isinstance(body.text, str) else body.text
        self._refuse_many("lines", len(lines))
        self._refuse_long("line", *lines)
        self._refuse_long("prefix", _join(body.prefix))
        self._refuse_long("list of banned tokens", "".join(body.banned))
        self._check_tokens(translator, "The prefix", body.prefix)
        settings = body.search_settings()
        self._refuse_search(translator, settings)
        prepared = await _prepare(translator, lines, settings | body.call_options())
        return TranslationJob(translator, prepared, prepared, _response_fields(body))

    async def _rescoring_job(self, translator: Translator, body: RescoreRequest) -> TranslationJob:
        sources = [pair.source for pair in body.pairs]
        self._refuse_many("pairs", len(sources))
        self._refuse_long("source", *sources)
        self._refuse_long("target", *(_join(pair.target) for pair in body.pairs))
        for number, pair in enumerate(body.pairs, start=1):
            where = messages.numbered("target", number, len(body.pairs))
            self._check_tokens(translator, where, pair.target)
            if number % LINES_PER_YIELD == 0:
                await asyncio.sleep(0)
        prepared = await _prepare(translator, sources, {})
        for number, line in enumerate(prepared, start=1):
            if line.request is None:
                raise ProblemError(422, messages.blank_source(number))
        pairs = [(pair.source, pair.target) for pair in body.pairs]
        return TranslationJob(translator, pairs, prepared, _response_fields(body))

    def _model(self, name: str | None) -> tuple[str, ServedModel]:
        models = self.registry.models
        if name is None:
            return next(iter(models.items()))
        if name not in models:
            raise ProblemError(422, messages.unknown_model(name, models))
        return name, models[name]

    def _refuse_many(self, name: str, count: int) -> None:
        if count > self.limits.lines:
            raise ProblemError(413, messages.too_many(name, count, self.limits.lines))

    def _refuse_long(self, name: str, *texts: str) -> None:
        max_characters = self.limits.characters
        for number, text in enumerate(texts, start=1):
            if len(text) > max_characters:
                where = messages.numbered(name, number, len(texts))
                raise ProblemError(
                    422, messages.too_long(where, len(text), "characters", max_characters)
                )

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
        model_config = translator.settings.search
        beam, length = (
            max(self.limits.beam_size, model_config.beam_size),
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


def describe_model(name: str, model: ServedModel) -> dict[str, Any]:
    """Describe a model for `GET /v1/models`; one that comes from no file has no version."""
    translator = model.translator
    attention_shape = translator.models[0].decoder.attention_shape
    sides = {"source": translator.source, "target": translator.target}
    shapes = translator.self_attention_shapes._asdict()
    return {
        "name": name,
        "file": None if model.path is None else model.path.name,
        "version": model.version,
        "sha256": model.sha256,
        "attention": _shape_json(attention_shape),
        "self_attention": {side: _shape_json(shape) for side, shape in shapes.items()},
        **{
            name: {
                "tokenizer": side.tokenizer.kind,
                "symbols": len(side.vocabulary),
                "case": side.case,
            }
            for name, side in sides.items()
        },
        "parameters": sum(p.numel() for m in translator.models for p in m.parameters()),
        "max_source_length": translator.max_source_length,
        "search": asdict(translator.settings.search),
        # the summary of a foreign file may hold NaN, which JSON does not know
        "summary": json.loads(json.dumps(translator.summary), parse_constant=lambda _: None),
    }


def _shape_json(shape: tuple[int, int] | None) -> dict[str, int] | None:
    return None if shape is None else {"layers": shape[0], "heads": shape[1]}


def _response_fields(body: TranslateRequest | RescoreRequest) -> ResponseFields:
    """Return the fields of the response; `layers` includes the attention."""
    attention = body.attention or body.layers
    return ResponseFields(attention, body.influence, body.layers, body.self_attention)


def _join(text: str | Sequence[str | None]) -> str:
    return text if isinstance(text, str) else "".join(token or "" for token in text)


def _parse(schema: type[RequestBody], content: bytes) -> RequestBody:
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
        for first in range(0, len(lines), LINES_PER_YIELD):
            prepared += translator.prepare(lines[first : first + LINES_PER_YIELD], **options)
            await asyncio.sleep(0)
    except RegardError as error:
        raise ProblemError(422, str(error)) from None
    return prepared

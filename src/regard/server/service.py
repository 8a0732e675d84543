"""From a body to an answer: what the routes of the app do."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar, final

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from regard.errors import RegardError
from regard.server import body
from regard.server.answers import AnswerOptions
from regard.server.limits import Limits
from regard.server.metrics import Metrics
from regard.server.problems import Refused, sentence, to_json
from regard.server.schemas import MIN_TEMPERATURE, RescoreRequest, TranslateRequest
from regard.server.worker import Job, Worker
from regard.translator import PreparedLine, Translator

AT_ONCE = 16
"""Lines that are read before anybody else gets a turn."""

Body = TypeVar("Body", TranslateRequest, RescoreRequest)


@final
class Service:
    """Models by name, and the one worker that runs them."""

    def __init__(self, translators: Mapping[str, Translator], limits: Limits) -> None:
        self.translators = dict(translators)
        self.limits = limits
        self.metrics = Metrics()
        self.worker = Worker(limits, self.metrics.batch)
        self.metrics.waiting.set_function(lambda: self.worker.waiting)
        self.stopping = False
        self.open = 0

    async def translate(self, request: Request) -> Response:
        """Answer `POST /v1/translate`."""
        return await self._answer(request, TranslateRequest, self._lines)

    async def rescore(self, request: Request) -> Response:
        """Answer `POST /v1/rescore`."""
        return await self._answer(request, RescoreRequest, self._pairs)

    async def _answer(
        self,
        request: Request,
        schema: type[Body],
        read: Callable[[Translator, Body], Awaitable[Job]],
    ) -> Response:
        """Read, wait, compute and write, all before the deadline."""
        if self.stopping:
            detail = "the server is stopping and takes nothing on; another one would do"
            raise Refused(503, detail, {"Retry-After": "5", "Connection": "close"})
        if self.open >= self.limits.queue_lines:
            # their bodies are kept, also of clients that are slow
            detail = f"{self.open:,} requests are open already; asking again later would do"
            raise Refused(429, detail, {"Retry-After": "1", "Connection": "close"})
        self.open += 1
        try:
            async with asyncio.timeout(self.limits.seconds):
                fields = _parsed(schema, await body.read(request, self.limits.bytes))
                name, translator = self._model(fields.model)
                job = await read(translator, fields)
                answers = await self._wait(request, job, name) if job.lines else []
        except TimeoutError:
            most = f"{self.limits.seconds:g} seconds"
            detail = f"the request was not done within {most}; fewer lines at a time would do"
            raise Refused(504, detail, {"Connection": "close"}) from None
        finally:
            self.open -= 1
        head = to_json({"model": name, "translations": []})[:-2]
        return Response(b"".join((head, b",".join(answers), b"]}")), 200, None, "application/json")

    async def _wait(self, request: Request, job: Job, name: str) -> list[bytes]:
        """Wait for the worker; a client that is gone, or out of time, has its lines dropped."""
        self.worker.submit(job)
        self.metrics.lines.labels(name).inc(len(job.lines))
        hung_up = asyncio.ensure_future(body.hang_up(request))
        either: set[asyncio.Future[Any]] = {hung_up, job.answers}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not job.answers.done():
                raise body.gone()
            return job.answers.result()
        finally:
            hung_up.cancel()
            job.answers.cancel()
            self.worker.drop(job)

    async def _lines(self, translator: Translator, fields: TranslateRequest) -> Job:
        lines = [fields.text] if isinstance(fields.text, str) else fields.text
        self._refuse_many("lines", len(lines))
        self._refuse_long("line", *lines)
        self._refuse_long("prefix", _joined(fields.prefix))
        self._refuse_long("banned", "".join(fields.banned))
        self._refuse_symbols(translator, "the prefix", fields.prefix)
        settings = fields.search_settings()
        self._refuse_search(translator, settings)
        prepared = await _prepared(translator, lines, settings | fields.call_options())
        return Job(translator, prepared, _answer_options(fields))

    async def _pairs(self, translator: Translator, fields: RescoreRequest) -> Job:
        sources = [pair.source for pair in fields.pairs]
        self._refuse_many("pairs", len(sources))
        self._refuse_long("source", *sources)
        self._refuse_long("target", *(_joined(pair.target) for pair in fields.pairs))
        for number, pair in enumerate(fields.pairs, start=1):
            where = f"target {number}" if len(fields.pairs) > 1 else "the target"
            self._refuse_symbols(translator, where, pair.target)
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)
        for number, line in enumerate(await _prepared(translator, sources, {}), start=1):
            if line.request is None:
                raise Refused(
                    422, f"source {number} is blank, but it must hold text; leaving it out would do"
                )
        pairs = [(pair.source, pair.target) for pair in fields.pairs]
        return Job(translator, pairs, _answer_options(fields))

    def _model(self, name: str | None) -> tuple[str, Translator]:
        if name is None:
            return next(iter(self.translators.items()))
        if name not in self.translators:
            known = ", ".join(self.translators)
            raise Refused(422, f"model = {name[:60]!r}, but it must be one that is served: {known}")
        return name, self.translators[name]

    def _refuse_many(self, name: str, count: int) -> None:
        if count > self.limits.lines:
            most = f"{self.limits.lines:,}"
            raise Refused(
                413, f"there are {count:,} {name}, but at most {most} may be; {most} would do"
            )

    def _refuse_long(self, name: str, *texts: str) -> None:
        most = self.limits.characters
        for number, text in enumerate(texts, start=1):
            if len(text) > most:
                where = f"{name} {number}" if len(texts) > 1 else f"the {name}"
                raise Refused(
                    422,
                    f"{where} has {len(text):,} characters, but it must have at most {most:,}; "
                    f"its first {most:,} would do",
                )

    def _refuse_symbols(
        self, translator: Translator, where: str, target: str | Sequence[str | None]
    ) -> None:
        """Keep a target, or its beginning, from being longer than any that may be searched for."""
        symbols = translator.target.tokens(target) if isinstance(target, str) else target
        most = self._length(translator)
        if len(symbols) > most:
            raise Refused(
                422,
                f"{where} has {len(symbols):,} symbols, but it must have at most {most:,}; "
                f"its first {most:,} would do",
            )
        if "" in symbols and "" not in translator.target.vocabulary:
            raise Refused(
                422,
                f"{where} has an empty token, but a token must hold text; leaving it out would do",
            )

    def _length(self, translator: Translator) -> int:
        """Return the most symbols of a target."""
        return max(self.limits.length, translator.settings.search.max_length)

    def _refuse_search(self, translator: Translator, settings: Mapping[str, Any]) -> None:
        """Keep one request from taking the worker for itself."""
        own = translator.settings.search
        beam, length = max(self.limits.beam_size, own.beam_size), self._length(translator)
        most = {"beam_size": beam, "nbest": beam, "max_length": length, "min_length": length}
        for name, limit in most.items():
            number = settings.get(name, 0)
            if number > limit:
                raise Refused(
                    422, f"{name} = {number}, but it must be at most {limit}; {limit} would do"
                )
        temperature = settings.get("temperature", 0)
        if 0 < temperature < MIN_TEMPERATURE:
            must = f"it must be 0 or at least {MIN_TEMPERATURE}; 0 would do"
            raise Refused(422, f"temperature = {temperature}, but {must}")


def described(name: str, translator: Translator) -> dict[str, Any]:
    """Return what is known of a model."""
    looks = translator.models[0].decoder.looks
    sides = {"source": translator.source, "target": translator.target}
    return {
        "name": name,
        "attention": None if looks is None else {"layers": looks[0], "heads": looks[1]},
        **{
            name: {"tokenizer": side.tokenizer.kind, "symbols": len(side.vocabulary)}
            for name, side in sides.items()
        },
        "parameters": sum(p.numel() for m in translator.models for p in m.parameters()),
        "max_source_length": translator.max_source_length,
        "search": asdict(translator.settings.search),
        # a file from elsewhere may hold what Python writes and JSON does not know
        "summary": json.loads(json.dumps(translator.summary), parse_constant=lambda _: None),
    }


def _answer_options(fields: TranslateRequest | RescoreRequest) -> AnswerOptions:
    """Return what to write; the layers are attention too."""
    return AnswerOptions(fields.attention or fields.layers, fields.influence, fields.layers)


def _joined(text: str | Sequence[str | None]) -> str:
    return text if isinstance(text, str) else "".join(token or "" for token in text)


def _parsed(schema: type[Body], content: bytes) -> Body:
    try:
        return schema.model_validate_json(content)
    except ValidationError as error:
        raise Refused(422, sentence(error, schema.model_fields)) from None


async def _prepared(
    translator: Translator, lines: Sequence[str], options: Mapping[str, Any]
) -> list[PreparedLine]:
    """Tokenize lines, a few at a time; what the model cannot take is refused."""
    prepared: list[PreparedLine] = []
    try:
        if not lines:
            # wrong options are refused all the same
            checked = options.keys() - {"pin", "unknown"}
            translator.search_options(**{name: options[name] for name in checked})
        for first in range(0, len(lines), AT_ONCE):
            prepared += translator.prepare(lines[first : first + AT_ONCE], **options)
            await asyncio.sleep(0)
    except RegardError as error:
        raise Refused(422, str(error)) from None
    return prepared

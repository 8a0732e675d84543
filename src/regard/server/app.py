"""The routes, on FastAPI: who answers what, and which answers there may be."""

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio.to_thread
from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from regard import __version__
from regard.errors import InputError
from regard.server import static
from regard.server.document import OF_WORK, answers, document, takes
from regard.server.guard import Guard
from regard.server.limits import Limits
from regard.server.metrics import Metrics
from regard.server.problems import Refused, problem, to_json
from regard.server.reference import page
from regard.server.service import Service, described
from regard.translator import Translator


def create_app(
    translators: Mapping[str, Translator],
    limits: Limits = Limits(),  # noqa: B008 (it is frozen)
    hosts: Collection[str] | None = None,
) -> FastAPI:
    """Return an app that serves models by name; `hosts` are the names it may be called by."""
    if not translators:
        raise InputError("there is no model to serve, but there must be; one would do")
    service = Service(translators, limits)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await anyio.to_thread.run_sync(service.worker.close)

    app = FastAPI(
        title="regard",
        description="Turns sequences into sequences, and shows where it looked.",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.service = service
    app.add_middleware(Guard, hosts=hosts, told=service.metrics.request)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(HTTPException, _no_route)
    _add_work(app, service)
    _add_health(app, service)
    _add_page(app, limits)
    return app


def _add_work(app: FastAPI, service: Service) -> None:
    known = [described(name, model) for name, model in service.translators.items()]
    models = to_json({"models": known, "limits": asdict(service.limits)})
    pairs = {"pairs": [{"source": "a line", "target": "its target"}]}
    # what is answered is written by hand, and so is what the document says of it
    ours: dict[str, Any] = {"response_class": Response}

    @app.post(
        "/v1/translate",
        summary="Translate lines.",
        responses=answers("Answer", *OF_WORK),
        openapi_extra=takes("TranslateRequest", {"text": ["a line"], "attention": True}),
        **ours,
    )
    async def translate(request: Request) -> Response:
        return await service.translate(request)

    @app.post(
        "/v1/rescore",
        summary="Score given targets.",
        responses=answers("Answer", *OF_WORK),
        openapi_extra=takes("RescoreRequest", pairs),
        **ours,
    )
    async def rescore(request: Request) -> Response:
        return await service.rescore(request)

    @app.get(
        "/v1/models", summary="Tell which models are served.", responses=answers("Models"), **ours
    )
    async def list_models() -> Response:
        return Response(models, media_type="application/json")


def _add_health(app: FastAPI, service: Service) -> None:
    ours: dict[str, Any] = {"response_class": Response}
    text = {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Counts."}

    @app.get(
        "/healthz",
        summary="Tell that the server is there.",
        responses=answers("Status", hosts=False),
        **ours,
    )
    async def healthy() -> Response:
        return Response(to_json({"status": "ok"}), media_type="application/json")

    @app.get(
        "/readyz",
        summary="Tell whether it takes requests on.",
        responses=answers("Status", 503, hosts=False),
        **ours,
    )
    async def ready() -> Response:
        if service.stopping:
            raise Refused(503, "the server is stopping; another one would do")
        return Response(to_json({"status": "ready"}), media_type="application/json")

    @app.get(
        "/metrics",
        summary="Tell what was counted, for Prometheus.",
        responses=answers("Status", hosts=False) | {200: text},
        **ours,
    )
    async def metrics() -> Response:
        return Response(service.metrics.text(), headers={"Content-Type": Metrics.content_type})


def _add_page(app: FastAPI, limits: Limits) -> None:
    """Serve the page's files, the OpenAPI document and a page that tells it."""
    found = document(app, limits)
    style = Path(__file__).with_name("docs.css").read_bytes()
    served = static.files() | {
        "/openapi.json": static.File(to_json(found), "application/json"),
        "/docs": static.File(page(found).encode(), static.TYPES[".html"]),
        "/docs.css": static.File(style, static.TYPES[".css"]),
    }
    for path, file in served.items():

        async def respond(request: Request, file: static.File = file) -> Response:
            return static.respond(request, file)

        app.router.add_route(path, respond, methods=["GET", "HEAD"], include_in_schema=False)


async def _refused(request: Request, error: Exception) -> Response:
    if not isinstance(error, Refused):
        raise error
    return problem(error.status, error.detail, error.headers)


async def _no_route(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    details = {
        404: "there is nothing at this path; /docs says what there is",
        405: f"{request.method} is not done here; {(error.headers or {}).get('Allow')} would do",
    }
    detail = details.get(error.status_code, "the request cannot be read")
    return problem(error.status_code, detail, error.headers)

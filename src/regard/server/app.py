"""The FastAPI app: its routes, and the responses that each may give."""

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio.to_thread
from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from regard import __version__
from regard.errors import InputError
from regard.server import messages, static_files
from regard.server.api_docs import api_docs_html
from regard.server.cors import CORS_OPTIONS, check_origins
from regard.server.limits import Limits
from regard.server.messages import ROUTE_SUMMARIES
from regard.server.middleware import RequestMiddleware
from regard.server.model_registry import ModelSource
from regard.server.openapi import WORK_PROBLEMS, openapi_document, request_body, responses
from regard.server.problem_details import ProblemError, problem_response
from regard.server.prometheus_metrics import ServerMetrics
from regard.server.response_json import encode_json
from regard.server.service import Service
from regard.server.static_files import CONTENT_TYPES, StaticFile, static_response

# handlers write their JSON themselves, so the OpenAPI document gets their schemas from `responses`
RAW_RESPONSE: dict[str, Any] = {"response_class": Response}


def create_app(
    translators: Mapping[str, ModelSource],
    limits: Limits = Limits(),  # noqa: B008 (it is frozen)
    hosts: Collection[str] | None = None,
    *,
    allow_origins: Collection[str] = (),
    log_texts: bool = False,
    device: str = "auto",
) -> FastAPI:
    """Return an app that serves models by name: translators, or model files to load.

    `hosts` are the accepted Host headers, None for any. `allow_origins` are the origins of pages of
    other sites that may call the server. `log_texts` adds texts to the log.
    """
    if not translators:
        raise InputError(messages.NO_MODELS)
    check_origins(allow_origins)
    service = Service(translators, limits, device=device, log_texts=log_texts)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await anyio.to_thread.run_sync(service.worker.close)

    app = FastAPI(
        title="regard",
        description=messages.APP_DESCRIPTION,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.service = service
    if allow_origins:
        app.add_middleware(CORSMiddleware, allow_origins=list(allow_origins), **CORS_OPTIONS)
    app.add_middleware(
        RequestMiddleware, hosts=hosts, record_request=service.metrics.record_request
    )
    app.add_exception_handler(ProblemError, _handle_problem)
    app.add_exception_handler(HTTPException, _handle_http_error)
    _add_work_routes(app, service)
    _add_health_routes(app, service)
    _add_page(app, limits)
    return app


def _add_work_routes(app: FastAPI, service: Service) -> None:
    @app.post(
        "/v1/translate",
        summary=ROUTE_SUMMARIES["translate"],
        responses=responses("TranslateResponse", *WORK_PROBLEMS),
        openapi_extra=request_body("TranslateRequest"),
        **RAW_RESPONSE,
    )
    async def translate(request: Request) -> Response:
        return await service.translate(request)

    @app.post(
        "/v1/rescore",
        summary=ROUTE_SUMMARIES["rescore"],
        responses=responses("TranslateResponse", *WORK_PROBLEMS, example="RescoreResponse"),
        openapi_extra=request_body("RescoreRequest"),
        **RAW_RESPONSE,
    )
    async def rescore(request: Request) -> Response:
        return await service.rescore(request)

    @app.get(
        "/v1/models",
        summary=ROUTE_SUMMARIES["models"],
        responses=responses("ModelsResponse"),
        **RAW_RESPONSE,
    )
    async def list_models() -> Response:
        content = {"models": service.describe_models(), "limits": asdict(service.limits)}
        return Response(encode_json(content), media_type="application/json")


def _add_health_routes(app: FastAPI, service: Service) -> None:
    @app.get(
        "/healthz",
        summary=ROUTE_SUMMARIES["healthz"],
        responses=responses("HealthStatus", any_host=True),
        **RAW_RESPONSE,
    )
    async def healthy() -> Response:
        return Response(encode_json({"status": "ok"}), media_type="application/json")

    @app.get(
        "/readyz",
        summary=ROUTE_SUMMARIES["readyz"],
        responses=responses("HealthStatus", 503, any_host=True, example="ReadyStatus"),
        **RAW_RESPONSE,
    )
    async def ready() -> Response:
        if service.stopping:
            raise ProblemError(503, messages.STOPPING)
        return Response(encode_json({"status": "ready"}), media_type="application/json")

    text = {
        "content": {"text/plain": {"schema": {"type": "string"}}},
        "description": messages.METRICS_DESCRIPTION,
    }

    @app.get(
        "/metrics",
        summary=ROUTE_SUMMARIES["metrics"],
        responses=responses("HealthStatus", any_host=True) | {200: text},
        **RAW_RESPONSE,
    )
    async def metrics() -> Response:
        return Response(
            service.metrics.exposition(), headers={"Content-Type": ServerMetrics.content_type}
        )


def _add_page(app: FastAPI, limits: Limits) -> None:
    """Serve the page's files, the OpenAPI document and its HTML version."""
    document = openapi_document(app, limits)
    style, script = (
        Path(__file__).with_name(name).read_bytes() for name in ("api_docs.css", "api_docs.js")
    )
    files = static_files.load_static_files() | {
        "/openapi.json": StaticFile(encode_json(document), "application/json"),
        "/docs": StaticFile(api_docs_html(document).encode(), CONTENT_TYPES[".html"]),
        "/docs.css": StaticFile(style, CONTENT_TYPES[".css"]),
        "/docs.js": StaticFile(script, CONTENT_TYPES[".js"]),
    }
    for path, file in files.items():

        async def respond(request: Request, file: StaticFile = file) -> Response:
            return static_response(request, file)

        app.router.add_route(path, respond, methods=["GET", "HEAD"], include_in_schema=False)


async def _handle_problem(request: Request, error: Exception) -> Response:
    if not isinstance(error, ProblemError):
        raise error
    return problem_response(error.status, error.detail, error.headers)


async def _handle_http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    details = {
        404: messages.PATH_NOT_FOUND,
        405: messages.method_not_allowed(request.method, (error.headers or {}).get("Allow")),
    }
    detail = details.get(error.status_code, messages.UNREADABLE_REQUEST)
    return problem_response(error.status_code, detail, error.headers)

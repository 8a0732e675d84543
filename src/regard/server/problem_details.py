"""Problem details (RFC 9457): every error response is one sentence that says what to do."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import final

from starlette.responses import Response

from regard.server import messages
from regard.server.response_json import encode_json

MEDIA_TYPE = "application/problem+json"
TITLES = {499: "Client Closed Request", 413: "Content Too Large", 422: "Unprocessable Content"}


@final
class ProblemError(Exception):
    """Ends a request with a problem response."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})


def problem_response(
    status: int, detail: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Write problem details; a detail of several lines becomes one line."""
    content = {
        "type": "about:blank",
        "title": TITLES.get(status) or HTTPStatus(status).phrase,
        "status": status,
        "detail": messages.one_line(detail),
    }
    return Response(encode_json(content), status, dict(headers or {}), MEDIA_TYPE)

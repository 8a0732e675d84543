"""Reads request bodies: JSON in UTF-8, up to a size limit."""

import asyncio
from email.message import Message

from starlette.requests import ClientDisconnect, Request

from regard.server import messages
from regard.server.problem_details import ProblemError


async def read_body(request: Request, limit: int) -> bytes:
    """Return a JSON body of at most `limit` bytes."""
    _check_content_type(request)
    length = request.headers.get("content-length", "")
    chunks: list[bytes] = []
    size = 0
    if length.isdecimal() and int(length) > limit and "expect" in request.headers:
        # this client waits for permission and has sent nothing yet
        raise _too_large(limit)
    try:
        async for chunk in request.stream():
            size += len(chunk)
            # read an oversized body to its end but discard it: a client that is still sending
            # would not read the response
            if size > limit:
                chunks.clear()
            else:
                chunks.append(chunk)
    except ClientDisconnect:
        raise client_disconnected() from None
    if size > limit:
        raise _too_large(limit)
    return b"".join(chunks)


async def wait_for_disconnect(request: Request) -> None:
    """Wait until the client disconnects; its body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        await asyncio.sleep(0)


def client_disconnected() -> ProblemError:
    """Return the problem that nobody will read but the metrics count."""
    return ProblemError(499, messages.CLIENT_DISCONNECTED)


def _too_large(limit: int) -> ProblemError:
    return ProblemError(413, messages.body_too_large(limit), {"Connection": "close"})


def _check_content_type(request: Request) -> None:
    content_type = request.headers.get("content-type")
    header = Message()
    header["content-type"] = content_type or "text/plain"
    charset = str(header.get_param("charset", "utf-8")).lower()
    if header.get_content_type() != "application/json" or charset not in ("utf-8", "utf8"):
        raise ProblemError(415, messages.wrong_content_type(content_type))
    encoding = request.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise ProblemError(415, messages.wrong_content_encoding(encoding))

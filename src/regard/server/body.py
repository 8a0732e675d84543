"""Reading a request: no more than its limit, and only what it says it is."""

import asyncio
from email.message import Message

from starlette.requests import ClientDisconnect, Request

from regard.server.problems import Refused


async def read(request: Request, limit: int) -> bytes:
    """Return a JSON body of at most `limit` bytes."""
    _refuse_type(request)
    said = request.headers.get("content-length", "")
    parts: list[bytes] = []
    size = 0
    if said.isdecimal() and int(said) > limit and "expect" in request.headers:
        # this client has sent nothing yet
        raise _too_large(limit)
    try:
        async for part in request.stream():
            size += len(part)
            # what is too much is read to its end, and forgotten: a client that is still sending
            # would not see the answer
            if size > limit:
                parts.clear()
            else:
                parts.append(part)
    except ClientDisconnect:
        raise gone() from None
    if size > limit:
        raise _too_large(limit)
    return b"".join(parts)


async def hang_up(request: Request) -> None:
    """Wait until the client is gone; its body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        await asyncio.sleep(0)


def gone() -> Refused:
    """Return what nobody will read."""
    return Refused(499, "the client hung up")


def _too_large(limit: int) -> Refused:
    return Refused(
        413,
        f"the body has more than {limit:,} bytes; fewer lines at a time would do",
        {"Connection": "close"},
    )


def _refuse_type(request: Request) -> None:
    said = Message()
    said["content-type"] = request.headers.get("content-type", "text/plain")
    charset = str(said.get_param("charset", "utf-8")).lower()
    if said.get_content_type() != "application/json" or charset not in ("utf-8", "utf8"):
        given = request.headers.get("content-type", "nothing")
        raise Refused(415, f"Content-Type = {given[:60]}, but it must be application/json in UTF-8")
    encoding = request.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise Refused(
            415, f"Content-Encoding = {encoding[:60]}, but it must be identity; none would do"
        )

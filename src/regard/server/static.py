"""The files of the page: read once, by name, so that no path can lead anywhere else."""

import hashlib
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

FOLDER = Path(__file__).with_name("page")
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
}
"""What is served, and as what; a file of another kind is not."""


class Route(NamedTuple):
    """A route as the metrics know it."""

    path: str


ROUTE = Route("page")


class File(NamedTuple):
    """What a path answers with."""

    content: bytes
    content_type: str

    @property
    def etag(self) -> str:
        """Name what it holds, so that a browser need not fetch it twice."""
        return f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'


def files(folder: Path = FOLDER) -> dict[str, File]:
    """Read the files of a folder, by the path they are served at; index.html is at /."""
    found = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.suffix in TYPES and path.is_file():
            served = "/" if path.name == "index.html" else f"/{path.name}"
            found[served] = File(path.read_bytes(), TYPES[path.suffix])
    return found


def respond(request: Request, file: File) -> Response:
    """Send a file, or say that the one the browser has is still the same."""
    # they are counted together, and apart from paths that people made up
    request.scope["route"] = ROUTE
    headers = {"ETag": file.etag, "Cache-Control": "no-cache"}
    known = [
        tag.strip().removeprefix("W/")
        for tag in request.headers.get("if-none-match", "").split(",")
    ]
    if file.etag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers={**headers, "Content-Type": file.content_type})

"""The page's files, read once and looked up by name: no path can lead out of the folder."""

import hashlib
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

PAGE_FOLDER = Path(__file__).with_name("page")
CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
}
"""Content types by suffix; files with other suffixes are not served."""


class MetricsRoute(NamedTuple):
    """A route as the metrics label it."""

    path: str


PAGE_ROUTE = MetricsRoute("page")


class StaticFile(NamedTuple):
    """A file in memory."""

    content: bytes
    content_type: str

    @property
    def etag(self) -> str:
        """A hash of the content, by which a browser reuses its copy."""
        return f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'


def load_static_files(folder: Path = PAGE_FOLDER) -> dict[str, StaticFile]:
    """Read the files of a folder, by URL path; index.html is at /."""
    files = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.suffix in CONTENT_TYPES and path.is_file():
            url_path = "/" if path.name == "index.html" else f"/{path.name}"
            files[url_path] = StaticFile(path.read_bytes(), CONTENT_TYPES[path.suffix])
    return files


def static_response(request: Request, file: StaticFile) -> Response:
    """Send a file, or 304 if the browser's copy is current."""
    # all files of the page share one metrics label, apart from unknown paths
    request.scope["route"] = PAGE_ROUTE
    # a browser requests the icon again whenever the page's address changes
    cached = "max-age=3600" if file.content_type.startswith("image/") else "no-cache"
    headers = {"ETag": file.etag, "Cache-Control": cached}
    etags = [
        tag.strip().removeprefix("W/")
        for tag in request.headers.get("if-none-match", "").split(",")
    ]
    if file.etag in etags or "*" in etags:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers={**headers, "Content-Type": file.content_type})

"""Headers on everything, files by name, and documents that tell what there is."""

import html
import re

import pytest

from regard.server import static_files

POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/docs"),
        ("GET", "/openapi.json"),
        ("GET", "/v1/models"),
        ("GET", "/metrics"),
        ("GET", "/nothing"),
        ("DELETE", "/v1/translate"),
        ("POST", "/v1/translate"),
    ],
)
def test_every_answer_has_the_headers_that_keep_a_browser_safe(client, method, path):
    headers = client.request(method, path).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]
    assert "server" not in headers
    assert "access-control-allow-origin" not in headers
    cacheable = path in ("/", "/docs", "/openapi.json")
    assert headers["cache-control"] == ("no-cache" if cacheable else "no-store")


def test_the_icon_is_cached_and_scripts_are_revalidated(client):
    for path, cached in (("/icon.svg", "max-age=3600"), ("/app.js", "no-cache")):
        assert client.get(path).headers["cache-control"] == cached


def test_the_page_is_served_file_by_file_and_nothing_else(client):
    folder = static_files.PAGE_FOLDER
    names = {path.name for path in folder.iterdir() if path.suffix in static_files.CONTENT_TYPES}
    assert "index.html" in names
    for name in names:
        answer = client.get("/" if name == "index.html" else f"/{name}")
        assert answer.content == (folder / name).read_bytes()
        kinds = {
            "js": "text/javascript",
            "css": "text/css",
            "html": "text/html",
            "svg": "image/svg",
        }
        assert answer.headers["content-type"].startswith(kinds[name.rpartition(".")[2]])
    for path in (
        "/index.html",
        "/__init__.py",
        "/../limits.py",
        "/%2e%2e/limits.py",
        "//etc/passwd",
    ):
        assert client.get(path).status_code == 404


def test_only_files_of_known_kinds_are_served(tmp_path):
    for name in ("index.html", "app.js", "secret.py", "notes.txt", ".hidden"):
        (tmp_path / name).write_text(name)
    (tmp_path / "folder.js").mkdir()
    files = static_files.load_static_files(tmp_path)
    assert {path: file.content for path, file in files.items()} == {
        "/": b"index.html",
        "/app.js": b"app.js",
    }
    assert static_files.load_static_files(tmp_path / "nothing") == {}


def test_a_cached_file_is_not_sent_again(client):
    first = client.get("/docs")
    again = client.get("/docs", headers={"If-None-Match": f'"x", W/{first.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert client.get("/docs", headers={"If-None-Match": '"x"'}).status_code == 200
    head = client.head("/docs")
    assert (head.status_code, head.content) == (200, b"")


def test_the_document_has_every_route_with_every_status(client):
    document = client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    work = {"200", "413", "415", "421", "422", "429", "500", "503", "504"}
    plain = {"200", "500"}
    expected = {
        ("/v1/translate", "post"): work,
        ("/v1/rescore", "post"): work,
        ("/v1/models", "get"): plain | {"421"},
        ("/healthz", "get"): plain,
        ("/readyz", "get"): plain | {"503"},
        ("/metrics", "get"): plain,
    }
    routes = {(p, m): route for p, ways in document["paths"].items() for m, route in ways.items()}
    assert {key: set(route["responses"]) for key, route in routes.items()} == expected
    for route in routes.values():
        for status, answer in route["responses"].items():
            media = "application/problem+json"
            assert status == "200" or answer["content"].keys() == {media}
    schemas = document["components"]["schemas"]
    wanted = set(re.findall(r'"#/components/schemas/(\w+)"', client.get("/openapi.json").text))
    assert wanted <= set(schemas)
    lines = schemas["TranslateRequest"]["properties"]["text"]["anyOf"]
    assert {"type": "string", "maxLength": 4000} in lines
    assert schemas["TranslateRequest"]["additionalProperties"] is False
    assert schemas["RescoreRequest"]["properties"]["pairs"]["maxItems"] == 256


def test_the_api_reference_has_every_route_and_field_and_no_external_host(client):
    text = client.get("/docs").text
    document = client.get("/openapi.json").json()
    for path in document["paths"]:
        assert f" {path}</code>" in text
    for name, schema in document["components"]["schemas"].items():
        assert f'<section id="{name}">' in text
        for field, description in schema.get("properties", {}).items():
            assert f"<code>{field}</code>" in text
            assert html.escape(description.get("description", "")) in text
    assert re.findall(r"<script[^>]*>.*?</script>", text) == [
        '<script type="module" src="docs.js"></script>'
    ]
    assert not re.search(r'(?:src|href)="(?:https?:)?//', text)
    assert 'href="docs.css"' in text
    assert client.get("/docs.css").headers["content-type"] == "text/css; charset=utf-8"

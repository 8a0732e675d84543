"""Running a server: its log, its options from the environment, names, versions, reloads, CORS."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
from server_cases import problem, process, written

from regard.cli import main
from regard.errors import ConfigError
from regard.saved_model import save_model
from regard.server import Limits, create_app
from regard.translator import load
from small_models import saved

PAGE = "https://page.example"


def log_lines(server):
    """Stop a server, and return its log."""
    server.send_signal(signal.SIGTERM)
    errors = server.communicate(timeout=30)[1]
    assert server.returncode == 0
    return [line for line in errors.splitlines() if not line.startswith("Next: ")]


def digest_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def put(path, **options):
    """Replace a model file by another in one move."""
    save_model(path.with_suffix(".new"), saved(**options))
    path.with_suffix(".new").rename(path)


def test_each_request_is_one_json_entry_without_its_text(tmp_path):
    (file,) = written(tmp_path, "bahdanau2015")
    with process(f"fr={file}", "--log-level", "info", "--log-format", "json") as (server, client):
        ids = {"X-Request-ID": "abc-1"}
        answer = client.post("/v1/translate", json={"text": ["abc", "jj"]}, headers=ids)
        assert answer.headers["x-request-id"] == "abc-1"
        tokens = sum(len(one["tokens"]) for one in answer.json()["translations"])
        forged = client.post(
            "/v1/translate?x=abc", json={"text": "abc", "model": "de"}, headers={"X-Request-ID": "a b"}
        )
        client.get("/no\nsuch path")
        client.get("/healthz")
        entries = [json.loads(line) for line in log_lines(server)]
    served, refused, missing = [x for x in entries if x["logger"] == "regard.server.access"]
    version = digest_of(file)[:12]
    assert served.pop("milliseconds") > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", served.pop("time"))
    assert served == {
        "level": "info",
        "logger": "regard.server.access",
        "message": "request",
        "request_id": "abc-1",
        "method": "POST",
        "path": "/v1/translate",
        "status": 200,
        "model": "fr",
        "version": version,
        "lines": 2,
        "source_tokens": 5,
        "tokens": tokens,
    }
    assert (refused["status"], refused["request_id"]) == (422, forged.headers["x-request-id"])
    assert re.fullmatch("[0-9a-f]{32}", refused["request_id"])
    assert (missing["status"], missing["path"]) == (404, "/no\nsuch path")
    assert "text" not in refused


def test_text_entries_are_one_line_and_have_texts_on_request_only(tmp_path):
    (file,) = written(tmp_path, "bahdanau2015")
    body = {"text": "ab ghi\u2028status=500"}
    for flags, sources in (((), None), (("--log-texts",), '["ab ghi\\u2028status=500"]')):
        with process(file, "--log-level", "debug", *flags) as (server, client):
            text = client.post("/v1/translate", json=body).json()["translations"][0]["text"]
            client.get("/x%0a2026 error")
            client.get("/healthz")
            entries = [line for line in log_lines(server) if "method=" in line]
        served, missing, health = entries
        expected = f"sources={sources} outputs={json.dumps([text])}"
        assert served.endswith(f" {expected}") == (sources is not None)
        assert ("ghi" in served) == (sources is not None)
        assert ' path="/x\\n2026 error" status=404 ' in missing
        assert " debug request " in health


def test_an_internal_error_is_logged_with_the_id_of_its_request(serve, caplog):
    client = serve()
    client.app.state.service.metrics.exposition = lambda: 1 / 0
    answer = client.get("/metrics")
    assert answer.status_code == 500
    (entry,) = [x for x in caplog.records if x.exc_info]
    assert entry.fields == {"request_id": answer.headers["x-request-id"]}


def test_options_come_from_the_environment_and_typed_ones_go_first(tmp_path):
    one, other = written(tmp_path, "bahdanau2015", "cho2014")
    variables = {
        "REGARD_MODELS": f"fr={one} {other}",
        "REGARD_MAX_LINES": "2",
        "REGARD_MAX_CHARACTERS": "7",
        "REGARD_LOG_FORMAT": "json",
        "REGARD_LOG_TEXTS": "true",
        "REGARD_ALLOW_ORIGIN": f"{PAGE} http://localhost:5000",
        "REGARD_PORT": "x",
    }
    arguments = ("--max-characters", "9", "--log-level", "info")
    with process(*arguments, **variables) as (server, client):
        assert server.greeting.startswith("fr, cho2014 at ")
        limits = client.get("/v1/models", headers={"Origin": PAGE})
        assert limits.headers["access-control-allow-origin"] == PAGE
        assert limits.json()["limits"]["lines"] == 2
        assert limits.json()["limits"]["characters"] == 9
        client.post("/v1/translate", json={"text": "ab"})
        entries = [json.loads(line) for line in log_lines(server)]
    assert entries[-1]["sources"] == ["ab"]


@pytest.mark.parametrize(
    ("variable", "setting", "sentence"),
    [
        ("REGARD_PORT", "x", "serve: port is x; it must be a whole number, at least 0."),
        ("REGARD_MAX_LINES", "0", "serve: lines is 0; it must be a whole number, at least 1."),
        (
            "REGARD_LOG_LEVEL",
            "loud",
            "serve: log-level is loud; it must be debug, info, warning or error.",
        ),
        (
            "REGARD_ALLOW_ORIGIN",
            "*",
            "serve: allow-origin is *; it must be an origin such as https://example.org.",
        ),
    ],
)
def test_wrong_variables_are_refused_like_options(
    variable, setting, sentence, tmp_path, monkeypatch, capsys
):
    (file,) = written(tmp_path, "cho2014")
    monkeypatch.setenv(variable, setting)
    words = [] if variable == "REGARD_PORT" else ["--port", "0"]
    assert main(["serve", str(file), *words]) == 2
    assert capsys.readouterr().err == f"regard: {sentence}\n"


def test_every_option_of_serve_has_a_variable_and_no_other_command_has_one():
    from regard.cli import app
    from typer.main import get_command

    commands = get_command(app).commands
    for parameter in commands["serve"].params:
        assert parameter.envvar == f"REGARD_{parameter.opts[0].strip('-').replace('-', '_').upper()}"
    for name, command in commands.items():
        if name != "serve":
            assert [x.name for x in command.params if x.envvar] == []


def test_models_have_names_versions_and_digests(tmp_path):
    one, other = written(tmp_path, "bahdanau2015", "cho2014")
    with process(f"fr={one}", other, f"french={one}") as (_, client):
        models = client.get("/v1/models").json()["models"]
        answer = client.post("/v1/translate", json={"text": "abc", "model": "french"}).json()
    assert [x["name"] for x in models] == ["fr", "cho2014", "french"]
    assert [x["file"] for x in models] == [one.name, other.name, one.name]
    for model, file in zip(models, (one, other, one), strict=True):
        assert model["sha256"] == digest_of(file)
        assert model["version"] == model["sha256"][:12]
        assert model["source"]["case"] == "keep"
    assert (answer["model"], answer["version"]) == ("french", models[2]["version"])


def test_one_file_under_two_names_is_loaded_once(tmp_path):
    (file,) = written(tmp_path, "cho2014")
    models = create_app({"a": str(file), "b": file}).state.service.registry.models
    assert models["a"].translator is models["b"].translator


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["a=x/m.regard", "a=y/m.regard"],
            "x/m.regard and y/m.regard have the same name, a. Use NAME=y/m.regard with another name.",
        ),
        (["=m.regard"], "model is =m.regard; it must have a name before the =. Use m.regard or "),
        (["a="], "model is a=; it must have a name before the =. Use FILE or NAME=FILE."),
    ],
)
def test_wrong_names_of_models_are_refused(words, sentence, capsys):
    assert main(["serve", *words]) == 2
    assert capsys.readouterr().err.startswith(f"regard: serve: {sentence}")


def test_a_path_with_an_equals_sign_is_a_path(tmp_path):
    (file,) = written(tmp_path, "cho2014")
    named = file.rename(tmp_path / "a=b.regard")
    with process(named) as (server, _):
        assert server.greeting.startswith("a=b at ")


def test_reloads_under_load_lose_no_request_and_serve_each_version_whole(tmp_path):
    (file,) = written(tmp_path, "bahdanau2015")
    lines = ["abcdefghij", "jih"]
    expected, stop, answers = {}, threading.Event(), []

    def remember():
        expected[digest_of(file)[:12]] = load(file, device="cpu").translate(lines)

    def ask(address):
        with httpx.Client(base_url=address, timeout=60) as client:
            while not stop.is_set():
                answers.append(client.post("/v1/translate", json={"text": lines}))

    remember()
    arguments = ("--log-level", "info", "--log-format", "json")
    with process(f"fr={file}", *arguments) as (server, client):
        # the log must be read, or the pipe fills
        log = []
        reader = threading.Thread(target=lambda: log.extend(map(str, server.stderr)))
        reader.start()
        clients = [threading.Thread(target=ask, args=(client.base_url,)) for _ in range(4)]
        for one in clients:
            one.start()
        versions = []
        for seed in (2, 3, 4):
            put(file, seed=seed)
            remember()
            server.send_signal(signal.SIGHUP)
            current = list(expected)[-1]
            end = time.monotonic() + 30
            while client.get("/v1/models").json()["models"][0]["version"] != current:
                assert time.monotonic() < end
                time.sleep(0.02)
            versions.append(current)
            time.sleep(0.1)
        stop.set()
        for one in clients:
            one.join()
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0
        reader.join()
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["version"] for answer in answers}) >= 3
    for answer in answers:
        content = answer.json()
        for got, wanted in zip(content["translations"], expected[content["version"]], strict=True):
            assert got["token_scores"] == list(wanted.token_scores)
    reloads = [json.loads(x) for x in log if "loaded a new version" in x]
    assert [x["version"] for x in reloads] == versions


def test_a_failed_reload_keeps_all_old_models_and_says_why(tmp_path):
    one, other = written(tmp_path, "bahdanau2015", "cho2014")
    with process(one, other, "--log-level", "info") as (server, client):
        before = client.get("/v1/models").json()["models"]
        put(one, seed=2)
        other.write_bytes(other.read_bytes()[:-100])
        server.send_signal(signal.SIGHUP)
        line = next(x for x in iter(server.stderr.readline, "") if "reload" in x)
        assert " error " in line
        assert "The reload failed, and the old models go on serving." in line
        assert str(other) in line
        assert client.get("/v1/models").json()["models"] == before
        put(other, name="cho2014")
        server.send_signal(signal.SIGHUP)
        line = next(x for x in iter(server.stderr.readline, "") if "model=" in x and "POST" not in x)
        assert f"model=bahdanau2015 version={digest_of(one)[:12]}" in line
        after = client.get("/v1/models").json()["models"]
    assert after[0]["sha256"] == digest_of(one) != before[0]["sha256"]
    # the same bytes again are no new version
    assert after[1] == before[1]


def test_nothing_is_reloaded_if_no_file_changed(tmp_path):
    (file,) = written(tmp_path, "cho2014")
    app = create_app({"a": file, "b": load(file, device="cpu")})
    registry = app.state.service.registry
    before = registry.models
    assert registry.reload() == []
    assert all(registry.models[name] is model for name, model in before.items())
    put(file, name="cho2014", seed=5)
    assert registry.reload() == ["a"]


@pytest.mark.skipif(not hasattr(os, "login_tty"), reason="login_tty is new in Python 3.11")
def test_a_server_ends_when_its_terminal_is_closed(tmp_path):
    (file,) = written(tmp_path, "cho2014")
    outer, inner = os.openpty()
    command = [Path(sys.executable).with_name("regard"), "serve", file, "--port", "0"]
    server = subprocess.Popen(command, preexec_fn=lambda: os.login_tty(inner), close_fds=False)
    os.close(inner)
    seen = b""
    while b"Ctrl-C stops" not in seen:
        seen += os.read(outer, 4096)
    time.sleep(0.5)
    os.close(outer)
    assert server.wait(30) == 0


def preflight(client, origin):
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    return client.options("/v1/translate", headers=headers)


def test_only_pages_of_allowed_origins_may_call(serve, translators):
    client = serve({"cho2014": translators["cho2014"]}, allow_origins=[PAGE])
    allowed = preflight(client, PAGE)
    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] == PAGE
    assert "POST" in allowed.headers["access-control-allow-methods"]
    other = preflight(client, "https://evil.example")
    assert "access-control-allow-origin" not in other.headers
    for origin, header in ((PAGE, PAGE), ("https://page.example.evil", None), ("null", None)):
        answer = client.post("/v1/translate", json={"text": "abc"}, headers={"Origin": origin})
        assert answer.status_code == 200
        assert answer.headers.get("access-control-allow-origin") == header
        assert "access-control-allow-credentials" not in answer.headers


def test_without_allowed_origins_no_page_of_another_site_may_call(client):
    assert problem(preflight(client, PAGE), 405)
    answer = client.get("/v1/models", headers={"Origin": PAGE})
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("origin", ["*", "null", "example.org", "https://a.b/", "https://*.a.b"])
def test_what_is_no_origin_is_refused(origin, translators):
    with pytest.raises(ConfigError) as caught:
        create_app({"m": translators["cho2014"]}, Limits(), allow_origins=[origin])
    assert str(caught.value).startswith(f"serve: allow-origin is {origin}; it must be an origin")

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
from regard.server.logs import TextFormatter
from regard.translator import load
from small_models import saved

PAGE = "https://page.example"


def log_lines(server):
    """Stop a server, and return its log."""
    server.send_signal(signal.SIGTERM)
    errors = server.communicate(timeout=30)[1]
    assert server.returncode == 0
    return [line for line in errors.splitlines() if not line.startswith("Next: ")]


def access_records(caplog):
    return [record for record in caplog.records if record.name == "regard.server.access"]


def digest_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def put(path, **options):
    """Replace a model file by another in one move."""
    save_model(path.with_suffix(".new"), saved(**options))
    path.with_suffix(".new").rename(path)


def test_variables_names_versions_and_a_json_log_without_texts(tmp_path):
    one, other = written(tmp_path, "bahdanau2015", "cho2014")
    variables = {
        "REGARD_MODELS": f"fr={one} {other} french={one}",
        "REGARD_MAX_LINES": "2",
        "REGARD_MAX_CHARACTERS": "7",
        "REGARD_LOG_FORMAT": "json",
        "REGARD_ALLOW_ORIGIN": f"{PAGE} http://localhost:5000",
        "REGARD_PORT": "x",
    }
    arguments = ("--max-characters", "9", "--log-level", "info")
    with process(*arguments, **variables) as (server, client):
        assert server.greeting.startswith("fr, cho2014, french at ")
        listed = client.get("/v1/models", headers={"Origin": PAGE})
        body = {"text": ["abc", "jj"], "model": "french"}
        answer = client.post("/v1/translate", json=body, headers={"X-Request-ID": "a-1"})
        body = {"text": "abc", "model": "de"}
        wrong = client.post("/v1/translate?x=abc", json=body, headers={"X-Request-ID": "a b"})
        client.get("/healthz")
        entries = [json.loads(line) for line in log_lines(server)]
    assert listed.headers["access-control-allow-origin"] == PAGE
    # what is typed goes before a variable
    limits = listed.json()["limits"]
    assert (limits["lines"], limits["characters"]) == (2, 9)
    check_models(listed.json()["models"], {"fr": one, "cho2014": other, "french": one})
    version = digest_of(one)[:12]
    assert (answer.json()["model"], answer.json()["version"]) == ("french", version)
    assert answer.headers["x-request-id"] == "a-1"
    assert [entry["status"] for entry in entries] == [200, 200, 422]
    assert entries[2]["request_id"] == wrong.headers["x-request-id"]
    assert re.fullmatch("[0-9a-f]{32}", wrong.headers["x-request-id"])
    assert not {"text", "sources", "outputs"} & {*entries[1], *entries[2]}
    assert entries[1].pop("milliseconds") > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entries[1].pop("time"))
    assert entries[1] == {
        "level": "info",
        "logger": "regard.server.access",
        "message": "request",
        "request_id": "a-1",
        "method": "POST",
        "path": "/v1/translate",
        "status": 200,
        "model": "french",
        "version": version,
        "lines": 2,
        "source_tokens": 5,
        "tokens": sum(len(x["tokens"]) for x in answer.json()["translations"]),
    }


def check_models(models, files):
    """Compare what a server says of its models with their files."""
    assert [x["name"] for x in models] == list(files)
    for model, file in zip(models, files.values(), strict=True):
        assert (model["file"], model["sha256"]) == (file.name, digest_of(file))
        assert model["version"] == model["sha256"][:12]
        assert model["source"]["case"] == "keep"


def test_text_entries_are_one_line_and_have_texts_on_request_only(serve, caplog, eventually):
    caplog.set_level("DEBUG", logger="regard")
    line = "ab ghi\u2028status=500"
    for log_texts in (False, True):
        caplog.clear()
        client = serve(log_texts=log_texts)
        output = client.post("/v1/translate", json={"text": line}).json()["translations"][0]["text"]
        client.get("/x%0a2026 error")
        client.get("/healthz")
        # an entry is written after its response; the fixture asks for the health of each server
        eventually(lambda: len(access_records(caplog)) == 4)
        records = access_records(caplog)
        served, missing, health = map(TextFormatter().format, records[1:])
        expected = f'sources=["ab ghi\\u2028status=500"] outputs={json.dumps([output])}'
        assert served.endswith(f" {expected}") == log_texts
        assert ("ghi" in served) == log_texts
        assert " tokens=9" in served
        assert ' path="/x\\n2026 error" status=404 ' in missing
        assert " debug request " in health


def test_an_internal_error_is_logged_with_the_id_of_its_request(serve, caplog):
    client = serve()
    client.app.state.service.metrics.exposition = lambda: 1 / 0
    answer = client.get("/metrics")
    assert answer.status_code == 500
    (entry,) = [x for x in caplog.records if x.exc_info]
    assert entry.fields == {"request_id": answer.headers["x-request-id"]}


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
    from typer.main import get_command

    from regard.cli import app

    commands = get_command(app).commands
    for parameter in commands["serve"].params:
        assert (
            parameter.envvar == f"REGARD_{parameter.opts[0].strip('-').replace('-', '_').upper()}"
        )
    for name, command in commands.items():
        if name != "serve":
            assert [x.name for x in command.params if x.envvar] == []


def test_one_file_under_two_names_is_loaded_once(tmp_path):
    (file,) = written(tmp_path, "cho2014")
    models = create_app({"a": str(file), "b": file}).state.service.registry.models
    assert models["a"].translator is models["b"].translator


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["a=x/m.regard", "a=y/m.regard"],
            "x/m.regard and y/m.regard have the same name, a. Use NAME=y/m.regard with another ",
        ),
        (["=m.regard"], "model is =m.regard; it must have a name before the =. Use m.regard or "),
        (["a="], "model is a=; it must have a name before the =. Use FILE or NAME=FILE."),
    ],
)
def test_wrong_names_of_models_are_refused(words, sentence, capsys):
    assert main(["serve", *words]) == 2
    assert capsys.readouterr().err.startswith(f"regard: serve: {sentence}")


def test_reloads_under_load_lose_no_request_and_a_failed_one_changes_nothing(tmp_path, eventually):
    file, other = written(tmp_path, "bahdanau2015", "cho2014")
    lines = ["abcdefghij", "jih"]
    expected, stop, answers, log = {}, threading.Event(), [], []

    def remember():
        expected[digest_of(file)[:12]] = load(file, device="cpu").translate(lines)
        return digest_of(file)[:12]

    def ask(address):
        with httpx.Client(base_url=address, timeout=60) as client:
            while not stop.is_set():
                answers.append(client.post("/v1/translate", json={"text": lines}))

    versions = [remember()]
    arguments = ("--log-level", "info", "--log-format", "json")
    with process(f"fr={file}", other, *arguments) as (server, client):
        # the log must be read, or the pipe fills
        reader = threading.Thread(target=lambda: log.extend(map(json.loads, server.stderr)))
        assert server.stderr.readline().startswith("Next: ")
        reader.start()
        clients = [threading.Thread(target=ask, args=(client.base_url,)) for _ in range(4)]
        for one in clients:
            one.start()

        def reload(message):
            seen = len(log)
            server.send_signal(signal.SIGHUP)
            eventually(lambda: [x for x in log[seen:] if message in x["message"]], 30)
            time.sleep(0.1)

        for seed in (2, 3):
            put(file, seed=seed)
            versions.append(remember())
            reload("loaded a new version")
        models = client.get("/v1/models").json()["models"]
        put(file, seed=4)
        content = other.read_bytes()
        other.write_bytes(content[:-100])
        reload("The reload failed, and the old models go on serving.")
        assert client.get("/v1/models").json()["models"] == models
        other.write_bytes(content)
        versions.append(remember())
        reload("loaded a new version")
        assert client.get("/v1/models").json()["models"][1] == models[1]
        stop.set()
        for one in clients:
            one.join()
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0
        reader.join()
    assert {answer.status_code for answer in answers} == {200}
    assert {answer.json()["version"] for answer in answers} == set(versions)
    check_versions([answer.json() for answer in answers], expected)
    reloads = [x for x in log if x["message"] == "loaded a new version of a model"]
    assert [(x["model"], x["version"]) for x in reloads] == [("fr", x) for x in versions[1:]]
    (failure,) = [x for x in log if x["level"] == "error"]
    assert str(other) in failure["message"]
    assert "exception" not in failure


def check_versions(contents, expected):
    """Compare each response with the translations of the version that it names."""
    for content in contents:
        for got, wanted in zip(content["translations"], expected[content["version"]], strict=True):
            assert got["token_scores"] == list(wanted.token_scores)


def test_nothing_is_reloaded_if_no_file_changed(tmp_path):
    (file,) = written(tmp_path, "cho2014")
    app = create_app({"a": file, "b": load(file, device="cpu")})
    registry = app.state.service.registry
    before = registry.models
    assert registry.reload() == []
    assert all(registry.models[name] is model for name, model in before.items())
    put(file, name="cho2014", seed=5)
    assert registry.reload() == ["a"]


def test_a_server_ends_when_its_terminal_is_closed(tmp_path):
    (file,) = written(tmp_path, "cho2014")
    # an = in the path of a file does not end a name
    file = file.rename(tmp_path / "a=b.regard")
    outer, inner = os.openpty()
    command = [Path(sys.executable).with_name("regard"), "serve", file, "--port", "0"]
    server = subprocess.Popen(command, preexec_fn=lambda: os.login_tty(inner), close_fds=False)
    os.close(inner)
    seen = b""
    while b"Ctrl-C stops" not in seen:
        seen += os.read(outer, 4096)
    assert b"a=b at " in seen
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


def test_the_documented_app_runs_under_uvicorn(tmp_path):
    (file,) = written(tmp_path, "cho2014")
    file.rename(tmp_path / "eng-fra.regard")
    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text()
    (script,) = re.findall(r"```py\n(.*?)```", page, flags=re.DOTALL)
    (tmp_path / "app.py").write_text(script)
    command = re.search(r"^uvicorn (.+) --port 8000$", page, flags=re.MULTILINE)[1].split()
    command = [sys.executable, "-m", "uvicorn", *command, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as server:
        line = next(x for x in iter(server.stderr.readline, "") if "running on" in x)
        address = re.search(r"http://[\d.:]+", line)[0]
        headers = {"Origin": "https://example.org"}
        answer = httpx.post(f"{address}/v1/translate", json={"text": "abc"}, headers=headers)
        limits = httpx.get(f"{address}/v1/models").json()["limits"]
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=30)
    assert answer.json()["model"] == "fr"
    assert answer.headers["access-control-allow-origin"] == "https://example.org"
    assert limits["lines"] == 64

"""`regard serve` as a process: how it begins, how it is refused, and how it ends."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from server_cases import process, written

from benchmarks.load import memory
from regard.cli import main
from regard.translator import load


def test_a_server_prints_its_address_and_a_signal_loses_no_request(tmp_path):
    files = written(tmp_path, "bahdanau2015", "cho2014")
    lines = ["abcdefghij"[n % 7 :] + "abc" * (n % 3) for n in range(12)]
    with process(*files, "--batch-lines", "2") as (server, client):
        address = str(client.base_url).rstrip("/")
        assert server.greeting == f"bahdanau2015, cho2014 at {address} (Ctrl-C stops)\n"
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address)
        client.get("/readyz").raise_for_status()
        bodies = [{"text": lines, "beam_size": 3, "max_length": 30, "attention": True}] * 3
        with ThreadPoolExecutor(3) as pool:
            begun = [pool.submit(client.post, "/v1/translate", json=body) for body in bodies]
            accepted = 'regard_lines_total{model="bahdanau2015"} 36.0'
            while accepted not in client.get("/metrics").text:
                time.sleep(0.01)
            assert not any(one.done() for one in begun)
            server.send_signal(signal.SIGTERM)
            answers = [one.result() for one in begun]
        code, errors = server.wait(30), server.stderr.read()
    assert (code, [x.status_code for x in answers]) == (0, [200] * 3)
    head = "curl -H 'Content-Type: application/json' -d '{\"text\": \"…\"}'"
    assert errors == f"Next: {head} {address}/v1/translate\n"
    expected = load(files[0], device="cpu").translate(lines, beam_size=3, max_length=30)
    for answer in answers:
        for got, wanted in zip(answer.json()["translations"], expected, strict=True):
            assert got["token_scores"] == list(wanted.token_scores)
            assert got["attention"] == wanted.attention.tolist()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/healthz")


def test_a_port_in_use_is_refused(shared, capsys):
    port = shared.client.base_url.port
    assert main(["serve", str(shared.files[0]), "--port", str(port)]) == 2
    sentence = f"regard: serve: port is {port}, which is in use. Use port 0 to get a free one.\n"
    assert capsys.readouterr().err == sentence


def test_a_loopback_server_answers_loopback_names_only(shared):
    for host, status in (("evil.example", 421), ("localhost", 200), ("127.0.0.1", 200)):
        assert shared.client.get("/v1/models", headers={"Host": host}).status_code == status


def test_memory_and_open_files_stay_as_they_are(shared):
    def ask(count):
        for number in range(count):
            body = {"text": ["abc" * (number % 4)] * 2, "attention": True, "influence": True}
            assert shared.client.post("/v1/translate", json=body).status_code == 200
            shared.client.post("/v1/translate", json={"text": 1})
            with socket.create_connection(("127.0.0.1", shared.client.base_url.port)):
                pass

    ask(20)
    before, files = memory(shared.pid), len(os.listdir(f"/proc/{shared.pid}/fd"))
    ask(20)
    assert memory(shared.pid) < 1.1 * before
    assert len(os.listdir(f"/proc/{shared.pid}/fd")) <= files + 2


def test_server_output_equals_that_of_the_command_line(shared, capsys):
    body = {"text": "abc", "attention": True, "model": "vaswani2017"}
    (got,) = shared.client.post("/v1/translate", json=body).json()["translations"]
    file = shared.files[1]
    assert main(["translate", str(file), "--text", "abc", "--format", "jsonl"]) == 0
    line = json.loads(capsys.readouterr().out)
    for name in ("text", "score", "tokens", "source_tokens", "token_scores", "attention"):
        assert got[name] == line[name]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--port", "x"], "serve: port is x; it must be a whole number, at least 0."),
        (["--port", "70000"], "serve: port is 70000; it must be at most 65535."),
        (
            ["--host", "no.such.host.invalid"],
            "serve: host is no.such.host.invalid; it must be an address or name of this machine, "
            "such as 127.0.0.1.",
        ),
        (
            ["--host", "203.0.113.7"],
            "serve: host is 203.0.113.7; it must be an address or name of this machine, "
            "such as 127.0.0.1.",
        ),
        (["--max-lines", "0"], "serve: lines is 0; it must be a whole number, at least 1."),
        (
            ["--max-lines", "5", "--max-queue-lines", "4"],
            "serve: lines is 5; it must be at most queue_lines = 4. Set queue_lines = 5.",
        ),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_invalid_server_options_are_refused(words, sentence, capsys):
    assert main(["serve", "m.regard", *words]) == 2
    assert capsys.readouterr().err == f"regard: {sentence}\n"


def test_a_privileged_port_is_refused(monkeypatch, capsys):
    def forbidden(self, address):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", forbidden)
    assert main(["serve", "m.regard", "--port", "80"]) == 2
    sentence = (
        "serve: port is 80, which this user may not use. Use a port above 1023, such as 8000."
    )
    assert capsys.readouterr().err == f"regard: {sentence}\n"


def test_two_models_with_the_same_name_are_refused(capsys):
    assert main(["serve", "a/m.regard", "b/m.regard"]) == 2
    assert capsys.readouterr().err == (
        "regard: serve: a/m.regard and b/m.regard have the same name, m. Use NAME=b/m.regard with "
        "another name.\n"
    )


def test_a_file_that_is_not_a_model_is_refused(tmp_path, capsys):
    assert main(["serve", str(tmp_path / "m.regard"), "--port", "0"]) == 2
    assert "there is no such file" in capsys.readouterr().err


def test_serving_without_the_extra_says_what_to_install(monkeypatch, capsys):
    # by its module's name: in the package, the function of that name hides it
    monkeypatch.setattr(sys.modules["regard.cli.serve"], "find_spec", lambda name: None)
    assert main(["serve", "m.regard"]) == 2
    assert capsys.readouterr().err == (
        "regard: serve: The server needs fastapi, which is not installed. "
        'Run pip install "regard[serve]".\n'
    )


def test_help_lists_every_limit_with_its_default_and_imports_no_server():
    script = (
        "import sys\nfrom regard.cli import main\nmain(['serve', '--help'])\n"
        "print(sorted({'torch', 'numpy', 'fastapi', 'pydantic'} & sys.modules.keys()))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    *help_lines, imported = run.stdout.splitlines()
    assert imported == "[]"
    text = " ".join(" ".join(help_lines).split())
    assert "--max-lines N Maximum number of lines, or pairs, in a request. Default: 256." in text
    batch = "Maximum number of lines in a batch, from any requests. 1 disables batching."
    assert f"--batch-lines N {batch} Default: 32." in text


def test_a_public_server_accepts_any_host_name_or_the_listed_ones():
    from regard.server.uvicorn_server import allowed_hosts, bind, server_url

    with bind("127.0.0.1", 0) as listener:
        named = allowed_hosts(listener, "127.0.0.1", ["Regard.Example"])
        assert named == {"localhost", "127.0.0.1", "[::1]", "regard.example"}
    with bind("0.0.0.0", 0) as listener:
        port = listener.getsockname()[1]
        assert server_url(listener) == f"http://127.0.0.1:{port}"
        assert allowed_hosts(listener, "0.0.0.0") is None
        # another name, and not only this one: what is printed is called by this machine's
        named = allowed_hosts(listener, "0.0.0.0", ["a.example"])
        assert named == {"localhost", "127.0.0.1", "[::1]", "0.0.0.0", "a.example"}

"""Clients that are many, slow, gone, or send too much: each is answered, and nobody else waits."""

import asyncio
import json
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from server_cases import apart, problem

from benchmarks.load import memory
from regard.server import Limits, create_app

HEAD = "POST /v1/translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


def raw(client, text):
    """Connect by hand, and send what no decent client would."""
    connection = socket.create_connection(client.address, timeout=20)
    connection.sendall(text.encode())
    return connection


def received(connection):
    """Return all that a server sends until it closes."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts).decode()


def whole(body):
    text = json.dumps(body)
    return f"{HEAD}Content-Length: {len(text)}\r\n\r\n{text}"


def test_a_full_queue_answers_429_with_retry_after(serve, slow, eventually):
    translator, held = slow()
    client = serve({"m": translator}, queue_lines=4, lines=4, batch_lines=1)
    worker = client.app.state.service.worker
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(client.post, "/v1/translate", json={"text": "abc"})
        held.until(1)
        second = pool.submit(client.post, "/v1/translate", json={"text": ["abc", "b", "c"]})
        eventually(lambda: worker.num_queued_lines == 3)
        # three lines wait at half a line a second
        worker.throughput = 0.5
        answer = client.post("/v1/translate", json={"text": ["abc", "b"]})
        sentence = "The queue is full: 3 lines wait, the request has 2, and the limit is 4. "
        assert problem(answer, 429) == f"{sentence}Try again later."
        assert answer.headers["retry-after"] == "6"
        # what was refused was not taken on
        assert 'regard_lines_total{model="m"} 4.0' in client.get("/metrics").text
        third = pool.submit(client.post, "/v1/translate", json={"text": "b"})
        eventually(lambda: worker.num_queued_lines == 4)
        held.go.set()
        assert [x.result().status_code for x in (first, second, third)] == [200] * 3
    assert client.post("/v1/translate", json={"text": ["abc", "b"]}).status_code == 200
    assert worker.num_queued_lines == 0


def test_queued_requests_are_batched_in_order(serve, slow, eventually):
    translator, held = slow()
    client = serve({"m": translator}, batch_lines=3)
    worker = client.app.state.service.worker
    with ThreadPoolExecutor(3) as pool:
        begun = [pool.submit(client.post, "/v1/translate", json={"text": "a"})]
        held.until(1)
        begun.append(pool.submit(client.post, "/v1/translate", json={"text": list("bcdef")}))
        eventually(lambda: worker.num_queued_lines == 5)
        begun.append(pool.submit(client.post, "/v1/translate", json={"text": "g"}))
        eventually(lambda: worker.num_queued_lines == 6)
        held.go.set()
        translations = [one.result().json()["translations"] for one in begun]
    # whoever asked for one line does not wait for five
    assert held.batches == [["a"], ["b", "g", "c"], ["d", "e", "f"]]
    assert [[x["source"] for x in one] for one in translations] == [["a"], list("bcdef"), ["g"]]


def test_lines_are_translated_one_by_one_without_batching(serve, slow):
    translator, held = slow()
    held.go.set()
    client = serve({"m": translator}, batch_lines=1)
    client.post("/v1/translate", json={"text": list("abc")})
    assert held.batches == [["a"], ["b"], ["c"]]


def test_a_request_that_takes_too_long_times_out(serve, slow):
    translator, held = slow()
    client = serve({"m": translator}, seconds=1, batch_lines=1)
    start = time.monotonic()
    answer = client.post("/v1/translate", json={"text": ["abc", "b", "c"]})
    sentence = "The request took longer than 1 seconds. Send fewer lines per request."
    assert problem(answer, 504) == sentence
    assert 0.9 < time.monotonic() - start < 10
    # what nobody waits for is not computed
    service = client.app.state.service
    assert service.worker.num_queued_lines == 0
    service.limits = Limits()
    held.go.set()
    assert client.post("/v1/translate", json={"text": "a"}).status_code == 200
    assert held.batches == [["abc"], ["a"]]


def test_rescoring_has_the_same_timeout(serve, slow):
    translator, _ = slow()
    client = serve({"m": translator}, seconds=0.2)
    pairs = [{"source": "a", "target": "k"}]
    problem(client.post("/v1/rescore", json={"pairs": pairs}), 504)


def test_a_slow_body_times_out_without_blocking_others(serve):
    client = serve(seconds=1.5)
    with raw(client, f"{HEAD}Content-Length: 15\r\n\r\n" + '{"text"') as slow:
        assert client.post("/v1/translate", json={"text": "abc"}).status_code == 200
        slow.setblocking(False)
        with pytest.raises(BlockingIOError):
            slow.recv(1)
        slow.settimeout(20)
        answer = received(slow)
    assert answer.startswith("HTTP/1.1 504 ")
    assert "The request took longer than 1.5 seconds." in answer


def test_open_requests_beyond_the_queue_limit_are_rejected(serve, eventually):
    client = serve(queue_lines=2, lines=2)
    half = f"{HEAD}Content-Length: 15\r\n\r\n" + '{"text"'
    with raw(client, half), raw(client, half):
        eventually(lambda: client.app.state.service.open == 2)
        answer = client.post("/v1/translate", json={"text": "abc"})
        sentence = "2 requests are already open. Try again later."
        assert problem(answer, 429) == sentence
        assert answer.headers["retry-after"] == "1"
    eventually(lambda: client.app.state.service.open == 0)
    assert client.post("/v1/translate", json={"text": "abc"}).status_code == 200


def test_endless_headers_time_out(serve, monkeypatch):
    monkeypatch.setattr("regard.server.timeouts.HEADER_TIMEOUT_SECONDS", 0.3)
    client = serve()
    with raw(client, "GET /healthz HTTP/1.1\r\nX: ") as slow:
        start = time.monotonic()
        for _ in range(10):
            time.sleep(0.05)
            try:
                slow.sendall(b"x")
            except OSError:
                break
        assert slow.recv(10) == b""
        assert time.monotonic() - start < 5
    # a request that was begun in time is not
    with raw(client, whole({"text": "abc"})) as quick:
        assert quick.recv(15) == b"HTTP/1.1 200 OK"


def silent(client):
    """Ask for more than a connection holds, and read nothing of it; return who asked."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    connection.connect(client.address)
    body = {"pairs": [{"source": "abcdefghij", "target": "k" * 500}] * 12, "attention": True}
    connection.sendall(whole(body).replace("/v1/translate", "/v1/rescore").encode())
    return connection


def unread(client):
    """Return what the server still keeps for its clients, in bytes."""
    left = [one.transport.get_write_buffer_size() for one in client.server.server_state.connections]
    return sum(left)


def test_a_client_that_reads_nothing_is_disconnected(serve, eventually):
    client = serve(stall_seconds=1)
    with silent(client):
        eventually(lambda: unread(client) > 100_000, 60)
        eventually(lambda: not unread(client))
        assert client.get("/healthz").status_code == 200


def test_a_slow_client_gets_its_whole_response(serve, eventually):
    client = serve(stall_seconds=3)
    with silent(client) as slow:
        eventually(lambda: unread(client) > 100_000, 60)
        start, answer = time.monotonic(), b""
        slow.settimeout(20)
        while not answer.endswith(b"]}"):
            part = slow.recv(20_000)
            assert part
            answer += part
            # longer than it may take nothing, a little each time
            time.sleep(0.08)
        assert time.monotonic() > start + 3
    assert len(json.loads(answer.partition(b"\r\n\r\n")[2])["translations"]) == 12


def test_a_stopping_server_disconnects_a_client_that_reads_nothing(serve, eventually):
    client = serve(stall_seconds=1)
    with silent(client):
        eventually(lambda: unread(client) > 100_000, 60)
        client.server.should_exit = True
        eventually(lambda: not client.server.server_state.connections)


def test_requests_of_a_disconnected_client_are_cancelled(serve, slow, eventually):
    translator, held = slow()
    client = serve({"m": translator}, batch_lines=1)
    worker = client.app.state.service.worker
    with raw(client, whole({"text": ["abc", "b", "c"]})):
        eventually(lambda: worker.num_queued_lines == 2)
    eventually(lambda: worker.num_queued_lines == 0)
    held.go.set()
    assert client.post("/v1/translate", json={"text": "a"}).status_code == 200
    assert held.batches == [["abc"], ["a"]]


def test_a_client_that_disconnects_within_its_body_is_dropped(serve, eventually, caplog):
    client = serve()
    with raw(client, f"{HEAD}Content-Length: 15\r\n\r\n" + '{"text"'):
        pass
    counted = 'regard_requests_total{route="/v1/translate",status="499"} 1.0'
    eventually(lambda: counted in client.get("/metrics").text)
    assert caplog.text == ""


@pytest.mark.parametrize("with_length", [True, False], ids=["with its length", "in chunks"])
def test_a_body_of_a_hundred_megabytes_is_refused_and_not_stored(serve, with_length):
    client = serve()
    part, count = b'"' + b"x" * 999_998 + b'"', 100
    sizes = []

    def parts():
        for _ in range(count):
            sizes.append(memory(os.getpid()))
            yield part

    length = {"Content-Length": str(count * len(part))} if with_length else {}
    headers = {"Content-Type": "application/json", **length}
    answer = client.post("/v1/translate", content=parts(), headers=headers)
    assert problem(answer, 413) == (
        "The body is larger than 1,048,576 bytes. Send fewer lines per request."
    )
    assert len(sizes) == count
    assert max(sizes) - sizes[0] < 20e6


def test_a_client_with_expect_100_continue_is_refused_before_it_sends(serve):
    client = serve()
    with raw(client, f"{HEAD}Content-Length: 100000000\r\nExpect: 100-continue\r\n\r\n") as polite:
        assert received(polite).startswith("HTTP/1.1 413 ")


def test_a_body_of_exactly_the_limit_is_read(serve):
    client = serve(bytes=15)
    headers = {"Content-Type": "application/json"}
    for length, status in ((15, 200), (16, 413)):
        body = b'{"text": "abc"}'.ljust(length)
        assert client.post("/v1/translate", content=body, headers=headers).status_code == status


def test_a_stopping_server_finishes_open_requests_and_accepts_no_new_ones(serve, slow):
    translator, held = slow()
    client = serve({"m": translator})
    service = client.app.state.service
    with ThreadPoolExecutor(1) as pool:
        begun = pool.submit(client.post, "/v1/translate", json={"text": "abc"})
        held.until(1)
        service.stopping = True
        assert problem(client.get("/readyz"), 503).startswith("The server is stopping")
        answer = client.post("/v1/translate", json={"text": "abc"})
        assert problem(answer, 503) == (
            "The server is stopping and accepts no requests. Try again later."
        )
        assert answer.headers["retry-after"] == "5"
        assert client.get("/healthz").json() == {"status": "ok"}
        held.go.set()
        assert begun.result().status_code == 200
    service.stopping = False
    assert client.get("/readyz").json() == {"status": "ready"}


def test_a_torch_model_runs_in_one_thread_alone(serve, slow):
    translator, held = slow()
    held.go.set()
    threads = set()
    for name in ("translate_prepared", "rescore", "influence"):
        whole_one = getattr(translator, name)

        def record_thread(*arguments, whole_one=whole_one):
            threads.add(threading.current_thread().name)
            return whole_one(*arguments)

        setattr(translator, name, record_thread)
    client = serve({"m": translator})

    def ask(number):
        pairs = [{"source": "a", "target": "k"}]
        if number % 2:
            return client.post("/v1/rescore", json={"pairs": pairs, "influence": True})
        return client.post("/v1/translate", json={"text": "ab", "influence": True})

    with ThreadPoolExecutor(4) as pool:
        assert {x.status_code for x in pool.map(ask, range(12))} == {200}
    assert threads == {"batch-worker"}


def test_metrics_count_requests_and_lines(serve, eventually):
    client = serve()
    client.post("/v1/translate", json={"text": ["abc", "b", ""]})
    client.post("/v1/translate", json={})
    client.get("/made-up-by-somebody")
    client.get("/")
    client.get("/app.js")
    # a batch is counted when it is done, which may be after its answer was read
    eventually(lambda: "regard_batch_lines_sum 3.0" in client.get("/metrics").text)
    response = client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    lines = response.text.splitlines()
    for expected in (
        'regard_requests_total{route="/v1/translate",status="200"} 1.0',
        'regard_requests_total{route="/v1/translate",status="422"} 1.0',
        'regard_requests_total{route="other",status="404"} 1.0',
        'regard_requests_total{route="page",status="200"} 2.0',
        'regard_request_seconds_count{route="/v1/translate"} 2.0',
        'regard_lines_total{model="bahdanau2015"} 3.0',
        "regard_waiting_lines 0.0",
        "regard_batch_lines_sum 3.0",
    ):
        assert expected in lines
    assert not [x for x in lines if "memory" in x or x.startswith("process_")]
    (busy,) = (x for x in lines if x.startswith("regard_busy_seconds_total "))
    assert float(busy.split()[1]) > 0


def test_two_servers_in_a_process_count_apart(serve):
    one, other = serve(), serve()
    one.post("/v1/translate", json={"text": "abc"})
    assert "regard_lines_total{" in one.get("/metrics").text
    assert "regard_lines_total{" not in other.get("/metrics").text


def test_an_app_needs_no_lifespan_and_can_be_closed_twice(translators):
    """As a test client of somebody else's uses it."""
    app = create_app({"m": translators["luong2015"]})

    async def ask():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return (await client.post("/v1/translate", json={"text": "abc"})).json()

    first = apart(asyncio.run, ask())
    app.state.service.worker.close()
    assert apart(asyncio.run, ask()) == first
    app.state.service.worker.close()
    app.state.service.worker.close()

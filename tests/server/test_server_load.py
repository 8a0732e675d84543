"""Many clients for a while: no error, every answer the command line's, and memory that stays."""

import json
import os
import random
from pathlib import Path

import pytest
from server_cases import apart, written

from benchmarks.load import load, serving
from regard.translator import load as load_model

SEARCHES = [{}, {"beam_size": 3}, {"beam_size": 2, "nbest": 2, "attention": True}]


def bodies(letters, count, longest):
    """Return requests of lines of mixed lengths, a few of several lines."""
    generator = random.Random(7)
    requests = []
    for number in range(count):
        lengths = [generator.randrange(1, longest) for _ in range(1 + (number % 5 == 0))]
        lines = ["".join(generator.choices(letters, k=length)) for length in lengths]
        text = lines[0] if len(lines) == 1 else lines
        requests.append({"text": text, **SEARCHES[number % len(SEARCHES)]})
    return requests


def check(traffic, file):
    """Compare every answer with what the library says of the line alone; return how many lines."""
    translator, lines = load_model(file, device="cpu"), 0
    for body, answers in traffic.responses.items():
        # however often it was asked, and in whatever company
        assert len(answers) == 1
        request = json.loads(body)
        translations = json.loads(answers.pop())["translations"]
        texts = [request["text"]] if isinstance(request["text"], str) else request["text"]
        options = {name: request[name] for name in ("beam_size", "nbest") if name in request}
        for wanted, got in zip(translator.translate(texts, **options), translations, strict=True):
            assert (got["text"], got["tokens"]) == (wanted.text, list(wanted.tokens))
            assert got["token_scores"] == list(wanted.token_scores)
            if request.get("attention"):
                assert got["attention"] == wanted.attention.tolist()
            lines += 1
    return lines


def test_sixteen_clients_for_some_seconds(shared):
    port, requests = shared.client.base_url.port, bodies("abcdefghij", 40, 20)
    traffic = apart(load, port, shared.pid, requests, clients=16, seconds=3)
    assert set(traffic.statuses) <= {200, 429}
    assert check(traffic, shared.files[0]) >= 30
    assert len(traffic.latencies) >= 30
    assert traffic.growth(warmup_seconds=1.5) < 0.1


@pytest.mark.slow
def test_a_full_queue_rejects_some_requests_and_answers_others_correctly(tmp_path):
    (file,) = written(tmp_path, "luong2015")
    limits = ("--max-queue-lines", "3", "--max-lines", "2", "--batch-lines", "2")
    with serving(file, *limits) as (process, port):
        traffic = apart(load, port, process, bodies("abcdefghij", 30, 20), clients=12, seconds=2.5)
    assert set(traffic.statuses) == {200, 429}
    check(traffic, file)


@pytest.mark.slow
def test_sixty_four_clients_for_a_minute(tmp_path, record_property):
    """With REGARD_DATA, against what is there; else against a small model of random weights."""
    real = Path(os.environ.get("REGARD_DATA") or tmp_path) / "load.regard"
    file = real if real.exists() else written(tmp_path, "bahdanau2015")[0]
    requests = bodies("abcdefghij", 300, 20)
    for batching in ("32", "1"):
        with serving(file, "--batch-lines", batching) as (process, port):
            traffic = apart(load, port, process, requests, clients=64, seconds=60)
        assert set(traffic.statuses) <= {200, 429}
        lines = check(traffic, file)
        growth = traffic.growth()
        assert growth < 0.05
        name = "batched" if batching != "1" else "alone"
        record_property(f"{name} requests", traffic.statuses[200])
        record_property(f"{name} requests/s", round(traffic.requests_per_second, 1))
        for share in (0.5, 0.95, 0.99):
            record_property(f"{name} p{share * 100:g} ms", round(1000 * traffic.quantile(share)))
        record_property(f"{name} memory growth %", round(100 * growth, 2))
        record_property(f"{name} lines compared", lines)

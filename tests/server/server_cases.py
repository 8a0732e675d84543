"""What tests of the server share: a problem document, and models of random weights as files."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx

from regard.saved_model import save_model
from small_models import saved

COMMAND = Path(sys.executable).with_name("regard")


def problem(answer, status):
    """Return the sentence of a problem document, having looked at the rest."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    content = answer.json()
    assert content.keys() == {"type", "title", "status", "detail"}
    assert (content["type"], content["status"]) == ("about:blank", status)
    assert "\n" not in content["detail"]
    for secret in ("Traceback", "/work", "/tmp", "site-packages", ".py", "0x"):
        assert secret not in answer.text
    return content["detail"]


def written(folder, *names):
    """Write small models of random weights, and return their files."""
    for name in names:
        save_model(folder / f"{name}.regard", saved(name))
    return [folder / f"{name}.regard" for name in names]


@contextmanager
def process(*words, **variables):
    """Run the command with environment variables until the block ends; yield it and a client."""
    # nobody reads the log of most servers, and a full pipe would stop them
    level = [] if "--log-level" in words else ["--log-level", "warning"]
    command = [str(COMMAND), "serve", *map(str, words), "--port", "0", *level]
    env = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    pipe = subprocess.PIPE
    server = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=env)
    try:
        server.greeting = server.stdout.readline()
        address = re.search(r"http://\S+", server.greeting)
        assert address is not None, server.stderr.read()
        with httpx.Client(base_url=address[0], timeout=60) as client:
            yield server, client
    finally:
        if server.poll() is None:
            server.kill()
        server.communicate()


def apart(work, *arguments, **options):
    """Run something in a thread of its own: a browser of other tests may hold this one's loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work, *arguments, **options).result()

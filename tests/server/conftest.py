"""A server in a thread of this process, on a port of its own, and clients for it."""

import signal
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from server_cases import process, written

from regard.models import PRESETS
from regard.server import Limits, create_app
from regard.server.uvicorn_server import bind, build_server
from regard.translator import Translator
from small_models import saved


@contextmanager
def running(translators, limits=None, **options):
    """Serve models until the block ends; yield a client that knows the app as `app`."""
    app = create_app(translators, limits or Limits(), **options)
    listener = bind("127.0.0.1", 0)
    listener.listen(128)
    address = "http://{}:{}".format(*listener.getsockname())
    server = build_server(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        with httpx.Client(base_url=address, timeout=30) as client:
            client.app, client.address, client.server = app, listener.getsockname(), server
            client.get("/healthz")
            yield client
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


@pytest.fixture(scope="session")
def translators():
    """Build a small model of each preset, with large random weights."""
    return {name: Translator(saved(name)) for name in PRESETS}


@pytest.fixture(scope="session")
def client(translators):
    """Serve them all, with the limits as they are by default."""
    with running(translators) as client:
        yield client


@pytest.fixture
def serve():
    """Return what serves models with limits of one's own, until the test ends."""
    with ExitStack() as stack:

        def begin(translators=None, hosts=None, allow_origins=(), log_texts=False, **limits):
            models = translators or {"bahdanau2015": Translator(saved())}
            options = {"hosts": hosts, "allow_origins": allow_origins, "log_texts": log_texts}
            return stack.enter_context(running(models, Limits(**limits), **options))

        yield begin


class Slow:
    """Hold a model's answers back until they are let go, and keep what it was asked."""

    def __init__(self, translator):
        self.go = threading.Event()
        self.batches = []
        self.translate, self.rescored = translator.translate_prepared, translator.rescore
        translator.translate_prepared, translator.rescore = self.hold, self.hold_forced

    def hold(self, prepared):
        self.batches.append([one.line.text for one in prepared])
        self.go.wait(20)
        return self.translate(prepared)

    def hold_forced(self, pairs):
        self.batches.append(pairs)
        self.go.wait(20)
        return self.rescored(pairs)

    def until(self, batches):
        """Wait until the model was asked so often."""
        eventually(lambda: len(self.batches) >= batches)


@pytest.fixture
def slow():
    """Return what makes a model that does not answer before it is told to, and that model."""
    held = []

    def begin(name="bahdanau2015"):
        translator = Translator(saved(name))
        held.append(Slow(translator))
        return translator, held[-1]

    yield begin
    for one in held:
        one.go.set()


def eventually(holds, seconds=10):
    """Wait for something that happens in another thread."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


@pytest.fixture(name="eventually")
def _eventually():
    return eventually


class Shared(NamedTuple):
    """A server in a process of its own."""

    pid: int
    client: httpx.Client
    files: list[Path]


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """Run `regard serve` once for all tests; Ctrl-C ends it, and that is no failure."""
    files = written(tmp_path_factory.mktemp("served"), "bahdanau2015", "vaswani2017")
    with process(*files) as (server, client):
        yield Shared(server.pid, client, files)
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 0

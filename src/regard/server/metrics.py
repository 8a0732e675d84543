"""What the server counts, for Prometheus; a registry for each app, so that two can coexist."""

from typing import Any, final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
LINES = (1, 2, 4, 8, 16, 32, 64)


@final
class Metrics:
    """Requests by route and status, lines by model, how long the queue is and how full batches."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        kept: dict[str, Any] = {"registry": self.registry}
        self.requests = Counter("regard_requests", "Requests.", ["route", "status"], **kept)
        self.seconds = Histogram(
            "regard_request_seconds", "Time of a request.", ["route"], buckets=SECONDS, **kept
        )
        self.lines = Counter("regard_lines", "Lines that were taken on.", ["model"], **kept)
        self.waiting = Gauge("regard_waiting_lines", "Lines that wait.", **kept)
        self.batches = Histogram(
            "regard_batch_lines", "Lines answered together.", buckets=LINES, **kept
        )
        self.busy = Counter("regard_busy_seconds", "Time spent answering.", **kept)

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def batch(self, lines: int, seconds: float) -> None:
        """Count lines that were answered together."""
        self.batches.observe(lines)
        self.busy.inc(seconds)

    def text(self) -> bytes:
        """Write everything, as Prometheus reads it."""
        return generate_latest(self.registry)

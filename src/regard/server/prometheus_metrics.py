"""The Prometheus metrics of the server; each app has its own registry, so two can coexist."""

from typing import Any, final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

SECONDS_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
LINES_BUCKETS = (1, 2, 4, 8, 16, 32, 64)


@final
class ServerMetrics:
    """Requests by route and status, lines by model, queue length and batch sizes."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        registry_option: dict[str, Any] = {"registry": self.registry}
        self.requests = Counter(
            "regard_requests", "Requests.", ["route", "status"], **registry_option
        )
        self.seconds = Histogram(
            "regard_request_seconds",
            "Duration of a request.",
            ["route"],
            buckets=SECONDS_BUCKETS,
            **registry_option,
        )
        self.lines = Counter("regard_lines", "Accepted lines.", ["model"], **registry_option)
        self.queued_lines = Gauge("regard_waiting_lines", "Lines in the queue.", **registry_option)
        self.batches = Histogram(
            "regard_batch_lines", "Lines of a batch.", buckets=LINES_BUCKETS, **registry_option
        )
        self.busy = Counter("regard_busy_seconds", "Seconds spent on batches.", **registry_option)

    def record_request(self, route: str, status: int, seconds: float) -> None:
        """Count a request and its duration."""
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def record_batch(self, lines: int, seconds: float) -> None:
        """Count a batch and its duration."""
        self.batches.observe(lines)
        self.busy.inc(seconds)

    def exposition(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        return generate_latest(self.registry)

"""`python -m benchmarks.load MODEL LINES`: load test with many clients, with and without batching.

Starts `regard serve` with batching on and off in turn. Clients send requests as fast as they are
answered. Prints requests per second, their latencies, and the growth of the server's memory.
"""

import argparse
import asyncio
import json
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import IO, Any

WARMUP_SECONDS = 10.0
"""Seconds after which a server's memory must not grow."""


@dataclass
class LoadReport:
    """Latencies, statuses and responses of the clients, and the memory of the server."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    responses: dict[str, set[str]] = field(default_factory=dict)
    """The different response bodies of each request body; there should be one."""
    memory_samples: list[tuple[float, int]] = field(default_factory=list)

    @property
    def requests_per_second(self) -> float:
        """Return requests per second."""
        return self.statuses[200] / self.seconds

    def quantile(self, fraction: float) -> float:
        """Return the latency within which a fraction of the requests was answered."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(fraction * len(ordered)))]

    def growth(self, warmup_seconds: float = WARMUP_SECONDS) -> float:
        """Return the fraction by which the server's memory grew after the warm-up.

        Compares the medians of the first and the last fifth of that time, because the memory of
        batches fluctuates.
        """
        sizes = [size for seconds, size in self.memory_samples if seconds >= warmup_seconds]
        fifth = max(1, len(sizes) // 5)
        return median(sizes[-fifth:]) / median(sizes[:fifth]) - 1


@contextmanager
def serving(model: Path, *options: str, log: IO[bytes] | None = None) -> Iterator[tuple[int, int]]:
    """Run `regard serve` on a free port; yield its process id and the port."""
    command = [
        str(Path(sys.executable).with_name("regard")),
        "serve",
        str(model),
        "--port",
        "0",
        "--log-level",
        "warning",
    ]
    server = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        line = "" if server.stdout is None else server.stdout.readline()
        match = re.search(r"http://[\d.]+:(\d+)", line)
        if match is None:
            raise SystemExit(f"the server did not start: {line}")
        yield server.pid, int(match[1])
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Connect to a server on this machine."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**26)
    try:
        yield reader, writer
    finally:
        writer.close()


async def post(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, body: bytes
) -> tuple[int, dict[str, str], bytes]:
    """Send a request; the client is minimal: what is measured is the server."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    status_line, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines if line)
    content = await reader.readexactly(int(headers["content-length"]))
    return int(status_line.split()[1]), headers, content


def memory(pid: int) -> int:
    """Return the resident bytes of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) * 1024


async def _client(
    port: int, bodies: Sequence[bytes], seed: int, end: float, report: LoadReport
) -> None:
    """Send one request after the other; after status 429 wait as long as the server asks for."""
    rng = random.Random(seed)
    while time.perf_counter() < end:
        async with connected(port) as (reader, writer):
            headers: dict[str, str] = {}
            while time.perf_counter() < end and headers.get("connection") != "close":
                body = rng.choice(bodies)
                start = time.perf_counter()
                status, headers, content = await post(reader, writer, "/v1/translate", body)
                report.statuses[status] += 1
                if status == 429:
                    await asyncio.sleep(float(headers["retry-after"]))
                else:
                    report.latencies.append(time.perf_counter() - start)
                    report.responses.setdefault(body.decode(), set()).add(content.decode())


async def _load(
    port: int, pid: int, bodies: Sequence[bytes], clients: int, seconds: float
) -> LoadReport:
    report, start = LoadReport(), time.perf_counter()
    end = start + seconds

    async def watch_memory() -> None:
        while time.perf_counter() < end:
            report.memory_samples.append((time.perf_counter() - start, memory(pid)))
            await asyncio.sleep(0.25)

    client_loops = (_client(port, bodies, seed, end, report) for seed in range(clients))
    await asyncio.gather(watch_memory(), *client_loops)
    report.seconds = time.perf_counter() - start
    return report


def load(
    port: int, pid: int, bodies: Sequence[dict[str, Any]], clients: int, seconds: float
) -> LoadReport:
    """Put a running server under load for some seconds; return latencies, statuses and memory."""
    encoded = [json.dumps(body).encode() for body in bodies]
    return asyncio.run(_load(port, pid, encoded, clients, seconds))


def main() -> None:
    """Print a row for each round."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load")
    parser.add_argument("model", type=Path)
    parser.add_argument("lines", type=Path, help="a file of source lines")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    lines = [
        line for line in options.lines.read_text(encoding="utf-8").splitlines() if line.strip()
    ]
    bodies = [{"text": line} for line in lines]
    names = ("batching", "requests/s", "p50", "p95", "p99", "429", "other", "memory")
    sys.stdout.write("".join(f"{name:>11}" for name in names) + "\n")
    for batch in ["32", "1"] * options.rounds:
        with serving(options.model, "--batch-lines", batch) as (pid, port):
            report = load(port, pid, bodies, options.clients, options.seconds)
        row = ["off" if batch == "1" else "on", f"{report.requests_per_second:.1f}"]
        row += [f"{1000 * report.quantile(fraction):.0f} ms" for fraction in (0.5, 0.95, 0.99)]
        other = report.statuses.total() - report.statuses[200] - report.statuses[429]
        row += [str(report.statuses[429]), str(other)]
        row.append(f"{100 * report.growth(min(WARMUP_SECONDS, options.seconds / 2)):+.1f} %")
        sys.stdout.write("".join(f"{cell:>11}" for cell in row) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

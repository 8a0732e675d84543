"""`python -m benchmarks.load MODEL LINES`: many clients at once, batched and each line alone.

Starts `regard serve` twice over, with batching on and off in turn, lets clients ask as fast as they
are answered, and prints requests per second, how long they took, and how the server's memory grew.
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

WARM = 10.0
"""Seconds after which a server's memory is to stay as it is."""


@dataclass
class Report:
    """What clients saw, and how large the server was."""

    seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    answers: dict[str, set[str]] = field(default_factory=dict)
    """What each body was answered with, without the head: more than one would be a difference."""
    sizes: list[tuple[float, int]] = field(default_factory=list)

    @property
    def pace(self) -> float:
        """Return requests per second."""
        return self.statuses[200] / self.seconds

    def quantile(self, share: float) -> float:
        """Return the time within which a share of the requests was answered."""
        ordered = sorted(self.times)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def growth(self, warm: float = WARM) -> float:
        """Return by which share the server's memory grew once it was warm.

        From the first fifth of the time after that to the last, by medians: what a batch needs
        while it is computed comes and goes.
        """
        sizes = [size for seconds, size in self.sizes if seconds >= warm]
        part = max(1, len(sizes) // 5)
        return median(sizes[-part:]) / median(sizes[:part]) - 1


@contextmanager
def serving(model: Path, *options: str, log: IO[bytes] | None = None) -> Iterator[tuple[int, int]]:
    """Run `regard serve` on a free port; yield its process and the port."""
    command = [str(Path(sys.executable).with_name("regard")), "serve", str(model), "--port", "0"]
    server = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        told = "" if server.stdout is None else server.stdout.readline()
        found = re.search(r"http://[\d.]+:(\d+)", told)
        if found is None:
            raise SystemExit(f"the server did not start: {told}")
        yield server.pid, int(found[1])
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Connect to a server of this machine."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**26)
    try:
        yield reader, writer
    finally:
        writer.close()


async def post(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, body: bytes
) -> tuple[int, dict[str, str], bytes]:
    """Ask once; a plain client, so that the measured time is the server's."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines if line)
    content = await reader.readexactly(int(headers["content-length"]))
    return int(first.split()[1]), headers, content


def memory(process: int) -> int:
    """Return the resident bytes of a process."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) * 1024


async def _client(port: int, bodies: Sequence[bytes], seed: int, end: float, seen: Report) -> None:
    """Ask one body after the other; who is told to wait, waits."""
    drawn = random.Random(seed)
    while time.perf_counter() < end:
        async with connected(port) as (reader, writer):
            headers: dict[str, str] = {}
            while time.perf_counter() < end and headers.get("connection") != "close":
                body = drawn.choice(bodies)
                start = time.perf_counter()
                status, headers, content = await post(reader, writer, "/v1/translate", body)
                seen.statuses[status] += 1
                if status == 429:
                    await asyncio.sleep(float(headers["retry-after"]))
                else:
                    seen.times.append(time.perf_counter() - start)
                    seen.answers.setdefault(body.decode(), set()).add(content.decode())


async def _load(
    port: int, process: int, bodies: Sequence[bytes], clients: int, seconds: float
) -> Report:
    seen, start = Report(), time.perf_counter()
    end = start + seconds

    async def weigh() -> None:
        while time.perf_counter() < end:
            seen.sizes.append((time.perf_counter() - start, memory(process)))
            await asyncio.sleep(0.25)

    each = (_client(port, bodies, seed, end, seen) for seed in range(clients))
    await asyncio.gather(weigh(), *each)
    seen.seconds = time.perf_counter() - start
    return seen


def load(
    port: int, process: int, bodies: Sequence[dict[str, Any]], clients: int, seconds: float
) -> Report:
    """Let clients ask a running server for some seconds; return what they saw."""
    encoded = [json.dumps(body).encode() for body in bodies]
    return asyncio.run(_load(port, process, encoded, clients, seconds))


def main() -> None:
    """Print a row for each round."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load")
    parser.add_argument("model", type=Path)
    parser.add_argument("lines", type=Path, help="a file of source lines")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    lines = [line for line in given.lines.read_text(encoding="utf-8").splitlines() if line.strip()]
    bodies = [{"text": line} for line in lines]
    names = ("batching", "requests/s", "p50", "p95", "p99", "429", "other", "memory")
    sys.stdout.write("".join(f"{name:>11}" for name in names) + "\n")
    for batch in ["32", "1"] * given.rounds:
        with serving(given.model, "--batch-lines", batch) as (process, port):
            seen = load(port, process, bodies, given.clients, given.seconds)
        row = ["off" if batch == "1" else "on", f"{seen.pace:.1f}"]
        row += [f"{1000 * seen.quantile(share):.0f} ms" for share in (0.5, 0.95, 0.99)]
        other = seen.statuses.total() - seen.statuses[200] - seen.statuses[429]
        row += [str(seen.statuses[429]), str(other)]
        row.append(f"{100 * seen.growth(min(WARM, given.seconds / 2)):+.1f} %")
        sys.stdout.write("".join(f"{cell:>11}" for cell in row) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

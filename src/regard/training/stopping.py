"""Ctrl-C and SIGTERM as a question that the loop asks: nothing is lost, unless somebody insists."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TextIO, final

SIGNALS = (signal.SIGINT, signal.SIGTERM)
WAIT = "stopping after this update{}; once more stops at once"


@final
class Stop:
    """Whether a run has been asked to stop, and by which signal: the `stop` of `train`."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None

    def __call__(self) -> bool:
        """Return whether there was a signal."""
        return self.signal is not None


@contextmanager
def asked_to_stop(file: TextIO | None = None, *, kept: bool = True) -> Iterator[Stop]:
    """Take the first signal as a question, the second as an order; afterwards all is as before.

    `kept` says that what was learned will be saved. A command ends with 128 + the signal: 130 after
    SIGINT, 143 after SIGTERM. Signals reach the main thread alone; in another, nobody ever asks.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    # a handler that was not set in Python reads as None, and cannot be set again
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in SIGNALS}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.signal is None:
            stop.signal = signal.Signals(number)
            _say(sys.stderr if file is None else file, WAIT.format(" and saving" * kept))
            return
        restore()
        if number == signal.SIGTERM:
            raise SystemExit(128 + number)
        raise KeyboardInterrupt

    try:
        for number in SIGNALS:
            signal.signal(number, handle)
        yield stop
    finally:
        restore()


def _say(file: TextIO, text: str) -> None:
    # a signal may come while this very file is written to, or when it is closed or gone: whatever
    # becomes of the line, the run is to be saved
    with suppress(Exception):
        file.write(f"{text}\n")
        file.flush()

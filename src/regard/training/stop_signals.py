"""Ctrl-C and SIGTERM end a run after the current update; a second signal ends it at once."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TextIO, final

from regard.training import messages

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@final
class StopRequest:
    """The signal that asked a run to stop, if one did: the `stop` of `train`."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None

    def __call__(self) -> bool:
        """Return whether there was a signal."""
        return self.signal is not None


@contextmanager
def catch_stop_signals(file: TextIO | None = None, *, saves: bool = True) -> Iterator[StopRequest]:
    """Turn the first signal into a stop request; the second ends the run. Restore the handlers.

    `saves` says that the run will be saved. A command ends with 128 + the signal: 130 after SIGINT,
    143 after SIGTERM. Signals reach only the main thread; in another there is never a request.
    """
    stop = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    # a handler that was not set in Python is None, and cannot be restored
    old_handlers = {number: signal.getsignal(number) or signal.SIG_DFL for number in SIGNALS}

    def restore() -> None:
        for number, handler in old_handlers.items():
            signal.signal(number, handler)

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.signal is None:
            stop.signal = signal.Signals(number)
            _write(sys.stderr if file is None else file, messages.stopping(saves=saves))
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


def _write(file: TextIO, text: str) -> None:
    # the signal may interrupt a write to this very file, or come after it was closed; the run must
    # be saved in any case
    with suppress(Exception):
        file.write(f"{text}\n")
        file.flush()

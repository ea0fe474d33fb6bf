"""Ctrl-C and SIGTERM: the first ends a command in order, the second at once."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

_STOPPING = (signal.SIGINT, signal.SIGTERM)
#: Nobody else uses it, and who ignores it loses nothing; None where there is none.
_WAKING: signal.Signals | None = getattr(signal, "SIGURG", None)
_SIGNALLED = 128
#: What it holds is not yet written where a process ends without its interpreter.
_MEMORY = "graphrag_dagster.kernel.models.cache.cache_database"
#: Exit codes of commands that took a signal themselves.
STOPPED = {_SIGNALLED + number: number for number in _STOPPING}


class Stop:
    """Which signal asked a command to end.

    Dagster and the HTTP server put handlers of their own in the place of ours, and native code keeps the main
    thread from handling any. So a thread learns of signals by the socket that Python writes their numbers to.
    """

    def __init__(self) -> None:
        self._first: int | None = None

    @property
    def requested(self) -> bool:
        """Whether a signal has come."""
        return self._first is not None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take both signals for the length of the block; the first raises ``KeyboardInterrupt``."""
        sender, receiver = socket.socketpair()
        sender.setblocking(False)
        before = {number: signal.signal(number, self._interrupt) for number in _STOPPING}
        if _WAKING:
            before[_WAKING] = signal.signal(_WAKING, lambda *_: None)
        waker = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._on_signal, args=(receiver,), name="signals", daemon=True).start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(waker)
            for number, handler in before.items():
                signal.signal(number, handler)
            sender.close()

    def end(self, code: int = 0) -> NoReturn:
        """End the process with one line and the exit code of what a signal ended, by default ``code``."""
        number = self._first or STOPPED.get(code, signal.SIGINT)
        if memory := sys.modules.get(_MEMORY):
            memory.end_all()
        sys.stderr.write(f"stopped by {signal.Signals(number).name}; finished work is kept\n")
        _leave(number)

    def _interrupt(self, number: int, _: FrameType | None) -> None:
        self._first = self._first or number
        raise KeyboardInterrupt

    def _on_signal(self, receiver: socket.socket) -> None:
        count = 0
        with receiver:
            while number := receiver.recv(1):
                if number[0] in _STOPPING:
                    count += 1
                    self._first = self._first or number[0]
                    if count > 1:
                        _leave(number[0])
                    _wake_main_thread()


def _wake_main_thread() -> None:
    # Waiting for a lock, it learns of a signal only where the system gave the signal to this very thread.
    main = threading.main_thread().ident
    if _WAKING and main:
        signal.pthread_kill(main, _WAKING)


def _leave(number: int) -> NoReturn:
    # Threads that wait for an endpoint or for standard input would hold up an exit by the interpreter.
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    if "multiprocessing" in sys.modules:
        from multiprocessing import active_children

        for child in active_children():
            child.kill()
    os._exit(_SIGNALLED + number)

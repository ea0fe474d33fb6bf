"""Reads files in a separate process: a file that hangs, crashes or floods memory ends only that process."""

import atexit
import contextlib
import json
import os
import pickle
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from graphrag_dagster.errors import CorpusError
from graphrag_dagster.kernel.common.file_limits import FileLimits
from graphrag_dagster.kernel.documents.file_reading import Declined, FileContents, read_file
from graphrag_dagster.kernel.documents.file_records import SourceFile

_START_SECONDS = 60.0
#: A process that nobody asks ends; before that it serves the next corpus at once.
_IDLE_SECONDS = 60.0
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from graphrag_dagster.kernel.documents.reader_process import serve; serve(int(sys.argv[2]))"
)
#: What the process inherits of the environment; keys and passwords it does not need.
_INHERITED = ("HOME", "LANG", "LC_", "LD_", "DYLD_", "PATH", "PYTHON", "TMPDIR", "TZ")
_READY = "ready"


class ReaderProcess:
    """A process that reads one file after the other; a new one takes over where it ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._ready = False
        self._used = 0.0

    def read(self, kind: str, data: bytes, source: SourceFile) -> FileContents | Declined:
        """Read a file within its limits.

        Args:
            kind: name of the format, e.g. ``pdf``.
            data: the file.
            source: what else is known of it, its limits among it.

        Raises:
            CorpusError: the process cannot be started.
        """
        fresh = self._pipe is None
        answer = self._request(kind, data, source)
        if isinstance(answer, _Ended) and not fresh:
            # What ended it may have come before this file.
            answer = self._request(kind, data, source)
        if isinstance(answer, _Ended):
            return Declined("failed", _crash_reason(answer.code, source.limits))
        return answer

    def _request(self, kind: str, data: bytes, source: SourceFile) -> "FileContents | Declined | _Ended":
        pipe = self._ensure_started()
        try:
            pipe.send((kind, data, source))
            if not pipe.poll(source.limits.max_seconds):
                self.close()
                return Declined("failed", source.limits.over_limit_reason("max_seconds", "seconds needed"))
            answer: FileContents | Declined = pipe.recv()
        except (OSError, EOFError, pickle.UnpicklingError):
            return self._describe_exit()
        self._used = time.monotonic()
        if isinstance(answer, Declined) and answer.final:
            self.close()
        return answer

    def close(self) -> None:
        """End the process."""
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def begin(self) -> None:
        """Start the process where there is none, and do not wait for it.

        Raises:
            CorpusError: it cannot be started.
        """
        if self._pipe is not None:
            return
        inherited = {name: value for name, value in os.environ.items() if name.startswith(_INHERITED)}
        here, there = socket.socketpair()
        with there:
            command = [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), str(there.fileno())]
            try:
                self._process = subprocess.Popen(
                    command,
                    pass_fds=(there.fileno(),),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=inherited | {"POLARS_MAX_THREADS": "1", "PYTHONHASHSEED": "0"},
                )
            except OSError as error:
                here.close()
                raise CorpusError(f"the reader process cannot be started: {error}") from error
        self._pipe, self._ready = Connection(here.detach()), False
        self._used = time.monotonic()

    def _ensure_started(self) -> Connection:
        if time.monotonic() - self._used >= _IDLE_SECONDS / 2:
            self.close()
        self.begin()
        if self._pipe is None:
            raise _start_error()
        if not self._ready:
            with contextlib.suppress(OSError, EOFError):
                self._ready = self._pipe.poll(_START_SECONDS) and self._pipe.recv() == _READY
            if not self._ready:
                self.close()
                raise _start_error()
            self._used = time.monotonic()
        return self._pipe

    def _describe_exit(self) -> "_Ended":
        code = None
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = self._process.wait(timeout=5)
        self.close()
        return _Ended(code)


@dataclass(frozen=True, slots=True)
class _Ended:
    """The process ended with that exit code, below 0 for a signal, instead of an answer."""

    code: int | None


def _start_error() -> CorpusError:
    return CorpusError(
        "the reader process did not start; check that this installation is complete and that there is "
        "memory for another process"
    )


def _crash_reason(code: int | None, limits: FileLimits) -> str:
    if code == -signal.SIGXCPU:
        return limits.over_limit_reason("max_seconds", "seconds needed")
    name = signal.Signals(-code).name if code and code < 0 else f"code {code}"
    return (
        f"its reader crashed ({name}): the file is damaged, or needs more memory than files.max_memory "
        f"({limits.max_memory:,} bytes)"
    )


class _Shelf:
    """Keeps a process for whoever reads next."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: ReaderProcess | None = None

    def take(self) -> ReaderProcess:
        with self._lock:
            taken, self._kept = self._kept, None
        return taken or ReaderProcess()

    def put_back(self, process: ReaderProcess) -> None:
        with self._lock:
            if self._kept is None:
                self._kept = process
                return
        process.close()

    def clear(self) -> None:
        self.take().close()

    def forget(self) -> None:
        """A forked process must not talk to what its parent talks to."""
        self._lock, self._kept = threading.Lock(), None


_SHELF = _Shelf()
atexit.register(_SHELF.clear)
os.register_at_fork(after_in_child=_SHELF.forget)


def prestart_reader_process() -> None:
    """Start a process for whoever reads next, which goes on while other things do.

    Raises:
        CorpusError: it cannot be started.
    """
    with reader_process() as process:
        process.begin()


@contextlib.contextmanager
def reader_process() -> Iterator[ReaderProcess]:
    """A process that reads files; it starts with the first file and stays at hand for a minute."""
    process = _SHELF.take()
    try:
        yield process
    except BaseException:
        # Whoever was interrupted may have left a question behind.
        process.close()
        raise
    _SHELF.put_back(process)


def serve(descriptor: int) -> None:
    """Read what is asked for, until nobody asks any more; the other end of :class:`ReaderProcess`."""
    # Ctrl-C reaches all processes of a terminal; this one ends with its parent.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe = Connection(descriptor)
    pipe.send(_READY)
    with contextlib.suppress(OSError, EOFError):
        while pipe.poll(_IDLE_SECONDS):
            kind, data, source = pipe.recv()
            _set_limits(source.limits)
            answer = read_file(kind, data, source)
            pipe.send(answer)
            if isinstance(answer, Declined) and answer.final:
                return


def _set_limits(limits: FileLimits) -> None:
    """The memory that one more file may take; and seconds of a processor, should the parent be killed."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _lower_limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + limits.max_seconds) + 10)
    with contextlib.suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
        _lower_limit(resource.RLIMIT_DATA, pages * resource.getpagesize() + limits.max_memory)


def _lower_limit(kind: int, soft: int) -> None:
    _, hard = resource.getrlimit(kind)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(kind, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))

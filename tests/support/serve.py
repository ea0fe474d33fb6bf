"""The scripted endpoint in a process of its own, for measurements and for tests that kill its clients.

    python -m support.serve --port 0 --seconds 0.2 --seconds-per-token 0.002 --log FILE.jsonl --config FILE.json

The first line of the output is the URL. The configuration may hold ``script`` (``name_pattern``, ``gleaning``,
``wordy``), the rates and the ``seed`` of :class:`~support.faults.SharedFaults`, and whatever
else :class:`~support.endpoint.ScriptedEndpoint` takes. The log has a line when a request begins and one when it
ends. :class:`ServedEndpoint` starts and stops all that.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from support.endpoint import ScriptedEndpoint, gleaning_script, name_pattern_script, wordy_script
from support.faults import SharedFaults
from support.tallies import Logged

_TESTS = Path(__file__).parents[1]
_RATES = ("error_rate", "malformed_rate", "cut_rate", "slow_rate", "seed")
_SCRIPTS = {"name_pattern": name_pattern_script, "gleaning": gleaning_script, "wordy": wordy_script}


class ServedEndpoint:
    """The server's process; a context manager that gives itself.

    Args:
        seconds: how long every answer takes.
        seconds_per_token: how much longer for each token of a chat reply.
        config: as in the file of that name.
    """

    def __init__(self, *, seconds: float = 0.0, seconds_per_token: float = 0.0, **config: Any) -> None:
        self.url = ""
        self._times = ["--seconds", str(seconds), "--seconds-per-token", str(seconds_per_token)]
        self._config = config
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> "ServedEndpoint":
        self._folder = TemporaryDirectory()
        folder = Path(self._folder.name)
        self._log = folder / "log.jsonl"
        (folder / "config.json").write_text(json.dumps(self._config), encoding="utf-8")
        paths = [str(_TESTS), str(_TESTS.parent), os.environ.get("PYTHONPATH", "")]
        files = ["--log", str(self._log), "--config", str(folder / "config.json")]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.serve", "--until-eof", *self._times, *files],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError("the endpoint did not start")
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.communicate(timeout=10)
        self._folder.cleanup()

    def tally(self) -> dict[str, Any]:
        """The account of all requests since the last reset, with ``concurrency_by_task`` and ``cpu_seconds``."""
        return self._asked("GET", "/tally")

    def reset(self) -> None:
        """Clear the account; the log stays."""
        self._asked("POST", "/reset")

    def log(self) -> list[dict[str, Any]]:
        """The lines of the log."""
        return [json.loads(line) for line in self._log.read_text(encoding="utf-8").splitlines()]

    def _asked(self, method: str, path: str) -> dict[str, Any]:
        connection = HTTPConnection(urlsplit(self.url).netloc, timeout=30)
        try:
            connection.request(method, path)
            return dict(json.loads(connection.getresponse().read()))
        finally:
            connection.close()


class _Log:
    """Writes a line for each event of a request, complete at once."""

    def __init__(self, file: Path) -> None:
        self._lock = threading.Lock()
        self._file = file.open("ab", buffering=0)

    def __call__(self, event: str, logged: Logged) -> None:
        told = {
            "event": event,
            "number": logged.number,
            "sha": logged.digest,
            "path": logged.path,
            "task": logged.task,
            "begun": logged.begun,
            "ended": logged.ended,
            "status": logged.status,
            "sent": logged.sent,
            "tokens": logged.tokens,
        }
        line = json.dumps(told).encode() + b"\n"
        with self._lock:
            self._file.write(line)


def _endpoint(arguments: argparse.Namespace) -> ScriptedEndpoint:
    config = json.loads(arguments.config.read_text(encoding="utf-8")) if arguments.config else {}
    rates = {key: config.pop(key) for key in _RATES if key in config}
    script = _SCRIPTS[config.pop("script", "name_pattern")]
    return ScriptedEndpoint(
        script,
        faults=SharedFaults(**rates) if rates else (),
        seconds=arguments.seconds,
        seconds_per_token=arguments.seconds_per_token,
        port=arguments.port,
        listener=_Log(arguments.log) if arguments.log else None,
        **config,
    )


def main() -> None:
    """Serve until killed or, with ``--until-eof``, until the input ends, which it does with the parent."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--seconds-per-token", type=float, default=0.0)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--until-eof", action="store_true")
    arguments = parser.parse_args()
    with _endpoint(arguments) as endpoint:
        sys.stdout.write(endpoint.url + "\n")
        sys.stdout.flush()
        if arguments.until_eof:
            sys.stdin.read()
        while not arguments.until_eof:
            time.sleep(3600)


if __name__ == "__main__":
    main()

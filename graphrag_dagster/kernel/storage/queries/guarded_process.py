"""Runs a query in its own process, which is killed at its limits."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import IO, Any, cast

from graphrag_dagster.errors import QuestionError


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Limits of a query.

    Attributes:
        seconds: time, from its start to its last row.
        megabytes: memory.
        raisable: the user may raise them with the options of the command ``sql``.
    """

    seconds: float = 60.0
    megabytes: int = 1000
    raisable: bool = True


class GuardedProcess:
    """A program that answers one request, given as JSON: it writes a line of JSON for each thing it tells.

    Args:
        program: the file.
        request: what it is given, beside the limits.
        limits: it is killed there.
        failed: makes an error of a mapping that it writes in place of a list; asked for all but limits.
    """

    def __init__(
        self,
        program: Path,
        request: Mapping[str, Any],
        limits: QueryLimits,
        failed: Callable[[dict[str, str]], Exception],
    ) -> None:
        self._program = program
        self._request = {**request, "seconds": limits.seconds, "megabytes": limits.megabytes}
        self._limits = limits
        self._failed = failed
        self._late = False

    def __enter__(self) -> "GuardedProcess":
        # -P: the folder in which the command is given may hold modules of any name.
        self._process: subprocess.Popen[str] = subprocess.Popen(
            [sys.executable, "-P", str(self._program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="ascii",
        )
        self._here = cast("IO[str]", self._process.stdin)
        self._there = cast("IO[str]", self._process.stdout)
        self._timer = Timer(self._limits.seconds, self._stop)
        self._timer.daemon = True
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._process.kill()
        for stream in (self._here, self._there):
            with suppress(OSError):
                stream.close()
        self._process.wait()

    def begun(self) -> Any:
        """Send the request, and return what the program tells first.

        Raises:
            Exception: what ``failed`` makes.
            QuestionError: it reached a limit.
        """
        try:
            self._here.write(json.dumps(self._request))
            self._here.close()
        except OSError:
            raise self._ended() from None
        first = self._line()
        if first is None:
            raise self._ended()
        return first

    def rows(self) -> Iterator[list[Any]]:
        """Yield what the program tells after that; raises as :meth:`begun`."""
        while (row := self._line()) is not None:
            yield row
        if self._process.wait() != 0:
            raise self._ended()

    def _line(self) -> Any:
        line = self._there.readline()
        if not line.endswith("\n"):
            return None
        told = json.loads(line)
        if isinstance(told, dict):
            raise self._stopped(told)
        return told

    def _stopped(self, told: dict[str, str]) -> Exception:
        if told["error"] == "memory":
            return self._too_large()
        return self._too_late() if told["error"] == "late" else self._failed(told)

    def _stop(self) -> None:
        self._late = True
        self._process.kill()

    def _ended(self) -> QuestionError:
        self._process.wait()
        return self._too_late() if self._late else self._too_large()

    def _too_late(self) -> QuestionError:
        return QuestionError(
            f"the query took more than {self._limits.seconds:g} s and was stopped; ask for less"
            + (", or raise the limit with --seconds" if self._limits.raisable else "")
        )

    def _too_large(self) -> QuestionError:
        return QuestionError(
            f"the query needs more than {self._limits.megabytes:,} MB of memory and was stopped; ask for less"
            + (", or raise the limit with --memory-mb" if self._limits.raisable else "")
        )

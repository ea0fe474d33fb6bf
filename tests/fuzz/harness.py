"""Runs hostile inputs one after the other, with a limit of time, one of memory, and a watch on what is written.

A :class:`Subject` makes inputs from seeded random numbers and knows how to put one of them to the code. Its
attack says in a word what came of it; whatever it raises is a defect, so it catches what is an honest refusal
itself. Attacks run in a process of their own: one that hangs is killed, and the next case goes on in a new one.
"""

import contextlib
import importlib
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any, Literal

#: What a case may take.
SECONDS = 10.0
BYTES = 1_000_000_000

#: Seconds until a new process has imported what it needs.
_START = 120.0
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC


@dataclass(frozen=True, slots=True)
class Subject:
    """A kind of hostile input.

    Args:
        name: as it is called on the command line and in accounts.
        cases: seeded random numbers, how many → label and input of each; inputs can be pickled.
        attack: a function at the top of a module; input, home of the process → a word for what came of it.
        prepare: a function at the top of a module that loads what attacks need; no part of any case.
    """

    name: str
    cases: Callable[[Random, int], Iterator[tuple[str, Any]]]
    attack: Callable[[Any, Path], str]
    prepare: Callable[[], object] | None = None


@dataclass(frozen=True, slots=True)
class Defect:
    """An input that was not borne: its label, what went wrong, and the details."""

    label: str
    kind: Literal["traceback", "hang", "memory", "outside"]
    told: str


@dataclass(slots=True)
class Tally:
    """What came of all cases of a subject; seconds and bytes are the highest of a single case."""

    subject: str
    verdicts: Counter[str] = field(default_factory=Counter)
    defects: list[Defect] = field(default_factory=list)
    seconds: float = 0.0
    bytes: int = 0

    def __str__(self) -> str:
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.most_common())
        found = Counter(defect.kind for defect in self.defects)
        bad = ", ".join(f"{found[kind]} {kind}" for kind in ("traceback", "hang", "memory", "outside"))
        return (
            f"{self.subject}: {self.verdicts.total() + len(self.defects)} cases: {verdicts}; {bad}; "
            f"slowest {self.seconds:.1f} s, most memory {self.bytes / 1e6:.0f} MB"
        )


def assail(subject: Subject, *, seed: int, count: int, folder: Path) -> Tally:
    """Put ``count`` cases to a subject's attack.

    Args:
        subject: makes the cases and puts them.
        seed: of the random numbers.
        count: how many cases.
        folder: an empty folder; homes are made below it, and nothing else may change in it.
    """
    tally = Tally(subject.name)
    worker: _Worker | None = None
    try:
        for label, case in subject.cases(Random(seed), count):
            worker = worker or _Worker(subject, folder)
            answer = worker.put(case)
            if answer is None:
                tally.defects.append(Defect(label, "hang", f"no end within {SECONDS:g} s"))
                worker.kill()
                worker = None
                continue
            verdict, defects, seconds, grown = answer
            tally.seconds = max(tally.seconds, seconds)
            tally.bytes = max(tally.bytes, grown)
            if grown > BYTES:
                defects = [*defects, ("memory", f"{grown / 1e6:.0f} MB more")]
            if seconds > SECONDS:
                defects = [*defects, ("hang", f"{seconds:.1f} s")]
            tally.defects += [Defect(label, kind, told) for kind, told in defects]
            if not defects:
                tally.verdicts[verdict] += 1
    finally:
        if worker:
            worker.kill()
    return tally


_Answer = tuple[str, list[tuple[Any, str]], float, int]


class _Worker:
    """A process that puts cases to the code."""

    def __init__(self, subject: Subject, folder: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self._here, there = context.Pipe()
        home = Path(tempfile.mkdtemp(prefix="home-", dir=folder))
        functions = [_place(function) for function in (subject.attack, subject.prepare) if function]
        self._process = context.Process(target=_serve, args=(there, functions, home), daemon=True)
        self._process.start()
        there.close()
        if not self._here.poll(_START) or self._here.recv() != "ready":
            self.kill()
            raise RuntimeError(f"the process for {subject.name} did not start")

    def put(self, case: object) -> _Answer | None:
        """What came of a case; None where it takes too long."""
        self._here.send(case)
        if not self._here.poll(SECONDS * 2):
            return None
        try:
            answer: _Answer = self._here.recv()
        except EOFError:
            return "", [("traceback", f"the process ended with {self._process.exitcode}")], 0.0, 0
        return answer

    def kill(self) -> None:
        self._process.kill()
        self._process.join()
        self._here.close()


def _place(function: Callable[..., object]) -> tuple[str, str]:
    return function.__module__, function.__qualname__


def _serve(pipe: Connection, functions: list[tuple[str, str]], home: Path) -> None:
    _enter(home)
    attack, *prepare = (getattr(importlib.import_module(module), name) for module, name in functions)
    for function in prepare:
        function()
    watch = _Watch(home)
    pipe.send("ready")
    while True:
        try:
            case = pipe.recv()
        except EOFError:
            return
        pipe.send(_attacked(attack, case, home, watch))


def _attacked(attack: Callable[[Any, Path], str], case: object, home: Path, watch: "_Watch") -> _Answer:
    defects: list[tuple[Any, str]] = []
    verdict = ""
    before, begin = _reset_peak(), time.monotonic()
    watch.begin()
    try:
        verdict = attack(case, home)
    except BaseException:
        defects.append(("traceback", traceback.format_exc(limit=-6)))
    seconds, grown = time.monotonic() - begin, max(_memory("VmHWM") - before, 0)
    defects += [("outside", place) for place in watch.end()]
    return verdict, defects, seconds, grown


def _enter(home: Path) -> None:
    """Work in a home, with nothing of this machine's environment; temporary files are made there, too."""
    from support.homes import VARIABLES

    for variable in VARIABLES:
        os.environ.pop(variable, None)
    (home / "tmp").mkdir(parents=True)
    os.environ |= {
        "GRAPHRAG_DAGSTER_HOME": str(home),
        "DAGSTER_HOME": str(home / ".dagster_home"),
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
    }
    tempfile.tempdir = None
    os.chdir(home)


class _Watch:
    """What is written outside a home: as Python is asked to, and what stands beside the home afterwards."""

    def __init__(self, home: Path) -> None:
        self._home = str(home.resolve())
        self._beside = home.parent
        self._outside: list[str] = []
        self._stood: set[str] = set()
        self._on = False
        sys.addaudithook(self._heard)

    def begin(self) -> None:
        self._outside, self._stood, self._on = [], self._entries(), True

    def end(self) -> list[str]:
        self._on = False
        return [*self._outside, *sorted(self._entries() - self._stood)]

    def _entries(self) -> set[str]:
        return {entry.name for entry in os.scandir(self._beside)}

    def _heard(self, event: str, given: tuple[Any, ...]) -> None:
        if not self._on:
            return
        opened = event == "open" and isinstance(given[2], int) and given[2] & _WRITING
        if opened or event in {"os.mkdir", "os.remove", "os.rmdir", "os.truncate"}:
            self._told(event, given[0])
        elif event in {"os.rename", "os.link", "os.symlink"}:
            self._told(event, given[1])

    def _told(self, event: str, place: object) -> None:
        if not isinstance(place, (str, bytes, os.PathLike)):
            return
        with contextlib.suppress(OSError, ValueError):
            path = os.path.realpath(os.fsdecode(place))
            allowed = path.startswith((self._home + os.sep, "/dev/", "/proc/self/")) or "__pycache__" in path
            if path != self._home and not allowed:
                self._outside.append(f"{event} {path}")


def _memory(key: str) -> int:
    """A figure of this process in bytes: VmHWM, the most it had resident, or VmRSS, what it has."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(key + ":"):
                return int(line.split()[1]) * 1024
    return 0


def _reset_peak() -> int:
    """Begin to measure the most memory anew; gives what is resident now."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _memory("VmRSS")

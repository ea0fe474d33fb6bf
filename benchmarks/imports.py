"""Whole processes of the command line, and what they import, read off ``-X importtime``."""

import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
CALLED = "from graphrag_dagster.cli import main; main()"


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "GRAPHRAG_DAGSTER_HOME": str(home), "PYTHONPATH": str(ROOT)}


def command(*arguments: str, options: tuple[str, ...] = ()) -> list[str]:
    return [sys.executable, *options, "-c", CALLED, *arguments]


def ran(home: Path, *arguments: str, options: tuple[str, ...] = ()) -> tuple[float, float, str]:
    """Run a command; returns seconds of the clock, of the processor, and what came on the error stream."""
    before, begun = os.times(), time.perf_counter()
    done = subprocess.run(
        command(*arguments, options=options),
        env=environment(home),
        capture_output=True,
        text=True,
        check=True,
    )
    wall, after = time.perf_counter() - begun, os.times()
    cpu = after.children_user - before.children_user + after.children_system - before.children_system
    return wall, cpu, done.stderr


def imported(home: Path, *arguments: str) -> Counter[str]:
    """Milliseconds of imports by package; measuring adds some."""
    spent: Counter[str] = Counter()
    told = ran(home, *arguments, options=("-X", "importtime"))[2]
    for own, name in re.findall(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", told):
        spent[name.partition(".")[0]] += int(own) / 1000
    return spent

"""An index and a question against endpoints that are slow, fall silent or answer too late.

    python benchmarks/slow_endpoint.py [slow|stalls|silent|late ...] [--timeout 20]

The corpus has three sentences; the endpoints are scripted ones that answer by pattern:

- ``slow`` writes 3 tokens a second;
- ``stalls`` takes every request and never answers;
- ``silent`` answers one question, and nothing after it;
- ``late`` takes one and a half times the time limit for every answer, and knows no streams.

Printed are the seconds of each command, the requests that came, what the account says of them, and every line
that the commands wrote, with standard output and standard error redirected.
"""

import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.endpoint import Fault, ScriptedEndpoint

TEXT = (
    "Hanna Quill founded the Lund Institute in Haven. Piet Lund, a trader of Haven, paid for the Lund "
    "Institute. Hanna Quill accused Piet Lund of fraud."
)
SETTINGS = """
engine: llm
model: {{base_url: "{url}", name: scripted, timeout_seconds: {timeout}}}
"""
CASES = ("slow", "stalls", "silent", "late")
COLUMNS = ("calls", "retries", "failed", "timeouts", "repeated", "cached")
COMMANDS = (("index", "three"), ("ask", "three", "Who founded the Lund Institute?", "--method", "C0"))


def stalling(after: int) -> Callable[[int, dict[str, object]], Fault | None]:
    return lambda number, _: Fault(stall=True) if number >= after else None


def endpoint_of(case: str, timeout: float) -> ScriptedEndpoint:
    if case == "slow":
        return ScriptedEndpoint(seconds_per_token=1 / 3)
    if case == "late":
        return ScriptedEndpoint(seconds=1.5 * timeout, unsupported=("stream",))
    return ScriptedEndpoint(faults=stalling(after=int(case == "silent")))


def account(home: Path) -> str:
    """What all accounts of a home say, summed."""
    sums = ", ".join(f"coalesce(sum({name}), 0)" for name in (*COLUMNS, "seconds"))
    connection = sqlite3.connect(home / "cache" / "replies.sqlite")
    *counts, seconds = connection.execute(f"select {sums} from usage").fetchone()
    connection.close()
    told = ", ".join(f"{name} {count}" for name, count in zip(COLUMNS, counts, strict=True))
    return f"{told}, {seconds:.1f} s waited for; sent by the account {sum(counts[:3])}"


def measured(case: str, timeout: float) -> str:
    lines = [f"## {case}, time limit {timeout:g} s"]
    with tempfile.TemporaryDirectory() as folder, endpoint_of(case, timeout) as endpoint:
        home = Path(folder)
        corpus = home / "corpora" / "three"
        corpus.mkdir(parents=True)
        (corpus / "text.txt").write_text(TEXT, encoding="utf-8")
        settings = SETTINGS.format(url=endpoint.url, timeout=timeout)
        (corpus / "corpus.yaml").write_text(settings, encoding="utf-8")
        environment = {**os.environ, "GRAPHRAG_DAGSTER_HOME": str(home), "PYTHONPATH": str(ROOT)}
        for arguments in COMMANDS:
            begun, before = time.monotonic(), len(endpoint.chats)
            program = [str(Path(sys.executable).parent / "graphrag-dagster"), *arguments]
            ran = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
            seconds, came = time.monotonic() - begun, len(endpoint.chats) - before
            lines += [f"\n{arguments[0]}: {seconds:.1f} s, exit code {ran.returncode}, {came} requests came"]
            lines += [f"account: {account(home)}"]
            lines += [f"  err| {line}" for line in ran.stderr.splitlines()]
            lines += [f"  out| {line}" for line in ran.stdout.splitlines()]
    return "\n".join(lines)


def main() -> None:
    """Run the cases at once and print them one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help=", ".join(CASES))
    parser.add_argument("--timeout", type=float, default=20.0)
    chosen = parser.parse_args()
    cases = chosen.cases or CASES
    with ThreadPoolExecutor(len(cases)) as pool:
        for told in pool.map(lambda case: measured(case, chosen.timeout), cases):
            print(told, end="\n\n", flush=True)


if __name__ == "__main__":
    main()

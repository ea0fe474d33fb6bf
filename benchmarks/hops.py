"""How much of the code a question and a text pass through: functions of the package that run, and files.

    python benchmarks/hops.py [--list]

One document of the sample is indexed without a model, then ``Index.ask`` answers a question about it; both in
this process, after everything is imported and read once. ``--list`` prints the files with their functions.
"""

import argparse
import os
import shutil
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import graphrag_dagster

PACKAGE = str(Path(graphrag_dagster.__file__).parent)
DOCUMENT = "archive/candlemas-gale-1911.txt"
QUESTION = "How high was the surge of the Candlemas gale?"


def hops(what: Callable[[], Any]) -> dict[str, set[str]]:
    """Return the functions of the package that run, by file; those of other processes are not seen."""
    ran: set[CodeType] = set()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            ran.add(frame.f_code)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        what()
    finally:
        sys.setprofile(None)
    found: defaultdict[str, set[str]] = defaultdict(set)
    for code in ran:
        # The body of a module or class, a comprehension or a lambda is no step that a reader takes.
        if code.co_filename.startswith(PACKAGE) and "<" not in code.co_name:
            found[code.co_filename.removeprefix(PACKAGE)[1:]].add(code.co_qualname)
    return found


def main() -> None:
    """Print both counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="print files with their functions")
    given = parser.parse_args()
    sample = Path(PACKAGE) / "sample/harbour" / DOCUMENT
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        # Imported in the folder that is to be the home.
        from graphrag_dagster import Index
        from graphrag_dagster.cli.job_runner import run_job

        for corpus in ("warm", "measured"):
            folder = Path("corpora", corpus)
            folder.mkdir(parents=True)
            shutil.copy(sample, folder)

        def ask(corpus: str) -> Any:
            return Index.open(corpus).ask(QUESTION)

        run_job("warm")
        ask("warm")
        text = hops(lambda: run_job("measured"))
        question = hops(lambda: ask("measured"))
    print("| what | functions | files |\n| --- | --- | --- |")
    for name, found in (("a question", question), ("a text", text)):
        print(f"| {name} | {sum(map(len, found.values()))} | {len(found)} |")
        for file, functions in sorted(found.items()) if given.list else ():
            print(f"  {file}: {', '.join(sorted(functions))}")


if __name__ == "__main__":
    main()

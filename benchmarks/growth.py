"""How an index without a model grows: seconds, processor time and memory of each step, by size of the corpus.

    python benchmarks/growth.py [MILLION_TOKENS ...] [--processes N]

Default: 0.1 and 1. The texts are passages of three question sets, 20 to a file, and the podcast transcripts;
when these are used up come copies in which every name is another, so that the graph grows too. Each size
is indexed in a process of its own, which is looked at ten times a second, with its children. The last column
is the exponent between the two largest sizes: 1 is a straight line.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from endpoint import MORE, PASSAGES, passages_of

TRANSCRIPTS = Path(__file__).parents[2] / "shared" / "data" / "podcast" / "transcripts.zip"
TOGETHER = 20
LOOKS = 0.1
ENDINGS = ("", "ov", "ine", "ard", "osa", "ell", "ung", "ith")
WORD = re.compile(r"\b[A-Z][a-z]{2,}\b")

RUN = """
import json
if __name__ == "__main__":
    # As the command does, before anything else is loaded.
    from graphrag_dagster.kernel.pipeline.garbage_collection import share_malloc_arena
    share_malloc_arena()
    from dagster import DagsterEventType as Kind
    from graphrag_dagster.cli.job_runner import run_job
    from graphrag_dagster.resources.dagster_instance import instance
    run = run_job("measured").run_id
    with instance() as opened:
        begun, done = (
            {
                one.event_log_entry.step_key: one.timestamp
                for one in opened.get_records_for_run(run, of_type=kind).records
            }
            for kind in (Kind.STEP_START, Kind.STEP_SUCCESS)
        )
    print(json.dumps({step: [begun[step], done[step]] for step in done}))
"""


class Look(NamedTuple):
    """A process and its children at a time: seconds of processor so far, megabytes now."""

    at: float
    cpu: float
    megabytes: float


@dataclass
class Grown:
    """What a step took at one size."""

    seconds: float
    cpu: float
    megabytes: float


def texts() -> Iterator[str]:
    """Yield the texts, then copies in which words that begin names have other endings."""
    passages = [one for file in (PASSAGES, *MORE) for one in passages_of(file)]
    whole = [
        "\n\n".join(f"{one['title']}\n{one['text']}" for one in passages[at : at + TOGETHER])
        for at in range(0, len(passages), TOGETHER)
    ]
    with zipfile.ZipFile(TRANSCRIPTS) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".txt"))
        whole += [archive.read(name).decode("utf-8") for name in names]
    common = {word for text in whole for word in re.findall(r"\b[a-z]{3,}\b", text)}
    for ending in ENDINGS:
        for text in whole:
            yield renamed(text, ending, common)


def renamed(text: str, ending: str, common: set[str]) -> str:
    """Return a text in which words with a capital letter have another ending, but for common ones."""
    return WORD.sub(lambda found: found[0] + ("" if found[0].lower() in common else ending), text)


def write_corpus(folder: Path, tokens: float) -> tuple[int, int]:
    """Write as many texts as it takes; return the numbers of files and tokens."""
    from graphrag_dagster.kernel.text.tokenization import get_tokenizer

    count, written = get_tokenizer("cl100k_base").count, 0
    folder.mkdir(parents=True)
    for number, text in enumerate(texts()):
        if written >= tokens:
            return number, written
        (folder / f"{number:06}.txt").write_text(text, encoding="utf-8")
        written += count(text)
    sys.exit(f"the texts and their copies have {written:,} tokens only")


def family(pid: int) -> Iterator[int]:
    """Yield a process and all below it."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        # The thread may have ended since.
        with suppress(OSError):
            for child in task.read_text().split():
                yield from family(int(child))


def look(pid: int, ended: dict[int, float]) -> Look:
    """Look at a process and its children; ``ended`` keeps the processor time of those that are gone."""
    page, tick = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
    megabytes = 0.0
    for one in family(pid):
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(") ")[2].split()
            shared = int(Path(f"/proc/{one}/statm").read_text().split()[2])
        except OSError:
            continue
        ended[one] = (int(fields[11]) + int(fields[12])) / tick
        # What children share with others is counted once.
        megabytes += (int(fields[21]) - (shared if one != pid else 0)) * page / 1e6
    return Look(time.time(), sum(ended.values()), megabytes)


def measure(tokens: float, processes: int) -> dict[str, Grown]:
    """Index a corpus of so many tokens, and return what each step took."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        files, written = write_corpus(home / "corpora" / "measured", tokens)
        settings = {"extraction": {"processes": processes}}
        (home / "corpora" / "measured" / "corpus.yaml").write_text(json.dumps(settings))
        environment = os.environ | {
            "GRAPHRAG_DAGSTER_HOME": str(home),
            "DAGSTER_HOME": str(home / ".dagster_home"),
        }
        script = home / "run.py"
        script.write_text(RUN)
        process = subprocess.Popen(
            [sys.executable, script], cwd=home, env=environment, text=True,
            stdout=subprocess.PIPE,
        )  # fmt: skip
        looks, ended = [Look(time.time(), 0.0, 0.0)], dict[int, float]()

        def watch() -> None:
            while process.poll() is None:
                looks.append(look(process.pid, ended))
                time.sleep(LOOKS)

        watching = threading.Thread(target=watch)
        watching.start()
        printed = process.communicate()[0]
        watching.join()
        if process.returncode:
            sys.exit(f"the index of {written:,} tokens failed")
        made = sum(file.stat().st_size for file in (home / "warehouse").glob("*.duckdb")) / 1e6
    steps = json.loads(printed.strip().splitlines()[-1])
    grown = {step: took(looks, *between) for step, between in steps.items()}
    grown["all"] = took(looks, looks[0].at, looks[-1].at)
    print(f"{written:,} tokens in {files:,} files; working file {made:,.0f} MB", flush=True)
    return grown


def took(looks: list[Look], begun: float, done: float) -> Grown:
    """Return what was used between two times."""
    inside = [one for one in looks if begun - LOOKS <= one.at <= done + LOOKS] or looks[-1:]
    return Grown(done - begun, inside[-1].cpu - inside[0].cpu, max(one.megabytes for one in inside))


def main() -> None:
    """Measure each size, and print a table of steps."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", nargs="*", type=float, default=[0.1, 1.0], help="millions of tokens")
    parser.add_argument("--processes", type=int, default=0)
    wanted = parser.parse_args()
    grown = {size: measure(size * 1e6, wanted.processes) for size in sorted(wanted.sizes)}
    sizes = list(grown)
    print(f"{'step':<32}" + "".join(f"{f'{size:g} M: s, CPU s, MB':>30}" for size in sizes) + f"{'exp.':>7}")
    for step in grown[sizes[-1]]:
        of_sizes = [grown[size][step] for size in sizes]
        row = "".join(f"{f'{one.seconds:.1f}, {one.cpu:.1f}, {one.megabytes:,.0f}':>30}" for one in of_sizes)
        exponent = ""
        if len(sizes) > 1 and min(one.seconds for one in of_sizes[-2:]) > LOOKS:
            more = math.log(sizes[-1] / sizes[-2])
            exponent = f"{math.log(of_sizes[-1].seconds / of_sizes[-2].seconds) / more:.2f}"
        print(f"{step:<32}{row}{exponent:>7}")


if __name__ == "__main__":
    main()

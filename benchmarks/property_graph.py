"""How long a property graph takes to make, how large it is, and how long the queries of the templates take.

    python benchmarks/property_graph.py [--triples 1000000 …] [--movies ../shared/data/metaqa/kb.txt]

The synthetic graph has one entity for five triples, with a few hubs among them. Times
of queries are of the whole command but Python's own start: a process is started for each.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from graphrag_dagster.apps.cypher.embedded_graph import graph_of
from graphrag_dagster.apps.cypher.property_graph import CorpusGraph
from graphrag_dagster.apps.cypher.settings import CypherSettings
from graphrag_dagster.apps.cypher.text_to_cypher import query_in_words
from graphrag_dagster.errors import QueryError
from graphrag_dagster.kernel.questions.snapshot_opening import open_snapshot
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.triple_graphs import publish_triples

_LABELS = ("knows", "owns", "$", "->", "導演")
_TIMES = 3


def synthetic(number: int) -> Iterator[tuple[str, str, str]]:
    """Yield triples whose heads are spread, and whose tails are the oftener drawn, the smaller they are."""
    random = Random(7)
    names = number // 5
    for _ in range(number):
        tail = int(names * random.random() ** 6)
        yield f"Node {random.randrange(names)}", random.choice(_LABELS), f"Node {tail}"


def movies(file: Path) -> Iterator[tuple[str, str, str]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        head, label, tail = line.split("|")
        yield head, label, tail


def measured(name: str, triples: Iterator[tuple[str, str, str]], first: str, second: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=ROOT.parent) as folder:
        warehouse = Warehouse(path=f"{folder}/{{corpus}}.duckdb")
        publish_triples(warehouse, name, triples)
        begun = time.perf_counter()
        file = graph_of(warehouse, name)
        told: dict[str, Any] = {
            "graph": name,
            "seconds to make": round(time.perf_counter() - begun, 2),
            "megabytes": round(file.stat().st_size / 1e6, 1),
        }
        graph = CorpusGraph(warehouse, name, CypherSettings(seconds=60, megabytes=1000))
        counts = "MATCH (a:Entity) RETURN count(*) AS n, max(a.degree) AS hub"
        told |= next(iter(graph.run(counts, {}).found.objects()))
        told["triples"] = graph.run("MATCH ()-[r:RELATED]->() RETURN count(*) AS n", {}).found.rows[0][0]
        index = open_snapshot(warehouse, name)
        questions = {
            "connected": f"What is connected to {first}?",
            "around 2": f"What is within 2 steps of {first}?",
            "shortest 3": f"How are {first} and {second} connected?",
            "paths 2": f"all paths between {first} and {second} within 2 steps",
            "by type": "How many entities are there of each type?",
            "by label": "How many relations of each kind?",
            "top": "top 10 entities by degree",
        }
        query_in_words(questions["top"], index, graph)
        for what, question in questions.items():
            told[what] = _seconds(question, index, graph)
        return told


def _seconds(question: str, index: Any, graph: CorpusGraph) -> float | str:
    taken = []
    for _ in range(_TIMES):
        begun = time.perf_counter()
        try:
            query_in_words(question, index, graph)
        except QueryError as error:
            return str(error).split(";")[0]
        taken.append(time.perf_counter() - begun)
    return round(statistics.median(taken), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--triples", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--movies", type=Path, default=ROOT.parent / "shared/data/metaqa/kb.txt")
    given = parser.parse_args()
    if given.movies.is_file():
        print(
            json.dumps(measured("movies", movies(given.movies), "Ginger Rogers", "Fred Astaire")), flush=True
        )
    for number in given.triples:
        print(json.dumps(measured(f"of_{number}", synthetic(number), "Node 0", "Node 1")), flush=True)


if __name__ == "__main__":
    main()

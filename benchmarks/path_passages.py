"""Does the way ``paths`` find the passages that answer multi-hop questions? Beside ``local``, and its parts.

    python benchmarks/path_passages.py [hotpotqa] [musique] [2wiki] [openie] [--titled] [--untitled]
        [--home FOLDER]

The passages and questions of ``retrieval.py``, halves as there: what was chosen was chosen on the half for
tuning. Of each question the order of the text units is measured: by following it (``local``), by personalised
PageRank over names and units (``walk``), by the text units that state edges of the paths found (``on paths``),
by both of the first (``local, walk``), and by all (``paths``). ``openie``: MuSiQue over the 17,419 triples
that a model found in its passages, in place of the graph that rules made: the walk and the paths are then
over that. With --home the indexes are kept in the folder and used again.
"""

import argparse
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import retrieval
from measuring import session_of

from graphrag_dagster import Index
from graphrag_dagster.core.search.asked import Asked
from graphrag_dagster.core.search.finding import linked, with_history
from graphrag_dagster.core.search.methods.graph.answering import entities_of
from graphrag_dagster.core.search.methods.paths.ranking import Orders, joined, ordered, units_stating
from graphrag_dagster.core.search.methods.paths.walking import walked
from graphrag_dagster.core.search.ways import way_of
from graphrag_dagster.settings import CorpusSettings

_SHOWN = [f"recall@{k}" for k in retrieval.RECALL_AT] + [f"all in {k}" for k in retrieval.ALL_AT]


def orders_of(asked: Asked) -> dict[str, list[str]]:
    """The text units of a question in each order."""
    sought = with_history(asked)
    orders = ordered(asked, sought, 50)
    stated = units_stating(asked.index, walked(asked, list(entities_of(linked(asked)))).keys)
    nowhere = Orders(orders.followed, replace(orders.walked, ids=(), scores=()), None)
    return {
        "local": list(orders.followed.units.ids),
        "walk": list(orders.walked.ids),
        "on paths": stated,
        "local, walk": joined(orders, []),
        "local, on paths": joined(nowhere, stated),
        "paths": joined(orders, stated),
    }


def measure(name: str, home: Path, *, titled: bool) -> None:
    """Index at need, ask, and print both halves."""
    retrieval.index(name, home, titled=titled, resolved=True)
    os.environ |= {"GRAPHRAG_DAGSTER_HOME": str(home), "DAGSTER_HOME": str(home / ".dagster_home")}
    index = Index.open("measured")
    measured = retrieval.Measured(name, titled=titled)
    asked = retrieval.questions(name)
    engines = session_of("measured", CorpusSettings())
    ranks: dict[str, list[list[int | None]]] = {}
    seconds = []
    for question in asked:
        searcher = index.searcher
        one = Asked(
            way=way_of("paths"),
            index=searcher.index,
            count=searcher.count,
            options=searcher.options,
            question=question.text,
            engines=engines,
        )
        begin = time.perf_counter()
        found = orders_of(one)
        seconds.append(time.perf_counter() - begin)
        for way, ids in found.items():
            passages = [measured.passage_of[unit] for unit in ids[: retrieval.FIRST]]
            ranks.setdefault(way, []).append(retrieval.ranks_of(question.gold, passages))
    for half, places in retrieval.halves(len(asked)).items():
        called = "titled" if titled else "untitled"
        print(f"\n{name}, {called}, {half}: {len(places)} questions")
        retrieval.line("way", *_SHOWN)
        retrieval.line(*("---" for _ in range(len(_SHOWN) + 1)))
        for way, found in ranks.items():
            retrieval.line(way, *retrieval.figures(found[place] for place in places))
    print(f"all orders of a question: {np.median(seconds) * 1e3:.0f} ms in the median")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(retrieval.SECTIONS))
    parser.add_argument("--titled", action="store_true", help="default: titled, then untitled")
    parser.add_argument("--untitled", action="store_true")
    parser.add_argument("--home", type=Path)
    options = parser.parse_args()
    if unknown := set(options.sections) - set(retrieval.SECTIONS):
        parser.error(f"there is no section {', '.join(sorted(unknown))}")
    both = options.titled == options.untitled
    with tempfile.TemporaryDirectory() as folder:
        for section in options.sections or retrieval.SECTIONS:
            name, home = retrieval.SECTIONS[section], (options.home or Path(folder)).resolve()
            if both or options.titled:
                measure(name, home / name, titled=True)
            if both or options.untitled:
                measure(name, home / f"{name}_untitled", titled=False)


if __name__ == "__main__":
    main()

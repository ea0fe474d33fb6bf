"""Does the way ``paths`` find the passages that answer multi-hop questions? Beside ``local``, and its parts.

    python benchmarks/path_passages.py [hotpotqa] [musique] [2wiki] [openie] [--titled] [--untitled]
        [--home FOLDER]

The passages and questions of ``retrieval.py``, halves as there: what was chosen was chosen on the half for
tuning. Of each question the order of the text units is measured: by following it (``local``), by personalised
PageRank over names and units (``walk``), by the text units that state edges of the paths found (``on
paths``), by both of the first (``local, walk``), and by all (``paths``). ``openie``: MuSiQue over the 17,419
triples that a model found in its passages, in place of the graph that rules made: the walk and the paths are
then over that. With --home the indexes are kept in the folder and used again.
"""

import argparse
import json
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import retrieval
from measuring import session_of

from graphrag_dagster import Index
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.finding import names_in_question, with_history
from graphrag_dagster.kernel.questions.question import Question, Search
from graphrag_dagster.kernel.questions.searcher import require_method
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.text.text_similarity import normalise
from graphrag_dagster.systems.graphrag.search.graph_facts import entities_of
from graphrag_dagster.systems.lego.search.lego_method import (
    Orders,
    merge_orders,
    order_units,
    units_stating,
    walk,
)

OPENIE = "openie_musique_train_results_ner_gpt-3.5-turbo-1106_1890.json"
MUSIQUE = retrieval.SECTIONS["musique"]
_SHOWN = [f"recall@{k}" for k in retrieval.RECALL_AT] + [f"all in {k}" for k in retrieval.ALL_AT]


def orders_of(search: Search) -> dict[str, list[str]]:
    """The text units of a question in each order."""
    sought = with_history(search)
    orders = order_units(search, sought, 50)
    stated = units_stating(search.index, walk(search, list(entities_of(names_in_question(search)))).keys)
    nowhere = Orders(orders.followed, replace(orders.walked, ids=(), scores=()), None)
    return {
        "local": list(orders.followed.units.ids),
        "walk": list(orders.walked.ids),
        "on paths": stated,
        "local, walk": merge_orders(orders, []),
        "local, on paths": merge_orders(nowhere, stated),
        "paths": merge_orders(orders, stated),
    }


def by_a_model(index: IndexSnapshot, unit_of: dict[str, str]) -> IndexSnapshot:
    """The same passages with the entities and triples that a model found in them.

    Args:
        index: of the passages.
        unit_of: text unit of each passage by its text.
    """
    documents = json.loads((retrieval.PASSAGES / OPENIE).read_text(encoding="utf-8"))["docs"]
    units: dict[str, dict[str, None]] = {}
    titles: dict[str, str] = {}
    edges: dict[tuple[str, str, str], dict[str, None]] = {}
    for document in documents:
        unit = unit_of[document["text"].strip()]
        triples = [list(map(str, one)) for one in document["extracted_triples"] if len(one) == 3]
        said = [end for head, _, tail in triples for end in (head, tail)]
        for surface in [*document["extracted_entities"], *said]:
            if name := normalise(surface):
                titles.setdefault(name, surface)
                units.setdefault(name, {})[unit] = None
        for head, relation, tail in triples:
            ends = normalise(head), normalise(tail)
            if all(ends) and ends[0] != ends[1] and relation.strip():
                edges.setdefault((ends[0], relation.strip(), ends[1]), {})[unit] = None
    entities = [
        {
            "entity_id": name,
            "name": name,
            "title": titles[name],
            "names": [titles[name]],
            "text_unit_ids": list(units[name]),
            "human_readable_id": place,
            "description": titles[name],
        }
        for place, name in enumerate(sorted(units))
    ]
    pairs: dict[tuple[str, str], dict[str, None]] = {}
    for (head, _, tail), stated in edges.items():
        pairs.setdefault((min(head, tail), max(head, tail)), {}).update(stated)
    relationships = [
        {
            "relationship_id": f"{one}|{other}",
            "source": one,
            "target": other,
            "source_id": one,
            "target_id": other,
            "weight": float(len(stated)),
            "text_unit_ids": list(stated),
        }
        for (one, other), stated in sorted(pairs.items())
    ]
    rows = [
        {
            "triple_id": "|".join(edge),
            "head": edge[0],
            "head_id": edge[0],
            "relation": edge[1],
            "tail": edge[2],
            "tail_id": edge[2],
            "text_unit_ids": list(stated),
            "strength": float(len(stated)),
        }
        for edge, stated in sorted(edges.items())
    ]
    return replace(
        index,
        entities=tables.ENTITIES.rows(entities),
        relationships=tables.RELATIONSHIPS.rows(relationships),
        triples=tables.TRIPLES.rows(rows),
        entity_vectors=None,
    )


def measure(name: str, home: Path, *, titled: bool, openie: bool = False) -> None:
    """Index at need, ask, and print both halves."""
    retrieval.index(name, home, titled=titled, resolved=True)
    os.environ |= {"GRAPHRAG_DAGSTER_HOME": str(home), "DAGSTER_HOME": str(home / ".dagster_home")}
    index = Index.open("measured")
    measured = retrieval.Measured(name, titled=titled)
    snapshot = index.searcher.index
    if openie:
        unit_of = {passage.text.strip(): unit for unit, passage in measured.passage_of.items()}
        snapshot = by_a_model(snapshot, unit_of)
    asked = retrieval.questions(name)
    engines = session_of("measured", CorpusSettings())
    ranks: dict[str, list[list[int | None]]] = {}
    seconds = []
    for question in asked:
        searcher = index.searcher
        one = Search(
            method=require_method("paths"),
            index=snapshot,
            count=searcher.count,
            settings=searcher.settings,
            question=Question(question.text),
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
        called += ", triples of a model" if openie else ""
        print(f"\n{name}, {called}, {half}: {len(places)} questions")
        retrieval.line("method", *_SHOWN)
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
    if unknown := set(options.sections) - {*retrieval.SECTIONS, "openie"}:
        parser.error(f"there is no section {', '.join(sorted(unknown))}")
    both = options.titled == options.untitled
    with tempfile.TemporaryDirectory() as folder:
        for section in options.sections or (*retrieval.SECTIONS, "openie"):
            home = (options.home or Path(folder)).resolve()
            if section == "openie":
                measure(MUSIQUE, home / MUSIQUE, titled=True, openie=True)
                continue
            name = retrieval.SECTIONS[section]
            if both or options.titled:
                measure(name, home / name, titled=True)
            if both or options.untitled:
                measure(name, home / f"{name}_untitled", titled=False)


if __name__ == "__main__":
    main()

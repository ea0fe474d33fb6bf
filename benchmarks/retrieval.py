"""Does retrieval find the passages that answer multi-hop questions? Beside the recorded results of others.

    python benchmarks/retrieval.py [hotpotqa] [musique] [2wiki] [--titled] [--untitled] [--home FOLDER]
        [--unresolved] [--reranker NAME]

Indexes a file of passages with the Dagster job, each passage a text unit, without a model, and asks its
questions, drawn by a fixed seed into a half for tuning and one for reporting. Prints recall at 2, 5 and 8,
the share of questions all of whose gold passages are among the first 5 or 8, and milliseconds per question,
for basic retrieval by meaning, by words and by both, and for local retrieval.

Titled, a passage has its title as its document's and as its first line; untitled, it has its text alone, so
that the document is called by its file and row.

hotpotqa, musique: 100 questions each over 994 and 1,890 passages. 2wiki: 101 questions of 2WikiMultihopQA
over 6,119 passages, beside the passages that fast-graphrag, nano-graphrag, LightRAG and OpenAI's vectors
gave, as fast-graphrag's authors recorded them.

With --home the indexes are kept in the folder and used again. With --unresolved every spelling is an entity:
entity resolution is switched off. With --reranker hybrid and local retrieval are
measured reranked, too; --reranker-model names its model, --rerank-first how many passages it looks at.
"""

import argparse
import json
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measuring import add_reranker, reranking, session_of, with_search

DATA = Path(__file__).parents[2] / "shared" / "data"
PASSAGES = DATA / "hipporag"
RECORDED = DATA / "fast_graphrag_2wiki"
RECALL_AT, ALL_AT = (2, 5, 8), (5, 8)
FIRST = max(RECALL_AT)
SECTIONS = {"hotpotqa": "hotpotqa_train", "musique": "musique_train", "2wiki": "2wikimultihopqa"}
SEED = 8
PEERS = {
    "OpenAI vectors": "vdb/2wikimultihopqa_101.json",
    "LightRAG, local": "lightrag/2wikimultihopqa_101_local.json",
    "nano-graphrag, local": "nano/2wikimultihopqa_101_local.json",
    "fast-graphrag": "graph/2wikimultihopqa_101.json",
}


#: Gives the ids of the passages found by the question at a place.
Retrieve = Callable[[int], Sequence[str]]


@dataclass(frozen=True)
class Passage:
    title: str
    text: str


@dataclass(frozen=True)
class Question:
    text: str
    gold: frozenset[Passage]


def load(path: Path) -> object:
    return json.loads(path.read_text(encoding="utf-8"))


def passages(name: str) -> list[Passage]:
    found = load(PASSAGES / f"{name}_corpus.json")
    if isinstance(found, dict):
        return [Passage(title, "".join(sentences)) for title, sentences in found.items()]
    return [Passage(row["title"], row["text"]) for row in found]


def questions(name: str) -> list[Question]:
    by_title = {passage.title: passage for passage in reversed(passages(name))}
    if name == "2wikimultihopqa":
        rows = load(RECORDED / "results" / PEERS["fast-graphrag"])
        return [Question(r["question"], frozenset(by_title[t] for t in r["ground_truth"])) for r in rows]
    rows = load(PASSAGES / f"{name}.json")
    if name.startswith("hotpotqa"):
        return [
            Question(r["question"], frozenset(by_title[t] for t, _ in r["supporting_facts"])) for r in rows
        ]
    return [
        Question(
            row["question"],
            frozenset(
                Passage(p["title"], p["paragraph_text"]) for p in row["paragraphs"] if p["is_supporting"]
            ),
        )
        for row in rows
    ]


def halves(count: int) -> dict[str, list[int]]:
    """The places of the questions, drawn into two halves."""
    places = list(range(count))
    random.Random(SEED).shuffle(places)
    return {"tune": sorted(places[: count // 2]), "report": sorted(places[count // 2 :])}


def written(passage: Passage, *, titled: bool) -> str:
    return f"{passage.title}\n{passage.text}" if titled else passage.text


def index(name: str, home: Path, *, titled: bool, resolved: bool) -> None:
    """Run the job over the passages unless the folder has their index."""
    corpus = home / "corpora" / "measured"
    os.environ |= {"GRAPHRAG_DAGSTER_HOME": str(home), "DAGSTER_HOME": str(home / ".dagster_home")}
    if (home / "indexed").exists():
        return
    corpus.mkdir(parents=True, exist_ok=True)
    rows = [
        ({"title": passage.title} if titled else {}) | {"text": written(passage, titled=titled)}
        for passage in passages(name)
    ]
    (corpus / "passages.jsonl").write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
    )
    columns = "{title: title, text: text}" if titled else "{text: text}"
    (corpus / "corpus.yaml").write_text(
        f"tables: {{passages.jsonl: {columns}}}\n"
        f"text_units: {{strategy: none}}\nextraction: {{processes: {os.cpu_count() or 1}}}\n"
        f"resolution: {{enabled: {str(resolved).lower()}}}\n"
    )
    from graphrag_dagster.cli.job_runner import run_job

    begin = time.monotonic()
    run_job("measured")
    print(f"indexed {len(rows):,} passages in {time.monotonic() - begin:.0f} s")
    (home / "indexed").touch()


class Measured:
    """The retriever of an index, and which passage each unit is."""

    def __init__(self, name: str, *, titled: bool) -> None:
        from graphrag_dagster.kernel import tables
        from graphrag_dagster.kernel.questions.context.index_retriever import given_titles
        from graphrag_dagster.kernel.retrieval.retriever import Retriever
        from graphrag_dagster.kernel.storage.warehouse import Warehouse

        warehouse = Warehouse()
        documents, units, entities, relationships, unit_vectors, entity_vectors = (
            warehouse.read(table, "measured")
            for table in (
                tables.DOCUMENTS,
                tables.TEXT_CHUNKS,
                tables.ENTITIES,
                tables.RELATIONSHIPS,
                tables.TEXT_UNIT_EMBEDDINGS,
                tables.ENTITY_EMBEDDINGS,
            )
        )
        given = {written(passage, titled=titled).strip(): passage for passage in reversed(passages(name))}
        ids = units["text_unit_id"].to_list()
        self.passage_of = {i: given[text.strip()] for i, text in zip(ids, units["text"], strict=True)}
        self.retriever = Retriever(
            units.join(given_titles(documents), on="document_id", how="left", maintain_order="left"),
            entities,
            relationships,
            unit_vectors,
            entity_vectors,
        )


def figures(found: Iterable[Sequence[int | None]]) -> list[str]:
    """Recall and shares of complete questions, from the rank of each gold passage of each question."""
    ranks = list(found)
    recall = [[np.mean([r is not None and r < k for r in each]) for each in ranks] for k in RECALL_AT]
    complete = [[all(r is not None and r < k for r in each) for each in ranks] for k in ALL_AT]
    return [f"{np.mean(one):.3f}" for one in (*recall, *complete)]


def line(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def ranks_of(gold: Iterable[object], found: Sequence[object]) -> list[int | None]:
    return [found.index(one) if one in found else None for one in gold]


def reranked_ways(
    ways: dict[str, Retrieve], asked: list[Question], retriever: Any, search: dict[str, Any]
) -> dict[str, Retrieve]:
    """The ways by a reranker; what it may look at is retrieved first."""
    from graphrag_dagster.kernel.retrieval.rerankers import rerank
    from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
    from graphrag_dagster.kernel.tasks.answering_ports import Sought

    reranker = session_of("measured", with_search(CorpusSettings(), search)).reranker()
    first = search["rerank_first"]

    def found(retrieve: Retrieve, place: int) -> Sequence[str]:
        sought = Sought(asked[place].text, retriever.length)
        return rerank(retrieve(place), retriever.text, sought, reranker, first)[0]

    counts = reranker and any(reranker.counts(Sought(one.text, retriever.length)) for one in asked)
    return {f"{way}, {reranker.name}": partial(found, ways[way]) for way in ways if counts}


def measure(name: str, home: Path, search: dict[str, Any], *, titled: bool, resolved: bool) -> None:
    from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder

    index(name, home, titled=titled, resolved=resolved)
    asked, measured = questions(name), Measured(name, titled=titled)
    vectors = StaticEmbedder().embed([question.text for question in asked])
    retriever = measured.retriever
    most = max(FIRST, search["rerank_first"])
    ways: dict[str, Retrieve] = {
        f"basic, {called}": lambda i, mode=mode: (
            retriever.units(asked[i].text, vectors[i], mode, most=most).ids
        )
        for called, mode in (("vectors", "vector"), ("words", "lexical"), ("hybrid", "hybrid"))
    }
    ways["local"] = lambda i: retriever.local(asked[i].text, vectors[i], most=most).units.ids
    chosen = {way: ways[way] for way in ("basic, hybrid", "local")}
    ways |= reranked_ways(chosen, asked, retriever, search)
    rows = {way: ask(retrieve, asked, measured) for way, retrieve in ways.items()}
    for half, places in halves(len(asked)).items():
        called = "titled" if titled else "untitled"
        passages_ = len(measured.passage_of)
        print(f"\n{name}, {called}, {half}: {len(places)} questions over {passages_:,} passages")
        shown = [f"recall@{k}" for k in RECALL_AT] + [f"all in {k}" for k in ALL_AT]
        line("method", *shown, "ms p50", "ms p95")
        line(*("---" for _ in range(len(shown) + 3)))
        for way, (ranks, times) in rows.items():
            spent = [f"{np.percentile(times, share) * 1e3:.1f}" for share in (50, 95)]
            line(way, *figures(ranks[place] for place in places), *spent)
        if name == "2wikimultihopqa":
            for peer, file in PEERS.items():
                recorded = load(RECORDED / "results" / file)
                ranks = [ranks_of(r["ground_truth"], r["evidence"]) for r in recorded]
                line(peer, *figures(ranks[place] for place in places), "–", "–")


def ask(
    retrieve: Callable[[int], Sequence[str]], asked: list[Question], measured: Measured
) -> tuple[list[list[int | None]], list[float]]:
    """The ranks of the gold passages of each question, and the seconds that each took."""
    retrieve(0)
    ranks, times = [], []
    for place, question in enumerate(asked):
        begin = time.perf_counter()
        ids = retrieve(place)
        times.append(time.perf_counter() - begin)
        ranks.append(ranks_of(question.gold, [measured.passage_of[one] for one in ids]))
    return ranks, times


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"{', '.join(SECTIONS)}; default: all")
    parser.add_argument("--titled", action="store_true", help="default: titled, then untitled")
    parser.add_argument("--untitled", action="store_true")
    parser.add_argument("--unresolved", action="store_true")
    parser.add_argument("--home", type=Path)
    add_reranker(parser)
    options = parser.parse_args()
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"there is no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    both, resolved = options.titled == options.untitled, not options.unresolved
    with tempfile.TemporaryDirectory() as folder:
        for section in options.sections or SECTIONS:
            name, home = SECTIONS[section], (options.home or Path(folder)).resolve()
            if both or options.titled:
                measure(name, home / name, reranking(options), titled=True, resolved=resolved)
            if both or options.untitled:
                untitled = home / f"{name}_untitled"
                measure(name, untitled, reranking(options), titled=False, resolved=resolved)


if __name__ == "__main__":
    main()

"""Does retrieval find the passages that answer multi-hop questions? Beside the recorded results of others.

    python benchmarks/retrieval.py [2wiki] [tune] [--home FOLDER]

Indexes a file of passages with the Dagster job, each passage a text unit, without a model, and asks its
questions. Prints recall@8, the share of questions all of whose gold passages are among the first 8, and
milliseconds per question, for basic retrieval by meaning, by words and by both, and for local retrieval.

2wiki: 101 questions of 2WikiMultihopQA over 6,119 passages, beside the passages that fast-graphrag,
nano-graphrag, LightRAG and OpenAI's vectors gave, as fast-graphrag's authors recorded them.
tune: 100 questions each of HotpotQA and MuSiQue, on which the strengths of local retrieval were chosen.

With --home the indexes are kept in the folder and used again.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

DATA = Path(__file__).parents[2] / "shared" / "data"
PASSAGES = DATA / "hipporag"
RECORDED = DATA / "fast_graphrag_2wiki"
FIRST = 8
PEERS = {
    "OpenAI vectors": "vdb/2wikimultihopqa_101.json",
    "LightRAG, local": "lightrag/2wikimultihopqa_101_local.json",
    "nano-graphrag, local": "nano/2wikimultihopqa_101_local.json",
    "fast-graphrag": "graph/2wikimultihopqa_101.json",
}


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


def index(name: str, home: Path) -> None:
    """Run the job over the passages unless the folder has their index."""
    corpus = home / "corpora" / "measured"
    os.environ |= {"GRAPHRAG_DAGSTER_HOME": str(home), "DAGSTER_HOME": str(home / ".dagster_home")}
    if (home / "indexed").exists():
        return
    corpus.mkdir(parents=True, exist_ok=True)
    rows = [{"title": p.title, "text": f"{p.title}\n{p.text}"} for p in passages(name)]
    (corpus / "passages.jsonl").write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
    )
    (corpus / "corpus.yaml").write_text(
        "tables: {passages.jsonl: {title: title, text: text}}\n"
        f"text_units: {{strategy: none}}\nextraction: {{processes: {os.cpu_count() or 1}}}\n"
    )
    from graphrag_dagster.cli.output.running import run_job

    begin = time.monotonic()
    run_job("measured")
    print(f"indexed {len(rows):,} passages in {time.monotonic() - begin:.0f} s")
    (home / "indexed").touch()


class Measured:
    """The retriever of an index, and which passage each unit is."""

    def __init__(self, name: str) -> None:
        from graphrag_dagster import tables
        from graphrag_dagster.core.search.retrieval.retriever import Retriever
        from graphrag_dagster.resources.warehouse import Warehouse

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
        given = {f"{passage.title}\n{passage.text}".strip(): passage for passage in reversed(passages(name))}
        title_of = dict(zip(documents["document_id"], documents["title"], strict=True))
        ids = units["text_unit_id"].to_list()
        self.passage_of = {i: given[text.strip()] for i, text in zip(ids, units["text"], strict=True)}
        self.retriever = Retriever(
            units,
            entities,
            relationships,
            unit_vectors,
            entity_vectors,
            titles={i: title_of[d] for i, d in zip(ids, units["document_id"], strict=True)},
        )


def figures(gold: Iterable[Sequence[bool]]) -> tuple[float, float]:
    """Recall and share of complete questions, from whether each gold passage of a question was found."""
    found = list(gold)
    return float(np.mean([np.mean(each) for each in found])), float(np.mean([all(each) for each in found]))


def line(what: str, recall: float, complete: float, times: Sequence[float] = ()) -> None:
    spent = (
        f"{np.percentile(times, 50) * 1e3:9.1f}{np.percentile(times, 95) * 1e3:9.1f}"
        if times
        else "        –        –"
    )
    print(f"  {what:<24}{recall:9.3f}{complete:9.3f}{spent}")


def ask(what: str, retrieve: Callable[[int], Sequence[str]], asked: list[Question], index_: Measured) -> None:
    retrieve(0)
    hits, times = [], []
    for place, question in enumerate(asked):
        begin = time.perf_counter()
        ids = retrieve(place)
        times.append(time.perf_counter() - begin)
        first = {index_.passage_of[i] for i in ids[:FIRST]}
        hits.append([passage in first for passage in question.gold])
    line(what, *figures(hits), times)


def measure(name: str, home: Path) -> None:
    from graphrag_dagster.core.language.embedders import StaticEmbedder

    index(name, home)
    asked, measured = questions(name), Measured(name)
    vectors = StaticEmbedder().embed([question.text for question in asked])
    print(f"{name}: {len(asked)} questions over {len(measured.passage_of):,} passages")
    print(f"  {'':<24}{'recall@8':>9}{'all in 8':>9}{'ms p50':>9}{'ms p95':>9}")
    retriever = measured.retriever
    for mode in ("vector", "lexical", "hybrid"):
        ask(
            f"basic, {mode}",
            lambda i, mode=mode: retriever.units(asked[i].text, vectors[i], mode, most=FIRST).ids,
            asked,
            measured,
        )
    ask("local", lambda i: retriever.local(asked[i].text, vectors[i], most=FIRST).units.ids, asked, measured)
    if name == "2wikimultihopqa":
        for peer, file in PEERS.items():
            rows = load(RECORDED / "results" / file)
            line(peer, *figures([t in r["evidence"][:FIRST] for t in r["ground_truth"]] for r in rows))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", metavar="SECTION", help="2wiki or tune; default: both")
    parser.add_argument("--home", type=Path)
    options = parser.parse_args()
    sections = {"2wiki": ["2wikimultihopqa"], "tune": ["hotpotqa_train", "musique_train"]}
    if unknown := set(options.sections) - set(sections):
        parser.error(f"there is no section {', '.join(sorted(unknown))}; there are {', '.join(sections)}")
    with tempfile.TemporaryDirectory() as folder:
        for section in options.sections or sections:
            for name in sections[section]:
                measure(name, (options.home or Path(folder)).resolve() / name)


if __name__ == "__main__":
    main()

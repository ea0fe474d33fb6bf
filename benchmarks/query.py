"""Answering: the paper's conditions, retrieval as the graph grows, a saturated global question, the service.

    python benchmarks/query.py [conditions|retrieval|saturation|service|all] [--home FOLDER]

``conditions`` needs the podcast corpus beside the checkout; ``--home`` is a folder in which it is, or will
be, indexed. The others make what they need: a graph of random words, and a scripted endpoint in a process of
its own (200 ms + 2 ms per output token) whose answers speak of no quality.
"""

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl

from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.search_settings import LocalShares

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from random_graph import random_graph

from graphrag_dagster import Index
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.kernel.catalogue.registry import method_at_level, methods
from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder
from graphrag_dagster.kernel.questions.context.answer import Source
from graphrag_dagster.kernel.questions.context.index_retriever import retriever_of
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.question import Basis
from graphrag_dagster.kernel.storage.published import publish
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.text.evidence import Words
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.systems.graphrag.search.global_search import chunks_of
from graphrag_dagster.systems.graphrag.search.local_search import ENTITIES, local_context
from support.serve import ServedEndpoint

PODCAST = ROOT.parent / "shared" / "data" / "podcast"
COMMAND = str(Path(sys.executable).parent / "graphrag-dagster")
CONDITIONS = [one.name for one in methods().values() if one.condition]
#: Text units that a context of 8,000 tokens may be filled from.
BASIC_UNITS = 100
PAPER = {
    "C0": (34, 26_657),
    "C1": (367, 225_756),
    "C2": (969, 565_720),
    "C3": (1310, 746_100),
    "TS": (1669, 1_014_611),
}


@contextmanager
def at_home(given: Path | None = None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as made:
        home = given or Path(made)
        for variable in ("GRAPHRAG_DAGSTER_CORPORA", "GRAPHRAG_DAGSTER_WAREHOUSE", "OPENAI_BASE_URL"):
            os.environ.pop(variable, None)
        os.environ["GRAPHRAG_DAGSTER_HOME"] = str(home)
        os.environ["DAGSTER_HOME"] = str(home / ".dagster_home")
        yield home


def conditions(given: Path | None) -> None:
    with at_home(given) as home:
        folder = home / "corpora" / "podcast"
        if not (home / "warehouse" / "podcast.duckdb").is_file():
            folder.mkdir(parents=True, exist_ok=True)
            zipfile.ZipFile(PODCAST / "transcripts.zip").extractall(folder)
            (folder / "corpus.yaml").write_text("text_units: {strategy: none}\n", encoding="utf-8")
            run_job("podcast")
        index = Index.open("podcast")
        table_2(index.searcher.index)
        with (PODCAST / "questions.csv").open(encoding="utf-8-sig", newline="") as file:
            questions = [row["question_text"] for row in csv.DictReader(file)]
        print(f"\n{len(questions)} questions, extractive engine, index without a model")
        print(
            "| condition | answered | refused | sources | dangling | unsupported | first s | p50 s | p95 s |"
        )
        documents = dict(index.searcher.index.documents.select("document_id", "text").iter_rows())
        for condition in CONDITIONS:
            answers = [index.ask(question, method=condition) for question in questions]
            sources = [source for answer in answers for source in answer.sources]
            dangling = sum(not stands(source, documents) for source in sources)
            refused = sum(answer.refused for answer in answers)
            unsupported = sum(answer.unsupported for answer in answers)
            seconds = [answer.seconds or 0.0 for answer in answers]
            counted = (len(answers) - refused, refused, len(sources), dangling, unsupported)
            first, rest = seconds[0], seconds[1:]
            times = (f"{first:.2f}", f"{quantile(rest, 0.5):.3f}", f"{quantile(rest, 0.95):.3f}")
            print("|", " | ".join(map(str, (condition, *counted, *times))), "|", flush=True)


def stands(source: Source, documents: dict[str, str]) -> bool:
    """Whether the words of a source stand at their characters of their document."""
    words = source.evidence
    if not isinstance(words, Words):
        return False
    return documents[words.document_id][words.start_char : words.end_char] == words.quotation


def table_2(index: IndexSnapshot) -> None:
    """Units and tokens of the units' raw texts, as in the paper's Table 2."""
    whole = int(index.text_chunks["tokens"].sum())
    print("| | units | tokens | % of TS | the paper's units and tokens |")
    for level in range(4):
        chosen = index.community_levels.filter(pl.col("level") == level)["community_id"].unique().to_list()
        reports = index.reports.filter(pl.col("report_id").is_in(chosen))
        tokens = int(reports["tokens"].sum())
        name = f"C{level}"
        print(f"| {name} | {reports.height:,} | {tokens:,} | {100 * tokens / whole:.1f} | {PAPER[name]} |")
    print(f"| TS | {index.text_chunks.height:,} | {whole:,} | 100.0 | {PAPER['TS']} |")


def quantile(values: list[float], share: float) -> float:
    return float(np.quantile(values, share))


def vectors(ids: list[str], texts: list[str], key: str) -> pl.DataFrame:
    made = StaticEmbedder().embed(texts)
    return pl.DataFrame({key: ids, "vector": pl.Series(made, dtype=pl.Array(pl.Float32, made.shape[1]))})


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - begin)


def retrieval() -> None:
    """Everything of a question but the model: retrieval, and choosing and packing the context."""
    count, embedder = get_tokenizer("cl100k_base").count, StaticEmbedder()
    print("| entities | way | first question, s | p50 ms | p95 ms |")
    for size in (1_000, 10_000, 100_000):
        index = random_graph(size)
        for name, questions, work in ways(index, embedder, count):
            times = [timed(lambda work=work, question=question: work(question)) for question in questions]
            p50, p95 = quantile(times[1:], 0.5), quantile(times[1:], 0.95)
            print(f"| {size:,} | {name} | {times[0] / 1000:.2f} | {p50:.1f} | {p95:.1f} |", flush=True)


def ways(
    index: IndexSnapshot, embedder: StaticEmbedder, count: Callable[[str], int]
) -> Iterator[tuple[str, list[str], Callable[[str], object]]]:
    texts = index.text_chunks["text"].to_list()
    units = vectors(index.text_chunks["text_unit_id"].to_list(), texts, "text_unit_id")
    named = index.entities.select(pl.format("{}: {}", "title", "description").alias("text"))["text"].to_list()
    entities = vectors(index.entities["entity_id"].to_list(), named, "entity_id")
    retriever = retriever_of(replace(index, unit_vectors=units, entity_vectors=entities))
    rng, names = random.Random(3), index.entities["title"].to_list()
    questions = [f"How did {rng.choice(names)} come to {rng.choice(names)}?" for _ in range(60)]

    def local(question: str) -> None:
        found = retriever.local(question, embedder.embed([question])[0], most_entities=ENTITIES)
        ids = found.units.ids, found.entities.ids
        local_context(index, *ids, count=count, limit=8000, shares=LocalShares())

    basis = Basis(method=method_at_level(0), index=index, count=count, settings=CorpusSettings(), level=0)

    def basic(question: str) -> None:
        # Units are ranked as they are read.
        list(islice(retriever.units(question, embedder.embed([question])[0]).ids, BASIC_UNITS))

    yield "basic", questions, basic
    yield "local", questions, local
    yield "global packing", questions, lambda _: chunks_of(basis)


def small_index(home: Path, url: str, reports: int, **model: object) -> None:
    """A corpus whose level 0 has so many reports, published, and answered by a model."""
    folder = home / "corpora" / "bench"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text(
        "Orrin Vask founded Tallow Marine. Selma Dray met Orrin Vask.", encoding="utf-8"
    )
    run_job("bench")
    given = {"search": {"engine": "llm"}, "model": {"base_url": url, "name": "gpt-4.1-mini", **model}}
    (folder / "corpus.yaml").write_text(json.dumps(given), encoding="utf-8")
    made = random_graph(reports * 5)
    warehouse = Warehouse()
    for table, frame in (
        (tables.COMMUNITY_REPORTS, made.reports),
        (tables.COMMUNITY_LEVELS, made.community_levels),
    ):
        warehouse.write(table, "bench", frame)
    warehouse.write(tables.REPORT_FINDINGS, "bench", tables.REPORT_FINDINGS.empty())
    warehouse.write(tables.REPORT_REFERENCES, "bench", tables.REPORT_REFERENCES.empty())
    publish(warehouse, "bench")


def saturation(connections: int = 32) -> None:
    with at_home() as home, ServedEndpoint(seconds=0.2, seconds_per_token=0.002) as endpoint:
        small_index(home, endpoint.url, 2_600, concurrency=connections)
        index = Index.open("bench")
        index.ask("Who met Orrin Vask?", method="local")
        endpoint.reset()
        begin = time.monotonic()
        index.ask("What do the texts say of trade?", method="C0")
        print(f"the first question, which packs the chunks: {time.monotonic() - begin:.2f} s")
        endpoint.reset()
        begin = time.monotonic()
        answer = index.ask("What do the texts say of tides?", method="C0")
        wall, tally = time.monotonic() - begin, endpoint.tally()
        ended = [one for one in endpoint.log() if one["event"] == "end"]
        reduce = max(one["ended"] - one["begun"] for one in ended if one["task"] == "global_reduce")
        ideal = (tally["latency_sum"] - reduce) / connections + reduce
        print(f"map calls {len(answer.scores)}, all {tally['calls']}, highest in flight {tally['highest']}")
        print(f"wall {wall:.2f} s, ideal {ideal:.2f} s: {wall / ideal:.2f} (target 1.2)")
        print(f"in both the joining call, which waits for all others, {reduce:.2f} s")


def service(clients: int = 50, each: int = 8) -> None:
    with at_home() as home, ServedEndpoint(seconds=0.2, seconds_per_token=0.002) as endpoint:
        small_index(home, endpoint.url, 40, concurrency=64)
        server = subprocess.Popen(
            [COMMAND, "serve", "--port", "0", "--concurrency", str(clients)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert server.stdout is not None
        url = next(line for line in server.stdout if "http://" in line).split()[-1].rstrip(".")
        try:
            seconds: list[float] = []

            def ask(question: str) -> float:
                body = json.dumps({"question": question, "method": "local"}).encode()
                request = urllib.request.Request(
                    f"{url}/corpora/bench/ask", data=body, headers={"Content-Type": "application/json"}
                )
                begin = time.monotonic()
                with urllib.request.urlopen(request, timeout=120) as answer:
                    answer.read()
                return time.monotonic() - begin

            first = ask("Who met Orrin Vask?")
            endpoint.reset()

            def client(number: int) -> None:
                for turn in range(each):
                    seconds.append(ask(f"Who met Orrin Vask, asks client {number} in turn {turn}?"))

            threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
            begin = time.monotonic()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            wall, tally = time.monotonic() - begin, endpoint.tally()
            latency = tally["latency_sum"] / max(sum(tally["calls"].values()), 1)
            print(f"{clients} clients, {len(seconds)} questions: {len(seconds) / wall:.0f} a second")
            p50, p99 = quantile(seconds, 0.5), quantile(seconds, 0.99)
            print(
                f"first {first:.2f} s, then p50 {p50:.2f}, p99 {p99:.2f} s; the model takes {latency:.2f} s"
            )
        finally:
            server.terminate()
            server.wait()


def main() -> None:
    parts = {"conditions": conditions, "retrieval": retrieval, "saturation": saturation, "service": service}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="?", default="all", choices=[*parts, "all"])
    parser.add_argument("--home", type=Path)
    given = parser.parse_args()
    for name, part in parts.items():
        if given.part in {name, "all"}:
            print(f"== {name}", flush=True)
            part(given.home) if name == "conditions" else part()


if __name__ == "__main__":
    main()

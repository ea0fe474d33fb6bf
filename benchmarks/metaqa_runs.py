"""Instances of LEGO-GraphRAG on MetaQA's development questions; the scores of each are kept in files."""

import hashlib
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import polars as pl

from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore, store_of
from graphrag_dagster.kernel.settings.corpus_settings import parse_settings
from graphrag_dagster.systems.lego.extractive import ExtractivePathAnswerer, ExtractivePathSelector
from graphrag_dagster.systems.lego.search.instance_definitions import (
    LEX,
    PathOptions,
    Recipe,
    Switches,
    instance,
)
from graphrag_dagster.systems.lego.search.instance_runner import InstanceResources, run_batch
from graphrag_dagster.systems.lego.search.reasoning_paths import PathQuery
from graphrag_dagster.systems.lego.settings import PathSettings
from graphrag_dagster.systems.lego.studies.answer_metrics import NormalisedLabels
from graphrag_dagster.systems.lego.studies.question_files import GoldQuestion, questions_in
from graphrag_dagster.systems.lego.studies.question_scores import question_scores

DATA = Path(__file__).parents[2] / "shared" / "data" / "metaqa"
#: Questions that one task of a process answers, at most.
AT_ONCE = 250
#: Tasks for a process, at least, so that none is idle long.
TASKS = 4


@dataclass(frozen=True)
class Variant:
    """An instance with options that differ from those of the others.

    ``options`` and ``switches`` are pairs of names and values; ``profile``: of ``corpus.yaml``, which has its
    own scorer.
    """

    instance: str
    scorer: str = "static"
    options: tuple[tuple[str, Any], ...] = ()
    switches: tuple[tuple[str, Any], ...] = ()
    profile: str | None = None

    @property
    def name(self) -> str:
        told = [f"{name}={value}" for name, value in (*self.options, *self.switches)]
        lex = LEX if self.recipe.asks_selector else ""
        return " ".join([f"{self.instance}{lex}", self.profile or self.scorer, *told])

    @property
    def recipe(self) -> Recipe:
        made = instance(self.instance)
        if self.profile:
            base = replace(_profiled(self.profile), **dict(self.options))
        else:
            base = replace(PathOptions(), scorer=self.scorer, **dict(self.options))
        return Recipe(made.name, replace(made.options(base), switches=Switches(**dict(self.switches))))


@cache
def _profiled(profile: str) -> PathOptions:
    settings = parse_settings({"profile": profile, "kind": "graph"}, profile)
    return settings.section(PathSettings).options()


def made_store(folder: Path, data: Path = DATA) -> Path:
    """Return the folder of WikiMovies as arrays, made if it is not there; a label is a node."""
    place = folder / "store"
    if not place.is_dir():
        rows = [line.split("|") for line in (data / "kb.txt").read_text(encoding="utf-8").splitlines()]
        triples = pl.DataFrame(rows, schema=["head_id", "relation", "tail_id"], orient="row")
        names = pl.concat([triples["head_id"], triples["tail_id"].rename("head_id")]).unique().sort()
        entities = pl.DataFrame({"entity_id": names, "name": names, "title": names})
        making = folder / f".store.{os.getpid()}"
        making.mkdir(parents=True)
        store_of(entities, triples).write(making)
        making.rename(place)
    return place


def asked(data: Path = DATA, most: int | None = None, seed: int = 0) -> list[GoldQuestion]:
    """Return the development questions of all hops; of each the ``most`` first in an order drawn by seed."""
    found: list[GoldQuestion] = []
    for hops in (1, 2, 3):
        name = f"{hops}-hop/qa_dev.txt"
        own = questions_in([(name, (data / name).read_bytes())])
        own.sort(key=lambda one: hashlib.sha256(f"{seed} {one.id}".encode()).digest())
        found += own[:most]
    return found


def run(
    folder: Path, variants: Sequence[Variant], questions: Sequence[GoldQuestion], *, processes: int = 2
) -> None:
    """Answer what has not been answered yet; every file that is written stays.

    Questions of the same seed come together, so that PageRank is solved once for them.
    """
    store = made_store(folder)
    questions = sorted(questions, key=lambda one: (one.entities, one.id))
    missing = {variant: {one.id for one in questions} - _done(folder, variant) for variant in variants}
    tasks = []
    step = min(AT_ONCE, -(-len(questions) // (TASKS * processes)))
    for start in range(0, len(questions), step):
        together: dict[tuple[GoldQuestion, ...], list[Variant]] = {}
        for variant in variants:
            part = tuple(one for one in questions[start : start + step] if one.id in missing[variant])
            if part:
                together.setdefault(part, []).append(variant)
        tasks += [(store, folder, of, part) for part, of in together.items()]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        begin = time.monotonic()
        for done, _ in enumerate(pool.map(_answer, tasks), start=1):
            print(f"{done}/{len(tasks)} parts in {time.monotonic() - begin:.0f} s", flush=True)


def scored(folder: Path, variants: Sequence[Variant], questions: Sequence[GoldQuestion]) -> pl.DataFrame:
    """Return the scores of the questions; the instance is the variant's name."""
    wanted = pl.DataFrame(
        [(one.id, one.hops) for one in questions], schema=["question_id", "hops"], orient="row"
    )
    parts = [
        pl.read_parquet(sorted(place.glob("*.parquet"))).with_columns(instance=pl.lit(variant.name))
        for variant in variants
        if (place := _place(folder, variant)).is_dir()
    ]
    return pl.concat(parts, how="diagonal").join(wanted, on="question_id") if parts else pl.DataFrame()


def _place(folder: Path, variant: Variant) -> Path:
    return folder / "scores" / variant.name.replace(" ", "_")


def _done(folder: Path, variant: Variant) -> set[str]:
    files = sorted(_place(folder, variant).glob("*.parquet"))
    return set(pl.read_parquet(files, columns=["question_id"])["question_id"]) if files else set()


def _answer(task: tuple[Path, Path, Sequence[Variant], Sequence[GoldQuestion]]) -> None:
    place, folder, variants, questions = task
    known = _known(place)
    runners = [known.workshop.runner(variant.recipe) for variant in variants]
    queries = [PathQuery(one.text, known.seeds(one.entities)) for one in questions]
    rows: dict[Variant, list[dict[str, Any]]] = {variant: [] for variant in variants}
    for one, outcomes in zip(questions, run_batch(runners, queries), strict=True):
        for variant, outcome in zip(variants, outcomes, strict=True):
            found = question_scores(outcome, one.answers, labels=known.labels)
            seconds = {f"seconds_{module}": value for module, value in outcome.seconds.items()}
            rows[variant].append({"question_id": one.id, **found, **seconds})
    name = hashlib.sha256(" ".join(one.id for one in questions).encode()).hexdigest()[:16]
    for variant, own in rows.items():
        target = _place(folder, variant)
        target.mkdir(parents=True, exist_ok=True)
        making = target / f".{name}.{os.getpid()}"
        pl.DataFrame(own, infer_schema_length=None).write_parquet(making)
        making.rename(target / f"{name}.parquet")


class _Known:
    """A graph with what is known of it."""

    def __init__(self, place: Path) -> None:
        store = PathStore.open(place)
        self.labels = NormalisedLabels(store)
        labels = list(store.labels)
        self._nodes = {labels[label]: node for node, label in enumerate(store.label_of.tolist())}
        self.workshop = InstanceResources(store, ExtractivePathAnswerer(), ExtractivePathSelector())

    def seeds(self, entities: Sequence[str]) -> tuple[int, ...]:
        return tuple(self._nodes[entity] for entity in entities if entity in self._nodes)


@cache
def _known(place: Path) -> _Known:
    """The graph of this process: what is known of pieces and PageRank is not made again."""
    return _Known(place)

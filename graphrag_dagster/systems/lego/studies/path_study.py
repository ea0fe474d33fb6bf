"""What recall is worth, and what acceleration and additional steps cost (paper Figure 5, Tables 5 to 9)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.common.bootstrap_intervals import mean_interval
from graphrag_dagster.kernel.common.progress import say, stage, without_progress
from graphrag_dagster.systems.lego.search.instance_definitions import (
    LEX,
    PathOptions,
    Recipe,
    Switches,
    instance,
)
from graphrag_dagster.systems.lego.search.instance_runner import instance_label, run_batch
from graphrag_dagster.systems.lego.search.reasoning_paths import Outcome, PathQuery, Subgraph
from graphrag_dagster.systems.lego.studies.answer_metrics import Answers, NormalisedLabels, subgraph_scores
from graphrag_dagster.systems.lego.studies.question_scores import question_scores
from graphrag_dagster.systems.lego.subgraphs.community_partition import partition_of
from graphrag_dagster.systems.lego.subgraphs.personalized_pagerank import PageRanks
from graphrag_dagster.systems.lego.subgraphs.ranked_subgraphs import label_vectors, largest_places
from graphrag_dagster.systems.lego.subgraphs.subgraph_extraction import extractor_of
from graphrag_dagster.systems.lego.subgraphs.transition_matrix import WalkTransitions, adjacency_of
from graphrag_dagster.systems.lego.tables import PATH_STUDY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore
    from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
    from graphrag_dagster.systems.lego.retrieval.path_scorers import PathScorer
    from graphrag_dagster.systems.lego.search.instance_runner import InstanceResources
    from graphrag_dagster.systems.lego.settings import PathSettings

T = TypeVar("T")

#: Sizes of the subgraph by which recall grows.
WINDOWS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
_RECALL = ("subgraph_recall", "subgraph_nodes", "path_recall_at_32", "path_f1_at_32")
_HITS = ("hits_at_1", "hits_at_1_lex")
_STEPS = ("path_f1_at_32", *_HITS, "calls", "seconds")


@dataclass(frozen=True, slots=True)
class StudyQuestion:
    """A question with its seeds and gold answers."""

    query: PathQuery
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant of an instance.

    Attributes:
        part: of the study: ``recall`` or ``switches``.
        name: of the variant.
        recipe: how paths are found.
        base: the variant that it is compared with, if any.
        paper: what the paper prints for it.
    """

    part: str
    name: str
    recipe: Recipe
    base: str | None = None
    paper: str = ""


#: By module the steps of the paper's Tables 7 to 9: name there, switches, and its figures.
_TABLES: Mapping[str, Sequence[tuple[str, Mapping[str, Any], str]]] = MappingProxyType(
    {
        "14": (
            ("SBE+ISAR-EEMs", {}, "CWQ .183, WebQSP .157, GrailQA .395, WebQuestions .160"),
            ("triple-level", {"triple_level": True}, "CWQ .224, WebQSP .146"),
            ("dynamic pruning", {"dynamic_prune": True}, "CWQ .133, WebQSP .230"),
            ("both, by hops", {"combine": True}, ""),
            ("LLMs-ES", {"early_stop": True}, "CWQ .135, WebQSP .117, GrailQA .304, WebQuestions .120"),
            ("LLMs-R", {"refine": True}, "CWQ .271, WebQSP .219, GrailQA .379, WebQuestions .175"),
        ),
        "15": (
            ("SBE+ISAR-LLMs", {}, "CWQ .249, WebQSP .264, GrailQA .371, WebQuestions .249"),
            ("EEMs-PF", {"prefilter": 32}, "CWQ .271, WebQSP .316, GrailQA .396, WebQuestions .245"),
            ("EEMs-S", {"supplement": True}, "CWQ .310, WebQSP .373, GrailQA .435, WebQuestions .276"),
        ),
        "13": (
            ("SBE+OSAR-LLMs", {}, "CWQ .304, WebQSP .401, GrailQA .401, WebQuestions .328"),
            ("EEMs-R", {"rerank": True}, "CWQ .303, WebQSP .397, GrailQA .395, WebQuestions .327"),
            ("M-LLMs", {"window": 16}, "CWQ .349, WebQSP .438, GrailQA .381, WebQuestions .348"),
            ("LLMs-E", {"llm_embeddings": True}, "CWQ .303, WebQSP .277, GrailQA .414, WebQuestions .233"),
            ("EEMs-S", {"supplement": True}, "CWQ .381, WebQSP .427, GrailQA .476, WebQuestions .353"),
        ),
    }
)


def recall_variants(settings: PathSettings) -> Iterator[Variant]:
    """Yield instance 12 on subgraphs of the same extraction whose size, and so recall, grows (Figure 5)."""
    base = _recipe(settings, "12")
    for size in (one for one in WINDOWS if one <= settings.max_ent):
        options = replace(base.options, max_ent=size)
        yield Variant("recall", f"max_ent {size}", replace(base, options=options))


def switch_variants(settings: PathSettings) -> Iterator[Variant]:
    """Yield the additional steps of Tables 7 to 9, each behind what it is added to.

    LLMs-E is left out where ``paths.llm_embeddings_model`` names no model.
    """
    for number, steps in _TABLES.items():
        recipe, (base, _, _) = _recipe(settings, number), steps[0]
        for step, switched, paper in steps:
            if "llm_embeddings" in switched and settings.llm_embeddings_model is None:
                continue
            name = _step_name(base, step)
            options = replace(recipe.options, switches=Switches(**switched))
            yield Variant("switches", name, replace(recipe, options=options), base, paper)


def _step_name(base: str, step: str) -> str:
    return base if step == base else f"{base} ({step})"


def _recipe(settings: PathSettings, number: str) -> Recipe:
    options = instance(number).options(settings.options())
    return Recipe(number, replace(options, switches=Switches()), settings.scorer_model)


def study_variants(
    variants: Sequence[Variant],
    questions: Sequence[StudyQuestion],
    resources: InstanceResources,
    *,
    engine: str,
    at_once: int = 1,
    seed: int = 0,
) -> pl.DataFrame:
    """Return rows of ``paths.study``: means with 95 % bootstrap intervals, and what a step adds to its base.

    Args:
        variants: what is measured.
        questions: with gold answers.
        resources: what instances are made of.
        engine: of paths; ``-lex`` stands behind what a model would have selected.
        at_once: questions under way at the same time.
        seed: of the bootstrap.

    Raises:
        EngineError: a variant cannot be made here.
        EndpointError: the model endpoint cannot be used.
    """
    runners = [resources.runner(one.recipe) for one in variants]
    labels = NormalisedLabels(resources.store)

    def answer(question: StudyQuestion) -> list[dict[str, float | None]]:
        with without_progress():
            (outcomes,) = run_batch(runners, [question.query])
        return [_scores(outcome, question.answers, labels) for outcome in outcomes]

    found: list[list[dict[str, float | None]]] = []
    with stage("Studying paths", len(questions)) as running, ThreadPoolExecutor(at_once) as pool:
        for scores in pool.map(answer, questions):
            found.append(scores)
            running.advance()
    by_variant = {one.name: [scores[place] for scores in found] for place, one in enumerate(variants)}
    rows = [row for one in variants for row in _variant_rows(one, by_variant, engine, seed)]
    return PATH_STUDY.frame(rows)


def _scores(outcome: Outcome, answers: Sequence[str], labels: NormalisedLabels) -> dict[str, float | None]:
    own = question_scores(outcome, answers, labels=labels)
    own["calls"] = float(sum(use.usage.calls for use in outcome.uses.values()))
    own["seconds"] = sum(outcome.seconds.values())
    return own


def _variant_rows(
    one: Variant, scores: Mapping[str, Sequence[Mapping[str, float | None]]], engine: str, seed: int
) -> Iterator[dict[str, Any]]:
    own = scores[one.name]
    base = scores[one.base] if one.base and one.base != one.name else None
    lex = instance_label(one.recipe, engine).removeprefix(one.recipe.name)
    for measure in (*_RECALL, *_HITS) if one.part == "recall" else _STEPS:
        values = [value for row in own if (value := row.get(measure)) is not None]
        if not values:
            continue
        added = None
        if base is not None:
            pairs = [(row.get(measure), other.get(measure)) for row, other in zip(own, base, strict=True)]
            known = [value - before for value, before in pairs if value is not None and before is not None]
            added = mean_interval(known, seed=seed)
        mean = mean_interval(values, seed=seed)
        yield {
            "part": one.part,
            "variant": f"{one.name}{lex}",
            "measure": measure,
            "mean": mean and mean.mean,
            "low": mean and mean.low,
            "high": mean and mean.high,
            "added": added and added.mean,
            "added_low": added and added.low,
            "added_high": added and added.high,
            "questions": len(values),
            "paper": one.paper if measure == "path_f1_at_32" and one.paper else None,
        }


#: Extractions of Tables 5 and 6, and what these print.
METHODS: Mapping[str, tuple[Mapping[str, Any], str]] = MappingProxyType(
    {
        "PageRank, exact": ({}, "recall .96, 75.29 s"),
        "RBS": ({"extraction": "rbs"}, "recall .31, .51 s"),
        "FORA": ({"extraction": "fora"}, "recall .18, 7.61 s"),
        "push": ({"extraction": "push"}, ""),
        "partition": ({"extraction": "partition"}, "recall .52, 19.02 s, prepared in 19,373 s"),
        "node vectors": ({"extraction": "node_vectors"}, "recall .65, .85 s, prepared in 14,570 s"),
    }
)


class Preparation:
    """What extractions need of a whole graph, made anew, with the seconds that it took.

    Args:
        store: the graph.
        options: ``direction`` and ``damping``.
        embedder: of labels and questions.
    """

    def __init__(self, store: PathStore, options: PathOptions, embedder: CorpusEmbedder) -> None:
        self._store, self._options, self._embedder = store, options, embedder

    @cached_property
    def _transitions(self) -> tuple[Any, float]:
        followed = self._store.resolve_direction(self._options.direction)

        def made() -> WalkTransitions:
            transitions = adjacency_of(self._store, followed)
            # Else the first question that multiplies by the matrices would wait for them.
            _ = transitions.products
            return transitions

        return _timed(made)

    @cached_property
    def _partition(self) -> tuple[Any, float]:
        return _timed(lambda: partition_of(self._store))

    @cached_property
    def _labels(self) -> tuple[Any, float]:
        return _timed(lambda: label_vectors(self._store, self._embedder, "float16"))

    def extraction(
        self, options: PathOptions, scorer: PathScorer
    ) -> tuple[Callable[[PathQuery], Subgraph], float]:
        """Return what extracts a subgraph, and the seconds before it can be asked.

        PageRank is solved for each question, whatever was asked before.

        Raises:
            GraphragError: what it needs would be too large.
        """
        store = self._store
        if options.extraction == "ppr":
            transitions, seconds = self._transitions

            def ranked(query: PathQuery) -> Subgraph:
                ranks = PageRanks(transitions, options.damping).ranks(query.seeds)
                nodes = largest_places(ranks, options.max_ent, query.seeds)
                return Subgraph.of_nodes(store, nodes, query.seeds)

            return ranked, seconds
        made: dict[str, Any] = {}
        if options.extraction == "partition":
            made["partition"], seconds = self._partition
        elif options.extraction == "node_vectors":
            made["vectors"], seconds = self._labels
        else:
            _, seconds = self._transitions
        extractor = extractor_of(options, store, scorer=scorer, embedder=self._embedder, **made)
        return lambda query: extractor.extract(query).subgraph, seconds


def study_acceleration(
    store: PathStore,
    questions: Sequence[StudyQuestion],
    options: PathOptions,
    embedder: CorpusEmbedder,
    scorer: PathScorer,
    *,
    seed: int = 0,
) -> pl.DataFrame:
    """Return rows of ``paths.study``: seconds of preparation and of a question, recall, F1 and pieces.

    An extraction that the graph is too large for is left out, which is told.

    Args:
        store: the graph.
        questions: with gold answers; of those with the same seeds the first is asked.
        options: those that all extractions share.
        embedder: of the corpus.
        scorer: chooses among the edges of a node that has many.
        seed: of the bootstrap.
    """
    distinct = list({one.query.seeds: one for one in reversed(questions)}.values())[::-1]
    prepared, labels = Preparation(store, options, embedder), NormalisedLabels(store)
    rows: list[dict[str, Any]] = []
    with stage("Studying extractions", len(METHODS)) as running:
        for name, (changed, paper) in METHODS.items():
            own = replace(options, pruning="none", **changed)
            try:
                extract, seconds = prepared.extraction(own, scorer)
            except GraphragError as error:
                say(f"{name} is left out: {error}")
                continue
            scores = [_extracted(extract, one, labels) for one in distinct]
            rows += _extraction_rows(name, scores, seconds, paper, seed)
            running.advance()
    return PATH_STUDY.frame(rows)


def _extracted(
    extract: Callable[[PathQuery], Subgraph], one: StudyQuestion, labels: NormalisedLabels
) -> dict[str, float | None]:
    subgraph, seconds = _timed(lambda: extract(one.query))
    found = subgraph_scores(subgraph, Answers.of(one.answers), labels)
    counts = {"wcc": float(subgraph.components), "subgraph_nodes": float(len(subgraph.nodes))}
    return {**found, **counts, "seconds": seconds}


def _extraction_rows(
    name: str, scores: Sequence[Mapping[str, float | None]], preparation: float, paper: str, seed: int
) -> Iterator[dict[str, Any]]:
    common = {"part": "acceleration", "variant": name, "added": None, "added_low": None, "added_high": None}
    for measure in ("subgraph_recall", "subgraph_f1", "wcc", "subgraph_nodes", "seconds"):
        values = [value for row in scores if (value := row[measure]) is not None]
        mean = mean_interval(values, seed=seed)
        yield {
            **common,
            "measure": measure,
            "mean": mean and mean.mean,
            "low": mean and mean.low,
            "high": mean and mean.high,
            "questions": len(values),
            "paper": paper or None if measure == "subgraph_recall" else None,
        }
    yield {
        **common,
        "measure": "preparation_seconds",
        "mean": preparation,
        "low": None,
        "high": None,
        "questions": len(scores),
        "paper": None,
    }


def _timed(made: Callable[[], T]) -> tuple[T, float]:
    begin = perf_counter()
    return made(), perf_counter() - begin


def variants_side_by_side(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one part of ``paths.study`` with a row for each variant, and its means as columns.

    They stand in the order of the paper's tables, growing subgraphs by their recall. Of steps, ``added`` is
    what they add to path F1, with the interval in ``from`` and ``to``.
    """
    wide = rows.pivot("measure", index="variant", values="mean", maintain_order=True)
    paper = rows.filter(pl.col("paper").is_not_null()).select("variant", "paper")
    added = rows.filter(pl.col("added").is_not_null(), measure="path_f1_at_32").select(
        "variant", "added", pl.col("added_low").alias("from"), pl.col("added_high").alias("to")
    )
    for more in (added, paper):
        if len(more):
            wide = wide.join(more, on="variant", how="left", maintain_order="left")
    place = pl.col("variant").str.strip_suffix(LEX).replace_strict(_PLACES, default=None)
    by_recall = [pl.col("subgraph_recall")] if "subgraph_recall" in wide.columns else []
    return wide.sort(place, *by_recall, maintain_order=True).with_columns(pl.col(pl.Float64).round(4))


_NAMES = (*METHODS, *(_step_name(steps[0][0], step) for steps in _TABLES.values() for step, _, _ in steps))
_PLACES = {name: place for place, name in enumerate(_NAMES)}

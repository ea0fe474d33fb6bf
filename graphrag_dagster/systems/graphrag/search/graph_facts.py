"""Edges of the graph as citable context rows, ranked by smoothed entity vectors.

z′ = normalise(z + weighted mean of the neighbours' z): an entity is near to a question whose neighbours are.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.catalogue.registry import asks_model
from graphrag_dagster.kernel.common.packed_arrays import WeightedLists
from graphrag_dagster.kernel.common.stable_values import Scores, cosines, unit_rows
from graphrag_dagster.kernel.graph.graph_labels import CO_OCCURS, RELATED_TO
from graphrag_dagster.kernel.questions.context.answer import Answer, Call
from graphrag_dagster.kernel.questions.context.context_rows import (
    LocalContext,
    LocalRow,
    quotations,
    quotes_stating,
    titles_of,
)
from graphrag_dagster.kernel.questions.context.index_background import IndexBackground
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.finding import with_history
from graphrag_dagster.kernel.questions.question import Search
from graphrag_dagster.kernel.retrieval.entity_linking import LinkedName
from graphrag_dagster.kernel.retrieval.ranking import TextRanker, Vectors, first_places, rows_of, z_scores
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, FinalAnswer, Quote
from graphrag_dagster.kernel.text.citations import LABELS
from graphrag_dagster.systems.graphrag.search.graph_query_templates import edges_of
from graphrag_dagster.systems.graphrag.search.map_reduce import finish_answer
from graphrag_dagster.systems.graphrag.tasks import ANSWERER


@dataclass(frozen=True, slots=True)
class Smoothed:
    """Vectors of all entities, and what is beside each; smoothed ones are made where they are asked for."""

    places: dict[str, int]
    vectors: NDArray[np.float32]
    neighbours: WeightedLists

    def of(self, entity_ids: Sequence[str]) -> Vectors:
        """Return smoothed unit vectors [n, d], zeros where neither an entity nor a neighbour has one."""
        owners = np.array([self.places[one] for one in entity_ids], dtype=np.int64)
        which, neighbours, weights = self.neighbours.of_all(owners)
        told = np.any(self.vectors[neighbours] != 0, axis=1)
        which, neighbours, weights = which[told], neighbours[told], weights[told]
        summed = np.zeros((len(owners), self.vectors.shape[1]))
        np.add.at(summed, which, weights[:, None] * self.vectors[neighbours])
        whole = np.bincount(which, weights, len(owners))
        mean = summed / np.where(whole > 0, whole, 1.0)[:, None]
        return unit_rows(self.vectors[owners] + mean)


def likeness(search: Search, pairs: Sequence[tuple[str, str]]) -> Scores | None:
    """Return the mean cosine of the question with the smoothed vectors of the two ends of each edge.

    Args:
        search: the question.
        pairs: ids of the ends.

    Returns:
        as many; None where there are no vectors of entities, or another embedder made them.
    """
    frame = vectors_of(search.index)
    smoothed = search.index.once(_smoothed_vectors)
    if frame is None or smoothed is None or not pairs:
        return None
    embedder = search.engines.embedder()
    if frame["embedder"].unique().to_list() != [embedder.name]:
        return None
    wanted = embedder.embed_queries([with_history(search)])[0]
    ends = sorted({end for pair in pairs for end in pair})
    near = dict(zip(ends, cosines(smoothed.of(ends), wanted).tolist(), strict=True))
    return np.array([(near[one] + near[other]) / 2 for one, other in pairs])


def vectors_of(index: IndexSnapshot) -> pl.DataFrame | None:
    """Return the vectors of entities, else those of the context nodes alone; None where there are neither."""
    known = (index.entity_vectors, index.context_vectors)
    return next((frame for frame in known if frame is not None and not frame.is_empty()), None)


def _smoothed_vectors(index: IndexSnapshot) -> Smoothed | None:
    ids = index.entities["entity_id"].to_list()
    vectors = rows_of(ids, vectors_of(index), "entity_id")
    if vectors is None:
        return None
    places = {entity_id: place for place, entity_id in enumerate(ids)}
    known = pl.DataFrame({"end": ids, "place": range(len(ids))}, schema={"end": pl.String, "place": pl.Int64})
    edges = (
        index.relationships.select("source_id", "target_id", "weight")
        .join(known.rename({"end": "source_id", "place": "one"}), on="source_id", maintain_order="left")
        .join(known.rename({"end": "target_id", "place": "other"}), on="target_id", maintain_order="left")
    )
    one, other, weight = (edges[name].to_numpy() for name in ("one", "other", "weight"))
    lists = WeightedLists.of_pairs(
        len(ids), np.concatenate([one, other]), np.concatenate([other, one]), np.tile(weight, 2)
    )
    return Smoothed(places, vectors, lists)


#: Sentences that state an edge, at most.
_SENTENCES = 2

Key = tuple[str, str, str]

#: Entities of a question that are looked up, the surest first.
_MOST_ENTITIES = 8


@dataclass(frozen=True, slots=True)
class Fact:
    """A directed, labelled edge that a relationship of the graph stands for, and the words that state it."""

    key: Key
    relationship_id: str
    head: str
    tail: str
    words: tuple[tuple[str, Quote], ...]

    @property
    def ends(self) -> tuple[str, str]:
        """Ids of its ends."""
        return self.key[0], self.key[2]

    @property
    def relation(self) -> str:
        """Its label, in words."""
        return self.key[1].replace("_", " ")

    @property
    def sentence(self) -> str:
        """Its text if no words are known."""
        return f"{self.head} {self.relation} {self.tail}."


def facts_of(index: IndexSnapshot, keys: Iterable[Key]) -> list[Fact]:
    """Return edges as facts, in their order, each once; what the tables do not know is left out."""
    wanted = list(dict.fromkeys(keys))
    names = ("head_id", "relation", "tail_id")
    rows = pl.DataFrame(wanted, schema=dict.fromkeys(names, pl.String), orient="row")
    found = rows.join(edges_of(index), on=list(names), how="inner", maintain_order="left")
    titles, records = titles_of(index), index.once(_records)
    facts = []
    for edge in found.iter_rows(named=True):
        head, relation, tail = (edge[name] for name in names)
        if record := records.get(_pair(head, tail)):
            relationship_id, units = record
            words = quotes_stating(
                index, {**edge, "text_unit_ids": edge["text_unit_ids"] or units}, _SENTENCES
            )
            told = tuple((" ".join(index.words(one).split()), one) for one in words)
            facts.append(Fact((head, relation, tail), relationship_id, titles[head], titles[tail], told))
    return facts


def rank_facts(search: Search, facts: Sequence[Fact]) -> list[Fact]:
    """Return facts in the order in which they have to do with the question: by their words and their ends.

    The likeness of words is BM25 among the facts, that of ends the cosine of :func:`.smoothing.likeness`;
    their z-scores are added, and equal ones keep their order.
    """
    if not facts:
        return []
    texts = [f"{one.sentence} {' '.join(words for words, _ in one.words)}" for one in facts]
    ranker = TextRanker(list(map(str, range(len(facts)))), texts)
    scores = ranker.scores(with_history(search), None, "lexical")
    if (
        search.options.retrieval != "lexical"
        and (near := likeness(search, [one.ends for one in facts])) is not None
    ):
        scores = z_scores(near) + (z_scores(scores) if search.options.retrieval == "hybrid" else 0.0)
    return [facts[place] for place in first_places(np.asarray(scores)).tolist()]


def fact_row(index: IndexSnapshot, fact: Fact) -> LocalRow:
    """Return a fact as a row; it rests on its words, and may be quoted by them, else by what it says."""
    text = " ".join(words for words, _ in fact.words)
    sentences = fact.words or ((fact.sentence, None),)
    title = f"{fact.head} — {fact.tail}"
    unit = ContextUnit(0, title, text, sentences, "relationship", IndexBackground(index))
    words = [quote for _, quote in fact.words]
    provenance = partial(quotations, words, "relationship", fact.relationship_id)
    return LocalRow(unit, fact.relationship_id, (fact.head, fact.relation, fact.tail), provenance)


def keys_of(rows: Iterable[Mapping[str, Any]]) -> list[Key]:
    """Return the edges that rows of a template of edges tell."""
    return [(row["head_id"], row["relation"], row["tail_id"]) for row in rows]


def _records(index: IndexSnapshot) -> dict[tuple[str, str], tuple[str, list[str]]]:
    """Id and text units of the relationship between two entities."""
    rows = index.relationships.select(
        "source_id", "target_id", "relationship_id", "text_unit_ids"
    ).iter_rows()
    return {_pair(source, target): (record, units) for source, target, record, units in rows}


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)


def entities_of(names: tuple[LinkedName, ...]) -> dict[str, str]:
    """Return the titles of the entities that a question names, by id, the surest first."""
    sure = sorted(
        (one for one in names if one.named and one.entity_id), key=lambda one: (-one.sure, -one.weight)
    )
    found = {str(one.entity_id): one.title or one.text for one in sure}
    return dict(list(found.items())[:_MOST_ENTITIES])


_MOST = 10
_HEADING = "In the graph"


def answered_at_once(
    search: Search,
    answer: Answer,
    context: LocalContext,
    about: str,
    facts: Sequence[Fact] = (),
    entities: Collection[str] = (),
) -> Answer:
    """Return an answer from one context, in one call; what was made so far where the context has no row.

    Args:
        search: the question.
        answer: the refusal, with all that is told of how it came about.
        context: what is answered from.
        about: what that is, in words.
        facts: those that its rows of relationships show, in their order; without a model they are listed.
        entities: ids of what the question names.

    Raises:
        EngineError: no usable answer came.
    """
    if not context.rows:
        return answer
    answerer = search.engines.task(ANSWERER)
    asked = search.asked_of(answerer.engine, context.rows)
    final = answerer.answer(asked, context.rows, context.rendered, search.question.history)
    if facts and not asks_model(final.engine):
        final = _with_edges(final, context.rows, facts, entities)
    used = bool(final.text.strip())
    call = Call("answer", about, None, sum(context.row_tokens), used)
    answer = replace(answer, context=context.uses(used=used), steps=(*answer.steps, call))
    return finish_answer(answer, final, context.units, {row.id for row in context.rows}, search.supporting)


def _with_edges(
    final: FinalAnswer, rows: Sequence[ContextUnit], facts: Sequence[Fact], entities: Collection[str]
) -> FinalAnswer:
    """Return an answer with the edges of the entities that the question names below its sentences."""
    edges = [row for row in rows if row.kind == "relationship"]
    label = LABELS["relationship"]
    lines = [
        f"- {_fact_sentence(fact)} [Data: {label} ({row.id})]"
        for row, fact in zip(edges, facts, strict=False)
        if set(fact.ends) & set(entities)
    ][:_MOST]
    if not lines:
        return final
    listed = "\n".join([f"**{_HEADING}**\n", *lines])
    return replace(final, text=f"{final.text}\n\n{listed}".strip())


def _fact_sentence(fact: Fact) -> str:
    """An edge; that two are named together, or are related somehow, needs no word."""
    between = () if fact.key[1] in (CO_OCCURS, RELATED_TO) else (fact.relation,)
    return " — ".join((fact.head, *between, fact.tail))

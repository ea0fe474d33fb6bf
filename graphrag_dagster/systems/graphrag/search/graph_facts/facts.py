"""Edges of the graph as context rows: both ends, the relation, and the words that state it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from graphrag_dagster.kernel.questions.context.background import IndexBackground
from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
from graphrag_dagster.kernel.questions.context.local_rows import LocalRow, quoted, titles_of, words_stating
from graphrag_dagster.kernel.questions.question import Search
from graphrag_dagster.kernel.retrieval.finding import with_history
from graphrag_dagster.kernel.retrieval.linking.linking import LinkedName
from graphrag_dagster.kernel.retrieval.ranking import TextRanker, first_places, z_scores
from graphrag_dagster.kernel.tasks.ports import ContextUnit, Quote
from graphrag_dagster.systems.graphrag.search.graph_facts.smoothing import likeness
from graphrag_dagster.systems.graphrag.search.graph_facts.tables import edges_of

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
    def said(self) -> str:
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
            words = words_stating(
                index, {**edge, "text_unit_ids": edge["text_unit_ids"] or units}, _SENTENCES
            )
            told = tuple((" ".join(index.words(one).split()), one) for one in words)
            facts.append(Fact((head, relation, tail), relationship_id, titles[head], titles[tail], told))
    return facts


def nearest_first(search: Search, facts: Sequence[Fact]) -> list[Fact]:
    """Return facts in the order in which they have to do with the question: by their words and their ends.

    The likeness of words is BM25 among the facts, that of ends the cosine of :func:`.smoothing.likeness`;
    their z-scores are added, and equal ones keep their order.
    """
    if not facts:
        return []
    texts = [f"{one.said} {' '.join(words for words, _ in one.words)}" for one in facts]
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
    sentences = fact.words or ((fact.said, None),)
    title = f"{fact.head} — {fact.tail}"
    unit = ContextUnit(0, title, text, sentences, "relationship", IndexBackground(index))
    words = [quote for _, quote in fact.words]
    provenance = partial(quoted, words, "relationship", fact.relationship_id)
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

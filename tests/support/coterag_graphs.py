"""Small graphs of triples, and indexes of them whose cosines are chosen."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from graphrag_dagster.systems.coterag.coterag_options import PAPER, Thresholds
from graphrag_dagster.systems.coterag.index.triple_communities import TripleGraph, triple_graph
from graphrag_dagster.systems.coterag.search.coterag_snapshot import CoteragSnapshot
from graphrag_dagster.systems.coterag.search.vector_matching import Vectors
from graphrag_dagster.systems.coterag.tasks import EvidenceAnswer, RoutedQuestion, Validation
from support.axis_vectors import EMBEDDER, at_cosine

_TRIPLE = {"head": pl.String, "relation": pl.String, "tail": pl.String, "text_unit_ids": pl.List(pl.String)}
_ENTITY = {
    "entity_id": pl.String,
    "name": pl.String,
    "title": pl.String,
    "type": pl.String,
    "text_unit_ids": pl.List(pl.String),
}


def entity_rows(names: Sequence[str], units: Mapping[str, Sequence[str]] | None = None) -> pl.DataFrame:
    rows = [(f"e-{one}", one, one, "thing", list((units or {}).get(one, ()))) for one in names]
    return pl.DataFrame(rows, schema=_ENTITY, orient="row")


def triple_rows(rows: Sequence[tuple[str, str, str]], unit: str = "u0") -> pl.DataFrame:
    return pl.DataFrame([(*row, [unit]) for row in rows], schema=_TRIPLE, orient="row")


def graph_of(*triples: tuple[str, str, str], alone: Sequence[str] = ()) -> TripleGraph:
    names = sorted({end for head, _, tail in triples for end in (head, tail)} | set(alone))
    return triple_graph(entity_rows(names), triple_rows(triples))


def chain(*names: str, relation: str = "to") -> list[tuple[str, str, str]]:
    return [(one, relation, other) for one, other in itertools.pairwise(names)]


def vectors_of(cosines: Mapping[str, float], embedder: str = EMBEDDER) -> Vectors:
    """Unit rows; a cosine of exactly 0 stands for a blank text, a vector of zeros."""
    rows = [at_cosine(value) if value else [0.0] * 8 for value in cosines.values()]
    return Vectors(list(cosines), np.array(rows, dtype=np.float32).reshape(-1, 8), embedder)


@dataclass
class Parts:
    """An index in the making: cosines of entities, text units and summaries to every question."""

    communities: Mapping[str, Sequence[str]]
    triples: Sequence[tuple[str, str, str]]
    entities: Mapping[str, float]
    chunks: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    chunks_of: Mapping[str, Sequence[str]] = field(default_factory=dict)
    summaries: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    terms: Mapping[str, Sequence[str]] = field(default_factory=dict)
    thresholds: Thresholds = PAPER

    def index(self) -> CoteragSnapshot:
        community = {entity: one for one, members in self.communities.items() for entity in members}
        return CoteragSnapshot(
            entities=pl.DataFrame(
                [
                    (one, one.title(), "main" if one in community else "preserved", community.get(one))
                    for one in self.entities
                ],
                schema={
                    "entity_id": pl.String,
                    "title": pl.String,
                    "store": pl.String,
                    "community_id": pl.String,
                },
                orient="row",
            ),
            triples=pl.DataFrame(
                [
                    (h, r, t, community.get(h) if community.get(h) == community.get(t) else None)
                    for h, r, t in self.triples
                ],
                schema=dict.fromkeys(("head_id", "relation", "tail_id", "community_id"), pl.String),
                orient="row",
            ),
            entity_chunks=pl.DataFrame(
                [(entity, unit) for entity, units in self.chunks_of.items() for unit in units],
                schema={"entity_id": pl.String, "text_unit_id": pl.String},
                orient="row",
            ),
            chunks=pl.DataFrame(
                [(unit, "doc", text) for unit, (text, _) in self.chunks.items()],
                schema=dict.fromkeys(("text_unit_id", "title", "text"), pl.String),
                orient="row",
            ),
            summaries=pl.DataFrame(
                [(one, f"title {one}", text) for one, (text, _) in self.summaries.items()],
                schema=dict.fromkeys(("community_id", "title", "text"), pl.String),
                orient="row",
            ),
            community_terms=pl.DataFrame(
                [(one, term) for one, terms in self.terms.items() for term in terms],
                schema=dict.fromkeys(("community_id", "term"), pl.String),
                orient="row",
            ),
            descriptions=vectors_of(self.entities),
            chunk_vectors=vectors_of({unit: cosine for unit, (_, cosine) in self.chunks.items()}),
            summary_vectors=vectors_of({one: cosine for one, (_, cosine) in self.summaries.items()}),
            thresholds=self.thresholds,
            route=0.4,
        )


@dataclass
class Specific:
    """Routes every question to the documents, or as it is told."""

    engine: str = "scripted"
    route_to: str = "specific"

    def route(self, question, cues):
        self.cues = cues
        return RoutedQuestion(self.route_to, "as told")


@dataclass
class Says:
    """Answers in turn, the last again and again; notes every context."""

    replies: Sequence[EvidenceAnswer | str]
    engine: str = "scripted"
    direct: EvidenceAnswer | None = None
    seen: list = field(default_factory=list)

    def answer(self, question, rows):
        reply = self.replies[min(len(self.seen), len(self.replies) - 1)]
        self.seen.append(list(rows))
        return EvidenceAnswer(reply, "scripted") if isinstance(reply, str) else reply

    def answer_directly(self, question):
        return self.direct


@dataclass
class Finds:
    """Validates in turn, the last again and again."""

    verdicts: Sequence[str] = ("ok",)
    engine: str = "scripted"
    asked: int = 0

    def validate(self, question, rows, answer):
        self.asked += 1
        return Validation(self.verdicts[min(self.asked, len(self.verdicts)) - 1])

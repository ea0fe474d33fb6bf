"""Retrieval over one corpus: text units by similarity, text units and entities through the graph."""

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_values import Scores
from graphrag_dagster.kernel.retrieval.entity_linking import (
    EntityLink,
    EntityLinks,
    LinkedName,
    NamedEntities,
    NameLinker,
    entities_named,
)
from graphrag_dagster.kernel.retrieval.lexical_index import WordRarity
from graphrag_dagster.kernel.retrieval.multihop.multihop_retrieval import SHIPPED, Following, Passages
from graphrag_dagster.kernel.retrieval.multihop.name_graph import NameGraph, PassageRank, name_graph
from graphrag_dagster.kernel.retrieval.multihop.question_parsing import NameReach, read_question
from graphrag_dagster.kernel.retrieval.ranking import (
    Likeness,
    Mode,
    Ranking,
    RowTexts,
    TextRanker,
    fuse_rankings,
    rank_by_score,
    rows_of,
    with_neighbours,
    z_scores,
)
from graphrag_dagster.kernel.retrieval.search_words import Clauses, Decomposer
from graphrag_dagster.kernel.retrieval.sentence_relevance import asks_for_statements
from graphrag_dagster.kernel.storage.index_cache import Shelf, load_or_build

_STEPS = 8
_IN_A_UNIT = 0.7
_ENTITY_TEXT = 0.25
_MOST_TOLD = 3
_OF_UNITS = ("text_unit_id", "human_readable_id", "document_id", "title", "text")
_OF_ENTITIES = ("entity_id", "human_readable_id", "title", "description", "names", "text_unit_ids")

QuestionVector = NDArray[np.float32] | None


@dataclass(frozen=True, slots=True)
class LocalRanking:
    """Text units and entities in descending order, and the linked names of the question in order."""

    units: Ranking
    entities: Ranking
    linked: tuple[LinkedName, ...] = ()


@dataclass(frozen=True, slots=True)
class _Asked:
    """The stems of a question and of its clauses, and its similarity to each text unit."""

    stems: Sequence[str]
    parts: Sequence[Sequence[str]]
    likeness: Likeness


class Retriever:
    """Ranks the text units and entities of one corpus for questions.

    Everything is built on first use and cached.

    Args:
        text_chunks: rows of ``corpus.text_chunks``. An additional ``title`` of the document is searched with
            the text of the unit, and counts as what the unit is about.
        entities: rows of ``graph.entities``; without any, local retrieval equals basic retrieval.
        relationships: rows of ``graph.relationships``.
        unit_vectors: rows of ``embeddings.text_units``; units may be missing.
        entity_vectors: rows of ``embeddings.entities``; entities may be missing.
        decomposer: splits questions; None: into clauses.
        shelf: stores what is derived from the tables; None: only in memory.
    """

    def __init__(
        self,
        text_chunks: pl.DataFrame,
        entities: pl.DataFrame,
        relationships: pl.DataFrame,
        unit_vectors: pl.DataFrame | None = None,
        entity_vectors: pl.DataFrame | None = None,
        *,
        decomposer: Decomposer | None = None,
        shelf: Shelf | None = None,
    ) -> None:
        title = pl.col("title").fill_null("") if "title" in text_chunks.columns else pl.lit("")
        self._units = _in_order(text_chunks.with_columns(title=title), _OF_UNITS)
        self._entities = _in_order(entities, _OF_ENTITIES)
        self._relationships = relationships
        self._unit_vectors = unit_vectors
        self._entity_vectors = entity_vectors
        self._decomposer = decomposer or Clauses()
        self._shelf = shelf

    def prepare(self) -> None:
        """Build the derived files of the tables."""
        if not self._entities.is_empty() and not self._units.is_empty():
            _ = self._unit_ranker.lexical.postings, self._entity_ranker.lexical.postings, self._graph

    @property
    def unit_ids(self) -> tuple[str, ...]:
        """The text unit ids in the order of a prior."""
        return self._unit_ranker.ids

    def text(self, unit_id: str) -> str:
        """Return the text of a unit below the title of its document, as it is searched."""
        return self._texts[self._places[unit_id]]

    def share_of(self, phrase: str, document_ids: Set[str]) -> float:
        """Return how much of what the text units say of a phrase stands in some documents, 0 to 1.

        It is the share of the BM25 scores of the units that have all its words.
        """
        lexical = self._unit_ranker.lexical
        terms = lexical.terms(phrase)
        if not terms.stems:
            return 0.0
        having = reduce(np.intersect1d, terms.texts)
        scores = lexical.scores_of(terms.stems)[having]
        inside = self._units["document_id"].gather(having).is_in(list(document_ids)).to_numpy()
        total = float(scores.sum())
        return float(scores[inside].sum()) / total if total else 0.0

    def has_word(self, word: str) -> bool:
        """Return whether any text unit has a word, by its stem."""
        return bool(self._unit_ranker.lexical.scores(word).any())

    def units(
        self,
        question: str,
        question_vector: QuestionVector = None,
        mode: Mode = "hybrid",
        *,
        most: int | None = None,
        prior: Scores | None = None,
    ) -> Ranking:
        """Rank the text units by similarity to the question (basic retrieval).

        Args:
            question: the question.
            question_vector: its unit vector [d] by the embedder of the tables; None: lexical only.
            mode: lexical, vector or hybrid.
            most: how many to return; None: all.
            prior: weight of each of :attr:`unit_ids`: 0 excludes, 1 is neutral, more favours; None: all 1.
        """
        ranker = self._unit_ranker
        return rank_by_score(ranker.ids, ranker.scores(question, question_vector, mode), most, prior=prior)

    def local(
        self,
        question: str,
        question_vector: QuestionVector = None,
        mode: Mode = "hybrid",
        *,
        most: int | None = None,
        most_entities: int | None = None,
        prior: Scores | None = None,
    ) -> LocalRanking:
        """Rank the text units and entities by following the question through the graph.

        Args:
            question: the question.
            question_vector: its unit vector [d] by the embedder of the tables; None: lexical only.
            mode: which similarity of texts to the question is used.
            most: how many units and how many entities to return; None: all.
            most_entities: how many entities, if different.
            prior: weight of each of :attr:`unit_ids`, as for :meth:`units`; hops begin at units of high
                weight.
        """
        if self._entities.is_empty() or self._units.is_empty():
            units_alone = self.units(question, question_vector, mode, most=most, prior=prior)
            return LocalRanking(units_alone, Ranking((), ()))
        prepared = self._prepare_question(question, question_vector, mode)
        links = self._linker.link(question)
        following = self._follow(prepared, links, prior, SHIPPED)
        followed, _ = following.ranked(_STEPS)
        likeness = prepared.likeness.combined
        if asks_for_statements(question):
            likeness = with_neighbours(likeness, self._documents)
        order, scores = fuse_rankings(followed, likeness, self.length, prior)
        ids = self._entity_ids
        names = self._name_scores(following, links)[: len(ids)]
        by_text = _share(self._entity_ranker.likeness(prepared.stems, question_vector, mode).combined)
        unit_ids = map(self._unit_ranker.ids.__getitem__, order[:most].tolist())
        return LocalRanking(
            units=Ranking(tuple(unit_ids), tuple(scores[:most].tolist())),
            entities=rank_by_score(
                ids, names + _ENTITY_TEXT * by_text, most if most_entities is None else most_entities
            ),
            linked=self._describe_links(links),
        )

    def spread(
        self,
        question: str,
        question_vector: QuestionVector = None,
        mode: Mode = "hybrid",
        *,
        most: int | None = None,
        prior: Scores | None = None,
    ) -> Ranking:
        """Rank the text units by :class:`.PassageRank`; the arguments are those of :meth:`units`."""
        if self._entities.is_empty() or self._units.is_empty():
            return self.units(question, question_vector, mode, most=most, prior=prior)
        ranker, names = self._unit_ranker, np.zeros(len(self._graph.names))
        likeness = ranker.likeness(ranker.lexical.stems(question), question_vector, mode).combined
        for link in self._linker.link(question).found:
            names[link.place] = max(names[link.place], link.weight)
        units, _ = self._passage_rank.scores(names, likeness)
        return rank_by_score(ranker.ids, units, most, prior=prior)

    def entities_named(self, phrase: str) -> NamedEntities:
        """Return the entities that a phrase names, by position in corpus order."""
        titles = self._entities["title"].to_list()
        return entities_named(phrase, self._linker, titles)

    def entities_at(self, places: Sequence[int]) -> list[tuple[str, str]]:
        """Return id and title of entities by position in corpus order."""
        return [self._entities.select("entity_id", "title").row(place) for place in places]

    def following(
        self,
        question: str,
        question_vector: QuestionVector = None,
        mode: Mode = "hybrid",
        links: EntityLinks | None = None,
        prior: Scores | None = None,
        weights: Scores = SHIPPED,
    ) -> Following:
        """Return the multi-hop search of a question before any unit is taken.

        Args:
            question: the question.
            question_vector: its unit vector [d] by the embedder of the tables; None: lexical only.
            mode: which similarity of texts to the question is used.
            links: its linked names, if known.
            prior: weight of each of :attr:`unit_ids`, as for :meth:`units`.
            weights: of the features of a unit.
        """
        prepared = self._prepare_question(question, question_vector, mode)
        return self._follow(prepared, links or self._linker.link(question), prior, weights)

    def _prepare_question(self, question: str, question_vector: QuestionVector, mode: Mode) -> _Asked:
        ranker = self._unit_ranker
        stems, *parts = ranker.lexical.stems_of([question, *self._decomposer.parts(question)])
        return _Asked(stems, parts, ranker.likeness(stems, question_vector, mode))

    def _follow(
        self, prepared: _Asked, links: EntityLinks, prior: Scores | None, weights: Scores
    ) -> Following:
        parsed = read_question(
            links,
            self._unit_ranker.lexical.terms_of(prepared.stems),
            prepared.likeness,
            self._graph,
            self._name_reach,
            list(map(frozenset, prepared.parts)),
        )
        return Following(parsed, self._passages, weights, prior)

    def _name_scores(self, following: Following, links: EntityLinks) -> Scores:
        """Return how much the question is about each name, in the question or in the units taken."""
        graph = self._graph
        names = np.zeros(len(graph.names))
        for unit, strength in zip(following.taken, following.strengths, strict=True):
            within = np.array(list(self._passages.names(unit)), dtype=np.int64)
            _, related, _ = graph.related.of_all(graph.subjects.of(unit))
            boost = (1 + np.isin(within, related)) / 2
            np.maximum.at(names, within, _IN_A_UNIT * strength * graph.rarity[within] * boost)
        for link in links.found:
            names[link.place] = max(names[link.place], link.sure)
        return names

    def linked_names(self, question: str) -> tuple[LinkedName, ...]:
        """Return the linked names of a question in order.

        Args:
            question: the question. Without entities or text units nothing is linked.
        """
        if self._entities.is_empty() or self._units.is_empty():
            return ()
        return self._describe_links(self._linker.link(question))

    def _describe_links(self, links: EntityLinks) -> tuple[LinkedName, ...]:
        text = links.words.text
        names = [
            LinkedName(
                text(unlinked.start, unlinked.end),
                None,
                None,
                "not linked",
                0.0,
                0.0,
                unlinked.reason,
                unlinked.start,
            )
            for unlinked in links.unlinked
        ]
        counts: Counter[tuple[int, int]] = Counter()
        for link in sorted(links.found, key=lambda link: (-link.sure, -link.weight, link.place)):
            counts[link.start, link.end] += 1
            if link.named or counts[link.start, link.end] <= _MOST_TOLD:
                names.append(self._describe_link(link, text(link.start, link.end)))
        return tuple(sorted(names, key=lambda name: name.start))

    def _describe_link(self, link: EntityLink, text: str) -> LinkedName:
        ids, name = self._entity_ids, self._graph.names[link.place]
        entity_id = ids[link.place] if link.place < len(ids) else None
        sure, weight = round(link.sure, 3), round(link.weight, 3)
        return LinkedName(text, name, entity_id, link.how, sure, weight, link.reason, link.start)

    @cached_property
    def _entity_ids(self) -> list[str]:
        return [] if self._entities.is_empty() else self._entities["entity_id"].to_list()

    @cached_property
    def _texts(self) -> Sequence[str]:
        return RowTexts(self._units["title"], self._units["text"], _with_title)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {unit_id: position for position, unit_id in enumerate(self.unit_ids)}

    @cached_property
    def _unit_ranker(self) -> TextRanker:
        ids = self._units["text_unit_id"]
        vectors = rows_of(ids, self._unit_vectors, "text_unit_id")
        return TextRanker(ids.to_list(), self._texts, vectors, self._shelf, "units")

    @cached_property
    def _entity_ranker(self) -> TextRanker:
        ids = self._entities["entity_id"]
        texts = RowTexts(self._entities["title"], self._entities["description"], "{}: {}".format)
        vectors = rows_of(ids, self._entity_vectors, "entity_id")
        return TextRanker(ids.to_list(), texts, vectors, self._shelf, "entities")

    @cached_property
    def rarity(self) -> WordRarity:
        """Rarity of words among the text units."""
        return load_or_build(self._shelf, "rarity", lambda: WordRarity.of_texts(self._texts), WordRarity)

    @cached_property
    def _documents(self) -> NDArray[np.int64]:
        """A number for the document of each unit."""
        return self._units["document_id"].rank("dense").cast(pl.Int64).to_numpy()

    @cached_property
    def length(self) -> float:
        """How small units are within their documents, 0 (the whole) to 1, on average."""
        return 1 - self._units["document_id"].n_unique() / max(len(self._units), 1)

    @cached_property
    def _graph(self) -> NameGraph:
        rarity = self.rarity
        return load_or_build(
            self._shelf,
            "names",
            lambda: name_graph(self._units, self._entities, self._relationships, rarity),
            NameGraph,
        )

    @cached_property
    def _linker(self) -> NameLinker:
        return NameLinker(self._graph.index, self.rarity)

    @cached_property
    def _name_reach(self) -> NameReach:
        return NameReach(self._graph, self._units["text"])

    @cached_property
    def _passage_rank(self) -> PassageRank:
        return PassageRank(self._graph)

    @cached_property
    def _passages(self) -> Passages:
        vectors = self._unit_ranker.vectors
        return Passages(self._texts, self._graph, self._linker, self._name_reach, vectors)


def _in_order(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    return frame if frame.is_empty() else frame.select(columns).sort("human_readable_id", columns[0])


def _with_title(title: str, text: str) -> str:
    return text if not title or text.startswith(title) else f"{title}\n{text}"


def _share(scores: Scores) -> Scores:
    """Scale scores to [0, 1]: 1 for the best, 0 for the average and below."""
    above = np.clip(z_scores(scores), 0, None)
    best = float(above.max(initial=0.0))
    shares: Scores = above / best if best > 0 else above
    return shares

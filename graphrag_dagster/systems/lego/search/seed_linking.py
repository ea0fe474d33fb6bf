"""Links a question to the nodes that paths start from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_values import cosines
from graphrag_dagster.kernel.graph.adjacency_arrays import Longs, PathStore
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.kernel.retrieval.entity_linking import EntityLink, NameLinker
from graphrag_dagster.kernel.retrieval.lexical_index import WordRarity
from graphrag_dagster.kernel.retrieval.name_index import NameIndex
from graphrag_dagster.kernel.text.english_words import STOP_WORDS

#: By what seeds were found.
LinkedBy = Literal["label", "normalised", "words", "vectors", "none"]
#: Why there is nothing where a question has no seed.
NO_SEED = "no_seed"
#: Labels that a question is linked to by vectors at most, and the cosine that each has at least.
_NEAREST, _LEAST = 3, 0.6


@dataclass(frozen=True, slots=True)
class Linked:
    """Seeds of a question.

    Attributes:
        seeds: nodes of the store, without repeats, the surest first.
        by: how they were found.
        unknown: entities that were given, and that the graph does not have.
    """

    seeds: tuple[int, ...]
    by: LinkedBy
    unknown: tuple[str, ...] = ()


class SeedLinker:
    """Finds the nodes that a question names.

    Nodes that are called alike are all seeds: nothing in a name tells which of them is meant. Of different
    labels that are the same but for case, accents and punctuation, the one with the best linked node counts.

    Args:
        store: the graph.
        embedder: compares questions that name no node with all labels; None: they have no seed.
    """

    def __init__(self, store: PathStore, embedder: CorpusEmbedder | None = None) -> None:
        self._store = store
        self._embedder = embedder

    def link(self, question: str, entities: Sequence[str] = ()) -> Linked:
        """Return the seeds of a question.

        Those that are given with it count; where the graph has none of them, the names that stand in the
        question do, the longest first; where there is none either, up to three labels that are like the
        question by vectors.

        Args:
            question: its text.
            entities: labels that are given with it.
        """
        given = [(entity, *self._given_seeds(entity)) for entity in entities]
        unknown = tuple(dict.fromkeys(entity for entity, labels, _ in given if not labels))
        if seeds := self._nodes(label for _, labels, _ in given for label in labels):
            exact = all(by == "label" for _, labels, by in given if labels)
            return Linked(seeds, "label" if exact else "normalised", unknown)
        if seeds := self._nodes(self._exact_seeds(question)):
            return Linked(seeds, "words", unknown)
        if seeds := self._nodes(self._similar_seeds(question)):
            return Linked(seeds, "vectors", unknown)
        return Linked((), "none", unknown)

    def _given_seeds(self, entity: str) -> tuple[Sequence[int], LinkedBy]:
        place = self._places.get(entity)
        if place is None:
            place = self._places.get(entity.strip())
        if place is not None:
            return [place], "label"
        return self._best_linked(self._names.spelled(entity)), "normalised"

    def _exact_seeds(self, question: str) -> Iterable[int]:
        found = [
            link for link in self._names.exact_links(question) if link.named and not self._is_plain_word(link)
        ]
        spans = [list(links) for _, links in groupby(found, key=lambda link: link.start)]
        chosen = [
            (links[0], label) for links in spans for label in self._best_linked([one.place for one in links])
        ]

        def surest(one: tuple[EntityLink, int]) -> tuple[int, int, str]:
            link, label = one
            return link.start - link.end, -self._degree(label), self._store.labels[label]

        return [label for _, label in sorted(chosen, key=surest)]

    def _is_plain_word(self, link: EntityLink) -> bool:
        """Whether a name is one of the words that every question has, such as a tag `who`."""
        return link.end - link.start == 1 and self._store.labels[link.place].casefold() in STOP_WORDS

    def _similar_seeds(self, question: str) -> Iterable[int]:
        if self._embedder is None or not self._store.nodes or not question.strip():
            return []
        asked = self._embedder.embed_queries([question])[0]
        found = cosines(self._vectors, asked)
        first = np.argsort(-found, kind="stable")[:_NEAREST]
        return [int(place) for place in first if found[place] >= _LEAST]

    def _best_linked(self, labels: Sequence[int]) -> Sequence[int]:
        """The label of the best linked node, of equals the first in order."""
        return [min(labels, key=lambda label: (-self._degree(label), label))] if labels else []

    def _degree(self, label: int) -> int:
        return int(self._degrees[self._nodes_of(label)].max())

    def _nodes(self, labels: Iterable[int]) -> tuple[int, ...]:
        """All nodes of labels, the better linked of a label first."""
        found: dict[int, None] = {}
        for label in labels:
            nodes = self._nodes_of(label)
            order = np.lexsort((nodes, -self._degrees[nodes]))
            found.update(dict.fromkeys(nodes[order].tolist()))
        return tuple(found)

    def _nodes_of(self, label: int) -> Longs:
        order, starts = self._by_label
        return order[starts[label] : starts[label + 1]]

    @cached_property
    def _by_label(self) -> tuple[Longs, Longs]:
        order = np.argsort(self._store.label_of, kind="stable").astype(np.int64)
        starts = np.zeros(len(self._store.labels) + 1, dtype=np.int64)
        np.cumsum(np.bincount(self._store.label_of, minlength=len(self._store.labels)), out=starts[1:])
        return order, starts

    @cached_property
    def _degrees(self) -> Longs:
        return self._store.degrees("both")

    @cached_property
    def _places(self) -> dict[str, int]:
        return {label: place for place, label in enumerate(self._store.labels)}

    @cached_property
    def _names(self) -> NameLinker:
        return NameLinker(NameIndex.of(list(self._store.labels)), WordRarity.of_texts(()))

    @cached_property
    def _vectors(self) -> NDArray[np.float32]:
        if self._embedder is None:
            return np.zeros((len(self._store.labels), 0), dtype=np.float32)
        return self._embedder.embed(list(self._store.labels))

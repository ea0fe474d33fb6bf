"""Names of a document and of a corpus: the scopes in which they are compared."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from types import MappingProxyType
from typing import Final

from graphrag_dagster.kernel.lineage.resolved_names import DISAMBIGUATION_SUFFIX
from graphrag_dagster.kernel.text.text_similarity import normalise
from graphrag_dagster.systems.graphrag.resolution.human_decisions import Decisions
from graphrag_dagster.systems.graphrag.resolution.name_features import (
    Definition,
    NameScope,
    Pair,
    by_pair,
    definitions,
)
from graphrag_dagster.systems.graphrag.resolution.namesakes import Bearer, Name, split_namesakes

#: A document, and the number of a sentence in it.
Place = tuple[str, int]
#: Most places of a name that are told.
_TOLD: Final = 8
_ITSELF: Final[Mapping[Name, set[str]]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class NameMention:
    """A name as it stands in a sentence of a document; sentences are numbered within the document."""

    document: str
    sentence: int
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class ScopeNames:
    """The names of a scope, in order.

    Attributes:
        names: each with its type.
        counts: how many mentions each has.
        scope: the same names, to be compared.
        defined: pairs of names that the text defines as one.
        stands_for: the names that one of a corpus stands for; none where no person said anything of any.
    """

    names: list[Name]
    counts: list[int]
    scope: NameScope
    defined: dict[tuple[str, str], Definition]
    stands_for: Mapping[Name, set[str]]

    @property
    def document(self) -> str | None:
        """The document; None for a corpus."""
        return self.scope.document

    def known(self, place: int) -> set[str]:
        """The names that one stands for, itself among them."""
        name = self.names[place]
        return self.stands_for.get(name) or {name[0]}


def of_document(
    document: str, mentions: Sequence[NameMention], sentences: Mapping[tuple[str, int], str]
) -> ScopeNames:
    """Return the names of a document."""
    places: dict[Name, list[int]] = defaultdict(list)
    in_sentence: dict[int, set[str]] = defaultdict(set)
    for one in mentions:
        places[one.name, one.type].append(one.sentence)
        in_sentence[one.sentence].add(one.name)
    names = sorted(places)
    defined = definitions(
        (sentences.get((document, number), ""), found) for number, found in sorted(in_sentence.items())
    )
    scope = _scope(names, [tuple(set(places[name])) for name in names], defined, document)
    return ScopeNames(names, [len(places[name]) for name in names], scope, defined, _ITSELF)


def places_in_document(found: ScopeNames, wanted: frozenset[Name]) -> dict[Name, tuple[Place, ...]]:
    """Return the first places of names in their document."""
    where = zip(found.names, found.scope.sentences, strict=True)
    document = found.document or ""
    return {name: _first((document, number) for number in of) for name, of in where if name in wanted}


def places_in_documents(
    documents: Mapping[str, ScopeNames], meant: Mapping[tuple[str, str, str], Name], wanted: frozenset[Name]
) -> dict[Name, tuple[Place, ...]]:
    """Return the first places of names of the corpus, those in different documents first."""
    where: dict[Name, list[Place]] = defaultdict(list)
    for document, found in documents.items():
        for name, numbers in zip(found.names, found.scope.sentences, strict=True):
            if (known := meant[document, *name]) in wanted:
                where[known] += [(document, number) for number in numbers]
    return {name: _first(places) for name, places in where.items()}


class Corpus:
    """The full names of all documents, as they are found; :meth:`names` returns them together."""

    def __init__(self, said: Decisions, titles: Mapping[str, str]) -> None:
        self._links = said.links()
        self._said = bool(said.words)
        self._titles = titles
        self._counts: dict[tuple[str, Name], int] = defaultdict(int)
        self._known: dict[Name, set[str]] = defaultdict(set)
        self._known_in: dict[tuple[str, Name], set[str]] = defaultdict(set)
        self._defined: list[dict[tuple[str, str], Definition]] = []

    def add(self, document: str, local: ScopeNames, heads: Sequence[Name]) -> list[Name]:
        """Add a document; ``heads`` says for each of its names the one that stands for it.

        Returns the same, but for names that a person says are different from one that the head stands for in
        another document: they stand for themselves.
        """
        added = list(map(self._allowed, local.names, heads))
        for name, head, count in zip(local.names, added, local.counts, strict=True):
            self._counts[document, head] += count
            if self._said:
                self._known[head].add(name[0])
                self._known_in[document, head].add(name[0])
        self._defined.append(local.defined)
        return added

    def _allowed(self, name: Name, head: Name) -> Name:
        forbidden = self._links.different and any(
            self._links.are_different(name[0], other) for other in (*self._known.get(head, ()), head[0])
        )
        return name if forbidden else head

    def names(self) -> tuple[ScopeNames, dict[tuple[str, Name], Name], list[set[Name]]]:
        """Return what was added, the name of each document's heads among them, and which are namesakes."""
        bearers = (Bearer(document, head, count) for (document, head), count in self._counts.items())
        known_as, namesakes = split_namesakes(bearers, self._titles, self._together())
        counts: dict[Name, int] = defaultdict(int)
        known: dict[Name, set[str]] = defaultdict(set)
        for (document, head), name in known_as.items():
            counts[name] += self._counts[document, head]
            if self._said:
                known[name] |= self._known_in[document, head] | {name[0]}
        names = sorted(counts)
        defined = by_pair(self._defined)
        found = ScopeNames(
            names,
            [counts[name] for name in names],
            _scope(names, [()] * len(names), defined, None),
            defined,
            known,
        )
        return found, known_as, namesakes

    def _together(self) -> Callable[[str], bool]:
        """Tells whether a person says that a name is one with another that there is."""
        links = self._links
        if not links.roots:
            return links.is_decided
        present = {normalise(name) for known in self._known.values() for name in known}
        there = {
            name
            for name in links.roots
            if not present.isdisjoint((name, re.sub(DISAMBIGUATION_SUFFIX, "", name)))
        }
        times = Counter(map(links.root, there))
        return lambda name: links.is_decided(name) and times[links.root(name)] > 1


def _first(places: Iterable[Place]) -> tuple[Place, ...]:
    """Return the first places, the very first of each document before all others; none outside texts."""
    by_document: dict[str, list[int]] = defaultdict(list)
    for document, number in places:
        if number >= 0:
            by_document[document].append(number)
    ranked = (
        (rank, document, number)
        for document, numbers in by_document.items()
        for rank, number in enumerate(nsmallest(_TOLD, numbers))
    )
    return tuple((document, number) for _, document, number in nsmallest(_TOLD, ranked))


def _scope(
    names: Sequence[Name],
    places: Sequence[tuple[int, ...]],
    defined: Mapping[tuple[str, str], Definition],
    document: str | None,
) -> NameScope:
    by_name: dict[str, list[int]] = defaultdict(list)
    for place, (name, _) in enumerate(names if defined else ()):
        by_name[name].append(place)
    positions: dict[Pair, Definition] = {
        (min(first, second), max(first, second)): how
        for (one, other), how in sorted(defined.items())
        for first in by_name.get(one, ())
        for second in by_name.get(other, ())
    }
    return NameScope(names, places, positions, document)

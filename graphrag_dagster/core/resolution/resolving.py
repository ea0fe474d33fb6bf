"""Entity resolution: from mentions to candidates, decisions and the entity of every name.

First the names of each document, where short forms find their full ones; then the full names of all
documents. What was found can be read and undone: nothing that goes in is changed.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal

import polars as pl

from graphrag_dagster.core.resolution.clusters import clusters
from graphrag_dagster.core.resolution.definitions import Definition, by_pair, definitions
from graphrag_dagster.core.resolution.features import Pair, Scope
from graphrag_dagster.core.resolution.parsing import kind_of, parsed
from graphrag_dagster.core.resolution.people import Decisions, Links
from graphrag_dagster.core.resolution.scoring import ScoredPair, scored
from graphrag_dagster.core.resolution.weights import ASK

#: A document, a name as written there, and its type.
Spelling = tuple[str, str, str]
#: A name and its type.
Name = tuple[str, str]
Verdict = Literal["merge", "ask", "apart"]

_Row = tuple[object, ...]
_CANDIDATES: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    **dict.fromkeys(("document", "one", "one_type", "other", "other_type", "rule"), pl.String),
    "score": pl.Float64,
    "band": pl.String,
    "veto": pl.String,
    "features": pl.List(pl.Struct({"feature": pl.String, "value": pl.Float64})),
}


@dataclass(frozen=True, slots=True)
class Mention:
    """A name as it stands in a sentence of a document; sentences are numbered within the document."""

    document: str
    sentence: int
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided of two spellings, and why; ``document`` is None between documents.

    ``by`` is ``rule`` or ``person``; a person's word stands above every rule.
    """

    document: str | None
    one: Name
    other: Name
    verdict: Verdict
    by: Literal["rule", "person"]
    reason: str
    score: float


@dataclass(frozen=True, slots=True)
class Resolution:
    """What came of resolution.

    Attributes:
        candidates: every pair that was compared: ``document`` (null between documents), both names and types,
            ``rule``, ``score``, ``band``, ``veto`` and ``features``, a list of names and values.
        decisions: what was decided of pairs, but for those that nothing spoke for.
        entities: for each spelling of a document the title and type of its entity.
        left_out: pairs of large blocks that were not compared.
    """

    candidates: pl.DataFrame
    decisions: tuple[Decision, ...]
    entities: dict[Spelling, Name]
    left_out: int


def resolve(
    mentions: Iterable[Mention], sentences: Mapping[tuple[str, int], str], people: Decisions | None = None
) -> Resolution:
    """Return which names are one entity, the same for the same mentions in whatever order.

    In a document a short form, an acronym or a variant goes to the one full name that fits. Between documents
    only full names are compared: equal names of compatible types are one, variants where more speaks for it.

    Args:
        mentions: of any number of documents.
        sentences: text by document and number; where one is missing, nothing in it defines a name.
        people: what people decided.

    Raises:
        SettingsError: decisions of people contradict each other.
    """
    links = (people or Decisions()).links()
    rows: list[_Row] = []
    decisions: list[Decision] = []
    heads: dict[Spelling, Name] = {}
    counts: Counter[Name] = Counter()
    places: dict[Name, set[tuple[str, int]]] = defaultdict(set)
    known: dict[Name, set[str]] = defaultdict(set)
    defined: list[dict[tuple[str, str], Definition]] = []
    left_out = 0
    ordered = sorted(mentions, key=lambda one: (one.document, one.sentence, one.name, one.type))
    for document, found in groupby(ordered, key=lambda one: one.document):
        local = _Local.of(document, list(found), sentences)
        done = _resolved(local.scope, local.names, [{name} for name, _ in local.names], links)
        titles = _titles(done.roots, local.names, local.counts, done.pairs)
        for place, name in enumerate(local.names):
            head = titles[done.roots[place]]
            heads[document, *name] = head
            counts[head] += local.counts[place]
            known[head].add(name[0])
            places[head].update((document, number) for number in local.scope.sentences[place])
        rows += _rows(document, local.names, done.pairs)
        decisions += _decisions(document, local.names, done, links)
        defined.append(local.defined)
        left_out += done.left_out
    names = sorted(places)
    numbers = {place: at for at, place in enumerate(sorted(set().union(*places.values())))}
    scope = Scope(
        [parsed(name, kind_of(type_name)) for name, type_name in names],
        [frozenset(numbers[place] for place in places[name]) for name in names],
        _positions(names, by_pair(defined)),
        None,
    )
    done = _resolved(scope, names, [known[name] for name in names], links)
    titles = _titles(done.roots, names, [counts[name] for name in names], ())
    entity = {name: titles[root] for name, root in zip(names, done.roots, strict=True)}
    return Resolution(
        pl.DataFrame(rows + _rows(None, names, done.pairs), schema=_CANDIDATES, orient="row"),
        (*decisions, *_decisions(None, names, done, links)),
        {spelling: entity[head] for spelling, head in heads.items()},
        left_out + done.left_out,
    )


@dataclass(frozen=True, slots=True)
class _Local:
    """The names of a document."""

    names: list[Name]
    counts: list[int]
    scope: Scope
    defined: dict[tuple[str, str], Definition]

    @classmethod
    def of(
        cls, document: str, mentions: Sequence[Mention], sentences: Mapping[tuple[str, int], str]
    ) -> "_Local":
        places: dict[Name, list[int]] = defaultdict(list)
        in_sentence: dict[int, set[str]] = defaultdict(set)
        for one in mentions:
            places[one.name, one.type].append(one.sentence)
            in_sentence[one.sentence].add(one.name)
        names = sorted(places)
        defined = definitions(
            (sentences.get((document, number), ""), found) for number, found in sorted(in_sentence.items())
        )
        scope = Scope(
            [parsed(name, kind_of(type_name)) for name, type_name in names],
            [frozenset(places[name]) for name in names],
            _positions(names, defined),
            document,
        )
        return cls(names, [len(places[name]) for name in names], scope, defined)


@dataclass(frozen=True, slots=True)
class _Done:
    pairs: list[ScoredPair]
    left_out: int
    roots: tuple[int, ...]
    ambiguous: dict[int, tuple[int, ...]]


def _resolved(scope: Scope, names: Sequence[Name], known: Sequence[set[str]], links: Links) -> _Done:
    """Return the clusters of a scope; ``known`` has all names that each one stands for."""

    def apart(one: int, other: int) -> bool:
        return bool(links.different) and any(links.apart(a, b) for a in known[one] for b in known[other])

    pairs, left_out = scored(scope)
    found = clusters(len(names), pairs, _groups(known, links, apart), apart)
    return _Done(pairs, left_out, found.roots, found.ambiguous)


def _groups(known: Sequence[set[str]], links: Links, apart: Callable[[int, int], bool]) -> list[int]:
    """Return for each name the smallest that a person says is the same."""
    groups = list(range(len(known)))
    first: dict[str, int] = {}
    for place, names in enumerate(known):
        for root in sorted({links.root(name) for name in names if links.decided(name)}):
            target, own = groups[first.setdefault(root, place)], groups[place]
            members = [[at for at, group in enumerate(groups) if group == one] for one in (target, own)]
            if target != own and not any(apart(one, other) for one in members[0] for other in members[1]):
                for at in members[0] + members[1]:
                    groups[at] = min(target, own)
    return groups


def _titles(
    roots: Sequence[int], names: Sequence[Name], counts: Sequence[int], pairs: Iterable[ScoredPair]
) -> dict[int, Name]:
    """Return for each cluster its commonest name of those that are short for no other of it."""
    short = {
        one.pair[one.short]
        for one in pairs
        if one.short is not None and roots[one.pair[0]] == roots[one.pair[1]] and not one.veto
    }
    best: dict[int, int] = {}
    for place, root in enumerate(roots):
        ranks = [
            (at not in short, counts[at], len(names[at][0]), at) for at in (place, best.get(root, place))
        ]
        best[root] = max(ranks)[-1]
    return {root: names[place] for root, place in best.items()}


def _positions(
    names: Sequence[Name], defined: Mapping[tuple[str, str], Definition]
) -> dict[Pair, Definition]:
    by_name: dict[str, list[int]] = defaultdict(list)
    for place, (name, _) in enumerate(names):
        by_name[name].append(place)
    return {
        (min(first, second), max(first, second)): how
        for (one, other), how in sorted(defined.items())
        for first in by_name.get(one, ())
        for second in by_name.get(other, ())
    }


def _rows(document: str | None, names: Sequence[Name], pairs: Iterable[ScoredPair]) -> list[_Row]:
    return [
        (
            *(document, *names[one.pair[0]], *names[one.pair[1]], one.rule, one.score, one.band),
            *(one.veto, [{"feature": name, "value": value} for name, value in sorted(one.features.items())]),
        )
        for one in pairs
    ]


def _decisions(document: str | None, names: Sequence[Name], done: _Done, links: Links) -> Iterator[Decision]:
    for one in done.pairs:
        first, second = one.pair
        together = done.roots[first] == done.roots[second]
        spoken = (
            links.apart(names[first][0], names[second][0]),
            links.together(names[first][0], names[second][0]),
        )
        if any(spoken):
            verdict: Verdict = "merge" if together else "apart"
            yield Decision(document, names[first], names[second], verdict, "person", "said so", one.score)
        elif together and one.band == "merge":
            yield Decision(document, names[first], names[second], "merge", "rule", one.reason, one.score)
        elif not together and one.band != "apart":
            reason = one.reason if one.band == "ask" else f"{one.reason}; but {_hindrance(one.pair, done)}"
            yield Decision(document, names[first], names[second], "ask", "rule", reason, one.score)
        elif one.veto and one.score >= ASK:
            yield Decision(document, names[first], names[second], "apart", "rule", one.reason, one.score)


def _hindrance(pair: Pair, done: _Done) -> str:
    if any(name in done.ambiguous for name in pair):
        return "several full names fit"
    return "names that were merged with them do not fit each other"

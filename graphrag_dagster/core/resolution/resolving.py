"""Entity resolution: from mentions to candidates, decisions and the entity of every name.

First the names of each document, where short forms find their full ones; then the full names of all
documents. What was found can be read and undone: nothing that goes in is changed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Final, Literal

import polars as pl

from graphrag_dagster.core.resolution.clusters import Clustering, clusters
from graphrag_dagster.core.resolution.people import Decisions, Links
from graphrag_dagster.core.resolution.scopes import Corpus, Mention, Name, Names, of_document
from graphrag_dagster.core.resolution.scoring import ScoredPair, scored
from graphrag_dagster.core.resolution.weights import ASK

#: A document, a name as written there, and its type.
Spelling = tuple[str, str, str]
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
class Decision:
    """What was decided of two spellings, and why; ``document`` is None between documents.

    ``by`` is ``rule`` or ``person``; a person's word stands above every rule, and has no score.
    """

    document: str | None
    one: Name
    other: Name
    verdict: Verdict
    by: Literal["rule", "person"]
    reason: str
    score: float | None


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
    corpus, heads = Corpus(links), dict[Spelling, Name]()
    rows: list[_Row] = []
    decisions: list[Decision] = []
    left_out = 0
    ordered = sorted(mentions, key=lambda one: (one.document, one.sentence, one.name, one.type))
    for document, found in groupby(ordered, key=lambda one: one.document):
        local = of_document(document, list(found), sentences)
        done = _resolved(local, links)
        added = corpus.add(document, local, done.titles)
        heads |= {(document, *name): head for name, head in zip(local.names, added, strict=True)}
        rows += _rows(local, done)
        decisions += _decisions(local, done, links)
        left_out += done.left_out
    full = corpus.names()
    done = _resolved(full, links)
    entity = dict(zip(full.names, done.titles, strict=True))
    return Resolution(
        pl.DataFrame(rows + _rows(full, done), schema=_CANDIDATES, orient="row"),
        (*decisions, *_decisions(full, done, links)),
        {spelling: entity[head] for spelling, head in heads.items()},
        left_out + done.left_out,
    )


@dataclass(frozen=True, slots=True)
class _Done:
    """The clusters of a scope; ``titles`` says for each name the one that stands for its cluster."""

    pairs: list[ScoredPair]
    left_out: int
    clustering: Clustering
    titles: list[Name]


def _resolved(found: Names, links: Links) -> _Done:
    def apart(one: int, other: int) -> bool:
        return bool(links.different) and any(
            links.apart(a, b) for a in found.known[one] for b in found.known[other]
        )

    pairs, left_out = scored(found.scope)
    clustering = clusters(pairs, _groups(found.known, links, apart), apart)
    titles = _titles(clustering.roots, found, pairs)
    return _Done(pairs, left_out, clustering, [titles[root] for root in clustering.roots])


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


def _titles(roots: Sequence[int], found: Names, pairs: Iterable[ScoredPair]) -> dict[int, Name]:
    """Return for each cluster its commonest name of those that are short for no other of it."""
    short = {
        one.pair[one.short]
        for one in pairs
        if one.short is not None and roots[one.pair[0]] == roots[one.pair[1]] and not one.veto
    }
    best: dict[int, int] = {}
    for place, root in enumerate(roots):
        ranks = [
            (at not in short, found.counts[at], len(found.names[at][0]), at)
            for at in (place, best.get(root, place))
        ]
        best[root] = max(ranks)[-1]
    return {root: found.names[place] for root, place in best.items()}


def _rows(found: Names, done: _Done) -> list[_Row]:
    names = found.names
    return [
        (
            *(found.scope.document, *names[one.pair[0]], *names[one.pair[1]], one.rule, one.score, one.band),
            *(one.veto, [{"feature": name, "value": value} for name, value in sorted(one.features.items())]),
        )
        for one in done.pairs
    ]


def _decisions(found: Names, done: _Done, links: Links) -> Iterator[Decision]:
    """Yield what was decided: of names that a person spoke of, then of pairs that were compared."""
    names, document = found.names, found.scope.document
    spoken = [place for place, (name, _) in enumerate(names) if links.spoken_of(name)]
    said: set[tuple[int, int]] = set()
    for first, second in combinations(spoken, 2):
        one, other = names[first], names[second]
        if links.apart(one[0], other[0]) or links.together(one[0], other[0]):
            said.add((first, second))
            yield Decision(document, one, other, *_spoken(done, first, second, links.apart(one[0], other[0])))
    for pair in done.pairs:
        if pair.pair not in said:
            verdict, reason = _verdict(pair, done)
            if reason:
                one, other = (names[place] for place in pair.pair)
                yield Decision(document, one, other, verdict, "rule", reason, pair.score)


def _spoken(
    done: _Done, first: int, second: int, apart: bool
) -> tuple[Verdict, Literal["person"], str, None]:
    if apart or done.clustering.roots[first] == done.clustering.roots[second]:
        return "apart" if apart else "merge", "person", "a person said so", None
    reason = "a person said that they are one, and that names which they stand for in documents are not"
    return "ask", "person", reason, None


def _verdict(pair: ScoredPair, done: _Done) -> tuple[Verdict, str]:
    """Return what came of a pair and why; no reason where nothing spoke for the pair, or others joined it."""
    first, second = (done.clustering.roots[place] for place in pair.pair)
    if first == second:
        return "merge", pair.reason if pair.band == "merge" else ""
    if pair.band == "apart":
        return "apart", pair.reason if pair.veto and pair.score >= ASK else ""
    if pair.band == "ask":
        return "ask", pair.reason
    several = any(place in done.clustering.ambiguous for place in pair.pair)
    hindrance = "several full names fit" if several else "other names of theirs do not fit each other"
    return "ask", f"{pair.reason}; but {hindrance}"

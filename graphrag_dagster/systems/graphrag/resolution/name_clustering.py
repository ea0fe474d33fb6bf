"""Clusters of names by complete linkage, and the decision on each pair with its reason."""

import heapq
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.tasks.name_judging_ports import Ruling
from graphrag_dagster.kernel.text.text_similarity import normalise
from graphrag_dagster.systems.graphrag.resolution.feature_weights import ASK
from graphrag_dagster.systems.graphrag.resolution.human_decisions import DecisionLinks, Decisions, NameRuling
from graphrag_dagster.systems.graphrag.resolution.match_probability import ScoredPair
from graphrag_dagster.systems.graphrag.resolution.name_features import Pair
from graphrag_dagster.systems.graphrag.resolution.name_scopes import ScopeNames
from graphrag_dagster.systems.graphrag.resolution.namesakes import Name


@dataclass(frozen=True, slots=True)
class NameClustering:
    """Clusters of names.

    Attributes:
        roots: for each name the smallest name of its cluster.
        ambiguous: short forms that several clusters fit, with the smallest names of these; they stay alone.
    """

    roots: tuple[int, ...]
    ambiguous: dict[int, tuple[int, ...]]


class _Clusters:
    """Clusters that grow; ``groups`` says for each name what a person says it is one with."""

    def __init__(self, groups: Sequence[int], apart: Callable[[int, int], bool]) -> None:
        self.members: dict[int, list[int]] = defaultdict(list)
        self._apart = apart
        for name, group in enumerate(groups):
            self.members[group].append(name)
        self.root_of = list(groups)

    def must_stay_apart(self, one: int, other: int) -> bool:
        """Whether a person keeps two clusters apart."""
        return any(self._apart(a, b) for a in self.members[one] for b in self.members[other])

    def join(self, one: int, other: int) -> None:
        """Make two clusters one, under the smaller root."""
        first, second = sorted((one, other))
        for name in self.members[second]:
            self.root_of[name] = first
        self.members[first] += self.members.pop(second)


def clusters(
    pairs: Sequence[ScoredPair],
    vetoed: NDArray[np.int64],
    groups: Sequence[int],
    apart: Callable[[int, int], bool],
) -> NameClustering:
    """Return the clusters of names.

    Names that are the same but for how they are written come first. Names that are short for none that they
    could be merged with are joined by complete linkage: the likeliest pair first, and only where each name of
    one cluster may be merged with each of the other; names that a person says are one count as one. Then each
    short form, the fullest first, goes to the one cluster that has a name it may be merged with and none it
    cannot be; where several have, it goes to the one whose name is a part of the others' ("Ada Rusk",
    "Ada Rusk Jones"), else stays as it is.

    Args:
        pairs: that something speaks for; others are not merged.
        vetoed: others with a veto.
        groups: for each name the smallest name that a person says is the same, or the name itself.
        apart: whether a person says that two names are different.
    """
    shorts = _shorts(pairs)
    state = _Clusters(groups, apart)
    against = [one.pair for one in pairs if one.veto] + _vetoes_that_count(pairs, vetoed, groups)
    same = [one for one in pairs if '"same_key"' in one.features]
    _link(state, _linkage(state.root_of, same, against, ()))
    _link(state, _linkage(state.root_of, pairs, against, shorts))
    merging, refusing = _partners((one.pair for one in pairs if one.band == "merge"), against)
    parts = {
        (one.pair[one.short], one.pair[1 - one.short])
        for one in pairs
        if one.short is not None and not one.veto
    }
    ambiguous: dict[int, tuple[int, ...]] = {}
    for name in sorted(shorts, key=lambda name: (shorts[name], name)):
        fitting = _fitting_clusters(state, merging, refusing, shorts, name)
        if innermost := _innermost(state, fitting, parts):
            state.join(state.root_of[name], innermost[0])
        elif fitting:
            ambiguous[name] = fitting
    smallest = {root: min(members) for root, members in state.members.items()}
    return NameClustering(tuple(smallest[root] for root in state.root_of), ambiguous)


def _vetoes_that_count(
    pairs: Iterable[ScoredPair], vetoed: NDArray[np.int64], groups: Sequence[int]
) -> list[Pair]:
    """Return the vetoes between names that both may come to be one with others."""
    if not len(vetoed):
        return []
    joined = np.bincount(groups, minlength=len(groups))[groups] > 1
    joined[[place for one in pairs if one.band != "apart" for place in one.pair]] = True
    return [(one, other) for one, other in vetoed[joined[vetoed].all(axis=1)].tolist()]


def _shorts(pairs: Iterable[ScoredPair]) -> dict[int, int]:
    """Return the names that are short for another they may be merged with, and how many such chains deep."""
    fuller: dict[int, set[int]] = defaultdict(set)
    for one in pairs:
        if one.short is not None and one.band == "merge":
            fuller[one.pair[one.short]].add(one.pair[1 - one.short])
    depths: dict[int, int] = {}

    def depth(name: int) -> int:
        # A name is short for none that has not more words, so that chains end.
        if name not in depths:
            depths[name] = 1 + max(map(depth, fuller.get(name, ())), default=-1)
        return depths[name]

    return {name: depth(name) for name in sorted(fuller)}


def _partners(*kinds: Iterable[Pair]) -> Iterator[dict[int, list[int]]]:
    """Yield for each name its partners in pairs, for each kind of pairs."""
    for pairs in kinds:
        found: dict[int, list[int]] = defaultdict(list)
        for one, other in pairs:
            found[one].append(other)
            found[other].append(one)
        yield found


def _linkage(
    roots: Sequence[int], pairs: Iterable[ScoredPair], against: Iterable[Pair], shorts: Container[int]
) -> dict[int, dict[int, float]]:
    """Return which clusters of full names may be joined, and how likely they are one.

    A name that a person put into a group is compared through the group: the likeliest pair counts, unless a
    veto speaks against another.
    """
    linkage: dict[int, dict[int, float]] = defaultdict(dict)
    for one in pairs:
        if one.band != "merge" or any(name in shorts for name in one.pair):
            continue
        first, second = (roots[name] for name in one.pair)
        if first != second:
            linkage[first][second] = linkage[second][first] = max(linkage[first].get(second, 0.0), one.score)
    for pair in against:
        first, second = (roots[name] for name in pair)
        if first in linkage and second in linkage and not any(name in shorts for name in pair):
            linkage[first].pop(second, None)
            linkage[second].pop(first, None)
    return linkage


def _link(state: _Clusters, linkage: dict[int, dict[int, float]]) -> None:
    """Join clusters by complete linkage, the likeliest first; of equals those with the smaller names."""
    queue = [
        (-score, one, other)
        for one, others in linkage.items()
        for other, score in others.items()
        if one < other
    ]
    heapq.heapify(queue)
    while queue:
        score, one, other = heapq.heappop(queue)
        if linkage.get(one, {}).get(other) != -score:
            continue
        if state.must_stay_apart(one, other):
            del linkage[one][other], linkage[other][one]
            continue
        state.join(one, other)
        near, far = linkage.pop(one), linkage.pop(other)
        for third in (near.keys() | far.keys()) - {one, other}:
            linkage[third].pop(one, None)
            linkage[third].pop(other, None)
            if third in near and third in far:
                lower = min(near[third], far[third])
                linkage[one][third] = linkage[third][one] = lower
                heapq.heappush(queue, (-lower, min(one, third), max(one, third)))


def _fitting_clusters(
    state: _Clusters,
    merging: Mapping[int, list[int]],
    vetoed: Mapping[int, list[int]],
    shorts: Container[int],
    name: int,
) -> tuple[int, ...]:
    """Return the clusters that a short form and its like may go to; none where they are in one already."""
    own = state.root_of[name]
    members = state.members[own]
    if any(member not in shorts for member in members):
        return ()
    refused = {state.root_of[other] for member in members for other in vetoed.get(member, ())}
    roots = {state.root_of[other] for other in merging.get(name, ())} - refused - {own}
    return tuple(root for root in sorted(roots) if not state.must_stay_apart(own, root))


def _innermost(
    state: _Clusters, roots: tuple[int, ...], parts: Container[tuple[int, int]]
) -> tuple[int, ...]:
    """Return the cluster that has a name which is a part of a name of each other; nothing where none has."""

    def inside(one: int, other: int) -> bool:
        return any((a, b) in parts for a in state.members[one] for b in state.members[other])

    return tuple(one for one in roots if all(inside(one, other) for other in roots if other != one))[:1]


Verdict = Literal["merge", "ask", "apart"]


@dataclass(frozen=True, slots=True)
class ComparedNames:
    """The names of a scope, and what came of them.

    Attributes:
        names: of a document, or the full names of all.
        pairs: see :class:`.name_pairs.ComparedPairs`, as the next three.
        clustering: the clusters of the names.
        titles: for each name the one that stands for its cluster.
        links: what people said of the names.
    """

    names: ScopeNames
    pairs: list[ScoredPair]
    vetoed: NDArray[np.int64]
    refused: pl.DataFrame
    left_out: int
    clustering: NameClustering
    titles: list[Name]
    links: DecisionLinks


@dataclass(frozen=True, slots=True)
class NameDecision:
    """What was decided of two names, and why; ``document`` is None between documents.

    ``by`` is ``rule``, ``model`` or ``person``; a person's word, ``word`` where it was said of just these
    two, stands above every rule and model, and has no score. ``ruling`` is what a model said, where it was
    asked.
    """

    document: str | None
    one: Name
    other: Name
    verdict: Verdict
    by: Literal["rule", "model", "person"]
    reason: str
    score: float | None
    word: NameRuling | None = None
    ruling: Ruling | None = None


def decisions_of(done: ComparedNames, people: Decisions) -> Iterator[NameDecision]:
    """Yield what was decided: of names that a person spoke of, then of pairs that were compared."""
    names, document = done.names.names, done.names.document
    links = done.links
    said_any = links.roots or links.different
    places = range(len(names) if said_any else 0)
    spoken = [place for place in places if any(map(links.is_mentioned, done.names.known(place)))]
    said: set[tuple[int, int]] = set()
    for first, second in combinations(spoken, 2):
        if of_these := _human_decision_on(done, first, second):
            said.add((first, second))
            verdict, reason = _short_form_verdict(done, first, second, apart=links.are_different(*of_these))
            word = people.on(*of_these, document)
            yield NameDecision(document, names[first], names[second], verdict, "person", reason, None, word)
    for pair in done.pairs:
        if pair.pair not in said:
            verdict, reason = verdict_on(pair, done)
            if reason:
                one, other = (names[place] for place in pair.pair)
                ruled = pair.ruling is not None and not pair.ruling.problem
                by: Literal["model", "rule"] = "model" if ruled else "rule"
                yield NameDecision(document, one, other, verdict, by, reason, pair.score, ruling=pair.ruling)
    for first, second, score, veto in done.refused.iter_rows():
        joined = done.clustering.roots[first] == done.clustering.roots[second]
        if not joined and (first, second) not in said:
            yield NameDecision(document, names[first], names[second], "apart", "rule", veto, score)


def _human_decision_on(done: ComparedNames, first: int, second: int) -> tuple[str, str] | None:
    """Return of which two names that the two stand for a person spoke; of these themselves if of any."""
    own = done.names.names[first][0], done.names.names[second][0]
    if done.links.has_decision(*own):
        return own
    known = [sorted(done.names.known(place)) for place in (first, second)]
    # What both are called says nothing of the two.
    pairs = ((one, other) for one, other in product(*known) if normalise(one) != normalise(other))
    return next((pair for pair in pairs if done.links.has_decision(*pair)), None)


def _short_form_verdict(done: ComparedNames, first: int, second: int, *, apart: bool) -> tuple[Verdict, str]:
    if apart or done.clustering.roots[first] == done.clustering.roots[second]:
        return "apart" if apart else "merge", "a person said so"
    return "ask", "a person said that they are one, and that names which they stand for in documents are not"


def verdict_on(pair: ScoredPair, done: ComparedNames) -> tuple[Verdict, str]:
    """Return what came of a pair and why; no reason where nothing spoke for the pair, or others joined it."""
    first, second = (done.clustering.roots[place] for place in pair.pair)
    if first == second:
        return "merge", pair.reason if pair.band == "merge" else ""
    if pair.band == "apart":
        return "apart", pair.reason if pair.ruling or (pair.veto and pair.score >= ASK) else ""
    if pair.band == "ask":
        return "ask", pair.reason
    several = any(place in done.clustering.ambiguous for place in pair.pair)
    hindrance = "several full names fit" if several else "other names of theirs do not fit each other"
    return "ask", f"{pair.reason}; but {hindrance}"

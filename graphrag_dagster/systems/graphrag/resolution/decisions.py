"""Decisions on names, by whom and why."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import Literal

from graphrag_dagster.kernel.tasks.name_judging import Ruling
from graphrag_dagster.kernel.text.similarity import normalise
from graphrag_dagster.systems.graphrag.resolution.clusters import Clustering
from graphrag_dagster.systems.graphrag.resolution.namesakes import Name
from graphrag_dagster.systems.graphrag.resolution.pairs.scoring import ScoredPair
from graphrag_dagster.systems.graphrag.resolution.pairs.weights import ASK
from graphrag_dagster.systems.graphrag.resolution.people import Decisions, Links, Word
from graphrag_dagster.systems.graphrag.resolution.scopes import Names

Verdict = Literal["merge", "ask", "apart"]


@dataclass(frozen=True, slots=True)
class Compared:
    """The names of a scope, and what came of them.

    Attributes:
        names: of a document, or the full names of all.
        pairs: that something speaks for, or a veto against.
        left_out: pairs of large blocks that were not compared.
        clustering: the clusters of the names.
        titles: for each name the one that stands for its cluster.
        links: what people said of the names.
    """

    names: Names
    pairs: list[ScoredPair]
    left_out: int
    clustering: Clustering
    titles: list[Name]
    links: Links


@dataclass(frozen=True, slots=True)
class Decision:
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
    word: Word | None = None
    ruling: Ruling | None = None


def decisions_of(done: Compared, people: Decisions) -> Iterator[Decision]:
    """Yield what was decided: of names that a person spoke of, then of pairs that were compared."""
    names, document = done.names.names, done.names.document
    links = done.links
    known = done.names.known if links.roots or links.different else []
    spoken = [place for place, of_it in enumerate(known) if any(map(links.spoken_of, of_it))]
    said: set[tuple[int, int]] = set()
    for first, second in combinations(spoken, 2):
        if of_these := _said_of(done, first, second):
            said.add((first, second))
            verdict, reason = _on_word(done, first, second, apart=links.apart(*of_these))
            word = people.on(*of_these, document)
            yield Decision(document, names[first], names[second], verdict, "person", reason, None, word)
    for pair in done.pairs:
        if pair.pair not in said:
            verdict, reason = verdict_on(pair, done)
            if reason:
                one, other = (names[place] for place in pair.pair)
                ruled = pair.ruling is not None and not pair.ruling.problem
                by: Literal["model", "rule"] = "model" if ruled else "rule"
                yield Decision(document, one, other, verdict, by, reason, pair.score, ruling=pair.ruling)


def _said_of(done: Compared, first: int, second: int) -> tuple[str, str] | None:
    """Return of which two names that the two stand for a person spoke; of these themselves if of any."""
    own = done.names.names[first][0], done.names.names[second][0]
    if done.links.says(*own):
        return own
    known = sorted(done.names.known[first]), sorted(done.names.known[second])
    # What both are called says nothing of the two.
    pairs = ((one, other) for one, other in product(*known) if normalise(one) != normalise(other))
    return next((pair for pair in pairs if done.links.says(*pair)), None)


def _on_word(done: Compared, first: int, second: int, *, apart: bool) -> tuple[Verdict, str]:
    if apart or done.clustering.roots[first] == done.clustering.roots[second]:
        return "apart" if apart else "merge", "a person said so"
    return "ask", "a person said that they are one, and that names which they stand for in documents are not"


def verdict_on(pair: ScoredPair, done: Compared) -> tuple[Verdict, str]:
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

"""Which sentences of the evidence tell the most about a community."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt

from graphrag_dagster.kernel.tasks.ports import ContextEntity, Quote, ReportRequest, SupportingSentence
from graphrag_dagster.kernel.text.english_words import STOP_WORDS
from graphrag_dagster.kernel.text.marks import mark_before
from graphrag_dagster.kernel.text.quotable import label_before, readability, tidy
from graphrag_dagster.kernel.text.similarity import repeats, words
from graphrag_dagster.kernel.text.spans import Span

#: What naming a member counts, against stating a relationship of weight 1.
_NAMING = 0.3
_CROWD = 3
#: What a sentence must exceed of the best one's readability, where so many do.
_OF_BEST, _ENOUGH = 0.31, 3
_AT_START = 40


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that can be quoted: tidy text, its words, and the rows of the context that it supports."""

    text: str
    words: tuple[str, ...]
    quality: float
    place: int
    quote: Quote
    entities: tuple[int, ...]
    relationships: tuple[int, ...]


def candidates(evidence: Sequence[SupportingSentence]) -> list[Candidate]:
    """Return the sentences that can be quoted, without list marks; of equal ones the first.

    Those that read far worse than the best are left out where three or more are left, so that a sentence
    which only points at what was said before it is a last resort.
    """
    found: dict[str, Candidate] = {}
    for place, item in enumerate(evidence):
        mark = mark_before(item.text)
        mark += label_before(item.text[mark:])
        text = tidy(item.text[mark:])
        quality = readability(text)
        if quality > 0 and text not in found:
            quote = Quote(item.unit_id, Span(item.span.start + mark, item.span.end))
            found[text] = Candidate(
                text, words(text), quality, place, quote, item.entities, item.relationships
            )
    best = max((one.quality for one in found.values()), default=0.0)
    good = [one for one in found.values() if one.quality > _OF_BEST * best]
    return good if len(good) >= _ENOUGH else list(found.values())


def central(pool: Sequence[Candidate], ranked: Sequence[ContextEntity], most: int) -> list[Candidate]:
    """Return up to ``most`` sentences about the members of the highest degree, in the order of the corpus.

    Those count more that speak of what many others speak of.

    Args:
        pool: sentences to choose from.
        ranked: the members, highest degree first.
        most: how many.
    """
    share = {entity.id: sqrt(1 + entity.degree) for entity in ranked}
    middle = _middle(pool)
    heads = {entity.id: entity.title.lower() for entity in ranked[:_CROWD]}
    waiting = list(pool)
    chosen: list[Candidate] = []
    while waiting and len(chosen) < most:
        best = max(
            waiting,
            key=lambda one: (one.quality * middle[one.place] * _importance(one, share, heads), -one.place),
        )
        waiting.remove(best)
        if not repeats(best.words, (one.words for one in chosen)):
            chosen.append(best)
            for entity in best.entities:
                share[entity] = share.get(entity, 0.0) / 3
                heads.pop(entity, None)
    return sorted(chosen, key=lambda one: one.place)


def _middle(pool: Sequence[Candidate]) -> dict[int, float]:
    """From 1 to 2, by place: how much a sentence speaks of what the others speak of."""
    meant = {one.place: frozenset(one.words) - STOP_WORDS for one in pool}
    often = Counter(word for own in meant.values() for word in own)
    shared = {place: fsum(often[word] - 1 for word in own) / max(len(own), 1) for place, own in meant.items()}
    most = max(shared.values(), default=0.0)
    return {place: 1 + (value / most if most else 0.0) for place, value in shared.items()}


def _importance(one: Candidate, share: Mapping[int, float], heads: Mapping[int, str]) -> float:
    named = fsum(share.get(entity, 0.0) for entity in one.entities) / _crowding(one)
    start = one.text[:_AT_START].lower()
    subject = any(title in start for entity, title in heads.items() if entity in one.entities)
    return (1.5 if subject else 1.0) * (named + 0.01)


def covering(
    request: ReportRequest, pool: Sequence[Candidate], most: int, told: Sequence[Candidate] = ()
) -> list[Candidate]:
    """Return sentences that together state the most relationships by weight, each adding the most.

    Args:
        request: gives the weights and degrees.
        pool: sentences to choose from.
        most: how many.
        told: sentences given elsewhere, which none is to repeat; what they state counts a third.
    """
    edges = {relationship.id: relationship.weight for relationship in request.relationships}
    nodes = {entity.id: _NAMING * sqrt(1 + entity.degree) for entity in request.entities}
    for edge in {edge for one in told for edge in one.relationships if edge in edges}:
        edges[edge] /= 3
    waiting = [one for one in pool if one.entities or one.relationships or request.reports]
    chosen: list[Candidate] = []
    while waiting and len(chosen) < most:
        best = max(waiting, key=lambda one: (_gain(one, edges, nodes), -one.place))
        waiting.remove(best)
        if _gain(best, edges, nodes) <= 0 and (best.entities or best.relationships):
            break
        if not repeats(best.words, (one.words for one in (*told, *chosen))):
            chosen.append(best)
            _close(edges, best.relationships)
            _close(nodes, best.entities)
    return chosen


def _gain(one: Candidate, edges: Mapping[int, float], nodes: Mapping[int, float]) -> float:
    stated = [edges.get(edge, 0.0) for edge in one.relationships]
    named = [nodes.get(node, 0.0) for node in one.entities]
    # Exact: in another order, or on another Python, the same numbers give the same sum.
    return one.quality * fsum(stated + named) / _crowding(one)


def _crowding(one: Candidate) -> float:
    """Bare enumerations state every pair of their names; they are not to win by that."""
    return max(1.0, len(one.entities) / _CROWD)


def _close(values: dict[int, float], ids: Collection[int]) -> None:
    for key in ids:
        values.pop(key, None)

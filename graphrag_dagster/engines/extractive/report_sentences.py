"""The sentences that tell the most about a community, and what a report and its findings are about."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt

from graphrag_dagster.engines.extractive.names.name_wordlists import OFFICES
from graphrag_dagster.kernel.tasks.task_ports import ContextEntity, Quote, ReportRequest, SupportingSentence
from graphrag_dagster.kernel.text.distinctive_phrases import shared_phrases
from graphrag_dagster.kernel.text.english_words import STOP_WORDS
from graphrag_dagster.kernel.text.markup_spans import Span, mark_before
from graphrag_dagster.kernel.text.quotable_sentences import label_before, readability, tidy
from graphrag_dagster.kernel.text.text_similarity import repeats, words

#: What naming a member counts, against stating a relationship of weight 1.
_NAMING = 0.3
_CROWD = 3
#: What a sentence must exceed of the best one's readability, where so many do, and in any case: a greeting
#: and a question have no more.
_OF_BEST, _ENOUGH, _LEAST_OF_BEST = 0.31, 3, 0.21
#: Factor of a sentence that its speaker did not end.
_INTERRUPTED = 0.2
_AT_START = 40


@dataclass(frozen=True, slots=True)
class SentenceCandidate:
    """A sentence that can be quoted: tidy text, its words, and the rows of the context that it supports."""

    text: str
    words: tuple[str, ...]
    quality: float
    place: int
    quote: Quote
    entities: tuple[int, ...]
    relationships: tuple[int, ...]


def sentence_candidates(evidence: Sequence[SupportingSentence]) -> list[SentenceCandidate]:
    """Return the sentences that can be quoted, without list marks; of equal ones the first.

    Those that read far worse than the best are left out where three or more are left, so that a sentence
    which only points at what was said before it is a last resort.
    """
    found: dict[str, SentenceCandidate] = {}
    for place, item in enumerate(evidence):
        mark = mark_before(item.text)
        mark += label_before(item.text[mark:])
        text = tidy(item.text[mark:])
        quality = readability(text) * (_INTERRUPTED if text.endswith(("–", "—")) else 1)
        if quality > 0 and text not in found:
            quote = Quote(item.unit_id, Span(item.span.start + mark, item.span.end))
            found[text] = SentenceCandidate(
                text, words(text), quality, place, quote, item.entities, item.relationships
            )
    best = max((one.quality for one in found.values()), default=0.0)
    good = [one for one in found.values() if one.quality > _OF_BEST * best]
    if len(good) >= _ENOUGH:
        return good
    return [one for one in found.values() if one.quality > _LEAST_OF_BEST * best]


def central_sentences(
    pool: Sequence[SentenceCandidate], ranked: Sequence[ContextEntity], most: int
) -> list[SentenceCandidate]:
    """Return up to ``most`` sentences about the members of the highest degree, in the order of the corpus.

    Those count more that speak of what many others speak of.
    """
    share = {entity.id: sqrt(1 + entity.degree) for entity in ranked}
    middle = _middle(pool)
    heads = {entity.id: entity.title.lower() for entity in ranked[:_CROWD]}
    waiting = list(pool)
    chosen: list[SentenceCandidate] = []
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


def _middle(pool: Sequence[SentenceCandidate]) -> dict[int, float]:
    """From 1 to 2, by place: how much a sentence speaks of what the others speak of."""
    meant = {one.place: frozenset(one.words) - STOP_WORDS for one in pool}
    often = Counter(word for own in meant.values() for word in own)
    shared = {place: fsum(often[word] - 1 for word in own) / max(len(own), 1) for place, own in meant.items()}
    most = max(shared.values(), default=0.0)
    return {place: 1 + (value / most if most else 0.0) for place, value in shared.items()}


def _importance(one: SentenceCandidate, share: Mapping[int, float], heads: Mapping[int, str]) -> float:
    named = fsum(share.get(entity, 0.0) for entity in one.entities) / _crowding(one)
    start = one.text[:_AT_START].lower()
    subject = any(title in start for entity, title in heads.items() if entity in one.entities)
    return (1.5 if subject else 1.0) * (named + 0.01)


def covering_sentences(
    request: ReportRequest,
    pool: Sequence[SentenceCandidate],
    most: int,
    told: Sequence[SentenceCandidate] = (),
) -> list[SentenceCandidate]:
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
    chosen: list[SentenceCandidate] = []
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


def _gain(one: SentenceCandidate, edges: Mapping[int, float], nodes: Mapping[int, float]) -> float:
    stated = [edges.get(edge, 0.0) for edge in one.relationships]
    named = [nodes.get(node, 0.0) for node in one.entities]
    # Exact: in another order, or on another Python, the same numbers give the same sum.
    return one.quality * fsum(stated + named) / _crowding(one)


def _crowding(one: SentenceCandidate) -> float:
    """Bare enumerations state every pair of their names; they are not to win by that."""
    return max(1.0, len(one.entities) / _CROWD)


def _close(values: dict[int, float], ids: Collection[int]) -> None:
    for key in ids:
        values.pop(key, None)


_NAMED = 2


class Subjects:
    """The members of a community and their relationships, to name what sentences are about.

    ``ranked``: the members, highest degree first, then by title; ``titles``: by local id.
    """

    def __init__(self, request: ReportRequest) -> None:
        self.ranked = sorted(request.entities, key=lambda entity: (-entity.degree, entity.title, entity.id))
        self.titles = {entity.id: entity.title for entity in request.entities}
        self._degrees = {entity.id: entity.degree for entity in request.entities}
        self._relationships = {one.id: one for one in request.relationships}

    def of(self, sentence: SentenceCandidate, used: Collection[tuple[int, ...]]) -> tuple[int, ...]:
        """Return the ids of the one or two members that a sentence is about, the one of higher degree first.

        These are the ends of its heaviest relationship that is not ``used`` yet, and does not join two forms
        of one name; else the member it names that has the highest degree; none if it names no member.
        """
        stated = [self._relationships[one] for one in sentence.relationships if one in self._relationships]
        stated.sort(key=lambda one: (-one.weight, -one.combined_degree, one.id))
        pairs = [
            tuple(sorted((one.source, one.target), key=lambda end: (-self._degrees.get(end, 0), end)))
            for one in stated
        ]
        for pair in pairs:
            first, second = (self.titles.get(end, "") for end in pair)
            if pair not in used and not overlaps(first, [second]):
                return pair
        named = [entity.id for entity in self.ranked if entity.id in sentence.entities]
        for one in named:
            if (one,) not in used:
                return (one,)
        return pairs[0] if pairs else tuple(named[:1])


def title_of(request: ReportRequest, sentences: Sequence[str] = ()) -> str:
    """Return the two members of the highest degree and what is said of them: ``A and B: mooring plan``.

    That is the phrase that most sentences share, offices of people aside; none where there is no such phrase.
    A name whose words all stand in one before it, or the other way round, is passed over. Where reports of
    sub-communities stand in for members, the names that lead their titles come first, the longest first.
    """
    longest = sorted(request.reports, key=lambda report: (-len(report.content), report.id))
    leads = [_lead(report.title) for report in longest]
    names: list[str] = []
    for name in (*leads, *(entity.title for entity in Subjects(request).ranked)):
        if len(names) < _NAMED and name and not overlaps(name, names):
            names.append(name)
    # Names with "and" in them would not be told apart.
    whole = (
        "; ".join(names) if any(" and " in name for name in names) and len(names) > 1 else join_names(names)
    )
    topics = (one for one in shared_phrases(sentences) if not OFFICES.intersection(one.split()))
    topic = next((one for one in topics if not overlaps(one, names)), "")
    return ": ".join(filter(None, (whole, topic))) or "Unnamed community"


def _lead(title: str) -> str:
    """The first name of a title that :func:`title_of` made."""
    names = title.rsplit(": ", 1)[0]
    for mark in ("; ", ", "):
        if mark in names:
            return names.split(mark)[0]
    first, _, rest = names.partition(" and ")
    return first if rest.count(" and ") == 0 else names


def join_names(names: Sequence[str]) -> str:
    """Return names as one phrase: ``A``, ``A and B``, ``A, B and C``."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def overlaps(name: str, others: Collection[str]) -> bool:
    """Return whether all words of a name stand in one of the others, or all of its words in the name."""
    own = set(words(name))
    return any(own <= other or other <= own for other in (set(words(one)) for one in others))

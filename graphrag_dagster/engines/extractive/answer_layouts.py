"""Answers laid out by the kind of a question: lists, both sides of a comparison, themes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

import numpy as np

from graphrag_dagster.engines.extractive.parsing.type_lexicon import PERSON
from graphrag_dagster.engines.extractive.sentence_selection import RankedSentence
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.common.stable_values import Scores, cosines, round_for_comparison
from graphrag_dagster.kernel.models.embedders import Embedder
from graphrag_dagster.kernel.tasks.task_ports import Point
from graphrag_dagster.kernel.text.distinctive_phrases import Phrase, phrases
from graphrag_dagster.kernel.text.folding import fold
from graphrag_dagster.kernel.text.quotable_sentences import readability
from graphrag_dagster.kernel.text.text_similarity import repeats, stem, stems, words

_OF_ONE = 4


def points_of_both(
    sides: Sequence[str], topic: str, sentences: Sequence[RankedSentence], value: Scores
) -> list[Point]:
    """Return the best sentences that name both sides, then those of the first and of the second.

    A sentence names a side by more than half of its words. It is on the topic with half of its words; where
    no sentence of a side has them, those beside it and its title count, too.

    Nothing where a side is named nowhere on the topic.

    Args:
        sides: two, as the question words them.
        topic: in what they are compared; blank for anything.
        sentences: of all rows, in their order.
        value: how well each answers, 0 for those that are not to be quoted.
    """
    wanted = [frozenset(stems(side)) for side in sides]
    about = frozenset(one for one in stems(topic) if not one.isdigit())
    order = [int(place) for place in np.argsort(-value, kind="stable") if value[place] > 0]
    named = {
        place: tuple(
            # Words that both sides share tell neither from the other.
            _names_side(side, wanted[number] - wanted[1 - number], sentences[place].text)
            for number, side in enumerate(sides)
        )
        for place in order
        if _is_near(about, sentences, place)
    }
    if not all(any(one[side] for one in named.values()) for side in (0, 1)):
        return []
    points: list[Point] = []
    taken: list[tuple[str, ...]] = []
    headings = {(True, True): " and ".join(sides), (True, False): sides[0], (False, True): sides[1]}
    for which, heading in headings.items():
        places = [place for place, one in named.items() if one == which]
        closely = [place for place in places if _has_half(about, stems(sentences[place].text))]
        group = 0
        for place in closely if closely or all(which) else places:
            one = sentences[place]
            if group < _OF_ONE and not repeats(words(one.text), taken):
                taken.append(words(one.text))
                group += 1
                title = heading[0].upper() + heading[1:]
                points.append(Point(title, (one.quotation,), 0.0, one.row.kind))
    return points


def _names_side(side: str, own: frozenset[str], text: str) -> bool:
    if not own:
        return fold(side) in fold(text)
    return 2 * len(own.intersection(stems(text))) > len(own)


def _is_near(about: frozenset[str], sentences: Sequence[RankedSentence], place: int) -> bool:
    row = sentences[place].row
    beside = [one for one in sentences[max(place - 1, 0) : place + 2] if one.row.id == row.id]
    return _has_half(about, chain(stems(row.title), *(stems(one.text) for one in beside)))


def _has_half(about: frozenset[str], said: Iterable[str]) -> bool:
    return 2 * len(about.intersection(said)) >= len(about)


@dataclass(slots=True)
class _ListedEntity:
    places: list[int] = field(default_factory=list)
    documents: set[str] = field(default_factory=set)


def list_entities(
    question: str, type_: str, sentences: Sequence[RankedSentence], value: Scores, most: int
) -> list[Point]:
    """Return the entities of the wanted type, those of most documents first, each with a sentence.

    Args:
        question: as asked; what it names itself is not listed.
        type_: of entities.
        sentences: of all rows, in their order.
        value: how well each answers; names are taken from those above 0.
        most: how many.
    """
    found: dict[str, _ListedEntity] = defaultdict(_ListedEntity)
    counted_already: set[str] = set()
    for place, one in enumerate(sentences):
        if one.text in counted_already or value[place] <= 0:
            continue
        counted_already.add(one.text)
        for name in _names(one, type_):
            if fold(name) not in fold(question):
                found[name].places.append(place)
                found[name].documents.add(one.document)
    if type_ == PERSON and any(" " in name for name in found):
        # A word alone is part of a name, or none.
        found = {name: one for name, one in found.items() if " " in name}
    ranked = sorted(found, key=lambda name: (-len(found[name].documents), -len(found[name].places), name))
    quoted: set[str] = set()
    points = []
    for name in ranked[:most]:
        one = _best_sentence(found[name], sentences, value, quoted)
        quoted.add(one.text)
        documents = plural(len(found[name].documents), "document")
        title = f"{name}: {documents}, {plural(len(found[name].places), 'mention')}"
        points.append(Point(title, (one.quotation,), 0.0, one.row.kind))
    return points


def _names(one: RankedSentence, type_: str) -> Iterator[str]:
    if one.row.background is None or one.quote is None:
        return
    for name, kind in one.row.background.names(one.quote.unit_id):
        if kind == type_ and name in one.text:
            yield name


def _best_sentence(
    named: _ListedEntity, sentences: Sequence[RankedSentence], value: Scores, quoted: set[str]
) -> RankedSentence:
    def worth(place: int) -> tuple[bool, float, int]:
        one = sentences[place]
        return one.text not in quoted, float(value[place]) * (0.5 + readability(one.text)), -place

    return sentences[max(named.places, key=worth)]


_MOST_PHRASES = 60
#: Sentences of a theme that its most central one is chosen from.
_CANDIDATES = 60
#: What a phrase counts that stands within the first characters.
_SUBJECT, _AT_START = 1.3, 60


def themes(sentences: Sequence[RankedSentence], embedder: Embedder, most: int) -> list[Point]:
    """Return phrases that tell the documents apart, the weightiest first, each with a sentence about it."""
    quotable: dict[str, RankedSentence] = {}
    for one in sentences:
        if one.quotable:
            quotable.setdefault(one.text, one)
    pool = list(quotable.values())
    stems = [f" {' '.join(map(stem, words(one.bare_text)))} " for one in pool]
    quoted: set[str] = set()

    def points_of(phrase: Phrase) -> list[Point]:
        held = f" {' '.join(phrase.stems)} "
        good = [one for one, said in zip(pool, stems, strict=True) if held in said and one.text not in quoted]
        if not good:
            return []
        one = _central_sentence(phrase.form, good, embedder)
        quoted.add(one.text)
        title = f"{phrase.form[0].upper()}{phrase.form[1:]}, in {plural(phrase.documents, 'document')}"
        return [Point(title, (one.quotation,), 0.0, one.row.kind)]

    return list(islice((point for phrase in _phrases(sentences) for point in points_of(phrase)), most))


def _phrases(sentences: Sequence[RankedSentence]) -> Sequence[Phrase]:
    """Those of all documents where they are known, else those of the sentences."""
    known = next((one.row.background for one in sentences if one.row.background), None)
    if known:
        return known.phrases()
    return phrases([one.bare_text for one in sentences], [one.document for one in sentences], _MOST_PHRASES)


def _central_sentence(form: str, good: Sequence[RankedSentence], embedder: Embedder) -> RankedSentence:
    """The sentence nearest to the middle of all that hold a phrase, of those that read best."""
    places = sorted(range(len(good)), key=lambda place: (-readability(good[place].text), place))
    best = [good[place] for place in sorted(places[:_CANDIDATES])]
    vectors = embedder.embed([one.bare_text for one in best])
    middle = vectors.mean(axis=0, dtype=np.float64)
    near = cosines(vectors, middle / max(float(np.linalg.norm(middle)), 1e-9))
    begins = np.array([_SUBJECT if form in one.bare_text[:_AT_START] else 1.0 for one in best])
    reads = np.array([readability(one.text) for one in best])
    return best[int(round_for_comparison(near * begins * reads).argmax())]

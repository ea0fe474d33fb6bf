"""What a collection is about: the phrases that tell its documents apart, each with a central sentence."""

from collections.abc import Sequence
from itertools import islice

import numpy as np

from graphrag_dagster.core.language.extractive.answering.sentences import Sentence
from graphrag_dagster.core.language.extractive.parsing.quotable import readability
from graphrag_dagster.core.language.tasks import Point
from graphrag_dagster.core.ranks import comparable, cosines
from graphrag_dagster.core.text.embedder import Embedder
from graphrag_dagster.core.text.phrases import Phrase, phrases
from graphrag_dagster.core.text.similarity import stem, words
from graphrag_dagster.core.wording import counted

_MOST_PHRASES = 60
#: Sentences of a theme that its most central one is chosen from.
_CANDIDATES = 60
#: What a phrase counts that stands within the first characters.
_SUBJECT, _AT_START = 1.3, 60


def themes(sentences: Sequence[Sentence], embedder: Embedder, most: int) -> list[Point]:
    """Return phrases that tell the documents apart, the weightiest first, each with a sentence about it.

    Args:
        sentences: all that may be quoted.
        embedder: makes vectors of sentences.
        most: how many.
    """
    quotable: dict[str, Sentence] = {}
    for one in sentences:
        if one.quotable:
            quotable.setdefault(one.text, one)
    pool = list(quotable.values())
    stems = [f" {' '.join(map(stem, words(one.said)))} " for one in pool]
    quoted: set[str] = set()

    def points_of(phrase: Phrase) -> list[Point]:
        held = f" {' '.join(phrase.stems)} "
        good = [one for one, said in zip(pool, stems, strict=True) if held in said and one.text not in quoted]
        if not good:
            return []
        one = _central(phrase.form, good, embedder)
        quoted.add(one.text)
        title = f"{phrase.form[0].upper()}{phrase.form[1:]}, in {counted(phrase.documents, 'document')}"
        return [Point(title, (one.quotation,), 0.0, one.row.kind)]

    return list(islice((point for phrase in _phrases(sentences) for point in points_of(phrase)), most))


def _phrases(sentences: Sequence[Sentence]) -> Sequence[Phrase]:
    """Those of all documents where they are known, else those of the sentences."""
    known = next((one.row.background for one in sentences if one.row.background), None)
    if known:
        return known.phrases()
    return phrases([one.said for one in sentences], [one.document for one in sentences], _MOST_PHRASES)


def _central(form: str, good: Sequence[Sentence], embedder: Embedder) -> Sentence:
    """The sentence nearest to the middle of all that hold a phrase, of those that read best."""
    places = sorted(range(len(good)), key=lambda place: (-readability(good[place].text), place))
    best = [good[place] for place in sorted(places[:_CANDIDATES])]
    vectors = embedder.embed([one.said for one in best])
    middle = vectors.mean(axis=0, dtype=np.float64)
    near = cosines(vectors, middle / max(float(np.linalg.norm(middle)), 1e-9))
    begins = np.array([_SUBJECT if form in one.said[:_AT_START] else 1.0 for one in best])
    reads = np.array([readability(one.text) for one in best])
    return best[int(comparable(near * begins * reads).argmax())]

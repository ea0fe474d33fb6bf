"""What a collection is about: phrases that are said often in some documents, each with a central sentence."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from graphrag_dagster.core.language.extractive.answering.sentences import Sentence
from graphrag_dagster.core.language.extractive.parsing.quotable import readability
from graphrag_dagster.core.language.tasks import Point
from graphrag_dagster.core.ranks import comparable, cosines
from graphrag_dagster.core.text.embedder import Embedder
from graphrag_dagster.core.text.english_words import COMMON, GENERAL, GENRES, STOP_WORDS, VERBS
from graphrag_dagster.core.text.similarity import stem
from graphrag_dagster.core.wording import counted

_TOKEN = re.compile(r"[^\W\d_][\w’'-]*|[^\w\s]|\d+")
_LONGEST = 3
#: Most sentences of one document that count for a phrase.
_CAP = 8
#: What each further word of a phrase adds.
_PER_WORD = 0.6
#: What a name counts against a common noun.
_NAME = 0.5
_NO_NOUN = re.compile(r".+(?:ly|ing|ed|n['’]t|['’](?:s|re|ve|ll|d|m))\Z")
_NO_THEME = STOP_WORDS | VERBS | COMMON | GENERAL | GENRES
#: Sentences of a theme that its most central one is chosen from.
_CANDIDATES = 60
#: What a phrase counts that stands within the first characters.
_SUBJECT, _AT_START = 1.3, 60


@dataclass(slots=True)
class _Phrase:
    forms: Counter[str] = field(default_factory=Counter)
    places: list[int] = field(default_factory=list)
    documents: Counter[str] = field(default_factory=Counter)


def themes(sentences: Sequence[Sentence], embedder: Embedder, most: int) -> list[Point]:
    """Return the phrases that tell the documents apart, the weightiest first, each with a central sentence.

    A phrase weighs by the sentences that hold it, few of each document, and by how far it is from being in
    every document; longer phrases weigh more. One that lies inside a weightier one is left out.

    Args:
        sentences: all that are known of the collection.
        embedder: makes vectors of sentences.
        most: how many.
    """
    phrases = _phrases(sentences)
    count = len({one.document for one in sentences})
    weights = {key: _weight(key, one, count) for key, one in phrases.items()}
    ranked = sorted((key for key in weights if weights[key] > 0), key=lambda key: (-weights[key], key))
    found: list[Point] = []
    kept: list[tuple[str, ...]] = []
    quoted: set[str] = set()
    for key in ranked:
        if len(found) == most:
            break
        if any(set(key) & set(other) for other in kept):
            continue
        one = phrases[key]
        central = _central(key, one, sentences, embedder, quoted)
        if central is None:
            continue
        kept.append(key)
        quoted.add(central.text)
        heading = f"{_form(one)}, in {counted(len(one.documents), 'document')}"
        quote = (central.text, central.row.id, central.quote)
        found.append(Point(heading, (quote,), 0.0, central.row.kind))
    return found


def _phrases(sentences: Sequence[Sentence]) -> dict[tuple[str, ...], _Phrase]:
    found: dict[tuple[str, ...], _Phrase] = defaultdict(_Phrase)
    seen: set[str] = set()
    for place, one in enumerate(sentences):
        if one.text in seen:
            continue
        seen.add(one.text)
        document = one.document
        for key, form in dict(_candidates(one.said)).items():
            phrase = found[key]
            phrase.forms[form] += 1
            phrase.places.append(place)
            phrase.documents[document] += 1
    return found


def _candidates(said: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Runs of up to three words that carry meaning, by their stems."""
    run: list[str] = []
    for word in [*_TOKEN.findall(said), "."]:
        if _meaningful(word):
            run.append(word)
            continue
        for start in range(len(run)):
            for end in range(start + 1, min(start + _LONGEST, len(run)) + 1):
                part = run[start:end]
                if not _NO_NOUN.match(part[-1].lower()) or part[-1][0].isupper():
                    yield tuple(stem(one.lower()) for one in part), " ".join(part)
        run = []


def _meaningful(word: str) -> bool:
    lower = word.lower()
    return len(word) > 2 and word[0].isalpha() and lower not in _NO_THEME and not lower.endswith("ly")


def _weight(key: tuple[str, ...], one: _Phrase, documents: int) -> float:
    if len(one.documents) < min(2, documents):
        return 0.0
    said = math.fsum(min(times, _CAP) for times in one.documents.values())
    apart = math.log((documents + 1) / len(one.documents))
    named = _NAME if _commonest(one)[0].isupper() else 1.0
    return round(said * apart * named * (1 + _PER_WORD * (len(key) - 1)), 9)


def _form(one: _Phrase) -> str:
    """The commonest way in which a phrase is written, with a capital."""
    form = _commonest(one)
    return form[0].upper() + form[1:]


def _commonest(one: _Phrase) -> str:
    return min(one.forms, key=lambda form: (-one.forms[form], form))


def _central(
    key: tuple[str, ...],
    one: _Phrase,
    sentences: Sequence[Sentence],
    embedder: Embedder,
    quoted: set[str],
) -> Sentence | None:
    """The sentence nearest to the middle of all that hold a phrase, of those that read well."""
    good = [
        place for place in one.places if sentences[place].text not in quoted and sentences[place].quotable
    ]
    good.sort(key=lambda place: (-readability(sentences[place].text), place))
    good = sorted(good[:_CANDIDATES])
    if not good:
        return None
    vectors = embedder.embed([sentences[place].said for place in good])
    middle = vectors.mean(axis=0, dtype=np.float64)
    near = cosines(vectors, middle / max(float(np.linalg.norm(middle)), 1e-9))
    form = _commonest(one)
    begins = np.array([_SUBJECT if form in sentences[place].said[:_AT_START] else 1.0 for place in good])
    reads = begins * np.array([readability(sentences[place].text) for place in good])
    return sentences[good[int(comparable(near * reads).argmax())]]

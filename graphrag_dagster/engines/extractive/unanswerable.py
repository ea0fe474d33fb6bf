"""What a question is about and its context does not have, so that no sentence answers it (English)."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from math import fsum, log

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.engines.extractive.answer_types import AnswerType, things_of_type
from graphrag_dagster.engines.extractive.sentence_selection import RankedSentence
from graphrag_dagster.kernel.common.stable_values import cosines
from graphrag_dagster.kernel.models.embedders import Embedder
from graphrag_dagster.kernel.questions.unknown_words import is_one_of_several
from graphrag_dagster.kernel.retrieval.sentence_relevance import asked_words, names_in
from graphrag_dagster.kernel.text.languages import ENGLISH, language_of
from graphrag_dagster.kernel.text.names_and_numbers import is_year, numbers_of
from graphrag_dagster.kernel.text.text_similarity import stem, words
from graphrag_dagster.kernel.text.tokenization import get_tokenizer

#: Share of a question's meaning from which a name, and any other word, cannot be missing.
_NAME, _WORD = 0.3, 0.42
#: Rarity of a word from which no other says the same, as one does of "turn" and "cause".
_RARE = 5.0
#: Cosine of two words, and likeness of their spelling of 100, from which one stands for the other.
_MEANS, _SPELLED = 0.5, 80
#: Cosine from which it does in a sentence that has all else that is asked.
_MEANS_BESIDE = 0.3
#: Digits from which a number is like a name: a year, a type.
_DIGITS = 3
#: Letters from which a word may be written as two: "data center".
_JOINED = 5
_LAST_DAY = 31
_WHOLE = re.compile(r"([0-9]+)(?:st|nd|rd|th)?")
#: "0.62", "v3.13", "HTTP/3", but no measures.
_VERSION = re.compile(
    r"(?<![\w.$£€¥/])v?(?P<number>\d+(?:\.\d+)+)"
    r"(?!\w| ?(?:%|percent\b|per cent\b|thousand\b|[mb]illion\b|times\b|points?\b))"
    r"|\b(?P<joined>[A-Z][A-Za-z]*/\d+)(?![\w.])"
)


def missing_subject(question: str, sentences: Sequence[RankedSentence], embedder: Embedder) -> str | None:
    """Return what a question is about that no sentence and no title has; None where nothing is missing.

    That is a name, a number or a rare word which carries much of the question's meaning and which no other
    word resembles in meaning or spelling, or an identifier of a version, such as 3.13 or HTTP/3. Of things
    that are joined by "and" or "or", one may be missing.

    Args:
        question: as asked; one in another language than English misses nothing.
        sentences: of the whole context; also the background for rarity.
        embedder: compares single words.
    """
    if not sentences or language_of(question) not in {None, ENGLISH}:
        return None
    texts = [one.text for one in sentences] + sorted({one.row.title for one in sentences})
    said = [frozenset(words(text)) for text in texts]
    frequency = Counter(chain.from_iterable({stem(word) for word in one} for one in said))
    asked, names = asked_words(question), names_in(question)
    weights = [log(1 + len(said) / (1 + frequency[stem(word)])) for word in asked]
    for word, weight in zip(asked, weights, strict=True):
        is_name = stem(word) in names or _is_number(word)
        if frequency[stem(word)] or weight < (_NAME if is_name else _WORD) * fsum(weights):
            continue
        if is_one_of_several(word, question):
            continue
        if not is_name and get_tokenizer("cl100k_base").rarity(word) < _RARE:
            continue
        if _is_resembled(word, sorted(frozenset().union(*said)), texts, embedder):
            continue
        if is_name or not _is_meant(word, asked, said, embedder):
            return word
    return next((one for one in _versions(question) if not _has_version(one, texts)), None)


def _is_number(word: str) -> bool:
    """Whether a word is an identifier with a digit, or a number of some digits."""
    return any(map(str.isdigit, word)) and (not word.isdigit() or len(word) >= _DIGITS)


def _is_resembled(word: str, vocabulary: Sequence[str], texts: Sequence[str], embedder: Embedder) -> bool:
    if not word.isalpha():
        number = _WHOLE.fullmatch(word)
        return number is not None and any(f"{int(number[1]):,}" in text for text in texts)
    from rapidfuzz import fuzz, process

    if process.extractOne(word, vocabulary, scorer=fuzz.ratio, score_cutoff=_SPELLED):
        return True
    if len(word) >= _JOINED and any(map(partial(_in_two_words, word), texts)):
        return True
    return _means(word, vocabulary, embedder, _MEANS)


def _in_two_words(word: str, text: str) -> bool:
    return stem(word) in {stem(one + other) for one, other in pairwise(words(text))}


def _is_meant(word: str, asked: Sequence[str], said: Sequence[frozenset[str]], embedder: Embedder) -> bool:
    """Whether a sentence with all other words of the question has one of a near meaning: "bought", "sold"."""
    others = {stem(one) for one in asked} - {stem(word)}
    beside = [one for one in said if others and others <= set(map(stem, one))]
    vocabulary = sorted(one for one in frozenset().union(*beside) if stem(one) not in others)
    return _means(word, vocabulary, embedder, _MEANS_BESIDE)


def _means(word: str, vocabulary: Sequence[str], embedder: Embedder, least: float) -> bool:
    if not vocabulary:
        return False
    (own,) = embedder.embed([word])
    return bool((cosines(embedder.embed(vocabulary), own) >= least).any())


def _versions(question: str) -> Iterator[str]:
    for found in _VERSION.finditer(question):
        yield found["number"] or found["joined"]


def _has_version(version: str, texts: Sequence[str]) -> bool:
    """Whether a text has an identifier; "0.20.1" is one of 0.20."""
    mark = re.compile(rf"(?<![\d.]){re.escape(version)}(?!\d)", re.IGNORECASE)
    return any(map(mark.search, texts))


def of_another_time(question: str, sentences: Sequence[RankedSentence]) -> NDArray[np.bool_]:
    """Return which sentences name another day, month or year than a question, and are not of its year.

    A question that names several, or none, is about no time of which another could be told.
    """
    asked = _times(question)
    wanted = [one if len(one) == 1 else frozenset[float]() for one in asked]

    def is_other(one: RankedSentence) -> bool:
        days, months, years = _times(one.text)
        of_document = {float(one.day.year)} if years and one.day else set()
        years = years and years | _times(one.row.title)[2] | of_document
        said = (days, months, years)
        return any(own and known and own.isdisjoint(known) for own, known in zip(wanted, said, strict=True))

    if not any(wanted):
        return np.zeros(len(sentences), dtype=np.bool_)
    return np.array([is_other(one) for one in sentences], dtype=np.bool_)


def _times(text: str) -> tuple[frozenset[float], frozenset[float], frozenset[float]]:
    """Days of a month, months and years that a text names."""
    found = numbers_of(text)
    beside = [*pairwise(found), *pairwise(reversed(found))]
    return (
        frozenset(one.value for one, month in beside if month.kind == "month" and one.value <= _LAST_DAY),
        frozenset(one.value for one in found if one.kind == "month"),
        frozenset(one.value for one in found if is_year(one)),
    )


#: Share of what a question says beside the price that stands around an amount of money on its subject.
_OF_SUBJECT = 0.5
_PRICE_WORDS = re.compile(
    r"costs?|prices?|pays?|paid|spend|spent|earn(?:ed|s)?|salary|raised?|sold|sell|worth|fee|fined?|budget|money"
    r"|year|month|much",
    re.IGNORECASE,
)
_ASKS_PRICE = re.compile(rf"\b(?:how much|what)\b.*\b(?:{_PRICE_WORDS.pattern})\b", re.IGNORECASE)
_FREE = re.compile(r"\b(?:free of charge|for free|is free|are free|no charge|costs nothing)\b", re.IGNORECASE)


def lacks_amount(question: str, wanted: AnswerType, sentences: Sequence[RankedSentence]) -> bool:
    """Return whether a question asks for a price or a payment, and no sentence has an amount on its subject.

    An amount is on the subject where its sentence, the two beside it and the title have at least half of what
    the question says beside the price, by rarity.

    Args:
        question: as asked.
        wanted: what it wants.
        sentences: of the whole context, in its order.
    """
    if wanted.kind != "money" or not _ASKS_PRICE.search(question):
        return False
    subject = {stem(word) for word in asked_words(question) if not _PRICE_WORDS.fullmatch(word)}
    said = [frozenset(map(stem, words(one.text))) for one in sentences]
    frequency = Counter(chain.from_iterable(said))
    weight = {word: log(1 + len(said) / (1 + frequency[word])) for word in sorted(subject)}
    least = _OF_SUBJECT * fsum(weight.values())
    for place, one in enumerate(sentences):
        if not things_of_type("money", one.bare_text) and not _FREE.search(one.text):
            continue
        beside = range(max(place - 1, 0), min(place + 2, len(sentences)))
        around = {stem(word) for word in words(one.row.title)}.union(
            *(said[near] for near in beside if sentences[near].row.id == one.row.id)
        )
        if fsum(weight[word] for word in sorted(subject & around)) >= least:
            return False
    return True

"""Terms of questions, texts and communities, and the share of a question's terms that a text covers.

A text is folded (:mod:`graphrag_dagster.kernel.text.folding`) and cut into words that begin with a
letter or digit and may hold hyphens. English words are stemmed, stop words left out. Other words stay as they
are folded. Scripts that are written without blanks between words (Han, Kana, Thai, Lao, Khmer, Burmese) are
cut into overlapping pairs of characters, so that a word is found inside a longer run.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from math import fsum, log

import numpy as np
import polars as pl

from graphrag_dagster.kernel.common.stable_values import Scores
from graphrag_dagster.kernel.text.english_words import STOP_WORDS, VERBS
from graphrag_dagster.kernel.text.folding import fold
from graphrag_dagster.kernel.text.text_similarity import stem
from graphrag_dagster.systems.coterag.coterag_options import TermUnit, TermWeights
from graphrag_dagster.systems.coterag.index.triple_communities import Communities, TripleGraph

_UNSPACED = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_LAST_OF_BASIC_PLANE = 0xFFFF
#: The stemmer keeps the ending of "treatment", not those of "treating" and "treats".
_MENT = re.compile(r"([a-z]{4,})ment\Z")


@dataclass(frozen=True, slots=True)
class QuestionTerms:
    """What a question asks about: units, each a word's stem or the stems of a phrase, every one once."""

    units: tuple[frozenset[str], ...]

    @property
    def stems(self) -> frozenset[str]:
        """All stems of the units."""
        return frozenset().union(*self.units)

    def terms_covered(self, terms: Set[str]) -> list[bool]:
        """Return of each unit whether all of its stems are among the terms."""
        return [unit <= terms for unit in self.units]


def terms(text: str) -> set[str]:
    """Return the stems of a text.

    >>> sorted(terms("Treatments treating the treatment of COVID-19"))
    ['covid-19', 'treat']
    """
    return {one for word in folded_words(text) if word not in STOP_WORDS for one in _stems(word)}


def question_terms(question: str, unit: TermUnit = "words") -> QuestionTerms:
    """Return the terms of a question.

    Args:
        question: as asked.
        unit: ``words``, or ``phrases``: words that stand side by side, without a stop word, a verb or a mark
            between them.
    """
    if unit == "words":
        return QuestionTerms(tuple(frozenset({one}) for one in sorted(terms(question))))
    phrases = {frozenset(one for word in words for one in _stems(word)) for words in _phrases(question)}
    return QuestionTerms(tuple(sorted(phrases, key=sorted)))


def coverage(asked: QuestionTerms, found: Set[str]) -> float:
    """Return which share of a question's terms is among those of a text, 0…1; 0 where it has none."""
    return share(asked.terms_covered(found))


def share(covered: Sequence[bool], weights: Sequence[float] | None = None) -> float:
    """Return the share of units that are covered, by weight; 0 where there are none."""
    weighed = [1.0] * len(covered) if weights is None else weights
    whole = fsum(weighed)
    return fsum(w for w, one in zip(weighed, covered, strict=True) if one) / whole if whole else 0.0


def shares(covered: Sequence[Sequence[bool]], weights: TermWeights = "none") -> list[float]:
    """Return the share of units that each of several texts covers.

    Args:
        covered: of each text which units it covers.
        weights: ``idf``: a unit that d of n texts cover counts ``1 + log((n + 1) / (d + 1))``.
    """
    weighed = None
    if weights == "idf":
        weighed = [1 + log((len(covered) + 1) / (sum(unit) + 1)) for unit in zip(*covered, strict=True)]
    return [share(one, weighed) for one in covered]


def folded_words(text: str) -> Iterator[str]:
    """Yield the words of a text in their order, stop words too."""
    return (found[0].rstrip("-") for found in _pattern().finditer(fold(text)))


def _phrases(text: str) -> Iterable[list[str]]:
    folded = fold(text)
    phrase: list[str] = []
    end = 0
    for found in _pattern().finditer(folded):
        word = found[0].rstrip("-")
        breaks = word in STOP_WORDS or word in VERBS
        if phrase and (breaks or folded[end : found.start()].strip()):
            yield phrase
            phrase = []
        if not breaks:
            phrase.append(word)
        end = found.end()
    if phrase:
        yield phrase


@cache
def _pattern() -> re.Pattern[str]:
    """Words; marks that belong to letters are no word characters to ``re``."""
    marks = "".join(
        char for code in range(_LAST_OF_BASIC_PLANE) if unicodedata.category(char := chr(code))[0] == "M"
    )
    letter = rf"(?![{_UNSPACED}])[^\W_]"
    return re.compile(rf"[{_UNSPACED}]+|{letter}(?:{letter}|[-\u200c\u200d{marks}])*")


@lru_cache(maxsize=200_000)
def _stems(word: str) -> tuple[str, ...]:
    if _IS_UNSPACED.match(word):
        return tuple(word[i : i + 2] for i in range(max(len(word) - 1, 1)))
    if not word.isascii():
        return (word,)
    found = stem(word)
    longer = _MENT.fullmatch(found)
    return (stem(longer[1]) if longer else found,)


def community_terms(graph: TripleGraph, communities: Communities, summaries: pl.DataFrame) -> pl.DataFrame:
    """Return ``community_id``, ``term``: stems of its summary, its members' names and its relations.

    Args:
        graph: the triples.
        communities: of the graph.
        summaries: ``community_id``, ``title`` and ``text``.
    """
    names = communities.members.join(graph.entities.select("entity_id", "title"), on="entity_id")
    relations = pl.DataFrame(
        {"number": communities.triples_inside(graph), "text": graph.triples["relation"]}
    ).join(communities.communities.select("number", "community_id"), on="number")
    said = pl.concat(
        [
            names.select("community_id", text="title"),
            relations.select("community_id", "text"),
            summaries.select("community_id", text="title"),
            summaries.select("community_id", "text"),
        ]
    ).unique()
    known = said["text"].unique()
    stems = pl.DataFrame(
        {"text": known, "term": [sorted(terms(text)) for text in known]},
        schema={"text": pl.String, "term": pl.List(pl.String)},
    )
    return (
        said.join(stems, on="text")
        .select("community_id", "term")
        .explode("term")
        .drop_nulls()
        .unique()
        .sort("community_id", "term")
    )


def coverages(
    asked: QuestionTerms,
    holders: Mapping[str, Iterable[str]],
    ids: Sequence[str],
    weights: TermWeights = "none",
) -> Scores:
    """Return the share of a question's terms that each community covers.

    Args:
        asked: terms of the question.
        holders: communities by term, of :func:`community_terms`.
        ids: of the communities, in the order of the result.
        weights: see :func:`.terms.shares`.
    """
    found: dict[str, set[str]] = {}
    for term in asked.stems:
        for community in holders.get(term, ()):
            found.setdefault(community, set()).add(term)
    covered = [asked.terms_covered(found.get(one, set())) for one in ids]
    return np.array(shares(covered, weights), dtype=np.float64)

"""Noun phrases that are no names: what texts speak of that name little, such as "incubation period"."""

from collections.abc import Iterable, Iterator

from graphrag_dagster.core.language.extractive.names.candidates import Candidate
from graphrag_dagster.core.language.extractive.names.naming import Named
from graphrag_dagster.core.language.extractive.parsing import lexicon
from graphrag_dagster.core.language.extractive.parsing.lemmas import Lemmas
from graphrag_dagster.core.language.extractive.parsing.pipeline import Tokens
from graphrag_dagster.core.language.extractive.parsing.reading import Reading
from graphrag_dagster.core.text.english_words import STOP_WORDS
from graphrag_dagster.core.text.names import clean, normalise

_NOUNS = frozenset({"NN", "NNS", "NNP", "NNPS"})
_INSIDE = _NOUNS | {"JJ", "HYPH"}
_NEVER_LAST = frozenset({"JJ", "HYPH"})
_MOST_WORDS = 6


def find_noun_phrases(
    tokens: Tokens, reading: Reading, named: Iterable[Named], lemmas: Lemmas
) -> list[Named]:
    """Return runs of nouns and adjectives that end in a noun, in the order of first mention.

    A run ends where a name begins. The last word is in the singular, so that "virus" and "viruses" are one
    entity, of the type CONCEPT.

    Args:
        tokens: of the unit.
        reading: the unit.
        named: its names.
        lemmas: knows singulars.
    """
    taken = {
        place for one in named for mention in one.mentions for place in range(mention.first, mention.last)
    }
    found: dict[str, Named] = {}
    for first, last in _runs(tokens, taken):
        surface = _surface(tokens, reading, first, last, lemmas)
        name = normalise(surface)
        if len(name) > 1 and name.lower() not in STOP_WORDS:
            entity = found.setdefault(name, Named(name, surface, lexicon.CONCEPT, []))
            entity.mentions.append(Candidate(first, last, None, 2))
    return list(found.values())


def _runs(tokens: Tokens, taken: set[int]) -> Iterator[tuple[int, int]]:
    first = 0
    while first < len(tokens):
        last = first
        while last < len(tokens) and _goes_on(tokens, first, last, taken):
            last += 1
        after = last + 1
        while last > first and tokens.tags[last - 1] in _NEVER_LAST:
            last -= 1
        if first < last <= first + _MOST_WORDS:
            yield first, last
        first = after


def _goes_on(tokens: Tokens, first: int, place: int, taken: set[int]) -> bool:
    if place in taken or tokens.sentences[place] != tokens.sentences[first]:
        return False
    if tokens.tags[place] == "HYPH":
        return place > first
    return tokens.tags[place] in _INSIDE and any(map(str.isalpha, tokens.words[place]))


def _surface(tokens: Tokens, reading: Reading, first: int, last: int, lemmas: Lemmas) -> str:
    before = reading.text[tokens.begins[first] : tokens.begins[last - 1]]
    word = tokens.words[last - 1]
    return clean(before + (lemmas.of(word, "NOUN") if tokens.tags[last - 1] == "NNS" else word))

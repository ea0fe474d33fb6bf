"""Names that begin with no capital (``18F``, ``mitmproxy``, ``dns.Message``); each needs evidence."""

import re
from collections.abc import Iterator, Set

from graphrag_dagster.engines.extractive.parsing.sentence_reading import ReadableText
from graphrag_dagster.engines.extractive.parsing.spacy_pipeline import Tokens
from graphrag_dagster.kernel.text.english_words import STOP_WORDS

_DIGITS_FIRST = re.compile(r"\d{1,3}[A-Z][A-Za-z]*")
#: Amounts, sizes and versions, which look alike.
_MEASURE = re.compile(r"\d+(?:[KMBTGCDPWVX]|[KMGTP]i?[Bb](?:ps)?|[AP]M|[KMG]?Hz|Mbps|[KMG]W|Q|H|E|S|L)")
_SMALL = re.compile(r"[a-z][a-z0-9]{2,}")
_IDENTIFIER = re.compile(r"[A-Z][A-Za-z0-9]+")
_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_OF_BODIES = frozenset({"at", "by", "with"})
_SINGULAR = frozenset({"NN", "NNP"})
_ENDS, _ARTICLES = frozenset(".!?"), frozenset({"a", "an", "the"})
_QUALIFYING = frozenset({"det", "poss", "amod", "nummod"})
#: Share of the sentences of a unit that may open with a small letter where the others say something by it.
_MOST_SMALL = 0.3

#: First and one past the last word, and the weight of the candidate.
Found = tuple[int, int, int]


def find_unusual_names(tokens: Tokens, reading: ReadableText, taken: Set[int]) -> Iterator[Found]:
    """Yield names that do not begin with a capital, each with a weight of 0 or 1, so that two make an entity.

    Figures and capitals in one word where a body acts or is acted with; small words that a sentence defines
    and that never have an article ("mitmproxy is a proxy"); names of things in programs.

    Args:
        tokens: of the unit.
        reading: of the unit.
        taken: places that other names have.
    """
    for place, word in enumerate(tokens.words):
        if place not in taken and _DIGITS_FIRST.fullmatch(word) and not _MEASURE.fullmatch(word):
            yield place, place + 1, int(_is_body(tokens, place))
    yield from _qualified(tokens)
    defined = set(_defined(tokens, reading))
    if defined:
        defined -= _with_article(tokens)
        for place, word in enumerate(tokens.words):
            if word in defined and place not in taken:
                yield place, place + 1, 1


def _is_body(tokens: Tokens, place: int) -> bool:
    """Whether the word acts, has something, or is where or with whom something is done."""
    dep, head = tokens.deps[place], tokens.words[tokens.heads[place]].lower()
    return dep in _SUBJECTS or dep == "poss" or (dep == "pobj" and head in _OF_BODIES)


def _qualified(tokens: Tokens) -> Iterator[Found]:
    """Names with a dot and without blanks: ``dns.Message``."""
    for place in range(len(tokens) - 2):
        if (
            tokens.words[place + 1] == "."
            and tokens.ends[place] == tokens.begins[place + 1]
            and tokens.ends[place + 1] == tokens.begins[place + 2]
            and _SMALL.fullmatch(tokens.words[place])
            and _IDENTIFIER.fullmatch(tokens.words[place + 2])
        ):
            yield place, place + 3, 1


def _defined(tokens: Tokens, reading: ReadableText) -> Iterator[str]:
    """Small words that open a sentence which says what they are, where most sentences open with capitals."""
    small = [sentence.written[:1].islower() for sentence in reading.sentences]
    if sum(small) > _MOST_SMALL * len(small):
        return
    for place, word in enumerate(tokens.words[:-2]):
        if not tokens.same_sentence(place, place + 2) or tokens.words[place + 1] != "is":
            continue
        first = not tokens.same_sentence(place - 1, place)
        # A unit may begin inside a sentence.
        opens = place > 0 and (first or tokens.words[place - 1] in _ENDS)
        told = tokens.words[place + 2] in _ARTICLES
        named = _SMALL.fullmatch(word) and word not in STOP_WORDS and tokens.tags[place] in _SINGULAR
        if opens and told and named and reading.sentences[tokens.sentences[place]].ended:
            yield word


def _with_article(tokens: Tokens) -> set[str]:
    """Words that the unit uses as common nouns."""
    return {
        tokens.words[head]
        for place, head in enumerate(tokens.heads)
        if place < head and tokens.deps[place] in _QUALIFYING
    }

"""Names in languages that have no rules of grammar here, by capital letters or an entity recogniser."""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import chain, combinations, takewhile
from typing import TYPE_CHECKING, Final, TypeVar

from graphrag_dagster.engines.extractive.parsing.type_lexicon import (
    CONCEPT,
    GEO,
    LABELS,
    ORGANIZATION,
    PERSON,
)
from graphrag_dagster.kernel.graph.graph_labels import CO_OCCURS
from graphrag_dagster.kernel.tasks.task_ports import EntityInstance, RelationshipInstance
from graphrag_dagster.kernel.text.english_words import word_set
from graphrag_dagster.kernel.text.languages import FUNCTION_WORDS
from graphrag_dagster.kernel.text.markup_spans import Span, code_blocks
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.kernel.text.text_similarity import clean, normalise

if TYPE_CHECKING:
    from spacy.language import Language

#: Strength of a relation that is a shared sentence.
TOGETHER_STRENGTH: Final = 1.0
_ALL_PAIRS, _NEIGHBOURS = 8, 3

#: Languages that write every noun with a capital.
_CAPITAL_NOUNS = frozenset({"de", "lb", "nds"})
#: Letters of scripts with capitals, and their least share in a text whose names have some.
_CASED = re.compile(r"[A-Za-zÀ-ÖØ-öø-ÿ\u0100-\u024f\u0370-\u03ff\u0400-\u052f\u0531-\u0587]")
_MOSTLY = 0.7
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
#: Small words inside of names: Compañía del Norte, Vincent van Gogh.
_INSIDE = word_set("da das de del della den der di do dos du la las le los ten ter van")
_MOST_WORDS, _FEWEST_LETTERS = 5, 2
_TITLES = word_set(
    """
    dr dra prof frau herr herrn don doña señor señora señorita sr sra srta m mme mlle madame monsieur
    signor signora dott senhor senhora meneer mevrouw pan paní pani
    """
)
#: Sentences of fewer words describe nothing.
_FEWEST_WORDS = 5

_BLANKS = str.maketrans("\n\r\t", "   ")
#: Labels of pipelines for other languages than English, with those that only they have.
_RECOGNISED = {
    **LABELS,
    "PER": PERSON,
    "PERS": PERSON,
    "MISC": CONCEPT,
    # Those of GiNZA, for Japanese, and of CNEC, for Czech.
    **dict.fromkeys(("Person", "P", "pf", "ps"), PERSON),
    **dict.fromkeys(("Company", "School", "Government", "Show_Organization", "I"), ORGANIZATION),
    **dict.fromkeys(("City", "Country", "Province", "Station", "Facility_Other", "GOE_Other", "G"), GEO),
}

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class NameAt:
    """A name in a text, and its type."""

    span: Span
    type: str


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int
    #: Whether only a blank, or the stop of a title or an initial, is between it and the word before.
    follows: bool
    first: bool

    @property
    def capital(self) -> bool:
        return self.text[0].isupper()


def has_capitals(text: str) -> bool:
    """Return whether a text is written in letters that have capitals, as Chinese and Arabic ones have not."""
    letters = sum(map(str.isalpha, text))
    return letters > 0 and len(_CASED.findall(text)) >= _MOSTLY * letters


def readable_sentences(text: str) -> list[Span]:
    """Return the sentences of a text outside of its code blocks."""
    blocks = code_blocks(text)
    return [
        span
        for span in sentence_spans(text)
        if not any(block.start <= span.start < block.end for block in blocks)
    ]


def names_by_capitals(text: str, sentences: Sequence[Span], language: str) -> list[list[NameAt]]:
    """Return the names of each sentence: runs of capitalised words.

    The first word of a sentence begins a name where it has a capital elsewhere, too, or another capitalised
    word follows it. In German, where all nouns have capitals, a name has at least two words or stands
    behind a title, and at the beginning of a sentence its last word is that of a name elsewhere. Those
    behind a title are of the type PERSON, others CONCEPT.

    Args:
        text: of which ``sentences`` are parts.
        sentences: their ranges.
        language: ISO 639 code.
    """
    parts = [_words(text, span) for span in sentences]
    small = {word.text.lower() for word in chain(*parts) if not word.capital}
    empty = FUNCTION_WORDS.get(language, frozenset()) | (small - _TITLES)
    runs = [list(_runs(words, empty, joined=language not in _CAPITAL_NOUNS)) for words in parts]
    inside = [run for run in chain(*runs) if not run[0].first]
    fewest = 2 if language in _CAPITAL_NOUNS else 1
    sure = {word.text for run in inside if len(run) >= fewest for word in (run[-1:] if fewest > 1 else run)}
    return [
        [
            NameAt(Span(run[0].start, run[-1].end), PERSON if _is_titled(words, run) else CONCEPT)
            for run in found
            if _is_titled(words, run)
            or (
                len(run) >= fewest
                and (not run[0].first or run[-1].text in sure or (fewest == 1 and len(run) > 1))
            )
        ]
        for words, found in zip(parts, runs, strict=True)
    ]


def names_by_recogniser(nlp: "Language", text: str, sentences: Sequence[Span]) -> list[list[NameAt]]:
    """Return the names of each sentence that a spaCy pipeline recognises; dates and numbers are none.

    Args:
        nlp: with an entity recogniser.
        text: of which ``sentences`` are parts.
        sentences: their ranges.
    """
    found: list[list[NameAt]] = []
    for span in sentences:
        doc = nlp(text[span.start : span.end].translate(_BLANKS))
        found.append(
            [
                NameAt(Span(span.start + one.start_char, span.start + one.end_char), _RECOGNISED[one.label_])
                for one in doc.ents
                if one.label_ in _RECOGNISED
            ]
        )
    return found


def _words(text: str, sentence: Span) -> list[_Word]:
    words: list[_Word] = []
    for match in _WORD.finditer(text, sentence.start, sentence.end):
        gap = text[words[-1].end : match.start()] if words else ""
        short = bool(words) and (words[-1].text.lower() in _TITLES or len(words[-1].text) == 1)
        follows = gap in (" ", "\n") or (short and gap == ". ")
        words.append(_Word(match[0], *match.span(), follows=follows, first=not words))
    return words


def _runs(words: Sequence[_Word], empty: Set[str], *, joined: bool) -> Iterator[list[_Word]]:
    """Yield runs of capitalised words, without titles and leading function words.

    Args:
        words: of a sentence.
        empty: words that are no names for their capital, in lower case.
        joined: whether a small word such as "del" may be inside of a name.
    """
    run: list[_Word] = []
    for place, word in enumerate(words):
        if run and (not word.follows or run[-1].text.lower() in _TITLES):
            yield from _named(run)
            run = []
        begins = word.text.lower() not in empty and word.text.lower() not in _TITLES
        if (word.capital and (run or begins)) or (joined and run and _joins(run, words, place)):
            run.append(word)
        else:
            yield from _named(run)
            run = []
    yield from _named(run)


def _joins(run: Sequence[_Word], words: Sequence[_Word], place: int) -> bool:
    """Whether a small word, or two, lead from the first word of a name to a capitalised one."""
    if len(run) > 1 and run[-1].text not in _INSIDE:
        return False
    after = list(takewhile(lambda word: word.follows, words[place : place + 3]))
    small = next((number for number, word in enumerate(after) if word.capital), 0)
    return small > 0 and all(word.text in _INSIDE for word in after[:small])


def _named(run: list[_Word]) -> Iterator[list[_Word]]:
    while run and (not run[-1].capital or run[-1].text.lower() in _TITLES):
        run = run[:-1]
    if run and len(run) <= _MOST_WORDS and max(len(word.text) for word in run) >= _FEWEST_LETTERS:
        yield run


def _is_titled(words: Sequence[_Word], run: Sequence[_Word]) -> bool:
    place = words.index(run[0])
    return place > 0 and run[0].follows and words[place - 1].text.lower() in _TITLES


def records_of(
    text: str, sentences: Sequence[Span], names: Sequence[Sequence[NameAt]]
) -> tuple[tuple[EntityInstance, ...], tuple[RelationshipInstance, ...]]:
    """Return the entities, and as relations the pairs that share a sentence.

    An entity has the type that most of its mentions have, and as its description the first whole sentence
    that names it.

    Args:
        text: of the unit.
        sentences: their ranges in it.
        names: of each sentence.
    """
    mentions: dict[str, list[tuple[NameAt, Span]]] = {}
    relations: list[RelationshipInstance] = []
    for sentence, inside in zip(sentences, names, strict=True):
        here: list[str] = []
        for one in inside:
            name = normalise(text[one.span.start : one.span.end])
            mentions.setdefault(name, []).append((one, sentence))
            here.append(name)
        written = _written(text, sentence)
        relations += (
            RelationshipInstance(
                source,
                target,
                written,
                TOGETHER_STRENGTH,
                "co_occurrence",
                spans=(sentence,),
                relation=CO_OCCURS,
            )
            for source, target in sorted(pairs_together(here), key=lambda pair: tuple(map(here.index, pair)))
        )
    return tuple(_entity(text, name, found) for name, found in mentions.items()), tuple(relations)


def _entity(text: str, name: str, found: Sequence[tuple[NameAt, Span]]) -> EntityInstance:
    types = [one.type for one, _ in found]
    told = [_written(text, sentence) for _, sentence in found]
    described = next(
        (one for one in told if len(one.split()) >= _FEWEST_WORDS and not one.endswith("?")), told[0]
    )
    first = found[0][0].span
    return EntityInstance(
        name,
        clean(text[first.start : first.end]),
        max(sorted(set(types)), key=lambda kind: (kind != CONCEPT, types.count(kind))),
        described,
        spans=tuple(one.span for one, _ in found),
    )


def _written(text: str, sentence: Span) -> str:
    return " ".join(text[sentence.start : sentence.end].split())


def pairs_together(entities: Sequence[E]) -> set[tuple[E, E]]:
    """Return the pairs of what one sentence names, each as it comes first.

    In sentences with more than eight each is paired with its next three only.
    """
    distinct = list(dict.fromkeys(entities))
    if len(distinct) <= _ALL_PAIRS:
        return set(combinations(distinct, 2))
    return {
        (entity, other)
        for place, entity in enumerate(distinct)
        for other in distinct[place + 1 : place + 1 + _NEIGHBOURS]
    }

"""The entities of a unit, each with its mentions and the sentence that describes it best."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from graphrag_dagster.engines.extractive.names.canonical_names import NamedEntity, name_entities
from graphrag_dagster.engines.extractive.names.mention_types import root_of
from graphrag_dagster.engines.extractive.names.name_candidates import NameCandidate, find_candidates
from graphrag_dagster.engines.extractive.parsing import type_lexicon as lexicon
from graphrag_dagster.engines.extractive.parsing.sentence_reading import ReadableText
from graphrag_dagster.engines.extractive.parsing.spacy_pipeline import Lemmas, Tokens
from graphrag_dagster.kernel.tasks.task_ports import EntityInstance
from graphrag_dagster.kernel.text.english_words import STOP_WORDS
from graphrag_dagster.kernel.text.text_similarity import clean, normalise

_NOUNS = frozenset({"NN", "NNS", "NNP", "NNPS"})
_INSIDE = _NOUNS | {"JJ", "HYPH"}
_NEVER_LAST = frozenset({"JJ", "HYPH"})
_MOST_WORDS = 6


def find_noun_phrases(
    tokens: Tokens, reading: ReadableText, named: Iterable[NamedEntity], lemmas: Lemmas
) -> list[NamedEntity]:
    """Return runs of nouns and adjectives that end in a noun, in the order of first mention.

    A run ends where a name begins. The last word is in the singular, so that "virus" and "viruses" are one
    entity, of the type CONCEPT.
    """
    taken = {
        place for one in named for mention in one.mentions for place in range(mention.first, mention.last)
    }
    found: dict[str, NamedEntity] = {}
    for first, last in _runs(tokens, taken):
        surface = _surface(tokens, reading, first, last, lemmas)
        name = normalise(surface)
        if len(name) > 1 and name.lower() not in STOP_WORDS:
            entity = found.setdefault(name, NamedEntity(name, surface, lexicon.CONCEPT, []))
            entity.mentions.append(NameCandidate(first, last, None, 2))
    return list(found.values())


def _runs(tokens: Tokens, taken: set[int]) -> Iterator[tuple[int, int]]:
    first = 0
    while first < len(tokens):
        last = first
        while last < len(tokens) and _continues(tokens, first, last, taken):
            last += 1
        after = last + 1
        while last > first and tokens.tags[last - 1] in _NEVER_LAST:
            last -= 1
        if first < last <= first + _MOST_WORDS:
            yield first, last
        first = after


def _continues(tokens: Tokens, first: int, place: int, taken: set[int]) -> bool:
    if place in taken or tokens.sentences[place] != tokens.sentences[first]:
        return False
    if tokens.tags[place] == "HYPH":
        return place > first
    return tokens.tags[place] in _INSIDE and any(map(str.isalpha, tokens.words[place]))


def _surface(tokens: Tokens, reading: ReadableText, first: int, last: int, lemmas: Lemmas) -> str:
    before = reading.text[tokens.begins[first] : tokens.begins[last - 1]]
    word = tokens.words[last - 1]
    return clean(before + (lemmas.of(word, "NOUN") if tokens.tags[last - 1] == "NNS" else word))


_FINITE = frozenset({"VBD", "VBZ", "VBP", "MD"})
_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_COPULAS = frozenset({"is", "was", "are", "were", "became"})
_READABLE_WORDS = range(6, 46)


@dataclass(frozen=True, slots=True)
class EntityMention:
    """Words ``first`` … ``last - 1`` name entity number ``entity``; the others hang on ``root``."""

    entity: int
    first: int
    last: int
    root: int


@dataclass(frozen=True, slots=True)
class UnitEntity:
    """The entities of a unit and where they are named, by sentence and in the order of the text.

    Those from number ``names`` on are noun phrases.
    """

    entities: tuple[EntityInstance, ...]
    mentions: dict[int, list[EntityMention]]
    names: int


def find_entities(tokens: Tokens, reading: ReadableText, phrases: Lemmas | None = None) -> UnitEntity:
    """Return the named things of a parsed unit; types as in :mod:`..parsing.type_lexicon`.

    With ``phrases``, which knows singulars, its noun phrases come behind them.

    The description of an entity is a sentence of the unit that names it: one that is complete, has the
    entity as its subject, and is neither a scrap nor a page long, if there is one.
    """
    named = name_entities(tokens, reading, find_candidates(tokens, reading))
    names = len(named)
    if phrases:
        known = {one.name for one in named}
        found = find_noun_phrases(tokens, reading, named, phrases)
        named += [one for one in found if one.name not in known]
    finite = {sentence for sentence, tag in zip(tokens.sentences, tokens.tags, strict=True) if tag in _FINITE}
    mentions: dict[int, list[EntityMention]] = defaultdict(list)
    instances = []
    for number, entity in enumerate(named):
        for candidate in entity.mentions:
            root = root_of(tokens, candidate.first, candidate.last)
            mention = EntityMention(number, candidate.first, candidate.last, root)
            mentions[tokens.sentences[candidate.first]].append(mention)
        instances.append(_instance(tokens, reading, entity, finite))
    for inside in mentions.values():
        inside.sort(key=lambda mention: mention.first)
    return UnitEntity(tuple(instances), dict(mentions), names)


def _instance(tokens: Tokens, reading: ReadableText, entity: NamedEntity, finite: set[int]) -> EntityInstance:
    best = max(
        entity.mentions,
        key=lambda mention: (_worth(tokens, reading, mention, finite), -mention.first),
    )
    description = reading.sentences[tokens.sentences[best.first]].written
    spans = [reading.span(tokens.begins[one.first], tokens.ends[one.last - 1]) for one in entity.mentions]
    return EntityInstance(entity.name, entity.surface, entity.type, description, spans=tuple(sorted(spans)))


def _worth(tokens: Tokens, reading: ReadableText, mention: NameCandidate, finite: set[int]) -> int:
    number = tokens.sentences[mention.first]
    sentence = reading.sentences[number]
    begins_well = sentence.written[:1].isupper() or not sentence.written[:1].isalnum()
    complete = number in finite and sentence.running and sentence.ended and begins_well
    root = root_of(tokens, mention.first, mention.last)
    subject = tokens.deps[root] in _SUBJECTS
    told = subject and tokens.words[tokens.heads[root]].lower() in _COPULAS
    readable = len(sentence.written.split()) in _READABLE_WORDS
    question = sentence.written.endswith("?")
    long_form = mention.last - mention.first > 1
    return 8 * complete + 4 * readable + 3 * subject + 2 * told - 2 * question + long_form

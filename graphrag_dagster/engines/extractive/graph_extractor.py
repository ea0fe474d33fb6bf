"""Entities and relationships without a model: by grammar, else by co-occurrence."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from graphrag_dagster.engines.extractive.names.entity_mentions import EntityMention, UnitEntity, find_entities
from graphrag_dagster.engines.extractive.names.names_without_parser import (
    TOGETHER_STRENGTH,
    NameAt,
    has_capitals,
    names_by_capitals,
    names_by_recogniser,
    pairs_together,
    readable_sentences,
    records_of,
)
from graphrag_dagster.engines.extractive.parsing.language_detection import (
    name_of,
    other_language,
    unreadable_reason,
)
from graphrag_dagster.engines.extractive.parsing.sentence_reading import ReadableText, read
from graphrag_dagster.engines.extractive.parsing.spacy_pipeline import (
    DEFAULT_PIPELINE,
    Lemmas,
    Tokens,
    map_units,
    parse_all,
)
from graphrag_dagster.kernel.graph.graph_labels import CO_OCCURS, RELATED_TO, relation_label
from graphrag_dagster.kernel.tasks.task_ports import Engine, RelationshipInstance, TextUnit, UnitExtraction
from graphrag_dagster.kernel.text.languages import ENGLISH

if TYPE_CHECKING:
    from spacy.language import Language

    from graphrag_dagster.kernel.text.markup_spans import Span


#: Behind a verb, at most so many words lead to its object; of more only the last is told.
_LONGEST_PATH = 3
#: Words around a verb among which its negation and its particle are.
_AROUND = 4
_IDENTITY = "be"
_BELONGS = "of"
_BELONGING = frozenset({"poss", "compound", "nmod", "amod"})


class RelationLabels:
    """Makes labels of words of a unit. A path is the prepositions, and the nouns that they hang on, from a
    name up to what it belongs to.
    """

    def __init__(self, tokens: Tokens, lemmas: Lemmas) -> None:
        self._tokens = tokens
        self._lemmas = lemmas

    def of_verb(self, verb: int, path: Sequence[int]) -> str:
        """Return what a verb says of its subject and what is at the end of the path: ``depend_on``,
        ``become_director_of``, ``not_take_over``.
        """
        negated = ["not"] if self._nearest_label(verb, "neg") is not None else []
        particle = self._nearest_label(verb, "prt")
        base = self._lemmas.of(self._tokens.words[verb], "VERB")
        whole = [base] if particle is None else [base, self._tokens.words[particle]]
        told = path if len(path) <= _LONGEST_PATH else path[:1]
        return _label([*negated, *whole, *self._normalised_words(told)])

    def of_noun(self, dependency: str, path: Sequence[int]) -> str:
        """Return how a name belongs to another without a verb: ``ceo_of``, ``in``, ``of`` and ``be``.

        Args:
            dependency: of the name, where the path is empty.
            path: to the other name.
        """
        if path:
            return _label(self._normalised_words(path))
        if dependency == "appos":
            return _IDENTITY
        return _BELONGS if dependency in _BELONGING else RELATED_TO

    def of_holder(self, noun: int) -> str:
        """Return what a name is to another by a noun between them: ``ceo_of``."""
        return _label([*self._normalised_words([noun]), _BELONGS])

    def _normalised_words(self, path: Sequence[int]) -> list[str]:
        tokens = self._tokens
        return [
            self._lemmas.of(tokens.words[place], "NOUN")
            if tokens.tags[place].startswith("NN")
            else tokens.words[place]
            for place in reversed(path)
        ]

    def _nearest_label(self, verb: int, dependency: str) -> int | None:
        tokens = self._tokens
        around = range(max(0, verb - _AROUND), min(len(tokens), verb + _AROUND + 1))
        found = (one for one in around if tokens.deps[one] == dependency and tokens.heads[one] == verb)
        return next(found, None)


def _label(words: Sequence[str]) -> str:
    return relation_label(" ".join(words)) or RELATED_TO


#: Strength of a relation that the grammar states.
VERB_STRENGTH: Final = 2.0

_SUBJECTS = frozenset({"nsubj", "nsubjpass", "csubj"})
_OBJECTS = frozenset({"dobj", "obj", "attr", "dative", "oprd", "agent"})
_VERBS = frozenset({"VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD"})
_CLIMBED = frozenset({"pobj", "pcomp", "conj", "appos", "prep", "agent"})
_PREPOSITIONS = frozenset({"prep", "agent", "dative"})
_OF_NOUN = frozenset({"poss", "compound", "nmod", "amod"})
_SHARES_SUBJECT = frozenset({"xcomp", "conj", "advcl"})
_RELATIVES = frozenset({"who", "which", "that", "whom"})
_MOST_STEPS = 40

#: Source, target and label.
_Stated = tuple[int, int, str]


def find_relations(
    tokens: Tokens, reading: ReadableText, found: UnitEntity, lemmas: Lemmas
) -> tuple[RelationshipInstance, ...]:
    """Return one record per pair of entities and sentence, sentences and pairs in the order of the text.

    A grammatical relation (``basis`` verb, directed from subject to object) wins over co-occurrence. In
    sentences with more than eight entities each is paired with its next three only, so that a list of
    n names gives 3n records and not n². Noun phrases are related by the grammar alone. The description is
    the sentence, the span its place in the unit. The label is what the verb or noun between them says.
    """
    grammar = _Grammar(tokens, RelationLabels(tokens, lemmas))
    records = []
    for number in sorted(found.mentions):
        mentions = found.mentions[number]
        if len({mention.entity for mention in mentions}) < 2:
            continue
        sentence = reading.sentences[number]
        stated = {frozenset(one[:2]): one for one in reversed(list(grammar.relations(mentions)))}
        names = [mention for mention in mentions if mention.entity < found.names]
        first = {mention.entity: mention.first for mention in reversed(mentions)}
        pairs = pairs_together([mention.entity for mention in names]) | {
            (one, other) if first[one] < first[other] else (other, one) for one, other, _ in stated.values()
        }
        for pair in sorted(pairs, key=lambda pair: (first[pair[0]], first[pair[1]])):
            verb = stated.get(frozenset(pair))
            source, target = (found.entities[end] for end in (verb[:2] if verb else pair))
            records.append(
                RelationshipInstance(
                    source.name,
                    target.name,
                    sentence.written,
                    VERB_STRENGTH if verb else TOGETHER_STRENGTH,
                    "verb" if verb else "co_occurrence",
                    spans=(sentence.span,),
                    relation=verb[2] if verb else CO_OCCURS,
                )
            )
    return tuple(records)


class _Grammar:
    """Finds pairs that the parse of a sentence relates."""

    def __init__(self, tokens: Tokens, labels: RelationLabels) -> None:
        self._tokens = tokens
        self._labels = labels

    def relations(self, mentions: Sequence[EntityMention]) -> Iterator[_Stated]:
        """Yield source, target and label; the first of several relations of a pair is the surest."""
        mentions = [mention for mention in mentions if not self._is_label(mention)]
        at = {place: mention for mention in mentions for place in range(mention.first, mention.last)}
        apposed = {self._tokens.heads[m.root]: m for m in mentions if self._tokens.deps[m.root] == "appos"}
        subjects: dict[int, list[int]] = defaultdict(list)
        others: dict[int, list[tuple[int, str]]] = defaultdict(list)
        appositions: list[_Stated] = []
        for mention in mentions:
            role, verb, path = self._role(mention, at, apposed, appositions)
            if role == "subject":
                subjects[verb].append(mention.entity)
            elif role == "object":
                others[verb].append((mention.entity, self._labels.of_verb(verb, path)))
        taken = self._with_subject(mentions) if others else {}
        for verb, entities in others.items():
            for source in self._subjects_of(verb, subjects, at, taken):
                yield from ((source, target, label) for target, label in entities if source != target)
        yield from (one for one in appositions if one[0] != one[1])

    def _described_by(
        self,
        noun: int,
        mention: EntityMention,
        at: dict[int, EntityMention],
        apposed: dict[int, EntityMention],
    ) -> list[_Stated]:
        """Relate a mention to who the noun it belongs to stands for: "Apple CEO Tim Cook"."""
        tokens = self._tokens
        named = apposed.get(noun)
        if not named and tokens.deps[noun] in {"compound", "nmod", "appos"}:
            named = at.get(tokens.heads[noun])
        if not named or named is mention:
            return []
        return [(named.entity, mention.entity, self._labels.of_holder(noun))]

    def _role(
        self,
        mention: EntityMention,
        at: dict[int, EntityMention],
        apposed: dict[int, EntityMention],
        appositions: list[_Stated],
    ) -> tuple[str, int, list[int]]:
        """Climb from a mention to the verb it serves; note in ``appositions`` a mention met on the way.

        A possessor or modifier of another word is not that word and gets no role: in "three former Apple
        engineers founded X" the engineers did. What hangs on a preposition of an object keeps the role:
        who "became director of X" has to do with X. Of a subject it does not. The third value is the path
        that was climbed: prepositions, and the nouns that they hang on.
        """
        tokens, place, borrowed = self._tokens, mention.root, False
        path: list[int] = []
        for _ in range(_MOST_STEPS):
            dep, head = tokens.deps[place], tokens.heads[place]
            other = at.get(head)
            hangs = dep in _PREPOSITIONS and place != mention.root
            path += [place] if hangs else []
            if other and other is not mention and dep != "conj":
                appositions.append((other.entity, mention.entity, self._labels.of_noun(dep, path)))
                break
            if dep in _SUBJECTS and not borrowed:
                return "subject", head, path
            to_verb = tokens.tags[head] in _VERBS
            if to_verb and dep in _OBJECTS | {"prep"}:
                return "object", head, path
            path += [head] if hangs else []
            if dep in _OF_NOUN:
                appositions += self._described_by(head, mention, at, apposed)
            if dep not in _CLIMBED or head == place:
                break
            borrowed = borrowed or dep in {"prep", "agent"}
            place = head
        return "", -1, path

    def _is_label(self, mention: EntityMention) -> bool:
        """Whether the mention says who speaks, so that the parse around it means nothing."""
        tokens = self._tokens
        return tokens.same_sentence(mention.last, mention.first) and tokens.words[mention.last] == ":"

    def _with_subject(self, mentions: Sequence[EntityMention]) -> dict[int, int]:
        """Return verb → its own subject word, for the verbs of the sentence."""
        tokens = self._tokens
        first, last = mentions[0].first, mentions[-1].last
        sentence = tokens.sentences[first]
        while first and tokens.sentences[first - 1] == sentence:
            first -= 1
        while last < len(tokens) and tokens.sentences[last] == sentence:
            last += 1
        return {tokens.heads[place]: place for place in range(first, last) if tokens.deps[place] in _SUBJECTS}

    def _subjects_of(
        self, verb: int, subjects: dict[int, list[int]], at: dict[int, EntityMention], taken: dict[int, int]
    ) -> list[int]:
        """Return who does what the verb says, followed through the verbs that share a subject."""
        tokens = self._tokens
        for _ in range(_MOST_STEPS):
            if subjects.get(verb):
                return subjects[verb]
            own = taken.get(verb)
            relative = own is not None and tokens.words[own].lower() in _RELATIVES
            if own is not None and not relative:
                return []
            dep, head = tokens.deps[verb], tokens.heads[verb]
            if dep in {"relcl", "acl"}:
                return [at[head].entity] if head in at else []
            if dep not in _SHARES_SUBJECT or head == verb or tokens.tags[head] not in _VERBS:
                return []
            verb = head
        return []


class ExtractiveGraphExtractor:
    """Finds named things and their relations with spaCy and rules; a unit's result depends on it alone.

    Args:
        pipeline: an installed spaCy pipeline for English with tagger, parser and entity recogniser, or one
            for another language with an entity recogniser.
        processes: worker processes; 0 chooses one for small corpora, else one per processor, at most 8.
        languages: ISO 639 codes of those that the pipeline reads; of none: every unit is read by it.
        noun_phrases: noun phrases that are no names are entities too.
    """

    engine: Final[Engine] = "extractive"

    def __init__(
        self,
        pipeline: str = DEFAULT_PIPELINE,
        processes: int = 0,
        languages: Sequence[str] = (ENGLISH,),
        *,
        noun_phrases: bool = False,
    ) -> None:
        self._pipeline = pipeline
        self._processes = processes
        self._languages = tuple(languages)
        self._noun_phrases = noun_phrases

    def extract(self, units: Sequence[TextUnit]) -> Iterator[UnitExtraction]:
        """Yield one extraction per unit, in the order of ``units``: extracted, empty or unreadable.

        A unit in a language that the pipeline does not read has names by capital letters, and relations of
        those that share a sentence; in a script without capitals it is unreadable.

        Types are PERSON, ORGANIZATION, GEO and EVENT where they fit, else LAW, WORK, PRODUCT, VESSEL, and
        CONCEPT for other capitalised terms and for noun phrases. Dates, numbers and peoples are no entities.

        Raises:
            EngineError: the pipeline is not installed or unfit, or a worker process died.
        """
        return map_units(
            partial(extract_side_by_side, languages=self._languages, noun_phrases=self._noun_phrases),
            units,
            stage_name="Extracting entities and relationships",
            pipeline=self._pipeline,
            processes=self._processes,
        )


def extract_side_by_side(
    nlp: "Language",
    units: Sequence[TextUnit],
    languages: Sequence[str] = (ENGLISH,),
    *,
    noun_phrases: bool = False,
) -> list[UnitExtraction]:
    """Extract units with a loaded pipeline, each as it would be alone."""
    if nlp.lang != ENGLISH:
        return [_extract_by_recogniser(nlp, unit, languages) for unit in units]
    readings = [_read_unit(unit, languages) for unit in units]
    parsed = iter(parse_all(nlp, [one for one in readings if isinstance(one, ReadableText)]))
    lemmas = Lemmas(nlp)
    return [
        _extract(unit, one, next(parsed), lemmas, noun_phrases=noun_phrases)
        if isinstance(one, ReadableText)
        else one
        for unit, one in zip(units, readings, strict=True)
    ]


def _read_unit(unit: TextUnit, languages: Sequence[str]) -> ReadableText | UnitExtraction:
    reading = read(unit.text)
    if not reading.text.strip():
        return UnitExtraction(unit.id, "empty", reason="no text")
    if other := other_language(unit.text, languages):
        return _extract_by_capitals(unit, other, languages)
    return reading


def _extract_by_capitals(unit: TextUnit, language: str, languages: Sequence[str]) -> UnitExtraction:
    """Extract a unit in a language that the pipeline does not read."""
    if not has_capitals(unit.text):
        return UnitExtraction(unit.id, "unreadable", reason=unreadable_reason(unit.text, languages))
    sentences = readable_sentences(unit.text)
    names = names_by_capitals(unit.text, sentences, language)
    return _extract_names(
        unit, sentences, names, f"written in {name_of(language)}; names by capital letters alone"
    )


def _extract_by_recogniser(nlp: "Language", unit: TextUnit, languages: Sequence[str]) -> UnitExtraction:
    """Extract a unit with a pipeline for another language than English, whose grammar no rule knows."""
    if not unit.text.strip():
        return UnitExtraction(unit.id, "empty", reason="no text")
    if other := other_language(unit.text, languages):
        return _extract_by_capitals(unit, other, languages)
    sentences = readable_sentences(unit.text)
    names = names_by_recogniser(nlp, unit.text, sentences)
    return _extract_names(
        unit, sentences, names, f"names by the {name_of(str(nlp.lang))} spaCy pipeline, no grammar"
    )


def _extract_names(
    unit: TextUnit, sentences: "Sequence[Span]", names: Sequence[Sequence[NameAt]], how: str
) -> UnitExtraction:
    entities, relations = records_of(unit.text, sentences, names)
    if not entities:
        return UnitExtraction(unit.id, "empty", reason="no names found")
    return UnitExtraction(unit.id, "extracted", how, entities=entities, relationships=relations)


def _extract(
    unit: TextUnit, reading: ReadableText, tokens: Tokens, lemmas: Lemmas, *, noun_phrases: bool
) -> UnitExtraction:
    found = find_entities(tokens, reading, lemmas if noun_phrases else None)
    if not found.entities:
        return UnitExtraction(unit.id, "empty", reason="no names found")
    relations = find_relations(tokens, reading, found, lemmas)
    return UnitExtraction(unit.id, "extracted", entities=found.entities, relationships=relations)

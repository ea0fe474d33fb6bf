"""Claims without a model: sentences in which a known entity acts or has a number."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from graphrag_dagster.engines.extractive.names.entity_mentions import find_entities
from graphrag_dagster.engines.extractive.parsing.language_detection import unreadable_reason
from graphrag_dagster.engines.extractive.parsing.sentence_reading import ReadableText, read
from graphrag_dagster.engines.extractive.parsing.spacy_pipeline import (
    DEFAULT_PIPELINE,
    Tokens,
    map_units,
    parse_all,
)
from graphrag_dagster.kernel.tasks.task_ports import ClaimInstance, Engine, TextUnit, UnitExtraction
from graphrag_dagster.kernel.text.english_words import word_set
from graphrag_dagster.kernel.text.languages import ENGLISH
from graphrag_dagster.kernel.text.periods import periods_in
from graphrag_dagster.kernel.text.text_similarity import normalise

if TYPE_CHECKING:
    from spacy.language import Language


#: Before a year; other numbers of four digits count something.
_YEAR_BEFORE = re.compile(
    r"\b(?:in|since|from|until|till|by|of|during|before|after|between|and|to|early|late|mid|year|around|about|"
    r"circa|c\.|for|the)\s*[-–]?\s*\Z|[(–-]\Z|\A\W*\Z",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s*(?:to|until|till|and|through|[-–—])\s*\Z", re.IGNORECASE)
#: Characters of a date by which days, months and years are told.
_PRECISION = {"day": 10, "month": 7, "year": 4, "years": 4}


def stated_period(sentence: str) -> tuple[str | None, str | None]:
    """Return the first and last date of the one period that a sentence names; None for what it leaves open.

    A single date is both. Days, months and years give ``2021-09-27``, ``2021-09`` and ``2021``. Two dates
    that are no range leave the period open, and so do numbers that may be no years.

    >>> stated_period("The plan was signed on 29 September 2021.")
    ('2021-09-29', '2021-09-29')
    >>> stated_period("She has been a member since 1997.")
    ('1997', None)
    """
    found = [
        one
        for one in periods_in(sentence)
        if one.form in _PRECISION and (one.form != "year" or _YEAR_BEFORE.search(sentence[: one.start]))
    ]
    if not 1 <= len(found) <= 2:
        return None, None
    first, last = found[0], found[-1]
    start = first.period.start.isoformat()[: _PRECISION[first.form]]
    end = last.period.end.isoformat()[: _PRECISION[last.form]]
    before = sentence[: first.start].rstrip().casefold()
    if len(found) == 2 or first.form == "years":
        joined = first is last or _RANGE.match(sentence[first.end : last.start])
        return (start, end) if joined and start <= end else (None, None)
    if before.endswith(("since", "from")):
        return start, None
    return None if before.endswith(("until", "till")) else start, end


_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_OBJECTS = frozenset({"dobj", "obj", "dative", "attr", "oprd"})
_NUMBERS = frozenset({"DATE", "TIME", "MONEY", "PERCENT", "QUANTITY", "CARDINAL", "ORDINAL"})
_STATES = word_set(
    """
    be have seem know think feel want like love hope believe mean need wish understand look appear
    remain belong contain include consist depend matter exist sound guess suppose do get go let
    """
)
_HEDGES = word_set(
    """
    may might could allegedly reportedly apparently perhaps possibly probably presumably supposedly
    seemingly likely alleged suspected accused rumoured rumored
    """
)
_DOUBTING = word_set(
    """
    allege suspect accuse believe assume suppose think claim guess fear deny doubt speculate suggest
    expect appear seem dispute wonder
    """
)
_MOST_STEPS = 20

#: A unit and the names of the entities found in it.
_Item = tuple[TextUnit, tuple[str, ...]]
_Status = Literal["TRUE", "FALSE", "SUSPECTED"]


class ExtractiveClaimExtractor:
    """Finds sentences that say what an entity did, when, or how much; it weighs no truth.

    Args:
        pipeline: an installed spaCy pipeline for English with tagger, lemmatizer, parser and recogniser.
        processes: worker processes; 0 chooses one for small corpora, else one per processor, at most 8.
        languages: ISO 639 codes of those whose units are read; of none: every unit is.
    """

    engine: Final[Engine] = "extractive"

    def __init__(
        self,
        pipeline: str = DEFAULT_PIPELINE,
        processes: int = 0,
        languages: Sequence[str] = (ENGLISH,),
    ) -> None:
        self._pipeline = pipeline
        self._processes = processes
        self._languages = tuple(languages)

    def extract_claims(
        self, units: Sequence[TextUnit], names: Sequence[Sequence[str]]
    ) -> Iterator[UnitExtraction]:
        """Yield one extraction per unit, with claims only. ``names[i]``: entities found in unit i.

        A claim is a verb whose subject is a known entity, in a statement, where the verb is an action or
        the sentence has a number or date. ``type`` is the verb's lemma; ``status`` is FALSE where the verb
        is negated, SUSPECTED where it is hedged or said to be believed, else TRUE, all as the text has it.

        Raises:
            EngineError: the pipeline is not installed or unfit, or a worker process died.
        """
        items = [(unit, tuple(known)) for unit, known in zip(units, names, strict=True)]
        return map_units(
            partial(claims_side_by_side, languages=self._languages),
            items,
            stage_name="Extracting claims",
            pipeline=self._pipeline,
            processes=self._processes,
            lemmas=True,
        )


def claims_side_by_side(
    nlp: "Language", items: Sequence[_Item], languages: Sequence[str] = (ENGLISH,)
) -> list[UnitExtraction]:
    """Extract the claims about known entities of units with a loaded pipeline, each as it would be alone.

    With a pipeline for another language than English there are none.
    """
    if nlp.lang != ENGLISH:
        return [
            UnitExtraction(unit.id, "unreadable", reason="the rules for claims read English")
            for unit, _ in items
        ]
    readings = [_read_unit(unit, known, languages) for unit, known in items]
    parsed = iter(parse_all(nlp, [one for one in readings if isinstance(one, ReadableText)]))
    return [
        _extract(unit, known, one, next(parsed)) if isinstance(one, ReadableText) else one
        for (unit, known), one in zip(items, readings, strict=True)
    ]


def _read_unit(
    unit: TextUnit, known: tuple[str, ...], languages: Sequence[str]
) -> ReadableText | UnitExtraction:
    if other := unreadable_reason(unit.text, languages):
        return UnitExtraction(unit.id, "unreadable", reason=other)
    if not known:
        return UnitExtraction(unit.id, "empty", reason="no entities to make claims about")
    return read(unit.text)


def _extract(unit: TextUnit, known: tuple[str, ...], reading: ReadableText, tokens: Tokens) -> UnitExtraction:
    named = _entity_names_by_word(tokens, reading, frozenset(known))
    claims = tuple(_claims(tokens, reading, named))
    if not claims:
        return UnitExtraction(unit.id, "empty", reason="no claims found")
    return UnitExtraction(unit.id, "extracted", claims=claims)


def _entity_names_by_word(tokens: Tokens, reading: ReadableText, known: frozenset[str]) -> dict[int, str]:
    """Return word → name of the known entity it belongs to: by the rules of this engine, else literally."""
    named: dict[int, str] = {}
    found = find_entities(tokens, reading)
    for mentions in found.mentions.values():
        for mention in mentions:
            name = found.entities[mention.entity].name
            if name in known:
                named.update(dict.fromkeys(range(mention.first, mention.last), name))
    missing = known - set(named.values())
    upper = [normalise(word) for word in tokens.words]
    for name in sorted(missing, key=lambda name: (-len(name), name)):
        parts = name.split()
        for place, word in enumerate(upper):
            if word == parts[0] and upper[place : place + len(parts)] == parts:
                for at in range(place, place + len(parts)):
                    named.setdefault(at, name)
    return named


def _claims(tokens: Tokens, reading: ReadableText, named: dict[int, str]) -> Iterator[ClaimInstance]:
    children: dict[int, list[int]] = defaultdict(list)
    for place, head in enumerate(tokens.heads):
        if head != place:
            children[head].append(place)
    numbered = {
        sentence for sentence, label in zip(tokens.sentences, tokens.labels, strict=True) if label in _NUMBERS
    }
    seen: set[tuple[str, int]] = set()
    for place in sorted(named):
        verb = tokens.heads[place]
        sentence = reading.sentences[tokens.sentences[place]]
        if tokens.deps[place] not in _SUBJECTS or not tokens.tags[verb].startswith("VB"):
            continue
        if not sentence.running or not sentence.ended or sentence.written.rstrip("\"'”’)").endswith("?"):
            continue
        lemma = (tokens.lemmas[verb] or tokens.words[verb]).lower()
        acts = lemma not in _STATES
        if (not acts and tokens.sentences[place] not in numbered) or (named[place], verb) in seen:
            continue
        seen.add((named[place], verb))
        start, end = stated_period(sentence.written)
        yield ClaimInstance(
            named[place],
            _object(tokens, children, verb, named, named[place]),
            re.sub(r"\W+", "_", lemma).strip("_").upper() or "STATE",
            _status(tokens, children, verb),
            sentence.written,
            start,
            end,
            spans=(sentence.span,),
        )


def _object(
    tokens: Tokens, children: dict[int, list[int]], verb: int, named: dict[int, str], subject: str
) -> str | None:
    """Return the known entity that is the object of a verb, else one behind its prepositions."""
    direct = [child for child in children[verb] if tokens.deps[child] in _OBJECTS]
    behind = [
        below
        for child in children[verb]
        if tokens.deps[child] in {"prep", "agent", "dative"}
        for below in children[child]
        if tokens.deps[below] == "pobj"
    ]
    return next((named[at] for at in direct + behind if named.get(at, subject) != subject), None)


def _status(tokens: Tokens, children: dict[int, list[int]], verb: int) -> _Status:
    if any(tokens.deps[child] == "neg" for child in children[verb]):
        return "FALSE"
    around = {tokens.words[child].lower() for child in children[verb]} | {tokens.words[verb].lower()}
    if around & _HEDGES:
        return "SUSPECTED"
    if any(tokens.words[child].lower() == "according" for child in children[verb]):
        return "SUSPECTED"
    if tokens.lemmas[verb] in {"allege", "suspect", "accuse"}:
        return "SUSPECTED"
    for _ in range(_MOST_STEPS):
        head = tokens.heads[verb]
        if head == verb or tokens.deps[verb] not in {"ccomp", "xcomp", "conj"}:
            break
        if tokens.deps[verb] != "conj" and tokens.lemmas[head] in _DOUBTING:
            return "SUSPECTED"
        verb = head
    return "TRUE"

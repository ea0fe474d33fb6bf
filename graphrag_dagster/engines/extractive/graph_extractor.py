"""Entities and relationships without a model (spec_graphrag §12)."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from graphrag_dagster.engines.extractive.names.mentions import find_entities
from graphrag_dagster.engines.extractive.parsing.languages import ENGLISH, unreadable
from graphrag_dagster.engines.extractive.parsing.pipeline import DEFAULT_PIPELINE, Lemmas, Tokens, parse_all
from graphrag_dagster.engines.extractive.parsing.reading import Reading, read
from graphrag_dagster.engines.extractive.parsing.workers import map_units
from graphrag_dagster.engines.extractive.relations import find_relations
from graphrag_dagster.kernel.tasks.ports import Engine, TextUnit, UnitExtraction

if TYPE_CHECKING:
    from spacy.language import Language


class ExtractiveGraphExtractor:
    """Finds named things and their relations with spaCy and rules; a unit's result depends on it alone.

    Args:
        pipeline: an installed spaCy pipeline for English with tagger, parser and entity recogniser.
        processes: worker processes; 0 chooses one for small corpora, else one per processor, at most 8.
        languages: ISO 639 codes of those whose units are read; of none: every unit is.
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
    readings = [_readable(unit, languages) for unit in units]
    parsed = iter(parse_all(nlp, [one for one in readings if isinstance(one, Reading)]))
    lemmas = Lemmas(nlp)
    return [
        _extracted(unit, one, next(parsed), lemmas, noun_phrases=noun_phrases)
        if isinstance(one, Reading)
        else one
        for unit, one in zip(units, readings, strict=True)
    ]


def _readable(unit: TextUnit, languages: Sequence[str]) -> Reading | UnitExtraction:
    reading = read(unit.text)
    if not reading.text.strip():
        return UnitExtraction(unit.id, "empty", reason="no text")
    if other := unreadable(unit.text, languages):
        return UnitExtraction(unit.id, "unreadable", reason=other)
    return reading


def _extracted(
    unit: TextUnit, reading: Reading, tokens: Tokens, lemmas: Lemmas, *, noun_phrases: bool
) -> UnitExtraction:
    found = find_entities(tokens, reading, lemmas if noun_phrases else None)
    if not found.entities:
        return UnitExtraction(unit.id, "empty", reason="no names found")
    relations = find_relations(tokens, reading, found, lemmas)
    return UnitExtraction(unit.id, "extracted", entities=found.entities, relationships=relations)

"""Entities by GLiNER and relationships by REBEL, both on this machine."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from graphrag_dagster.engines.extractive.parsing.language_detection import unreadable_reason
from graphrag_dagster.engines.extractive.text_spans import TextPlaces
from graphrag_dagster.engines.neural.gliner_rebel_models import GlinerEntityModel, RebelRelationModel
from graphrag_dagster.engines.neural.rebel_parsing import (
    IncompleteTriple,
    LabelledName,
    ParsedTriples,
    RebelTriple,
    by_name,
    join_mentions,
)
from graphrag_dagster.kernel.common.progress import stage
from graphrag_dagster.kernel.graph.graph_labels import relation_label
from graphrag_dagster.kernel.tasks.task_ports import (
    UNKNOWN_TYPE,
    Engine,
    EntityInstance,
    Quarantined,
    RelationshipInstance,
    TextUnit,
    UnitExtraction,
)
from graphrag_dagster.kernel.text.languages import ENGLISH
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.kernel.text.text_similarity import clean, normalise

_LONGEST_NAME = 1_000


def assemble_records(
    unit: TextUnit,
    named: Sequence[LabelledName],
    outputs: Iterable[ParsedTriples],
    wanted: Collection[str] = (),
) -> UnitExtraction:
    """Return the records of a text unit.

    An end of a relation that is none of the names found becomes an entity without a type: UNKNOWN. What is no
    relation between two things is quarantined.

    Args:
        unit: the text unit.
        named: names found in it.
        outputs: what was read in its relations, in the order of the text.
        wanted: relations that are taken, as :func:`relation_label` writes them; of none: all are.
    """
    records = _Records(unit.text, named)
    for parsed in outputs:
        for triple in parsed.triples:
            records.add(triple, wanted)
        records.incomplete += parsed.incomplete
    quarantined = tuple(Quarantined("relationship", one.raw, one.reason) for one in records.incomplete)
    if not records.entities:
        return UnitExtraction(unit.id, "empty", reason="no entities found", quarantined=quarantined)
    return UnitExtraction(
        unit.id,
        "extracted",
        entities=tuple(records.entities.values()),
        relationships=tuple(records.relationships.values()),
        quarantined=quarantined,
        untyped=frozenset(records.entities) - {one.name for one in named},
    )


class _Records:
    """The records of one text, each once."""

    def __init__(self, text: str, named: Sequence[LabelledName]) -> None:
        self._text = text
        self._places = TextPlaces(text)
        self._sentences = sentence_spans(text)
        self.entities = {
            one.name: EntityInstance(
                one.name, clean(one.surface), one.label.upper(), self._sentence_at(one.spans), spans=one.spans
            )
            for one in named
        }
        self.relationships: dict[tuple[str, str, str], RelationshipInstance] = {}
        self.incomplete: list[IncompleteTriple] = []

    def add(self, triple: RebelTriple, wanted: Collection[str]) -> None:
        """Take a triple, or quarantine it."""
        source, target, label = (
            normalise(triple.head),
            normalise(triple.tail),
            relation_label(triple.relation),
        )
        if reason := _unfit_reason(source, target, label):
            raw = f"{triple.head} – {triple.relation} – {triple.tail}"
            self.incomplete.append(IncompleteTriple(raw, reason))
        elif label and (not wanted or label in wanted) and (source, label, target) not in self.relationships:
            told = f"{clean(triple.head)} {clean(triple.relation)} {clean(triple.tail)}."
            ends = [self._places_of(triple.head, told), self._places_of(triple.tail, told)]
            self.relationships[source, label, target] = RelationshipInstance(
                source, target, told, spans=self._places.sentences_with(*ends), relation=label
            )

    def _places_of(self, surface: str, told: str) -> tuple[Span, ...]:
        """Where an end of a relation stands, which is an entity from now on."""
        name = normalise(surface)
        if name not in self.entities:
            spans = self._places.name(clean(surface)) or self._places.name(name)
            self.entities[name] = EntityInstance(
                name,
                clean(surface),
                UNKNOWN_TYPE,
                self._sentence_at(spans) or told,
                spans=spans,
            )
        return self.entities[name].spans

    def _sentence_at(self, spans: Sequence[Span]) -> str:
        """The sentence in which the first place begins."""
        if not spans:
            return ""
        own = next((one for one in self._sentences if one.start <= spans[0].start < one.end), spans[0])
        return " ".join(self._text[own.start : own.end].split())


def _unfit_reason(source: str, target: str, label: str | None) -> str:
    """Why a triple is no relation between two things; blank where it is one."""
    for end, name in (("head", source), ("tail", target)):
        if not any(map(str.isalnum, name)):
            return f"the {end} is no name"
        if len(name) > _LONGEST_NAME:
            return f"the {end} has {len(name):,} characters; at most {_LONGEST_NAME:,} are taken"
    if label is None:
        return "the relation is no label"
    return "head and tail are the same" if source == target else ""


#: Relations are between two things.
_FEWEST_NAMES = 2


class NeuralGraphExtractor:
    """Finds entities with one model and the relations between them with another.

    A unit's result depends on it alone. Relations are read in units that name at least two entities.

    Args:
        entities: finds entities.
        relations: reads relations.
        languages: ISO 639 codes of those whose units are read; of none: every unit is.
        wanted: relations that are taken, as labels; of none: all are.
    """

    engine: Final[Engine] = "gliner-rebel"

    def __init__(
        self,
        entities: GlinerEntityModel,
        relations: RebelRelationModel,
        *,
        languages: Sequence[str] = (ENGLISH,),
        wanted: Sequence[str] = (),
    ) -> None:
        self._entities, self._relations = entities, relations
        self._languages, self._wanted = tuple(languages), frozenset(wanted)

    def extract(self, units: Sequence[TextUnit]) -> Iterator[UnitExtraction]:
        """Yield one extraction per unit, in the order of ``units``: extracted, empty or unreadable.

        Raises:
            EngineError: a model or a package that it needs is not there, or is for something else.
        """
        with stage("Extracting entities and relationships", len(units)) as running:
            for start in range(0, len(units), self._relations.at_once):
                found = self._extract_batch(units[start : start + self._relations.at_once])
                yield from found
                running.advance(len(found))

    def _extract_batch(self, units: Sequence[TextUnit]) -> list[UnitExtraction]:
        unread = {unit.id: made for unit in units if (made := self._unread(unit))}
        named = {
            unit.id: by_name(unit.text, join_mentions(self._entities.mentions(unit.text)))
            for unit in units
            if unit.id not in unread
        }
        related = [unit for unit in units if len(named.get(unit.id, ())) >= _FEWEST_NAMES]
        read = self._relations.relations([unit.text for unit in related])
        parsed = dict(zip((unit.id for unit in related), read, strict=True))
        return [
            unread.get(unit.id)
            or assemble_records(unit, named[unit.id], parsed.get(unit.id, ()), self._wanted)
            for unit in units
        ]

    def _unread(self, unit: TextUnit) -> UnitExtraction | None:
        """What becomes of a unit that no model reads."""
        if not unit.text.strip():
            return UnitExtraction(unit.id, "empty", reason="no text")
        if other := unreadable_reason(unit.text, self._languages, self.engine):
            return UnitExtraction(unit.id, "unreadable", reason=other)
        return None

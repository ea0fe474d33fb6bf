"""Entities by GLiNER and relationships by REBEL, both on this machine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from graphrag_dagster.core.language.extractive.parsing.languages import ENGLISH, unreadable
from graphrag_dagster.core.language.neural.assembly import assembled
from graphrag_dagster.core.language.neural.linearised import Parsed
from graphrag_dagster.core.language.neural.mentions import Mention, Named, by_name, joined
from graphrag_dagster.core.language.tasks import Engine, TextUnit, UnitExtraction
from graphrag_dagster.core.progress import stage

#: Relations are between two things.
_FEWEST_NAMES = 2


class FindsMentions(Protocol):
    """Finds what is named in a text; what it finds depends on the text alone."""

    @property
    def labels(self) -> Sequence[str]:
        """What it calls things."""

    def mentions(self, text: str) -> list[Mention]:
        """Return the mentions in a text, in any order."""


class ReadsRelations(Protocol):
    """Reads relations in texts; what it reads in one depends on that text alone."""

    at_once: int

    def relations(self, texts: Sequence[str]) -> list[list[Parsed]]:
        """Return what was read in each text, part by part of it."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What of a text unit is known before its relations are; ``done`` where these are not asked for."""

    unit: TextUnit
    named: Sequence[Named] = ()
    done: UnitExtraction | None = None


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
        entities: FindsMentions,
        relations: ReadsRelations,
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
                found = self._extracted(units[start : start + self._relations.at_once])
                yield from found
                running.advance(len(found))

    def _extracted(self, units: Sequence[TextUnit]) -> list[UnitExtraction]:
        read = list(map(self._read, units))
        related = [one.unit for one in read if len(one.named) >= _FEWEST_NAMES]
        parsed = dict(zip(related, self._relations.relations([one.text for one in related]), strict=True))
        labels = self._entities.labels
        return [
            one.done or assembled(one.unit, one.named, parsed.get(one.unit, ()), labels, self._wanted)
            for one in read
        ]

    def _read(self, unit: TextUnit) -> _Read:
        if not unit.text.strip():
            return _Read(unit, done=UnitExtraction(unit.id, "empty", reason="no text"))
        if other := unreadable(unit.text, self._languages, self.engine):
            return _Read(unit, done=UnitExtraction(unit.id, "unreadable", reason=other))
        return _Read(unit, by_name(unit.text, joined(self._entities.mentions(unit.text))))

"""Rows of several kinds as one context: what stands around the entities of a question."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from graphrag_dagster.core.language.tasks import ContextUnit, Quote
from graphrag_dagster.core.search.context.context_units import ContextUnits, Provenance
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.text.citations import ContextKind


class LocalUnits:
    """Rows of any kind, numbered 1…n as they come; each brings its own way to the words it rests on."""

    def __init__(self, index: IndexSnapshot) -> None:
        self.index = index
        self._rows: list[ContextUnit] = []
        self._ids: list[str] = []
        self._provenance: list[Callable[[], Sequence[Provenance]]] = []

    @property
    def all(self) -> Sequence[ContextUnit]:
        """All rows, in the order of their numbers."""
        return self._rows

    def add(
        self, unit: ContextUnit, record_id: str, provenance: Callable[[], Sequence[Provenance]]
    ) -> ContextUnit:
        """Take a row in under the next number; returns it with that number."""
        row = replace(unit, id=len(self._rows) + 1)
        self._rows.append(row)
        self._ids.append(record_id)
        self._provenance.append(provenance)
        return row

    def kind(self, number: int) -> ContextKind:
        """Return as what the row is cited."""
        return self._rows[number - 1].kind

    def record_kind(self, number: int) -> ContextKind:
        """Return what the row's record is."""
        return self.kind(number)

    def record_id(self, number: int) -> str:
        """Return the id of the row's record."""
        return self._ids[number - 1]

    def title(self, number: int) -> str:
        """Return the title of the row."""
        return self._rows[number - 1].title

    def provenance(self, number: int) -> Sequence[Provenance]:
        """Return what the row rests on, each words once."""
        return self._provenance[number - 1]()


@dataclass(frozen=True, slots=True)
class LocalContext:
    """What was found for a question: rows of ``units``, and the context as the prompt shows it.

    ``row_tokens``: tokens of each row there; counted where they are not given.
    """

    units: ContextUnits
    rows: Sequence[ContextUnit]
    rendered: str
    row_tokens: Sequence[int] = ()


def quoted(
    quotes: Sequence[Quote], kind: str | None = None, record_id: str | None = None
) -> list[Provenance]:
    """Return quotes as evidence, with the record that led to them."""
    return [Provenance(quote, None, kind, record_id) for quote in quotes]

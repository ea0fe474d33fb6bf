"""Rows of several contexts as one context."""

from collections.abc import Sequence
from dataclasses import replace

from graphrag_dagster.kernel.questions.citations import Citation, ContextKind
from graphrag_dagster.kernel.questions.context.context_units import ContextUnits, Provenance
from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
from graphrag_dagster.kernel.tasks.ports import ContextUnit


class CombinedUnits:
    """Rows of several contexts under fresh numbers; a record has one, however many contexts hold it.

    Each context numbers its rows for itself, so the same number means another row in each.
    """

    def __init__(self, index: IndexSnapshot) -> None:
        self.index = index
        self.all: list[ContextUnit] = []
        self._from: list[tuple[ContextUnits, int]] = []
        self._number_of: dict[tuple[ContextKind, str], int] = {}

    def add(self, units: ContextUnits, rows: Sequence[ContextUnit]) -> dict[Citation, int]:
        """Take the rows of a context in; return the new number of each as it is cited there."""
        numbers = {}
        for one in rows:
            kind = units.kind(one.id)
            number = self._number_of.setdefault((kind, units.record_id(one.id)), len(self.all) + 1)
            if number > len(self.all):
                self.all.append(replace(one, id=number, kind=kind))
                self._from.append((units, one.id))
            numbers[Citation(kind, one.id)] = number
        return numbers

    def kind(self, number: int) -> ContextKind:
        """Return as what the row is cited."""
        return self.all[number - 1].kind

    def record_kind(self, number: int) -> ContextKind:
        """Return what the row's record is."""
        return self.kind(number)

    def record_id(self, number: int) -> str:
        """Return the id of the row's record."""
        units, own = self._from[number - 1]
        return units.record_id(own)

    def title(self, number: int) -> str:
        """Return the title of the row."""
        return self.all[number - 1].title

    def provenance(self, number: int) -> Sequence[Provenance]:
        """Return what the row rests on, as its own context says."""
        units, own = self._from[number - 1]
        return units.provenance(own)

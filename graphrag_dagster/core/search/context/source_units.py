"""Text units as rows of a search context."""

from collections.abc import Sequence

from graphrag_dagster.core.language.tasks import ContextUnit, Quote
from graphrag_dagster.core.search.context.background import IndexBackground
from graphrag_dagster.core.search.context.context_units import Provenance
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.context.naming import spans_of
from graphrag_dagster.core.search.context.when_read import MadeWhenRead
from graphrag_dagster.core.text.citations import ContextKind


class SourceUnits:
    """All text units of a corpus as :class:`ContextUnit`, numbered 1…n in the order of the corpus.

    They stand in the place of reports (spec_graphrag §7, TS and SS): the same prompts serve all conditions,
    but for the name that the rows have there (paper, Appendix E.4). The title of a unit is that of its
    document.
    """

    def __init__(self, index: IndexSnapshot) -> None:
        self.index = index
        self._background = IndexBackground(index)
        chunks = index.text_chunks.select("human_readable_id", "text_unit_id")
        self._ids = chunks.sort("human_readable_id", "text_unit_id")["text_unit_id"].to_list()
        self.number_of = {unit_id: number for number, unit_id in enumerate(self._ids, start=1)}
        self.all: Sequence[ContextUnit] = MadeWhenRead(len(self._ids), self._unit)

    def kind(self, _: int) -> ContextKind:
        """Return as what the row is cited: a source."""
        return "source"

    def record_kind(self, _: int) -> ContextKind:
        """Return what the row's record is: a text unit."""
        return "source"

    def record_id(self, number: int) -> str:
        """Return the id of the text unit."""
        return str(self._ids[number - 1])

    def title(self, number: int) -> str:
        """Return the title of the unit's document."""
        return self.index.passages[self._ids[number - 1]].document_title

    def provenance(self, number: int) -> Sequence[Provenance]:
        """Return the sentences of the unit."""
        unit_id = self.record_id(number)
        return [Provenance(Quote(unit_id, span)) for span, _ in spans_of(self.index, unit_id)]

    def _unit(self, place: int) -> ContextUnit:
        unit_id = self._ids[place]
        passage = self.index.passages[unit_id]
        sentences = tuple((words, Quote(unit_id, span)) for span, words in spans_of(self.index, unit_id))
        return ContextUnit(
            place + 1, passage.document_title, passage.text, sentences, "source", self._background
        )

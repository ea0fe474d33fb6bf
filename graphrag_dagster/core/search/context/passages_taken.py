"""Text units of a context without what another of them says already, in an order to be read."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphrag_dagster.core.language.tasks import ContextUnit
from graphrag_dagster.core.search.context.context_units import Provenance
from graphrag_dagster.core.search.context.local_rows import LocalRow
from graphrag_dagster.core.search.context.naming import spans_of
from graphrag_dagster.core.search.context.source_units import SourceUnits
from graphrag_dagster.core.text.passages import Passage

#: How many ranks a unit may move forward to stand behind the one it goes on from.
_MOVED = 3
#: Most characters between two units that go on from each other: blank lines.
_GAP = 4


@dataclass(frozen=True, slots=True)
class _Taken:
    passage: Passage
    row: LocalRow


class PassagesTaken:
    """Takes text units in the order of their rank, each without the sentences that those before it hold."""

    def __init__(self, sources: SourceUnits) -> None:
        self._sources = sources
        self._taken: list[_Taken] = []
        self._words = ""
        self._covered: dict[str, list[tuple[int, int]]] = defaultdict(list)

    def row(self, unit_id: str) -> LocalRow | None:
        """Return what a text unit adds to those taken; None where that is nothing, or for an unknown one."""
        passage = self._sources.index.passages.get(unit_id)
        if passage is None or unit_id not in self._sources.number_of:
            return None
        unit = self._sources.all[self._sources.number_of[unit_id] - 1]
        spans = [span for span, _ in spans_of(self._sources.index, unit_id)]
        new = [
            place
            for place, span in enumerate(spans)
            if not self._is_covered(passage, span.start + passage.start_char, span.end + passage.start_char)
        ]
        if not new:
            return None
        first, last = new[0], new[-1]
        while first and _in_table(passage, spans[first].start) and _in_table(passage, spans[first - 1].start):
            first -= 1
        kept = slice(first, last + 1)
        if (first, last + 1) != (0, len(spans)):
            text = passage.text[spans[first].start : spans[last].end]
            unit = replace(unit, text=text, sentences=unit.sentences[kept])
        return LocalRow(unit, unit_id, (unit.title,), lambda: _provenance(unit))

    def take(self, row: LocalRow) -> None:
        """Take a row in that :meth:`row` gave."""
        passage = self._sources.index.passages[row.record_id]
        start = passage.start_char + max(passage.text.find(row.unit.text), 0)
        self._covered[passage.document_id].append((start, start + len(row.unit.text)))
        self._taken.append(_Taken(passage, row))
        self._words += " ".join(row.unit.text.split()) + "\n"

    def in_order(self) -> list[LocalRow]:
        """Return the rows by rank, but what goes on from a unit right behind it."""
        waiting = list(self._taken)
        ordered: list[LocalRow] = []
        while waiting:
            here = waiting.pop(0)
            ordered.append(here.row)
            while following := next(
                (one for one in waiting[:_MOVED] if _goes_on(here.passage, one.passage)), None
            ):
                waiting.remove(following)
                ordered.append(following.row)
                here = following
        return ordered

    @property
    def words(self) -> str:
        """All that the rows say, each on one line."""
        return self._words

    def _is_covered(self, passage: Passage, start: int, end: int) -> bool:
        return any(first <= start and end <= last for first, last in self._covered[passage.document_id])


def _goes_on(one: Passage, other: Passage) -> bool:
    same = one.document_id == other.document_id
    return same and one.start_char < other.start_char <= one.end_char + _GAP


def _in_table(passage: Passage, start: int) -> bool:
    return passage.text[start : start + 1] == "|"


def _provenance(unit: ContextUnit) -> Sequence[Provenance]:
    return [Provenance(quote) for _, quote in unit.sentences if quote]

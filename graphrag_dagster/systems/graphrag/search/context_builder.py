"""Builds a context of rows of several kinds; a section is filled by rank until a row does not fit."""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.questions.context.context_chunks import Count, first_that_fit
from graphrag_dagster.kernel.questions.context.context_rows import LocalContext, LocalRow, LocalUnits
from graphrag_dagster.kernel.questions.context.context_units import (
    Provenance,
    SourceUnits,
    row_text,
    spans_of,
)
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit
from graphrag_dagster.kernel.text.citations import ContextKind
from graphrag_dagster.kernel.text.evidence import Passage
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.systems.graphrag.search.global_search import sources_of

#: How many ranks a unit may move forward to stand behind the one it goes on from.
_MOVED = 3
#: Most characters between two units that go on from each other: blank lines.
_GAP = 4


@dataclass(frozen=True, slots=True)
class _TakenRow:
    passage: Passage
    row: LocalRow


class PassagesTaken:
    """Takes text units in the order of their rank, each without the sentences that those before it hold."""

    def __init__(self, sources: SourceUnits) -> None:
        self._sources = sources
        self._taken: list[_TakenRow] = []
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
        while (
            first
            and _is_table_row(passage, spans[first].start)
            and _is_table_row(passage, spans[first - 1].start)
        ):
            first -= 1
        kept = slice(first, last + 1)
        if (first, last + 1) != (0, len(spans)):
            text = passage.text[spans[first].start : spans[last].end]
            unit = replace(unit, text=text, sentences=unit.sentences[kept])
        return LocalRow(unit, unit_id, (unit.title,), lambda: _provenance(unit))

    def take(self, row: LocalRow) -> None:
        """Take a row in that :meth:`row` gave."""
        passage = self._sources.index.passages[row.record_id]
        start = passage.start_char
        if row.unit.text != passage.text and (first := row.unit.sentences[0][1]):
            # The same words may stand in the unit before.
            start += first.span.start
        self._covered[passage.document_id].append((start, start + len(row.unit.text)))
        self._taken.append(_TakenRow(passage, row))
        self._words += " ".join(row.unit.text.split()) + "\n"

    def in_order(self) -> list[LocalRow]:
        """Return the rows by rank, but what goes on from a unit right behind it."""
        waiting = list(self._taken)
        ordered: list[LocalRow] = []
        while waiting:
            here = waiting.pop(0)
            ordered.append(here.row)
            while following := next(
                (one for one in waiting[:_MOVED] if _continues(here.passage, one.passage)), None
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


def _continues(one: Passage, other: Passage) -> bool:
    same = one.document_id == other.document_id
    return same and one.start_char < other.start_char <= one.end_char + _GAP


def _is_table_row(passage: Passage, start: int) -> bool:
    return passage.text[start : start + 1] == "|"


def _provenance(unit: ContextUnit) -> Sequence[Provenance]:
    return [Provenance(quote) for _, quote in unit.sentences if quote]


#: Rows of a section, at most.
_MOST_ROWS = 200
#: Text units that may be passed over for not fitting, before the room counts as full.
_PASSED = 5
#: Stands for a row's number while tokens are counted; longer than any.
_NUMBER = "0000"
#: Rows whose sentences are kept, since the same rows stand around many questions.
_CUT = 1_000


class ContextBuilder:
    """Takes rows in, text units and sections of others; a sentence stands in what it gives once.

    Args:
        limit: most tokens of the rendered context, headers included.
        headers: of the sections, in the order in which they are shown.
        leading: kinds whose rows say something by what stands before their text, too.
    """

    def __init__(
        self,
        index: IndexSnapshot,
        count: Count,
        limit: int,
        headers: Mapping[ContextKind, str],
        leading: Container[ContextKind] = (),
    ) -> None:
        self._headers = headers
        self._leading = leading
        self._index = index
        self._count = count
        self._left = limit
        self._limit = limit
        self._passages = PassagesTaken(sources_of(index))
        self._taken: set[str] = set()
        self._said: set[str] = set()
        self._sections: dict[ContextKind, list[LocalRow]] = {}
        self._counted: dict[str, int] = {}

    def take_sources(self, ids: Sequence[str], room: int) -> None:
        """Take text units in, best first, while they fit into the room and what is left of the whole."""
        room = min(room, self._left)
        used = 0 if self._taken else self._tokens_of_header("source")
        passed = 0
        for unit_id in ids:
            row = None if unit_id in self._taken else self._passages.row(unit_id)
            if row is None:
                continue
            tokens = self._tokens(row)
            if not self._taken and used + tokens > room:
                row = self._shorten_to_fit(row, room - used)
                tokens = self._tokens(row)
            if used + tokens > room:
                passed += 1
                if passed == _PASSED:
                    break
                continue
            self._passages.take(row)
            self._taken.add(unit_id)
            used += tokens
        self._left -= used if self._taken else 0

    def fill(self, kind: ContextKind, rows: Iterable[LocalRow], share: float) -> None:
        """Take rows in while what they add fits into the section's share."""
        room = min(int(self._limit * share), self._left)
        used = self._tokens_of_header(kind)
        taken = self._sections.setdefault(kind, [])
        for every in rows:
            row = self._without_repeats(every, self._said)
            if row is None:
                continue
            tokens = self._tokens(row)
            if used + tokens > room or len(taken) == _MOST_ROWS:
                break
            taken.append(row)
            used += tokens
            self._said.update(_sentences(row.unit.text))
        self._left -= used if taken else 0

    def _without_repeats(self, row: LocalRow, said: Container[str]) -> LocalRow | None:
        """The row without the sentences that the text units hold, or ``said``; None where it says no more."""
        tidy = _sentences(row.unit.text)
        elsewhere = {one for one in tidy if one in self._passages.words or one in said}
        if not elsewhere:
            return row
        # A heading says nothing without what stands under it.
        new = [one for one in tidy if one not in elsewhere and not one.startswith("#")]
        if not new and row.unit.kind not in self._leading:
            return None
        sentences = tuple(one for one in row.unit.sentences if one[0] not in elsewhere)
        return replace(row, unit=replace(row.unit, text=" ".join(new), sentences=sentences))

    def _shorten_to_fit(self, row: LocalRow, room: int) -> LocalRow:
        """Return a text unit with as much of its beginning as there is room for; with nothing else to show
        the context would be empty.
        """
        try:
            ((unit,),) = (one.units for one in first_that_fit([row.unit], count=self._count, limit=room))
        except QuestionError:
            unit = row.unit
        return replace(row, unit=unit)

    def _tokens(self, row: LocalRow) -> int:
        after = _after_number(row)
        if after not in self._counted:
            self._counted[after] = self._count(f"\n{_NUMBER}{after}")
        return self._counted[after]

    def _tokens_of_header(self, kind: ContextKind) -> int:
        return self._count(f"-----{self._headers[kind]}\n\n")

    def context(self) -> LocalContext:
        """Return what was taken in, section after section, numbered in that order."""
        sections = {
            "source": self._passages.in_order(),
            # Text units that were taken in later may say it too.
            **{
                kind: [new for row in rows if (new := self._without_repeats(row, ()))]
                for kind, rows in self._sections.items()
            },
        }
        units = LocalUnits(self._index)
        parts, rows, tokens = [], [], []
        longest = self._count(_NUMBER)
        for kind, header in self._headers.items():
            lines = [f"-----{header}"]
            for row in sections.get(kind, ()):
                unit = units.add(row.unit, row.record_id, row.provenance)
                lines.append(f"{unit.id}{_after_number(row)}")
                rows.append(unit)
                # A token of digits has nothing else in it.
                tokens.append(self._tokens(row) - longest + self._count(str(unit.id)))
            if lines[1:]:
                parts.append("\n".join(lines))
        return LocalContext(units, tuple(rows), "\n\n".join(parts), tuple(tokens))


@lru_cache(maxsize=_CUT)
def _sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, each on one line; scraps are divided by semicolons."""
    return tuple(" ".join(text[span.start : span.end].split()).rstrip(";") for span in sentence_spans(text))


def _after_number(row: LocalRow) -> str:
    return row_text(["", *row.lead, row.unit.text])

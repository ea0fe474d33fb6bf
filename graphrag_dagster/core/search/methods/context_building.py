"""A context of rows of several kinds, each section in order of rank until its next row does not fit."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from graphrag_dagster.core.search.context.chunks import Count, first_that_fit
from graphrag_dagster.core.search.context.context_units import as_row
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.context.local_rows import LocalRow
from graphrag_dagster.core.search.context.local_units import LocalContext, LocalUnits
from graphrag_dagster.core.search.context.passages_taken import PassagesTaken
from graphrag_dagster.core.search.methods.global_search import sources_of
from graphrag_dagster.core.text.citations import ContextKind
from graphrag_dagster.core.text.sentences import sentence_spans
from graphrag_dagster.errors import QuestionError

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
        index: the tables of the corpus.
        count: tokens of a text.
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
                row = self._cut(row, room - used)
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
            row = self._new(every, self._said)
            if row is None:
                continue
            tokens = self._tokens(row)
            if used + tokens > room or len(taken) == _MOST_ROWS:
                break
            taken.append(row)
            used += tokens
            self._said.update(_sentences(row.unit.text))
        self._left -= used if taken else 0

    def _new(self, row: LocalRow, said: Container[str]) -> LocalRow | None:
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

    def _cut(self, row: LocalRow, room: int) -> LocalRow:
        """Return a text unit with as much of its beginning as there is room for; with nothing else to show
        the context would be empty.
        """
        try:
            ((unit,),) = (one.units for one in first_that_fit([row.unit], count=self._count, limit=room))
        except QuestionError:
            unit = row.unit
        return replace(row, unit=unit)

    def _tokens(self, row: LocalRow) -> int:
        return self._tokens_of(_after_number(row))

    def _tokens_of(self, after: str) -> int:
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
                kind: [new for row in rows if (new := self._new(row, ()))]
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
                after = _after_number(row)
                lines.append(f"{unit.id}{after}")
                rows.append(unit)
                # A token of digits has nothing else in it.
                tokens.append(self._tokens_of(after) - longest + self._count(str(unit.id)))
            if lines[1:]:
                parts.append("\n".join(lines))
        return LocalContext(units, tuple(rows), "\n\n".join(parts), tuple(tokens))


@lru_cache(maxsize=_CUT)
def _sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, each on one line; scraps are divided by semicolons."""
    return tuple(" ".join(text[span.start : span.end].split()).rstrip(";") for span in sentence_spans(text))


def _after_number(row: LocalRow) -> str:
    return as_row(["", *row.lead, row.unit.text])

"""The result of a query as an answer: how the question was read, its rows, and each row as a source."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphrag_dagster.kernel.questions.context.answer import Source, Statement
from graphrag_dagster.kernel.questions.context.context_units import sentences_naming
from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
from graphrag_dagster.kernel.text.evidence import Evidence, Row, Scalar, scalar_told

#: Table of a row that is none of a table of the index.
RESULT = "query"
_KIND = "row"

#: What reads as a mark of a source where it stands in a value.
_MARK = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Line:
    """A row as the answer tells it: the line, and what it rests on, the row first."""

    text: str
    record_id: str
    title: str
    evidence: tuple[Evidence, ...]


@dataclass(slots=True)
class Told:
    """An answer as it is written line by line; a line cites what it rests on."""

    paragraphs: list[str] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The answer."""
        return "\n".join(self.paragraphs)

    def add(self, line: Line, *, listed: bool) -> None:
        """Write a line with the numbers of its sources."""
        first = len(self.sources) + 1
        self.sources += [
            Source(number, _KIND, line.record_id, line.title, evidence=one, similarity=1.0)
            for number, one in enumerate(line.evidence, start=first)
        ]
        numbers = tuple(range(first, len(self.sources) + 1))
        said = _MARK.sub(r"(\1)", line.text)
        marks = "".join(f"[{number}]" for number in numbers)
        self.paragraphs.append(f"{'- ' if listed else ''}{said} {marks}")
        # A line is made of the row that it cites.
        self.statements.append(Statement(said, numbers, 1.0, "supported", 1.0))


def told(
    reading: str, lines: Sequence[Line], total: int, *, ranks: bool = False, groups: bool = False
) -> Told:
    """Return an answer.

    Args:
        reading: how the question was read.
        lines: the rows that are shown.
        total: how many rows there are.
        ranks: it was asked for the first rows, not for how many there are.
        groups: the rows are groups or values, of which the number says nothing.
    """
    answer = Told()
    if groups and lines:
        answer.paragraphs.append(f"{reading}:")
    else:
        number = f"{len(lines):,} of {total:,}" if ranks else f"{total:,}"
        result = Row(RESULT, "total", reading, {"rows": total, "shown": len(lines)})
        answer.add(Line(f"{reading}: {number}", "total", reading, (result,)), listed=False)
    if lines:
        answer.paragraphs.append("")
    for line in lines:
        answer.add(line, listed=True)
    if lines and len(lines) < total and not ranks:
        answer.paragraphs += ["", f"The first {len(lines):,} of {total:,} rows are listed."]
    return answer


def line_of(
    text: str,
    values: Mapping[str, Scalar],
    place: int,
    *,
    of: tuple[str, str] | None = None,
    words: Sequence[Evidence] = (),
) -> Line:
    """Return a row as a line of an answer.

    Args:
        text: the line.
        values: the columns that are shown.
        place: of the row, 1…
        of: whose row it is, table and key; None for one of the query's result alone.
        words: evidence beside the row.
    """
    table, key = of or (RESULT, str(place))
    title = scalar_told(values.get("title", values.get("group", f"row {place}")))
    return Line(" ".join(text.split()), key, title, (Row(table, key, title, values), *words))


def words_naming(index: IndexSnapshot, names: Sequence[str], unit_id: str) -> Iterator[Evidence]:
    """Yield the first sentence of a text unit that holds all of the names, else for each its first."""
    together = list(sentences_naming(index, names, [unit_id], 1))
    quotes = together or [quote for name in names for quote in sentences_naming(index, [name], [unit_id], 1)]
    for quote in dict.fromkeys(quotes):
        yield index.passages[quote.unit_id].words(quote.span.start, quote.span.end)


def scalars(row: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return the values of a row as JSON and people can have them."""
    return {name: value if isinstance(value, Scalar) else str(value) for name, value in row.items()}

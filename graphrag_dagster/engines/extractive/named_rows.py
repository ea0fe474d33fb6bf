"""Rows of tables that a question names, each with the header of its table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from graphrag_dagster.engines.extractive.answer_types import AnswerType
from graphrag_dagster.engines.extractive.sentence_selection import RankedSentence
from graphrag_dagster.kernel.common.stable_values import cosines
from graphrag_dagster.kernel.models.embedders import Embedder
from graphrag_dagster.kernel.retrieval.sentence_relevance import asked_words
from graphrag_dagster.kernel.tasks.task_ports import Background, ContextUnit, Point, Quote
from graphrag_dagster.kernel.text.english_words import SMALL_NUMBERS, STOP_WORDS
from graphrag_dagster.kernel.text.folding import fold
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.table_rows import TableRow, TextTable, is_row, tables_of
from graphrag_dagster.kernel.text.text_similarity import stem, words

#: More rows are no answer about one of them; units that a table may go back over to its header.
_MOST_ROWS, _MOST_BACK = 6, 200
#: Cosine from which a word of the question means one of a header, and the share of words that are of it.
_MEANS, _OF_HEADER = 0.5, 0.5
_WHOLE = 10**9
#: Names of numbers, which stand in tables as figures.
_FIGURES = {word: str(number) for word, number in SMALL_NUMBERS.items()}


@dataclass(frozen=True, slots=True)
class _Found:
    """A row that a question names, by how many words, what it is cited by, and quotations to show."""

    weight: int
    cut: bool
    cited: ContextUnit
    quotes: tuple[tuple[str, Quote], ...]


def named_rows(
    question: str, wanted: AnswerType, sentences: Sequence[RankedSentence], embedder: Embedder
) -> list[Point]:
    """Return the rows of tables in the context that a question names by cells, with their headers.

    Most of the rest of the question has to be on the table: its words are those of the header, of the line
    above or of the document's title, or mean them. Empty where no row is named, or more than six are.
    """
    asked = _Asked(question, wanted, sentences, embedder)
    found = [
        one
        for unit_id, cited in _units(sentences).items()
        if cited.background
        for one in _rows_of(asked, unit_id, cited, cited.background)
    ]
    best = max((one.weight for one in found), default=0)
    found = [one for one in found if one.weight == best]
    whole = [one for one in found if not one.cut] or found
    distinct = {one.quotes[-1][0]: one for one in reversed(whole)}
    if len(distinct) > _MOST_ROWS:
        return []
    return [
        Point(
            one.cited.title,
            tuple((text, one.cited.id, quote) for text, quote in one.quotes),
            1.0,
            one.cited.kind,
            apart=True,
        )
        for one in reversed(distinct.values())
    ]


class _Asked:
    """A question about rows of tables."""

    def __init__(
        self, question: str, wanted: AnswerType, sentences: Sequence[RankedSentence], embedder: Embedder
    ) -> None:
        self._wanted = wanted
        self._sentences = sentences
        self._embedder = embedder
        self.words = [_FIGURES.get(word, word) for word in words(question)]
        self._known = frozenset(self.words)
        self._particular = [_FIGURES.get(word, word) for word in asked_words(question)]
        self._stems = frozenset(map(stem, self._particular))

    def may_be_in(self, text: str) -> bool:
        """Whether a text has any word of the question that says something."""
        folded = fold(text)
        return any(word in folded for word in self._particular)

    def names(self, label: str) -> bool:
        """Whether a word of a label is one of the question."""
        return not self._stems.isdisjoint(map(stem, words(label)))

    def named(self, row: TableRow, heads: Sequence[str]) -> frozenset[str]:
        """Return the words of the cells that are named; figures count where their column is named, too."""
        found: set[str] = set()
        for place, cell in enumerate(row.cells):
            own = [word for word in words(cell) if word not in STOP_WORDS]
            if not own or not self._known.issuperset(own):
                continue
            column = heads[place] if place < len(heads) else ""
            if any(map(str.isalpha, own)) or self.names(column):
                found.update(own)
        return frozenset(found)

    def is_about(self, named: frozenset[str], row: TableRow, told: Sequence[str]) -> bool:
        """Whether what is asked besides the name is what a table tells."""
        rest = [word for word in self._particular if word not in named]
        if not rest:
            return not any(
                one.quotable and named.issubset(words(one.text)) and "|" not in one.text
                for one in self._sentences
            )
        own = list(dict.fromkeys(word for text in told for word in words(text) if word not in STOP_WORDS))
        if not own:
            return False
        stems = frozenset(map(stem, own))
        vectors = self._embedder.embed(own)
        of_table = [
            stem(word) in stems or bool((cosines(vectors, self._embedder.embed([word])[0]) >= _MEANS).any())
            for word in rest
        ]
        amount = self._wanted.kind == "money" and any(map(str.isdigit, "".join(row.cells)))
        return sum(of_table) >= _OF_HEADER * len(rest) or (amount and len(rest) == 1)


def _units(sentences: Sequence[RankedSentence]) -> dict[str, ContextUnit]:
    """What each text unit is cited by: its own row of the context, else the first that rests on it."""
    units: dict[str, ContextUnit] = {}
    for one in sentences:
        if one.quote and (one.quote.unit_id not in units or one.row.kind == "source"):
            units[one.quote.unit_id] = one.row
    return units


def _rows_of(asked: _Asked, unit_id: str, cited: ContextUnit, background: Background) -> Iterator[_Found]:
    text = _text_of(unit_id, background)
    if not asked.may_be_in(text):
        return
    for table in tables_of(text):
        if not any(asked.named(row, ()) or any(map(str.isdigit, row.cells)) for row in table.rows):
            continue
        head = _header(unit_id, text, table, background)
        heads = head[2] if head else ()
        told = [cited.title, *heads, *_labels(table)] + ([head[0]] if head else [])
        for row in table.rows:
            named = asked.named(row, heads)
            shown = (" ".join(text[row.span.start : row.span.end].split()), Quote(unit_id, row.span))
            if named and not _is_in(shown[1], head) and asked.is_about(named, row, told):
                more = _of_record(asked, table, row, text, unit_id)
                quotes = (*((head[:2],) if head else ()), shown, *more)
                yield _Found(len(named), background.cut(shown[1]), cited, quotes)


def _is_in(quote: Quote, head: tuple[str, Quote, tuple[str, ...]] | None) -> bool:
    if head is None or head[1].unit_id != quote.unit_id:
        return False
    return head[1].span.start <= quote.span.start and quote.span.end <= head[1].span.end


def _text_of(unit_id: str, background: Background) -> str:
    return background.words(Quote(unit_id, Span(0, _WHOLE)))


def _labels(table: TextTable) -> list[str]:
    return [row.cells[0] for row in table.rows] if table.form == "labels" else []


def _of_record(
    asked: _Asked, table: TextTable, row: TableRow, text: str, unit_id: str
) -> list[tuple[str, Quote]]:
    """The other lines ``Label: value`` of a record that the question asks for, where the row names it."""
    if table.form != "labels":
        return []
    return [
        (text[other.span.start : other.span.end], Quote(unit_id, other.span))
        for other in table.rows
        if other is not row and asked.names(other.cells[0])
    ]


def _header(
    unit_id: str, text: str, table: TextTable, background: Background
) -> tuple[str, Quote, tuple[str, ...]] | None:
    """Words, place and cells of the header, which may stand in an earlier text unit; else the line above."""
    for _ in range(_MOST_BACK):
        # A unit may begin and end inside a row.
        goes_on = not table.ruled and "\n" not in text[: table.span.start].strip("\n").removesuffix("\n")
        before = background.before(unit_id) if goes_on else None
        earlier = _text_of(before, background) if before else ""
        last = next(reversed([*tables_of(earlier)]), None)
        if (
            before is None
            or last is None
            or last.form != table.form
            or "\n" in earlier[last.span.end :].strip()
        ):
            break
        unit_id, text, table = before, earlier, last
    if table.header:
        span = Span(table.header[0].span.start, table.header[-1].span.end)
        cells = tuple(
            " ".join(column) for column in zip_longest(*(row.cells for row in table.header), fillvalue="")
        )
        return " ".join(text[span.start : span.end].split()), Quote(unit_id, span), cells
    above = text[: table.span.start].rstrip()
    start = above.rfind("\n") + 1
    start += len(above[start:]) - len(above[start:].lstrip("# \t"))
    if start == len(above) or is_row(above[start:]):
        return None
    return " ".join(above[start:].split()), Quote(unit_id, Span(start, len(above))), ()

"""The context of an answer of the search method ``graph``, as rows that fit into the window."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from graphrag_dagster.apps.cypher.property_graph import GraphQueryRun
from graphrag_dagster.apps.cypher.search.graph_trace import FoundCommunity, TracedContextNode
from graphrag_dagster.apps.cypher.search.nearest_communities import level_of, nodes_of
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.questions.context.context_chunks import first_that_fit
from graphrag_dagster.kernel.questions.context.context_rows import (
    LocalContext,
    LocalRow,
    LocalUnits,
    ReportUnits,
    entity_rows,
    report_provenance,
)
from graphrag_dagster.kernel.questions.context.context_units import row_text
from graphrag_dagster.kernel.questions.context.index_background import IndexBackground
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.question import Search
from graphrag_dagster.kernel.text.citations import ContextKind
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.kernel.text.statement_reading import without_citations
from graphrag_dagster.systems.graphrag.search.graph_facts import Fact, fact_row
from graphrag_dagster.systems.graphrag.search.local_search import HEADERS

_HEADERS: Mapping[ContextKind, str] = {
    "report": HEADERS["report"],
    "entity": HEADERS["entity"],
    "relationship": "Relationships\nid|source|relation|target|words",
}
_RESULT = "Result of a query over the graph, which is no source"
#: Sentences of the documents that name an entity, at most.
_NAMING = 3
#: Shares of the window: reports leave the rest to facts, and a result leaves it to what can be cited.
_REPORTS, _RESULTS = 0.85, 0.25
#: Stands for a row's number while tokens are counted; longer than any.
_NUMBER = "0000"


@dataclass(frozen=True, slots=True)
class RetrievedContext:
    """What was found for a question.

    Attributes:
        summaries: communities whose reports are shown.
        entities: ids, those of the question first.
        facts: the nearest to the question first.
        brought_in: facts by context nodes.
        ran: a query that a model wrote, whose rows are shown.
    """

    summaries: Sequence[FoundCommunity] = ()
    entities: Sequence[str] = ()
    facts: Sequence[Fact] = ()
    brought_in: Sequence[Fact] = ()
    ran: GraphQueryRun | None = None


def pack_context(search: Search, found: RetrievedContext) -> LocalContext:
    """Return what was found as a context, each kind in order of rank until its next row does not fit.

    A sentence stands there once. Facts come before the entities, whose descriptions then say what is left.
    """
    packer = _Packer(search)
    result = packer.result(found.ran)
    packer.take(
        "report", _summary_rows(search, found.summaries), int(search.options.context_tokens * _REPORTS)
    )
    packer.take("relationship", (fact_row(search.index, one) for one in found.facts))
    packer.take("relationship", (fact_row(search.index, one) for one in found.brought_in))
    packer.take("entity", _entity_rows(search, found.entities))
    return packer.context(result)


class _Packer:
    def __init__(self, search: Search) -> None:
        self._asked = search
        self._left = search.options.context_tokens
        self._said: set[str] = set()
        self._sections: dict[ContextKind, list[LocalRow]] = {}

    def result(self, ran: GraphQueryRun | None) -> str:
        """Return as many rows of a result as fit; nothing where there is none."""
        if ran is None:
            return ""
        lines = [f"-----{_RESULT}", ran.text, row_text(ran.found.columns)]
        used, room = self._count("\n".join(lines)), int(self._left * _RESULTS)
        for row in ran.found.rows:
            line = row_text("" if value is None else value for value in row)
            used += self._count(f"\n{line}")
            if used > room:
                break
            lines.append(line)
        if lines[3:]:
            self._left -= self._count("\n".join(lines))
        return "\n".join(lines) if lines[3:] else ""

    def take(self, kind: ContextKind, rows: Iterable[LocalRow], room: int | None = None) -> None:
        """Take rows in until the next does not fit into the room; the very first of all is cut."""
        taken = self._sections.setdefault(kind, [])
        room = self._left if room is None else min(room, self._left)
        header = 0 if taken else self._count(f"-----{_HEADERS[kind]}\n\n")
        used = header
        for every in rows:
            row = self._without_repeats(every)
            tokens = self._tokens(row)
            if used + tokens > room and not any(self._sections.values()):
                row = self._shorten_to_fit(row, room - used)
                tokens = self._tokens(row)
            if used + tokens > room:
                break
            taken.append(row)
            used += tokens
            self._said.update(words for words, _ in row.unit.sentences)
            self._said.update(_sentences(row.unit.text))
        self._left -= used if used > header else 0

    def _without_repeats(self, row: LocalRow) -> LocalRow:
        """The row without the sentences that the rows before it hold; a report stays whole."""
        if row.unit.kind == "report":
            return row
        text = " ".join(one for one in _sentences(row.unit.text) if one not in self._said)
        sentences = tuple(one for one in row.unit.sentences if one[0] not in self._said)
        return replace(row, unit=replace(row.unit, text=text, sentences=sentences))

    def _shorten_to_fit(self, row: LocalRow, room: int) -> LocalRow:
        try:
            ((unit,),) = (one.units for one in first_that_fit([row.unit], count=self._count, limit=room))
        except QuestionError:
            return row
        return replace(row, unit=unit)

    def _tokens(self, row: LocalRow) -> int:
        return self._count(f"\n{_NUMBER}{row_text(['', *row.lead, row.unit.text])}")

    def _count(self, text: str) -> int:
        return self._asked.count(text)

    def context(self, result: str) -> LocalContext:
        """Return what was taken in, section after section, numbered in that order."""
        units = LocalUnits(self._asked.index)
        parts, shown, tokens = [result] if result else [], [], []
        for kind, header in _HEADERS.items():
            lines = [f"-----{header}"]
            for row in self._sections.get(kind, ()):
                unit = units.add(row.unit, row.record_id, row.provenance)
                lines.append(row_text([unit.id, *row.lead, unit.text]))
                shown.append(unit)
                tokens.append(self._count(f"\n{lines[-1]}"))
            if lines[1:]:
                parts.append("\n".join(lines))
        return LocalContext(units, tuple(shown), "\n\n".join(parts), tuple(tokens))


def _summary_rows(search: Search, summaries: Sequence[FoundCommunity]) -> Iterable[LocalRow]:
    """Reports or their summaries, each with the names of its community's context nodes below."""
    if not summaries:
        return
    index = search.index
    known = index.once(_report_units)
    nodes = nodes_of(index, level_of(search), [one.community_id for one in summaries])
    for one in summaries:
        unit = known.all[known.number_of[one.community_id] - 1]
        if search.options.graph.shown == "synopses" and one.synopsis:
            unit = replace(unit, text=without_citations(one.synopsis))
        related = _related_text([node for node in nodes if node.community_id == one.community_id])
        text = f"{unit.text}\n\n{related}" if related else unit.text
        provenance = partial(report_provenance, index, one.community_id)
        yield LocalRow(replace(unit, text=text), one.community_id, (unit.title,), provenance)


def _report_units(index: IndexSnapshot) -> ReportUnits:
    return ReportUnits(index, index.reports)


def _related_text(nodes: Sequence[TracedContextNode]) -> str:
    return f"Related, but of other communities: {'; '.join(one.title for one in nodes)}" if nodes else ""


def _entity_rows(search: Search, ids: Sequence[str]) -> Iterable[LocalRow]:
    """Entities with sentences of the documents that name them, else of their descriptions, to be quoted."""
    background = IndexBackground(search.index)
    for row in entity_rows(search.index, ids):
        quotes = [one.quote for one in row.provenance()[:_NAMING]]
        named = tuple((" ".join(search.index.words(one).split()), one) for one in quotes)
        described = tuple((one, None) for one in _sentences(row.unit.text))
        unit = replace(row.unit, sentences=named or described, background=background)
        yield replace(row, unit=unit)


def _sentences(text: str) -> tuple[str, ...]:
    return tuple(" ".join(text[span.start : span.end].split()) for span in sentence_spans(text))

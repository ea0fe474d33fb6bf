"""Local search: what the graph and the documents say around the entities a question is about.

The context has sections in stated shares of its tokens: reports of communities, entities, the relationships
and claims of those entities, and the text units. What a section leaves over goes to the text units.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from graphrag_dagster.core.language.tasks import ContextUnit, Quote
from graphrag_dagster.core.reports.references import without_citations
from graphrag_dagster.core.search.asked import Asked
from graphrag_dagster.core.search.context.answer import Answer, Call, ContextUse
from graphrag_dagster.core.search.context.chunks import Count, first_that_fit
from graphrag_dagster.core.search.context.context_units import Provenance, as_row
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.context.local_units import LocalContext, LocalUnits, quoted
from graphrag_dagster.core.search.context.naming import sentences_naming
from graphrag_dagster.core.search.context.question import REFUSAL
from graphrag_dagster.core.search.context.report_units import report_provenance
from graphrag_dagster.core.search.finding import found, telling_how, with_history
from graphrag_dagster.core.search.methods.global_search import sources_of
from graphrag_dagster.core.search.methods.map_reduce import finished
from graphrag_dagster.core.search.options import Shares
from graphrag_dagster.core.search.retrieval.retriever import LocalRanking
from graphrag_dagster.core.text.citations import ContextKind
from graphrag_dagster.core.text.spans import Span
from graphrag_dagster.errors import QuestionError

_HEADERS: Mapping[ContextKind, str] = {
    "report": "Reports\nid|title|content",
    "entity": "Entities\nid|entity|description",
    "relationship": "Relationships\nid|source|target|description",
    "claim": "Claims\nid|subject|claim",
    "source": "Sources\nid|title|text",
}
_SENTENCES, _MOST_ROWS = 6, 200
#: Entities whose surroundings a local context is made of, at most.
_ENTITIES = 50
#: What makes two claim records the same claim.
_CLAIM = ("subject", "object", "type")


@dataclass(frozen=True, slots=True)
class Ranked:
    """What a question is about, best first: ids of text units and of entities."""

    unit_ids: Sequence[str]
    entity_ids: Sequence[str]


def local(asked: Asked) -> Answer:
    """Answer a question from what the graph and the documents say around what it names."""
    ranking, note = found(asked, with_history(asked))
    made = telling_how(asked, local_search(asked, _best(ranking)), note)
    return replace(made, linked=ranking.linked)


def local_search(asked: Asked, ranked: Ranked) -> Answer:
    """Answer a question from the surroundings of its entities, in one call.

    What was never materialised is left out of the context.

    Args:
        asked: the question.
        ranked: what it is about.
    """
    answerer, method = asked.engines.answerer(), asked.way.name
    context = _context(asked, ranked)
    answer = Answer(asked.question, method, None, REFUSAL, answerer.engine, refused=True)
    if not context.rows:
        return answer
    final = answerer.answer(asked.question, context.rows, context.rendered, asked.history)
    used = bool(final.text.strip())
    answer = replace(
        answer,
        context=tuple(
            ContextUse(row.kind, context.units.record_id(row.id), row.title, 0, tokens, used)
            for row, tokens in zip(context.rows, context.row_tokens, strict=True)
        ),
        trace=(Call("answer", "the surroundings of its entities", None, sum(context.row_tokens), used),),
    )
    return finished(answer, final, context.units, {row.id for row in context.rows}, asked.supporting)


def context_around(asked: Asked, question: str) -> LocalContext:
    """Return the rows for a question that helps with the one that is asked."""
    ranking, _ = found(asked, with_history(asked, question))
    return _context(asked, _best(ranking))


def _best(ranking: LocalRanking) -> Ranked:
    return Ranked(ranking.units.ids, ranking.entities.ids[:_ENTITIES])


def _context(asked: Asked, ranked: Ranked) -> LocalContext:
    options = asked.options
    return local_context(
        asked.index, ranked, count=asked.count, limit=options.context_tokens, shares=options.shares
    )


def local_context(
    index: IndexSnapshot, ranked: Ranked, *, count: Count, limit: int, shares: Shares
) -> LocalContext:
    """Choose the rows for a question, each section in order of rank until its next row does not fit.

    Args:
        index: the tables of the corpus.
        ranked: what the question is about.
        count: tokens of a text.
        limit: most tokens of the rendered context, headers included.
        shares: of the sections.
    """
    builder = _Builder(index, count, limit)
    entities = builder.fill("entity", _entities(index, ranked.entity_ids), shares.entities)
    builder.fill("relationship", _relationships(index, entities), shares.relationships)
    builder.fill("claim", _claims(index, entities), shares.claims)
    builder.fill("report", _reports(index, ranked.entity_ids), shares.reports)
    builder.fill("source", _sources(index, ranked.unit_ids), 1.0)
    return builder.context()


@dataclass(frozen=True, slots=True)
class _Row:
    unit: ContextUnit
    record_id: str
    cells: tuple[str, ...]
    provenance: Callable[[], Sequence[Provenance]]


class _Builder:
    def __init__(self, index: IndexSnapshot, count: Count, limit: int) -> None:
        self._units = LocalUnits(index)
        self._count = count
        self._left = limit
        self._limit = limit
        self._sections: dict[ContextKind, list[tuple[ContextUnit, str, int]]] = {}

    def fill(self, kind: ContextKind, rows: Iterator[_Row], share: float) -> list[str]:
        """Take rows in while they fit into the section's share; return the ids of their records."""
        room = min(int(self._limit * share), self._left)
        used = self._count(f"-----{_HEADERS[kind]}\n")
        taken: list[str] = []
        for row in rows:
            number = len(self._units.all) + 1
            text = as_row([number, *row.cells])
            tokens = self._count(f"\n{text}")
            if kind == "source" and not taken and used + tokens > room:
                row, text, tokens = self._cut(row, number, room - used)
            if used + tokens > room or len(taken) == _MOST_ROWS:
                break
            unit = self._units.add(row.unit, row.record_id, row.provenance)
            self._sections.setdefault(kind, []).append((unit, text, tokens))
            taken.append(row.record_id)
            used += tokens
        if taken:
            self._left -= used
        return taken

    def _cut(self, row: _Row, number: int, room: int) -> tuple[_Row, str, int]:
        """Return a text unit with as much of its beginning as there is room for; with nothing else to show
        the context would be empty.
        """
        try:
            ((unit,),) = (one.units for one in first_that_fit([row.unit], count=self._count, limit=room))
        except QuestionError:
            unit = row.unit
        text = as_row([number, unit.title, unit.text])
        return replace(row, unit=unit), text, self._count(f"\n{text}")

    def context(self) -> LocalContext:
        """Return what was taken in, section after section."""
        parts, rows, tokens = [], [], []
        for kind, header in _HEADERS.items():
            section = self._sections.get(kind, [])
            if section:
                parts.append("\n".join([f"-----{header}", *(text for _, text, _ in section)]))
                rows += [unit for unit, _, _ in section]
                tokens += [used for _, _, used in section]
        return LocalContext(self._units, tuple(rows), "\n\n".join(parts), tuple(tokens))


def _entities(index: IndexSnapshot, ids: Sequence[str]) -> Iterator[_Row]:
    known = index.once(_entities_by_id)
    for entity_id in ids:
        if entity_id in known:
            title, description = known[entity_id]
            unit = ContextUnit(0, title, description, kind="entity")
            yield _Row(unit, entity_id, (title, description), partial(_naming, index, entity_id))


def _relationships(index: IndexSnapshot, entities: Sequence[str]) -> Iterator[_Row]:
    """Relationships between the entities, then from them to others, heaviest first."""
    if not entities or index.relationships.is_empty():
        return
    chosen = list(entities)
    near = index.relationships.filter(
        pl.col("source_id").is_in(chosen) | pl.col("target_id").is_in(chosen)
    ).with_columns(both=pl.col("source_id").is_in(chosen) & pl.col("target_id").is_in(chosen))
    ordered = near.sort(["both", "weight", "relationship_id"], descending=[True, True, False]).head(
        _MOST_ROWS
    )
    titles, _ = index.once(_titles)
    for key, source, target, description in ordered.select(
        "relationship_id", "source_id", "target_id", "description"
    ).iter_rows():
        ends = (titles[source], titles[target])
        unit = ContextUnit(0, " — ".join(ends), description, kind="relationship")
        yield _Row(unit, key, (*ends, description), partial(_naming, index, key))


def _claims(index: IndexSnapshot, entities: Sequence[str]) -> Iterator[_Row]:
    if index.claims is None or index.claims.is_empty() or not entities:
        return
    titles, names = index.once(_titles)
    chosen = [names[entity] for entity in entities if entity in names]
    about = index.claims.filter(pl.col("subject").is_in(chosen)).sort("subject", "human_readable_id")
    by_name = {name: titles[entity] for entity, name in names.items()}
    words = index.once(_words_of_claims)
    for key, description, *about_what in about.select("claim_id", "description", *_CLAIM).iter_rows():
        title = by_name[about_what[0]]
        quotes = words.get(tuple(about_what), [])
        unit = ContextUnit(0, title, description, kind="claim")
        yield _Row(unit, key, (title, description), partial(quoted, quotes, "claim", key))


def _words_of_claims(index: IndexSnapshot) -> dict[tuple[str | None, ...], list[Quote]]:
    """The words that claims were taken from, by what the claims are about."""
    found: dict[tuple[str | None, ...], list[Quote]] = {}
    if index.claim_records is None:
        return found
    for unit_id, spans, *about_what in index.claim_records.select(
        "text_unit_id", "spans", *_CLAIM
    ).iter_rows():
        quotes = [Quote(unit_id, Span(int(span["start"]), int(span["end"]))) for span in spans]
        found.setdefault(tuple(about_what), []).extend(quotes)
    return found


def _reports(index: IndexSnapshot, ids: Sequence[str]) -> Iterator[_Row]:
    """Reports of the entities' smallest communities; those of more, and better ranked, entities first."""
    if index.members is None or index.reports.is_empty() or not ids:
        return
    rank = pl.DataFrame({"entity_id": list(ids)}).with_row_index("rank")
    of_entity = index.members.join(rank, on="entity_id").sort("level", descending=True)
    deepest = of_entity.unique("entity_id", keep="first", maintain_order=True)
    weighed = (
        deepest.group_by("community_id")
        .agg(score=(1.0 / (pl.col("rank") + 3.0)).sum().round(12))
        .join(index.reports, left_on="community_id", right_on="report_id")
        .sort(["score", "community_id"], descending=[True, False])
    )
    for report_id, title, content in weighed.select("community_id", "title", "content").iter_rows():
        text = without_citations(content).removeprefix(f"# {title}").strip()
        unit = ContextUnit(0, title, text, kind="report")
        yield _Row(unit, report_id, (title, text), partial(report_provenance, index, report_id))


def _sources(index: IndexSnapshot, ids: Sequence[str]) -> Iterator[_Row]:
    sources = sources_of(index)
    for unit_id in ids:
        if unit_id in sources.number_of:
            number = sources.number_of[unit_id]
            unit = sources.all[number - 1]
            yield _Row(unit, unit_id, (unit.title, unit.text), partial(sources.provenance, number))


def _naming(index: IndexSnapshot, record_id: str) -> Sequence[Provenance]:
    """Sentences that name an entity, or both ends of a relationship."""
    names, units, kind = index.once(_named)[record_id]
    return quoted(list(sentences_naming(index, names, units, _SENTENCES)), kind, record_id)


def _named(index: IndexSnapshot) -> dict[str, tuple[tuple[str, ...], tuple[str, ...], str]]:
    titles, _ = index.once(_titles)
    found: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
        key: ((titles[source], titles[target]), tuple(units), "relationship")
        for key, source, target, units in index.relationships.select(
            "relationship_id", "source_id", "target_id", "text_unit_ids"
        ).iter_rows()
    }
    for key, units in index.entities.select("entity_id", "text_unit_ids").iter_rows():
        found[key] = ((titles[key],), tuple(units), "entity")
    return found


def _titles(index: IndexSnapshot) -> tuple[dict[str, str], dict[str, str]]:
    rows = index.entities.select("entity_id", "title", "name").rows()
    return {key: title for key, title, _ in rows}, {key: name for key, _, name in rows}


def _entities_by_id(index: IndexSnapshot) -> dict[str, tuple[str, str]]:
    rows = index.entities.select("entity_id", "title", "description").iter_rows()
    return {key: (title, description) for key, title, description in rows}

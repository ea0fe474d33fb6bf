"""Local search: the graph and the documents around the entities of a question.

The context begins with the text units, which get most of its tokens; then come reports of communities,
entities, and the relationships and claims of those entities, in stated shares, without what the text units
say already. What they leave over goes to further text units.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.questions.context.context_chunks import Count
from graphrag_dagster.kernel.questions.context.context_rows import (
    LocalContext,
    claim_rows,
    entity_rows,
    relationship_rows,
    report_rows,
)
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.finding import (
    is_favoured,
    linked_names_section,
    rerank_units,
    text_query,
    with_history,
    with_retrieval_trace,
)
from graphrag_dagster.kernel.questions.question import REFUSAL, Search
from graphrag_dagster.kernel.retrieval.rerankers import Reranked
from graphrag_dagster.kernel.retrieval.retriever import LocalRanking
from graphrag_dagster.kernel.text.citations import ContextKind
from graphrag_dagster.systems.graphrag.search.context_builder import ContextBuilder
from graphrag_dagster.systems.graphrag.search.graph_facts import answered_at_once
from graphrag_dagster.systems.graphrag.tasks import ANSWERER

if TYPE_CHECKING:
    from graphrag_dagster.kernel.settings.search_settings import LocalShares

#: Sections in the order in which they are shown.
HEADERS: Mapping[ContextKind, str] = {
    "source": "Sources\nid|title|text",
    "report": "Reports\nid|title|content",
    "entity": "Entities\nid|entity|description",
    "relationship": "Relationships\nid|source|target|description",
    "claim": "Claims\nid|subject|claim",
}
#: Entities whose surroundings a local context is made of, at most.
ENTITIES = 50
#: Entities whose relationships and claims are shown.
_AROUND = 12


def local(search: Search) -> Answer:
    """Answer a question, in one call, from what the graph and the documents say around what it names.

    What was never materialised is left out of the context.
    """
    sought = text_query(search, with_history(search))
    ranking = sought.local(ENTITIES)
    context, done = _context(search, sought.text, ranking)
    engine, method = search.engines.task(ANSWERER).engine, search.method.name
    answer = Answer(search.question.text, method, None, REFUSAL, engine, refused=True)
    answer = answered_at_once(search, answer, context, "the surroundings of its entities")
    told = replace(answer, trace=linked_names_section(ranking.linked))
    return with_retrieval_trace(search, told, sought.note, done)


def context_around(search: Search, question: str) -> tuple[LocalContext, list[Reranked]]:
    """Return the rows for a question that helps with the one that is asked, and how they were reranked."""
    text = with_history(search, question)
    return _context(search, text, text_query(search, text).local(ENTITIES))


def _context(search: Search, text: str, ranking: LocalRanking) -> tuple[LocalContext, list[Reranked]]:
    units, done = rerank_units(search, text, ranking.units.ids, followed=True)
    options = search.options
    selected = search.favour.selected is not None
    # What is known of an entity, and reports, were written from all documents.
    entities = () if selected else ranking.entities.ids
    context = local_context(
        search.index,
        units,
        entities,
        count=search.count,
        limit=options.context_tokens,
        shares=options.shares,
    )
    return context.marked(is_favoured(search), selected=selected), done


def local_context(
    index: IndexSnapshot,
    unit_ids: Sequence[str],
    entity_ids: Sequence[str],
    *,
    count: Count,
    limit: int,
    shares: "LocalShares",
) -> LocalContext:
    """Choose the rows for a question, each section in order of rank until its next row does not fit.

    A sentence stands there once: each row comes without what the text units and the rows before it hold, and
    one that then says nothing is left out.

    Args:
        index: the tables of the corpus.
        unit_ids: of the text units that the question is about, best first.
        entity_ids: of the entities that it is about, best first.
        count: tokens of a text.
        limit: most tokens of the rendered context, headers included.
        shares: of the sections.
    """
    builder = ContextBuilder(index, count, limit, HEADERS)
    builder.take_sources(unit_ids, limit - int(limit * shares.of_graph))
    best = entity_ids[:_AROUND]
    builder.fill("entity", entity_rows(index, entity_ids), shares.entities)
    builder.fill("relationship", relationship_rows(index, best), shares.relationships)
    builder.fill("claim", claim_rows(index, best), shares.claims)
    builder.fill("report", report_rows(index, entity_ids), shares.reports)
    builder.take_sources(unit_ids, limit)
    return builder.context()

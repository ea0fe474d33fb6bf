"""The context of an answer of the way ``paths``: text units, then the relationships of the paths."""

from collections.abc import Iterable, Mapping, Sequence

from graphrag_dagster.core.search.context.local_rows import LocalContext, report_rows
from graphrag_dagster.core.search.methods.context_building import ContextBuilder
from graphrag_dagster.core.search.methods.graph.facts import Fact, Key, fact_row, facts_of
from graphrag_dagster.core.search.methods.local import HEADERS
from graphrag_dagster.core.search.question import Search
from graphrag_dagster.core.text.citations import ContextKind

_HEADERS: Mapping[ContextKind, str] = {
    "source": HEADERS["source"],
    "relationship": "Relationships\nid|source|relation|target|words",
    "report": HEADERS["report"],
}


def facts_on(search: Search, paths: Sequence[Sequence[Key]]) -> list[Fact]:
    """Return the edges of paths with the words that state them, those of the best paths first."""
    return facts_of(search.index, (edge for edges in paths for edge in edges))


def packed(
    search: Search, unit_ids: Sequence[str], facts: Iterable[Fact], reported: Sequence[str]
) -> LocalContext:
    """Return text units and relationships as a context, each in order of rank until the next does not fit.

    Args:
        search: the question, with the shares of the context.
        unit_ids: best first.
        facts: those of the best paths first.
        reported: entities whose communities' reports are read, too.
    """
    options = search.options
    limit, shares = options.context_tokens, options.shares
    builder = ContextBuilder(search.index, search.count, limit, _HEADERS, leading=("relationship",))
    builder.take_sources(unit_ids, limit - int(limit * shares.of_graph))
    builder.fill("relationship", (fact_row(search.index, one) for one in facts), shares.relationships)
    builder.fill("report", report_rows(search.index, reported), shares.reports)
    builder.take_sources(unit_ids, limit)
    return builder.context()

"""Edges that a query found as a rule-based answer, each line with the row it cites."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from graphrag_dagster.kernel.graph.relations import CO_OCCURS, RELATED_TO
from graphrag_dagster.kernel.questions.citations import LABELS
from graphrag_dagster.kernel.tasks.ports import ContextUnit, FinalAnswer
from graphrag_dagster.systems.graphrag.search.graph_facts.facts import Fact

_MOST = 10
_HEADING = "In the graph"


def with_edges(
    final: FinalAnswer, rows: Sequence[ContextUnit], facts: Sequence[Fact], entities: Collection[str]
) -> FinalAnswer:
    """Return an answer with the edges of the entities that the question names below its sentences.

    Args:
        final: the answer.
        rows: of the context.
        facts: those that rows of relationships show, in their order.
        entities: ids of what the question names.
    """
    edges = [row for row in rows if row.kind == "relationship"]
    label = LABELS["relationship"]
    lines = [
        f"- {_said(fact)} [Data: {label} ({row.id})]"
        for row, fact in zip(edges, facts, strict=False)
        if set(fact.ends) & set(entities)
    ][:_MOST]
    if not lines:
        return final
    listed = "\n".join([f"**{_HEADING}**\n", *lines])
    return replace(final, text=f"{final.text}\n\n{listed}".strip())


def _said(fact: Fact) -> str:
    """An edge; that two are named together, or are related somehow, needs no word."""
    between = () if fact.key[1] in (CO_OCCURS, RELATED_TO) else (fact.relation,)
    return " — ".join((fact.head, *between, fact.tail))

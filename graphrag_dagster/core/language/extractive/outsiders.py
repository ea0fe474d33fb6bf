"""What an extractive report says of a community's context nodes: a finding of its own, by quotations."""

from collections.abc import Collection

from graphrag_dagster.core.language.extractive.covering import Candidate, candidates
from graphrag_dagster.core.language.extractive.parsing.quotable import tidy
from graphrag_dagster.core.language.extractive.subjects import joined
from graphrag_dagster.core.language.tasks import ContextNode, Finding, Quote, ReportRequest
from graphrag_dagster.core.text.citations import Citation

#: Begins the headline, so that nobody takes what follows for members.
OUTSIDE = "Outside the community: "


def findings_on_context_nodes(request: ReportRequest, told: Collection[Quote]) -> list[Finding]:
    """Return a finding about the context nodes, one sentence for each; none where there is nothing to say.

    Sentences come first that state a relationship with a member, then those that read best. Where nothing
    about a node can be quoted that the report does not say already, its descriptions are told.

    Args:
        request: the community, with context nodes and what supports them.
        told: what the report quotes already.
    """
    pool = candidates(request.context_evidence)
    quoted: dict[int, Candidate] = {}
    texts: dict[int, str] = {}
    for node in request.context_nodes:
        known = {*told, *(one.quote for one in quoted.values())}
        about = (one for one in pool if node.entity.id in one.entities and one.quote not in known)
        best = min(about, key=lambda one: (not one.relationships, -one.quality, one.place), default=None)
        if best is not None:
            quoted[node.entity.id], texts[node.entity.id] = best, best.text
        elif described := _described(node):
            texts[node.entity.id] = described
    shown = [node for node in request.context_nodes if node.entity.id in texts]
    if not shown:
        return []
    stated = [edge for one in quoted.values() for edge in one.relationships]
    described_by = [
        edge for node in shown if node.entity.id not in quoted for edge, _ in node.relationships[:1]
    ]
    return [
        Finding(
            summary=OUTSIDE + joined([node.entity.title for node in shown]),
            explanation=" ".join(texts[node.entity.id] for node in shown),
            citations=(
                *(Citation("entity", node.entity.id) for node in shown),
                *(Citation("relationship", edge) for edge in dict.fromkeys([*stated, *described_by])),
            ),
            quotes=tuple(one.quote for one in quoted.values()),
        )
    ]


def _described(node: ContextNode) -> str:
    texts = (*(text for _, text in node.relationships[:1]), node.entity.description)
    return next(filter(None, map(tidy, texts)), "")

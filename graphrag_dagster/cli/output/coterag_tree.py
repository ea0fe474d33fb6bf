"""How an answer of CoTeRAG-S came about, as a tree."""

from collections.abc import Sequence

from rich.markup import escape
from rich.tree import Tree

from graphrag_dagster.core.coterag.trace import ChunkMatch, EntityMatch, Retrieved, Trace
from graphrag_dagster.core.wording import counted

#: Communities that did not make it, entities and triples that are shown.
_SHOWN = 5
_CLASSES = {
    "high_confidence": "by similarity and terms",
    "high_similarity": "by similarity alone",
    "dropped": "too few terms",
}


def add_coterag(tree: Tree, trace: Trace) -> None:
    """Add the steps: route, communities, entities, paths, text units, rounds, verdict."""
    limits = ", ".join(f"{name} {value:.3g}" for name, value in trace.thresholds)
    tree.add(f"thresholds, {trace.profile}: {limits}")
    tree.add(f"route: {trace.route.route}, {escape(trace.route.reason)}")
    if trace.retrieved:
        _add_retrieved(tree, trace.retrieved, trace)
    for one in trace.rounds:
        branch = tree.add(f"round {one.number} over what stands apart, since {one.trigger.replace('_', ' ')}")
        _add_entities(branch, one.entities, trace)
        _add_chunks(branch, one.chunks, trace)
    for verdict in trace.validations:
        tree.add(f"validator: {verdict.verdict}, {escape(verdict.reason)}")
    if trace.coverage is not None:
        tree.add(f"the context covers {trace.coverage:.0%} of the question's terms")


def _add_retrieved(tree: Tree, found: Retrieved, trace: Trace) -> None:
    terms = ", ".join(found.terms) or "none"
    branch = tree.add(
        escape(f"{counted(len(found.communities), 'community', 'communities')}; terms: {terms}")
    )
    if not found.communities and found.nearest is not None:
        branch.add(f"the nearest has the similarity {found.nearest:.3f}")
    selected = [one for one in found.communities if one.selected]
    others = [one for one in found.communities if not one.selected]
    for one in [*selected, *others[:_SHOWN]]:
        name = escape(trace.titles[one.community_id])
        facts = f"similarity {one.similarity:.3f}, coverage {one.coverage:.2f}, {_CLASSES[one.match_class]}"
        branch.add(f"“{name}” [dim]{facts}{'' if one.selected else ', not taken'}[/]")
    if len(others) > _SHOWN:
        branch.add(f"… {len(others) - _SHOWN} more")
    _add_entities(tree, found.entities, trace)
    paths = tree.add(counted(len(found.triples) + found.triples_cut, "triple"))
    for triple in found.triples[:_SHOWN]:
        said = f"{trace.titles[triple.head]} – {triple.relation} – {trace.titles[triple.tail]}"
        paths.add(f"{escape(said)} [dim]hop {triple.hop}, similarity {triple.similarity:.3f}[/]")
    if len(found.triples) > _SHOWN:
        paths.add(f"… {len(found.triples) - _SHOWN} more: see ask --json")
    _add_chunks(tree, found.chunks, trace)


def _add_entities(tree: Tree, entities: Sequence[EntityMatch], trace: Trace) -> None:
    branch = tree.add(counted(len(entities), "entity", "entities"))
    for one in entities[:_SHOWN]:
        branch.add(f"{escape(trace.titles[one.entity_id])} [dim]similarity {one.similarity:.3f}[/]")
    if len(entities) > _SHOWN:
        branch.add(f"… {len(entities) - _SHOWN} more: see ask --json")


def _add_chunks(tree: Tree, chunks: Sequence[ChunkMatch], trace: Trace) -> None:
    branch = tree.add(counted(len(chunks), "text unit"))
    for one in chunks:
        of = f" of {escape(trace.titles[one.entity_id])}" if one.entity_id else ""
        branch.add(f"[dim]{one.text_unit_id}[/]{of} [dim]similarity {one.similarity:.3f}[/]")

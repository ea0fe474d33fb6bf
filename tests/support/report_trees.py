"""A small index whose reports stand above and below each other."""

from collections.abc import Mapping
from dataclasses import replace

from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.tables import core_tables as tables
from support.index_frames import index_of

#: harbour ─ quay ─ crane; harbour ─ mail; music; fishing ─ nets.
TREE = {
    "harbour": None,
    "quay": "harbour",
    "crane": "quay",
    "mail": "harbour",
    "music": None,
    "fishing": None,
    "nets": "fishing",
}


def index_of_tree(
    parents: Mapping[str, str | None], contents: Mapping[str, str] | None = None
) -> IndexSnapshot:
    """One report per name; the parent of each is named."""
    texts = contents or {name: f"All about {name} stands here." for name in parents}
    ids = {name: f"r{number}" for number, name in enumerate(parents)}
    levels: dict[str, int] = {}
    for name, parent in parents.items():
        levels[name] = levels[parent] + 1 if parent else 0
    with_children = set(parents.values())
    blank = {"human_readable_id": 0, "size": 1, "internal_edges": 0, "summed_degree": 0}
    communities = [
        blank
        | {
            "community_id": ids[name],
            "level": levels[name],
            "parent_id": ids[parent] if parent else None,
            "is_leaf": name not in with_children,
        }
        for name, parent in parents.items()
    ]
    projected = [
        {"level": k, "entity_id": f"e{ids[name]}", "community_id": ids[name], "projected": levels[name] < k}
        for k in range(4)
        for name in parents
        if levels[name] == k or (levels[name] < k and name not in with_children)
    ]
    return replace(
        index_of({name: texts[name] for name in parents}),
        communities=tables.COMMUNITIES.frame(communities),
        community_levels=tables.COMMUNITY_LEVELS.frame(projected),
    )

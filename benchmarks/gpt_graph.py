"""A graph extracted by a large model: communities, levels and packed contexts at several budgets.

Run: python benchmarks/gpt_graph.py [folder with entities.parquet, relationships.parquet, communities.parquet]
"""

import sys
import time
from pathlib import Path

import polars as pl

from graphrag_dagster.kernel.graph.hierarchical_leiden import (
    Hierarchy,
    check_partition,
    coverage,
    hierarchical_communities,
    levels,
)
from graphrag_dagster.kernel.tables.core_tables import (
    COMMUNITIES,
    COMMUNITY_MEMBERS,
    ENTITIES,
    MERGED_CLAIMS,
    RELATIONSHIPS,
)
from graphrag_dagster.kernel.tasks.task_ports import MergedDescription
from graphrag_dagster.kernel.text.tokenization import TokenCounter, get_tokenizer
from graphrag_dagster.systems.graphrag.index.merged_graph import merge_entities, merge_relationships
from graphrag_dagster.systems.graphrag.reports.context_packing import Packer
from graphrag_dagster.systems.graphrag.reports.report_context import (
    ChildReport,
    PackedContext,
    index_elements,
)

FOLDER = Path(__file__).parents[1] / "../shared/data/msft_graphrag/verbs_data"
BUDGETS = (8000, 2000, 500)
REPORT_WORDS = 300


def load(folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The published nodes and edges as rows of graph.entities and graph.relationships.

    Edges to names that are no entity are left out; the published table has some.
    """
    nodes = pl.read_parquet(folder / "entities.parquet").rename({"title": "name"})
    edges = pl.read_parquet(folder / "relationships.parquet")
    entity_groups = nodes.group_by("name").agg(
        pl.first("name").alias("title"),
        pl.concat_list(pl.first("name")).alias("names"),
        pl.first("type"),
        pl.col("description").unique(maintain_order=True).alias("descriptions"),
        pl.col("text_unit_ids").explode().unique(maintain_order=True),
        pl.col("frequency").sum().cast(pl.Int32),
        pl.len().cast(pl.Int32).alias("instances"),
    )
    pairs = edges.select(
        pl.min_horizontal("source", "target"),
        pl.max_horizontal("source", "target").alias("target"),
        *("description", "weight", "text_unit_ids"),
    ).filter(
        pl.col("source") != pl.col("target"),
        *(pl.col(end).is_in(nodes["name"].implode()) for end in ("source", "target")),
    )
    relationship_groups = pairs.group_by("source", "target").agg(
        pl.col("description").unique(maintain_order=True).alias("descriptions"),
        pl.col("text_unit_ids").explode().unique(maintain_order=True),
        pl.len().cast(pl.Int32).alias("instances"),
        pl.sum("weight").alias("strength"),
    )
    entities = merge_entities(entity_groups, relationship_groups, _joined(entity_groups))
    merged = _joined(relationship_groups)
    return entities, merge_relationships(relationship_groups, entities, merged, "strength_sum")


def _joined(groups: pl.DataFrame) -> list[MergedDescription]:
    return [MergedDescription(" ".join(found), "llm") for found in groups["descriptions"]]


def cluster(relationships: pl.DataFrame) -> Hierarchy:
    return hierarchical_communities(relationships.select("weight", source="source_id", target="target_id"))


def pack_all(
    entities: pl.DataFrame,
    relationships: pl.DataFrame,
    hierarchy: Hierarchy,
    tokens: TokenCounter,
    budget: int,
) -> dict[str, PackedContext]:
    """Pack deepest level first; a report is the first words of the context it stands for."""
    graph = {
        ENTITIES: entities,
        RELATIONSHIPS: relationships,
        MERGED_CLAIMS: MERGED_CLAIMS.empty(),
        COMMUNITIES: hierarchy.communities,
        COMMUNITY_MEMBERS: hierarchy.members,
    }
    elements = index_elements(graph, tokens.counts_of_lines)
    packer = Packer(elements, tokens.count, budget)
    packed: dict[str, PackedContext] = {}
    reports: dict[str, ChildReport] = {}
    for community in hierarchy.communities.sort("level", "community_id", descending=[True, False])[
        "community_id"
    ]:
        packed[community] = packer.pack(community, reports)
        words = packed[community].text.split()[:REPORT_WORDS]
        reports[community] = ChildReport(community, "", " ".join(words))
    return packed


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    entities, relationships = load(folder)
    began = time.perf_counter()
    hierarchy = cluster(relationships)
    seconds = time.perf_counter() - began
    found = hierarchy.communities
    published = len(pl.read_parquet(folder / "relationships.parquet"))
    print(f"published edges {published}, of distinct pairs between known nodes {len(relationships)}")
    print(f"nodes {len(entities)}, edges {len(relationships)}, communities {len(found)} in {seconds:.2f} s")
    print(
        found.group_by("level").agg(pl.len(), pl.max("size"), pl.sum("is_leaf").alias("leaves")).sort("level")
    )
    theirs = pl.read_parquet(folder / "communities.parquet")
    print("published:", theirs.group_by("level").agg(pl.len(), pl.max("size")).sort("level").rows())
    print("coverage:", coverage(entities, hierarchy.members))
    problems = check_partition(levels(found, hierarchy.members), hierarchy.members)
    print("every level a partition:", problems or True)
    tokens = get_tokenizer("cl100k_base")
    for budget in BUDGETS:
        began = time.perf_counter()
        packed = pack_all(entities, relationships, hierarchy, tokens, budget)
        seconds = time.perf_counter() - began
        contexts = list(packed.values())
        substituted = sum(bool(context.reports) for context in contexts)
        trimmed = sum(not context.complete and not context.reports for context in contexts)
        print(
            f"budget {budget}: largest {max(context.tokens for context in contexts)}, complete "
            f"{sum(context.complete for context in contexts)}, with reports {substituted}, "
            f"trimmed {trimmed}, {seconds:.2f} s"
        )


if __name__ == "__main__":
    main()

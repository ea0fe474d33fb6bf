"""Levels above a million C0 communities: time, memory, and what a global question at the top costs.

The tables are made: triangles, 700,000 of which are linked to some others, near ones and hubs, and 300,000 to
none. Reports are made texts of about 500 tokens; a question's calls and tokens are those that would be sent.

Run: python benchmarks/global_bound.py [communities]
"""

import hashlib
import resource
import sys
import time

import numpy as np
import polars as pl

from graphrag_dagster.kernel.graph.hierarchical_leiden import Hierarchy, levels
from graphrag_dagster.kernel.graph.native_leiden import LeidenOptions
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.question import Basis
from graphrag_dagster.kernel.questions.searcher import level_read, require_method
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.systems.graphrag.index.levels_above import with_levels_above
from graphrag_dagster.systems.graphrag.search.search_estimates import rated, whole
from graphrag_dagster.systems.graphrag.settings import CommunitySettings

_REPORT = "The harbour office of the town keeps the records of its ships and of what they carried. " * 28


def made_graph(communities: int, seed: int = 0) -> tuple[Hierarchy, pl.DataFrame, pl.DataFrame]:
    """Entities, relationships, and a community for each triangle."""
    rng = np.random.default_rng(seed)
    names = np.array([hashlib.sha256(str(n).encode()).hexdigest()[:32] for n in range(3 * communities)])
    first = 3 * np.arange(communities)
    inside = [(first + one, first + other) for one, other in ((0, 1), (1, 2), (0, 2))]
    linked = int(0.7 * communities)
    one = rng.integers(0, linked, 2 * linked)
    near = np.minimum(one // 200 * 200 + rng.integers(0, 200, len(one)), linked - 1)
    hubs = np.minimum(rng.zipf(1.6, len(one)), linked) - 1
    other = np.where(rng.random(len(one)) < 0.9, near, hubs)
    between = one != other
    pairs = [*inside, (3 * one[between], 3 * other[between] + 1)]
    low, high = (np.concatenate([end(a, b) for a, b in pairs]) for end in (np.minimum, np.maximum))
    weights = np.concatenate([np.full(3 * communities, 5.0), np.ones(int(between.sum()))])
    relationships = (
        pl.DataFrame({"source_id": names[low], "target_id": names[high], "weight": weights})
        .group_by("source_id", "target_id")
        .agg(pl.sum("weight"))
    )
    ids = names[first]
    of_entity = np.repeat(ids, 3)
    members = pl.DataFrame({"community_id": of_entity, "entity_id": names}).with_columns(
        level=pl.lit(0, pl.Int32)
    )
    rows = pl.DataFrame({"community_id": ids, "human_readable_id": np.arange(communities)}).with_columns(
        level=pl.lit(0),
        parent_id=pl.lit(None, pl.String),
        is_leaf=pl.lit(value=True),
        size=pl.lit(3),
        internal_edges=pl.lit(3),
        summed_degree=pl.lit(6),
    )
    found = rows.select(pl.col(name).cast(type_) for name, type_ in tables.COMMUNITIES.types().items())
    return Hierarchy(found, members), pl.DataFrame({"entity_id": names}), relationships


def snapshot(hierarchy: Hierarchy, count: int) -> IndexSnapshot:
    """The communities above C0, each with a report."""
    above = hierarchy.communities.filter(pl.col("level") < 0)
    reports = above.select(
        "human_readable_id", "level", report_id="community_id", title="community_id"
    ).with_columns(content=pl.lit(_REPORT), tokens=pl.lit(count, pl.Int32), engine=pl.lit("llm"))
    missing = [one for one in tables.COMMUNITY_REPORTS.column_names if one not in reports.columns]
    filled = reports.with_columns(
        pl.lit(None, tables.COMMUNITY_REPORTS.types()[one]).alias(one) for one in missing
    )
    members = hierarchy.members.filter(pl.col("level") < 0)
    rows = levels(above, members).filter(pl.col("level") < 0)
    empty = {
        "documents": tables.DOCUMENTS,
        "text_chunks": tables.TEXT_CHUNKS,
        "entities": tables.ENTITIES,
        "relationships": tables.RELATIONSHIPS,
        "findings": tables.REPORT_FINDINGS,
        "references": tables.REPORT_REFERENCES,
        "metadata": tables.DOCUMENT_METADATA,
        "periods": tables.DOCUMENT_PERIODS,
    }
    return IndexSnapshot(
        **{name: table.empty() for name, table in empty.items()},
        communities=above,
        community_levels=rows,
        reports=filled.with_columns(pl.col("summary", "rating_explanation").fill_null("")),
    )


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    communities = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    own = CommunitySettings()
    base, entities, relationships = made_graph(communities)
    print(f"{communities:,} C0 communities, {len(relationships):,} relationships; {peak():.1f} GB")
    began = time.perf_counter()
    made = with_levels_above(base, entities, relationships, roots=own.roots, options=LeidenOptions())
    seconds = time.perf_counter() - began
    print(f"levels above: {seconds:.0f} s, peak {peak():.1f} GB")
    print(
        made.communities.group_by("level")
        .agg(pl.len(), pl.median("size"), pl.max("size").alias("largest"))
        .sort("level")
    )
    children = made.communities.drop_nulls("parent_id").group_by("parent_id", "level").len()
    print(
        children.group_by("level")
        .agg(pl.median("len").alias("children"), pl.max("len").alias("most"))
        .sort("level")
    )
    settings, count = CorpusSettings(), get_tokenizer("o200k_base").count
    tokens = count(_REPORT)
    print(f"all reports of C0: {communities * tokens:,} tokens")
    index = snapshot(made, tokens)
    for name, size in (("global", whole), ("dynamic", rated)):
        method = require_method(name)
        level = level_read(method, None, settings.search, index)
        cost = size(Basis(method=method, index=index, count=count, settings=settings, level=level))
        calls, sent = cost.calls, cost.input_tokens
        print(
            f"{name}: C{level}; {calls.expected:,.0f} calls (at most {calls.high:,.0f}), "
            f"{sent.expected:,.0f} tokens (at most {sent.high:,.0f})"
        )


if __name__ == "__main__":
    main()

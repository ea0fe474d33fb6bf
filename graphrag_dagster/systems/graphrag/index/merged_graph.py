"""The steps of entity resolution and of the merged graph (From Local to Global, §3.1.3)."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Literal

import polars as pl

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.pipeline.code_versions import begin_replacing, code_version
from graphrag_dagster.kernel.pipeline.result_display import counts
from graphrag_dagster.kernel.pipeline.step_declaration import Made, StepRun
from graphrag_dagster.kernel.tables.core_tables import (
    DOCUMENTS,
    ENTITIES,
    MERGED_CLAIMS,
    RELATIONSHIPS,
    TEXT_CHUNKS,
)
from graphrag_dagster.kernel.tables.table_declaration import Tables
from graphrag_dagster.kernel.tasks.task_ports import DescriptionGroup, MergedDescription
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider
from graphrag_dagster.systems.graphrag.resolution.name_pairs import earlier_resolution, state_of_resolution
from graphrag_dagster.systems.graphrag.resolution.settings import ResolutionSettings
from graphrag_dagster.systems.graphrag.resolution.tables import (
    ALIASES,
    CANDIDATES,
    DECISIONS,
    RESOLUTION_STATE,
)
from graphrag_dagster.systems.graphrag.settings import GraphSettings
from graphrag_dagster.systems.graphrag.tables import (
    CLAIM_GROUPS,
    ENTITY_GROUPS,
    GLEANED_ENTITIES,
    RELATIONSHIP_GROUPS,
)
from graphrag_dagster.systems.graphrag.tasks import DESCRIPTION_MERGER, NAME_JUDGE

Weight = Literal["count", "strength_sum"]

_KEYS = (("name",), ("source", "target"), ("subject", "object"))
#: Groups that are held as Python's objects at once; these take many times the memory of rows.
_AT_ONCE = 10_000
_DESCRIPTION = ("description", "description_engine", "description_problem", "description_repaired")


def description_groups(groups: pl.DataFrame) -> list[DescriptionGroup]:
    """Return what the description merger gets, in the order of the rows.

    Args:
        groups: rows of ``staging.entity_groups``, ``staging.relationship_groups`` or
            ``staging.claim_groups``; their descriptions are distinct and in order of first appearance.
    """
    keys = next(keys for keys in _KEYS if keys[0] in groups.columns)
    return [
        DescriptionGroup(names=tuple(filter(None, names)), descriptions=tuple(descriptions))
        for *names, descriptions in groups.select(*keys, "descriptions").iter_rows()
    ]


def merge_entities(
    groups: pl.DataFrame, relationship_groups: pl.DataFrame, merged: Iterable[MergedDescription]
) -> pl.DataFrame:
    """Return the rows of ``graph.entities``, in name order.

    Args:
        groups: rows of ``staging.entity_groups``.
        relationship_groups: rows of ``staging.relationship_groups``; an entity's degree is its number of
            distinct neighbours there.
        merged: a description per row of ``groups``, in the same order.

    Raises:
        GraphragError: not one description per group.
    """
    ends = pl.concat([relationship_groups["source"], relationship_groups["target"]])
    degrees = ends.alias("name").value_counts(name="degree")
    ids = [stable_id("entity", name) for name in groups["name"].sort()]
    return (
        _merged_descriptions(groups, merged)
        .join(degrees, on="name", how="left")
        .sort("name")
        .with_row_index("human_readable_id")
        .select(
            pl.Series("entity_id", ids, pl.String),
            pl.col("human_readable_id").cast(pl.Int32),
            *("name", "title", "names", "type", *_DESCRIPTION),
            *("text_unit_ids", "frequency", "instances"),
            pl.col("degree").fill_null(0).cast(pl.Int32),
        )
    )


def merge_relationships(
    groups: pl.DataFrame, entities: pl.DataFrame, merged: Iterable[MergedDescription], weight: Weight
) -> pl.DataFrame:
    """Return the rows of ``graph.relationships``, in the order of source and target.

    Args:
        groups: rows of ``staging.relationship_groups``.
        entities: rows of ``graph.entities``.
        merged: a description per row of ``groups``, in the same order.
        weight: ``count`` is the number of relation records in both directions, ``strength_sum`` the sum of
            their strengths.

    Raises:
        GraphragError: not one description per group, or an end that is no entity; names the pair.
    """
    ends = entities.select("name", "entity_id", "degree")
    edges = (
        _merged_descriptions(groups, merged)
        .join(ends.select(source="name", source_id="entity_id", one="degree"), on="source", how="left")
        .join(ends.select(target="name", target_id="entity_id", other="degree"), on="target", how="left")
        .sort("source", "target")
        .with_row_index("human_readable_id")
    )
    _check_ends(edges)
    value = pl.col("instances") if weight == "count" else pl.col("strength")
    ids = [stable_id("relationship", *pair) for pair in edges.select("source", "target").iter_rows()]
    return edges.select(
        pl.Series("relationship_id", ids, pl.String),
        pl.col("human_readable_id").cast(pl.Int32),
        *("source", "target", "source_id", "target_id"),
        *_DESCRIPTION,
        value.cast(pl.Float64).alias("weight"),
        "instances",
        (pl.col("one") + pl.col("other")).cast(pl.Int32).alias("combined_degree"),
        "text_unit_ids",
    )


def merge_claims(groups: pl.DataFrame, merged: Iterable[MergedDescription]) -> pl.DataFrame:
    """Return the rows of ``graph.claims``, in the order of subject, object and type.

    Args:
        groups: rows of ``staging.claim_groups``.
        merged: a description per row of ``groups``, in the same order.

    Raises:
        GraphragError: not one description per group.
    """
    keys = ("subject", "object", "type")
    claims = _merged_descriptions(groups, merged).sort(keys).with_row_index("human_readable_id")
    ids = [stable_id("claim", *key) for key in claims.select(keys).iter_rows()]
    return claims.select(
        pl.Series("claim_id", ids, pl.String),
        pl.col("human_readable_id").cast(pl.Int32),
        "subject",
        pl.col("object").replace("", None),
        *("type", "status", "start_date", "end_date"),
        *_DESCRIPTION,
        *("text_unit_ids", "instances"),
    )


def _merged_descriptions(groups: pl.DataFrame, merged: Iterable[MergedDescription]) -> pl.DataFrame:
    given, made = iter(merged), [_described([], [])]
    for some in groups["descriptions"].to_frame().iter_slices(_AT_ONCE):
        made.append(_described(some["descriptions"], list(islice(given, some.height))))
    columns = pl.concat(made)
    if (number := columns.height + sum(1 for _ in given)) != groups.height:
        raise GraphragError(
            f"the description merger returned {number} descriptions for {groups.height} groups: it must "
            "return one per group, in order"
        )
    return groups.hstack(columns)


def _described(descriptions: Iterable[Sequence[str]], merged: Sequence[MergedDescription]) -> pl.DataFrame:
    """Return the columns of merged descriptions, each of the descriptions of a group."""
    rows = (
        (one.text, "as_is" if [*given] in ([], [one.text]) else one.engine, one.problem, one.usage.repaired)
        for given, one in zip(descriptions, merged, strict=False)
    )
    types = (pl.String, pl.String, pl.String, pl.Int32)
    return pl.DataFrame(list(rows), dict(zip(_DESCRIPTION, types, strict=True)), orient="row")


def _check_ends(edges: pl.DataFrame) -> None:
    dangling = edges.filter(pl.col("source_id").is_null() | pl.col("target_id").is_null())
    if len(dangling):
        source, target = dangling.select("source", "target").row(0)
        raise GraphragError(
            f"{len(dangling)} relationships have an end that is not an entity, for example "
            f"{source!r}–{target!r}: entities and relationships come from different runs; materialise "
            "the entities again"
        )


def resolution(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Entity resolution: names of one entity are merged, namesakes kept apart; instances are unchanged."""
    if not run.settings.makes("resolution"):
        return
    # Not needed by the steps before, the first of which calls a model.
    from graphrag_dagster.systems.graphrag.resolution.entity_resolution import ModelNameJudge
    from graphrag_dagster.systems.graphrag.resolution.resolution_tables import (
        resolve_corpus,
        unresolved_frames,
    )

    session, own = run.session("resolution"), run.settings.section(ResolutionSettings)
    names = tables[GLEANED_ENTITIES], tables[TEXT_CHUNKS], tables[DOCUMENTS]
    state = state_of_resolution(code_version("resolution"), enabled=own.enabled)
    earlier, why_anew = earlier_resolution(run.warehouse, run.corpus, state)
    judge = session.task(NAME_JUDGE)
    asked = ModelNameJudge(judge, tables[DOCUMENTS]) if judge else None
    made = (
        resolve_corpus(*names, own.decisions(), asked, earlier) if own.enabled else unresolved_frames(*names)
    )
    begin_replacing(run.warehouse, run.corpus, RESOLUTION_STATE)
    yield Made(CANDIDATES, made.candidates)
    yield Made(
        DECISIONS,
        made.decisions,
        {
            **counts(made.decisions, "verdict"),
            **(asked.counts if asked else {}),
            "pairs_reused": made.reused,
            "compared_anew_because": why_anew,
            "left_out": made.left_out,
            **session.finish(),
        },
    )
    yield Made(
        ALIASES,
        made.aliases,
        {
            "names": made.aliases["name"].n_unique(),
            "entities": made.aliases["entity"].n_unique(),
            "namesakes": made.namesakes,
        },
    )
    yield Made(RESOLUTION_STATE, state)


def graph(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Nodes, edges and claims, each with one description, those of all kinds at once.

    From Local to Global, §3.1.3.
    """
    of_entities, of_edges, of_claims = (
        tables[ENTITY_GROUPS],
        tables[RELATIONSHIP_GROUPS],
        tables[CLAIM_GROUPS],
    )
    own, edges, claims = (run.session(user) for user in ("entities", "relationships", "claims"))
    edge_words = run.begin(partial(_describe_groups, edges, of_edges), quiet=True)
    claim_words = run.begin(partial(_describe_groups, claims, of_claims), quiet=True)
    nodes = merge_entities(of_entities, of_edges, _describe_groups(own, of_entities))
    yield Made(ENTITIES, nodes, {"types": nodes["type"].n_unique(), **_description_metadata(nodes, own)})
    weight = run.settings.section(GraphSettings).weight
    merged = merge_relationships(of_edges, nodes, edge_words.result(), weight)
    yield Made(RELATIONSHIPS, merged, {"weight": weight, **_description_metadata(merged, edges)})
    made = merge_claims(of_claims, claim_words.result())
    yield Made(MERGED_CLAIMS, made, {**counts(made, "status"), **_description_metadata(made, claims)})


def _describe_groups(session: TaskProvider, rows: pl.DataFrame) -> Iterable[MergedDescription]:
    """One description for each group of instances; without a model they are made as they are taken."""
    if rows.is_empty():
        return []
    merger = session.task(DESCRIPTION_MERGER)
    if session.settings.asks_model(DESCRIPTION_MERGER.section):
        return merger.merge(description_groups(rows))
    return (one for some in rows.iter_slices(_AT_ONCE) for one in merger.merge(description_groups(some)))


def _description_metadata(made: pl.DataFrame, session: TaskProvider) -> dict[str, Any]:
    return {"description_problems": int(made["description_problem"].is_not_null().sum()), **session.finish()}

"""Reports that come with the communities of a graph, as those of the communities here."""

import json
from collections import defaultdict
from collections.abc import Mapping

import polars as pl

from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.core.language.tasks import RecordKind
from graphrag_dagster.core.reports.kept import KeptReport

Numbers = Mapping[RecordKind, Mapping[int, str]]
#: By what Microsoft GraphRAG's reports cite entities, relationships and claims.
_NUMBER = "human_readable_id"


def kept_reports(
    reports: pl.DataFrame,
    communities: Mapping[tuple[str, str], str],
    *,
    entities: pl.DataFrame,
    relations: pl.DataFrame,
    claims: pl.DataFrame,
) -> dict[str, KeptReport]:
    """Return the reports of graphs as they came, by the id here of their community; of several the first.

    Args:
        reports: rows of ``imports.reports``.
        communities: id of each community by its graph and key.
        entities: rows of ``imports.entities``.
        relations: rows of ``imports.relations``.
        claims: rows of ``imports.claims``.
    """
    numbers = _numbers(communities, entities, relations, claims)
    kept: dict[str, KeptReport] = {}
    for row in reports.sort("path", "row").iter_rows(named=True):
        community = communities.get((row["graph"], row["community_key"]))
        if community is not None and community not in kept:
            kept[community] = KeptReport(
                title=row["title"],
                summary=row["summary"],
                content=row["content"],
                rating=row["rating"],
                rating_explanation=row["rating_explanation"],
                findings=tuple((one["summary"], one["explanation"]) for one in json.loads(row["findings"])),
                cited=numbers[row["graph"]],
            )
    return kept


def _numbers(
    communities: Mapping[tuple[str, str], str],
    entities: pl.DataFrame,
    relations: pl.DataFrame,
    claims: pl.DataFrame,
) -> Mapping[str, Numbers]:
    found: dict[str, dict[RecordKind, dict[int, str]]] = defaultdict(lambda: defaultdict(dict))
    named: tuple[tuple[RecordKind, pl.DataFrame, tuple[str, ...]], ...] = (
        ("entity", entities, ("name",)),
        ("relationship", relations, ("head", "tail")),
        ("claim", claims, ("subject", "object", "type")),
    )
    for kind, frame, columns in named:
        for graph, number, *parts in _numbered(frame, *columns).iter_rows():
            ordered = sorted(parts) if kind == "relationship" else [part or "" for part in parts]
            found[graph][kind][number] = stable_id(kind, *ordered)
    for (graph, key), community in communities.items():
        if key.isdecimal():
            found[graph]["report"][int(key)] = community
    return found


def _numbered(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    number = pl.col("attributes").str.json_path_match(f"$.{_NUMBER}").cast(pl.Int64, strict=False)
    rows = frame.select("graph", number.alias("number"), *columns).drop_nulls("number").unique()
    return rows.sort("graph", "number", *columns)

"""Imported communities and reports that are kept, as the settings of the corpus say."""

from collections.abc import Mapping

import polars as pl

from graphrag_dagster.apps.interchange.settings import ImportSettings
from graphrag_dagster.kernel.graph.hierarchy import Hierarchy
from graphrag_dagster.kernel.settings.corpus import CorpusSettings
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import (
    IMPORTED_CLAIMS,
    IMPORTED_COMMUNITIES,
    IMPORTED_ENTITIES,
    IMPORTED_RELATIONS,
    IMPORTED_REPORTS,
)
from graphrag_dagster.systems.graphrag.index.imported_hierarchy import kept_hierarchy, kept_reports
from graphrag_dagster.systems.graphrag.reports.earlier import KeptReport

#: What is read here.
IMPORTED = (IMPORTED_ENTITIES, IMPORTED_RELATIONS, IMPORTED_CLAIMS, IMPORTED_COMMUNITIES, IMPORTED_REPORTS)


def kept_communities(
    warehouse: Warehouse,
    settings: CorpusSettings,
    corpus: str,
    entities: pl.DataFrame,
    relationships: pl.DataFrame,
) -> tuple[Hierarchy, Mapping[tuple[str, str], str]] | None:
    """Return the communities that came with the graphs of a corpus, and the id of each by graph and key.

    Args:
        warehouse: where its tables are.
        settings: of the corpus.
        corpus: its name.
        entities: rows of ``graph.entities``.
        relationships: rows of ``graph.relationships``.

    Returns:
        None where none came, or communities are found anew.
    """
    if not settings.makes("imports") or settings.section(ImportSettings).communities != "kept":
        return None
    with warehouse.reading(corpus) as reader:
        communities = reader.read(IMPORTED_COMMUNITIES)
        if communities.is_empty():
            return None
        declared = reader.read(IMPORTED_ENTITIES)
    return kept_hierarchy(communities, declared, entities, relationships)


def kept_reports_of(
    warehouse: Warehouse,
    settings: CorpusSettings,
    corpus: str,
    entities: pl.DataFrame,
    relationships: pl.DataFrame,
) -> Mapping[str, KeptReport]:
    """Return the reports that came with kept communities and are kept too, by community.

    Args:
        warehouse: where its tables are.
        settings: of the corpus.
        corpus: its name.
        entities: rows of ``graph.entities``.
        relationships: rows of ``graph.relationships``.
    """
    if settings.section(ImportSettings).reports != "kept":
        return {}
    if (kept := kept_communities(warehouse, settings, corpus, entities, relationships)) is None:
        return {}
    with warehouse.reading(corpus) as reader:
        return kept_reports(
            reader.read(IMPORTED_REPORTS),
            kept[1],
            entities=reader.read(IMPORTED_ENTITIES),
            relations=reader.read(IMPORTED_RELATIONS),
            claims=reader.read(IMPORTED_CLAIMS),
        )

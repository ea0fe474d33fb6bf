"""What stands for a row of a table where it is embedded."""

import polars as pl

from graphrag_dagster.core.reports.citations import without_citations


def text_of_unit(units: pl.DataFrame) -> pl.Series:
    """Return what stands for each row of ``corpus.text_chunks``."""
    return units["text"]


def text_of_entity(entities: pl.DataFrame) -> pl.Series:
    """Return what stands for each row of ``graph.entities``."""
    return entities.select(text=pl.format("{}: {}", "title", "description"))["text"]


def text_of_report(reports: pl.DataFrame) -> pl.Series:
    """Return what stands for each row of ``reports.community_reports``."""
    # The numbers in citations change with every new entity, and mean nothing to a vector.
    return reports["content"].map_elements(without_citations, pl.String)

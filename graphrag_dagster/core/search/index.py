"""What a search reads: the tables of one corpus, as they stood when it was opened."""

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, slots=True)
class IndexSnapshot:
    """Frames with the columns that ``tables.py`` declares for the tables of the same names."""

    documents: pl.DataFrame
    text_chunks: pl.DataFrame
    entities: pl.DataFrame
    relationships: pl.DataFrame
    communities: pl.DataFrame
    community_levels: pl.DataFrame
    reports: pl.DataFrame
    findings: pl.DataFrame
    references: pl.DataFrame

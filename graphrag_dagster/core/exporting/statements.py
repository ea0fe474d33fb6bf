"""N-Triples of statements as RDF has them."""

from pathlib import Path

import polars as pl

from graphrag_dagster.core.exporting.ntriples import END, escaped
from graphrag_dagster.core.exporting.rows import Rows
from graphrag_dagster.core.exporting.vocabulary import iris
from graphrag_dagster.core.progress import stage


def write_lines(place: Path, rows: Rows) -> int:
    """Write statements, one a line; returns their number.

    Args:
        place: the file.
        rows: ``subject``, ``predicate`` and ``object``, IRIs or, but for predicates, blank nodes as ``_:a``;
            of a literal instead of an object ``value``, ``language`` and ``datatype``.
    """
    count = 0
    with place.open("wb") as file, stage(f"Writing {place.name}") as running:
        for frame in rows.frames():
            language = pl.concat_str(pl.lit("@"), pl.col("language"))
            datatype = pl.concat_str(pl.lit("^^"), iris(frame["datatype"]))
            literal = pl.concat_str(
                *(pl.lit('"'), escaped(pl.col("value")), pl.lit('"')),
                pl.coalesce(language, datatype, pl.lit("")),
            )
            parts = [_named(frame["subject"]), iris(frame["predicate"])]
            parts.append(pl.coalesce(_named(frame["object"]), literal))
            lines = frame.select(line=pl.concat_str(*parts, separator=" "))["line"]
            file.write("".join(f"{line}{END}" for line in lines).encode())
            count += frame.height
            running.advance(frame.height)
    return count


def _named(names: pl.Series) -> pl.Expr:
    bare = pl.lit(names)
    return pl.when(bare.str.starts_with("_:")).then(bare).otherwise(iris(names))

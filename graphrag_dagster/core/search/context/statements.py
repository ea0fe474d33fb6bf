"""A graph without texts, told in words, so that it can be searched as texts are.

What a graph says of an entity is a passage of the entity's own: its description, then a sentence for each
relation that begins there. What another graph says of it is another passage, so that a question that is
restricted to one reads nothing of the other. Such passages stand in no table; what is cited of them is the
row of the graph.
"""

from dataclasses import replace

import polars as pl

from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.tables import DOCUMENTS, TEXT_CHUNKS, Table

#: Sentences of a passage, at most.
_SENTENCES = 30
#: Characters of a token, about.
_TOKEN = 4
_ENCODING, _STRATEGY = "characters", "imported"
#: The names of two ends, in their order.
_PAIR = ["smaller", "larger"]
_RELATIONS, _ENTITIES = "imports.relations", "imports.entities"


def told_in_words(index: IndexSnapshot) -> IndexSnapshot:
    """Return the snapshot with a passage for each entity of a graph that came without texts.

    Args:
        index: the snapshot; one with text units, or of no graph from elsewhere, stays as it is.
    """
    if index.statements is None or index.declared is None or len(index.text_chunks):
        return index
    sentences = _sentences(index.statements, index.declared, index.entities)
    if sentences.is_empty():
        return index
    units = _units(sentences)
    return replace(
        index,
        documents=_documents(units),
        text_chunks=_typed(units, TEXT_CHUNKS),
        entities=_naming(index.entities, sentences),
        relationships=_stating(index.relationships, sentences),
        triples=None if index.triples is None else _stating(index.triples, sentences, "head", "tail"),
        unit_vectors=None,
        sentences=sentences,
    )


def _sentences(statements: pl.DataFrame, declared: pl.DataFrame, entities: pl.DataFrame) -> pl.DataFrame:
    """Every sentence with the entities it is about, its row, its passage and its place there."""
    described = declared.filter(pl.col("description") != "").select(
        about="name",
        other=pl.lit(None, pl.String),
        said=pl.format("{}: {}", "title", "description"),
        table=pl.lit(_ENTITIES),
        graph="graph",
        path="path",
        row="row",
    )
    stated = statements.filter(pl.col("outcome").is_in(["read", "dangling"])).select(
        about="head",
        other="tail",
        said="said",
        table=pl.lit(_RELATIONS),
        graph="graph",
        path="path",
        row="row",
    )
    ids = entities.select("entity_id", "title", about="name")
    ordered = (
        pl.concat([described, stated])
        .join(ids, on="about")
        .with_columns(said=pl.col("said").str.replace_all(r"\s+", " ").str.strip_chars(" ."))
        .with_columns(said=pl.col("said") + ".")
        .sort("about", "graph", "table", "path", "row")
        .with_columns(part=pl.int_range(pl.len()).over("about", "graph") // _SENTENCES)
    )
    keys = (
        ordered.select("about", "graph", "part")
        .unique(maintain_order=True)
        .with_columns(
            document_id=_id_of("told", "about", "graph"),
            text_unit_id=_id_of("told", "about", "graph", "part"),
        )
    )
    return ordered.join(keys, on=["about", "graph", "part"], maintain_order="left").with_columns(
        start=(pl.col("said").str.len_chars() + 1).cum_sum().over("text_unit_id")
        - pl.col("said").str.len_chars()
        - 1
    )


def _id_of(kind: str, *columns: str) -> pl.Expr:
    return pl.struct(columns).map_elements(
        lambda key: stable_id(kind, *(key[column] for column in columns)), return_dtype=pl.String
    )


def _units(sentences: pl.DataFrame) -> pl.DataFrame:
    parts = sentences.group_by("text_unit_id", maintain_order=True).agg(
        pl.first("document_id", "title", "path", "part"), text=pl.col("said").str.join("\n")
    )
    length = pl.col("text").str.len_chars()
    return parts.with_row_index("human_readable_id").with_columns(
        position=pl.col("part"),
        start_char=pl.lit(0),
        end_char=length,
        tokens=length // _TOKEN + 1,
        encoding=pl.lit(_ENCODING),
        strategy=pl.lit(_STRATEGY),
    )


def _documents(units: pl.DataFrame) -> pl.DataFrame:
    first = units.group_by("document_id", maintain_order=True).agg(
        pl.first("title", "path"), text=pl.lit(""), characters=pl.lit(0)
    )
    nothing = {name: pl.lit(None) for name in ("row", "source_id", "date")}
    rows = first.with_row_index("human_readable_id").with_columns(**nothing, metadata=pl.lit("{}"))
    return _typed(rows, DOCUMENTS)


def _typed(rows: pl.DataFrame, table: Table) -> pl.DataFrame:
    return rows.select(pl.col(name).cast(type_) for name, type_ in table.types().items())


def _naming(entities: pl.DataFrame, sentences: pl.DataFrame) -> pl.DataFrame:
    ends = (sentences.select("text_unit_id", name=end) for end in ("about", "other"))
    named = pl.concat(ends).drop_nulls().unique(maintain_order=True)
    units = named.group_by("name", maintain_order=True).agg(found="text_unit_id")
    return _with_units(entities, units, ["name"])


def _stating(
    records: pl.DataFrame, sentences: pl.DataFrame, first: str = "source", second: str = "target"
) -> pl.DataFrame:
    """The records with the units that name both of their ends, whichever is said of the other."""
    ends = [pl.min_horizontal, pl.max_horizontal]
    pairs = sentences.drop_nulls("other").select(
        *(end("about", "other").alias(name) for end, name in zip(ends, _PAIR, strict=True)),
        found="text_unit_id",
    )
    units = pairs.unique(maintain_order=True).group_by(_PAIR, maintain_order=True).agg("found")
    keyed = records.with_columns(
        end(first, second).alias(name) for end, name in zip(ends, _PAIR, strict=True)
    )
    return _with_units(keyed, units, _PAIR).drop(_PAIR)


def _with_units(records: pl.DataFrame, units: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    joined = records.join(units, on=keys, how="left", maintain_order="left")
    found = pl.coalesce("found", pl.lit([], pl.List(pl.String)))
    return joined.with_columns(text_unit_ids=found).drop("found")

"""Impact of a document: the rows that would be deleted or changed without it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import polars as pl

from graphrag_dagster.kernel.lineage.lineage_steps import LineageRows, lineages
from graphrag_dagster.kernel.lineage.row_lookup import find_rows

_UNIT_COLUMNS = ("text_unit_id", "human_readable_id", "document_id", "start_char", "end_char", "tokens")
_CONTEXT_ROWS = "reports.report_context_rows"

_COUNTED = {
    "documents": "corpus.documents",
    "text_units": "corpus.text_chunks",
    "entities": "graph.entities",
    "relationships": "graph.relationships",
    "claims": "graph.claims",
    "communities": "graph.communities",
    "context_nodes": "graph.context_nodes",
    "reports": "reports.community_reports",
    "answers": "answers.answers",
}

_TEXTS, _NUMBERS = ("community_id", "title", "engine"), ("triples", "lost")
_NO_SUMMARIES = pl.DataFrame(schema=dict.fromkeys(_TEXTS, pl.String) | dict.fromkeys(_NUMBERS, pl.Int64))


@dataclass(frozen=True, slots=True)
class Impact:
    """The differences without some documents, assuming that communities stay as they are.

    Each frame has the affected rows, most affected first. ``documents``; ``copies``, paths of files with the
    same content, which would replace a document; ``text_units``, which are deleted. ``entities``,
    ``relationships`` and ``claims`` have ``text_units`` and ``text_units_after``, and ``gone`` if none is
    left. ``communities`` lose members; ``context_nodes`` are deleted. ``reports`` have deleted or changed
    rows in their context; ``summaries`` of CoTeRAG-S mention them. ``answers`` cite the documents or had such
    rows in their context. ``totals``: rows of the corpus by kind.
    """

    documents: pl.DataFrame
    copies: Sequence[str]
    text_units: pl.DataFrame
    entities: pl.DataFrame
    relationships: pl.DataFrame
    claims: pl.DataFrame
    communities: pl.DataFrame
    context_nodes: pl.DataFrame
    reports: pl.DataFrame
    summaries: pl.DataFrame
    answers: pl.DataFrame
    totals: Mapping[str, int]

    def counts(self) -> dict[str, int]:
        """Return the numbers of rows that are deleted or changed, or at most requested again from a model."""
        merged = {"entities": self.entities, "relationships": self.relationships, "claims": self.claims}
        gone = {name: int(frame["gone"].sum()) for name, frame in merged.items()}
        less = {name: len(frame) - gone[name] for name, frame in merged.items()}
        return {
            "text_units_gone": len(self.text_units),
            **{f"{name}_gone": number for name, number in gone.items()},
            **{f"{name}_less": number for name, number in less.items()},
            "communities_less": len(self.communities),
            "context_nodes_gone": len(self.context_nodes),
            "reports_holding": int(self.reports["holds"].sum()),
            "answers_citing": len(self.answers.filter(pl.col("citations") > 0)),
            "descriptions_again": sum(less.values()),
            "reports_again": len(self.reports),
            "summaries_again": len(self.summaries),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-compatible values."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        frames = {key: value.to_dicts() for key, value in values.items() if isinstance(value, pl.DataFrame)}
        return {"counts": self.counts(), **values, **frames}


def impact(rows: LineageRows, asked: str) -> Impact:
    """Return the impact of a document.

    Args:
        rows: the tables.
        asked: path of a file, for all documents in it; or id, prefix of the id, ``human_readable_id`` or
            title of a document. A title shared by several documents selects all of them.

    Raises:
        QuestionError: no such document; the message suggests similar ones.
    """
    documents = _documents(rows, asked)
    units = rows.of("corpus.text_chunks", "document_id", documents["document_id"], _UNIT_COLUMNS)
    ids = units["text_unit_id"]
    entities = _losing(rows, "graph.entities", ids, "entity_id", ("title", "type"))
    ends = ("source", "target", "source_id", "target_id")
    relationships = _losing(rows, "graph.relationships", ids, "relationship_id", ends)
    about = ("subject", "object", "type", "description")
    claims = _losing(rows, "graph.claims", ids, "claim_id", about)
    triples = rows.of("graph.triples", "text_unit_ids", ids, ("triple_id", "head_id", "tail_id"))
    gone = entities.filter("gone")["entity_id"]
    of_systems = lineages()
    summaries = next((lineage.affected(rows, triples, gone) for lineage in of_systems), _NO_SUMMARIES)
    touched = {
        "source": ids,
        "entity": entities["entity_id"],
        "relationship": relationships["relationship_id"],
        "claim": claims["claim_id"],
        "triple": triples["triple_id"],
        "summary": summaries["community_id"],
    }
    reports = _reports(rows, touched, _neighbours(rows, relationships.filter("gone")))
    lengths = units.group_by("document_id").agg(text_units=pl.len())
    paths = documents["path"].unique()
    return Impact(
        documents=documents.join(lengths, on="document_id", how="left").with_columns(
            pl.col("text_units").fill_null(0)
        ),
        copies=rows.of("corpus.files", "duplicate_of", paths, ("path",))["path"].to_list(),
        text_units=units.sort("human_readable_id").drop("human_readable_id"),
        entities=entities,
        relationships=relationships.drop("source_id", "target_id"),
        claims=claims,
        communities=_communities(rows, gone),
        context_nodes=rows.of(
            "graph.context_nodes",
            "entity_id",
            gone,
            ("level", "community_id", "entity_id", "home_id", "score"),
        ).sort("level", "community_id", "entity_id"),
        reports=reports,
        summaries=summaries,
        answers=_answers(rows, documents["document_id"], {**touched, "report": reports["report_id"]}),
        totals={
            **{name: rows.count(table) for name, table in _COUNTED.items()},
            "summaries": sum(rows.count(lineage.rows.table) for lineage in of_systems),
        },
    )


def _documents(rows: LineageRows, asked: str) -> pl.DataFrame:
    all_documents = rows.all(
        "corpus.documents", ("document_id", "human_readable_id", "path", "row", "title", "characters")
    )
    matches = all_documents.filter(pl.col("path") == asked)
    if matches.is_empty():
        candidates = all_documents.select(
            id="document_id", number="human_readable_id", label="path", name="title"
        )
        matches = all_documents.filter(pl.col("document_id").is_in(find_rows("document", candidates, asked)))
    return matches.sort("human_readable_id").drop("human_readable_id")


def _losing(
    rows: LineageRows, table: str, units: pl.Series, key: str, columns: Sequence[str]
) -> pl.DataFrame:
    """Return the rows that lose some of their text units, or all of them: ``gone``."""
    lost = pl.col("text_unit_ids").list.set_intersection(units.to_list()).list.len()
    number = pl.col("text_unit_ids").list.len()
    return (
        rows.of(table, "text_unit_ids", units, (key, *columns, "text_unit_ids"))
        .with_columns(text_units=number, text_units_after=number - lost, gone=number == lost)
        .drop("text_unit_ids")
        .sort(~pl.col("gone"), -pl.col("text_units").cast(pl.Int64), key)
    )


def _neighbours(rows: LineageRows, gone: pl.DataFrame) -> pl.Series:
    """Return the relationships whose combined degree changes, as an end loses a neighbour."""
    ends = pl.concat([gone["source_id"], gone["target_id"]]).unique()
    around = [
        rows.of("graph.relationships", end, ends, ("relationship_id",)) for end in ("source_id", "target_id")
    ]
    return pl.concat(around)["relationship_id"].unique()


def _in_contexts(rows: LineageRows, table: str, owner: str, records: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Return ``kind`` and ``record_id`` of those records that a context shows, with the id of its owner."""
    wanted = pl.concat(
        ids.alias("record_id").to_frame().with_columns(kind=pl.lit(kind)) for kind, ids in records.items()
    )
    found = rows.of(table, "record_id", wanted["record_id"].unique(), (owner, "kind", "record_id"))
    return found.join(wanted, on=["kind", "record_id"], how="semi")


def _reports(rows: LineageRows, touched: Mapping[str, pl.Series], neighbours: pl.Series) -> pl.DataFrame:
    """Return the reports whose context shows touched rows, those with the most first.

    ``shown`` counts these rows of the context, affected reports of sub-communities among them. ``holds`` is
    false where only a combined degree changes, as an end of a relationship loses a neighbour.
    """
    relationships = pl.concat([touched["relationship"], neighbours]).unique()
    changed = {**touched, "relationship": relationships}
    affected = set(_in_contexts(rows, _CONTEXT_ROWS, "report_id", changed)["report_id"])
    below = rows.of(_CONTEXT_ROWS, "kind", ["report"], ("report_id", "record_id"))
    while above := set(below.filter(pl.col("record_id").is_in(affected))["report_id"]) - affected:
        affected |= above
    held = {**touched, "report": pl.Series(sorted(affected), dtype=pl.String)}
    shown = _in_contexts(rows, _CONTEXT_ROWS, "report_id", held).group_by("report_id").agg(shown=pl.len())
    columns = ("report_id", "human_readable_id", "level", "title", "engine")
    return (
        rows.of("reports.community_reports", "report_id", sorted(affected), columns)
        .join(shown, on="report_id", how="left")
        .with_columns(pl.col("shown").fill_null(0).cast(pl.Int64))
        .with_columns(holds=pl.col("shown") > 0)
        .sort(-pl.col("shown"), "level", "report_id")
    )


def _answers(rows: LineageRows, documents: pl.Series, touched: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Return the answers that cite words of documents, or had touched rows in their context.

    ``citations`` counts citations of words in the documents; ``shown`` counts touched rows and affected
    reports in the context. Those with the most citations come first.
    """
    citations = rows.of("answers.answer_citations", "document_id", documents, ("answer_id",))
    cited = citations.group_by("answer_id").agg(citations=pl.len())
    context = _in_contexts(rows, "answers.answer_contexts", "answer_id", touched)
    shown = context.group_by("answer_id").agg(shown=pl.len())
    ids = pl.concat([cited["answer_id"], shown["answer_id"]]).unique()
    return (
        rows.of("answers.answers", "answer_id", ids, ("answer_id", "question", "method", "engine"))
        .join(cited, on="answer_id", how="left")
        .join(shown, on="answer_id", how="left")
        .with_columns(pl.col("citations", "shown").fill_null(0).cast(pl.Int64))
        .sort(-pl.col("citations"), -pl.col("shown"), "question", "method")
    )


def _communities(rows: LineageRows, gone: pl.Series) -> pl.DataFrame:
    """Return communities that lose members, those that lose most first."""
    lost = (
        rows.of("graph.community_members", "entity_id", gone, ("community_id", "entity_id"))
        .group_by("community_id")
        .agg(lost=pl.len().cast(pl.Int32))
    )
    communities = rows.of(
        "graph.communities",
        "community_id",
        lost["community_id"],
        ("community_id", "human_readable_id", "level", "size"),
    )
    titles = rows.of("reports.community_reports", "report_id", lost["community_id"], ("report_id", "title"))
    return (
        communities.join(lost, on="community_id")
        .join(titles, left_on="community_id", right_on="report_id", how="left")
        .with_columns(size_after=pl.col("size") - pl.col("lost"))
        .sort(-pl.col("lost"), "level", "community_id")
        .drop("lost")
    )

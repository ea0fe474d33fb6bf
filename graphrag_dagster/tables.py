"""Every table, declared once: the interface between all rooms.

From these declarations come the DuckDB tables, the validation of every frame before it is written, the
column schema shown in Dagster, the blocking checks and the data dictionary. Every table begins with the
column ``corpus``, which the warehouse adds on writing and leaves out on reading.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import polars as pl

from graphrag_dagster.core.errors import WarehouseError

SPANS = 'STRUCT("start" INTEGER, "end" INTEGER)[]'
VECTOR = "FLOAT[n]"

_POLARS_TYPES: Mapping[str, pl.DataType] = MappingProxyType(
    {
        "VARCHAR": pl.String(),
        "INTEGER": pl.Int32(),
        "BIGINT": pl.Int64(),
        "DOUBLE": pl.Float64(),
        "BOOLEAN": pl.Boolean(),
        "VARCHAR[]": pl.List(pl.String()),
        SPANS: pl.List(pl.Struct({"start": pl.Int32(), "end": pl.Int32()})),
    }
)


@dataclass(frozen=True)
class Column:
    """A column: DuckDB type, meaning, and what must hold of it.

    ``values`` closes the set of allowed values; ``references`` names ``schema.table.column`` where each
    non-null value must exist.
    """

    name: str
    type: str
    meaning: str
    nullable: bool = False
    values: tuple[str, ...] = ()
    references: str | None = None

    def polars_type(self) -> pl.DataType | None:
        """The Polars type, or None for vectors, whose length the frame decides."""
        return None if self.type == VECTOR else _POLARS_TYPES[self.type]


@dataclass(frozen=True)
class Table:
    """A table: asset key ``[schema, name]`` is the DuckDB table ``schema.name``."""

    schema: str
    name: str
    group: str
    meaning: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    sql: bool = False

    @property
    def full_name(self) -> str:
        """``schema.name``."""
        return f"{self.schema}.{self.name}"

    @property
    def asset_key(self) -> list[str]:
        """The Dagster asset key as a list of path parts."""
        return [self.schema, self.name]

    def column(self, name: str) -> Column:
        """Return the column of that name.

        Raises:
            WarehouseError: there is none.
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise WarehouseError(f"{self.full_name} has no column {name!r}; it has {self.column_names}")

    @property
    def column_names(self) -> list[str]:
        """The columns in order, without ``corpus``."""
        return [column.name for column in self.columns]

    def empty(self) -> pl.DataFrame:
        """A frame with the declared columns and no rows (vectors as lists)."""
        return pl.DataFrame(schema={c.name: c.polars_type() or pl.List(pl.Float32) for c in self.columns})

    def frame(self, rows: list[dict[str, object]]) -> pl.DataFrame:
        """Build a frame of the declared types from rows, sorted by the key."""
        schema = {c.name: c.polars_type() or pl.List(pl.Float32) for c in self.columns}
        return pl.DataFrame(rows, schema=schema, orient="row").sort(self.key)

    def validated(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the frame with columns in declared order and types, sorted by the key.

        Raises:
            WarehouseError: a column is missing, unknown, of another type, null where it may not be, outside
                its allowed values, or the key is not unique; names table, column and an example row.
        """
        self._check_names(frame)
        ordered = self._cast(frame.select(self.column_names))
        for column in self.columns:
            self._check_column(ordered, column)
        if ordered.select(pl.struct(self.key).is_duplicated().any()).item():
            twice = ordered.filter(pl.struct(self.key).is_duplicated()).select(self.key).row(0, named=True)
            raise WarehouseError(f"{self.full_name}: the key {self.key} is not unique, e.g. {twice}")
        return ordered.sort(self.key)

    def _check_names(self, frame: pl.DataFrame) -> None:
        missing = [name for name in self.column_names if name not in frame.columns]
        unknown = [name for name in frame.columns if name not in self.column_names]
        if missing or unknown:
            raise WarehouseError(
                f"{self.full_name}: columns missing {missing}, unknown {unknown}; declared in tables.py are "
                f"{self.column_names}"
            )

    def _cast(self, frame: pl.DataFrame) -> pl.DataFrame:
        for column in self.columns:
            wanted, found = column.polars_type(), frame.schema[column.name]
            if wanted is None:
                if not isinstance(found, pl.Array | pl.List):
                    raise WarehouseError(f"{self.full_name}.{column.name}: a vector is wanted, not {found}")
            elif found != wanted:
                try:
                    frame = frame.with_columns(pl.col(column.name).cast(wanted, strict=True))
                except (pl.exceptions.PolarsError, TypeError) as error:
                    raise WarehouseError(
                        f"{self.full_name}.{column.name}: {found} cannot become {column.type}: {error}"
                    ) from error
        return frame

    def _check_column(self, frame: pl.DataFrame, column: Column) -> None:
        values = frame[column.name]
        if not column.nullable and values.null_count():
            row = frame.filter(pl.col(column.name).is_null()).select(self.key).row(0, named=True)
            raise WarehouseError(f"{self.full_name}.{column.name} is null in {row}; it may not be")
        if column.values:
            wrong = values.drop_nulls().filter(~values.drop_nulls().is_in(list(column.values)))
            if len(wrong):
                raise WarehouseError(
                    f"{self.full_name}.{column.name}: {wrong[0]!r} is not one of {', '.join(column.values)}"
                )


def _c(
    name: str,
    type_: str,
    meaning: str,
    *,
    nullable: bool = False,
    values: tuple[str, ...] = (),
    ref: str | None = None,
) -> Column:
    return Column(name, type_, meaning, nullable, values, ref)


ENGINES = ("extractive", "llm")
_UNIT = _c("text_unit_id", "VARCHAR", "Text unit it came from", ref="corpus.text_chunks.text_unit_id")
_ROUND = _c("round", "INTEGER", "0 for the first reply, 1… for gleanings")
_ENGINE = _c("engine", "VARCHAR", "Which implementation made the row", values=ENGINES)
_HUMAN = _c("human_readable_id", "INTEGER", "Small number for citations, 0…")

FILES = Table(
    "corpus",
    "files",
    "corpus",
    "Every file found below the corpus folder and what became of it",
    ("path",),
    (
        _c("path", "VARCHAR", "Path below the corpus folder, with forward slashes"),
        _c(
            "status",
            "VARCHAR",
            "What became of the file",
            values=("read", "duplicate", "empty", "unsupported", "refused", "failed"),
        ),
        _c("reason", "VARCHAR", "Why it was not read, or what was odd about it", nullable=True),
        _c("duplicate_of", "VARCHAR", "Path of the file with the same content", nullable=True),
        _c("format", "VARCHAR", "Reader that fits the file, e.g. txt, md, pdf", nullable=True),
        _c("encoding", "VARCHAR", "Text encoding it was read with", nullable=True),
        _c("bytes", "BIGINT", "Size of the file"),
        _c("sha256", "VARCHAR", "Hash of the content; null for refused files", nullable=True),
        _c("documents", "INTEGER", "Documents read from it"),
    ),
)

DOCUMENTS = Table(
    "corpus",
    "documents",
    "corpus",
    "One row per document: a file, or one row of a table-like file",
    ("document_id",),
    (
        _c("document_id", "VARCHAR", "Hash of the content"),
        _HUMAN,
        _c("path", "VARCHAR", "File it was read from", ref="corpus.files.path"),
        _c("row", "INTEGER", "Row in a table-like file, 0…", nullable=True),
        _c("source_id", "VARCHAR", "Id given by the file", nullable=True),
        _c("title", "VARCHAR", "Title given by the file, else its first heading, else the file's name"),
        _c("text", "VARCHAR", "The document's text"),
        _c("characters", "INTEGER", "Length of the text in characters"),
        _c("date", "VARCHAR", "Date as the file gives it", nullable=True),
        _c("metadata", "VARCHAR", "Other columns or properties, as a JSON object"),
    ),
)

TEXT_CHUNKS = Table(
    "corpus",
    "text_chunks",
    "corpus",
    "Text units: windows of a document's text (paper §3.1.1)",
    ("text_unit_id",),
    (
        _c("text_unit_id", "VARCHAR", "Hash of document, position and text"),
        _HUMAN,
        _c("document_id", "VARCHAR", "Document it was cut from", ref="corpus.documents.document_id"),
        _c("position", "INTEGER", "Place among the units of its document, 0…"),
        _c("start_char", "INTEGER", "First character in the document's text"),
        _c("end_char", "INTEGER", "One past the last character"),
        _c("text", "VARCHAR", "The document's text between the two"),
        _c("tokens", "INTEGER", "Length in tokens of the encoding"),
        _c("encoding", "VARCHAR", "Tokenizer, e.g. cl100k_base"),
        _c("strategy", "VARCHAR", "How it was cut", values=("tokens", "sentences", "none")),
    ),
)

GLEANED_ENTITIES = Table(
    "extraction",
    "gleaned_entities",
    "extraction",
    "Entity instances: one row per entity record per text unit and round (paper §3.1.2)",
    ("instance_id",),
    (
        _c("instance_id", "VARCHAR", "Hash of unit, round and place in the reply"),
        _UNIT,
        _ROUND,
        _c("position", "INTEGER", "Place of the record in its unit, 0…"),
        _c("name", "VARCHAR", "Normalised name, the merge key"),
        _c("surface", "VARCHAR", "Name as written"),
        _c("type", "VARCHAR", "Entity type, upper case"),
        _c("description", "VARCHAR", "What the unit says of it"),
        _c("spans", SPANS, "Where the name stands in the unit's text"),
        _ENGINE,
    ),
)

GLEANED_RELATIONSHIPS = Table(
    "extraction",
    "gleaned_relationships",
    "extraction",
    "Relationship instances: one row per relation record per text unit and round (paper §3.1.2)",
    ("instance_id",),
    (
        _c("instance_id", "VARCHAR", "Hash of unit, round and place in the reply"),
        _UNIT,
        _ROUND,
        _c("position", "INTEGER", "Place of the record in its unit, 0…"),
        _c("source", "VARCHAR", "Normalised name of one end, as the record has it"),
        _c("target", "VARCHAR", "Normalised name of the other end"),
        _c("description", "VARCHAR", "How they are related"),
        _c("strength", "DOUBLE", "Strength given by the model, else 1"),
        _c("basis", "VARCHAR", "What it rests on", values=("model", "verb", "co_occurrence")),
        _c("spans", SPANS, "Where the supporting sentence stands in the unit's text"),
        _ENGINE,
    ),
)

CLAIMS = Table(
    "extraction",
    "claims",
    "extraction",
    "Claims about entities (paper §3.1.2); empty unless claims are enabled",
    ("claim_id",),
    (
        _c("claim_id", "VARCHAR", "Hash of unit, round and place in the reply"),
        _HUMAN,
        _UNIT,
        _ROUND,
        _c("position", "INTEGER", "Place of the record in its unit, 0…"),
        _c("subject", "VARCHAR", "Normalised name of the entity it is about"),
        _c("object", "VARCHAR", "Normalised name of the other entity", nullable=True),
        _c("type", "VARCHAR", "Kind of claim, upper case"),
        _c("status", "VARCHAR", "Whether the text holds it true", values=("TRUE", "FALSE", "SUSPECTED")),
        _c("description", "VARCHAR", "The claim"),
        _c("start_date", "VARCHAR", "From when, ISO 8601", nullable=True),
        _c("end_date", "VARCHAR", "Until when, ISO 8601", nullable=True),
        _c("spans", SPANS, "Where the quoted text stands in the unit's text"),
        _ENGINE,
    ),
)

UNIT_LEDGER = Table(
    "extraction",
    "unit_ledger",
    "extraction",
    "What became of every text unit: exactly one state each",
    ("text_unit_id",),
    (
        _UNIT,
        _c(
            "state",
            "VARCHAR",
            "How extraction ended",
            values=("extracted", "empty", "repaired", "quarantined"),
        ),
        _c("reason", "VARCHAR", "Why it is empty or quarantined", nullable=True),
        _c("rounds", "INTEGER", "Replies used: 1 + gleanings"),
        _c("entities", "INTEGER", "Entity records kept"),
        _c("relationships", "INTEGER", "Relationship records kept"),
        _c("claims", "INTEGER", "Claims kept"),
        _c("repaired", "INTEGER", "Records mended"),
        _c("quarantined", "INTEGER", "Records and replies put aside"),
        _c("calls", "INTEGER", "Model calls"),
        _c("input_tokens", "BIGINT", "Tokens sent"),
        _c("output_tokens", "BIGINT", "Tokens received"),
        _ENGINE,
    ),
)

QUARANTINE = Table(
    "extraction",
    "quarantine",
    "extraction",
    "Replies and records that could not be used, whole, each with its reason",
    ("quarantine_id",),
    (
        _c("quarantine_id", "VARCHAR", "Hash of unit, round and place"),
        _UNIT,
        _ROUND,
        _c("position", "INTEGER", "Place among what the unit put aside, 0…"),
        _c("kind", "VARCHAR", "What was put aside", values=("reply", "entity", "relationship", "claim")),
        _c("reason", "VARCHAR", "Why"),
        _c("raw", "VARCHAR", "The reply or record as it came"),
        _c("prompt", "VARCHAR", "The prompt of a reply", nullable=True),
        _ENGINE,
    ),
)

ENTITY_GROUPS = Table(
    "staging",
    "entity_groups",
    "graph",
    "Entity instances grouped by normalised name, type by majority, descriptions not yet merged",
    ("name",),
    (
        _c("name", "VARCHAR", "Normalised name"),
        _c("title", "VARCHAR", "Most frequent spelling"),
        _c("type", "VARCHAR", "Most frequent type; a tie goes to the one seen first"),
        _c("descriptions", "VARCHAR[]", "Distinct descriptions in order of first appearance"),
        _c("text_unit_ids", "VARCHAR[]", "Units that mention it, in order of the corpus"),
        _c("frequency", "INTEGER", "Number of those units"),
        _c("instances", "INTEGER", "Number of entity records"),
    ),
    sql=True,
)

RELATIONSHIP_GROUPS = Table(
    "staging",
    "relationship_groups",
    "graph",
    "Relationship instances grouped by unordered pair of names, without self-loops",
    ("source", "target"),
    (
        _c("source", "VARCHAR", "The smaller of the two names"),
        _c("target", "VARCHAR", "The larger of the two names"),
        _c("descriptions", "VARCHAR[]", "Distinct descriptions in order of first appearance"),
        _c("text_unit_ids", "VARCHAR[]", "Units that state it, in order of the corpus"),
        _c("instances", "INTEGER", "Number of relation records, both directions"),
        _c("strength", "DOUBLE", "Sum of the strengths"),
    ),
    sql=True,
)

ENTITIES = Table(
    "graph",
    "entities",
    "graph",
    "Nodes of the merged graph (paper §3.1.3)",
    ("entity_id",),
    (
        _c("entity_id", "VARCHAR", "Hash of the normalised name"),
        _HUMAN,
        _c("name", "VARCHAR", "Normalised name"),
        _c("title", "VARCHAR", "Most frequent spelling"),
        _c("type", "VARCHAR", "Type by majority"),
        _c("description", "VARCHAR", "Merged description"),
        _c(
            "description_engine",
            "VARCHAR",
            "Who merged it: as_is for one distinct description",
            values=("as_is", *ENGINES),
        ),
        _c("description_problem", "VARCHAR", "Why a model's reply was not used", nullable=True),
        _c("text_unit_ids", "VARCHAR[]", "Units that mention it"),
        _c("frequency", "INTEGER", "Number of those units"),
        _c("instances", "INTEGER", "Number of entity records"),
        _c("degree", "INTEGER", "Number of distinct neighbours"),
    ),
)

RELATIONSHIPS = Table(
    "graph",
    "relationships",
    "graph",
    "Undirected edges of the merged graph (paper §3.1.3)",
    ("relationship_id",),
    (
        _c("relationship_id", "VARCHAR", "Hash of the two names in order"),
        _HUMAN,
        _c("source", "VARCHAR", "The smaller of the two names", ref="graph.entities.name"),
        _c("target", "VARCHAR", "The larger of the two names", ref="graph.entities.name"),
        _c("source_id", "VARCHAR", "Entity id of source", ref="graph.entities.entity_id"),
        _c("target_id", "VARCHAR", "Entity id of target", ref="graph.entities.entity_id"),
        _c("description", "VARCHAR", "Merged description"),
        _c(
            "description_engine",
            "VARCHAR",
            "Who merged it: as_is for one distinct description",
            values=("as_is", *ENGINES),
        ),
        _c("description_problem", "VARCHAR", "Why a model's reply was not used", nullable=True),
        _c("weight", "DOUBLE", "Number of relation records, or sum of strengths by setting"),
        _c("instances", "INTEGER", "Number of relation records"),
        _c("combined_degree", "INTEGER", "Sum of the degrees of both ends"),
        _c("text_unit_ids", "VARCHAR[]", "Units that state it"),
    ),
)

COMMUNITIES = Table(
    "graph",
    "communities",
    "communities",
    "Communities of the hierarchical Leiden clustering (paper §3.1.4)",
    ("community_id",),
    (
        _c("community_id", "VARCHAR", "Hash of level and members"),
        _HUMAN,
        _c("level", "INTEGER", "0 = root communities"),
        _c(
            "parent_id",
            "VARCHAR",
            "Community it was split from; null at level 0",
            nullable=True,
            ref="graph.communities.community_id",
        ),
        _c("is_leaf", "BOOLEAN", "Not split further"),
        _c("size", "INTEGER", "Number of member entities"),
        _c("internal_edges", "INTEGER", "Edges with both ends inside"),
        _c("summed_degree", "INTEGER", "Sum of the members' degrees in the whole graph"),
    ),
)

COMMUNITY_MEMBERS = Table(
    "graph",
    "community_members",
    "communities",
    "Which entities belong to which community, at every level it exists on",
    ("community_id", "entity_id"),
    (
        _c("community_id", "VARCHAR", "Community", ref="graph.communities.community_id"),
        _c("entity_id", "VARCHAR", "Member", ref="graph.entities.entity_id"),
        _c("level", "INTEGER", "Level of the community"),
    ),
)

COMMUNITY_LEVELS = Table(
    "graph",
    "community_levels",
    "communities",
    "C0, C1, …: at each level a partition of the clustered entities, leaves projected downwards (paper §4.1.2)",
    ("level", "entity_id"),
    (
        _c("level", "INTEGER", "k of Ck: 0 … max(3, deepest level)"),
        _c("entity_id", "VARCHAR", "Clustered entity", ref="graph.entities.entity_id"),
        _c("community_id", "VARCHAR", "Its community at Ck", ref="graph.communities.community_id"),
        _c("projected", "BOOLEAN", "The community is a leaf of a higher level"),
    ),
    sql=True,
)

COMMUNITY_REPORTS = Table(
    "reports",
    "community_reports",
    "reports",
    "One report per community (paper §3.1.5)",
    ("report_id",),
    (
        _c("report_id", "VARCHAR", "The community's id", ref="graph.communities.community_id"),
        _HUMAN,
        _c("level", "INTEGER", "Level of the community"),
        _c("title", "VARCHAR", "Names the subject"),
        _c("summary", "VARCHAR", "The gist"),
        _c("rating", "DOUBLE", "Importance, 0–10"),
        _c("rating_explanation", "VARCHAR", "What the rating rests on"),
        _c("content", "VARCHAR", "The whole report as Markdown"),
        _c("tokens", "INTEGER", "Tokens of the content"),
        _ENGINE,
        _c("problem", "VARCHAR", "Why a model's report was replaced by the extractive one", nullable=True),
    ),
)

REPORT_FINDINGS = Table(
    "reports",
    "report_findings",
    "reports",
    "The findings of each report",
    ("report_id", "position"),
    (
        _c("report_id", "VARCHAR", "Report", ref="reports.community_reports.report_id"),
        _c("position", "INTEGER", "Place in the report, 0…"),
        _c("summary", "VARCHAR", "Headline"),
        _c("explanation", "VARCHAR", "The finding, with its citations"),
    ),
)

REPORT_REFERENCES = Table(
    "reports",
    "report_references",
    "reports",
    "What each report and finding cites, each id checked against the context it was written from",
    ("report_id", "finding", "position"),
    (
        _c("report_id", "VARCHAR", "Report", ref="reports.community_reports.report_id"),
        _c("finding", "INTEGER", "Place of the finding, 0…; -1 for the summary"),
        _c("position", "INTEGER", "Place among the references of the finding, 0…"),
        _c(
            "kind",
            "VARCHAR",
            "What is cited",
            values=("entity", "relationship", "claim", "report", "text_unit"),
        ),
        _c("record_id", "VARCHAR", "Id of the cited row; null when the citation was invalid", nullable=True),
        _c("cited_as", "VARCHAR", "Id as it stood in the reply"),
        _c("valid", "BOOLEAN", "The id was in the context"),
        _c("start_char", "INTEGER", "Quoted text in the unit: first character", nullable=True),
        _c("end_char", "INTEGER", "One past its last character", nullable=True),
    ),
)

REPORT_CONTEXTS = Table(
    "reports",
    "report_contexts",
    "reports",
    "The packed context each report was written from (paper §3.1.5)",
    ("report_id",),
    (
        _c("report_id", "VARCHAR", "Report", ref="graph.communities.community_id"),
        _c("context", "VARCHAR", "The rendered context"),
        _c("tokens", "INTEGER", "Tokens of the whole rendered string"),
        _c("entities", "INTEGER", "Entity rows in it"),
        _c("relationships", "INTEGER", "Relationship rows in it"),
        _c("claims", "INTEGER", "Claim rows in it"),
        _c("reports", "INTEGER", "Sub-community reports substituted for their elements"),
        _c("complete", "BOOLEAN", "Nothing was left out"),
    ),
)


def _embeddings(name: str, key: str, ref: str, meaning: str) -> Table:
    return Table(
        "embeddings",
        name,
        "embeddings",
        meaning,
        (key,),
        (
            _c(key, "VARCHAR", "What was embedded", ref=ref),
            _c("text_hash", "VARCHAR", "Hash of the embedded text"),
            _c("embedder", "VARCHAR", "Embedder that made the vector"),
            _c("vector", VECTOR, "Unit-length vector"),
        ),
    )


TEXT_UNIT_EMBEDDINGS = _embeddings(
    "text_units", "text_unit_id", "corpus.text_chunks.text_unit_id", "Vectors of the text units' texts"
)
ENTITY_EMBEDDINGS = _embeddings(
    "entities", "entity_id", "graph.entities.entity_id", "Vectors of the entities' titles and descriptions"
)
REPORT_EMBEDDINGS = _embeddings(
    "community_reports",
    "report_id",
    "reports.community_reports.report_id",
    "Vectors of the reports' contents",
)

CORPUS_SUMMARY = Table(
    "marts",
    "corpus_summary",
    "marts",
    "Counts of everything made and of everything put aside: one row per measure",
    ("area", "measure"),
    (
        _c("area", "VARCHAR", "Stage that is counted"),
        _c("measure", "VARCHAR", "What is counted"),
        _c("value", "DOUBLE", "The count, or a share between 0 and 1"),
    ),
    sql=True,
)

_SUMS = (
    _c("calls", "BIGINT", "Calls that the endpoint answered, whether or not the reply could be used"),
    _c("cached", "BIGINT", "Replies and vectors that were remembered, so that nothing was sent"),
    _c("retries", "BIGINT", "Calls sent again, for failing on the way or for an unusable reply"),
    _c("failed", "BIGINT", "Calls that got no answer, however often they were sent"),
    _c("input_tokens", "BIGINT", "Prompt tokens of the calls"),
    _c("cached_input_tokens", "BIGINT", "Those of them that the provider had in its own cache"),
    _c("output_tokens", "BIGINT", "Tokens of the replies"),
    _c("saved_tokens", "BIGINT", "Tokens in and out of remembered replies, not paid again"),
    _c("usd", "DOUBLE", "US dollars of the calls; null where a price is unknown", nullable=True),
    _c("seconds", "DOUBLE", "Sum of the seconds that the endpoint took"),
)

MODEL_USAGE = Table(
    "usage",
    "model_usage",
    "usage",
    "What every run of this corpus asked of models, and what that took",
    ("run_id", "asset", "task", "model"),
    (
        _c("run_id", "VARCHAR", "The Dagster run, or the id of a question"),
        _c("asset", "VARCHAR", "The asset that asked, or ask for a question"),
        _c("task", "VARCHAR", "What was asked for"),
        _c("model", "VARCHAR", "The model that was asked"),
        _c("begun", "VARCHAR", "When the account begins, UTC in ISO 8601"),
        *_SUMS,
    ),
)

RUN_USAGE = Table(
    "usage",
    "run_usage",
    "usage",
    "The same summed up by run",
    ("run_id",),
    (
        _c("run_id", "VARCHAR", "The Dagster run, or the id of a question"),
        _c("begun", "VARCHAR", "When the run's account begins, UTC in ISO 8601"),
        *_SUMS,
    ),
    sql=True,
)

_ANSWER = _c("answer_id", "VARCHAR", "Answer", ref="answers.answers.answer_id")

ANSWERS = Table(
    "answers",
    "answers",
    "answers",
    "One answer per question of the corpus's list and way of answering (paper §4.1)",
    ("answer_id",),
    (
        _c("answer_id", "VARCHAR", "Hash of question and method"),
        _c("question_id", "VARCHAR", "Hash of the question"),
        _c("position", "INTEGER", "Place of the question in the list, 0…"),
        _c("question", "VARCHAR", "The question"),
        _c("method", "VARCHAR", "Condition or way of answering that was asked for"),
        _c("way", "VARCHAR", "Way that answered: differs from method for auto and global"),
        _c("level", "INTEGER", "Community level that was read", nullable=True),
        _c("text", "VARCHAR", "The answer, with marks [1]"),
        _ENGINE,
        _c("refused", "BOOLEAN", "Nothing in the context was of use"),
        _c("why", "VARCHAR", "Why the way was chosen, or what it saved", nullable=True),
        _c("statements", "INTEGER", "Sentences of the answer"),
        _c("unsupported", "INTEGER", "Sentences that rest on no words of the documents"),
        _c("calls", "INTEGER", "Things asked of the answerer"),
        _c("dropped", "INTEGER", "Partial answers without use"),
        _c("removed_citations", "INTEGER", "Cited ids that were not in the context"),
        _c("problems", "VARCHAR", "Replies that could not be used, with reasons", nullable=True),
        _c("context_rows", "INTEGER", "Rows shown to the answerer"),
        _c("context_tokens", "INTEGER", "Tokens of these rows"),
        _c("snapshot", "VARCHAR", "Published index that was read"),
        _c("options", "VARCHAR", "Hash of the settings that decide the answer"),
    ),
)

ANSWER_CONTEXTS = Table(
    "answers",
    "answer_contexts",
    "answers",
    "Rows that were shown for each answer",
    ("answer_id", "position"),
    (
        _ANSWER,
        _c("position", "INTEGER", "Place in the context, 0…"),
        _c(
            "kind",
            "VARCHAR",
            "What the row is",
            values=("report", "entity", "relationship", "claim", "source"),
        ),
        _c("record_id", "VARCHAR", "Id of the report, entity, relationship, claim or text unit"),
        _c("title", "VARCHAR", "Title of the row"),
        _c("chunk", "INTEGER", "Chunk it stood in, 0…"),
        _c("tokens", "INTEGER", "Its tokens there"),
        _c("used", "BOOLEAN", "The partial answer of its chunk went into the answer"),
    ),
)

ANSWER_CITATIONS = Table(
    "answers",
    "answer_citations",
    "answers",
    "What each mark [n] of an answer stands for, down to the words of the documents",
    ("answer_id", "number"),
    (
        _ANSWER,
        _c("number", "INTEGER", "n of the mark [n]"),
        _c(
            "kind", "VARCHAR", "What is cited", values=("report", "entity", "relationship", "claim", "source")
        ),
        _c("record_id", "VARCHAR", "Id of the cited row"),
        _c("finding", "INTEGER", "Finding of the report, 0…; -1 for its summary", nullable=True),
        _c("via_kind", "VARCHAR", "Kind of the record that led to the words", nullable=True),
        _c("via_id", "VARCHAR", "Its id", nullable=True),
        _c(
            "text_unit_id",
            "VARCHAR",
            "Text unit of the words",
            nullable=True,
            ref="corpus.text_chunks.text_unit_id",
        ),
        _c("document_id", "VARCHAR", "Its document", nullable=True, ref="corpus.documents.document_id"),
        _c("start_char", "INTEGER", "First character of the words in the document's text", nullable=True),
        _c("end_char", "INTEGER", "One past their last character", nullable=True),
        _c("quotation", "VARCHAR", "The words, verbatim", nullable=True),
        _c("similarity", "DOUBLE", "0–1, to the nearest statement that cites them", nullable=True),
    ),
)

#: Accounts of runs: they grow with every run, unlike all other tables, which the same input always makes alike.
ACCOUNTS = (MODEL_USAGE, RUN_USAGE)

ALL_TABLES: tuple[Table, ...] = (
    FILES,
    DOCUMENTS,
    TEXT_CHUNKS,
    GLEANED_ENTITIES,
    GLEANED_RELATIONSHIPS,
    CLAIMS,
    UNIT_LEDGER,
    QUARANTINE,
    ENTITY_GROUPS,
    RELATIONSHIP_GROUPS,
    ENTITIES,
    RELATIONSHIPS,
    COMMUNITIES,
    COMMUNITY_MEMBERS,
    COMMUNITY_LEVELS,
    COMMUNITY_REPORTS,
    REPORT_FINDINGS,
    REPORT_REFERENCES,
    REPORT_CONTEXTS,
    TEXT_UNIT_EMBEDDINGS,
    ENTITY_EMBEDDINGS,
    REPORT_EMBEDDINGS,
    CORPUS_SUMMARY,
    ANSWERS,
    ANSWER_CONTEXTS,
    ANSWER_CITATIONS,
    MODEL_USAGE,
    RUN_USAGE,
)

_BY_NAME = {table.full_name: table for table in ALL_TABLES}


def table(full_name: str) -> Table:
    """Return the declaration of ``schema.name``.

    Raises:
        WarehouseError: no such table is declared.
    """
    try:
        return _BY_NAME[full_name]
    except KeyError:
        raise WarehouseError(f"no table {full_name!r}; declared are {', '.join(sorted(_BY_NAME))}") from None

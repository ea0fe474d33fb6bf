"""Tables of an index, from files to embeddings."""

from graphrag_dagster.kernel.tables.table_declaration import (
    ENGINE,
    SPANS,
    EngineNames,
    Table,
    column,
    embeddings,
    repaired,
)

#: Format of days and periods.
FORMS = ("day", "week", "month", "quarter", "half", "season", "fiscal", "year", "years")

UNIT = column(
    "text_unit_id", "VARCHAR", "Text unit it was extracted from", ref="corpus.text_chunks.text_unit_id"
)
ROUND = column("round", "INTEGER", "0 for the first reply, 1 and up for gleanings")
_HUMAN = column("human_readable_id", "INTEGER", "Short number used in citations, from 0")
STATUS = column(
    "status",
    "VARCHAR",
    "TRUE or FALSE if the texts agree, SUSPECTED if they disagree or leave it open",
    values=("TRUE", "FALSE", "SUSPECTED"),
)
BEGUN = column("start_date", "VARCHAR", "Earliest start, ISO 8601", nullable=True)
ENDED = column("end_date", "VARCHAR", "Latest end, ISO 8601", nullable=True)
_DESCRIPTION_ENGINE = column(
    "description_engine",
    "VARCHAR",
    "How the descriptions were merged: as_is for a single distinct description",
    values=EngineNames("as_is"),
)
_DESCRIPTION_PROBLEM = column(
    "description_problem", "VARCHAR", "Why a model's reply was not used", nullable=True
)
_DESCRIPTION_REPAIRED = repaired("description_repaired", "Replies that were repaired for the description")

FILES = Table(
    "corpus",
    "files",
    "corpus",
    "Every file found below the corpus folder and its status; an ignored folder is one row",
    ("path",),
    (
        column("path", "VARCHAR", "Path below the corpus folder, with forward slashes"),
        column(
            "status",
            "VARCHAR",
            "Status of the file",
            values=("read", "duplicate", "empty", "ignored", "unsupported", "refused", "failed"),
        ),
        column("reason", "VARCHAR", "Why it was not read, or what was unusual about it", nullable=True),
        column(
            "incomplete",
            "BOOLEAN",
            "Whether some content of a file that was read is in no document; the reason says what. Null for "
            "graphs",
            nullable=True,
        ),
        column("duplicate_of", "VARCHAR", "Path of the file with the same content", nullable=True),
        column("format", "VARCHAR", "Reader for this file type, for example txt, md, pdf", nullable=True),
        column("encoding", "VARCHAR", "Text encoding used to read it", nullable=True),
        column("bytes", "BIGINT", "Size of the file in bytes"),
        column(
            "sha256",
            "VARCHAR",
            "Hash of the content; null for files that were rejected or not opened",
            nullable=True,
        ),
        column("documents", "INTEGER", "Documents read from it"),
    ),
)

DOCUMENTS = Table(
    "corpus",
    "documents",
    "corpus",
    "One row per document: a file, or one row of a table-like file",
    ("document_id",),
    (
        column("document_id", "VARCHAR", "Hash of the content"),
        _HUMAN,
        column("path", "VARCHAR", "File it was read from", ref="corpus.files.path"),
        column("row", "INTEGER", "Row in a table-like file, from 0", nullable=True),
        column("source_id", "VARCHAR", "Id given by the file", nullable=True),
        column(
            "title", "VARCHAR", "Title given by the file, else the heading it begins with, else the file name"
        ),
        column(
            "text",
            "VARCHAR",
            "The document's text as read: of text files the file's own characters, without front matter and "
            "byte order mark, with line ends as one character; of other files what their reader makes of them",
        ),
        column("characters", "INTEGER", "Length of the text in code points"),
        column("date", "VARCHAR", "Date given by the file", nullable=True),
        column("metadata", "VARCHAR", "Other columns or properties, as a JSON object"),
    ),
)

_OF_DOCUMENT = column("document_id", "VARCHAR", "Document", ref="corpus.documents.document_id")

DOCUMENT_METADATA = Table(
    "corpus",
    "document_metadata",
    "corpus",
    "Metadata of documents beside text, title, id and date: one typed row per value, for filters; nested "
    "values have keys with dots, list items are separate rows",
    ("document_id", "key", "position"),
    (
        _OF_DOCUMENT,
        column("key", "VARCHAR", "Column of a table-like file, or property of the front matter"),
        column("position", "INTEGER", "Position among the values of the key, from 0"),
        column(
            "type",
            "VARCHAR",
            "Type the value was read as",
            values=("text", "number", "boolean", "date"),
        ),
        column("text", "VARCHAR", "The value as written; values longer than 1,000 characters are left out"),
        column("number", "DOUBLE", "The value as a number", nullable=True),
        column("boolean", "BOOLEAN", "The value as true or false", nullable=True),
        column("date_start", "DATE", "First day of the date or period", nullable=True),
        column("date_end", "DATE", "Its last day", nullable=True),
    ),
)

DOCUMENT_PERIODS = Table(
    "corpus",
    "document_periods",
    "corpus",
    "Days and periods that documents are about, as read from their metadata and text; the first of a "
    "document is its own",
    ("document_id", "position"),
    (
        _OF_DOCUMENT,
        column("position", "INTEGER", "Position among the document's periods, from 0, most trusted first"),
        column("period_start", "DATE", "First day"),
        column("period_end", "DATE", "Last day"),
        column(
            "form",
            "VARCHAR",
            "Form in which it is written; a fiscal year counts as the calendar year of its number",
            values=FORMS,
        ),
        column(
            "found_in",
            "VARCHAR",
            "Where it was found: the date or another value given by the file, the title, the path, or the "
            "first lines of the text",
            values=("date", "metadata", "title", "path", "first_lines"),
        ),
        column("words", "VARCHAR", "The words as written there"),
        column(
            "ambiguous",
            "BOOLEAN",
            "Day and month could be swapped, as in 03/04/2019: read like the other dates of the file, else "
            "day first",
        ),
    ),
)

TEXT_CHUNKS = Table(
    "corpus",
    "text_chunks",
    "corpus",
    "Text units: windows of a document's text (From Local to Global, §3.1.1)",
    ("text_unit_id",),
    (
        column("text_unit_id", "VARCHAR", "Hash of document, position and text"),
        _HUMAN,
        column("document_id", "VARCHAR", "Document it was cut from", ref="corpus.documents.document_id"),
        column("position", "INTEGER", "Position among the units of its document, from 0"),
        column("start_char", "INTEGER", "First character in the document's text"),
        column("end_char", "INTEGER", "One past the last character"),
        column("text", "VARCHAR", "The document's text between the two"),
        column("tokens", "INTEGER", "Length in tokens of the encoding"),
        column("encoding", "VARCHAR", "Tokenizer, for example cl100k_base"),
        column(
            "strategy",
            "VARCHAR",
            "Chunking strategy",
            values=("tokens", "sentences", "structure", "characters", "none", "imported"),
        ),
    ),
)


CLAIMS = Table(
    "extraction",
    "claims",
    "extraction",
    "Claim instances: one row per claim record per text unit and round (From Local to Global, §3.1.2); empty unless claims are "
    "enabled",
    ("claim_id",),
    (
        column("claim_id", "VARCHAR", "Hash of unit, round and position in the reply"),
        _HUMAN,
        UNIT,
        ROUND,
        column("position", "INTEGER", "Position of the record in its unit, from 0"),
        column("subject", "VARCHAR", "Normalised name of the entity it is about"),
        column("object", "VARCHAR", "Normalised name of the other entity", nullable=True),
        column("type", "VARCHAR", "Kind of claim, upper case"),
        column(
            "status", "VARCHAR", "Whether the text asserts it as true", values=("TRUE", "FALSE", "SUSPECTED")
        ),
        column("description", "VARCHAR", "The claim"),
        column("start_date", "VARCHAR", "Start, ISO 8601", nullable=True),
        column("end_date", "VARCHAR", "End, ISO 8601", nullable=True),
        column("spans", SPANS, "Position of the quoted text in the unit's text"),
        ENGINE,
    ),
)

UNIT_LEDGER = Table(
    "extraction",
    "unit_ledger",
    "extraction",
    "Outcome of the extraction for every text unit: exactly one state each",
    ("text_unit_id",),
    (
        UNIT,
        column(
            "state",
            "VARCHAR",
            "How extraction ended",
            values=("extracted", "empty", "unreadable", "repaired", "quarantined"),
        ),
        column(
            "reason",
            "VARCHAR",
            "Why it is empty, unreadable or quarantined; of an extracted one, why it has names alone",
            nullable=True,
        ),
        column("rounds", "INTEGER", "Replies used: 1 + gleanings"),
        column("entities", "INTEGER", "Entity records that were kept"),
        column("relationships", "INTEGER", "Relationship records that were kept"),
        column("claims", "INTEGER", "Claims that were kept"),
        column("repaired", "INTEGER", "Records that were repaired"),
        column("quarantined", "INTEGER", "Records and replies that were quarantined"),
        column("calls", "INTEGER", "Model calls"),
        column("input_tokens", "BIGINT", "Tokens sent"),
        column("output_tokens", "BIGINT", "Tokens received"),
        column("replies", "VARCHAR[]", "LLM cache keys of the replies it was read from, in order"),
        ENGINE,
    ),
)


ENTITIES = Table(
    "graph",
    "entities",
    "graph",
    "Nodes of the merged graph (From Local to Global, §3.1.3)",
    ("entity_id",),
    (
        column("entity_id", "VARCHAR", "Hash of the name"),
        _HUMAN,
        column("name", "VARCHAR", "Normalised title"),
        column("title", "VARCHAR", "Most frequent full name; a qualifier in brackets tells namesakes apart"),
        column("names", "VARCHAR[]", "All spellings, most frequent first"),
        column("type", "VARCHAR", "Type by majority"),
        column("description", "VARCHAR", "Merged description"),
        _DESCRIPTION_ENGINE,
        _DESCRIPTION_PROBLEM,
        _DESCRIPTION_REPAIRED,
        column("text_unit_ids", "VARCHAR[]", "Units that mention it"),
        column("frequency", "INTEGER", "Number of units that mention it"),
        column("instances", "INTEGER", "Number of entity records"),
        column("degree", "INTEGER", "Number of distinct neighbours"),
    ),
)

RELATIONSHIPS = Table(
    "graph",
    "relationships",
    "graph",
    "Undirected edges of the merged graph (From Local to Global, §3.1.3)",
    ("relationship_id",),
    (
        column("relationship_id", "VARCHAR", "Hash of the two names in order"),
        _HUMAN,
        column("source", "VARCHAR", "The smaller of the two names", ref="graph.entities.name"),
        column("target", "VARCHAR", "The larger of the two names", ref="graph.entities.name"),
        column("source_id", "VARCHAR", "Entity id of source", ref="graph.entities.entity_id"),
        column("target_id", "VARCHAR", "Entity id of target", ref="graph.entities.entity_id"),
        column("description", "VARCHAR", "Merged description"),
        _DESCRIPTION_ENGINE,
        _DESCRIPTION_PROBLEM,
        _DESCRIPTION_REPAIRED,
        column("weight", "DOUBLE", "Number of relation records, or sum of strengths, as configured"),
        column("instances", "INTEGER", "Number of relation records"),
        column("combined_degree", "INTEGER", "Sum of the degrees of both ends"),
        column("text_unit_ids", "VARCHAR[]", "Units that state it"),
    ),
)

TRIPLES = Table(
    "graph",
    "triples",
    "graph",
    "Directed, labelled edges between entities: what is stated about a pair, each label once, without "
    "self-loops",
    ("triple_id",),
    (
        column("triple_id", "VARCHAR", "Hash of head, relation and tail"),
        _HUMAN,
        column("head", "VARCHAR", "Name of the subject entity", ref="graph.entities.name"),
        column(
            "relation",
            "VARCHAR",
            "Label from head to tail: words in lower case joined by _; co_occurs, from the smaller name to "
            "the larger, for entities that share a sentence; related_to if nothing more is known",
        ),
        column("tail", "VARCHAR", "Name of the other entity", ref="graph.entities.name"),
        column("head_id", "VARCHAR", "Entity id of head", ref="graph.entities.entity_id"),
        column("tail_id", "VARCHAR", "Entity id of tail", ref="graph.entities.entity_id"),
        column("text_unit_ids", "VARCHAR[]", "Units that state it, in corpus order"),
        column("instances", "INTEGER", "Number of relation records"),
        column("strength", "DOUBLE", "Sum of the strengths"),
        column(
            "evidence_unit_id",
            "VARCHAR",
            "Unit of the first record with known words, else of the first record; null if no text states it",
            nullable=True,
            ref="corpus.text_chunks.text_unit_id",
        ),
        column("start_char", "INTEGER", "First character of its words in that unit", nullable=True),
        column("end_char", "INTEGER", "One past their last character", nullable=True),
    ),
    sql=True,
)

MERGED_CLAIMS = Table(
    "graph",
    "claims",
    "graph",
    "Claims of the merged graph: one per subject, object and type (From Local to Global, §3.1.3); empty unless claims are enabled",
    ("claim_id",),
    (
        column("claim_id", "VARCHAR", "Hash of subject, object and type"),
        _HUMAN,
        column("subject", "VARCHAR", "Normalised name of the entity it is about"),
        column("object", "VARCHAR", "Normalised name of the other entity", nullable=True),
        column("type", "VARCHAR", "Kind of claim, upper case"),
        STATUS,
        BEGUN,
        ENDED,
        column("description", "VARCHAR", "Merged description"),
        _DESCRIPTION_ENGINE,
        _DESCRIPTION_PROBLEM,
        _DESCRIPTION_REPAIRED,
        column("text_unit_ids", "VARCHAR[]", "Units that state it"),
        column("instances", "INTEGER", "Number of claim records"),
    ),
)

COMMUNITIES = Table(
    "graph",
    "communities",
    "communities",
    "Communities of the hierarchical Leiden clustering (From Local to Global, §3.1.4)",
    ("community_id",),
    (
        column(
            "community_id",
            "VARCHAR",
            "Hash of level and members; kept while most members stay, until a cold start",
        ),
        _HUMAN,
        column(
            "level",
            "INTEGER",
            "0 = root communities of the clustering; below 0: levels above C0, see communities.roots",
        ),
        column(
            "parent_id",
            "VARCHAR",
            "Parent community; null at the top",
            nullable=True,
            ref="graph.communities.community_id",
        ),
        column("is_leaf", "BOOLEAN", "Not split further"),
        column("size", "INTEGER", "Number of member entities"),
        column("internal_edges", "INTEGER", "Edges with both ends inside"),
        column("summed_degree", "INTEGER", "Sum of the members' degrees in the whole graph"),
    ),
)

COMMUNITY_MEMBERS = Table(
    "graph",
    "community_members",
    "communities",
    "Membership of entities in communities, at every level a community exists on",
    ("community_id", "entity_id"),
    (
        column("community_id", "VARCHAR", "Community", ref="graph.communities.community_id"),
        column("entity_id", "VARCHAR", "Member", ref="graph.entities.entity_id"),
        column("level", "INTEGER", "Level of the community"),
    ),
)


COMMUNITY_LEVELS = Table(
    "graph",
    "community_levels",
    "communities",
    "C0, C1, …: at each level a partition of the clustered entities, with leaves carried down to deeper "
    "levels (From Local to Global, §4.1.2)",
    ("level", "entity_id"),
    (
        column("level", "INTEGER", "k of Ck: the top, 0 or below, … max(3, deepest level)"),
        column("entity_id", "VARCHAR", "Clustered entity", ref="graph.entities.entity_id"),
        column("community_id", "VARCHAR", "Its community at Ck", ref="graph.communities.community_id"),
        column("projected", "BOOLEAN", "The community is a leaf of a higher level"),
    ),
    sql=True,
)

LAYOUT = Table(
    "graph",
    "layout",
    "layout",
    "Position of each entity in the drawing: linked entities close together, communities apart, those "
    "without a relationship around the rest",
    ("entity_id",),
    (
        column("entity_id", "VARCHAR", "Entity", ref="graph.entities.entity_id"),
        column("x", "DOUBLE", "To the right of the centre; 1 is about the distance between neighbours"),
        column("y", "DOUBLE", "Above the centre, in the same unit; no two entities share a position"),
    ),
)


COMMUNITY_REPORTS = Table(
    "reports",
    "community_reports",
    "reports",
    "One report per community (From Local to Global, §3.1.5)",
    ("report_id",),
    (
        column("report_id", "VARCHAR", "The community's id", ref="graph.communities.community_id"),
        _HUMAN,
        column("level", "INTEGER", "Level of the community"),
        column("title", "VARCHAR", "Short name of the subject"),
        column("summary", "VARCHAR", "Summary in a few sentences"),
        column("rating", "DOUBLE", "Importance, 0–10"),
        column("rating_explanation", "VARCHAR", "Reason for the rating"),
        column("content", "VARCHAR", "The whole report as Markdown"),
        column("tokens", "INTEGER", "Tokens of the content"),
        column(
            "engine",
            "VARCHAR",
            "Implementation that made the row; imported: it came with a graph",
            values=EngineNames("imported"),
        ),
        column(
            "problem", "VARCHAR", "Why a model's report was replaced by the extractive one", nullable=True
        ),
        repaired(),
    ),
)


REPORT_FINDINGS = Table(
    "reports",
    "report_findings",
    "reports",
    "The findings of each report",
    ("report_id", "position"),
    (
        column("report_id", "VARCHAR", "Report", ref="reports.community_reports.report_id"),
        column("position", "INTEGER", "Position in the report, from 0"),
        column("summary", "VARCHAR", "Headline"),
        column("explanation", "VARCHAR", "The finding, with its citations"),
    ),
)

REPORT_REFERENCES = Table(
    "reports",
    "report_references",
    "reports",
    "Citations of each report and finding, each id checked against the context it was written from",
    ("report_id", "finding", "position"),
    (
        column("report_id", "VARCHAR", "Report", ref="reports.community_reports.report_id"),
        column("finding", "INTEGER", "Number of the finding, from 0; -1 for the summary"),
        column("position", "INTEGER", "Position among the references of the finding, from 0"),
        column(
            "kind",
            "VARCHAR",
            "Kind of the cited row",
            values=("entity", "relationship", "claim", "report", "text_unit"),
        ),
        column("record_id", "VARCHAR", "Id of the cited row; null for an invalid citation", nullable=True),
        column("cited_as", "VARCHAR", "Id as written in the reply"),
        column("valid", "BOOLEAN", "The id was in the context"),
        column("start_char", "INTEGER", "Quoted text in the unit: first character", nullable=True),
        column("end_char", "INTEGER", "One past the last character of the quoted text", nullable=True),
    ),
)


TEXT_UNIT_EMBEDDINGS = embeddings(
    "embeddings",
    "text_units",
    "text_unit_id",
    "corpus.text_chunks.text_unit_id",
    "Vectors of the text units' texts",
)
ENTITY_EMBEDDINGS = embeddings(
    "embeddings",
    "entities",
    "entity_id",
    "graph.entities.entity_id",
    "Vectors of the entities' titles and descriptions",
    group="entity_embeddings",
)
REPORT_EMBEDDINGS = embeddings(
    "embeddings",
    "community_reports",
    "report_id",
    "reports.community_reports.report_id",
    "Vectors of the reports' contents",
)

CORPUS_SUMMARY = Table(
    "marts",
    "corpus_summary",
    "marts",
    "Counts of everything that was made or quarantined: one row per measure",
    ("area", "measure"),
    (
        column("area", "VARCHAR", "Stage that was counted"),
        column("measure", "VARCHAR", "What was counted"),
        column("value", "DOUBLE", "The count, or a share from 0 to 1"),
    ),
    sql=True,
)

CONTEXT_SIZES = Table(
    "marts",
    "context_sizes",
    "marts",
    "Amount that each condition reads for a question: units, their tokens, and the share of the source "
    "texts (From Local to Global, Table 2)",
    ("condition",),
    (
        column("condition", "VARCHAR", "C0, C1, …: the reports of a level; TS: the text units"),
        column("units", "INTEGER", "Community reports, or text units"),
        column("tokens", "BIGINT", "Tokens of their raw texts, without the surrounding prompt"),
        column(
            "percent_of_ts", "DOUBLE", "Tokens as a percentage of those of TS; null without TS", nullable=True
        ),
    ),
    sql=True,
)

"""The tables of an index, from files to embeddings."""

from graphrag_dagster.kernel.tables.declaration import (
    DECIDING,
    ENGINE,
    SPANS,
    EngineNames,
    Table,
    column,
    embeddings,
    repaired,
)

#: How days and periods are written.
FORMS = ("day", "week", "month", "quarter", "half", "season", "fiscal", "year", "years")

_UNIT = column("text_unit_id", "VARCHAR", "Text unit it came from", ref="corpus.text_chunks.text_unit_id")
_ROUND = column("round", "INTEGER", "0 for the first reply, 1… for gleanings")
_HUMAN = column("human_readable_id", "INTEGER", "Small number for citations, 0…")
_STATUS = column(
    "status",
    "VARCHAR",
    "TRUE or FALSE where the texts say one of the two, SUSPECTED where they say both or neither",
    values=("TRUE", "FALSE", "SUSPECTED"),
)
_BEGUN = column("start_date", "VARCHAR", "Earliest start, ISO 8601", nullable=True)
_ENDED = column("end_date", "VARCHAR", "Latest end, ISO 8601", nullable=True)
_DESCRIPTION_ENGINE = column(
    "description_engine",
    "VARCHAR",
    "Who merged it: as_is for one distinct description",
    values=EngineNames("as_is"),
)
_DESCRIPTION_PROBLEM = column(
    "description_problem", "VARCHAR", "Why a model's reply was not used", nullable=True
)
_DESCRIPTION_REPAIRED = repaired("description_repaired", "Replies that were mended for the description")

FILES = Table(
    "corpus",
    "files",
    "corpus",
    "Every file found below the corpus folder and what became of it; an ignored folder is one row",
    ("path",),
    (
        column("path", "VARCHAR", "Path below the corpus folder, with forward slashes"),
        column(
            "status",
            "VARCHAR",
            "What became of the file",
            values=("read", "duplicate", "empty", "ignored", "unsupported", "refused", "failed"),
        ),
        column("reason", "VARCHAR", "Why it was not read, or what was odd about it", nullable=True),
        column(
            "incomplete",
            "BOOLEAN",
            "Whether something in a file that was read is in no document; the reason says what. Null for graphs",
            nullable=True,
        ),
        column("duplicate_of", "VARCHAR", "Path of the file with the same content", nullable=True),
        column("format", "VARCHAR", "Reader that fits the file, e.g. txt, md, pdf", nullable=True),
        column("encoding", "VARCHAR", "Text encoding it was read with", nullable=True),
        column("bytes", "BIGINT", "Size of the file"),
        column(
            "sha256",
            "VARCHAR",
            "Hash of the content; null for files that were not opened or refused",
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
        column("row", "INTEGER", "Row in a table-like file, 0…", nullable=True),
        column("source_id", "VARCHAR", "Id given by the file", nullable=True),
        column("title", "VARCHAR", "Title given by the file, else its first heading, else the file's name"),
        column("text", "VARCHAR", "The document's text"),
        column("characters", "INTEGER", "Length of the text in characters"),
        column("date", "VARCHAR", "Date as the file gives it", nullable=True),
        column("metadata", "VARCHAR", "Other columns or properties, as a JSON object"),
    ),
)

_OF_DOCUMENT = column("document_id", "VARCHAR", "Document", ref="corpus.documents.document_id")

DOCUMENT_METADATA = Table(
    "corpus",
    "document_metadata",
    "corpus",
    "What files say of their documents beside text, title, id and date: one row per value, typed, to filter by; "
    "values inside others have keys with dots, items of lists a row each",
    ("document_id", "key", "position"),
    (
        _OF_DOCUMENT,
        column("key", "VARCHAR", "Column of a table-like file, or property of the front matter"),
        column("position", "INTEGER", "Place among the values of the key, 0…"),
        column(
            "type",
            "VARCHAR",
            "What the value reads as",
            values=("text", "number", "boolean", "date"),
        ),
        column("text", "VARCHAR", "The value as written; longer ones than 1,000 characters are left out"),
        column("number", "DOUBLE", "The value as a number", nullable=True),
        column("boolean", "BOOLEAN", "The value as true or false", nullable=True),
        column("date_start", "DATE", "First day of the date or period that the value is", nullable=True),
        column("date_end", "DATE", "Its last day", nullable=True),
    ),
)

DOCUMENT_PERIODS = Table(
    "corpus",
    "document_periods",
    "corpus",
    "Days and periods that documents are of, as read from what is said of them; the first of a document is its own",
    ("document_id", "position"),
    (
        _OF_DOCUMENT,
        column("position", "INTEGER", "Place among those of the document, 0… in order of trust"),
        column("period_start", "DATE", "First day"),
        column("period_end", "DATE", "Last day"),
        column(
            "form",
            "VARCHAR",
            "How it is written; a fiscal year counts as the calendar year of its number",
            values=FORMS,
        ),
        column(
            "found_in",
            "VARCHAR",
            "Where it stands: the date or another value that the file gives, the title, the path, or the first "
            "lines of the text",
            values=("date", "metadata", "title", "path", "beginning"),
        ),
        column("words", "VARCHAR", "As it is written there"),
        column(
            "ambiguous",
            "BOOLEAN",
            "Day and month may be the other way round, as in 03/04/2019: taken as the other dates of the file "
            "are, else day first",
        ),
    ),
)

TEXT_CHUNKS = Table(
    "corpus",
    "text_chunks",
    "corpus",
    "Text units: windows of a document's text (paper §3.1.1)",
    ("text_unit_id",),
    (
        column("text_unit_id", "VARCHAR", "Hash of document, position and text"),
        _HUMAN,
        column("document_id", "VARCHAR", "Document it was cut from", ref="corpus.documents.document_id"),
        column("position", "INTEGER", "Place among the units of its document, 0…"),
        column("start_char", "INTEGER", "First character in the document's text"),
        column("end_char", "INTEGER", "One past the last character"),
        column("text", "VARCHAR", "The document's text between the two"),
        column("tokens", "INTEGER", "Length in tokens of the encoding"),
        column("encoding", "VARCHAR", "Tokenizer, e.g. cl100k_base"),
        column(
            "strategy",
            "VARCHAR",
            "How it was cut",
            values=("tokens", "sentences", "characters", "none", "imported"),
        ),
    ),
)

GLEANED_ENTITIES = Table(
    "extraction",
    "gleaned_entities",
    "extraction",
    "Entity instances: one row per entity record per text unit and round (paper §3.1.2)",
    ("instance_id",),
    (
        column("instance_id", "VARCHAR", "Hash of unit, round and place in the reply"),
        _UNIT,
        _ROUND,
        column("position", "INTEGER", "Place of the record in its unit, 0…"),
        column("name", "VARCHAR", "Normalised name, the merge key"),
        column("surface", "VARCHAR", "Name as written"),
        column("type", "VARCHAR", "Entity type, upper case"),
        column("description", "VARCHAR", "What the unit says of it"),
        column("spans", SPANS, "Where the name stands in the unit's text"),
        ENGINE,
    ),
)

GLEANED_RELATIONSHIPS = Table(
    "extraction",
    "gleaned_relationships",
    "extraction",
    "Relationship instances: one row per relation record per text unit and round (paper §3.1.2)",
    ("instance_id",),
    (
        column("instance_id", "VARCHAR", "Hash of unit, round and place in the reply"),
        _UNIT,
        _ROUND,
        column("position", "INTEGER", "Place of the record in its unit, 0…"),
        column("source", "VARCHAR", "Normalised name of one end, as the record has it"),
        column("target", "VARCHAR", "Normalised name of the other end"),
        column("relation", "VARCHAR", "Label from source to target: words in lower case joined by _"),
        column("description", "VARCHAR", "How they are related"),
        column("strength", "DOUBLE", "Strength given by the model, else 1"),
        column("basis", "VARCHAR", "What it rests on", values=("model", "verb", "co_occurrence")),
        column("spans", SPANS, "Where the supporting sentence stands in the unit's text"),
        ENGINE,
    ),
)

CLAIMS = Table(
    "extraction",
    "claims",
    "extraction",
    "Claim instances: one row per claim record per text unit and round (paper §3.1.2); empty unless claims are "
    "enabled",
    ("claim_id",),
    (
        column("claim_id", "VARCHAR", "Hash of unit, round and place in the reply"),
        _HUMAN,
        _UNIT,
        _ROUND,
        column("position", "INTEGER", "Place of the record in its unit, 0…"),
        column("subject", "VARCHAR", "Normalised name of the entity it is about"),
        column("object", "VARCHAR", "Normalised name of the other entity", nullable=True),
        column("type", "VARCHAR", "Kind of claim, upper case"),
        column("status", "VARCHAR", "Whether the text holds it true", values=("TRUE", "FALSE", "SUSPECTED")),
        column("description", "VARCHAR", "The claim"),
        column("start_date", "VARCHAR", "From when, ISO 8601", nullable=True),
        column("end_date", "VARCHAR", "Until when, ISO 8601", nullable=True),
        column("spans", SPANS, "Where the quoted text stands in the unit's text"),
        ENGINE,
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
        column(
            "state",
            "VARCHAR",
            "How extraction ended",
            values=("extracted", "empty", "unreadable", "repaired", "quarantined"),
        ),
        column("reason", "VARCHAR", "Why it is empty, unreadable or quarantined", nullable=True),
        column("rounds", "INTEGER", "Replies used: 1 + gleanings"),
        column("entities", "INTEGER", "Entity records kept"),
        column("relationships", "INTEGER", "Relationship records kept"),
        column("claims", "INTEGER", "Claims kept"),
        column("repaired", "INTEGER", "Records mended"),
        column("quarantined", "INTEGER", "Records and replies put aside"),
        column("calls", "INTEGER", "Model calls"),
        column("input_tokens", "BIGINT", "Tokens sent"),
        column("output_tokens", "BIGINT", "Tokens received"),
        column(
            "replies",
            "VARCHAR[]",
            "Keys of the remembered replies it was read from, in their order; null where an older version read it",
            nullable=True,
        ),
        ENGINE,
    ),
)

QUARANTINE = Table(
    "extraction",
    "quarantine",
    "extraction",
    "Replies and records that could not be used, whole, each with its reason",
    ("quarantine_id",),
    (
        column("quarantine_id", "VARCHAR", "Hash of unit, round and place"),
        _UNIT,
        _ROUND,
        column("position", "INTEGER", "Place among what the unit put aside, 0…"),
        column("kind", "VARCHAR", "What was put aside", values=("reply", "entity", "relationship", "claim")),
        column("reason", "VARCHAR", "Why"),
        column("raw", "VARCHAR", "The reply or record as it came"),
        column("prompt", "VARCHAR", "The prompt of a reply", nullable=True),
        ENGINE,
    ),
)

TYPINGS = Table(
    "extraction",
    "typings",
    "extraction",
    "Entity instances to which who found them gave no type, and what decided on theirs",
    ("text_unit_id", "name"),
    (
        _UNIT,
        column("position", "INTEGER", "Place of the instance in its unit, 0…"),
        column("name", "VARCHAR", "Normalised name"),
        column("by_rule", "VARCHAR", "Type that the name alone tells, UNKNOWN where it tells none"),
        column("type", "VARCHAR", "Type that the instance has"),
        column(
            "decided_by",
            "VARCHAR",
            "A model, a rule about the name, or nothing: its type is UNKNOWN",
            values=("model", "rule", "nothing"),
        ),
        column("problem", "VARCHAR", "Why no reply of the model could be used", nullable=True),
    ),
)

EXTRACTION_STATE = Table(
    "extraction",
    "extraction_state",
    "extraction",
    "What decided the extraction: where it is the same again, unchanged text units are not extracted anew",
    ("part",),
    DECIDING,
)

ENTITY_GROUPS = Table(
    "staging",
    "entity_groups",
    "graph",
    "Entity instances grouped by the entity they are resolved to, type by majority, descriptions not yet merged",
    ("name",),
    (
        column("name", "VARCHAR", "Normalised title"),
        column("title", "VARCHAR", "Most frequent full name, what tells namesakes apart in brackets"),
        column("names", "VARCHAR[]", "All its spellings, the most frequent first"),
        column("type", "VARCHAR", "Most frequent type; a tie goes to the one seen first"),
        column("descriptions", "VARCHAR[]", "Distinct descriptions in order of first appearance"),
        column("text_unit_ids", "VARCHAR[]", "Units that mention it, in order of the corpus"),
        column("frequency", "INTEGER", "Number of those units"),
        column("instances", "INTEGER", "Number of entity records"),
    ),
    sql=True,
)

RELATIONSHIP_GROUPS = Table(
    "staging",
    "relationship_groups",
    "graph",
    "Relationship instances grouped by unordered pair of entities, without self-loops",
    ("source", "target"),
    (
        column("source", "VARCHAR", "The smaller of the two names"),
        column("target", "VARCHAR", "The larger of the two names"),
        column("descriptions", "VARCHAR[]", "Distinct descriptions in order of first appearance"),
        column("text_unit_ids", "VARCHAR[]", "Units that state it, in order of the corpus"),
        column("instances", "INTEGER", "Number of relation records, both directions"),
        column("strength", "DOUBLE", "Sum of the strengths"),
    ),
    sql=True,
)

CLAIM_GROUPS = Table(
    "staging",
    "claim_groups",
    "graph",
    "Claim instances grouped by subject, object and type, descriptions not yet merged",
    ("subject", "object", "type"),
    (
        column("subject", "VARCHAR", "Normalised name of the entity they are about"),
        column("object", "VARCHAR", "Normalised name of the other entity, blank where there is none"),
        column("type", "VARCHAR", "Kind of claim, upper case"),
        _STATUS,
        _BEGUN,
        _ENDED,
        column("descriptions", "VARCHAR[]", "Distinct descriptions in order of first appearance"),
        column("text_unit_ids", "VARCHAR[]", "Units that make it, in order of the corpus"),
        column("instances", "INTEGER", "Number of claim records"),
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
        column("entity_id", "VARCHAR", "Hash of the name"),
        _HUMAN,
        column("name", "VARCHAR", "Normalised title"),
        column("title", "VARCHAR", "Most frequent full name, what tells namesakes apart in brackets"),
        column("names", "VARCHAR[]", "All its spellings, the most frequent first"),
        column("type", "VARCHAR", "Type by majority"),
        column("description", "VARCHAR", "Merged description"),
        _DESCRIPTION_ENGINE,
        _DESCRIPTION_PROBLEM,
        _DESCRIPTION_REPAIRED,
        column("text_unit_ids", "VARCHAR[]", "Units that mention it"),
        column("frequency", "INTEGER", "Number of those units"),
        column("instances", "INTEGER", "Number of entity records"),
        column("degree", "INTEGER", "Number of distinct neighbours"),
    ),
)

RELATIONSHIPS = Table(
    "graph",
    "relationships",
    "graph",
    "Undirected edges of the merged graph (paper §3.1.3)",
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
        column("weight", "DOUBLE", "Number of relation records, or sum of strengths by setting"),
        column("instances", "INTEGER", "Number of relation records"),
        column("combined_degree", "INTEGER", "Sum of the degrees of both ends"),
        column("text_unit_ids", "VARCHAR[]", "Units that state it"),
    ),
)

TRIPLES = Table(
    "graph",
    "triples",
    "graph",
    "Directed, labelled edges between entities: what is stated of two, each label once, without self-loops",
    ("triple_id",),
    (
        column("triple_id", "VARCHAR", "Hash of head, relation and tail"),
        _HUMAN,
        column("head", "VARCHAR", "Name of the entity that it is said of", ref="graph.entities.name"),
        column(
            "relation",
            "VARCHAR",
            "Label from head to tail: words in lower case joined by _; co_occurs, from the smaller name to the "
            "larger, where they share a sentence; related_to where no more is known",
        ),
        column("tail", "VARCHAR", "Name of the other entity", ref="graph.entities.name"),
        column("head_id", "VARCHAR", "Entity id of head", ref="graph.entities.entity_id"),
        column("tail_id", "VARCHAR", "Entity id of tail", ref="graph.entities.entity_id"),
        column("text_unit_ids", "VARCHAR[]", "Units that state it, in order of the corpus"),
        column("instances", "INTEGER", "Number of relation records"),
        column("strength", "DOUBLE", "Sum of the strengths"),
        column(
            "evidence_unit_id",
            "VARCHAR",
            "Unit of the first record whose words are known, else of the first; null where no text states it",
            nullable=True,
            ref="corpus.text_chunks.text_unit_id",
        ),
        column("start_char", "INTEGER", "Its words in that unit: first character", nullable=True),
        column("end_char", "INTEGER", "One past their last character", nullable=True),
    ),
    sql=True,
)

MERGED_CLAIMS = Table(
    "graph",
    "claims",
    "graph",
    "Claims of the merged graph: one per subject, object and type (paper §3.1.3); empty unless claims are enabled",
    ("claim_id",),
    (
        column("claim_id", "VARCHAR", "Hash of subject, object and type"),
        _HUMAN,
        column("subject", "VARCHAR", "Normalised name of the entity it is about"),
        column("object", "VARCHAR", "Normalised name of the other entity", nullable=True),
        column("type", "VARCHAR", "Kind of claim, upper case"),
        _STATUS,
        _BEGUN,
        _ENDED,
        column("description", "VARCHAR", "Merged description"),
        _DESCRIPTION_ENGINE,
        _DESCRIPTION_PROBLEM,
        _DESCRIPTION_REPAIRED,
        column("text_unit_ids", "VARCHAR[]", "Units that make it"),
        column("instances", "INTEGER", "Number of claim records"),
    ),
)

COMMUNITIES = Table(
    "graph",
    "communities",
    "communities",
    "Communities of the hierarchical Leiden clustering (paper §3.1.4)",
    ("community_id",),
    (
        column(
            "community_id",
            "VARCHAR",
            "Hash of level and members; kept while most members stay, until a cold start",
        ),
        _HUMAN,
        column("level", "INTEGER", "0 = root communities"),
        column(
            "parent_id",
            "VARCHAR",
            "Community it was split from; null at level 0",
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
    "Which entities belong to which community, at every level it exists on",
    ("community_id", "entity_id"),
    (
        column("community_id", "VARCHAR", "Community", ref="graph.communities.community_id"),
        column("entity_id", "VARCHAR", "Member", ref="graph.entities.entity_id"),
        column("level", "INTEGER", "Level of the community"),
    ),
)

CLUSTERING_STATE = Table(
    "graph",
    "clustering_state",
    "communities",
    "How the communities were found, and how far the graph has gone since the last cold start: one row",
    ("clustering",),
    (
        column("clustering", "VARCHAR", "What was clustered", values=("communities",)),
        column(
            "start",
            "VARCHAR",
            "From nothing, or from the communities before",
            values=("cold", "warm"),
        ),
        column("edges", "BIGINT", "Relationships of the graph"),
        column("cold_edges", "BIGINT", "Relationships that the graph had at the last cold start"),
        column("changed", "DOUBLE", "New or gone since then, as a share of all that were or are"),
        column("modularity", "DOUBLE", "Modularity of level 0"),
        column("cold_modularity", "DOUBLE", "Modularity of level 0 at the last cold start"),
        column("rules", "VARCHAR", "Hash of the settings and the code"),
        column("edges_hash", "VARCHAR", "Hash of the relationships with their weights"),
        column("communities_hash", "VARCHAR", "Hash of the communities and members: these belong together"),
    ),
)

COLD_START_EDGES = Table(
    "graph",
    "cold_start_edges",
    "communities",
    "Relationships of the last cold start that have been in the graph ever since",
    ("relationship_id",),
    (column("relationship_id", "VARCHAR", "Relationship", ref="graph.relationships.relationship_id"),),
)

COMMUNITY_LEVELS = Table(
    "graph",
    "community_levels",
    "communities",
    "C0, C1, …: at each level a partition of the clustered entities, leaves projected downwards (paper §4.1.2)",
    ("level", "entity_id"),
    (
        column("level", "INTEGER", "k of Ck: 0 … max(3, deepest level)"),
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
    "Where each entity is drawn: linked ones near each other, communities apart, those without a relationship "
    "around all others",
    ("entity_id",),
    (
        column("entity_id", "VARCHAR", "Entity", ref="graph.entities.entity_id"),
        column("x", "DOUBLE", "To the right of the middle; 1 is about the distance of neighbours"),
        column("y", "DOUBLE", "Above the middle, in the same unit; no two entities are at one place"),
    ),
)

LAYOUT_STATE = Table(
    "graph",
    "layout_state",
    "layout",
    "How the entities were placed: one row",
    ("layout",),
    (
        column("layout", "VARCHAR", "What was placed", values=("entities",)),
        column(
            "start",
            "VARCHAR",
            "From nothing, or from the places before",
            values=("cold", "warm"),
        ),
        column(
            "radius", "DOUBLE", "Largest distance from the middle of an entity that is linked or clustered"
        ),
        column(
            "spread",
            "DOUBLE",
            "Mean distance from the centre of the deepest community, in radii of a disc that its members fill",
        ),
        column("cold_spread", "DOUBLE", "The spread after the last cold start"),
        column("code", "VARCHAR", "Version of the code"),
        column("graph_hash", "VARCHAR", "Hash of entities, relationships with weights, and communities"),
        column("layout_hash", "VARCHAR", "Hash of the places: these belong together"),
    ),
)

COMMUNITY_REPORTS = Table(
    "reports",
    "community_reports",
    "reports",
    "One report per community (paper §3.1.5)",
    ("report_id",),
    (
        column("report_id", "VARCHAR", "The community's id", ref="graph.communities.community_id"),
        _HUMAN,
        column("level", "INTEGER", "Level of the community"),
        column("title", "VARCHAR", "Names the subject"),
        column("summary", "VARCHAR", "The gist"),
        column("rating", "DOUBLE", "Importance, 0–10"),
        column("rating_explanation", "VARCHAR", "What the rating rests on"),
        column("content", "VARCHAR", "The whole report as Markdown"),
        column("tokens", "INTEGER", "Tokens of the content"),
        column(
            "engine",
            "VARCHAR",
            "Which implementation made the row; imported: it came with a graph",
            values=EngineNames("imported"),
        ),
        column(
            "problem", "VARCHAR", "Why a model's report was replaced by the extractive one", nullable=True
        ),
        repaired(),
    ),
)

WRITTEN_REPORTS = Table(
    "reports",
    "written_reports",
    "reports",
    "What the writer gave for each report, and a hash of all it was written from: the same hash, the same report. "
    "Without reports that came with a graph and those that stand in for an unusable reply",
    ("report_id",),
    (
        column("report_id", "VARCHAR", "Report", ref="reports.community_reports.report_id"),
        column(
            "fingerprint",
            "VARCHAR",
            "Hash of code, model and settings, of the community's rows and documents, and of what is below it",
        ),
        column("written", "VARCHAR", "The report as JSON, with the numbers of its context in its citations"),
        column("replies", "VARCHAR[]", "Keys of the remembered replies that it was read from"),
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
        column("position", "INTEGER", "Place in the report, 0…"),
        column("summary", "VARCHAR", "Headline"),
        column("explanation", "VARCHAR", "The finding, with its citations"),
    ),
)

REPORT_REFERENCES = Table(
    "reports",
    "report_references",
    "reports",
    "What each report and finding cites, each id checked against the context it was written from",
    ("report_id", "finding", "position"),
    (
        column("report_id", "VARCHAR", "Report", ref="reports.community_reports.report_id"),
        column("finding", "INTEGER", "Place of the finding, 0…; -1 for the summary"),
        column("position", "INTEGER", "Place among the references of the finding, 0…"),
        column(
            "kind",
            "VARCHAR",
            "What is cited",
            values=("entity", "relationship", "claim", "report", "text_unit"),
        ),
        column(
            "record_id", "VARCHAR", "Id of the cited row; null when the citation was invalid", nullable=True
        ),
        column("cited_as", "VARCHAR", "Id as it stood in the reply"),
        column("valid", "BOOLEAN", "The id was in the context"),
        column("start_char", "INTEGER", "Quoted text in the unit: first character", nullable=True),
        column("end_char", "INTEGER", "One past its last character", nullable=True),
    ),
)

REPORT_CONTEXTS = Table(
    "reports",
    "report_contexts",
    "reports",
    "The packed context each report was written from (paper §3.1.5)",
    ("report_id",),
    (
        column("report_id", "VARCHAR", "Report", ref="graph.communities.community_id"),
        column("context", "VARCHAR", "The rendered context"),
        column("tokens", "INTEGER", "Tokens of the whole rendered string"),
        column("entities", "INTEGER", "Entity rows in it"),
        column("relationships", "INTEGER", "Relationship rows in it"),
        column("claims", "INTEGER", "Claim rows in it"),
        column("reports", "INTEGER", "Sub-community reports substituted for their elements"),
        column("complete", "BOOLEAN", "Nothing was left out"),
    ),
)

REPORT_CONTEXT_ROWS = Table(
    "reports",
    "report_context_rows",
    "reports",
    "The rows of each report's context: which record stands in it under which number",
    ("report_id", "position"),
    (
        column("report_id", "VARCHAR", "Report", ref="graph.communities.community_id"),
        column("position", "INTEGER", "Place in the context, 0…"),
        column(
            "kind",
            "VARCHAR",
            "What the row shows",
            values=("report", "entity", "claim", "relationship"),
        ),
        column(
            "number", "INTEGER", "Its number among the rows of its kind, 1…, by which its writer cites it"
        ),
        column(
            "record_id",
            "VARCHAR",
            "Id of the sub-community's report, the entity, the claim or the relationship",
        ),
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
    "Counts of everything made and of everything put aside: one row per measure",
    ("area", "measure"),
    (
        column("area", "VARCHAR", "Stage that is counted"),
        column("measure", "VARCHAR", "What is counted"),
        column("value", "DOUBLE", "The count, or a share between 0 and 1"),
    ),
    sql=True,
)

CONTEXT_SIZES = Table(
    "marts",
    "context_sizes",
    "marts",
    "What each condition reads for a question: units, their tokens, and the share of the source texts "
    "(paper Table 2)",
    ("condition",),
    (
        column("condition", "VARCHAR", "C0, C1, …: the reports of a level; TS: the text units"),
        column("units", "INTEGER", "Community reports, or text units"),
        column("tokens", "BIGINT", "Tokens of their raw texts, without what a prompt puts around them"),
        column("percent_of_ts", "DOUBLE", "100 times tokens over those of TS; null without", nullable=True),
    ),
    sql=True,
)

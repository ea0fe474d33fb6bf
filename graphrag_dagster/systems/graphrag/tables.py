"""Tables of extraction, and the states and contexts that GraphRAG keeps for its next index."""

from graphrag_dagster.kernel.tables.core_tables import BEGUN, ENDED, ROUND, STATUS, UNIT
from graphrag_dagster.kernel.tables.table_declaration import DECIDING, ENGINE, SPANS, Table, column

GLEANED_ENTITIES = Table(
    "extraction",
    "gleaned_entities",
    "extraction",
    "Entity instances: one row per entity record per text unit and round (From Local to Global, §3.1.2)",
    ("instance_id",),
    (
        column("instance_id", "VARCHAR", "Hash of unit, round and position in the reply"),
        UNIT,
        ROUND,
        column("position", "INTEGER", "Position of the record in its unit, from 0"),
        column("name", "VARCHAR", "Normalised name, the merge key"),
        column("surface", "VARCHAR", "Name as written"),
        column("type", "VARCHAR", "Entity type, upper case"),
        column("description", "VARCHAR", "Description given by the unit"),
        column("spans", SPANS, "Positions of the name in the unit's text"),
        ENGINE,
    ),
)

GLEANED_RELATIONSHIPS = Table(
    "extraction",
    "gleaned_relationships",
    "extraction",
    "Relationship instances: one row per relation record per text unit and round (From Local to Global, §3.1.2)",
    ("instance_id",),
    (
        column("instance_id", "VARCHAR", "Hash of unit, round and position in the reply"),
        UNIT,
        ROUND,
        column("position", "INTEGER", "Position of the record in its unit, from 0"),
        column("source", "VARCHAR", "Normalised name of one end, as in the record"),
        column("target", "VARCHAR", "Normalised name of the other end"),
        column("relation", "VARCHAR", "Label from source to target: words in lower case joined by _"),
        column("description", "VARCHAR", "How they are related"),
        column("strength", "DOUBLE", "Strength given by the model, else 1"),
        column("basis", "VARCHAR", "Basis of the record", values=("model", "verb", "co_occurrence")),
        column("spans", SPANS, "Position of the supporting sentence in the unit's text"),
        ENGINE,
    ),
)

QUARANTINE = Table(
    "extraction",
    "quarantine",
    "extraction",
    "Replies and records that could not be used, in full, each with its reason",
    ("quarantine_id",),
    (
        column("quarantine_id", "VARCHAR", "Hash of unit, round and position"),
        UNIT,
        ROUND,
        column("position", "INTEGER", "Position among the quarantined items of the unit, from 0"),
        column(
            "kind", "VARCHAR", "What was quarantined", values=("reply", "entity", "relationship", "claim")
        ),
        column("reason", "VARCHAR", "Why"),
        column("raw", "VARCHAR", "The reply or record as received"),
        column("prompt", "VARCHAR", "The prompt that led to the reply", nullable=True),
        ENGINE,
    ),
)

TYPINGS = Table(
    "extraction",
    "typings",
    "extraction",
    "Entity instances that were extracted without a type, and how each was typed",
    ("text_unit_id", "name"),
    (
        UNIT,
        column("position", "INTEGER", "Position of the instance in its unit, from 0"),
        column("name", "VARCHAR", "Normalised name"),
        column("type", "VARCHAR", "Type of the instance"),
        column(
            "decided_by",
            "VARCHAR",
            "Typed by a model, or not at all: its type is UNKNOWN",
            values=("model", "nothing"),
        ),
        column("problem", "VARCHAR", "Why no reply of the model could be used", nullable=True),
    ),
)

EXTRACTION_STATE = Table(
    "extraction",
    "extraction_state",
    "extraction",
    "Fingerprint of the extraction: while it stays the same, unchanged text units are not extracted again",
    ("part",),
    DECIDING,
)

ENTITY_GROUPS = Table(
    "staging",
    "entity_groups",
    "graph",
    "Entity instances grouped by resolved entity, type by majority, descriptions not yet merged",
    ("name",),
    (
        column("name", "VARCHAR", "Normalised title"),
        column("title", "VARCHAR", "Most frequent full name; a qualifier in brackets tells namesakes apart"),
        column("names", "VARCHAR[]", "All spellings, most frequent first"),
        column(
            "type", "VARCHAR", "Type in most documents; on a tie, of most records, then the one seen first"
        ),
        column("descriptions", "VARCHAR[]", "Distinct descriptions in order of first appearance"),
        column("text_unit_ids", "VARCHAR[]", "Units that mention it, in corpus order"),
        column("frequency", "INTEGER", "Number of units that mention it"),
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
        column("text_unit_ids", "VARCHAR[]", "Units that state it, in corpus order"),
        column("instances", "INTEGER", "Number of relation records, in both directions"),
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
        column("object", "VARCHAR", "Normalised name of the other entity, blank if there is none"),
        column("type", "VARCHAR", "Kind of claim, upper case"),
        STATUS,
        BEGUN,
        ENDED,
        column("descriptions", "VARCHAR[]", "Distinct descriptions in order of first appearance"),
        column("text_unit_ids", "VARCHAR[]", "Units that state it, in corpus order"),
        column("instances", "INTEGER", "Number of claim records"),
    ),
    sql=True,
)

CLUSTERING_STATE = Table(
    "graph",
    "clustering_state",
    "communities",
    "How communities were detected, and how far the graph has drifted since the last cold start: one row",
    ("clustering",),
    (
        column("clustering", "VARCHAR", "What was clustered", values=("communities",)),
        column(
            "start",
            "VARCHAR",
            "Cold: from scratch; warm: from the communities of the previous run",
            values=("cold", "warm"),
        ),
        column("edges", "BIGINT", "Relationships of the graph"),
        column("cold_edges", "BIGINT", "Relationships of the graph at the last cold start"),
        column(
            "changed",
            "DOUBLE",
            "Relationships added or removed since then, as a share of all old and new ones",
        ),
        column("modularity", "DOUBLE", "Modularity of level 0"),
        column("cold_modularity", "DOUBLE", "Modularity of level 0 at the last cold start"),
        column("rules", "VARCHAR", "Hash of the settings and the code"),
        column("edges_hash", "VARCHAR", "Hash of the relationships with their weights"),
        column(
            "communities_hash", "VARCHAR", "Hash of communities and members: shows that they belong together"
        ),
    ),
)

COLD_START_EDGES = Table(
    "graph",
    "cold_start_edges",
    "communities",
    "Relationships of the last cold start that are still in the graph",
    ("relationship_id",),
    (column("relationship_id", "VARCHAR", "Relationship", ref="graph.relationships.relationship_id"),),
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
            "Cold: from scratch; warm: from the positions of the previous run",
            values=("cold", "warm"),
        ),
        column("radius", "DOUBLE", "Largest distance from the centre of a linked or clustered entity"),
        column(
            "spread",
            "DOUBLE",
            "Mean distance from the centre of the deepest community, in radii of a disc that its members "
            "would fill",
        ),
        column("cold_spread", "DOUBLE", "The spread after the last cold start"),
        column("code", "VARCHAR", "Version of the code"),
        column("graph_hash", "VARCHAR", "Hash of entities, relationships with weights, and communities"),
        column("layout_hash", "VARCHAR", "Hash of the positions: shows that they belong together"),
    ),
)

WRITTEN_REPORTS = Table(
    "reports",
    "written_reports",
    "reports",
    "The writer's draft of each report, with a hash of everything it was written from: the same hash, the "
    "same report. Without imported reports and those that replace an unusable reply",
    ("report_id",),
    (
        column("report_id", "VARCHAR", "Report", ref="reports.community_reports.report_id"),
        column(
            "fingerprint",
            "VARCHAR",
            "Hash of code, model and settings, of the community's rows and documents, and of the "
            "sub-communities' reports",
        ),
        column("written", "VARCHAR", "The report as JSON; its citations use the numbers of its context"),
        column("replies", "VARCHAR[]", "LLM cache keys of the replies it was read from"),
    ),
)

REPORT_CONTEXTS = Table(
    "reports",
    "report_contexts",
    "reports",
    "The packed context each report was written from (From Local to Global, §3.1.5)",
    ("report_id",),
    (
        column("report_id", "VARCHAR", "Report", ref="graph.communities.community_id"),
        column("context", "VARCHAR", "The rendered context"),
        column("tokens", "INTEGER", "Tokens of the whole rendered context"),
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
    "The rows of each report's context, with the number each was cited by",
    ("report_id", "position"),
    (
        column("report_id", "VARCHAR", "Report", ref="graph.communities.community_id"),
        column("position", "INTEGER", "Position in the context, from 0"),
        column(
            "kind",
            "VARCHAR",
            "Kind of the row",
            values=("report", "entity", "claim", "relationship"),
        ),
        column("number", "INTEGER", "Its number among the rows of its kind, from 1, which its writer cites"),
        column(
            "record_id",
            "VARCHAR",
            "Id of the sub-community's report, entity, claim or relationship",
        ),
    ),
)

TABLES = (
    GLEANED_ENTITIES,
    GLEANED_RELATIONSHIPS,
    QUARANTINE,
    TYPINGS,
    EXTRACTION_STATE,
    ENTITY_GROUPS,
    RELATIONSHIP_GROUPS,
    CLAIM_GROUPS,
    CLUSTERING_STATE,
    COLD_START_EDGES,
    LAYOUT_STATE,
    WRITTEN_REPORTS,
    REPORT_CONTEXTS,
    REPORT_CONTEXT_ROWS,
)

"""Tables of CoTeRAG-S: stores, flat communities, descriptions, summaries, terms and thresholds."""

from graphrag_dagster.kernel.tables.table_declaration import ENGINE, Table, column, embeddings

_COMMUNITY = column("community_id", "VARCHAR", "Community", ref="coterag.communities.community_id")
_ENTITY = column("entity_id", "VARCHAR", "Entity", ref="graph.entities.entity_id")

COTERAG_STORES = Table(
    "coterag",
    "stores",
    "coterag",
    "Whether an entity is in the main graph or the preserved store, by the size of its component",
    ("entity_id",),
    (
        _ENTITY,
        column("store", "VARCHAR", "Store that holds it", values=("main", "preserved")),
        column("component", "BIGINT", "Weakly connected component, from 0, largest first"),
        column("component_size", "BIGINT", "Entities of the component"),
    ),
)

COTERAG_COMMUNITIES = Table(
    "coterag",
    "communities",
    "coterag",
    "Flat communities of the main graph, or those of the level that questions are matched with",
    ("community_id",),
    (
        column("community_id", "VARCHAR", "Hash of the members; for a level, the community's id there"),
        column("number", "BIGINT", "Position by size, from 0, largest first"),
        column("size", "BIGINT", "Number of member entities"),
        column("triples", "BIGINT", "Triples with both ends inside"),
        column("tiny", "BOOLEAN", "Too small for a summary: its triples are listed"),
    ),
)

COTERAG_MEMBERS = Table(
    "coterag",
    "members",
    "coterag",
    "Membership of entities in these communities",
    ("entity_id",),
    (_ENTITY, _COMMUNITY, column("internal_degree", "BIGINT", "Distinct neighbours inside")),
)

COTERAG_DESCRIPTIONS = Table(
    "coterag",
    "descriptions",
    "coterag",
    "Description of every entity, made from its triples",
    ("entity_id",),
    (
        _ENTITY,
        column("description", "VARCHAR", "Its triples as sentences, or a template"),
        column("templated", "BOOLEAN", "Made from a template, because the entity has no triples to describe"),
        column("left_out", "BIGINT", "Sentences dropped to stay within the budget"),
    ),
)

COTERAG_SUMMARIES = Table(
    "coterag",
    "summaries",
    "coterag",
    "Summary of every community, which questions are matched with",
    ("community_id",),
    (
        _COMMUNITY,
        column("title", "VARCHAR", "Its best linked entities, or the title a model gave it"),
        column("text", "VARCHAR", "The summary, with exact names"),
        ENGINE,
        column(
            "problem", "VARCHAR", "Why a model's summary was replaced by the extractive one", nullable=True
        ),
    ),
)

COTERAG_QUOTES = Table(
    "coterag",
    "summary_quotes",
    "coterag",
    "Passages of the documents that summaries are made from",
    ("community_id", "position"),
    (
        _COMMUNITY,
        column("position", "INTEGER", "Position in the summary, from 0"),
        column("text_unit_id", "VARCHAR", "Text unit", ref="corpus.text_chunks.text_unit_id"),
        column("start_char", "INTEGER", "First character in the unit's text"),
        column("end_char", "INTEGER", "One past the last character"),
    ),
)

COTERAG_TERMS = Table(
    "coterag",
    "terms",
    "coterag",
    "Word stems of every community's summary, names and relations",
    ("community_id", "term"),
    (_COMMUNITY, column("term", "VARCHAR", "Stem")),
)


COTERAG_DESCRIPTION_VECTORS = embeddings(
    "coterag", "description_vectors", "entity_id", "graph.entities.entity_id", "Vectors of the descriptions"
)
COTERAG_SUMMARY_VECTORS = embeddings(
    "coterag",
    "summary_vectors",
    "community_id",
    "coterag.communities.community_id",
    "Vectors of the summaries",
)

COTERAG_THRESHOLDS = Table(
    "coterag",
    "thresholds",
    "coterag",
    "The thresholds in force and their sources",
    ("threshold",),
    (
        column("threshold", "VARCHAR", "Comparison it applies to"),
        column("value", "DOUBLE", "Cosine, or share, that must be exceeded"),
        column(
            "source",
            "VARCHAR",
            "Printed in the paper, given by the settings, a quantile of the corpus's own cosines, or "
            "measured elsewhere if these are too few",
            values=("paper", "given", "calibrated", "measured"),
        ),
        column("quantile", "DOUBLE", "Share of the background below it", nullable=True),
        column("pairs", "BIGINT", "Cosines of the background", nullable=True),
        column(
            "profile",
            "VARCHAR",
            "Profile given by the settings",
            values=("calibrated", "paper_raw", "paper_neo4j"),
        ),
        column("embedder", "VARCHAR", "Embedder of the vectors"),
    ),
)

TABLES = (
    COTERAG_STORES,
    COTERAG_COMMUNITIES,
    COTERAG_MEMBERS,
    COTERAG_DESCRIPTIONS,
    COTERAG_SUMMARIES,
    COTERAG_QUOTES,
    COTERAG_TERMS,
    COTERAG_DESCRIPTION_VECTORS,
    COTERAG_SUMMARY_VECTORS,
    COTERAG_THRESHOLDS,
)

"""The tables of CoTeRAG-S: stores, flat communities, descriptions, summaries, terms and thresholds."""

from graphrag_dagster.kernel.tables.declaration import ENGINE, Table, column, embeddings

_COMMUNITY = column("community_id", "VARCHAR", "Community", ref="coterag.communities.community_id")
_ENTITY = column("entity_id", "VARCHAR", "Entity", ref="graph.entities.entity_id")

COTERAG_STORES = Table(
    "coterag",
    "stores",
    "coterag",
    "Of every entity whether it is of the main graph or preserved apart, by the size of its component",
    ("entity_id",),
    (
        _ENTITY,
        column("store", "VARCHAR", "Where it is searched", values=("main", "preserved")),
        column("component", "BIGINT", "Weakly connected component, 0… by size descending"),
        column("component_size", "BIGINT", "Entities of the component"),
    ),
)

COTERAG_COMMUNITIES = Table(
    "coterag",
    "communities",
    "coterag",
    "Flat communities of the main graph, or those of a level that questions are matched with",
    ("community_id",),
    (
        column("community_id", "VARCHAR", "Hash of the members; of a level the community's id there"),
        column("number", "BIGINT", "0… by size descending"),
        column("size", "BIGINT", "Number of member entities"),
        column("triples", "BIGINT", "Triples with both ends inside"),
        column("tiny", "BOOLEAN", "Too small to be summarised: its triples are listed"),
    ),
)

COTERAG_MEMBERS = Table(
    "coterag",
    "members",
    "coterag",
    "Which entities belong to which of these communities",
    ("entity_id",),
    (_ENTITY, _COMMUNITY, column("internal_degree", "BIGINT", "Distinct neighbours inside")),
)

COTERAG_DESCRIPTIONS = Table(
    "coterag",
    "descriptions",
    "coterag",
    "What is said of every entity, made of its triples",
    ("entity_id",),
    (
        _ENTITY,
        column("description", "VARCHAR", "Its triples as sentences, or a template"),
        column("templated", "BOOLEAN", "A template, since it has no triples to tell"),
        column("left_out", "BIGINT", "Sentences beyond the budget"),
    ),
)

COTERAG_SUMMARIES = Table(
    "coterag",
    "summaries",
    "coterag",
    "A summary of every community, that questions are matched with",
    ("community_id",),
    (
        _COMMUNITY,
        column("title", "VARCHAR", "Its best linked entities, or what a model calls it"),
        column("text", "VARCHAR", "The summary, with exact names"),
        ENGINE,
        column("problem", "VARCHAR", "Why a model's was replaced by the extractive one", nullable=True),
    ),
)

COTERAG_QUOTES = Table(
    "coterag",
    "summary_quotes",
    "coterag",
    "The words of documents that summaries are made of",
    ("community_id", "position"),
    (
        _COMMUNITY,
        column("position", "INTEGER", "Place in the summary, 0…"),
        column("text_unit_id", "VARCHAR", "Text unit", ref="corpus.text_chunks.text_unit_id"),
        column("start_char", "INTEGER", "First character in the unit's text"),
        column("end_char", "INTEGER", "One past the last"),
    ),
)

COTERAG_TERMS = Table(
    "coterag",
    "terms",
    "coterag",
    "Stems of the words of every community's summary, names and relations",
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
    "The thresholds in force, and where each comes from",
    ("threshold",),
    (
        column("threshold", "VARCHAR", "What it is for"),
        column("value", "DOUBLE", "Cosine, or share, that has to be exceeded"),
        column(
            "source",
            "VARCHAR",
            "Printed in the paper, given by the settings, a quantile of the corpus's own cosines, or measured "
            "elsewhere where these are too few",
            values=("paper", "given", "calibrated", "measured"),
        ),
        column("quantile", "DOUBLE", "Share of the background below it", nullable=True),
        column("pairs", "BIGINT", "Cosines of the background", nullable=True),
        column(
            "profile",
            "VARCHAR",
            "Of the settings",
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

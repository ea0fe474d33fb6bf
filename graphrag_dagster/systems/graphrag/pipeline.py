"""The steps of the index, in order, with the tables that each reads and makes.

Tables that people request are assets, each with its shown inputs. States, accounts and look-ups are written
beside them.
"""

from graphrag_dagster.kernel.pipeline.step_declaration import Step
from graphrag_dagster.kernel.tables.context_node_tables import CONTEXT_NODES
from graphrag_dagster.kernel.tables.core_tables import (
    CLAIMS,
    COMMUNITIES,
    COMMUNITY_LEVELS,
    COMMUNITY_MEMBERS,
    COMMUNITY_REPORTS,
    DOCUMENTS,
    ENTITIES,
    ENTITY_EMBEDDINGS,
    LAYOUT,
    MERGED_CLAIMS,
    RELATIONSHIPS,
    REPORT_EMBEDDINGS,
    REPORT_FINDINGS,
    REPORT_REFERENCES,
    TEXT_CHUNKS,
    TEXT_UNIT_EMBEDDINGS,
    TRIPLES,
    UNIT_LEDGER,
)
from graphrag_dagster.kernel.tables.import_tables import IMPORTED_ENTITIES, IMPORTED_RELATIONS
from graphrag_dagster.systems.graphrag.index.community_reports import reports
from graphrag_dagster.systems.graphrag.index.extraction import extraction
from graphrag_dagster.systems.graphrag.index.graph_communities import communities
from graphrag_dagster.systems.graphrag.index.merged_graph import graph, resolution
from graphrag_dagster.systems.graphrag.reports.report_reuse import WRITTEN_FROM
from graphrag_dagster.systems.graphrag.resolution.tables import (
    ALIASES,
    CANDIDATES,
    DECISIONS,
    RESOLUTION_STATE,
)
from graphrag_dagster.systems.graphrag.tables import (
    CLAIM_GROUPS,
    CLUSTERING_STATE,
    COLD_START_EDGES,
    ENTITY_GROUPS,
    EXTRACTION_STATE,
    GLEANED_ENTITIES,
    GLEANED_RELATIONSHIPS,
    LAYOUT_STATE,
    QUARANTINE,
    RELATIONSHIP_GROUPS,
    REPORT_CONTEXT_ROWS,
    REPORT_CONTEXTS,
    TYPINGS,
    WRITTEN_REPORTS,
)

STEPS = (
    Step(
        "extraction",
        extraction,
        reads=(TEXT_CHUNKS,),
        assets={
            GLEANED_ENTITIES: (TEXT_CHUNKS,),
            GLEANED_RELATIONSHIPS: (TEXT_CHUNKS,),
            CLAIMS: (TEXT_CHUNKS,),
            UNIT_LEDGER: (TEXT_CHUNKS,),
            TEXT_UNIT_EMBEDDINGS: (TEXT_CHUNKS,),
        },
        side_tables=(QUARANTINE, TYPINGS, EXTRACTION_STATE),
    ),
    Step(
        "resolution",
        resolution,
        reads=(GLEANED_ENTITIES, TEXT_CHUNKS, DOCUMENTS),
        assets={DECISIONS: (GLEANED_ENTITIES,), ALIASES: (DECISIONS,)},
        side_tables=(CANDIDATES, RESOLUTION_STATE),
    ),
    Step(
        "graph",
        graph,
        reads=(ENTITY_GROUPS, RELATIONSHIP_GROUPS, CLAIM_GROUPS),
        assets={
            ENTITIES: (GLEANED_ENTITIES, ALIASES, IMPORTED_ENTITIES),
            RELATIONSHIPS: (GLEANED_RELATIONSHIPS, ENTITIES, IMPORTED_RELATIONS),
            MERGED_CLAIMS: (CLAIMS, ALIASES),
        },
        side_tables=(ENTITY_GROUPS, RELATIONSHIP_GROUPS, CLAIM_GROUPS, TRIPLES),
    ),
    Step(
        "communities",
        communities,
        reads=(ENTITIES, RELATIONSHIPS),
        columns={
            ENTITIES: ("entity_id", "name", "title", "description"),
            RELATIONSHIPS: ("relationship_id", "source_id", "target_id", "weight"),
        },
        assets={
            COMMUNITIES: (ENTITIES, RELATIONSHIPS),
            COMMUNITY_MEMBERS: (COMMUNITIES,),
            COMMUNITY_LEVELS: (COMMUNITY_MEMBERS,),
            LAYOUT: (COMMUNITY_MEMBERS,),
            ENTITY_EMBEDDINGS: (ENTITIES,),
        },
        side_tables=(CLUSTERING_STATE, COLD_START_EDGES, LAYOUT_STATE),
    ),
    Step(
        "reports",
        reports,
        reads=WRITTEN_FROM,
        columns={
            ENTITIES: ("entity_id", "human_readable_id", "name", "title", "type", "description", "degree"),
            RELATIONSHIPS: (
                *("relationship_id", "human_readable_id", "source", "target", "source_id", "target_id"),
                *("description", "weight", "combined_degree"),
            ),
            GLEANED_ENTITIES: ("text_unit_id", "name", "spans"),
            GLEANED_RELATIONSHIPS: ("text_unit_id", "source", "target", "spans"),
            ALIASES: ("document_id", "name", "entity"),
        },
        assets={
            COMMUNITY_REPORTS: (COMMUNITY_LEVELS, MERGED_CLAIMS, CONTEXT_NODES),
            REPORT_FINDINGS: (COMMUNITY_REPORTS,),
            REPORT_EMBEDDINGS: (COMMUNITY_REPORTS,),
        },
        side_tables=(*(WRITTEN_REPORTS, REPORT_REFERENCES, REPORT_CONTEXTS, REPORT_CONTEXT_ROWS),),
    ),
)

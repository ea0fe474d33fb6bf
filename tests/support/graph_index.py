"""A small index made by hand for the way ``graph``: three communities, two of them joined by a context node."""

from dataclasses import replace

import numpy as np
import polars as pl

from graphrag_dagster.kernel.documents.document_metadata import metadata_of, periods_of
from graphrag_dagster.kernel.models.local_embedders import shared_static
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.context_node_tables import CONTEXT_NODES
from graphrag_dagster.kernel.tables.table_declaration import Table
from support.index_frames import filled

#: Document, head, relation, tail, and the sentence that states it.
STATED = (
    ("mill.txt", "Anna Velm", "owns", "Mill House", "Anna Velm owns Mill House since the flood."),
    ("mill.txt", "River Guild", "repaired", "Mill House", "River Guild repaired Mill House in 1911."),
    ("iron.txt", "Otto Brand", "founded", "Iron Works", "Otto Brand founded Iron Works by the weir."),
    ("iron.txt", "Coal Fund", "financed", "Iron Works", "Coal Fund financed Iron Works for a decade."),
    ("choir.txt", "Ida Noor", "conducts", "Town Choir", "Ida Noor conducts Town Choir on Sundays."),
    ("choir.txt", "Town Choir", "sang_at", "Harvest Fair", "Town Choir sang at Harvest Fair twice."),
)
COMMUNITIES = {
    "k-mill": ("Anna Velm", "Mill House", "River Guild"),
    "k-iron": ("Otto Brand", "Iron Works", "Coal Fund"),
    "k-choir": ("Ida Noor", "Town Choir", "Harvest Fair"),
}
#: Otto Brand is at home among the iron, and resembles the mill.
BRIDGE = {"level": 0, "community_id": "k-mill", "entity_id": "e Otto Brand", "home_id": "k-iron", "rank": 1}


def vectors_of(table: Table, key: str, texts: dict[str, str]) -> pl.DataFrame:
    """Static vectors of texts by id, as a table of vectors has them."""
    embedder = shared_static()
    found = embedder.embed(list(texts.values()))
    return pl.DataFrame(
        {key: list(texts), "embedder": [embedder.name] * len(texts), "vector": found.astype(np.float32)},
    )


def small_index(*, with_vectors: bool = True, bridged: bool = True) -> IndexSnapshot:
    """The index; ``bridged``: with its context node."""
    paths = list(dict.fromkeys(path for path, *_ in STATED))
    texts = {path: "\n".join(row[-1] for row in STATED if row[0] == path) for path in paths}
    documents = filled(
        tables.DOCUMENTS,
        [
            {
                "document_id": f"d {path}",
                "human_readable_id": n,
                "path": path,
                "title": path,
                "metadata": "{}",
            }
            for n, path in enumerate(paths)
        ],
    )
    units = [
        {
            "text_unit_id": f"u {path}",
            "document_id": f"d {path}",
            "human_readable_id": n,
            "text": texts[path],
            "end_char": len(texts[path]),
            "tokens": 20,
        }
        for n, path in enumerate(paths)
    ]
    units_of = {end: [f"u {path}"] for path, head, _, tail, _ in STATED for end in (head, tail)}
    degrees = {name: sum(name in (head, tail) for _, head, _, tail, _ in STATED) for name in units_of}
    described = {name: f"{name}: {next(said for *ends, said in STATED if name in ends)}" for name in units_of}
    entities = [
        {
            "entity_id": f"e {name}",
            "name": name.upper(),
            "title": name,
            "names": [name],
            "type": "THING",
            "description": described[name],
            "text_unit_ids": units_of[name],
            "degree": degrees[name],
            "human_readable_id": n,
            "frequency": 1,
        }
        for n, name in enumerate(sorted(units_of))
    ]
    members = [(k, f"e {name}") for k, names in COMMUNITIES.items() for name in names]
    reports = [
        {
            "report_id": k,
            "title": f"{names[1]} and its people",
            "level": 0,
            "engine": "extractive",
            "content": " ".join(said for *ends, said in STATED if set(ends) & set(names)),
        }
        for k, names in COMMUNITIES.items()
    ]
    return IndexSnapshot(
        documents=documents,
        metadata=metadata_of(documents),
        periods=periods_of(documents),
        text_chunks=filled(tables.TEXT_CHUNKS, units),
        entities=filled(tables.ENTITIES, entities),
        relationships=filled(tables.RELATIONSHIPS, [_relationship(n) for n in range(len(STATED))]),
        triples=filled(tables.TRIPLES, [_triple(n) for n in range(len(STATED))]),
        communities=filled(tables.COMMUNITIES, [{"community_id": k} for k in COMMUNITIES]),
        community_levels=filled(
            tables.COMMUNITY_LEVELS, [{"level": 0, "community_id": k, "entity_id": one} for k, one in members]
        ),
        members=filled(
            tables.COMMUNITY_MEMBERS, [{"community_id": k, "entity_id": one} for k, one in members]
        ),
        reports=filled(tables.COMMUNITY_REPORTS, reports),
        findings=tables.REPORT_FINDINGS.empty(),
        references=tables.REPORT_REFERENCES.empty(),
        entity_vectors=(
            vectors_of(tables.ENTITY_EMBEDDINGS, "entity_id", {f"e {k}": v for k, v in described.items()})
            if with_vectors
            else None
        ),
        context_nodes=filled(CONTEXT_NODES, [BRIDGE]) if bridged else None,
    )


def with_bridges(index: IndexSnapshot, *rows: dict[str, object]) -> IndexSnapshot:
    """The index with other context nodes."""
    return replace(index, context_nodes=filled(CONTEXT_NODES, list(rows)))


def _ends(row: tuple[str, ...]) -> tuple[str, str]:
    first, second = sorted([row[1], row[3]])
    return first, second


def _relationship(n: int) -> dict[str, object]:
    first, second = _ends(STATED[n])
    return {
        "relationship_id": f"r{n}",
        "source": first.upper(),
        "target": second.upper(),
        "weight": 1.0,
        "source_id": f"e {first}",
        "target_id": f"e {second}",
        "description": STATED[n][-1],
        "text_unit_ids": [f"u {STATED[n][0]}"],
    }


def _triple(n: int) -> dict[str, object]:
    path, head, relation, tail, _ = STATED[n]
    return {
        "triple_id": f"t{n}",
        "head": head.upper(),
        "tail": tail.upper(),
        "relation": relation,
        "head_id": f"e {head}",
        "tail_id": f"e {tail}",
        "strength": 1.0,
        "instances": 1,
        "text_unit_ids": [f"u {path}"],
        "evidence_unit_id": f"u {path}",
    }

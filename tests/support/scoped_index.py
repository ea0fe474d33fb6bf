"""Small whole indexes of several documents, for tests of filters."""

from collections.abc import Sequence

from hypothesis import strategies as st

from graphrag_dagster.kernel.documents.document_metadata import metadata_of, periods_of
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.tables import core_tables as tables
from support.index_frames import filled


def titled(*titles: str, folder: str = "", text: str = "Some words.", metadata: str = "{}") -> IndexSnapshot:
    """An index of documents with these titles, one text unit each."""
    return of_documents(
        [
            {"title": title, "path": f"{folder}f{n}.txt", "text": text, "metadata": metadata}
            for n, title in enumerate(titles)
        ]
    )


def of_documents(rows: Sequence[dict[str, object]], **frames: object) -> IndexSnapshot:
    """An index of documents, one text unit each: ``u0`` of ``d0``, and so on."""
    documents = filled(
        tables.DOCUMENTS,
        [
            {"document_id": f"d{n}", "human_readable_id": n, "metadata": "{}", **row}
            for n, row in enumerate(rows)
        ],
    )
    units = [
        {"text_unit_id": f"u{n}", "human_readable_id": n, "document_id": f"d{n}", "text": row["text"]}
        for n, row in enumerate(rows)
    ]
    return IndexSnapshot(
        **{
            "documents": documents,
            "text_chunks": filled(tables.TEXT_CHUNKS, units),
            "metadata": metadata_of(documents),
            "periods": periods_of(documents),
            "entities": tables.ENTITIES.empty(),
            "relationships": tables.RELATIONSHIPS.empty(),
            "communities": tables.COMMUNITIES.empty(),
            "community_levels": tables.COMMUNITY_LEVELS.empty(),
            "reports": tables.COMMUNITY_REPORTS.empty(),
            "findings": tables.REPORT_FINDINGS.empty(),
            "references": tables.REPORT_REFERENCES.empty(),
            **frames,
        }
    )


@st.composite
def graphs(draw: st.DrawFn) -> IndexSnapshot:
    """Documents with entities, relationships, claims and reports that stand in any of their text units."""
    units = [f"u{n}" for n in range(draw(st.integers(1, 6)))]
    some = st.lists(st.sampled_from(units), min_size=1, unique=True)
    entities = [
        {
            "entity_id": f"e{n}",
            "name": f"E{n}",
            "title": f"E{n}",
            "description": "all",
            "text_unit_ids": draw(some),
        }
        for n in range(draw(st.integers(1, 6)))
    ]
    ends = st.sampled_from([one["entity_id"] for one in entities])
    relationships = [
        {"relationship_id": f"r{n}", "source_id": draw(ends), "target_id": draw(ends), "description": "all",
         "text_unit_ids": draw(some)}
        for n in range(draw(st.integers(0, 5)))
    ]  # fmt: skip
    claims = [
        {"claim_id": f"c{n}", "subject": f"E{draw(st.integers(0, len(entities) - 1))}", "text_unit_ids": draw(some),
         "status": "TRUE"}
        for n in range(draw(st.integers(0, 4)))
    ]  # fmt: skip
    members = [
        {"community_id": f"k{n}", "entity_id": one}
        for n in range(draw(st.integers(0, 4)))
        for one in draw(st.lists(ends, min_size=1, unique=True))
    ]
    communities = sorted({one["community_id"] for one in members})
    return of_documents(
        [{"title": f"T{n}", "path": f"{n}.txt", "text": "Some words."} for n in range(len(units))],
        entities=filled(tables.ENTITIES, entities),
        relationships=filled(tables.RELATIONSHIPS, relationships),
        claims=filled(tables.MERGED_CLAIMS, claims),
        members=filled(tables.COMMUNITY_MEMBERS, members),
        reports=filled(
            tables.COMMUNITY_REPORTS, [{"report_id": one, "engine": "llm"} for one in communities]
        ),
    )

"""Claims in the context of a local search: one per subject, object and type, with the words of all records."""

from dataclasses import replace

import pytest

from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.settings.search_settings import LocalShares
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.systems.graphrag.search.local_search import local_context
from support.index_frames import DOCUMENT, filled, index_of

QUAY, MERGER = "built by Orrin Vask", "opposed the merger"


def record(place: int, said: str, words: str) -> dict[str, object]:
    start = DOCUMENT.index(words)
    return {
        "claim_id": f"c{place}", "human_readable_id": place, "text_unit_id": "u", "subject": "QUAY",
        "type": "ACT", "status": "TRUE", "description": said, "engine": "llm",
        "spans": [{"start": start, "end": start + len(words)}],
    }  # fmt: skip


@pytest.fixture
def index() -> IndexSnapshot:
    records = filled(tables.CLAIMS, [record(0, "It was built.", QUAY), record(1, "It was fought.", MERGER)])
    entity = {"entity_id": "q", "name": "QUAY", "title": "The quay", "description": "A quay."}
    return replace(
        index_of({}),
        entities=filled(tables.ENTITIES, [entity]),
        claims=filled(
            tables.MERGED_CLAIMS,
            [{"claim_id": "m", "subject": "QUAY", "type": "ACT", "description": "It was built and fought."}],
        ),
        claim_records=records,
    )


def shown(index: IndexSnapshot) -> tuple[list[str], list[list[str]]]:
    context = local_context(index, [], ["q"], count=len, limit=1000, shares=LocalShares(claims=0.5))
    claims = [row for row in context.rows if row.kind == "claim"]
    words = [[index.words(one.quote) for one in context.units.provenance(row.id)] for row in claims]
    return [row.text for row in claims], words


def test_a_merged_claim_is_one_row_that_rests_on_the_words_of_all_its_records(index: IndexSnapshot) -> None:
    assert shown(index) == (["It was built and fought."], [[QUAY, MERGER]])

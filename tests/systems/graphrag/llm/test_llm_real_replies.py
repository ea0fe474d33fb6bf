import json
from pathlib import Path

import pytest

from graphrag_dagster.engines.extractive.text_spans import TextPlaces
from graphrag_dagster.kernel.models.chat.reply_parsing import read_typed, visible_text
from graphrag_dagster.systems.graphrag.llm.extraction_records import BadRecord, make_entity, make_relationship
from graphrag_dagster.systems.graphrag.llm.record_parsing import parse_tuples
from graphrag_dagster.systems.graphrag.llm.summarization import ReportShape

FILES = {"mock_cache.json": (84, 1174, 101), "llm_cache_shua-chen.json": (84, 1209, 73)}


@pytest.mark.parametrize("name", FILES)
def test_recorded_replies_of_real_models_lose_nothing(shared_data: Path, name: str) -> None:
    recorded = json.loads((shared_data / "nano_graphrag_carol" / name).read_text())
    replies = [visible_text(reply["return"]) for reply in recorded.values()]
    extractions = [parse_tuples(reply) for reply in replies if "<|>" in reply]
    records = sum(len(parsed.records) for parsed in extractions)
    quarantined = sum(len(parsed.quarantined) for parsed in extractions)
    places = TextPlaces("")
    for record in (record for parsed in extractions for record in parsed.records):
        make = make_entity if record.kind == "entity" else make_relationship
        try:
            made = make(record.fields, places, 0)
        except BadRecord as problem:  # pragma: no cover
            pytest.fail(f"{record.raw}: {problem}")
        assert made.description
    reports = [read_typed(reply, ReportShape) for reply in replies if '"findings"' in reply]
    assert (len(extractions), records, len(reports)) == FILES[name]
    assert quarantined == 0

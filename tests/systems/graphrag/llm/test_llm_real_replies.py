import json
from pathlib import Path

import pytest

from graphrag_dagster.engines.extractive.text_spans import TextPlaces
from graphrag_dagster.kernel.models.chat.reply_parsing import read_typed, visible_text
from graphrag_dagster.kernel.tasks.task_ports import Quarantined
from graphrag_dagster.systems.graphrag.llm.record_parsing import read_tuple_records
from graphrag_dagster.systems.graphrag.llm.summarization import ReportShape

FILES = {"mock_cache.json": (84, 1174, 101), "llm_cache_shua-chen.json": (84, 1209, 73)}


@pytest.mark.parametrize("name", FILES)
def test_recorded_replies_of_real_models_lose_nothing(shared_data: Path, name: str) -> None:
    recorded = json.loads((shared_data / "nano_graphrag_carol" / name).read_text())
    replies = [visible_text(reply["return"]) for reply in recorded.values()]
    extractions = [reply for reply in replies if "<|>" in reply]
    read = [read_tuple_records(reply, ("entity", "relationship"))[0] for reply in extractions]
    made = [one for reply in read for one, _ in reply.instances(TextPlaces(""), 0)]
    assert all(not isinstance(one, Quarantined) and one.description for one in made)
    reports = [read_typed(reply, ReportShape) for reply in replies if '"findings"' in reply]
    assert (len(extractions), len(made), len(reports)) == FILES[name]

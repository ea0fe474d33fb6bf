from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg

from graphrag_dagster.automation.freshness import freshness, morning
from graphrag_dagster.definitions import defs
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import published
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.resources.dagster_instance import instance as make_instance
from support.corpora import write_corpus


def test_a_corpus_is_stale_when_it_changed_and_was_not_indexed_for_too_long(coast: Path) -> None:
    snapshot = published(Warehouse(), "coast")
    assert snapshot is not None
    indexed = datetime.fromisoformat(snapshot.published)
    with make_instance() as instance:

        def after(hours: float, corpus: str = "coast") -> tuple[bool, str]:
            at = indexed + timedelta(hours=hours)
            found = freshness(corpus, CorpusStore(), Warehouse(), instance, at)
            return found.passed, str(found.metadata["reason"].value)

        assert after(1) == (True, "indexed lately")
        assert after(49) == (True, "nothing has changed since")
        (coast / "new.txt").write_text("The mole of Valdora was lengthened.", encoding="utf-8")
        assert after(1) == (True, "indexed lately")
        assert after(49) == (False, "files or settings differ from what is published")
        (coast / "new.txt").unlink()
        (coast / "corpus.yaml").write_text("publishing: {stale_after_hours: 0.5}", encoding="utf-8")
        assert after(1) == (False, "files or settings differ from what is published")
        write_corpus(coast.parent, "shore")
        assert after(1, "shore") == (False, "nothing is published yet")


def test_every_morning_each_corpus_is_checked_in_a_run_of_its_own(coast: Path) -> None:
    write_corpus(coast.parent, "shore")
    with make_instance() as instance:
        instance.add_dynamic_partitions("corpus", ["coast", "shore", "gone"])
        at = datetime(2026, 3, 1, 6, tzinfo=UTC)
        context = dg.build_schedule_context(instance=instance, scheduled_execution_time=at)
        requests = morning(context, graphrag_corpora=CorpusStore())
        assert [request.tags["dagster/partition"] for request in requests] == ["coast", "shore"]
        job = defs.resolve_job_def("freshness")
        found = []
        for request in requests:
            result = job.execute_in_process(tags=request.tags, instance=instance)
            assert result.success
            found += result.get_asset_check_evaluations()
        assert [(one.partition, one.passed) for one in found] == [("coast", True), ("shore", False)]
        assert {one.severity for one in found} == {dg.AssetCheckSeverity.WARN}


def test_a_run_for_two_corpora_is_refused(home: Path) -> None:
    for name in ("coast", "shore"):
        write_corpus(home / "corpora", name)
    tags = {"dagster/asset_partition_range_start": "coast", "dagster/asset_partition_range_end": "shore"}
    with make_instance() as instance:
        instance.add_dynamic_partitions("corpus", ["coast", "shore"])
        job = defs.resolve_job_def("index")
        result = job.execute_in_process(tags=tags, instance=instance, raise_on_error=False)
        assert not result.success
        failures = [event for event in result.all_events if event.is_step_failure]
        causes = [str(event.step_failure_data.error_display_string) for event in failures]
    assert any(
        "a run makes one corpus, and this one was launched for coast, shore" in cause for cause in causes
    )

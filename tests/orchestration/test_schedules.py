from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import dagster as dg
import pytest
from cronsim import CronSim
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.automation.sensors import nightly, scheduled
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.settings.corpus_settings import parse_settings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.resources.dagster_instance import instance as make_instance
from support.corpora import write_corpus

VIENNA = ZoneInfo("Europe/Vienna")
NOON = datetime(2026, 3, 1, 12, tzinfo=VIENNA)


def vienna(day: int, hour: int, minute: int = 0, month: int = 3) -> float:
    return datetime(2026, month, day, hour, minute, tzinfo=VIENNA).timestamp()


def test_a_corpus_is_due_once_by_the_clock_of_its_time_zone(home: Path) -> None:
    coast = write_corpus(home / "corpora", settings='schedule: {cron: "0 3 * * *", timezone: Europe/Vienna}')
    write_corpus(home / "corpora", "shore")
    write_corpus(home / "corpora", "broken", settings="schedule: {cron: tomorrow}")
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("corpus", ["coast", "shore", "broken"])
        cursor: str | None = None

        def at(now: float) -> list[str]:
            nonlocal cursor
            with dg.build_sensor_context(instance=instance, cursor=cursor) as context:
                found = scheduled(context, CorpusStore(), now)
            cursor = found.cursor
            return [str(request.partition_key) for request in found.run_requests or ()]

        # As an earlier release wrote it.
        cursor = '{"coast":[1.0,2.0,3.0]}'
        assert at(vienna(27, 2, 59)) == []
        assert at(vienna(27, 3)) == ["coast"]
        assert at(vienna(27, 3, 1)) == []
        assert at(vienna(28, 2, 59)) == []
        assert at(vienna(28, 3)) == ["coast"]
        # The clock goes forward in the night to the 29th: three o'clock comes an hour earlier.
        assert at(vienna(28, 3) + 22.9 * 3600) == []
        assert at(vienna(28, 3) + 23 * 3600) == ["coast"]
        # Nobody looked for three nights.
        assert at(vienna(1, 12, month=4)) == ["coast"]
        assert at(vienna(1, 13, month=4)) == []
        (coast / "corpus.yaml").write_text('schedule: {cron: "30 13 * * *", timezone: Europe/Vienna}')
        assert at(vienna(1, 13, 5, month=4)) == []
        assert at(vienna(1, 13, 30, month=4)) == ["coast"]
        (coast / "corpus.yaml").write_text("engine: extractive")
        assert at(vienna(2, 13, 31, month=4)) == []
        assert at(vienna(3, 13, 31, month=4)) == []


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ("{cron: 0 3 * *}", "minute, hour"),
        ("{cron: 0 3 * * * *}", "minute, hour"),
        ("{cron: 61 3 * * *}", "never occurs, or is not minute"),
        ("{cron: 0 3 31 2 *}", "never occurs"),
        ("{cron: '0 3 31 apr,jun *'}", "never occurs"),
        ("{cron: 0 3 * * someday}", "day of the week"),
        ("{cron: 0 3 * * *, timezone: Mars/Olympus}", "Europe/Vienna"),
        ("{at: noon}", "cron"),
    ],
)
def test_a_wrong_schedule_is_named(given_: str, told: str) -> None:
    import yaml

    with pytest.raises(SettingsError, match=told) as caught:
        parse_settings({"schedule": yaml.safe_load(given_)}, "corpus.yaml")
    assert "schedule" in str(caught.value)


number = st.integers(0, 70).map(str)
item = st.one_of(
    st.just("*"),
    number,
    st.tuples(number, number).map("-".join),
    st.tuples(st.sampled_from(["*", "1-5"]), number).map("/".join),
    st.sampled_from(["mon", "JAN", "mon-fri", "x", "1-", ""]),
)
part = st.lists(item, min_size=1, max_size=2).map(",".join)


@given(st.lists(part, min_size=4, max_size=6).map(" ".join))
def test_of_what_is_accepted_the_next_time_can_be_told(cron: str) -> None:
    try:
        accepted = parse_settings({"schedule": {"cron": cron}}, "corpus.yaml").schedule.cron
    except SettingsError:
        return
    assert accepted is not None
    assert next(CronSim(accepted, NOON)) > NOON


@pytest.mark.parametrize("cron", ["0 3 * * *", "*/15 8-18 * * mon-fri", "0 0 1,15 jan-jun 7", "5 4 * * sun"])
def test_usual_schedules_are_accepted(cron: str) -> None:
    assert parse_settings({"schedule": {"cron": cron}}, "corpus.yaml").schedule.cron == cron


def test_the_night_is_for_what_has_changed_since_it_was_published(coast: Path, home: Path) -> None:
    write_corpus(home / "corpora", "shore")
    with make_instance() as instance:
        instance.add_dynamic_partitions("corpus", ["coast", "shore"])

        def requested() -> list[str]:
            context = dg.build_schedule_context(
                instance=instance, scheduled_execution_time=datetime(2026, 3, 1, 2, tzinfo=VIENNA)
            )
            found = nightly(context, graphrag_corpora=CorpusStore(), graphrag_warehouse=Warehouse())
            return [request.partition_key for request in found]

        assert requested() == ["shore"]
        (coast / "corpus.yaml").write_text("reports: {context_tokens: 4000}", encoding="utf-8")
        assert requested() == ["coast", "shore"]
        (coast / "corpus.yaml").unlink()
        (coast / "notes.txt").write_text("Hanna Quill met Ilse Maro.", encoding="utf-8")
        assert requested() == ["coast", "shore"]

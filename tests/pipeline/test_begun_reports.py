"""Reports that are begun when there are communities are those that their step would write, asked for once."""

from pathlib import Path
from threading import enumerate as enumerate_threads
from typing import Any

import polars as pl

from graphrag_dagster.cli.output.running import run_job
from graphrag_dagster.engines.ahead import in_a_whole_run
from graphrag_dagster.model_calls.memory.replies import User
from graphrag_dagster.operations.keeping.begun_reports import REPORTS, begin_reports, corpus_reports
from graphrag_dagster.operations.keeping.writing import WRITTEN_FROM, write_reports
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.reply_memory import ReplyMemory
from graphrag_dagster.resources.warehouse import Warehouse
from support.endpoint import Logged, ScriptedEndpoint
from support.modelled import write_modelled

RUN, OTHER = "11111111-2222-4333-8444-555555555555", "99999999-2222-4333-8444-555555555555"
NEW = "new code"


def language(limit: int | None = None) -> Language:
    return Language(max_tokens=limit, memory=ReplyMemory(), corpora=CorpusStore())


def frames() -> dict[str, pl.DataFrame]:
    return {table.name: Warehouse().read(table, "coast") for table in WRITTEN_FROM}


def taken(run_id: str, given: dict[str, pl.DataFrame]) -> Any:
    session = language().session_of(CorpusStore().settings("coast"), User("coast", REPORTS, run_id))
    return *corpus_reports(session, Warehouse(), "coast", run_id, NEW, given), session


def report_threads() -> list[str]:
    return [one.name for one in enumerate_threads() if one.name == "ahead of reports"]


def test_a_run_begins_them_before_their_step(home: Path) -> None:
    beside: list[bool] = []

    def listen(event: str, told: Logged) -> None:
        if event == "begin" and told.task == "community_report":
            beside.append(bool(report_threads()))

    with ScriptedEndpoint(listener=listen) as endpoint:
        write_modelled(home / "corpora", endpoint)
        run_job("coast")
        assert beside
        assert all(beside)
        assert endpoint.tally()["repeated"] == 0


def test_the_step_takes_what_was_begun_for_its_run(home: Path) -> None:
    with ScriptedEndpoint() as endpoint:
        write_modelled(home / "corpora", endpoint)
        run_job("coast")
        with in_a_whole_run():
            begin_reports(language(), Warehouse(), "coast", RUN, NEW)
        written, whose, own = taken(RUN, frames())
        assert whose is not own
        expected = write_reports(own, Warehouse(), "coast", NEW, frames())
        assert written.made.reports.equals(expected.made.reports)
        assert written.made.written.equals(expected.made.written)
        assert endpoint.tally()["repeated"] == 0
        _, whose, own = taken(RUN, frames())
        assert whose is own, "it is taken once"


def test_what_was_begun_from_other_tables_is_left(home: Path) -> None:
    with ScriptedEndpoint() as endpoint:
        write_modelled(home / "corpora", endpoint)
        run_job("coast")
        with in_a_whole_run():
            begin_reports(language(), Warehouse(), "coast", RUN, NEW)
        fewer = frames()
        fewer["communities"] = fewer["communities"].head(1)
        written, whose, own = taken(RUN, fewer)
        assert whose is own
        assert written.made.reports.height == 1


def test_nothing_is_begun_with_a_limit_or_where_steps_are_elsewhere(home: Path) -> None:
    with ScriptedEndpoint() as endpoint:
        write_modelled(home / "corpora", endpoint)
        run_job("coast")
        with in_a_whole_run():
            begin_reports(language(limit=10_000), Warehouse(), "coast", RUN, NEW)
        begin_reports(language(), Warehouse(), "coast", OTHER, NEW)
        for run_id in (RUN, OTHER):
            _, whose, own = taken(run_id, frames())
            assert whose is own

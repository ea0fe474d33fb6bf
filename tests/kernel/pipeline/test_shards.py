"""Shards of the steps that call a model: the same tables, however many there are and wherever they run."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import EndpointDown, EndpointError, EngineError, SettingsError
from graphrag_dagster.kernel.common.progress import Listener, listening
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.pipeline import shards as module
from graphrag_dagster.kernel.pipeline.shard_workers import Factory, Work
from graphrag_dagster.kernel.pipeline.shards import Shards, shard_of, share_of_model
from graphrag_dagster.kernel.pipeline.step_declaration import StepRun
from graphrag_dagster.kernel.settings.model_settings import ModelSettings, TaskModelSettings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.usage_tables import MODEL_USAGE
from graphrag_dagster.kernel.tasks.language_resource import Language
from graphrag_dagster.kernel.tasks.task_ports import ContextEntity, ReportRequest
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider
from graphrag_dagster.systems.graphrag.reports.report_reuse import report_as_json
from graphrag_dagster.systems.graphrag.reports.report_shards import writer_in_shards
from graphrag_dagster.systems.graphrag.tasks import CLAIM_EXTRACTOR, GRAPH_EXTRACTOR, REPORT_WRITER
from support.endpoint import Fault, Scripted, ScriptedEndpoint, name_pattern_script
from support.homes import enter_home
from support.modelled import write_modelled
from support.tables_of import contents

_NEW = "Hanna Quill joined the Northern Council. The Northern Council met Piet Lund at Skerry Point."
_BLOCKED = "Selma Dray"


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint() as server:
        yield server


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Homes":
    return Homes(tmp_path, monkeypatch)


class Homes:
    """Homes of the same corpus, each with its own settings of ``execution``."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._patch = patch

    def made(
        self, endpoint: ScriptedEndpoint, execution: str, *, more: bool = False
    ) -> dict[str, list[tuple[object, ...]]]:
        """Index the corpus, and with ``more`` again with one document more; the tables after each."""
        folder = self.corpus(endpoint, execution)
        run_job("coast")
        first = contents(Warehouse(), "coast")
        if not more:
            return first
        (folder / "news" / "council.txt").write_text(_NEW, encoding="utf-8")
        run_job("coast")
        again = contents(Warehouse(), "coast")
        return {**{f"{name} before": rows for name, rows in first.items()}, **again}

    def corpus(self, endpoint: ScriptedEndpoint, execution: str) -> Path:
        """Write the corpus into a home of its own, which is entered."""
        home = self._folder / str(len(list(self._folder.iterdir())))
        (home / "corpora").mkdir(parents=True)
        enter_home(self._patch, home)
        return write_modelled(home / "corpora", endpoint, f"\nexecution: {{{execution}}}\n")


def asked(endpoint: ScriptedEndpoint) -> Counter[str]:
    """How often each prompt was sent, since the last time."""
    sent = Counter(one.digest for one in endpoint.requests)
    endpoint.reset()
    return sent


def told_of(step: str) -> Mapping[str, object]:
    return (
        Warehouse()
        .read(MODEL_USAGE, "coast")
        .filter(asset=step)
        .select(pl.col("calls", "failed", "input_tokens", "output_tokens").sum())
        .row(0, named=True)
    )


@pytest.mark.long
def test_many_shards_make_the_same_tables_and_send_each_prompt_once(
    homes: Homes, endpoint: ScriptedEndpoint
) -> None:
    whole = homes.made(endpoint, "shards: 1", more=True)
    spent, sent = told_of("extraction"), asked(endpoint)
    assert homes.made(endpoint, "shards: 16, backend: in_process", more=True) == whole
    assert told_of("extraction") == spent
    assert asked(endpoint) == sent
    assert set(sent.values()) == {1}


@pytest.mark.long
def test_what_processes_have_spent_is_in_the_account_of_the_step(
    homes: Homes, endpoint: ScriptedEndpoint
) -> None:
    homes.made(endpoint, "shards: 1")
    spent = told_of("extraction")
    homes.made(endpoint, "shards: 2, backend: processes")
    assert told_of("extraction") == spent


class Seen(Listener):
    """The steps of each stage, and what was said."""

    def __init__(self) -> None:
        self.totals: Counter[str] = Counter()
        self.steps: Counter[str] = Counter()
        self.said: list[str] = []

    def start(self, stage: str, total: int | None) -> None:
        self.totals[stage] += total or 0

    def advance(self, stage: str, steps: int) -> None:
        self.steps[stage] += steps

    def finish(self, stage: str) -> None:
        pass

    def say(self, line: str) -> None:
        self.said.append(line)


@pytest.mark.long
def test_a_process_that_is_killed_is_replaced_and_nothing_else_asked_again(
    homes: Homes, endpoint: ScriptedEndpoint
) -> None:
    whole = homes.made(endpoint, "shards: 1")
    sent = asked(endpoint)
    killed = threading.Event()

    def kill_one(number: int, body: Mapping[str, object]) -> None:
        if number >= 5 and not killed.is_set() and (children := multiprocessing.active_children()):
            killed.set()
            children[0].kill()

    seen = Seen()
    with ScriptedEndpoint(faults=kill_one) as other, listening(seen):
        assert homes.made(other, "shards: 4") == whole
        again = asked(other)
    assert seen.steps["Extraction in 4 interpreters"] == seen.totals["Extraction in 4 interpreters"] > 0
    assert any("ended from outside" in line and line.endswith("it is run again") for line in seen.said)
    assert killed.is_set()
    assert again.keys() == sent.keys()
    assert sum(again.values()) - sum(sent.values()) <= 16
    assert not multiprocessing.active_children()


@pytest.mark.long
def test_a_shard_that_is_killed_each_time_ends_the_run_with_its_name(homes: Homes) -> None:
    def kill(number: int, body: Mapping[str, object]) -> None:
        if _BLOCKED in str(body):
            for child in multiprocessing.active_children():
                child.kill()

    with ScriptedEndpoint(faults=kill) as endpoint:
        homes.corpus(endpoint, "shards: 2")
        with pytest.raises(
            EngineError, match=r"extraction: a shard was ended .* 3 times; its rows have document_id"
        ):
            run_job("coast")
    assert not multiprocessing.active_children()


@pytest.mark.long
def test_where_a_shard_fails_for_good_the_others_keep_what_they_have_sent(homes: Homes) -> None:
    refusing, refused = True, list[int]()

    def refuse(number: int, body: Mapping[str, object]) -> Fault | None:
        if not refusing or _BLOCKED not in str(body):
            return None
        refused.append(number)
        return Fault(status=401, message="no such key")

    with ScriptedEndpoint(faults=refuse, seconds=1.0) as endpoint:
        homes.corpus(endpoint, "shards: 2")
        with pytest.raises(EndpointError, match="no such key"):
            run_job("coast")
        sent = asked(endpoint)
        refusing = False
        run_job("coast")
        again = asked(endpoint)
    assert len(sent) > len(refused) > 0
    assert (sent & again).total() == len(refused)
    assert not multiprocessing.active_children()


def below(pid: int) -> list[int]:
    """The processes that a process has started."""
    tasks = (Path("/proc") / str(pid) / "task").glob("*/children")
    return [int(one) for task in tasks for one in task.read_text().split()]


def waited_for(found: Callable[[], bool], seconds: float = 60.0) -> bool:
    until = time.monotonic() + seconds
    while not found() and time.monotonic() < until:
        time.sleep(0.1)
    return found()


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_a_run_that_is_stopped(homes: Homes, how: signal.Signals) -> None:
    with ScriptedEndpoint(seconds=2.0) as endpoint:
        homes.corpus(endpoint, "shards: 2")
        command = [str(Path(sys.executable).with_name("graphrag-dagster")), "index", "coast", "--again"]
        run = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        assert waited_for(lambda: len(endpoint.chats) > 2)
        started = below(run.pid)
        # As a terminal does, to all of them.
        (os.killpg if how == signal.SIGINT else os.kill)(run.pid, how)
        run.wait(30)
        assert started
        assert waited_for(lambda: not any(Path(f"/proc/{one}/exe").exists() for one in started), 15)


@pytest.fixture
def step(homes: Homes, endpoint: ScriptedEndpoint) -> StepRun:
    return run_of(homes, endpoint)


def run_of(homes: Homes, endpoint: ScriptedEndpoint) -> StepRun:
    homes.corpus(endpoint, "shards: 2, backend: in_process")
    corpora, memory = CorpusStore(), LLMCache()
    return StepRun(
        corpus="coast",
        run_id="r",
        settings=corpora.settings("coast"),
        warehouse=Warehouse(),
        corpora=corpora,
        language=Language(memory=memory, corpora=corpora),
        memory=memory,
        resources={},
        code_of_tables=dict,
    )


ROWS = pl.DataFrame({"document_id": ["one", "two", "three", "four"], "text": ["a", "b", "c", "d"]})
tries: Counter[str] = Counter()


def failing_once(_: TaskProvider) -> Work:
    def work(rows: pl.DataFrame) -> Mapping[str, pl.DataFrame]:
        tries[rows["text"][0]] += 1
        if tries[rows["text"][0]] == 1:
            raise OSError("the disk was full")
        return {"rows": rows}

    return work


def failing(_: TaskProvider) -> Work:
    def work(rows: pl.DataFrame) -> Mapping[str, pl.DataFrame]:
        raise KeyError("gone")

    return work


def down(_: TaskProvider) -> Work:
    def work(rows: pl.DataFrame) -> Mapping[str, pl.DataFrame]:
        tries["down"] += 1
        raise EndpointDown("nobody answers")

    return work


def made_by(step: StepRun, factory: Factory) -> tuple[list[Mapping[str, pl.DataFrame]], Mapping[str, int]]:
    """What two shards make of the rows, and what is told of them."""
    with closing(Shards(step, step.session("extraction"), "extraction", (GRAPH_EXTRACTOR,))) as shards:
        shards.expect(ROWS.height)
        return shards.run(factory, ROWS, by="text", of="document_id"), shards.told


def test_what_fails_once_is_run_again_alone(step: StepRun, caplog: pytest.LogCaptureFixture) -> None:
    tries.clear()
    made, told = made_by(step, failing_once)
    assert pl.concat([one["rows"] for one in made]).sort("text").equals(ROWS)
    assert told == {"shards": 2, "shards_run_again": 2}
    assert "extraction: a shard failed: OSError: the disk was full; it is run again" in caplog.text


def test_what_always_fails_is_named_with_its_documents(step: StepRun) -> None:
    told = r"a shard failed: KeyError: 'gone', 3 times; .* document_id \w+"
    with pytest.raises(EngineError, match=told):
        made_by(step, failing)


def test_an_error_that_users_can_mend_is_not_tried_again(step: StepRun) -> None:
    tries.clear()
    with pytest.raises(EndpointDown, match="nobody answers"):
        made_by(step, down)
    assert tries["down"] == 1


def test_a_machine_with_other_code_makes_nothing(step: StepRun, monkeypatch: pytest.MonkeyPatch) -> None:
    execution = step.settings.execution.model_copy(update={"backend": "processes"})
    step = replace(step, settings=step.settings.model_copy(update={"execution": execution}))
    monkeypatch.setattr(module, "code_version", lambda name: f"{name} of yesterday")
    told = r"extraction: \S+ has other prompts, .* \(version \S+, not extraction of yesterday\); install"
    with pytest.raises(EngineError, match=told):
        made_by(step, failing)


def test_one_shard_where_few_connections_or_limits_are(step: StepRun) -> None:
    def number(rows: int, limited: bool = False, **settings: Mapping[str, object]) -> int:
        parts = {
            name: getattr(step.settings, name).model_copy(update=given) for name, given in settings.items()
        }
        run = replace(
            step,
            settings=step.settings.model_copy(update=parts),
            language=step.language.model_copy(update={"max_tokens": 10**9 if limited else None}),
        )
        asked = (GRAPH_EXTRACTOR, CLAIM_EXTRACTOR)
        with closing(Shards(run, run.session("extraction"), "extraction", asked)) as shards:
            shards.expect(rows)
            return shards.number

    assert number(1000) == 2
    assert number(1) == 1
    assert number(1000, model={"concurrency": 1}) == 1
    assert number(1000, model={"batch": True}) == 1
    assert number(1000, limited=True) == 1
    assert number(1000, extraction={"engine": "extractive"}) == 1
    auto: Mapping[str, object] = {"shards": "auto", "backend": "ray"}
    assert number(10_000, execution=auto) == 1
    assert number(10_000, execution=auto, model={"concurrency": 256}) == 4
    assert number(1000, execution=auto, model={"concurrency": 256}) == 2


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_ray_that_is_missing_is_asked_for(step: StepRun) -> None:
    execution = step.settings.execution.model_copy(update={"backend": "ray"})
    run = replace(step, settings=step.settings.model_copy(update={"execution": execution}))
    with pytest.raises(SettingsError, match=r"install 'graphrag-dagster\[ray\]'"):
        made_by(run, failing)


def test_shares_are_no_more_than_what_is_set() -> None:
    model = ModelSettings(
        concurrency=8,
        requests_per_minute=100,
        tasks={"report": TaskModelSettings(concurrency=2, tokens_per_minute=900)},
    )
    part = share_of_model(model, 3)
    assert (part.concurrency, part.for_role("report").concurrency) == (2, 1)
    assert (part.requests_per_minute, part.tokens_per_minute) == (33, None)
    assert part.for_role("report").tokens_per_minute == 300
    divided = {"concurrency", "requests_per_minute", "tasks"}
    assert part.model_dump_json(exclude=divided) == model.model_dump_json(exclude=divided)


def test_texts_are_spread_over_the_shards_by_themselves() -> None:
    spread = Counter(shard_of(f"text {number}", 4) for number in range(4000))
    assert set(spread) == {0, 1, 2, 3}
    assert min(spread.values()) > 900


def test_reports_come_in_order_and_what_a_model_does_not_write_is_made_without(homes: Homes) -> None:
    def script(body: dict[str, Any]) -> Scripted | str:
        return Scripted("no JSON") if "Vask" in str(body["messages"]) else name_pattern_script(body)

    titles = ["Port Ellery", "Orrin Vask", "Skerry Point", "Hanna Quill", "Ilse Maro"]
    requests = [
        ReportRequest(
            f"Entities\nid,entity,description\n1,{one},A name", (ContextEntity(1, one, "GEO", "", 1),), ()
        )
        for one in titles
    ]
    with ScriptedEndpoint(script) as endpoint:
        run = run_of(homes, endpoint)
        session = run.session("reports")
        writer = session.task(REPORT_WRITER)
        with closing(Shards(run, session, "reports", (REPORT_WRITER,))) as shards:
            sharded = writer_in_shards(writer, shards)
            whole = list(sharded.write(requests))
            shards.expect(len(requests))
            assert shards.number == 2
            parts = list(sharded.write(requests))
    kept = list(map(report_as_json, parts))
    assert kept == list(map(report_as_json, whole)) == list(map(report_as_json, writer.write(requests)))
    assert [one.engine for one in parts] == ["llm", "extractive", "llm", "llm", "llm"]

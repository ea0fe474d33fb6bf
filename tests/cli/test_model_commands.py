import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from dagster import DagsterInstance, SensorResult, build_sensor_context

from graphrag_dagster.automation.sensors import finished_batches
from graphrag_dagster.kernel.models import batch_queue as batching
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.usage_tables import MODEL_USAGE
from support.commands import Run
from support.endpoint import Fault, Scripted, ScriptedEndpoint, name_pattern_script
from support.homes import copy_home
from support.modelled import write_modelled
from support.tables_of import contents

PLANNED = ["extraction", "claims", "resolution", "merging", "reports", "embeddings"]


@pytest.fixture
def endpoint(home: Path) -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint() as server:
        write_modelled(home / "corpora", server)
        yield server


def spent(endpoint: ScriptedEndpoint) -> int:
    tally = endpoint.tally()
    return int(tally["input_tokens"] + tally["output_tokens"])


def test_the_summary_shows_what_was_asked_and_paid(run: Run, endpoint: ScriptedEndpoint) -> None:
    code, out, err = run("index", "coast")
    assert code == 0, err
    assert "model usage of this run" in out


@pytest.mark.long
def test_a_run_stops_before_its_limit_and_the_next_goes_on(run: Run, endpoint: ScriptedEndpoint) -> None:
    limit = 12_000
    code, out, err = run("index", "coast", "--max-tokens", str(limit))
    assert code == 4, err
    assert "stopped before the limit" in err
    assert "model usage of this run" in out
    paid = spent(endpoint)
    assert 0 < paid <= limit + 200, "the probe of the endpoint is not in the account"
    assert not Warehouse().exists(tables.ENTITIES, "coast")
    code, _, err = run("index", "coast")
    assert code == 0, err
    assert endpoint.tally()["repeated"] == 0


def test_money_is_limited_where_the_price_is_known(run: Run, endpoint: ScriptedEndpoint, home: Path) -> None:
    code, _, err = run("index", "coast", "--max-usd", "0.02")
    assert code == 4, err
    settings = home / "corpora" / "coast" / "corpus.yaml"
    known = settings.read_text(encoding="utf-8")
    settings.write_text(known.replace("  prices: {input: 2.0, output: 8.0}\n", ""), encoding="utf-8")
    code, _, err = run("index", "coast", "--max-usd", "0.02")
    assert code == 1
    assert "model.prices" in err


@pytest.mark.long
def test_what_a_model_did_not_give_is_listed_and_tried_again(run: Run, home: Path) -> None:
    poems = True

    def poet(body: dict[str, Any]) -> Scripted | str:
        unit = "Hanna Quill accused" in str(body["messages"][1:2])
        return "I would rather write a poem." if unit and poems else name_pattern_script(body)

    with ScriptedEndpoint(poet) as server:
        write_modelled(home / "corpora", server)
        code, out, _ = run("index", "coast", "--json")
        assert code == 3
        assert any("quarantined" in line for line in json.loads(out)["missing"])
        used = json.loads(out)["usage"]
        assert {row["asset"] for row in used} >= {"extraction", "reports", "entities_embeddings"}
        for row in used:
            paid = (2 * row["input_tokens"] + 8 * row["output_tokens"]) / 1e6
            assert row["usd"] == pytest.approx(paid, abs=1e-6)
        ledger = Warehouse().read(tables.UNIT_LEDGER, "coast")
        assert ledger.filter(pl.col("state") == "quarantined").height == 1
        poems = False
        before = len(server.chats)
        code, out, _ = run("index", "coast", "--json")
        assert code == 0
        assert json.loads(out)["missing"] == []
        assert 0 < len(server.chats) - before < before


def test_a_plan_sends_nothing_and_leaves_out_what_is_remembered(
    run: Run, modelled_home: Path, endpoint: ScriptedEndpoint, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHRAG_DAGSTER_CACHE", str(home / "nothing cached.sqlite"))
    code, out, err = run("plan", "coast", "--json")
    assert code == 0, err
    assert endpoint.requests == []
    (extraction, *_) = json.loads(out)["stages"]
    assert [one["stage"] for one in json.loads(out)["stages"]] == PLANNED
    tokens = extraction["tokens"]
    assert 0 < tokens["low"] < tokens["expected"] < tokens["high"]
    assert extraction["usd"]["expected"] > 0
    monkeypatch.delenv("GRAPHRAG_DAGSTER_CACHE")
    copy_home(modelled_home, home)
    write_modelled(home / "corpora", endpoint)
    code, out, _ = run("plan", "coast")
    assert code == 0
    assert "Nothing was sent" in out
    _, out, _ = run("plan", "coast", "--json")
    after = json.loads(out)
    by_stage = {one["stage"]: one for one in after["stages"]}
    assert by_stage["extraction"]["cached"] == after["text_units"]
    assert by_stage["claims"]["cached"] > 0
    assert [by_stage[stage]["tokens"]["high"] for stage in PLANNED[:4]] == [0, 0, 0, 0]
    assert endpoint.requests == []


def test_an_endpoint_that_never_answers_is_said_and_counted(run: Run, home: Path) -> None:
    with ScriptedEndpoint(faults=lambda *_: Fault(hang=60)) as server:
        settings = write_modelled(home / "corpora", server, "  timeout_seconds: 0.2\n") / "corpus.yaml"
        # Vectors would be asked for at the same time.
        lines = settings.read_text(encoding="utf-8").splitlines(keepends=True)
        settings.write_text(
            "".join(one for one in lines if not one.startswith("embeddings:")), encoding="utf-8"
        )
        code, out, err = run("index", "coast")
        assert code == 1
        assert "model usage of this run" in out
        assert "time-" in out
        assert "error: no reply from" in err
        assert len(server.requests) >= 2


@pytest.mark.long
def test_pruning_leaves_no_text_of_a_deleted_document(
    run: Run, modelled: Path, endpoint: ScriptedEndpoint, home: Path
) -> None:
    cache = home / "cache"
    assert b"Piet Lund" in b"".join(file.read_bytes() for file in cache.iterdir())
    (modelled / "institute" / "letter.txt").unlink()
    code, _, err = run("cache", "prune", "--corpus", "coast")
    assert code == 1
    assert "index it first" in err
    assert run("index", "coast")[0] == 0
    first, paid = contents(Warehouse(), "coast"), len(endpoint.requests)
    code, out, err = run("cache", "prune", "--corpus", "coast", "--json")
    assert code == 0, err
    assert json.loads(out)["replies"] == 0, "the run itself forgot what came from the document"
    assert b"Piet Lund" not in b"".join(file.read_bytes() for file in cache.iterdir())
    run("index", "coast", "--again")
    assert len(endpoint.requests) == paid, "what is in use stays"
    assert contents(Warehouse(), "coast") == first


@pytest.mark.usefixtures("modelled")
def test_what_is_remembered_can_be_seen_and_exported(run: Run, home: Path) -> None:
    _, out, _ = run("cache", "stats", "--json")
    stats = json.loads(out)
    assert {row["task"] for row in stats["replies"]} >= {"extract_graph", "community_report"}
    assert "used by" in run("cache", "stats")[1]
    code, _, err = run("cache", "export", "replies.jsonl", "--corpus", "coast")
    assert code == 0, err
    lines = [json.loads(line) for line in (home / "replies.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == sum(row["replies"] for row in stats["replies"])
    assert all("coast/" in " ".join(line["used_by"]) for line in lines)
    run("cache", "prune", "--corpus", "coast", "--everything")
    _, out, _ = run("cache", "stats", "--json")
    assert json.loads(out)["replies"] == []


def test_doctor_says_whether_the_endpoint_can_be_used(
    run: Run, endpoint: ScriptedEndpoint, home: Path
) -> None:
    code, out, err = run("doctor", "coast")
    assert code == 0, err
    assert "json_schema" in out
    settings = home / "corpora" / "coast" / "corpus.yaml"
    known = settings.read_text(encoding="utf-8")
    settings.write_text(known.replace(endpoint.url, "http://127.0.0.1:9/v1"), encoding="utf-8")
    assert run("doctor", "coast")[0] == 1


@pytest.mark.long
def test_an_index_goes_on_from_batch_to_batch_until_it_is_done(
    run: Run, modelled: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    direct = contents(Warehouse(), "coast")
    paid = Warehouse().read(MODEL_USAGE, "coast").filter(pl.col("task") == "extract_graph")
    whole = paid["usd"].sum()
    monkeypatch.setenv("GRAPHRAG_DAGSTER_CACHE", str(home / "another.sqlite"))
    monkeypatch.setattr(batching, "QUIET_SECONDS", 0.1)
    settings = modelled / "corpus.yaml"
    settings.write_text(settings.read_text(encoding="utf-8") + "  batch: true\n", encoding="utf-8")
    code, _, err = run("index", "coast")
    assert code == 5
    assert "finished_batches" in err
    assert "coast" in run("batches")[1]
    rounds, requested = 1, 0
    while code == 5 and rounds < 12:
        with DagsterInstance.ephemeral() as instance:
            instance.add_dynamic_partitions("corpus", ["coast"])
            result = finished_batches(
                build_sensor_context(instance, resources={"graphrag_memory": LLMCache()})
            )
            assert isinstance(result, SensorResult)
            asked = result.run_requests
            requested += len(asked or [])
        assert [one.partition_key for one in asked or []] in (["coast"], [])
        code, _, err = run("index", "coast")
        rounds += 1
    assert code == 0, err
    assert requested
    assert contents(Warehouse(), "coast") == direct
    batched = Warehouse().read(MODEL_USAGE, "coast").filter(pl.col("task") == "extract_graph")
    assert batched["usd"].sum() == pytest.approx(whole / 2)

"""Corpora have a kind, and a stage that is not for it costs nothing and shows nothing."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from graphrag_dagster import tables
from graphrag_dagster.catalogue import registry
from graphrag_dagster.catalogue.registry import stages
from graphrag_dagster.composition import compose
from graphrag_dagster.core.changes import Change
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.operations.keeping.affected import following, stages_of_settings
from graphrag_dagster.operations.keeping.changes import status_of
from graphrag_dagster.orchestration.declare import table_asset
from graphrag_dagster.orchestration.leaving_out import made_where_wanted
from graphrag_dagster.orchestration.partitions import CORPUS
from graphrag_dagster.orchestration.resource_keys import resource_key, takes_resources
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings import load_settings, parse_settings
from support.corpora import write_corpus

TEXT = {"corpus", "extraction", "embeddings"}


@pytest.fixture
def two_kinds(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A catalogue with a second kind of corpora, for which the stages that read texts are not."""
    both = ("documents", "toys")
    declared = tuple(
        replace(stage, kinds=("documents",) if stage.name in TEXT else both) for stage in registry.STAGES
    )
    monkeypatch.setattr(registry, "KINDS", both)
    monkeypatch.setattr(registry, "STAGES", declared)
    stages.cache_clear()
    yield
    monkeypatch.undo()
    stages.cache_clear()


@pytest.mark.usefixtures("two_kinds")
def test_what_is_not_for_a_kind_is_no_part_of_its_index() -> None:
    texts, toys = (parse_settings({"kind": kind}, "") for kind in ("documents", "toys"))
    made = toys.stages_made("index")
    assert made == [name for name in texts.stages_made("index") if name not in TEXT]
    assert set(texts.asked_by_index) - set(toys.asked_by_index) == {"extraction", "claims", "typing"}
    assert following({"corpus", "reports"}, made) == made[made.index("reports") :]


@pytest.fixture
def switched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A catalogue in which the reports are made only where claims are enabled."""
    declared = tuple(
        replace(stage, switch="claims") if stage.name == "reports" else stage for stage in registry.STAGES
    )
    monkeypatch.setattr(registry, "STAGES", declared)
    stages.cache_clear()
    yield
    monkeypatch.undo()
    stages.cache_clear()


@pytest.mark.usefixtures("switched")
def test_a_stage_that_is_switched_off_is_not_made_and_asks_nobody(home: Path) -> None:
    off, on = (parse_settings({"engine": "llm", "claims": {"enabled": on}}, "") for on in (False, True))
    assert "reports" not in off.stages_made("index")
    assert "reports" in on.stages_made("index")
    assert not off.asks_model("reports")
    assert on.asks_model("reports")
    write_corpus(home / "corpora", "town")
    assert "reports" not in status_of("town").redo

    def refused() -> None:
        raise AssertionError

    made = made_where_wanted(refused, tables.COMMUNITY_REPORTS)
    with dg.build_asset_context(partition_key="town") as context:
        assert made(context=context, corpora=CorpusStore()).value.is_empty()


@pytest.mark.usefixtures("two_kinds")
def test_no_model_is_asked_and_no_engine_wanted_for_what_is_not_done() -> None:
    settings = {"engine": "llm", "claims": {"enabled": True}, "model": {"name": "m"}}
    texts, toys = (parse_settings({"kind": kind, **settings}, "") for kind in ("documents", "toys"))
    asked = [
        [one for one in ("extraction", "claims", "reports") if of.asks_model(one)] for of in (texts, toys)
    ]
    assert asked == [["extraction", "claims", "reports"], ["reports"]]


@pytest.mark.usefixtures("two_kinds")
def test_status_names_stages_of_the_kind_only(home: Path) -> None:
    write_corpus(home / "corpora", "toys", "kind: toys\n")
    assert TEXT.isdisjoint(status_of("toys").redo)
    write_corpus(home / "corpora", "texts")
    assert set(status_of("texts").redo) >= TEXT


@pytest.mark.usefixtures("two_kinds")
def test_what_is_not_for_a_kind_does_not_run_and_leaves_empty_tables(home: Path) -> None:
    ran: list[str] = []

    @table_asset(tables.TEXT_UNIT_EMBEDDINGS)
    def text_units() -> dg.Output[pl.DataFrame]:
        ran.append("text_units")
        vectors = pl.col("vector").cast(pl.Array(pl.Float32, 3))
        return dg.Output(tables.TEXT_UNIT_EMBEDDINGS.empty().with_columns(vectors))

    @table_asset(tables.COMMUNITIES, ins={"units": dg.AssetIn(key=["embeddings", "text_units"])})
    def communities(corpora: CorpusStore, units: pl.DataFrame) -> dg.Output[pl.DataFrame]:
        ran.append(f"communities beside {units.height} of {len(corpora.names())} corpora")
        return dg.Output(tables.COMMUNITIES.empty())

    def several(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.Output[pl.DataFrame]]:
        ran.append(f"files of {context.partition_key} in {warehouse.file(context.partition_key).name}")
        for table in (tables.FILES, tables.DOCUMENTS):
            yield dg.Output(table.empty(), output_name=table.name)

    outs = {
        table.name: dg.AssetOut(key=table.asset_key, io_manager_key=resource_key("io_manager"))
        for table in (tables.FILES, tables.DOCUMENTS)
    }
    files = dg.multi_asset(outs=outs, partitions_def=CORPUS)(
        takes_resources(made_where_wanted(several, tables.FILES, tables.DOCUMENTS))
    )
    resources = compose().resources or {}
    for name in ("texts", "toys"):
        write_corpus(home / "corpora", name, "kind: toys\n" if name == "toys" else "")
        Warehouse().write(tables.TEXT_CHUNKS, name, tables.TEXT_CHUNKS.empty())
        with dg.DagsterInstance.ephemeral() as instance:
            instance.add_dynamic_partitions(CORPUS.name or "", [name])
            wanted = [text_units, communities, files]
            assert dg.materialize(wanted, partition_key=name, resources=resources, instance=instance).success
        for table in (tables.TEXT_UNIT_EMBEDDINGS, tables.FILES, tables.DOCUMENTS, tables.COMMUNITIES):
            assert Warehouse().read(table, name).is_empty()
    beside = "communities beside 0 of"
    texts = {"text_units", f"{beside} 1 corpora", "files of texts in texts.duckdb"}
    assert (set(ran[:3]), ran[3:]) == (texts, [f"{beside} 2 corpora"])


def test_a_corpus_of_another_kind_is_made_anew() -> None:
    change = Change("kind", "documents", "toys")
    assert stages_of_settings([change], {}, {}) == set(stages())


def test_a_kind_that_there_is_not_is_an_error_that_lists_those_there_are(tmp_path: Path) -> None:
    (tmp_path / "corpus.yaml").write_text("kind: toys\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"line 1.*kind.*'documents'"):
        load_settings(tmp_path)


@pytest.mark.usefixtures("two_kinds")
@pytest.mark.parametrize(("kind", "rows"), [("documents", 3), ("toys", 0)])
def test_frames_of_any_name_are_given_to_what_is_for_the_kind(home: Path, kind: str, rows: int) -> None:
    def read(context: dg.AssetExecutionContext, **frames: pl.DataFrame) -> dg.Output[pl.DataFrame]:
        (only,) = frames.values()
        return dg.Output(only)

    write_corpus(home / "corpora", "coast", f"kind: {kind}\n")
    context = dg.build_asset_context(partition_key="coast")
    given = pl.DataFrame({"text": ["A", "B", "C"]})
    made = made_where_wanted(read, tables.CLAIMS)(context, corpora=CorpusStore(), text_chunks=given)
    assert made.value.height == rows
